/*! {"format": "forescale-executed-schedules-1", "kind": "execution of schedules", "made_by": "execute schedule",
  "shape": {"title?": "text", "library?": "text", "command?": "text", "refused?": ["text"], "wrong_order?": ["text"], "distinguishable_pairs?": "count",
    "schedules": [{"schedule": "text", "failure?": "text", "iteration_error?": "number", "exposed_error?": "number", "communication_share?": "number",
      "predicted": {"iteration_s": "amount", "compute_s": "amount", "exposed_communication_s": "amount", "waiting_s": "amount", "idle_s": "amount"},
      "predicted_iteration": {"time_s": "amount", "low_s": "amount", "high_s": "amount"},
      "measured?": {"iteration_s": "amount", "compute_s": "amount", "exposed_communication_s": "amount", "waiting_s": "amount", "idle_s": "amount"}}, "+"]}} */
// Training schedules that were really run, compute emulated, beside their prediction.

views["forescale-executed-schedules-1"] = {show: (all) => all.forEach(executedSchedulesSection)};

function executedSchedulesSection(answer, index) {
  const {result} = answer;
  const all = result.schedules;
  const colors = new Map([["compute", "var(--phase-forward)"], ["exposed communication", "var(--phase-aggregation)"], ["waiting", "var(--phase-waiting)"], ["idle", "var(--phase-idle)"]]);
  const parts = all.flatMap((one) => [["measured", one.measured], ["predicted", one.predicted]].filter(([, times]) => times).flatMap(([what, times]) =>
    [...colors.keys()].map((part) => ({name: `${one.schedule}, ${what}`, part, value: times[`${part.replaceAll(" ", "_")}_s`]}))));
  section(`executed-schedules-${index + 1}`, `Executed schedules: ${answer.name}`, result.library ? `With ${result.library}; times of the steady state at rank 0.` : null,
    headlines(executedSchedulesText(result)),
    chart("Iteration, measured and predicted", (width) => partsPlot(width, parts, colors, {text: durationText, label: "time of an iteration"}),
      "Real ranks cannot tell exposed communication from waiting for others.", () => executedScheduleTable(all), legendOf("Parts", [...colors])),
    scrollBox("Executed schedules", executedScheduleTable(all)));
}

function executedSchedulesText({schedules, distinguishable_pairs: pairs, wrong_order: wrong}) {
  const texts = schedules.filter((one) => one.measured).map((one) => `${one.schedule}: ${durationText(one.measured.iteration_s)} measured, ${durationText(one.predicted_iteration.time_s)} predicted` +
    `${intervalText(one.predicted_iteration.low_s, one.predicted_iteration.high_s, durationText)}, ${signedPercentText(one.iteration_error ?? 0)}.`);
  if (pairs > 0) texts.unshift(`Of ${plural(pairs, "pair")} of schedules that measurements tell apart, ${pairs - (wrong?.length ?? 0)} are predicted in the right order.`);
  return texts;
}

function executedScheduleTable(all) {
  const signed = (value) => typeof value === "number" ? signedPercentText(value) : "";
  return table(["Schedule", "#Measured", "#Predicted", "#90 % interval", "#Error", "#Exposed, measured", "#Exposed, predicted", "#Error", ""], all.map((one) => one.measured
    ? [one.schedule, durationText(one.measured.iteration_s), durationText(one.predicted_iteration.time_s), `${durationText(one.predicted_iteration.low_s)} … ${durationText(one.predicted_iteration.high_s)}`,
      signed(one.iteration_error), durationText(one.measured.exposed_communication_s + one.measured.waiting_s), durationText(one.predicted.exposed_communication_s + one.predicted.waiting_s), signed(one.exposed_error), ""]
    : [one.schedule, "", durationText(one.predicted_iteration.time_s), "", "", "", "", "", plainText(one.failure)]));
}
