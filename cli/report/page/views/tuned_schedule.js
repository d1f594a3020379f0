/*! {"format": "forescale-tuned-schedule-1", "kind": "schedule tuning", "made_by": "tune schedule",
  "shape": {"title?": "text", "schedule": "text", "command?": "text", "notes?": ["text"],
    "settings?": {"file": "text", "how_to_load": "text"},
    "rows": [{"gpus": "count1", "speedup": "amount", "simulated?": "count",
      "before": {"time_s": "positive", "low_s": "amount", "high_s": "amount"}, "after": {"time_s": "positive", "low_s": "amount", "high_s": "amount"},
      "begun": {"*": "text"}, "chosen": {"*": "text"}, "fastest?": {"*": "text"}, "fastest_s?": "amount",
      "effects": [{"setting": "text", "value": "text", "chosen": "flag", "iteration_s?": "amount", "failure?": "text"}]}, "+"]}} */
// The settings of a schedule that are advised, beside those it began with, and what each candidate does.

views["forescale-tuned-schedule-1"] = {show: (all) => all.forEach(tunedScheduleSection)};

function tunedScheduleSection(answer, index) {
  const {result} = answer;
  let row = result.rows.at(-1);
  const holder = element("div");
  const show = () => holder.replaceChildren(candidatesChart(row), scrollBox("Candidates", candidateTable(row), true));
  show();
  section(`tuned-schedule-${index + 1}`, `Settings of ${result.schedule}: ${answer.name}`, null, headlines(result.rows.map(tunedScheduleText)),
    beforeAfter(result), scrollBox("Chosen settings", settingTable(result)),
    result.rows.length > 1 ? element("div", {class: "controls"}, selection("Candidates with", null, result.rows.map((one) => `${one.gpus} GPUs`), (text) => {
      row = result.rows.find((one) => `${one.gpus} GPUs` === text);
      show();
    }, `${row.gpus} GPUs`)) : null,
    holder, settingsNote(result));
}

// Settings of `now` that are not as before.
const changedSettings = (before, now) => Object.entries(now).filter(([setting, value]) => before[setting] !== value).map(([setting, value]) => `${setting} ${value}`);

function tunedScheduleText({gpus, speedup, before, after, begun, chosen, fastest, fastest_s}) {
  const changed = changedSettings(begun, chosen);
  const more = changedSettings(chosen, fastest ?? chosen);
  const little = more.length > 0 ? ` Another ${percentText(1 - fastest_s / after.time_s)} less, with ${joined(more)}, is too little to tell apart.` : "";
  if (changed.length === 0) return `On ${plural(gpus, "GPU")} the settings it began with stay (${durationText(before.time_s)} an iteration).${little}`;
  return `On ${plural(gpus, "GPU")} an iteration takes ${durationText(after.time_s)}${intervalText(after.low_s, after.high_s, durationText)}, ${durationText(before.time_s)} before: ` +
    `${percentText(speedup - 1)} faster, with ${joined(changed)}.${little}`;
}

function beforeAfter(result) {
  const rows = result.rows.flatMap(({gpus, before, after}) => [["before", before, "var(--quiet)"], ["chosen", after, "var(--series-0)"]].map(([what, time, color]) =>
    ({name: `${gpus} GPUs, ${what}`, value: time.time_s, low: time.low_s, high: time.high_s, color, tip: `${gpus} GPUs, ${what}\n${durationText(time.time_s)}${intervalText(time.low_s, time.high_s, durationText)}`})));
  return chart("Time of an iteration", (width) => barsPlot(width, rows, {text: durationText, label: "time of an iteration"}), "The line is the 90 % interval.",
    () => table(["Settings", "#Iteration", "#Low", "#High"], rows.map((row) => [row.name, ...[row.value, row.low, row.high].map(durationText)])));
}

const ranked = (row) => [...row.effects].sort((a, b) => (a.iteration_s ?? Infinity) - (b.iteration_s ?? Infinity));
const effectName = ({setting, value}) => `${setting} ${value}`;

// Bars would all look alike: what a candidate gains or loses against the settings chosen.
function candidatesChart(row) {
  const best = row.after.time_s;
  const rows = ranked(row).filter((effect) => effect.iteration_s > 0).slice(0, 24).map((effect) => ({name: effectName(effect), value: 100 * (effect.iteration_s / best - 1),
    color: effect.chosen ? "var(--series-0)" : "var(--series-1)", tip: `${effectName(effect)}\n${durationText(effect.iteration_s)} an iteration`}));
  return chart("Candidates: how much slower than the chosen settings", (width) => barsPlot(width, rows, {text: (v) => `${shortNumber(v)} %`, label: "% slower"}),
    "One setting changed at a time, the others as chosen.", () => candidateTable(row),
  legendOf("Candidates", [["chosen", "var(--series-0)"], ["not chosen", "var(--series-1)"]]));
}

function candidateTable(row) {
  return table(["Setting", "Value", "#Iteration", "#Against the chosen", ""], ranked(row).map((effect) => [effect.setting, effect.value,
    effect.iteration_s > 0 ? durationText(effect.iteration_s) : "", effect.iteration_s > 0 ? signedPercentText(effect.iteration_s / row.after.time_s - 1) : plainText(effect.failure),
    effect.chosen ? element("span", {class: "badge near"}, "chosen") : ""]));
}

function settingTable(result) {
  const settings = [...new Set(result.rows.flatMap((row) => Object.keys(row.chosen)))];
  return table(["#GPUs", "Setting", "Began with", "Chosen"], result.rows.flatMap((row) => settings.map((setting) =>
    [String(row.gpus), setting, plainText(row.begun[setting]), plainText(row.chosen[setting])])));
}

// The file that --emit wrote, and how a library is told.
function settingsNote({settings}) {
  if (!settings) return null;
  return element("div", {}, element("h3", {}, `Settings written to ${settings.file}`), element("pre", {class: "command", tabindex: 0}, settings.how_to_load));
}
