/*! {"format": "forescale-replay-1", "kind": "replay", "made_by": "replay",
  "shape": {"title?": "text", "platform?": "text", "stack?": "text", "command?": "text", "ranks?": "count",
    "iteration_s": "amount", "iteration_fast_s?": "amount", "iteration_slow_s?": "amount", "images_per_s?": "amount",
    "root_s?": {"*": "number"}, "communication_s?": "amount", "hidden_s?": "amount", "busiest?": "text", "busiest_share?": "amount",
    "notes?": ["text"], "critical_path?": {"rank": "count", "by_cause_s": {"*": "amount"}},
    "links?": [{"link": "text", "mean": "amount", "peak": "amount"}],
    "measured?": {"iteration_s": "positive", "communication_s?": "amount", "hidden_s?": "amount"},
    "against_measured?": {"difference_s": "number", "iteration_with_all_s": "amount", "rest_s": "number",
      "collectives": [{"what": "text", "calls": "amount", "measured_s": "amount", "predicted_s": "amount", "iteration_s": "number"}]},
    "what_if?": [{"change": "text", "error?": "text", "replay?": "forescale-replay-1"}]}} */
// A run elsewhere: how long an iteration takes beside what was measured, why, and what would change it.

views["forescale-replay-1"] = {show: (all) => all.forEach(replaySection)};

function replaySection(answer, index) {
  const {result} = answer;
  const changes = (result.what_if ?? []).filter((one) => one.replay);
  section(`replay-${index + 1}`, `Replay: ${answer.name}`, `On ${joined([result.platform, result.stack].filter(Boolean).map(plainText))}; compute as recorded, communication simulated anew.`,
    headlines(replayText(result)),
    replayBars(result, changes),
    element("div", {class: "grid"}, causesChart(result), phasesChart(result)),
    result.against_measured ? againstTable(result.against_measured) : null,
    changes.length ? scrollBox("What if", whatIfTable(result)) : null,
    result.links?.length ? element("details", {}, element("summary", {}, "Use of links"), scrollBox("Use of links",
      table(["Link", "#Mean", "#Peak"], result.links.map((link) => [link.link, percentText(link.mean), percentText(link.peak)])))) : null);
}

const iterationText = (one) => durationText(one.iteration_s) + intervalText(one.iteration_fast_s, one.iteration_slow_s, durationText);

function replayText(result) {
  const texts = [];
  if (result.measured) {
    const {measured} = result;
    const isInside = measured.iteration_s >= (result.iteration_fast_s ?? NaN) && measured.iteration_s <= (result.iteration_slow_s ?? NaN);
    texts.push(`The replay takes ${iterationText(result)} an iteration where ${durationText(measured.iteration_s)} was measured: ${signedPercentText(result.iteration_s / measured.iteration_s - 1)}` +
      (isInside ? ", inside its interval." : "."));
  } else texts.push(`An iteration takes ${iterationText(result)}${result.images_per_s > 0 ? `, ${shortNumber(result.images_per_s)} images/s` : ""}.`);
  if (result.communication_s > 0)
    texts.push(`Of ${durationText(result.communication_s)} of communication ${percentText((result.hidden_s ?? 0) / result.communication_s)} is hidden behind computing.`);
  const causes = Object.entries(result.critical_path?.by_cause_s ?? {}).sort((a, b) => b[1] - a[1]);
  if (causes.length) texts.push(`The critical path is ${joined(causes.slice(0, 3).map(([cause, time]) => `${cause} (${percentText(time / result.iteration_s)})`))}.`);
  const changes = (result.what_if ?? []).filter((one) => one.replay).sort((a, b) => a.replay.iteration_s - b.replay.iteration_s);
  if (changes.length) texts.push(`Fastest of the changes: ${changes[0].change}, ${durationText(changes[0].replay.iteration_s)} an iteration (${signedPercentText(changes[0].replay.iteration_s / result.iteration_s - 1)}).`);
  return texts;
}

function replayBars(result, changes) {
  const bar = (name, one, color) => ({name, value: one.iteration_s, low: one.iteration_fast_s, high: one.iteration_slow_s, color, tip: `${name}\n${iterationText(one)}`});
  const rows = [...(result.measured ? [bar("measured", result.measured, "var(--quiet)")] : []), bar(changes.length ? "replay, as it is" : "replay", result, "var(--series-0)"),
    ...changes.map((one) => bar(one.change, one.replay, "var(--series-1)"))];
  return chart("Time of an iteration", (width) => barsPlot(width, rows, {text: durationText, label: "time of an iteration"}), "The line is the 90 % interval.",
    () => table(["Run", "#Iteration", "#Low", "#High"], rows.map((row) => [row.name, ...[row.value, row.low, row.high].map((time) => typeof time === "number" ? durationText(time) : "")])));
}

// By colours of their own, however many causes there are.
function shareChart(label, name, shares, caption) {
  const entries = Object.entries(shares).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
  if (entries.length === 0) return null;
  const colors = causeColors(entries.map(([cause]) => cause));
  return chart(label, (width) => partsPlot(width, entries.map(([part, value]) => ({name, part, value})), colors, {text: durationText, label: "time"}), caption,
    () => table(["Cause", "#Time", "#Share"], entries.map(([cause, time]) => [cause, durationText(time), percentText(time / d3.sum(entries, ([, of]) => of))])),
  legendOf(label, [...colors].map(([cause, color]) => [heading(cause), color])));
}

// Causes of one class (reduce, reduce of another rank) each get their own colour too.
function causeColors(causes) {
  const classes = causes.map((cause) => causes.filter((other) => colorClass(other) === colorClass(cause)).length > 1 ? cause : colorClass(cause));
  const colors = categoryColors(classes);
  return new Map(causes.map((cause, i) => [cause, colors.get(classes[i])]));
}

const causesChart = (result) => result.critical_path ? shareChart("Critical path", `rank ${result.critical_path.rank}`, result.critical_path.by_cause_s,
  "What the end of the iteration waited for, cause by cause.") : null;
const phasesChart = (result) => result.root_s ? shareChart("Rank 0's iteration", "rank 0", result.root_s, "Computing, and what nothing hides.") : null;

function againstTable(against) {
  return element("div", {}, element("h3", {}, "Why replay and measurement differ"),
    element("p", {class: "quiet"}, `They differ by ${durationText(Math.abs(against.difference_s))} (the replay is ${against.difference_s < 0 ? "shorter" : "longer"}); ` +
      `with all collectives as measured the iteration is ${durationText(against.iteration_with_all_s)}, and ${durationText(Math.abs(against.rest_s))} remain.`),
    scrollBox("Why replay and measurement differ", table(["Collective", "#Calls", "#Measured", "#Predicted", "#Iteration if as measured"],
      against.collectives.map((one) => [one.what, one.calls, durationText(one.measured_s), durationText(one.predicted_s), durationText(one.iteration_s)]))));
}

function whatIfTable(result) {
  return table(["Change", "#Iteration", "#90 % interval", "#Against the replay", "#Images/s", "#Communication hidden"], result.what_if.map(({change, error, replay}) => replay
    ? [change, durationText(replay.iteration_s), `${durationText(replay.iteration_fast_s ?? replay.iteration_s)} … ${durationText(replay.iteration_slow_s ?? replay.iteration_s)}`,
      signedPercentText(replay.iteration_s / result.iteration_s - 1), replay.images_per_s > 0 ? shortNumber(replay.images_per_s) : "",
      replay.communication_s > 0 ? percentText((replay.hidden_s ?? 0) / replay.communication_s) : ""]
    : [change, element("td", {colspan: 5}, plainText(error))]));
}
