// The document in this page, and what follows from it: series and their ranges.

const report = JSON.parse(document.getElementById("document").textContent);

const markSymbols = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "times"];
// In the order of an iteration, which begins with its data.
const knownPhases = [...report.phases.filter(({kind}) => kind === "input"),
  ...report.phases.filter(({kind}) => kind !== "input")].map(({name}) => name).concat("idle");

// One a prediction: {name, letter, color, symbol, file, result, points}; points are those that fit.
const predictions = report.predictions.map(({file, result}, index) => ({
  name: result.title || report.files[file].name,
  letter: String.fromCharCode(65 + (index % 26)),
  color: `var(--series-${index % 8})`,
  symbol: markSymbols[index % 8],
  file: report.files[file].name,
  result,
  points: result.points.filter((point) => point.fits !== false).sort((a, b) => a.gpus - b.gpus),
  misfits: result.points.filter((point) => point.fits === false).map((point) => point.gpus),
  shown: true,
}));
shortenNames();

// What all titles share says nothing about one of them: its platform, model, system where these
// differ, else the title.
function shortenNames() {
  const keys = ["system", "schedule", "stack", "model", "platform", "batch", "scaling"];
  const differing = keys.filter((key) => new Set(predictions.map((p) => plainText(p.result[key]))).size > 1);
  // A schedule or a stack that comes with the system says nothing new.
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

// [{gpus, value, low, high}] of one prediction for images_per_s, speedup or efficiency. Low and high
// hold the nominal answer and those with every assumed number at its fast and at its slow end; a
// speed-up is over the first point of the same assumptions.
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

// Phases in the order of an iteration, then those that this page does not know, by name.
function phasesOf(list, source) {
  const present = new Set(list.flatMap((p) => p.points.flatMap((point) => Object.keys(point[source] ?? {}))));
  return [...knownPhases.filter((phase) => present.has(phase)),
    ...[...present].filter((phase) => !knownPhases.includes(phase)).sort()];
}

function hashOf(text) {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash;
}

// The style sheet's own colour of a phase, else one of four.
const pageStyle = getComputedStyle(document.documentElement);
const phaseColor = (phase) => /^[a-z-]+$/.test(phase) && pageStyle.getPropertyValue(`--phase-${phase}`)
  ? `var(--phase-${phase})` : `var(--phase-${hashOf(phase) % 4})`;
