/*! {"format": "forescale-collective-1", "kind": "collective", "made_by": "collective",
  "shape": {"platform?": "text", "stack?": "text", "command?": "text",
    "points?": [{"op": "text", "algorithm": "text", "ranks": "count1", "bytes": "count", "time_s": "amount", "low_s?": "amount", "high_s?": "amount",
      "simulated_s?": "amount", "cost_engine_s?": "amount", "closed_form_s?": "amount", "bound_s?": "amount", "busiest?": "text",
      "busiest_share?": "amount", "bound_reason?": "text", "messages?": "count", "root_s?": {"*": "amount"}}, "+"],
    "unless points": {"op": "text", "algorithm": "text", "ranks": "count1", "bytes": "count", "time_s": "amount", "low_s?": "amount", "high_s?": "amount",
      "simulated_s?": "amount", "cost_engine_s?": "amount", "closed_form_s?": "amount", "bound_s?": "amount", "busiest?": "text",
      "busiest_share?": "amount", "bound_reason?": "text", "messages?": "count", "root_s?": {"*": "amount"}}}} */
// How long one collective takes, by size and ranks: against its floor, and what is busiest.

views["forescale-collective-1"] = {show: (all) => all.forEach(collectiveSection)};

function collectiveSection(answer, index) {
  const {result} = answer;
  const points = result.points ?? [result];
  const [first] = points;
  const name = joined([first.op, `on ${plainText(result.platform)}`, result.stack ? `with ${plainText(result.stack)}` : ""].filter(Boolean)).replaceAll(",", "");
  const series = collectiveSeries(points);
  const bySize = series.some((s) => s.points.length > 1);
  section(`collective-${index + 1}`, `Collective: ${name}`, null, headlines(collectiveText(points)),
    legendOf("Ranks and algorithms", [...series.map((s) => [s.name, s.color]), ["floor", "var(--quiet)"]]),
    chart(bySize ? "Time by size" : "Time", (width) => bySize ? collectiveCurves(width, points, series)
      : barsPlot(width, points.map((point) => ({name: `${plural(point.ranks, "rank")}, ${bytesText(point.bytes)}`, value: point.time_s, low: point.low_s, high: point.high_s,
        mark: point.bound_s, tip: collectiveTip(point)})), {text: durationText, label: "time; thick line: floor"}),
    "Dashed: the physical floor that nothing can beat. The band is the 90 % interval, where one was asked for.",
    () => collectiveTable(points)),
    scrollBox("Points", collectiveTable(points), points.length > 20));
}

const collectiveTip = (point) => [`${point.algorithm}, ${plural(point.ranks, "rank")}, ${bytesText(point.bytes)}`, durationText(point.time_s) + intervalText(point.low_s, point.high_s, durationText),
  point.busiest ? `busiest: ${point.busiest} (${percentText(point.busiest_share ?? 0)})` : ""].filter(Boolean).join("\n");

// One a rank count and algorithm.
function collectiveSeries(points) {
  const groups = d3.groups(points, (point) => `${plural(point.ranks, "rank")}, ${point.algorithm}`);
  return groups.map(([name, list], i) => ({name, color: seriesColor(i), symbol: markSymbols[i % 8], points: list.filter((point) => point.time_s > 0 && point.bytes > 0)
    .sort((a, b) => a.bytes - b.bytes).map((point) => ({x: point.bytes, y: point.time_s, low: point.low_s, high: point.high_s, tip: collectiveTip(point)}))}));
}

function collectiveCurves(width, points, series) {
  const floors = d3.groups(points.filter((point) => point.bound_s > 0 && point.bytes > 0), (point) => `${point.ranks} ${point.algorithm}`)
    .map(([, list]) => Plot.line([...list].sort((a, b) => a.bytes - b.bytes), {x: "bytes", y: "bound_s", stroke: "var(--quiet)", strokeDasharray: "4 4", className: "floor"}));
  return curvesPlot(width, series, {x: {label: "size", text: bytesText}, y: {text: durationText}, height: 340, below: floors,
    reach: points.map((point) => point.bound_s).filter((bound) => bound > 0)});
}

function collectiveText(points) {
  const largest = d3.greatest(points, (a, b) => d3.ascending(a.bytes, b.bytes) || d3.ascending(a.ranks, b.ranks));
  const rate = largest.time_s > 0 ? largest.bytes / largest.time_s : 0;
  const texts = [`${largest.algorithm} takes ${durationText(largest.time_s)}${intervalText(largest.low_s, largest.high_s, durationText)} ` +
    `for ${bytesText(largest.bytes)} on ${plural(largest.ranks, "rank")}${rate > 0 ? `, ${bandwidthText(rate)}` : ""}` +
    (largest.bound_s > 0 ? `: ${shortNumber(largest.time_s / largest.bound_s)} times its floor of ${durationText(largest.bound_s)} (${plainText(largest.bound_reason)}).` : ".")];
  if (largest.busiest) texts.push(`Busiest there: ${largest.busiest}, ${percentText(largest.busiest_share ?? 0)} of the time.`);
  return texts;
}

function collectiveTable(points) {
  const time = (value) => typeof value === "number" ? durationText(value) : "";
  return filledTable(["Algorithm", "#Ranks", "#Size", "#Time", "#90 % interval", "#Cost engine", "#Closed form", "#Floor", "Floor is", "#Bandwidth", "#Messages", "At the root", "Busiest resource"],
    points.map((point) => [point.algorithm, point.ranks, bytesText(point.bytes), time(point.time_s),
      typeof point.low_s === "number" ? `${durationText(point.low_s)} … ${durationText(point.high_s)}` : "", time(point.cost_engine_s), time(point.closed_form_s),
      time(point.bound_s), textCell(point.bound_reason), point.time_s > 0 ? bandwidthText(point.bytes / point.time_s) : "", point.messages,
      textCell(joined(Object.entries(point.root_s ?? {}).filter(([, seconds]) => seconds > 0.005 * point.time_s).sort((a, b) => b[1] - a[1])
        .map(([kind, seconds]) => `${kind} ${percentText(seconds / point.time_s)}`))),
      textCell(point.busiest ? `${point.busiest} (${percentText(point.busiest_share ?? 0)})` : "")]));
}
