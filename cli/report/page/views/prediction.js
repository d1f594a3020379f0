/*! {"format": "forescale-prediction-1", "kind": "prediction", "made_by": "predict",
  "shape": {"title?": "text", "platform?": "text", "model?": "text", "system?": "text", "schedule?": "text",
    "stack?": "text", "compute?": "text", "command?": "text",
    "points": [{"gpus": "count1", "fits?": "flag", "if fits": {"iteration_s": "positive", "images_per_s": "positive",
      "iteration_fast_s?": "amount", "iteration_slow_s?": "amount", "speedup?": "amount", "efficiency?": "amount",
      "bound_s?": "amount", "memory_bytes?": "amount", "images_per_iteration?": "amount", "batch_per_gpu?": "amount",
      "busiest_share?": "amount", "epoch_s?": "amount", "goodput?": "amount", "failures?": {"*": "amount"}, "root_s?": {"*": "number"}, "mean_s?": {"*": "number"}}}, "+"],
    "warnings?": ["text"],
    "numbers?": [{"file": "text", "path": "text", "source": "text", "assumed": "flag"}]}} */
// How training scales: curves, where the time goes, every point.

views["forescale-prediction-1"] = {show: showPredictions};

async function showPredictions() {
  for (const part of [scalingSection, breakdownSection, pointsSection]) {
    part();
    await breathe();
  }
}

function pointsSection() {
  const rows = predictions.flatMap((prediction) => prediction.result.points.map((point) => ({prediction, point})));
  const failing = rows.some(({point}) => point.failures);
  section("points", "All points", null, scrollBox("All points", table(
    ["Result", "#GPUs", "#Images a GPU", "#Iteration", "#90 % interval", "#Images/s", "#Speed-up", "#Efficiency",
      ...(failing ? ["#Goodput", "#Epoch"] : []), "#Compute", "#Exposed comm.", "#Floor", "Floor is", "#GPU memory", "Busiest resource"],
    rows.map(({prediction, point}) => pointCells(prediction, point, failing)),
    (index) => ({class: rows[index].point.fits === false ? "does-not-fit" : false}))));
}

// `failing`: with what failures and checkpoints leave of the time.
function pointCells(prediction, point, failing) {
  const name = element("td", {class: "mark", title: prediction.name},
    predictions.length > 1 ? element("span", {}, swatch(prediction.color), ` ${prediction.letter}  `) : null, prediction.short);
  const time = (key) => typeof point[key] === "number" ? durationText(point[key]) : "";
  const memory = typeof point.memory_bytes === "number" ? bytesText(point.memory_bytes) : "";
  const begin = [name, point.gpus, point.batch_per_gpu];
  if (point.fits === false)
    return [...begin, element("td", {colspan: failing ? 11 : 9}, "out of GPU memory"), memory, ""];
  const times = ends.slice(1).map((end) => iterationAt(point, end));
  const range = times[0] === times[1] ? "" : `${durationText(Math.min(...times))} … ${durationText(Math.max(...times))}`;
  return [...begin, time("iteration_s") + (point.is_steady === false ? " (not steady)" : ""), range, shortNumber(point.images_per_s),
    typeof point.speedup === "number" ? `${shortNumber(point.speedup)}×` : "",
    typeof point.efficiency === "number" ? percentText(point.efficiency) : "",
    ...(failing ? [point.failures ? percentText(point.goodput) : "", time("epoch_s")] : []), time("compute_s"),
    time("exposed_communication_s"), time("bound_s"), textCell(point.bound_reason, "mark"), memory,
    textCell(point.busiest ? `${plainText(point.busiest)} (${percentText(point.busiest_share ?? 0)})` : "", "mark")];
}
