/*! {"format": "forescale-validation-1", "kind": "validation", "made_by": "validate",
  "shape": {"command?": "text", "rows": [{"id": "text", "paper": "text", "claim": "text", "role": "text", "error?": "number",
    "right?": "flag", "steps?": [{"text": "text", "right": "flag?", "values?": ["number?"]}]}]}} */
// Predictions against measurements: each claim, what was predicted, and how far off it is.

const roleOrder = ["prediction", "adjusted", "calibration", "arithmetic"];

views["forescale-validation-1"] = {show: validationSection};

function validationRows(all) {
  return all.flatMap(({result}) => result.rows).map((row) => {
    const isPair = row.measured > 0 && row.predicted > 0 && typeof row.measured === "number" && typeof row.predicted === "number";
    const hasInterval = typeof row.predicted_low === "number" && typeof row.predicted_high === "number";
    return {...row, isPair, hasInterval, isInside: hasInterval && row.measured >= Math.min(row.predicted_low, row.predicted_high) && row.measured <= Math.max(row.predicted_low, row.predicted_high),
      offBy: typeof row.error === "number" ? row.error : isPair ? row.predicted / row.measured - 1 : null};
  });
}

function validationSection(all) {
  const rows = validationRows(all);
  const papers = [...new Set(rows.map((row) => row.paper))].sort();
  const roles = [...new Set(rows.map((row) => row.role))].sort((a, b) => (roleOrder.indexOf(a) + 9) % 9 - (roleOrder.indexOf(b) + 9) % 9 || (a < b ? -1 : 1));
  const wanted = {paper: "", role: "", text: ""};
  const chosen = () => rows.filter((row) => (!wanted.paper || row.paper === wanted.paper) && (!wanted.role || row.role === wanted.role) &&
    `${row.id} ${row.claim} ${plainText(row.note)} ${plainText(row.cause)}`.toLowerCase().includes(wanted.text));
  const figure = chart("Predicted against measured", (width) => scatter(width, chosen(), roles),
    "Predicted upwards, measured to the right; both axes are logarithmic. On the line: right. The bands are ±15 % and ±30 %, a thin line a 90 % interval. Units differ from claim to claim.", () => claimTable(chosen()));
  const strip = chart("Error by paper", (width) => errorStrip(width, chosen(), roles, papers),
    "As scored: predicted over measured, less one; of a factor or a time saved that of the improvement. The bands are the same; beyond ±100 % at the edge.", () => claimTable(chosen()));
  const count = element("output", {class: "quiet", "aria-live": "polite"});
  const holder = scrollBox("Claims", null, true);
  const show = () => {
    count.value = `${chosen().length} of ${rows.length} claims`;
    holder.replaceChildren(claimTable(chosen()));
    figure.redraw();
    strip.redraw();
  };
  const pick = (key) => (value) => {
    wanted[key] = value;
    show();
  };
  show();
  section("validation", "Held against the papers",
    "A calibration was used to set an input, arithmetic is a formula or a count, of an adjusted row the model was changed after it was compared; only predictions are a test of the model. Factors and times saved are scored on the improvement.",
    headlines(validationText(rows)), tiles(rows), groupsTable(rows), summaryTable(all), orderingsTable(rows),
    element("div", {class: "controls"}, selection("Paper", "all", papers, pick("paper")), selection("Role", "all", roles, pick("role")),
      search("Search claims", pick("text")), count),
    legendOf("Roles", roles.map((role, index) => [role, seriesColor(index)])),
    element("div", {class: "grid"}, figure, strip), element("br"), holder);
}

function validationText(rows) {
  const scored = rows.filter((row) => row.role === "prediction" && row.offBy !== null);
  const ranged = scored.filter((row) => row.hasInterval);
  const ordered = rows.filter((row) => typeof row.right === "boolean");
  return [scored.length ? `The median error of ${plural(scored.length, "prediction")} is ${percentText(d3.median(scored, (row) => Math.abs(row.offBy)))}; ` +
      `${scored.filter((row) => Math.abs(row.offBy) <= 0.3).length} of them within 30 %.` : null,
    ranged.length ? `${ranged.filter((row) => row.isInside).length} of ${ranged.length} measured numbers lie in the 90 % interval of their prediction.` : null,
    ordered.length ? `${ordered.filter((row) => row.right).length} of ${plural(ordered.length, "ordering")} as measured.` : null];
}

// Papers and roles apart: medians of the predictions.
function groupsTable(rows) {
  const groups = d3.groups(rows, (row) => row.paper, (row) => row.role).flatMap(([paper, roles]) => roles.map(([role, list]) => [paper, role, list]));
  const off = (list) => list.filter((row) => row.offBy !== null).map((row) => Math.abs(row.offBy));
  return element("details", {}, element("summary", {}, "By paper and role"), scrollBox("By paper and role", table(["Paper", "Role", "#Claims", "#Scored", "#Median error", "#Worst"],
    groups.map(([paper, role, list]) => [paper, role, list.length, off(list).length, off(list).length ? percentText(d3.median(off(list))) : "", off(list).length ? percentText(d3.max(off(list))) : ""]))));
}

function orderingsTable(rows) {
  const steps = rows.flatMap((row) => (row.steps ?? []).map((step) => [row.id, step.text, joined((step.values ?? []).map((value) => shortNumber(value ?? NaN))),
    step.right === null ? "" : element("span", {class: step.right ? "badge near" : "badge over"}, step.right ? "right" : "wrong")]));
  if (steps.length === 0) return null;
  return element("details", {}, element("summary", {}, `Orderings: ${plural(steps.length, "step")}`), scrollBox("Orderings", table(["Id", "Who is above whom", "Predicted", ""], steps), steps.length > 20));
}

function tiles(rows) {
  const scored = rows.filter((row) => row.role === "prediction" && row.offBy !== null).map((row) => Math.abs(row.offBy));
  if (scored.length === 0) return null;
  const tile = (value, label) => element("div", {class: "tile"}, element("b", {}, value), element("span", {}, label));
  const trivial = rows.filter((row) => row.role === "prediction" && typeof row.trivial_error === "number").map((row) => Math.abs(row.trivial_error));
  return element("div", {class: "tiles"}, tile(String(scored.length), "predictions scored"), tile(percentText(d3.median(scored)), "median absolute error"),
    trivial.length === 0 ? null : tile(percentText(d3.median(trivial)), "without a model"),
    tile(`${scored.filter((error) => error <= 0.15).length}`, "within 15 %"), tile(`${scored.filter((error) => error > 0.3).length}`, "off by over 30 %"));
}

// What the files say of themselves, whatever it is.
function summaryTable(all) {
  const entries = all.flatMap(({result}) => Object.entries(result.summary ?? {}));
  if (entries.length === 0) return null;
  return element("details", {}, element("summary", {}, "Summary as the validation states it"), element("dl", {}, entries.flatMap(([key, value]) =>
    [element("dt", {}, heading(key)), element("dd", {}, typeof value === "number" ? shortNumber(value) : plainText(value))])));
}

function errorCell(row) {
  if (row.offBy === null) return "";
  const size = Math.abs(row.offBy);
  const kind = size > 0.3 ? "badge over" : size <= 0.15 ? "badge near" : "badge";
  return element("td", {class: "number"}, element("span", {class: kind}, signedPercentText(row.offBy)));
}

const claimValue = (value) => typeof value === "number" ? shortNumber(value) : plainText(value);

function claimTable(rows) {
  return table(["Id", "Paper", "Claim", "#Measured", "#Predicted", "#90 % interval", "Unit", "#Error", "Role", "Notes"], rows.map((row) => [
    textCell(row.id, "mark"), row.paper, textCell(row.claim), claimValue(row.measured), claimValue(row.predicted),
    row.hasInterval ? `${claimValue(row.predicted_low)} … ${claimValue(row.predicted_high)}` : "", plainText(row.unit), errorCell(row), textCell(row.role, "mark"),
    element("td", {class: "text"}, [["", row.note], ["Cause: ", row.cause], ["Suspected, not shown: ", row.suspected], ["Would be decided by: ", row.decided_by], ["Shares an assumption: ", row.shared_assumption]]
      .filter(([, text]) => plainText(text) !== "").map(([label, text]) => element("div", {}, label + plainText(text))))]));
}

const claimTip = (row) => [`${row.id} (${row.paper}, ${row.role})`, row.claim,
  `measured ${claimValue(row.measured)}, predicted ${claimValue(row.predicted)} ${plainText(row.unit)}`,
  row.offBy === null ? "" : `error ${signedPercentText(row.offBy)}`].join("\n");

function errorStrip(width, rows, roles, papers) {
  const scored = rows.filter((row) => row.offBy !== null);
  const place = {x: (row) => Math.max(-1, Math.min(1, row.offBy)), y: "paper"};
  const band = (off, opacity) => Plot.rect([0], {x1: -off, x2: off, fill: "var(--accent)", fillOpacity: opacity, className: "band"});
  return Plot.plot({
    width, height: 70 + 34 * papers.length, marginLeft: Math.min(120, 14 + 7 * d3.max(papers, (paper) => paper.length)), marginTop: 14, marginBottom: 38, marginRight: 18,
    x: {domain: [-1, 1], ticks: 5, tickFormat: (off) => signedPercentText(off), label: "Error", grid: true},
    y: {type: "point", domain: papers, label: null, grid: true, padding: 0.7},
    marks: [band(0.3, 0.1), band(0.15, 0.13), Plot.ruleX([0], {stroke: "var(--quiet)"}),
      roles.map((role, index) => Plot.dot(scored.filter((row) => row.role === role), {...place, fill: seriesColor(index),
        symbol: markSymbols[index % 8], r: 4, fillOpacity: 0.85, className: "errors"})),
      Plot.tip(scored, Plot.pointer({...place, maxRadius: 30, fill: "var(--card)", stroke: "var(--line)", lineWidth: 24, title: claimTip}))],
  });
}

function scatter(width, rows, roles) {
  const pairs = rows.filter((row) => row.isPair);
  const values = pairs.flatMap((row) => [row.measured, row.predicted]);
  const low = (d3.min(values) ?? 1) / 1.6;
  const high = (d3.max(values) ?? 10) * 1.6;
  const band = (off, opacity) => Plot.areaY([low, high], {x: (x) => x, y1: (x) => x * (1 - off), y2: (x) => x * (1 + off), fill: "var(--accent)",
    fillOpacity: opacity, clip: true, className: "band"});
  const format = (value) => shortNumber(value);
  return Plot.plot({
    width, height: Math.max(280, Math.min(480, width * 0.8)), marginLeft: 60, marginBottom: 40, marginTop: 22,
    x: {type: "log", domain: [low, high], axis: null},
    y: {type: "log", domain: [low, high], axis: null},
    marks: [axisX(logTicks(low, high, width - 80, 52), format, "Measured"), axisY(logTicks(low, high, 220, 20), format), band(0.3, 0.1), band(0.15, 0.13),
      Plot.line([low, high], {x: (x) => x, y: (x) => x, stroke: "var(--quiet)", className: "diagonal"}),
      Plot.ruleX(pairs.filter((row) => row.hasInterval && row.predicted_low > 0), {x: "measured", y1: "predicted_low", y2: "predicted_high", stroke: "var(--quiet)", clip: true, className: "intervals"}),
      roles.map((role, index) => Plot.dot(pairs.filter((row) => row.role === role), {x: "measured", y: "predicted", fill: seriesColor(index),
        symbol: markSymbols[index % 8], r: 4, fillOpacity: 0.85, className: "claims"})),
      Plot.tip(pairs, Plot.pointer({x: "measured", y: "predicted", maxRadius: 30, fill: "var(--card)", stroke: "var(--line)", lineWidth: 24,
        title: claimTip}))],
  });
}
