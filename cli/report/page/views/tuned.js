/*! {"format": "forescale-tuned-1", "kind": "tuning", "made_by": "tune collective",
  "shape": {"title?": "text", "platform?": "text", "stack?": "text", "command?": "text", "offered_by?": "text", "settings?": {"file": "text", "how_to_load": "text"},
    "regions?": [{"op": "text", "ranks": "count1", "from_bytes": "count", "to_bytes": "count", "plan": "text", "loss_max": "number"}],
    "offered_regions?": [{"op": "text", "ranks": "count1", "from_bytes": "count", "to_bytes": "count", "plan": "text", "loss_max": "number"}],
    "points": [{"op": "text", "ranks": "count1", "groups?": "count1", "bytes": "count", "candidates?": "count", "simulated?": "count",
      "known": {"best": {"plan": "text", "time_s": "amount", "low_s?": "amount", "high_s?": "amount"},
        "next?": {"plan": "text", "time_s": "amount", "margin": "number", "tie": "flag"}},
      "default?": {"plan": "text", "time_s": "amount", "margin": "number", "low_s?": "amount", "high_s?": "amount"},
      "offered?": {"best": {"plan": "text", "time_s": "amount"}, "loss": "number"}}, "+"]}} */
// The fastest plan by size and rank count, what the stack would take, and the settings of a library.

views["forescale-tuned-1"] = {show: (all) => all.forEach(tuningSection)};

// "reduce/cb:chain_size=8,chunk_bytes=1MiB" in its parts.
// What is no plan of the operation, as "tree/ll128", keeps its name.
function planParts(point) {
  const {plan} = point.known.best;
  const [algorithm, options] = (plan.startsWith(`${point.op}/`) ? plan.slice(point.op.length + 1) : plan).split(/:(.*)/s).concat("");
  return {algorithm, options: options.split(",").map((option) => option.replace(/^(chunk_bytes|levels)=/, "").replace(/^chain_size=/, "k ").replaceAll("binomial", "bin").replaceAll("chain", "ch")).join(", ")};
}

function tuningSection(answer, index) {
  const {result} = answer;
  const points = result.points.map((point) => ({...point, ...planParts(point)}));
  const algorithms = [...new Set(points.map((point) => point.algorithm))].sort();
  const hasDefault = points.some((point) => point.default);
  section(`tuning-${index + 1}`, `Fastest plan: ${answer.name}`, null, headlines(tuningText(points)),
    legendOf("Algorithms", algorithms.map((algorithm, at) => [algorithm, seriesColor(at)])),
    chart("Crossover map", (width) => crossoverMap(width, points, algorithms),
      "In each field the options of the winner and by how much the best of another algorithm is slower; a dashed field is a tie within the uncertainty of the inputs.", () => tuningTable(points)),
    hasDefault ? gainChart(points) : null,
    scrollBox("Tuned points", tuningTable(points), true),
    regionsTable("Regions", result.regions), regionsTable(`Regions of what ${plainText(result.offered_by) || "was named"} has`, result.offered_regions), settingsNote(result));
}

function tuningText(points) {
  const wins = d3.rollups(points, (list) => list.length, (point) => point.algorithm).sort((a, b) => b[1] - a[1]);
  const texts = [`${wins[0][0]} is fastest in ${wins[0][1]} of ${plural(points.length, "point")}` + (wins.length > 1 ? `, then ${joined(wins.slice(1, 4).map(([algorithm, count]) => `${algorithm} in ${count}`))}.` : ".")];
  const gains = points.filter((point) => point.default);
  const most = d3.greatest(gains, (point) => point.default.margin);
  if (most) texts.push(`Against the stack's own choice the gain is ${percentText(d3.median(gains, (point) => point.default.margin))} at the median and ${percentText(most.default.margin)} at most (${plural(most.ranks, "rank")}, ${bytesText(most.bytes)}).`);
  const ties = points.filter((point) => point.known.next?.tie).length;
  if (ties) texts.push(`In ${plural(ties, "point")} the winner is not sure: the next is within the uncertainty of the inputs.`);
  const lost = d3.greatest(points.filter((point) => point.offered), (point) => point.offered.loss);
  if (lost) texts.push(`What the library has loses ${percentText(lost.offered.loss)} at most.`);
  return texts;
}

// Chosen and default by size, a pair of curves a rank count.
function gainChart(points) {
  const ranks = [...new Set(points.map((point) => point.ranks))].sort(d3.ascending);
  const series = ranks.flatMap((count, i) => [["fastest", (point) => point.known.best, undefined], ["stack's default", (point) => point.default, "5 4"]].map(([what, of, dash]) => ({
    name: `${plural(count, "rank")}, ${what}`, color: seriesColor(i), symbol: dash ? "diamond" : "circle", dash,
    points: points.filter((point) => point.ranks === count && of(point)?.time_s > 0 && point.bytes > 0).sort((a, b) => a.bytes - b.bytes).map((point) => ({x: point.bytes, y: of(point).time_s,
      low: dash ? undefined : of(point).low_s, high: dash ? undefined : of(point).high_s,
      tip: `${plural(count, "rank")}, ${bytesText(point.bytes)}, ${what}\n${of(point).plan ?? ""}\n${durationText(of(point).time_s)}`}))})));
  return chart("Fastest and default by size", (width) => curvesPlot(width, series.filter((s) => s.points.length), {x: {label: "size", text: bytesText}, y: {text: durationText}, height: 320}),
    "Solid: the fastest plan, with its 90 % interval; dashed: what the stack takes by itself.", () => tuningTable(points),
  legendOf("Ranks", ranks.map((count, i) => [plural(count, "rank"), seriesColor(i)])));
}

function regionsTable(title, regions) {
  if (!regions?.length) return null;
  return element("details", {}, element("summary", {}, title), scrollBox(title, table(["Operation", "#Ranks", "#From", "#To", "Plan", "#Loses at most"],
    regions.map((region) => [region.op, region.ranks, bytesText(region.from_bytes), bytesText(region.to_bytes), textCell(region.plan, "mark"), percentText(region.loss_max)]))));
}

function crossoverMap(width, points, algorithms) {
  const sizes = [...new Set(points.map((point) => point.bytes))].sort(d3.ascending);
  const ranks = [...new Set(points.map((point) => point.ranks))].sort(d3.ascending);
  const isTie = (point) => Boolean(point.known.next?.tie);
  const isWide = width / sizes.length > 64;
  return Plot.plot({
    width, height: (isWide ? 46 : 64) + 44 * ranks.length, marginLeft: 60, marginTop: isWide ? 30 : 48, padding: 0.06,
    x: {type: "band", domain: sizes, axis: "top", label: null, tickFormat: bytesText, tickRotate: isWide ? 0 : -40,
      ticks: spacedTicks(sizes, (size) => (width - 60) * sizes.indexOf(size) / sizes.length, isWide ? 0 : 22)},
    y: {type: "band", domain: ranks, label: "ranks"},
    marks: [
      Plot.cell(points, {x: "bytes", y: "ranks", fill: (point) => seriesColor(algorithms.indexOf(point.algorithm)),
        fillOpacity: 0.35, stroke: (point) => isTie(point) ? "var(--ink)" : "none", strokeDasharray: "4 3",
        title: (point) => pointText(point), className: "winner"}),
      isWide ? Plot.text(points, {x: "bytes", y: "ranks", text: (point) => shortened(point.options, Math.floor((width - 60) / sizes.length / 6.5)), dy: -7, fontSize: 10, fill: "var(--ink)"}) : null,
      width / sizes.length < 34 ? null : Plot.text(points, {x: "bytes", y: "ranks", text: (point) => point.known.next ? `+${percentText(Number(point.known.next.margin.toPrecision(2)))}` : "",
        dy: isWide ? 8 : 0, fontSize: 10, fill: "var(--ink)"}),
    ],
  });
}

const pointText = (point) => [`${point.ranks} ranks, ${bytesText(point.bytes)}: ${point.known.best.plan} ${durationText(point.known.best.time_s)}`,
  point.known.next ? `next: ${point.known.next.plan} ${durationText(point.known.next.time_s)}` : null,
  point.default ? `the stack's default: ${durationText(point.default.time_s)}` : null].filter(Boolean).join("\n");

function tuningTable(points) {
  const lost = (choice) => choice ? signedPercentText(choice.margin ?? choice.loss) : "";
  return table(["Operation", "#Ranks", "#Size", "Fastest", "#Time", "Next", "#Slower by", "#Stack's default", "Library's best", "#Lost"],
    points.map((point) => [point.op, String(point.ranks), bytesText(point.bytes), textCell(point.known.best.plan, "mark"),
      durationText(point.known.best.time_s), plainText(point.known.next?.plan), lost(point.known.next), lost(point.default),
      plainText(point.offered?.best.plan), lost(point.offered)]));
}
