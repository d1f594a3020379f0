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

// A chart: draw(width) gives an SVG. It is drawn again when its width or the data change.
function chart(label, draw, caption) {
  const holder = element("div", {class: "chart", role: "img", "aria-label": label});
  const figure = element("figure", {}, element("h3", {}, label), holder,
    caption ? element("figcaption", {}, caption) : null);
  let drawn = 0;
  figure.redraw = () => {
    const width = Math.floor(holder.clientWidth);
    if (width < 40) return;
    drawn = width;
    holder.replaceChildren(draw(width));
  };
  new ResizeObserver(() => {
    if (Math.floor(holder.clientWidth) !== drawn) requestAnimationFrame(figure.redraw);
  }).observe(holder);
  return figure;
}

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

// A list to choose from, with "all" first.
function selection(label, all, values, onChoice) {
  return element("label", {}, element("span", {class: "quiet"}, label),
    element("select", {onchange: (event) => onChoice(event.target.value)},
      element("option", {value: ""}, all), values.map((value) => element("option", {value}, value))));
}

function swatch(color) {
  const made = element("span", {class: "swatch", "aria-hidden": "true"});
  made.style.background = color;
  return made;
}

// The predictions with their letters; ticking one shows or hides it everywhere.
const onShownChange = [];
function predictionLegend() {
  return element("ul", {class: "legend", "aria-label": "Results"}, predictions.map((prediction) => {
    const label = [swatch(prediction.color), element("span", {class: "letter"}, prediction.letter), prediction.short];
    return element("li", {title: prediction.name}, predictions.length === 1 ? element("span", {}, label)
      : checkbox(label, (shown) => {
        prediction.shown = shown;
        for (const redraw of onShownChange) redraw();
      }, true));
  }));
}

const shownPredictions = () => predictions.filter((prediction) => prediction.shown);
