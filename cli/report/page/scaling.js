// Scaling curves: images/s, speed-up with the ideal, efficiency, over the number of GPUs.

function scalingSection() {
  if (predictions.length === 0) return;
  let yScale = "linear";
  const figures = [
    chart("Throughput (images/s)", (width) => curves(width, "images_per_s", yScale)),
    chart("Speed-up", (width) => curves(width, "speedup", yScale), baselineText()),
    chart("Efficiency (%)", (width) => curves(width, "efficiency", "linear"),
      "Speed-up over the ideal one. 100 %: no time is lost to communication or waiting."),
  ];
  const redraw = () => figures.forEach((figure) => figure.redraw());
  onShownChange.push(redraw);
  const hasRange = predictions.some((p) => p.points.some((point) => point.iteration_fast_s !== point.iteration_slow_s));
  section("scaling", "Scaling", [
    "Steady state of one training iteration, predicted for each number of GPUs.",
    hasRange ? " The band is what assumed numbers cause: every one at its fast, and at its slow end." : ""].join(""),
    predictionLegend(),
    element("div", {class: "controls"}, choice("Vertical axis", [["linear", "linear"], ["log", "logarithmic"]], (value) => {
      yScale = value;
      redraw();
    })),
    element("div", {class: "grid"}, figures), misfitNotices());
}

function baselineText() {
  const first = [...new Set(predictions.filter((p) => p.points.length).map((p) => p.points[0].gpus))];
  return `Over the smallest number of GPUs that fits (${joined(first)}), in images/s; dashed: ideal.`;
}

function misfitNotices() {
  const groups = d3.group(predictions.filter((p) => p.misfits.length), (p) => joined(p.misfits));
  return [...groups].map(([counts, list]) => element("p", {class: "quiet"},
    `${joined(list.map((p) => p.letter))}: with ${counts} GPU${counts === "1" ? "" : "s"} a GPU's share of the batch does not fit in its memory.`));
}

// A straight line of slope one, from each number of GPUs that a curve starts from.
function idealLines(series) {
  const starts = new Map(series.filter((s) => s.data.length).map((s) => [s.data[0].gpus, s.data]));
  const last = Math.max(...series.flatMap((s) => s.data.map((d) => d.gpus)));
  return [...starts.keys()].map((start) => Plot.line(
    d3.ticks(0, 1, 64).map((t) => start * (last / start) ** t).map((gpus) => ({gpus, value: gpus / start})),
    {x: "gpus", y: "value", stroke: "var(--quiet)", strokeDasharray: "5 4", className: "ideal"}));
}

function curves(width, measure, yScale) {
  const percent = measure === "efficiency" ? 100 : 1;
  const series = shownPredictions().map((prediction) => ({prediction,
    data: curve(prediction, measure).map((d) => ({gpus: d.gpus, value: d.value * percent,
      low: d.low * percent, high: d.high * percent, prediction}))}));
  const counts = allCounts(shownPredictions());
  const points = series.flatMap((s) => s.data);
  const one = measure === "images_per_s" ? (v) => `${shortNumber(v)} images/s`
    : measure === "speedup" ? (v) => `${shortNumber(v)}×` : (v) => `${shortNumber(v)} %`;
  return Plot.plot({
    width, height: Math.round(Math.min(300, Math.max(230, width * 0.72))),
    marginLeft: 50, marginBottom: 38, marginTop: 14, marginRight: 14,
    x: {type: "log", base: 2, ticks: thinned(counts, width), tickFormat: (count) => String(count), label: "GPUs",
      domain: counts.length > 1 ? [counts[0], counts[counts.length - 1]] : [(counts[0] ?? 1) / 2, (counts[0] ?? 1) * 2]},
    y: {type: yScale, grid: true, label: null, ticks: yScale === "log" ? 4 : 5, nice: true,
      tickFormat: d3.format("~s"),
      zero: yScale === "linear"},
    marks: [
      yScale === "linear" ? Plot.ruleY([0], {stroke: "var(--line)"}) : null,
      measure === "efficiency" ? Plot.ruleY([100], {stroke: "var(--quiet)", strokeDasharray: "5 4", className: "ideal"}) : null,
      measure === "speedup" && points.length ? idealLines(series) : null,
      series.map(({prediction, data}) => Plot.areaY(data, {x: "gpus", y1: "low", y2: "high",
        fill: prediction.color, fillOpacity: 0.18, className: "range"})),
      series.map(({prediction, data}) => Plot.line(data, {x: "gpus", y: "value", stroke: prediction.color,
        strokeWidth: 2, className: "curve"})),
      series.map(({prediction, data}) => Plot.dot(data, {x: "gpus", y: "value", fill: prediction.color,
        symbol: prediction.symbol, r: 3.6, className: "curve-points"})),
      Plot.tip(points, Plot.pointer({x: "gpus", y: "value", maxRadius: 60, fill: "var(--card)",
        stroke: "var(--line)", title: (d) => [`${d.prediction.letter}  ${d.prediction.short}`,
          `${d.gpus} GPUs: ${one(d.value)}`,
          ...(d.low === d.high ? [] : [`range ${one(d.low)} to ${one(d.high)}`])].join("\n")})),
    ],
  });
}

// Counts for an axis of this width, a label every 34 pixels at most; the first and the last stay.
function thinned(counts, width) {
  if (counts.length < 3) return counts;
  const pixels = (count) => (width - 64) * Math.log(count / counts[0]) / Math.log(counts[counts.length - 1] / counts[0]);
  const last = counts[counts.length - 1];
  const kept = [];
  for (const count of counts) {
    const far = kept.length === 0 || pixels(count) - pixels(kept[kept.length - 1]) >= 34;
    if (count === last || (far && pixels(last) - pixels(count) >= 34)) kept.push(count);
  }
  return kept;
}
