// The document in this page: its answers, and the colours that tell things apart.

const report = JSON.parse(document.getElementById("document").textContent);

// One a file: {file, format, name, result}; the views show those of their format.
const answers = report.answers.map(({file, format, result}) => ({file: report.files[file].name, format, result,
  name: plainText(result.title) || report.files[file].name}));

// What views/*.js register: by format {show(answers)}, which adds sections; it may be async.
const views = {};

const markSymbols = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "times"];
const letterOf = (index) => index < 26 ? String.fromCharCode(65 + index) : letterOf(Math.floor(index / 26) - 1) + letterOf(index % 26);

// Hues by the golden angle are distinct for as many as there are; the style sheet's own come first.
const anotherColor = (index) => `hsl(${Math.round(index * 137.508) % 360} 45% ${42 + 9 * (index % 3)}%)`;
const seriesColor = (index) => index < 8 ? `var(--series-${index})` : anotherColor(index);

const pageStyle = getComputedStyle(document.documentElement);
const isKnownPhase = (name) => /^[a-z-]+$/.test(name) && Boolean(pageStyle.getPropertyValue(`--phase-${name}`));

// A colour for each of these names, no two the same: a phase's own, else the next that is free.
function categoryColors(names) {
  const colors = new Map();
  let free = 0;
  for (const name of names)
    if (!colors.has(name)) {
      const index = isKnownPhase(name) ? -1 : free++;
      colors.set(name, index < 0 ? `var(--phase-${name})` : index < 12 ? `var(--category-${index})` : anotherColor(index));
    }
  return colors;
}

// In the order of an iteration, which begins with its data.
const knownPhases = [...report.phases.filter(({kind}) => kind === "input"),
  ...report.phases.filter(({kind}) => kind !== "input")].map(({name}) => name).concat("idle");
const inPhaseOrder = (names) => [...knownPhases.filter((phase) => names.has(phase)),
  ...[...names].filter((phase) => !knownPhases.includes(phase)).sort()];

// What a span or a cause is coloured by: the phase of its first word, or that word.
const verbPhases = Object.fromEntries([...report.phases.map(({verb, name}) => [verb, name]), ["wait", "idle"]]);
function colorClass(name) {
  const verb = (/^[\p{L}-]+/u.exec(name) ?? [name])[0].toLowerCase();
  return Object.hasOwn(verbPhases, verb) ? verbPhases[verb] : verb;
}

const answersOf = (format) => answers.filter((answer) => answer.format === format);
