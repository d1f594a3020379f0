/*! {"format": "forescale-fit-1", "kind": "fit", "made_by": "calibrate fit",
  "shape": {"platform": "text", "stack": "text", "command?": "text", "warnings?": ["text"],
    "numbers": [{"what": "text", "from": "text", "unit": "text", "value": "number", "low": "number", "high": "number"}],
    "residuals": [{"from_bytes": "count", "to_bytes": "count", "points": "count", "median_abs": "amount", "worst": "number"}],
    "held_out?": [{"op": "text", "ranks": "count1", "ranks_per_host?": "count1", "bytes": "count", "measured_s": "amount",
      "plans": [{"algorithm": "text", "predicted_s": "amount", "low_s": "amount", "high_s": "amount", "error": "number"}, "+"]}]}} */
// A cluster's fitted numbers with their uncertainty, what remains between fit and measurement, and the
// collectives that the fit has not seen.

views["forescale-fit-1"] = {show: (all) => all.forEach(fitSection)};

const fittedText = (number, value) => number.unit === "s" ? durationText(value) : number.unit === "bytes/s" ? bandwidthText(value)
  : number.unit === "bytes" ? bytesText(value) : number.unit === "s/byte" ? (value > 0 ? bandwidthText(1 / value) : "unlimited") : `${shortNumber(value)} ${number.unit}`;

function fitSection({result}, index) {
  section(`fit-${index + 1}`, `Fitted: ${result.platform}`, `Written: ${joined([result.platform, result.stack])}.`, headlines(fitText(result)),
    element("div", {class: "grid"}, fittedChart(result.numbers), residualChart(result.residuals)),
    scrollBox("Fitted numbers", fittedTable(result.numbers)),
    result.held_out?.length ? heldOutCollectives(result.held_out) : null);
}

const nearestPlan = (row) => d3.least(row.plans, (plan) => Math.abs(plan.error));

function fitText({numbers, residuals, held_out: heldOut}) {
  const points = d3.sum(residuals, (each) => each.points);
  const worst = d3.greatest(residuals, (each) => Math.abs(each.worst));
  const wide = d3.greatest(numbers.filter((number) => number.value > 0), (number) => (number.high - number.low) / number.value);
  return [`${plural(numbers.length, "number")} fitted to ${plural(points, "point")} of ping-pong` + (worst ? `; the worst of these is off by ${signedPercentText(worst.worst)}.` : "."),
    wide ? `Least sure: ${wide.what}, ${fittedText(wide, wide.value)}, from ${fittedText(wide, wide.low)} to ${fittedText(wide, wide.high)}.` : null,
    heldOut?.length ? `Collectives that the fit has not seen: median error ${percentText(d3.median(heldOut, (row) => Math.abs(nearestPlan(row).error)))} of the nearest plan.` : null];
}

// Ends over value: numbers of all units on one axis.
function fittedChart(numbers) {
  const rows = numbers.filter((number) => number.value > 0 && number.low > 0 && number.high > 0).map((number) => ({name: number.what, value: 1, low: number.low / number.value, high: number.high / number.value,
    tip: `${number.what}\n${fittedText(number, number.value)}, ${fittedText(number, number.low)} to ${fittedText(number, number.high)}`}));
  return chart("How sure each number is", (width) => rangesPlot(width, rows, {text: (v) => `${shortNumber(v)}×`, label: "ends of the interval over the value"}), "The dot is the fitted value; those fitted as 0 are in the table.",
    () => fittedTable(numbers));
}

function residualChart(residuals) {
  const name = (each) => `${bytesText(each.from_bytes)} to ${bytesText(each.to_bytes)}`;
  const rows = residuals.map((each) => ({name: name(each), value: 100 * each.median_abs, mark: 100 * Math.abs(each.worst), tip: `${name(each)}\nmedian ${percentText(each.median_abs)}, worst ${signedPercentText(each.worst)}, ${plural(each.points, "point")}`}));
  return chart("Residuals of ping-pong", (width) => barsPlot(width, rows, {text: (v) => `${shortNumber(v)} %`, label: "% off"}), "Bars: median; thick line: worst.",
    () => table(["Sizes", "#Points", "#Median", "#Worst"], residuals.map((each) => [name(each), each.points, percentText(each.median_abs), signedPercentText(each.worst)])));
}

const fittedTable = (numbers) => table(["Number", "#Value", "#Low", "#High", "From"],
  numbers.map((number) => [number.what, ...[number.value, number.low, number.high].map((value) => fittedText(number, value)), number.from]));

function heldOutCollectives(rows) {
  const sorted = [...rows].sort((a, b) => a.bytes - b.bytes);
  const series = d3.groups(sorted, (row) => `${row.op}, ${plural(row.ranks, "rank")}`).flatMap(([name, list], i) => [["measured", undefined], ["predicted", "5 4"]].map(([what, dash]) => ({
    name: `${name}, ${what}`, color: seriesColor(i), dash, symbol: dash ? "diamond" : "circle", points: list.filter((row) => row.bytes > 0 && row.measured_s > 0).map((row) => {
      const plan = nearestPlan(row);
      return {x: row.bytes, y: dash ? plan.predicted_s : row.measured_s, low: dash ? plan.low_s : undefined, high: dash ? plan.high_s : undefined,
        tip: `${name}, ${bytesText(row.bytes)}\nmeasured ${durationText(row.measured_s)}\n${plan.algorithm} predicted ${durationText(plan.predicted_s)} (${signedPercentText(plan.error)})`};
    })})));
  const asTable = () => table(["Operation", "#Ranks", "#Size", "#Measured", "Nearest plan", "#Predicted", "#90 % interval", "#Error"], sorted.map((row) => {
    const plan = nearestPlan(row);
    return [row.op, row.ranks, bytesText(row.bytes), durationText(row.measured_s), plan.algorithm, durationText(plan.predicted_s), `${durationText(plan.low_s)} … ${durationText(plan.high_s)}`, signedPercentText(plan.error)];
  }));
  return chart("Collectives that the fit has not seen", (width) => curvesPlot(width, series, {x: {label: "size", text: bytesText}, y: {text: durationText}, height: 320}),
    "Solid: measured; dashed: the nearest plan, predicted, with its 90 % interval.", asTable, legendOf("Collectives", series.filter((s) => !s.dash).map((s) => [s.name.replace(/, measured$/, ""), s.color])));
}
