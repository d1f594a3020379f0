// Tables: the points, what went in, what is assumed, warnings, command lines.

// Headings that begin with "#" are numbers. Cells are texts, numbers or elements.
function table(headings, rows, rowAttributes = () => ({})) {
  const isNumber = headings.map((text) => text.startsWith("#"));
  return element("table", {},
    element("thead", {}, element("tr", {}, headings.map((text, column) =>
      element("th", {scope: "col", class: isNumber[column] ? "number" : false}, text.replace(/^#/, ""))))),
    element("tbody", {}, rows.map((cells, index) => element("tr", rowAttributes(index), cells.map((cell, column) =>
      cell instanceof HTMLTableCellElement ? cell
        : element("td", {class: isNumber[column] ? "number" : false}, cell instanceof Node ? cell : plainText(cell)))))));
}

// May break after each / and _.
const pathCell = (path) => element("td", {class: "path"}, plainText(path).split(/(?<=[/_])/).flatMap((part) => [part, element("wbr")]));
const textCell = (text, kind = "text") => element("td", {class: kind}, plainText(text));

function pointsSection() {
  if (predictions.length === 0) return;
  const rows = predictions.flatMap((prediction) => prediction.result.points.map((point) => ({prediction, point})));
  section("points", "All points", null, element("div", {class: "scroll"}, table(
    ["Result", "#GPUs", "#Images a GPU", "#Iteration", "#Range", "#Images/s", "#Speed-up", "#Efficiency",
      "#Compute", "#Exposed comm.", "#Floor", "Floor is", "#GPU memory", "Busiest resource"],
    rows.map(({prediction, point}) => pointCells(prediction, point)),
    (index) => ({class: rows[index].point.fits === false ? "does-not-fit" : false}))));
}

function pointCells(prediction, point) {
  const name = element("td", {class: "mark", title: prediction.name},
    predictions.length > 1 ? element("span", {}, swatch(prediction.color), ` ${prediction.letter}  `) : null, prediction.short);
  const time = (key) => point[key] === undefined ? "" : durationText(point[key]);
  const memory = point.memory_bytes === undefined ? "" : bytesText(point.memory_bytes);
  const begin = [name, point.gpus, point.batch_per_gpu];
  if (point.fits === false)
    return [...begin, element("td", {colspan: 9}, "out of GPU memory"), memory, ""];
  const times = ends.slice(1).map((end) => iterationAt(point, end));
  const range = times[0] === times[1] ? "" : `${durationText(Math.min(...times))} … ${durationText(Math.max(...times))}`;
  return [...begin, time("iteration_s") + (point.is_steady === false ? " (not steady)" : ""), range, shortNumber(point.images_per_s),
    point.speedup === undefined ? "" : `${shortNumber(point.speedup)}×`,
    point.efficiency === undefined ? "" : percentText(point.efficiency), time("compute_s"),
    time("exposed_communication_s"), time("bound_s"), textCell(point.bound_reason, "mark"), memory,
    textCell(point.busiest ? `${plainText(point.busiest)} (${percentText(point.busiest_share ?? 0)})` : "", "mark")];
}

// Everything scalar that a result says of itself; warnings, points and numbers have their own place.
function inputCards() {
  const elsewhere = ["points", "numbers", "warnings", "title", "format"];
  return element("div", {class: "grid"}, predictions.map((prediction) => element("div", {},
    element("h3", {}, predictions.length > 1 ? [swatch(prediction.color), ` ${prediction.letter}  `] : null, prediction.name),
    element("dl", {}, Object.entries(prediction.result).filter(([key, value]) => !elsewhere.includes(key) && plainText(value) !== "")
      .flatMap(([key, value]) => [element("dt", {}, heading(key)), element("dd", {}, plainText(value))])))));
}

// A folder that all paths begin with.
function commonFolder(paths) {
  if (paths.length === 0) return "";
  const parts = paths.map((path) => path.split("/").slice(0, -1));
  let depth = 0;
  while (parts.every((part) => depth < part.length && part[depth] === parts[0][depth])) ++depth;
  return depth === 0 ? "" : parts[0].slice(0, depth).join("/") + "/";
}

// The numbers of all predictions, equal ones once: {number, letters}.
function allNumbers() {
  const found = new Map();
  for (const prediction of predictions)
    for (const number of prediction.result.numbers ?? []) {
      const key = JSON.stringify([number.file, number.path, number.value, number.source, number.assumed]);
      if (!found.has(key)) found.set(key, {number, letters: new Set()});
      found.get(key).letters.add(prediction.letter);
    }
  return [...found.values()];
}

function inputsSection() {
  if (predictions.length === 0) return;
  const numbers = allNumbers();
  const root = commonFolder(numbers.map(({number}) => number.file));
  let text = "";
  let onlyAssumed = false;
  const count = element("output", {class: "quiet", "aria-live": "polite"});
  const holder = element("div", {class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Numbers and their sources"});
  const show = () => {
    const chosen = numbers.filter(({number}) => (!onlyAssumed || number.assumed) &&
      `${number.file} ${number.path} ${number.source}`.toLowerCase().includes(text));
    count.value = `${chosen.length} of ${numbers.length} numbers, ${chosen.filter(({number}) => number.assumed).length} assumed`;
    holder.replaceChildren(table([...(predictions.length > 1 ? ["In"] : []), "File", "Number", "#Value", "#Fast", "#Slow", "", "Source"],
      chosen.map(({number, letters}) => [...(predictions.length > 1 ? [textCell(joined([...letters]), "mark")] : []), ...numberCells(number, root)])));
  };
  show();
  section("inputs", "What it rests on",
    "Every number that the predictions read. An assumed one has no measurement or citation behind it; its fast and slow ends make the range.",
    inputCards(), element("br"),
    numbers.length === 0 ? element("p", {class: "quiet"}, "The results name no numbers.") : [
      element("div", {class: "controls"}, search("Search numbers and sources", (typed) => {
        text = typed;
        show();
      }), checkbox("assumed only", (checked) => {
        onlyAssumed = checked;
        show();
      }), count), holder]);
}

function numberCells(number, root) {
  const quantity = (value) => number.assumed ? quantityText(number.path, value) : "";
  return [pathCell(number.file.slice(root.length)), pathCell(number.path.replace(/^\//, "")),
    element("td", {class: "number", title: plainText(number.value)}, quantityText(number.path, number.value)),
    quantity(number.fast), quantity(number.slow),
    element("td", {class: "mark"}, element("span", {class: `badge ${number.assumed ? "assumed" : "cited"}`}, number.assumed ? "assumed" : "cited")),
    textCell(number.source)];
}

function warningsSection() {
  const found = new Map(report.notes.map((note) => [note, []]));
  for (const prediction of predictions)
    for (const warning of prediction.result.warnings ?? [])
      found.set(warning, [...(found.get(warning) ?? []), prediction.letter]);
  if (found.size === 0) return;
  section("warnings", "Warnings", null, [...found].map(([warning, letters]) => element("p", {class: "notice"}, warning,
    letters.length && predictions.length > 1 ? element("span", {class: "of"}, ` (${joined(letters)})`) : null)));
}

const shellWord = (word) => /^[\w.,:=+@%/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

// The command that gives this prediction again; a result may state its own.
function predictCommand({result}) {
  if (typeof result.command === "string" && result.command) return result.command;
  const words = ["forescale", "predict"];
  const add = (option, value) => value === undefined || value === "" || words.push(option, shellWord(plainText(value)));
  add("--platform", result.platform);
  add("--gpus", result.points.map((point) => point.gpus).join(","));
  add("--model", result.model);
  add("--batch", result.batch);
  if (result.scaling !== "strong") add("--scaling", result.scaling);
  if (result.system) add("--system", result.system);
  add("--schedule", result.system ? "" : result.schedule);
  add("--stack", result.system ? "" : result.stack);
  return `${words.join(" ")} --json`;
}

function commandsSection() {
  section("commands", "How to repeat it", null,
    predictions.map((prediction) => [element("p", {class: "quiet"}, `${prediction.letter}  ${prediction.short}` +
      (prediction.result.command ? "" : " (from what the result says of itself)")),
      element("pre", {class: "command"}, predictCommand(prediction))]).flat(),
    element("p", {class: "quiet"}, "This page"), element("pre", {class: "command"}, report.command),
    element("details", {}, element("summary", {}, "Input files"), element("div", {class: "scroll"}, table(["File", "Kind", "#Size", "SHA-256"],
      report.files.map((file) => [pathCell(file.name), file.kind, bytesText(file.bytes), element("td", {class: "path"}, element("code", {}, file.sha256))])))));
}
