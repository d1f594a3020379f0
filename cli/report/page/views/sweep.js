/*! {"format": "forescale-sweep-1", "kind": "sweep", "made_by": "sweep, merge",
  "shape": {"study?": "text", "asks?": "text", "command?": "text", "done?": "count", "failed?": "count", "missing?": "count",
    "rows": [{"*": "value"}]}} */
// A study's answers: any column over any other, in series by a third, and all rows, filtered.

views["forescale-sweep-1"] = {show: (all) => all.forEach(sweepSection)};

const sweepFirst = {x: ["bytes", "gpus", "ranks"], y: ["time_s", "images_per_s", "iteration_s"]};

function sweepSection(answer, index) {
  const {result} = answer;
  const rows = result.rows;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) => key !== "place");
  const varying = columns.filter((key) => new Set(rows.map((row) => row[key])).size > 1);
  const numbers = varying.filter((key) => rows.some((row) => typeof row[key] === "number"));
  const pick = (names, among) => names.find((name) => among.includes(name)) ?? among[0] ?? "";
  const chosen = {x: pick(sweepFirst.x, numbers), series: ""};
  chosen.y = pick(sweepFirst.y, numbers.filter((key) => key !== chosen.x));
  chosen.inputs = inputsOf(rows, varying);
  const legend = element("div");
  const figure = chart("Answers", (width) => sweepPlot(width, sweepSeries(rows, chosen), chosen), "Both axes are logarithmic where all values are above 0.",
    () => table(["Series", `#${heading(chosen.x)}`, `#${heading(chosen.y)}`], sweepSeries(rows, chosen).flatMap((s) => s.points.map((point) => [s.name, quantityText(chosen.x, point.x), quantityText(chosen.y, point.y)]))));
  const show = () => {
    legend.replaceChildren(legendOf("Series", [...new Map(sweepSeries(rows, chosen).map((s) => [s.group, s.color]))].slice(0, 40)));
    figure.redraw();
  };
  const control = (key, label, among, all) => selection(label, all, among, (value) => {
    chosen[key] = value;
    show();
  }, chosen[key]);
  show();
  section(`sweep-${index + 1}`, `Study: ${plainText(result.study) || answer.name}`, result.asks ? `Every row is one answer of forescale ${result.asks}.` : null,
    headlines(sweepText(result, rows, chosen)),
    numbers.length > 1 ? [element("div", {class: "controls"}, control("x", "Horizontal", numbers, null), control("y", "Vertical", numbers, null),
      control("series", "Colours by", chosen.inputs, "all that differs")), legend, figure] : null,
    filteredTable("Rows of the study", columns.map((key) => (rows.some((row) => typeof row[key] === "number") ? "#" : "") + heading(key)),
      rows.map((row) => columns.map((key) => quantityText(key, row[key])))));
}

function sweepText(result, rows, {y, inputs}) {
  const counts = `${plural(rows.length, "row")}: ${plural(result.done ?? rows.length, "point")} done` +
    (result.failed ? `, ${result.failed} failed` : "") + (result.missing ? `, ${result.missing} missing` : "") + ".";
  const valued = rows.filter((row) => typeof row[y] === "number");
  if (valued.length < 2) return [counts];
  const where = (row) => joined(inputs.map((key) => inputText(key, row[key])).filter(Boolean));
  return [counts, ...[["Least", d3.least], ["Most", d3.greatest]].map(([name, of]) => {
    const row = of(valued, (one) => one[y]);
    return `${name} ${heading(y)}: ${quantityText(y, row[y])} (${where(row)}).`;
  })];
}

// What was asked: texts and counts that differ. The rest are answers.
const sweepAnswers = ["status", "reason", "place", "busiest", "bound_reason", "compute", "command"];
const sweepCounts = ["ranks", "gpus", "bytes", "chunk_bytes", "batch", "batch_per_gpu", "chain_size"];
const inputsOf = (rows, varying) => varying.filter((key) => !sweepAnswers.includes(key) && (sweepCounts.includes(key) || rows.some((row) => typeof row[key] === "string")));
const inputText = (key, value) => typeof value === "number" ? `${quantityText(key, value)}${/bytes/.test(key) ? "" : ` ${heading(key)}`}` : plainText(value);

// A curve for all that differs but x; of one colour by `series`, or each of its own.
function sweepSeries(rows, {x, y, series, inputs}) {
  const others = inputs.filter((key) => key !== x && key !== y);
  const valued = rows.filter((row) => typeof row[x] === "number" && typeof row[y] === "number");
  const name = (row, keys) => joined(keys.map((key) => inputText(key, row[key])).filter(Boolean)) || "all";
  const colors = new Map();
  return d3.groups(valued, (row) => name(row, others)).map(([key, list]) => {
    const group = series ? inputText(series, list[0][series]) : key;
    if (!colors.has(group)) colors.set(group, colors.size);
    return {name: key, group, color: seriesColor(colors.get(group)), symbol: markSymbols[colors.get(group) % 8], points: list.map((row) => ({x: row[x], y: row[y],
      tip: Object.entries(row).slice(0, 10).map(([field, value]) => `${heading(field)}: ${quantityText(field, value)}`).join("\n")})).sort((a, b) => a.x - b.x)};
  });
}

function sweepPlot(width, series, {x, y}) {
  const all = series.flatMap((s) => s.points);
  return curvesPlot(width, series, {x: {label: heading(x), text: (value) => quantityText(x, value)},
    y: {text: (value) => quantityText(y, value)}, isLog: {x: all.every((point) => point.x > 0), y: all.every((point) => point.y > 0)}, height: 340});
}
