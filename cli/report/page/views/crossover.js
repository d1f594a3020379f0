/*! {"format": "forescale-crossover-1", "kind": "crossover", "made_by": "crossover",
  "shape": {"op": "text", "first": "text", "second": "text", "platform?": "text", "stack?": "text", "command?": "text",
    "points": [{"ranks": "count1", "chunk_bytes": "count", "explanation?": "text",
      "equations?": {"verdict": "text", "bytes?": "amount", "at_bytes?": "amount", "first_s?": "amount", "second_s?": "amount"},
      "cost_engine?": {"verdict": "text", "bytes?": "amount", "at_bytes?": "amount", "first_s?": "amount", "second_s?": "amount"},
      "simulator?": {"verdict": "text", "bytes?": "amount", "at_bytes?": "amount", "first_s?": "amount", "second_s?": "amount"},
      "contention?": [{"algorithm": "text", "busiest": "text", "busiest_share": "amount", "bytes": "amount", "simulated_s": "amount", "cost_engine_s": "amount"}]}, "+"]}} */
// From which size one algorithm beats another: by ranks and chunk, in three models.

views["forescale-crossover-1"] = {show: (all) => all.forEach(crossoverSection)};

const crossingModels = [["simulator", "simulator"], ["cost_engine", "cost engine"], ["equations", "equations"]];
const bestModel = (point) => crossingModels.find(([key]) => point[key])?.[0];
const doesCross = (crossing) => (crossing?.verdict === "starts" || crossing?.verdict === "ends") && crossing.bytes > 0;

function crossoverSection({result}, index) {
  const chunks = [...new Set(result.points.map((point) => point.chunk_bytes))].sort(d3.ascending);
  let chunk = chunks[0];
  const figure = chart("Who is faster", (width) => crossoverChart(width, result, result.points.filter((point) => point.chunk_bytes === chunk)),
    `Each bar is one number of ranks: left of its edge ${result.second} is faster, right of it ${result.first} (whole chunks). Marks: the other models' crossings.`,
    () => crossoverTable(result));
  const names = [result.first, result.second];
  section(`crossover-${index + 1}`, `Crossover: ${result.op}, ${result.first} against ${result.second}`,
    `On ${joined([result.platform, result.stack].filter(Boolean).map(plainText))}.`,
    headlines(result.points.slice(0, 12).map((point) => crossingText(result, point))),
    legendOf("Algorithms", names.map((name, i) => [name, seriesColor(i)])),
    chunks.length > 1 ? element("div", {class: "controls"}, selection("Chunk", null, chunks.map(bytesText), (text) => {
      chunk = chunks.find((bytes) => bytesText(bytes) === text);
      figure.redraw();
    })) : null,
    figure, scrollBox("Crossings", crossoverTable(result)));
}

function crossingText({first, second}, point) {
  const key = bestModel(point);
  const crossing = point[key];
  const where = `On ${plural(point.ranks, "rank")} with chunks of ${bytesText(point.chunk_bytes)}`;
  if (!crossing) return `${where}: no model says.`;
  if (crossing.verdict === "starts" && crossing.bytes > 0)
    return `${where} ${first} beats ${second} from ${bytesText(crossing.at_bytes ?? crossing.bytes)} on (${durationText(crossing.first_s)} against ${durationText(crossing.second_s)} there).`;
  return `${where}: ${verdictText(crossing, {first, second})}.`;
}

const verdictText = (crossing, {first, second}) => ({always: `${first} is always faster`, never: `${second} is always faster`,
  starts: `from ${bytesText(crossing.at_bytes ?? 0)} on`, ends: `up to ${bytesText(crossing.at_bytes ?? 0)}`}[crossing.verdict] ?? crossing.verdict);

function crossoverChart(width, result, points) {
  const sizes = result.points.flatMap((point) => crossingModels.map(([key]) => point[key]).filter(doesCross).map((crossing) => crossing.bytes));
  const [low, high] = logDomain(sizes).map((end, i) => i ? end * 4 : end / 4);
  const names = points.map((point) => plural(point.ranks, "rank"));
  const edge = (point) => {
    const crossing = point[bestModel(point)];
    return doesCross(crossing) ? crossing.bytes : crossing?.verdict === "always" ? low : high;
  };
  const isEnding = (point) => point[bestModel(point)]?.verdict === "ends";
  const pieces = points.flatMap((point, i) => [{y: names[i], x1: low, x2: edge(point), who: isEnding(point) ? 0 : 1}, {y: names[i], x1: edge(point), x2: high, who: isEnding(point) ? 1 : 0}])
    .filter((piece) => piece.x1 < piece.x2);
  const others = points.flatMap((point, i) => crossingModels.slice(1).filter(([key]) => doesCross(point[key])).map(([key, name]) => ({y: names[i], x: point[key].bytes,
    name, tip: `${names[i]}, ${name}: ${bytesText(point[key].at_bytes ?? point[key].bytes)}`})));
  return Plot.plot({width, height: 58 + 34 * points.length, marginLeft: 92, marginRight: 24, marginBottom: 40, marginTop: 8,
    x: {type: "log", domain: [low, high], axis: null},
    y: {type: "band", domain: names, label: null, padding: 0.2, tickSize: 0},
    marks: [axisX(spacedTicks(d3.range(Math.ceil(Math.log2(low)), Math.log2(high) + 1e-9).map((exponent) => 2 ** exponent),
      (value) => (width - 116) * Math.log(value / low) / Math.log(high / low), 74), bytesText, "size"), Plot.barX(pieces, {y: "y", x1: "x1", x2: "x2", fill: (piece) => seriesColor(piece.who), fillOpacity: 0.6, className: "bars"}),
      Plot.dot(others, {x: "x", y: "y", symbol: (other) => other.name === "equations" ? "diamond" : "circle", fill: "var(--ink)", r: 4, className: "crossings"}),
      Plot.tip(others, Plot.pointer({x: "x", y: "y", ...tipStyle, title: "tip"}))]});
}

function crossoverTable(result) {
  return filledTable(["#Ranks", "#Chunk", ...crossingModels.map(([, name]) => name[0].toUpperCase() + name.slice(1)), "#There, first", "#There, second", "Busiest", "Why models differ"],
    result.points.map((point) => {
      const best = point[bestModel(point)] ?? {};
      const time = (value) => typeof value === "number" && doesCross(best) ? durationText(value) : "";
      return [point.ranks, bytesText(point.chunk_bytes), ...crossingModels.map(([key]) => point[key] ? verdictText(point[key], result) : ""),
        time(best.first_s), time(best.second_s), textCell(joined((point.contention ?? []).map((each) => `${each.algorithm}: ${each.busiest} ${percentText(each.busiest_share)}`))),
        textCell(point.explanation)];
    }));
}
