// Elements and numbers. Everything that a result says reaches the page through element(), as text.

// element("td", {class: "number"}, "4.2"): attributes and properties that start with "on" are
// functions; children are elements, texts or null.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined) made.append(child);
  return made;
}

// Three significant digits, no exponent where a person would not write one.
function shortNumber(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(2);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4;
  const most = size < 1 ? Math.min(8, 2 - Math.floor(Math.log10(size || 1))) : digits;
  return value.toLocaleString("en-US", {maximumFractionDigits: Math.max(0, most)});
}

function scaled(value, steps) {
  const size = Math.abs(value);
  const [scale, unit] = steps.find(([least]) => size >= least) ?? steps[steps.length - 1];
  return `${shortNumber(value / scale)} ${unit}`;
}

const durationText = (s) =>
  s === 0 ? "0 s" : scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
const bytesText = (b) =>
  b === 0 ? "0 B" : scaled(b, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]);
const bandwidthText = (b) => scaled(b, [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]]);
const flopsText = (f) => scaled(f, [[1e15, "PFLOP/s"], [1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1, "FLOP/s"]]);
// Less than a ten-thousandth of a percent is nothing.
const isNothing = (share) => Math.abs(share) < 1e-6;
const percentText = (share) => `${isNothing(share) ? "0" : shortNumber(100 * share)} %`;
const signedPercentText = (share) => `${isNothing(share) ? "" : share > 0 ? "+" : "−"}${percentText(Math.abs(share))}`;

// A number by the unit that its key ends with: "latency_s", "/links/3/bandwidth_bytes_per_s".
function quantityText(key, value) {
  if (typeof value !== "number") return plainText(value);
  if (key.endsWith("flops_per_s")) return flopsText(value);
  if (key.endsWith("bytes_per_s")) return bandwidthText(value);
  if (key.endsWith("_per_s")) return `${shortNumber(value)}/s`;
  if (/(^|_)bytes(_sent)?$/.test(key)) return bytesText(value);
  if (key.endsWith("_s")) return durationText(value);
  return shortNumber(value);
}

// Whatever a result holds, as one line.
function plainText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// "images_per_iteration" as a heading.
const heading = (key) => key.replace(/_s$/, "").replaceAll("_", " ");
const joined = (list) => list.join(", ");
const plural = (count, what) => `${shortNumber(count)} ${what}${count === 1 ? "" : "s"}`;

// " (90 % interval 1 ms to 2 ms)"; empty where there is none.
function intervalText(low, high, text) {
  if (typeof low !== "number" || typeof high !== "number" || low === high) return "";
  return ` (90 % interval ${text(Math.min(low, high))} to ${text(Math.max(low, high))})`;
}

// Who wins, by how much, and whether the intervals leave room for another: of [{name, value, low,
// high}], the best first; more is better unless `less`.
function winnerText([best, next, ...others], where, less = false) {
  if (!next) return `${best.name} alone was asked about ${where}.`;
  const factor = less ? next.value / best.value : best.value / next.value;
  if (factor < 1.0005) return `${best.name} and ${next.name} are equally fast ${where}.`;
  const hasInterval = [best, next].some(({low, high}) => low !== high && Number.isFinite(low));
  const overlap = less ? next.low <= best.high : next.high >= best.low;
  return `${best.name} is fastest ${where}: ${signedPercentText(factor - 1)} over ${next.name}` +
    (!hasInterval ? "." : overlap ? "; their 90 % intervals overlap, so that this is not sure." : "; their 90 % intervals do not overlap.") +
    (others.length ? ` Last: ${others.at(-1).name}.` : "");
}
