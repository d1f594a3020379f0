// Predictions of scaling, whichever answers hold them: their series, names and ranges.

// One a prediction: {name, short, letter, color, symbol, file, result, points, misfits, shown};
// points are those that fit.
const predictions = answers.flatMap((answer) => predictionsIn(answer).map((result) => ({file: answer.file, result})))
  .map(({file, result}, index) => ({
    name: plainText(result.title) || file,
    letter: letterOf(index),
    color: seriesColor(index),
    symbol: markSymbols[index % 8],
    file,
    result,
    points: result.points.filter((point) => point.fits !== false).sort((a, b) => a.gpus - b.gpus),
    misfits: result.points.filter((point) => point.fits === false).map((point) => point.gpus),
    shown: true,
  }));
shortenNames();

function predictionsIn({format, result}) {
  if (format === "forescale-prediction-1") return [result];
  return format === "forescale-comparison-1" ? result.contenders.map((contender) => contender.prediction) : [];
}

// What all titles share says nothing about one of them: its platform, model, system where these
// differ, else the title.
function shortenNames() {
  const keys = ["system", "schedule", "stack", "model", "platform", "batch", "scaling"];
  const differing = keys.filter((key) => new Set(predictions.map((p) => plainText(p.result[key]))).size > 1);
  // A schedule or a stack that comes with the system says nothing new, nor does the stack of a platform.
  const telling = differing.includes("system")
    ? differing.filter((key) => key !== "schedule" && key !== "stack") : differing;
  for (const prediction of predictions) {
    const short = joined(telling.map((key) => plainText(prediction.result[key])).filter(Boolean));
    prediction.short = (predictions.length > 1 && short) ||
      plainText(prediction.result.system || prediction.result.schedule) || prediction.name;
  }
  const names = predictions.map((prediction) => prediction.short);
  for (const prediction of predictions)
    if (names.filter((name) => name === prediction.short).length > 1) prediction.short = prediction.file;
}

const ends = ["iteration_s", "iteration_fast_s", "iteration_slow_s"];
const iterationAt = (point, end) => point[end] || point.iteration_s;
const rateAt = (point, end) => point.images_per_s * point.iteration_s / iterationAt(point, end);
const rateRange = (point) => {
  const rates = ends.map((end) => rateAt(point, end));
  return {value: rates[0], low: Math.min(...rates), high: Math.max(...rates)};
};

// [{gpus, value, low, high}] of one prediction for images_per_s, speedup or efficiency. Low and high
// hold the nominal answer and both ends of its interval; a speed-up is over the first point at the
// same end.
function curve(prediction, measure) {
  const first = prediction.points[0];
  return prediction.points.map((point) => {
    const values = ends.map((end) => {
      const rate = rateAt(point, end);
      if (measure === "images_per_s") return rate;
      const speedup = rate / rateAt(first, end);
      return measure === "speedup" ? speedup : speedup * first.gpus / point.gpus;
    });
    return {gpus: point.gpus, value: values[0], low: Math.min(...values), high: Math.max(...values)};
  });
}

const allCounts = (list) => [...new Set(list.flatMap((p) => p.points.map((point) => point.gpus)))].sort((a, b) => a - b);

const phasesOf = (list, source) =>
  inPhaseOrder(new Set(list.flatMap((p) => p.points.flatMap((point) => Object.keys(point[source] ?? {})))));

// The predictions with their letters; ticking one shows or hides it everywhere.
const onShownChange = [];
function predictionLegend() {
  return element("ul", {class: "legend", "aria-label": "Results"}, predictions.map((prediction) => {
    const label = [swatch(prediction.color), element("span", {class: "letter"}, prediction.letter), prediction.short];
    return element("li", {title: prediction.name}, predictions.length === 1 ? element("span", {}, label)
      : checkbox(label, (shown) => {
        prediction.shown = shown;
        for (const redraw of onShownChange) redraw();
      }, true));
  }));
}

const shownPredictions = () => predictions.filter((prediction) => prediction.shown);

// The one that is fastest at the largest count that all of them have, and whether that is sure.
function predictionHeadlines() {
  const own = predictions.filter((p) => p.points.length).map((prediction) => {
    const last = prediction.points.at(-1);
    const first = prediction.points[0];
    const efficiency = curve(prediction, "efficiency").at(-1);
    return `${prediction.short}: ${shortNumber(last.images_per_s)} images/s on ${plural(last.gpus, "GPU")}, ` +
      `${durationText(last.iteration_s)} an iteration${intervalText(last.iteration_fast_s, last.iteration_slow_s, durationText)}` +
      (last === first ? "." : `; ${percentText(efficiency.value)} of ideal scaling from ${plural(first.gpus, "GPU")}.`);
  });
  const common = allCounts(predictions).filter((gpus) => predictions.every((p) => p.points.some((point) => point.gpus === gpus))).at(-1);
  if (predictions.length < 2 || common === undefined) return own.slice(0, 6);
  const ranked = predictions.map((p) => ({p, ...rateRange(p.points.find((point) => point.gpus === common))})).sort((a, b) => b.value - a.value);
  return [winnerText(ranked.map(({p, ...rates}) => ({name: p.short, ...rates})), `on ${plural(common, "GPU")}`), ...own.slice(0, 6)];
}
