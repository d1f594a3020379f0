// Tables, and what every page ends with: what went in, what is assumed, warnings, command lines.

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

// Without columns in which nothing stands.
function filledTable(headings, rows) {
  const isFilled = headings.map((_, column) => rows.some((cells) => (cells[column] instanceof Node ? cells[column].textContent : plainText(cells[column])) !== ""));
  return table(headings.filter((_, column) => isFilled[column]), rows.map((cells) => cells.filter((_, column) => isFilled[column])));
}

// May break after each / and _.
const pathCell = (path) => element("td", {class: "path"}, plainText(path).split(/(?<=[/_])/).flatMap((part) => [part, element("wbr")]));
const textCell = (text, kind = "text") => element("td", {class: kind}, plainText(text));

// With a box to search all its cells; only the first thousand rows are shown.
function filteredTable(label, headings, rows) {
  const rowsMax = 1000;
  const texts = rows.map((cells) => cells.map((cell) => cell instanceof Node ? cell.textContent : plainText(cell)).join(" ").toLowerCase());
  const count = element("output", {class: "quiet", "aria-live": "polite"});
  const box = scrollBox(label, null, true);
  const show = (wanted) => {
    const words = wanted.split(/\s+/).filter(Boolean);
    const chosen = rows.filter((_, index) => words.every((word) => texts[index].includes(word)));
    count.value = `${chosen.length} of ${plural(rows.length, "row")}${chosen.length > rowsMax ? `, the first ${rowsMax} shown` : ""}`;
    box.replaceChildren(table(headings, chosen.slice(0, rowsMax)));
  };
  show("");
  return [element("div", {class: "controls"}, search(`Search: ${label}`, show), count), box];
}

// What an answer says of itself in a word or two; what is long or a list has its own place.
function inputCards() {
  const elsewhere = ["title", "format", "command", "is_steady", "messages", "bytes_sent"];
  const isAnswer = (key, value) => typeof value === "number" && /_(s|share)$/.test(key);
  const facts = (result) => Object.entries(result).filter(([key, value]) => !elsewhere.includes(key) && !isAnswer(key, value) && !Array.isArray(value) &&
    (typeof value !== "object" || key === "question" || key === "options") && plainText(value) !== "" && plainText(value) !== "{}");
  const letter = (answer) => predictions.length > 1 ? joined(predictions.filter((p) => p.file === answer.file).map((p) => p.letter)) : "";
  return element("div", {class: "grid"}, answers.map((answer) => element("div", {},
    element("h3", {}, letter(answer) ? `${letter(answer)}  ` : null, answer.name),
    element("dl", {}, facts(answer.result).flatMap(([key, value]) =>
      [element("dt", {}, heading(key)), element("dd", {}, value && typeof value === "object" ? joined(Object.entries(value).map(([name, of]) => `${heading(name)} ${plainText(of)}`)) : quantityText(key, value))])))));
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
  if (answers.length === 0) return;
  const numbers = allNumbers();
  section("inputs", "What it rests on",
    numbers.length === 0 ? "What was asked, and what the answers say of their inputs."
      : "What was asked, and every number that the predictions read. An assumed one has no measurement or citation behind it; its fast and slow ends make the interval.",
    inputCards(), numbers.length === 0 ? null : [element("br"), numbersTable(numbers)]);
}

function numbersTable(numbers) {
  const root = commonFolder(numbers.map(({number}) => number.file));
  let text = "";
  let onlyAssumed = false;
  const count = element("output", {class: "quiet", "aria-live": "polite"});
  const holder = scrollBox("Numbers and their sources", null, true);
  const show = () => {
    const chosen = numbers.filter(({number}) => (!onlyAssumed || number.assumed) &&
      `${number.file} ${number.path} ${number.source}`.toLowerCase().includes(text));
    count.value = `${chosen.length} of ${numbers.length} numbers, ${chosen.filter(({number}) => number.assumed).length} assumed`;
    holder.replaceChildren(table([...(predictions.length > 1 ? ["In"] : []), "File", "Number", "#Value", "#Fast", "#Slow", "", "Source"],
      chosen.map(({number, letters}) => [...(predictions.length > 1 ? [textCell(joined([...letters]), "mark")] : []), ...numberCells(number, root)])));
  };
  show();
  return [element("div", {class: "controls"}, search("Search numbers and sources", (typed) => {
    text = typed;
    show();
  }), checkbox("assumed only", (checked) => {
    onlyAssumed = checked;
    show();
  }), count), holder];
}

function numberCells(number, root) {
  const quantity = (value) => number.assumed ? quantityText(number.path, value) : "";
  return [pathCell(number.file.slice(root.length)), pathCell(number.path.replace(/^\//, "")),
    element("td", {class: "number", title: plainText(number.value)}, quantityText(number.path, number.value)),
    quantity(number.fast), quantity(number.slow),
    element("td", {class: "mark"}, element("span", {class: `badge ${number.assumed ? "assumed" : "cited"}`}, number.assumed ? "assumed" : "cited")),
    textCell(number.source)];
}

// What answers warn of and note, each once, with the files that say it.
function warningsSection() {
  const found = new Map(report.notes.map((note) => [note, new Set()]));
  const add = (text, from) => found.set(text, (found.get(text) ?? new Set()).add(from));
  for (const {result, name} of answers.filter(({format}) => format !== "forescale-prediction-1"))
    for (const key of ["warnings", "notes", "refused", "failure", "wrong_order"])
      for (const warning of [result[key] ?? []].flat()) if (plainText(warning)) add(plainText(warning), name);
  for (const prediction of predictions)
    for (const warning of prediction.result.warnings ?? []) add(warning, prediction.letter);
  if (found.size === 0) return;
  section("warnings", "Warnings", null, [...found].map(([warning, from]) => element("p", {class: "notice"}, warning,
    from.size && answers.length > 1 ? element("span", {class: "of"}, ` (${joined([...from])})`) : null)));
}

function commandsSection() {
  const commands = new Map(answers.map(({name, result}) => [plainText(result.command), name]));
  for (const {result, letter, short} of predictions) commands.set(plainText(result.command), `${letter}  ${short}`);
  section("commands", "How to repeat it", null,
    [...commands].map(([command, name]) => command
      ? [element("p", {class: "quiet"}, name), element("pre", {class: "command", tabindex: 0}, command)]
      : element("p", {class: "quiet"}, `${name} does not say how it was asked.`)),
    element("p", {class: "quiet"}, "This page"), element("pre", {class: "command", tabindex: 0}, report.command),
    element("details", {}, element("summary", {}, "Input files"), scrollBox("Input files", table(["File", "Kind", "#Size", "SHA-256"],
      report.files.map((file) => [pathCell(file.name), file.kind, bytesText(file.bytes), element("td", {class: "path"}, element("code", {}, file.sha256))])))));
}
