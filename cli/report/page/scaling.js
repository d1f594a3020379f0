// Scaling curves: images/s, speed-up with the ideal, efficiency, over the number of GPUs.

function scalingSection() {
  if (predictions.length === 0) return;
  let isLog = true;
  const measures = [
    ["images_per_s", "Throughput (images/s)", "Dashed: ideal, from the smallest number of GPUs that fits."],
    ["speedup", "Speed-up", baselineText()],
    ["efficiency", "Efficiency (%)", "Speed-up over the ideal one. 100 %: no time is lost to communication or waiting."]];
  const figures = measures.map(([measure, label, caption]) =>
    chart(label, (width) => scalingCurves(width, measure, isLog), caption, () => scalingTable(measure)));
  const redraw = () => figures.forEach((figure) => figure.redraw());
  onShownChange.push(redraw);
  const hasRange = predictions.some((p) => p.points.some((point) => point.iteration_fast_s !== point.iteration_slow_s));
  section("scaling", "Scaling", ["Steady state of one training iteration, predicted for each number of GPUs.",
    hasRange ? " The band is the 90 % interval that uncertain numbers and what the model leaves out cause." : ""].join(""),
  headlines(predictionHeadlines()), predictionLegend(),
  element("div", {class: "controls"}, choice("Axes", [["log", "logarithmic"], ["linear", "linear"]], (value) => {
    isLog = value === "log";
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

const measureText = {images_per_s: (v) => `${shortNumber(v)} images/s`, speedup: (v) => `${shortNumber(v)}×`, efficiency: (v) => `${shortNumber(v)} %`};

function scalingSeries(measure) {
  const scale = measure === "efficiency" ? 100 : 1;
  const text = measureText[measure];
  return shownPredictions().map((prediction) => ({name: prediction.short, color: prediction.color, symbol: prediction.symbol,
    letter: predictions.length > 1 ? prediction.letter : null,
    points: curve(prediction, measure).map((d) => ({x: d.gpus, y: d.value * scale, low: d.low * scale, high: d.high * scale,
      tip: `${prediction.letter}  ${prediction.short}\n${plural(d.gpus, "GPU")}: ${text(d.value * scale)}` +
        (d.low === d.high ? "" : `\n90 % interval ${text(d.low * scale)} to ${text(d.high * scale)}`)}))}));
}

// Straight lines of slope one, from the first point of every curve; one where they are the same.
function idealLines(series) {
  const lines = new Map(series.filter((s) => s.points.length).map(({points}) => {
    const [first, last] = [points[0], points.at(-1)];
    return [`${first.x} ${first.y} ${last.x}`, d3.range(0, 1.0001, 1 / 64).map((t) => first.x * (last.x / first.x) ** t)
      .map((gpus) => ({x: gpus, y: first.y * gpus / first.x}))];
  }));
  return [...lines.values()];
}

function scalingCurves(width, measure, isLog) {
  const series = scalingSeries(measure);
  const isEfficiency = measure === "efficiency";
  const ideal = isEfficiency ? [] : idealLines(series);
  const style = {stroke: "var(--quiet)", strokeDasharray: "5 4", className: "ideal"};
  return curvesPlot(width, series, {
    x: {label: "GPUs", text: String},
    y: {text: isEfficiency ? (v) => shortNumber(v) : d3.format("~s")},
    isLog: {x: isLog, y: isLog && !isEfficiency},
    reach: isEfficiency ? [100] : ideal.map((line) => line.at(-1).y),
    below: [isEfficiency ? Plot.ruleY([100], style) : null, ideal.map((line) => Plot.line(line, {x: "x", y: "y", ...style}))],
  });
}

const scalingTable = (measure) => table(["Result", "#GPUs", `#${heading(measure)}`, "#Low", "#High"],
  scalingSeries(measure).flatMap((s) => s.points.map((point) => [s.name, point.x, ...[point.y, point.low, point.high].map(measureText[measure])])));
