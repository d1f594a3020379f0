// Sections, controls, and charts that follow the width of the page.

const sections = [];

// Adds a section to the page and to its contents.
function section(id, title, lead, ...children) {
  sections.push({id, title});
  const made = element("section", {id, "aria-labelledby": `${id}-title`},
    element("h2", {id: `${id}-title`}, title), lead ? element("p", {class: "lead"}, lead) : null, ...children);
  document.getElementById("content").append(made);
  return made;
}

// What a section says first, in sentences.
const headlines = (...sentences) => element("ul", {class: "headlines"},
  sentences.flat().filter(Boolean).map((sentence) => element("li", {}, sentence)));

// Charts that are to be drawn, one after the other: each may take a twentieth of a second.
const undrawn = new Set();
function drawLater(figure) {
  if (undrawn.size === 0) setTimeout(drawNext);
  undrawn.add(figure);
}
function drawNext() {
  const [figure] = undrawn;
  figure.redraw();
  undrawn.delete(figure);
  if (undrawn.size > 0) setTimeout(drawNext);
}

// A chart: draw(width) gives an SVG. It is drawn again when its width or the data change. What it
// shows can also be read: asTable() gives a table, made when somebody opens it. A legend stands above it.
function chart(label, draw, caption, asTable, legend = null) {
  const holder = element("div", {class: "chart", role: "img", "aria-label": label});
  const figure = element("figure", {}, element("h3", {}, label), legend, holder,
    caption ? element("figcaption", {}, caption) : null);
  let drawn = 0;
  figure.redraw = () => {
    const width = Math.floor(holder.clientWidth);
    if (width < 40) return;
    drawn = width;
    holder.replaceChildren(draw(width));
    fillTable();
  };
  const details = element("details", {class: "as-table", ontoggle: () => fillTable()}, element("summary", {}, "As a table"));
  const fillTable = () => {
    if (!details.open) return;
    details.replaceChildren(details.firstChild, scrollBox(`${label}, as a table`, asTable()));
  };
  if (asTable) figure.append(details);
  new ResizeObserver(() => {
    if (Math.floor(holder.clientWidth) !== drawn) drawLater(figure);
  }).observe(holder);
  return figure;
}

// Scrolls where it is too wide (or, if tall, too long), with the keyboard too.
const scrollBox = (label, content, isTall = false) =>
  element("div", {class: isTall ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-label": label}, content);

// [[name, color], ...].
const legendOf = (label, entries) => element("ul", {class: "legend", "aria-label": label},
  entries.map(([name, color]) => element("li", {}, element("span", {}, swatch(color), name))));

let controlCount = 0;

// Radio buttons: choices are [[value, label], ...]; the first is chosen.
function choice(title, choices, onChoice) {
  const name = `choice-${++controlCount}`;
  return element("fieldset", {}, element("legend", {}, title), choices.map(([value, label], index) =>
    element("label", {}, element("input", {type: "radio", name, value, checked: index === 0,
      onchange: () => onChoice(value)}), label)));
}

function checkbox(label, onChange, checked = false) {
  return element("label", {}, element("input", {type: "checkbox", checked,
    onchange: (event) => onChange(event.target.checked)}), ...[label].flat());
}

function search(label, onInput) {
  return element("input", {type: "search", placeholder: label, "aria-label": label,
    oninput: (event) => onInput(event.target.value.trim().toLowerCase())});
}

// A list to choose from, with `all` first unless it is null.
function selection(label, all, values, onChoice, chosen = "") {
  return element("label", {}, element("span", {class: "quiet"}, label),
    element("select", {"aria-label": label, onchange: (event) => onChoice(event.target.value)},
      all === null ? null : element("option", {value: ""}, all),
      values.map((value) => element("option", {value, selected: value === chosen}, value))));
}

function swatch(color) {
  const made = element("span", {class: "swatch", "aria-hidden": "true"});
  made.style.background = color;
  return made;
}
