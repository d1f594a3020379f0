// Timelines come packed (cli/report/timeline.hpp): base64, deflated, numbers of 7 bits a byte. They
// are unpacked when they are to be seen, and never for longer than a moment at once.

const momentMs = 25;
let workedSince = 0;

// Awaited in loops over much: lets the browser draw and answer when a moment has passed.
async function breathe() {
  const now = performance.now();
  if (now - workedSince < momentMs) return;
  await new Promise((resolve) => setTimeout(resolve));
  workedSince = performance.now();
}

const canUnpack = () => typeof DecompressionStream === "function";

async function bytesOf(text) {
  const piece = 1 << 18;  // of base64, a multiple of 4
  const pieces = [];
  for (let at = 0; at < text.length; at += piece) {
    pieces.push(Uint8Array.from(atob(text.slice(at, at + piece)), (character) => character.charCodeAt(0)));
    await breathe();
  }
  const stream = new Blob(pieces).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads one number after the other.
function numbersIn(bytes) {
  let at = 0;
  const next = () => {
    let number = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      number += (byte & 127) * scale;  // not by bits: there may be more than 32
      if (byte < 128) break;
      scale *= 128;
    }
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  };
  return {next, take: (count) => bytes.subarray(at, at += count)};
}

// {kinds, rows: [{process, thread, begin, length, kind}]}: times in ns from the first span.
async function unpacked({packed}) {
  const numbers = numbersIn(await bytesOf(packed));
  const names = JSON.parse(new TextDecoder().decode(numbers.take(numbers.next())));
  await breathe();
  const rows = names.rows.map(({process, thread, count}) => ({process, thread,
    begin: new Float64Array(count), length: new Float64Array(count), kind: new Uint32Array(count)}));
  const fill = async (into, value) => {
    for (const row of rows) {
      value.restart?.();
      for (let i = 0; i < row[into].length; ++i) {
        row[into][i] = value.next(row, i);
        if (i % 4096 === 4095) await breathe();
      }
      await breathe();
    }
  };
  await fill("begin", {next: () => numbers.next()});
  await fill("length", {next: () => numbers.next()});
  let kind = 0;
  await fill("kind", {restart: () => kind = 0, next: () => kind += numbers.next()});
  const lastLength = new Float64Array(names.kinds.length);
  let end = 0;
  await fill("length", {next: (row, i) => lastLength[row.kind[i]] += row.length[i]});
  await fill("begin", {restart: () => end = 0, next: (row, i) => {
    const begin = end + row.begin[i];
    end = begin + row.length[i];
    return begin;
  }});
  return {kinds: names.kinds, rows};
}
