/*! {"format": "forescale-gpu-fit-1", "kind": "GPU fit", "made_by": "calibrate fit (of a GPU)",
  "shape": {"name?": "text", "command?": "text", "notes?": ["text"], "unless held_out": {"kernels": [{}]},
    "kernels?": [{"operation": "text", "pass?": "text", "precision?": "text", "count": "amount", "median_error": "amount", "p90_error": "amount",
      "launch_s": "amount", "flops_per_s": "amount", "bytes_per_s": "amount", "flops_per_s_ends?": ["amount"], "bytes_per_s_ends?": ["amount"], "launch_ends_s?": ["amount"]}],
    "held_out?": [{"gpu": "text", "kernels": "text", "count": "amount", "median_abs_error": "amount", "p90_abs_error": "amount", "roofline_median_abs_error": "amount"}]}} */
// A GPU's fitted kernels: rooflines with their uncertainty, and the error on shapes not seen.

views["forescale-gpu-fit-1"] = {show: (all) => all.forEach(gpuFitSection)};

const kernelName = (kernel) => joined([kernel.operation, kernel.pass, kernel.precision].filter(Boolean).map(plainText));

function gpuFitSection(answer, index) {
  const kernels = answer.result.kernels ?? [];
  const heldOut = answer.result.held_out ?? [];
  section(`gpu-fit-${index + 1}`, `Fitted GPU: ${plainText(answer.result.name) || answer.name}`, null, headlines(gpuFitText(kernels, heldOut)),
    kernels.length ? [gpuErrorChart("Error by kind of kernel", kernels.map((kernel) => [kernelName(kernel), kernel.median_error, kernel.p90_error]), "Each shape predicted without itself. Bars: median; thick line: 90 % of the shapes are within."),
      scrollBox("Kernels", kernelTable(kernels))] : null,
    heldOut.length ? [gpuErrorChart("Error on shapes not seen", heldOut.map((row) => [joined([row.gpu || "all", row.kernels]), row.median_abs_error, row.p90_abs_error]), "Bars: median; thick line: 90 % of the shapes are within."),
      scrollBox("Held out", table(["GPU", "Kernels", "#Shapes", "#Median error", "#90 %", "#Roofline alone"], heldOut.map((row) =>
        [row.gpu || "all", textCell(row.kernels, "mark"), shortNumber(row.count), percentText(row.median_abs_error), percentText(row.p90_abs_error), percentText(row.roofline_median_abs_error)])))] : null);
}

function gpuFitText(kernels, heldOut) {
  const shapes = d3.sum(kernels, (kernel) => kernel.count);
  const worst = d3.greatest(kernels, (kernel) => kernel.median_error);
  return [kernels.length ? `${plural(kernels.length, "kind")} of kernels fitted to ${plural(shapes, "shape")}; least sure: ${kernelName(worst)}, median error ${percentText(worst.median_error)}.` : null,
    heldOut.length ? `Of shapes that the fit has not seen: median error ${percentText(heldOut[0].median_abs_error)} (${heldOut[0].kernels}), ${percentText(heldOut[0].roofline_median_abs_error)} by a roofline alone.` : null];
}

function gpuErrorChart(label, rows, caption) {
  return chart(label, (width) => barsPlot(width, rows.map(([name, median, p90]) => ({name, value: 100 * median, mark: 100 * p90, tip: `${name}\nmedian ${percentText(median)}, 90 % within ${percentText(p90)}`})),
    {text: (v) => `${shortNumber(v)} %`, label: "% off"}), caption, () => table(["Kernels", "#Median", "#90 %"], rows.map(([name, median, p90]) => [name, percentText(median), percentText(p90)])));
}

function kernelTable(kernels) {
  const ends_ = (values, text) => values?.length === 2 ? `${text(values[0])} … ${text(values[1])}` : "";
  return table(["Kernels", "#Shapes", "#Launch", "#Its interval", "#Rate", "#Its interval", "#Memory", "#Its interval", "#Median error", "#90 %"], kernels.map((kernel) =>
    [textCell(kernelName(kernel), "mark"), shortNumber(kernel.count), durationText(kernel.launch_s), ends_(kernel.launch_ends_s, durationText), flopsText(kernel.flops_per_s), ends_(kernel.flops_per_s_ends, flopsText),
      bandwidthText(kernel.bytes_per_s), ends_(kernel.bytes_per_s_ends, bandwidthText), percentText(kernel.median_error), percentText(kernel.p90_error)]));
}
