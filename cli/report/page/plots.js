// The few kinds of charts that the views draw, by Observable Plot.

const tipStyle = {fill: "var(--card)", stroke: "var(--line)", lineWidth: 26};

// Of sorted values those whose labels do not touch: `place` gives pixels, labels are `size` wide.
function spacedTicks(values, place, size) {
  const kept = [];
  const last = values.at(-1);
  for (const value of values) {
    const isFar = kept.length === 0 || Math.abs(place(value) - place(kept.at(-1))) >= size;
    if (value === last || (isFar && Math.abs(place(last) - place(value)) >= size)) kept.push(value);
  }
  return kept;
}

// Round values for a logarithmic axis of so many pixels.
function logTicks(low, high, pixels, size) {
  const place = (value) => pixels * Math.log(value / low) / Math.log(high / low);
  const decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = decades.flatMap((decade) => steps.map((step) => Number(`${step}e${decade}`))).filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    if (ticks.every((tick, i) => i === 0 || place(tick) - place(ticks[i - 1]) >= size)) return ticks.length > 1 ? ticks : [low, high];
  }
  return spacedTicks(decades.map((decade) => 10 ** decade).filter((tick) => tick >= low && tick <= high), place, size);
}

// An axis with exactly these labels: a logarithmic scale of D3 leaves some out by itself.
const axisX = (ticks, text, label) => Plot.axisX(ticks, {label, text: ticks.map(text), tickSize: 5});
const axisY = (ticks, text) => [Plot.gridY(ticks, {stroke: "var(--ink)", strokeOpacity: 0.1}), Plot.axisY(ticks, {label: null, text: ticks.map(text), tickSize: 5})];

// The ends of a logarithmic axis; never the same.
function logDomain(values) {
  const [low, high] = d3.extent(values.filter((value) => value > 0));
  if (low === undefined) return [1, 10];
  return low === high ? [low / 2, high * 2] : [low, high];
}

// Curves with their intervals as bands, both axes logarithmic unless `isLog` says otherwise. Series:
// [{name, color, symbol, letter, points: [{x, y, low, high, tip}]}], axes: {x: {label, text, ticks},
// y: {text}}; `below` are marks under the curves; `isLog` {x, y}.
function curvesPlot(width, series, {x, y, isLog = {x: true, y: true}, below = [], height = 300, reach = []}) {
  const points = series.flatMap((s) => s.points);
  const xs = [...new Set(points.map((point) => point.x))].sort(d3.ascending);
  const margin = {left: 62, right: series.some((s) => s.letter) ? 26 : 16, top: 14, bottom: 40};
  const xDomain = isLog.x ? logDomain(xs) : d3.extent(xs);
  const ys = points.flatMap((point) => [point.y, point.low, point.high].filter(Number.isFinite)).concat(reach);
  const yDomain = isLog.y ? logDomain(ys).map((end, i) => i === 0 ? end / 1.1 : end * 1.1) : [0, 1.04 * (d3.max(ys) || 1)];
  const inner = {x: width - margin.left - margin.right, y: height - margin.top - margin.bottom};
  const fraction = (value) => isLog.x ? Math.log(value / xDomain[0]) / Math.log(xDomain[1] / xDomain[0])
    : (value - xDomain[0]) / (xDomain[1] - xDomain[0] || 1);
  const labelSize = 10 + 6.6 * (d3.max(xs, (value) => x.text(value).length) ?? 1);
  const plot = Plot.plot({
    width, height, marginLeft: margin.left, marginRight: margin.right, marginTop: margin.top, marginBottom: margin.bottom,
    x: {type: isLog.x ? "log" : "linear", domain: xDomain, axis: null},
    y: {type: isLog.y ? "log" : "linear", domain: yDomain, axis: null},
    marks: [axisX(spacedTicks(xs, (value) => inner.x * fraction(value), labelSize), x.text, x.label),
      axisY(isLog.y ? logTicks(yDomain[0], yDomain[1], inner.y, 26) : d3.ticks(yDomain[0], yDomain[1], 5), y.text), below,
      series.map((s) => Plot.areaY(s.points.filter((point) => Number.isFinite(point.low)), {x: "x", y1: "low", y2: "high", fill: s.color, fillOpacity: 0.18, className: "range"})),
      series.map((s) => Plot.line(s.points, {x: "x", y: "y", stroke: s.color, strokeWidth: 2, strokeDasharray: s.dash, className: "curve"})),
      series.map((s) => Plot.dot(s.points, {x: "x", y: "y", fill: s.color, symbol: s.symbol ?? "circle", r: 3.6, className: "curve-points"})),
      Plot.tip(points, Plot.pointer({x: "x", y: "y", maxRadius: 60, ...tipStyle, title: "tip"}))],
  });
  endLetters(plot, series, height - margin.bottom);
  return plot;
}

// A letter behind the last point of each curve, moved apart where they would touch.
function endLetters(plot, series, bottom) {
  const lettered = series.filter((s) => s.letter && s.points.length);
  const scales = {x: plot.scale("x"), y: plot.scale("y")};
  const labels = lettered.map((s) => ({s, x: scales.x.apply(s.points.at(-1).x) + 8, y: scales.y.apply(s.points.at(-1).y)})).sort((a, b) => a.y - b.y);
  const step = 14;
  labels.forEach((label, i) => {
    if (i > 0) label.y = Math.max(label.y, labels[i - 1].y + step);
  });
  for (let i = labels.length - 1, most = bottom; i >= 0; --i, most -= step) labels[i].y = most = Math.min(labels[i].y, most);
  if (labels.length && labels[0].y < 4) return;  // more than there is room for: the legend has them
  const svg = plot.tagName === "svg" ? plot : plot.querySelector("svg");
  d3.select(svg).append("g").attr("class", "end-letters").attr("font-weight", 650).attr("text-anchor", "start")
    .selectAll("text").data(labels).join("text").attr("x", (l) => l.x).attr("y", (l) => l.y).attr("dy", "0.32em")
    .attr("fill", (l) => l.s.color).text((l) => l.s.letter);
}

const shortened = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

// Texts to stand at the left of bars, shortened to fit a part of the width; never two the same.
function barLabels(names, width) {
  const most = Math.max(8, Math.floor(width * 0.4 / 6.6));
  const labels = names.map((name) => shortened(name, most));
  const seen = new Map();
  return {labels: labels.map((label) => {
    seen.set(label, (seen.get(label) ?? 0) + 1);
    return seen.get(label) === 1 ? label : `${label.slice(0, most - 3)} ${seen.get(label)}`;
  }), margin: Math.min(width * 0.42, 16 + 6.8 * (d3.max(labels, (label) => label.length) ?? 1))};
}

// Horizontal bars: rows [{name, value, low, high, color, tip, mark}], the interval as a line, `mark`
// (say, what was measured) as a tick.
function barsPlot(width, rows, {text, label, isLog = false}) {
  const {labels, margin} = barLabels(rows.map((row) => row.name), width);
  const bars = rows.map((row, i) => ({...row, name: labels[i]}));
  const ends_ = bars.flatMap((bar) => [bar.value, bar.low, bar.high, bar.mark].filter(Number.isFinite));
  const domain = isLog ? logDomain(ends_).map((end, i) => i ? end * 1.2 : end / 1.4) : [Math.min(0, d3.min(ends_) ?? 0), 1.02 * Math.max(0, d3.max(ends_) ?? 1)];
  const inner = width - margin - 34;
  return Plot.plot({
    width, height: 54 + 27 * bars.length, marginLeft: margin, marginRight: 34, marginTop: 8, marginBottom: 40,
    x: {type: isLog ? "log" : "linear", domain, axis: null},
    y: {type: "band", domain: labels, label: null, padding: 0.28, tickSize: 0},
    marks: [axisX(isLog ? logTicks(domain[0], domain[1], inner, 74) : d3.ticks(...domain, Math.max(2, Math.min(6, Math.floor(inner / 90)))), text, label),
      Plot.barX(bars.filter((bar) => Number.isFinite(bar.value)), {y: "name", x1: isLog ? domain[0] : 0, x2: "value", fill: (bar) => bar.color ?? "var(--series-0)", fillOpacity: 0.75, className: "bars"}),
      Plot.ruleY(bars.filter((bar) => Number.isFinite(bar.low) && bar.low !== bar.high), {y: "name", x1: "low", x2: "high", stroke: "var(--ink)", strokeWidth: 1.6, className: "range"}),
      Plot.tickX(bars.filter((bar) => Number.isFinite(bar.mark)), {y: "name", x: "mark", stroke: "var(--ink)", strokeWidth: 3, className: "marks"}),
      isLog ? null : Plot.ruleX([0], {stroke: "var(--quiet)"}),
      Plot.tip(bars, Plot.pointer({y: "name", x: "value", maxRadius: 80, ...tipStyle, title: "tip"}))],
  });
}

// Round values from 0 on; of bytes, round in powers of two.
function linearTicks(most, count, isBytes) {
  if (!isBytes) return d3.ticks(0, most, count);
  const step = 2 ** Math.ceil(Math.log2(most / count));
  return d3.range(0, Math.floor(most / step) + 1).map((i) => i * step);
}

// Horizontal bars of parts: rows [{name, part, value}], `limit` [{name, value}] as a thick tick.
function partsPlot(width, rows, colors, {text, label, limits = []}) {
  const names = [...new Set(rows.map((row) => row.name))];
  const {labels, margin} = barLabels(names, width);
  const of = (name) => labels[names.indexOf(name)];
  const order = [...colors.keys()];
  const parts = rows.filter((row) => row.value > 0).map((row) => ({...row, name: of(row.name), tip: `${row.name}\n${heading(row.part)}: ${text(row.value)}`}));
  const most = Math.max(d3.max(limits, (limit) => limit.value) ?? 0, d3.max(d3.rollups(parts, (of_) => d3.sum(of_, (part) => part.value), (part) => part.name), ([, sum]) => sum) ?? 1);
  const stack = Plot.stackX({order: (row) => order.indexOf(row.part)}, {y: "name", x: "value", z: "part"});
  return Plot.plot({
    width, height: 54 + 30 * names.length, marginLeft: margin, marginRight: 34, marginTop: 8, marginBottom: 40,
    x: {domain: [0, most * 1.02], axis: null},
    y: {type: "band", domain: labels, label: null, padding: 0.25, tickSize: 0},
    color: {type: "identity"},
    marks: [axisX(linearTicks(most, Math.max(2, Math.min(6, Math.floor((width - margin) / 100))), text === bytesText), text, label),
      parts.length ? Plot.barX(parts, {...stack, fill: (row) => colors.get(row.part), className: "bars"}) : null,
      Plot.tickX(limits.map((limit) => ({...limit, name: of(limit.name)})), {y: "name", x: "value", stroke: "var(--ink)", strokeWidth: 3, className: "limit"}),
      Plot.ruleX([0], {stroke: "var(--quiet)"}),
      Plot.tip(parts, Plot.pointer({...stack, ...tipStyle, title: "tip"}))],
  });
}

// Intervals about a value: rows [{name, value, low, high, tip}] on a logarithmic axis.
function rangesPlot(width, rows, {text, label}) {
  const {labels, margin} = barLabels(rows.map((row) => row.name), width);
  const named = rows.map((row, i) => ({...row, name: labels[i]}));
  const [low, high] = logDomain(named.flatMap((row) => [row.low, row.value, row.high]));
  return Plot.plot({
    width, height: 54 + 24 * named.length, marginLeft: margin, marginRight: 34, marginTop: 8, marginBottom: 40,
    x: {type: "log", domain: [low / 1.1, high * 1.1], axis: null},
    y: {type: "point", domain: labels, label: null, tickSize: 0},
    marks: [axisX(logTicks(low / 1.1, high * 1.1, width - margin - 34, 60), text, label), Plot.ruleX([1], {stroke: "var(--quiet)", strokeDasharray: "2 3"}), Plot.ruleY(named, {y: "name", x1: "low", x2: "high", stroke: "var(--series-0)", strokeWidth: 2.5, className: "range"}),
      Plot.dot(named, {y: "name", x: "value", fill: "var(--series-0)", r: 4.5, className: "values"}),
      Plot.tip(named, Plot.pointer({y: "name", x: "value", ...tipStyle, title: "tip"}))],
  });
}
