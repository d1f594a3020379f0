// The report's page in a real browser: opens from file:// without an error or a request, shows what
// the results hold, reacts to its controls, and runs nothing that an input contains.
//
// Needs FORESCALE_PROGRAM, CHROMIUM (default: chromium) and NODE_PATH with the packages of
// package.json.
"use strict";

const assert = require("node:assert/strict");
const {execFileSync} = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {after, before, test} = require("node:test");
const {chromium} = require("playwright-core");

const program = process.env.FORESCALE_PROGRAM;
const attack = `</script><img src=x onerror="window.attacked=1"><script>window.attacked=2</script>`;
const separators = `"'&<!--\u2028\u2029\\u003c\`\${1}`;

let browser;
let folder;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "forescale-report-"));
  browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"]});
});

after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true, force: true});
});

const forescale = (...words) => execFileSync(program, words, {cwd: folder, encoding: "utf8", maxBuffer: 1 << 28});

function write(name, content) {
  fs.writeFileSync(path.join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  return name;
}

// Makes a report and opens it; fails at the end of `look` if the page erred or asked for anything.
async function withReport(files, look, options = {}) {
  forescale("report", ...files, "-o", "report.html");
  const page = await browser.newPage({viewport: {width: 1200, height: 900}, ...options});
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${folder}/report.html`)) wrong.push(`request: ${request.url().slice(0, 100)}`);
  });
  await page.goto(`file://${folder}/report.html`);
  await page.waitForFunction(() => [...document.querySelectorAll(".chart")].every((chart) => chart.querySelector("svg")));
  await look(page);
  assert.deepEqual(wrong, []);
  await page.close();
}

// Two GPU counts that fit and one that does not; phases as given.
function prediction(changes = {}) {
  const point = (gpus, iteration) => ({gpus, fits: true, batch_per_gpu: 64 / gpus, images_per_iteration: 64,
    iteration_s: iteration, iteration_fast_s: 0.9 * iteration, iteration_slow_s: 1.2 * iteration, images_per_s: 64 / iteration,
    speedup: 1, efficiency: 1, bound_s: iteration / 2, bound_reason: "compute",
    root_s: {forward: 0.25 * iteration, backward: 0.5 * iteration, aggregation: 0.15 * iteration, reading: 0.1 * iteration}});
  return {format: "forescale-prediction-1", title: "one: net on box", platform: "box", model: "net", system: "one", schedule: "s",
    stack: "t", batch: "64", scaling: "strong", points: [{gpus: 1, fits: false}, point(2, 0.4), point(4, 0.25), point(8, 0.16)],
    warnings: ["mind the gap"], numbers: [
      {file: "/a/b/gpu.json", path: "/latency_s", value: 1e-6, fast: 5e-7, slow: 2e-6, source: "guess of the latency", assumed: true},
      {file: "/a/b/gpu.json", path: "/memory_bytes", value: 2 ** 34, fast: 2 ** 34, slow: 2 ** 34, source: "data sheet", assumed: false}],
    ...changes};
}

// `count` spans of 1 us on each of two ranks, back to back, and a message between them.
function trace(count) {
  const events = [];
  for (const rank of [0, 1]) {
    events.push({ph: "M", name: "thread_name", pid: 0, tid: rank, args: {name: `rank ${rank} (node0/gpu${rank}) compute`}});
    for (let i = 0; i < count; ++i) events.push({ph: "X", name: `forward layer${i % 7}`, pid: 0, tid: rank, ts: 100 + i, dur: 1});
  }
  return {traceEvents: events};
}

const validation = (rows) => ({format: "forescale-validation-1", rows, summary: {scored: 2}});
const claim = (id, paper, role, measured, predicted) => ({id, paper, claim: `claim ${id}`, role, measured, predicted,
  error: predicted === null ? null : predicted / measured - 1, unit: "x", note: "", cause: "", shared_assumption: null});

const bodyText = (page) => page.evaluate(() => document.body.innerText);

test("a real prediction with its timeline", async () => {
  const words = ["--platform", "kesch", "--gpus", "8,16", "--model", "googlenet", "--batch", "512"];
  for (const system of ["s-caffe-b-hr", "s-caffe-obr-hr"])
    write(`${system}.json`, forescale("predict", ...words, "--system", system, "--json", "--trace", `${system}-trace.json`));
  await withReport(["s-caffe-b-hr.json", "s-caffe-obr-hr.json", "s-caffe-obr-hr-trace.json"], async (page) => {
    assert.equal(await page.locator("#scaling svg .curve path").count(), 3 * 2);
    assert.equal(await page.locator("#scaling svg .range path").count(), 3 * 2);
    assert.match(await bodyText(page), /reading training data|GoogLeNet|googlenet/);
    assert.ok(await page.locator("#inputs tbody tr").count() > 10);
    assert.ok(await page.locator("#timeline canvas").count() === 2);
  });
});

test("curves, bars, table and sources of one prediction", async () => {
  await withReport([write("one.json", prediction())], async (page) => {
    assert.equal(await page.title(), "one: net on box");
    assert.equal(await page.locator("#scaling .curve path").count(), 3);
    assert.equal(await page.locator("#scaling .curve-points > *").count(), 3 * 3);
    assert.ok(await page.locator("#scaling .ideal").count() >= 2);
    // Three counts, four phases; the one that this page has never heard of included.
    assert.equal(await page.locator("#breakdown .bars rect").count(), 3 * 4);
    assert.match(await page.locator("#breakdown .legend").innerText(), /reading/);
    const heights = await page.locator("#breakdown .bars rect").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().height));
    // 25, 50, 15 and 10 % of the same whole.
    assert.ok(Math.abs(Math.max(...heights) / Math.min(...heights) - 5) < 0.2, joinedHeights(heights));
    await page.getByLabel("time", {exact: true}).check();
    assert.equal(await page.locator("#breakdown .floor line").count(), 3);
    assert.equal(await page.locator("#points tbody tr").count(), 4);
    assert.match(await page.locator("#points tbody tr").first().innerText(), /out of GPU memory/);
    assert.match(await page.locator("#warnings").innerText(), /mind the gap/);
    assert.match(await page.locator("#commands").innerText(),
      /forescale predict --platform box --gpus 1,2,4,8 --model net --batch 64 --system one --json/);
    const rows = page.locator("#inputs tbody tr");
    assert.equal(await rows.count(), 2);
    assert.match(await rows.first().innerText(), /1 µs\s+500 ns\s+2 µs\s+assumed\s+guess of the latency/);
    await page.getByLabel("assumed only").check();
    assert.equal(await rows.count(), 1);
    await page.getByLabel("assumed only").uncheck();
    await page.getByLabel("Search numbers and sources").fill("sheet");
    assert.equal(await rows.count(), 1);
    assert.match(await rows.first().innerText(), /16 GiB/);
  });
});

const joinedHeights = (heights) => `heights ${heights.map((height) => height.toFixed(1)).join(" ")}`;

test("hiding a result takes it out of every chart; a logarithmic axis", async () => {
  await withReport([write("a.json", prediction()), write("b.json", prediction({system: "two"}))], async (page) => {
    assert.equal(await page.locator("#scaling .curve path").count(), 6);
    assert.equal(await page.locator("#breakdown .bars rect").count(), 24);
    await page.locator("#scaling .legend input").first().uncheck();
    assert.equal(await page.locator("#scaling .curve path").count(), 3);
    assert.equal(await page.locator("#breakdown .bars rect").count(), 12);
    const before = await page.locator("#scaling .curve path").first().getAttribute("d");
    await page.getByLabel("logarithmic").check();
    assert.notEqual(await page.locator("#scaling .curve path").first().getAttribute("d"), before);
  });
});

test("the timeline zooms, moves, filters and tells what a span is", async () => {
  await withReport([write("t.json", trace(1000))], async (page) => {
    const view = page.locator(".timeline-view");
    const range = () => page.locator(".timeline-range").innerText();
    const pixels = () => page.locator(".timeline-view canvas").evaluate((canvas) => canvas.toDataURL());
    assert.equal(await range(), "0 s to 1 ms of 1 ms");
    await page.waitForTimeout(200);
    const whole = await pixels();
    await page.getByRole("button", {name: "Zoom in"}).click();
    assert.equal(await range(), "250 µs to 750 µs of 1 ms");
    await page.waitForTimeout(200);
    assert.notEqual(await pixels(), whole);
    await view.focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await range(), "350 µs to 850 µs of 1 ms");
    const box = await view.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 80);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -2000);
    await page.keyboard.up("Control");
    await page.waitForFunction((text) => document.querySelector(".timeline-range").innerText !== text, "350 µs to 850 µs of 1 ms");
    await page.mouse.move(box.x + box.width / 2, box.y + rowOfRank0);
    await page.waitForSelector(".timeline-tip:not([hidden])");
    assert.match(await page.locator(".timeline-tip").innerText(), /forward layer\d\s+Length\s+1 µs/);
    await page.getByRole("button", {name: "Show everything"}).click();
    assert.equal(await range(), "0 s to 1 ms of 1 ms");
    await page.waitForTimeout(200);
    const both = await pixels();
    await page.getByLabel(/^Ranks or names/).fill("1");
    await page.waitForTimeout(200);
    assert.notEqual(await pixels(), both);
    await page.getByText("Busy time by track").click();
    assert.match(await page.locator("#timeline table").innerText(), /compute\s+2\s+2000\s+1 ms\s+1 ms/);
  });
});

const rowOfRank0 = 24 + 22 + 8;  // below the ruler and the heading of the rank

test("100,000 spans stay fluid", async () => {
  await withReport([write("t.json", trace(50000))], async (page) => {
    await page.locator(".timeline-view").focus();
    // Each key redraws once a frame; 60 of them at 60 frames a second are one second.
    const took = await page.evaluate(async () => {
      const view = document.querySelector(".timeline-view");
      const begin = performance.now();
      for (let i = 0; i < 60; ++i) {
        view.dispatchEvent(new KeyboardEvent("keydown", {key: i % 2 ? "-" : "+"}));
        await new Promise(requestAnimationFrame);
      }
      return performance.now() - begin;
    });
    assert.ok(took < 6000, `60 frames took ${took} ms`);
  });
});

test("tuning: a field a point, ties, table", async () => {
  const plan = (name, time) => ({plan: `reduce/${name}`, time_s: time, low_s: time, high_s: time});
  const point = (ranks, bytes, best, next, tie) => ({op: "reduce", ranks, bytes, known: {best: plan(best, 1e-3),
    next: {...plan(next, 1.25e-3), margin: 0.25, tie}}, default: {...plan("", 2e-3), margin: 1}});
  const points = [point(4, 1024, "binomial", "chain", false), point(4, 4096, "chain:chunk_bytes=1KiB", "cb", true),
    point(8, 1024, "<b>evil</b>", "chain", false), point(8, 4096, "cb:chain_size=4", "binomial", false)];
  const tuning = {format: "forescale-tuned-1", title: "reduce on a star", points};
  await withReport([write("tuned.json", tuning)], async (page) => {
    assert.equal(await page.locator("#tuning-1 .winner > *").count(), 4);
    assert.equal(await page.locator("#tuning-1 tbody tr").count(), 4);
    assert.match(await page.locator("#tuning-1 tbody tr").nth(0).innerText(), /\+25 %\s+\+100 %/);
    assert.match(await page.locator("#tuning-1 svg").textContent(), /k 4/);
    assert.equal(await page.locator("#tuning-1 b").count(), 0);
  });
});

test("validation: scatter with its bands, table, filters", async () => {
  const rows = [claim("a", "one", "prediction", 10, 11), claim("b", "one", "calibration", 2, 2), claim("c", "two", "prediction", 100, 150),
    claim("d", "two", "not predictable", "A < B", null)];
  await withReport([write("v.json", validation(rows))], async (page) => {
    assert.equal(await page.locator("#validation .claims > *").count(), 3);
    assert.equal(await page.locator("#validation .errors > *").count(), 3);
    assert.ok(await page.locator("#validation .diagonal path").count() === 1);
    assert.equal(await page.locator("#validation tbody tr").count(), 4);
    // Of +10 % and +50 %: the median is 30 %.
    assert.match(await page.locator("#validation .tiles").innerText(), /2\s+predictions scored\s+30 %\s+median absolute error/);
    await page.locator("#validation select").first().selectOption("two");
    assert.equal(await page.locator("#validation tbody tr").count(), 2);
    assert.equal(await page.locator("#validation .claims > *").count(), 1);
    await page.locator("#validation select").nth(1).selectOption("prediction");
    assert.equal(await page.locator("#validation tbody tr").count(), 1);
    assert.match(await page.locator("#validation tbody").innerText(), /\+50 %/);
  });
});

test("texts of inputs, file names included, are text", async () => {
  const evil = attack + separators;
  const hostile = prediction({title: evil, platform: evil, model: evil, system: evil, schedule: evil, stack: evil, [attack]: evil,
    warnings: [evil], numbers: [{file: evil, path: evil, value: 1, fast: 1, slow: 1, source: evil, assumed: true}]});
  for (const point of hostile.points.slice(1)) Object.assign(point, {bound_reason: evil, busiest: evil, root_s: {[evil]: point.iteration_s}});
  const events = [{ph: "M", name: "process_name", pid: evil, args: {name: evil}}, {ph: "M", name: "thread_name", pid: evil, tid: 1, args: {name: evil}},
    {ph: "X", name: evil, pid: evil, tid: 1, ts: 0, dur: 5, args: {[evil]: evil, constructor: evil, __proto__: evil}}, {ph: evil, name: evil}];
  const row = Object.fromEntries(["id", "paper", "claim", "role", "measured", "predicted", "unit", "note", "cause", "shared_assumption"].map((key) => [key, evil]));
  const name = `<img src=x onerror=window.attacked=3>&'".json`;
  await withReport([write(name, hostile), write("twin.json", hostile), write("evil-trace.json", {traceEvents: events}),
    write("evil-validation.json", validation([row]))], async (page) => {
    assert.equal(await page.title(), "Scaling predictions");
    await page.locator(".timeline-view").focus();
    await page.keyboard.press("n");
    await page.waitForSelector(".timeline-tip:not([hidden])");
    for (const chart of await page.locator(".chart").all()) await chart.hover();
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("script").count(), 4);  // the data, two libraries, the page's own
    const text = await page.evaluate(() => document.body.textContent);
    assert.ok(text.includes(evil), "the texts are shown as they are");
    assert.ok(text.includes(name));
  });
});

test("the page's policy stops a script and a connection that were there nevertheless", async () => {
  forescale("report", write("one.json", prediction()), "-o", "report.html");
  const page = await browser.newPage();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const text = fs.readFileSync(path.join(folder, "report.html"), "utf8");
  write("attacked.html", text.replace("<noscript>", `<script>window.attacked=1</script>
    <p id="late" onclick="window.attacked=2">x</p><img src="http://127.0.0.1:9/x.png"><noscript>`));
  await page.goto(`file://${folder}/attacked.html`);
  await page.waitForSelector("#scaling svg");
  await page.locator("#late").click();
  const fetched = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "open", () => "refused"));
  assert.equal(fetched, "refused");
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  const isAllowed = await page.evaluate(() => document.querySelector("meta[http-equiv]").content);
  assert.match(isAllowed, /^default-src 'none'/);
  assert.ok(!isAllowed.includes("connect-src") && !/script-src[^;]*unsafe/.test(isAllowed));
  await page.close();
});

test("dark, narrow and printed", async () => {
  const files = [write("one.json", prediction()), write("t.json", trace(50)), write("v.json", validation([claim("a", "one", "prediction", 10, 11)]))];
  await withReport(files, async (page) => {
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [red, green, blue] = background.match(/\d+/g).map(Number);
    assert.ok(red + green + blue < 150, background);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    await page.emulateMedia({media: "print", colorScheme: "light"});
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.ok((await page.pdf({format: "A4"})).length > 20000);
  }, {viewport: {width: 390, height: 844}, colorScheme: "dark"});
});

test("the libraries in the page are those that npm has under these versions", () => {
  const vendored = path.join(__dirname, "../../cli/report/page/vendor");
  for (const file of ["d3/dist/d3.min.js", "@observablehq/plot/dist/plot.umd.min.js"])
    assert.deepEqual(fs.readFileSync(path.join(vendored, path.basename(file))), fs.readFileSync(path.join(process.env.NODE_PATH, file)), file);
});
