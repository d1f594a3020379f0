// Where an iteration's time goes: bars stacked by phase, one a number of GPUs and prediction.

function breakdownSection() {
  const source = {root_s: "rank 0", mean_s: "mean of all ranks"};
  const sources = Object.entries(source).filter(([key]) => phasesOf(predictions, key).length);
  if (sources.length === 0) return;
  let of = sources[0][0];
  let unit = "share";
  const legend = element("div");
  const figure = chart("Breakdown of one iteration by number of GPUs", (width) => breakdownBars(width, of, unit), null, () => breakdownTable(of));
  const redraw = () => {
    legend.replaceChildren(legendOf("Phases", [...phaseColors(of)].map(([phase, color]) => [heading(phase), color])));
    figure.redraw();
  };
  onShownChange.push(redraw);
  redraw();
  section("breakdown", "Where the time goes",
    "Computing (blue) and what is not hidden behind it: propagation of parameters, aggregation of gradients, input, waiting.",
    element("div", {class: "controls"},
      choice("Show", [["share", "share of the iteration"], ["time", "time"]], (value) => {
        unit = value;
        redraw();
      }),
      sources.length > 1 ? choice("of", sources, (value) => {
        of = value;
        redraw();
      }) : null),
    legend, figure);
}

const phaseColors = (source) => categoryColors(phasesOf(predictions, source));

function breakdownTable(source) {
  const phases = phasesOf(predictions, source);
  return table(["Result", "#GPUs", ...phases.map((phase) => `#${heading(phase)}`)], shownPredictions().flatMap((prediction) => prediction.points.map((point) =>
    [prediction.short, point.gpus, ...phases.map((phase) => durationText(point[source]?.[phase] ?? 0))])));
}

function breakdownRows(source, unit) {
  return shownPredictions().flatMap((prediction) => prediction.points.flatMap((point) => {
    const phases = point[source] ?? {};
    const whole = d3.sum(Object.values(phases), (seconds) => Math.max(0, seconds));
    const scale = unit === "share" ? 100 / whole : 1e3;
    return phasesOf(predictions, source).filter((phase) => phases[phase] > 0).map((phase) => ({
      gpus: point.gpus, letter: prediction.letter, phase, value: phases[phase] * scale,
      title: `${prediction.letter}  ${prediction.short}, ${point.gpus} GPUs\n${heading(phase)}: ` +
        `${durationText(phases[phase])} (${percentText(phases[phase] / whole)})`}));
  }));
}

function breakdownBars(width, source, unit) {
  const shown = shownPredictions();
  const rows = breakdownRows(source, unit);
  const phases = phasesOf(predictions, source);
  const bars = shown.flatMap((prediction) => prediction.points.map((point) => ({gpus: point.gpus,
    letter: prediction.letter, bound: (point.bound_s ?? 0) * 1e3,
    low: Math.min(...ends.map((end) => iterationAt(point, end))) * 1e3,
    high: Math.max(...ends.map((end) => iterationAt(point, end))) * 1e3})));
  const place = {fx: "gpus", x: "letter"};
  const colors = phaseColors(source);
  const counts = allCounts(shown);
  const facet = (width - 52) / Math.max(1, counts.length);
  const labelled = new Set(spacedTicks(counts, (count) => facet * counts.indexOf(count), 34));
  const isTime = unit === "time";
  return Plot.plot({
    width, height: 340, marginLeft: 52, marginTop: 34, marginBottom: 24,
    fx: {label: null, domain: counts, padding: 0.12, tickFormat: (count) => labelled.has(count) ? String(count) : ""},
    x: {axis: shown.length > 1 && facet * 0.88 / shown.length >= 14 ? "bottom" : null, label: null, domain: shown.map((p) => p.letter), padding: 0.08},
    y: {grid: true, label: isTime ? "ms an iteration" : "% of the iteration", nice: isTime, domain: isTime ? undefined : [0, 100],
      zero: true, ticks: 6},
    color: {type: "identity"},
    marks: [
      phases.length ? Plot.barY(rows, Plot.stackY({order: (row) => phases.indexOf(row.phase)}, {...place, y: "value",
        z: "phase", fill: (row) => colors.get(row.phase), className: "bars"})) : null,
      isTime ? Plot.ruleX(bars.filter((bar) => bar.high > bar.low), {...place, y1: "low", y2: "high",
        stroke: "var(--ink)", strokeWidth: 1.5, className: "range"}) : null,
      isTime ? Plot.tickY(bars.filter((bar) => bar.bound > 0), {...place, y: "bound", stroke: "var(--ink)",
        strokeDasharray: "3 2", className: "floor"}) : null,
      Plot.ruleY([0], {stroke: "var(--quiet)"}),
      Plot.tip(rows, Plot.pointer(Plot.stackY({order: (row) => phases.indexOf(row.phase)}, {...place, y: "value",
        z: "phase", title: "title", fill: "var(--card)", stroke: "var(--line)"}))),
    ],
  });
}
