// Crossover maps: the fastest plan by size and rank count, and what the next one costs.

// "reduce/cb:chain_size=8,chunk_bytes=1MiB" in its parts.
function planParts(plan) {
  const [, op, algorithm, options] = /^([^/]*)\/([^:]*):?(.*)$/.exec(plan) ?? [null, "", plan, ""];
  return {op, algorithm, options: options.split(",").map((option) => option.replace(/^(chunk_bytes|levels)=/, "").replace(/^chain_size=/, "k ").replaceAll("binomial", "bin").replaceAll("chain", "ch")).join(", ")};
}

function tuningSection() {
  for (const [index, {result}] of report.tunings.entries()) {
    const points = result.points.map((point) => ({...point, ...planParts(point.known.best.plan)}));
    const algorithms = [...new Set(points.map((point) => point.algorithm))].sort();
    section(`tuning-${index + 1}`, `Fastest plan: ${plainText(result.title)}`,
      "Simulated. In each field the options of the winner and by how much the best of another algorithm is slower; a dashed field is a tie within the uncertainty of the inputs.",
      element("ul", {class: "legend", "aria-label": "Algorithms"}, algorithms.map((algorithm, at) =>
        element("li", {}, element("span", {}, swatch(`var(--series-${at % 8})`), algorithm)))),
      chart("Crossover map", (width) => crossoverMap(width, points, algorithms)),
      element("div", {class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Tuned points"}, tuningTable(points)));
  }
}

function crossoverMap(width, points, algorithms) {
  const sizes = [...new Set(points.map((point) => point.bytes))].sort(d3.ascending);
  const ranks = [...new Set(points.map((point) => point.ranks))].sort(d3.ascending);
  const isTie = (point) => Boolean(point.known.next?.tie);
  const isWide = width / sizes.length > 64;
  return Plot.plot({
    width, height: 46 + 44 * ranks.length, marginLeft: 54, marginTop: 30, padding: 0.06,
    x: {type: "band", domain: sizes, axis: "top", label: null, tickFormat: bytesText, tickRotate: isWide ? 0 : -40},
    y: {type: "band", domain: ranks, label: "ranks"},
    marks: [
      Plot.cell(points, {x: "bytes", y: "ranks", fill: (point) => `var(--series-${algorithms.indexOf(point.algorithm) % 8})`,
        fillOpacity: 0.35, stroke: (point) => isTie(point) ? "var(--ink)" : "none", strokeDasharray: "4 3",
        title: (point) => pointText(point), className: "winner"}),
      isWide ? Plot.text(points, {x: "bytes", y: "ranks", text: (point) => point.options, dy: -7, fontSize: 10, fill: "var(--ink)"}) : null,
      Plot.text(points, {x: "bytes", y: "ranks", text: (point) => point.known.next ? `+${percentText(point.known.next.margin)}` : "",
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
