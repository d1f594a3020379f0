/*! {"format": "forescale-executed-collectives-1", "kind": "execution of collectives", "made_by": "execute, execute collective",
  "shape": {"library?": "text", "command?": "text", "platform?": "text", "stack?": "text", "refused?": ["text"], "failure?": "text",
    "rows": [{"plan": "text", "op?": "text", "ranks": "count1", "bytes": "count", "predicted_s?": "amount", "low_s?": "amount", "high_s?": "amount",
      "measured_s?": "amount", "measured_low_s?": "amount", "measured_high_s?": "amount", "error?": "number", "inside?": "flag", "samples?": "count", "note?": "text"}],
    "summary?": {"all": {"rows": "count", "median_abs_error": "number?", "worst_error": "number?", "inside_share": "number?"},
      "good_pick_share?": "number", "worst_regret?": "number",
      "picks?": [{"op": "text", "ranks": "count", "bytes": "count", "predicted_best": "text", "measured_best": "text", "regret": "number"}]}}} */
// Collectives that were really run, beside their prediction: errors, and whether the choice was right.

views["forescale-executed-collectives-1"] = {show: (all) => all.forEach(executedCollectivesSection)};

function executedCollectivesSection(answer, index) {
  const {result} = answer;
  const rankCounts = [...new Set(result.rows.map((row) => row.ranks))].sort(d3.ascending);
  let ranks = rankCounts.at(-1);
  const figure = chart("Measured and predicted", (width) => executedCurves(width, result.rows.filter((row) => row.ranks === ranks)),
    "Solid: measured, with its 95 % interval as a band; dashed: predicted, with its 90 % interval.", () => executedTable(result.rows));
  const plans = [...new Set(result.rows.map((row) => row.plan))];
  section(`executed-collectives-${index + 1}`, `Executed collectives${result.library ? ` with ${result.library}` : ""}`,
    result.platform ? `Predicted on ${joined([result.platform, result.stack].filter(Boolean).map(plainText))}.` : null,
    headlines(executedText(result)), legendOf("Plans", plans.map((plan, i) => [plan, seriesColor(i)])),
    rankCounts.length > 1 ? element("div", {class: "controls"}, selection("Ranks", null, rankCounts.map(String), (count) => {
      ranks = Number(count);
      figure.redraw();
    }, String(ranks))) : null,
    figure, scrollBox("Executed collectives", executedTable(result.rows), result.rows.length > 20),
    result.summary?.picks?.length ? element("details", {}, element("summary", {}, "Was the fastest plan chosen?"), scrollBox("Choices", pickTable(result.summary.picks))) : null);
}

function executedText({rows, summary}) {
  const measured = rows.filter((row) => typeof row.measured_s === "number").length;
  const texts = [`${plural(measured, "time")} measured of ${rows.length}; every sum was right.`];
  if (summary?.all.rows > 0) {
    texts.push(`The median error of ${plural(summary.all.rows, "prediction")} is ${percentText(summary.all.median_abs_error)}, the worst ${signedPercentText(summary.all.worst_error)}` +
      (typeof summary.all.inside_share === "number" ? `; ${percentText(summary.all.inside_share)} of the measured times lie in the predicted interval.` : "."));
    if (typeof summary.good_pick_share === "number" && summary.picks?.length) texts.push(`The predicted fastest plan is within 5 % of the fastest in ${percentText(summary.good_pick_share)} of ${plural(summary.picks.length, "choice")}` +
      `${typeof summary.worst_regret === "number" ? `; at worst it takes ${percentText(summary.worst_regret)} longer` : ""}.`);
  }
  return texts;
}

function executedCurves(width, rows) {
  const plans = [...new Set(rows.map((row) => row.plan))];
  const series = plans.flatMap((plan, i) => [["measured", "measured_s", "measured_low_s", "measured_high_s", undefined], ["predicted", "predicted_s", "low_s", "high_s", "5 4"]]
    .map(([what, time, low, high, dash]) => ({name: `${plan}, ${what}`, color: seriesColor(i), symbol: what === "measured" ? "circle" : "diamond", dash,
      points: rows.filter((row) => row.plan === plan && row[time] > 0 && row.bytes > 0).sort((a, b) => a.bytes - b.bytes).map((row) => ({x: row.bytes, y: row[time], low: row[low], high: row[high],
        tip: `${plan}, ${bytesText(row.bytes)}\n${what} ${durationText(row[time])}${typeof row.error === "number" ? `\nerror ${signedPercentText(row.error)}` : ""}`}))})));
  return curvesPlot(width, series.filter((s) => s.points.length), {x: {label: "size", text: bytesText}, y: {text: durationText}, height: 340});
}

function executedTable(rows) {
  const time = (value) => typeof value === "number" ? durationText(value) : "";
  return filledTable(["Plan", "#Ranks", "#Size", "#Measured", "#95 % interval", "#Samples", "#Predicted", "#90 % interval", "#Error", "Inside", "Note"], rows.map((row) =>
    [textCell(row.plan, "mark"), row.ranks, bytesText(row.bytes), time(row.measured_s), typeof row.measured_low_s === "number" ? `${time(row.measured_low_s)} … ${time(row.measured_high_s)}` : "", row.samples,
      time(row.predicted_s), typeof row.low_s === "number" ? `${time(row.low_s)} … ${time(row.high_s)}` : "",
      typeof row.error === "number" ? signedPercentText(row.error) : "", typeof row.inside === "boolean" ? (row.inside ? "yes" : "no") : "", plainText(row.note)]));
}

const pickTable = (picks) => table(["Operation", "#Ranks", "#Size", "Predicted fastest", "Measured fastest", "#Regret"],
  picks.map((pick) => [pick.op, pick.ranks, bytesText(pick.bytes), textCell(pick.predicted_best, "mark"), textCell(pick.measured_best, "mark"), percentText(pick.regret)]));
