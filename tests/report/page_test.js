// The report's page in a real browser: opens from file:// without an error or a request, shows what
// the results hold, reacts to its controls, and runs nothing that an input contains.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const {test} = require("node:test");
const zlib = require("node:zlib");
const {attack, separators, folder, newPage, forescale, write, withReport, isDrawn, bodyText} = require("./browser.js");

// Two GPU counts that fit and one that does not; phases as given.
function prediction(changes = {}) {
  const point = (gpus, iteration) => ({gpus, fits: true, batch_per_gpu: 64 / gpus, images_per_iteration: 64,
    iteration_s: iteration, iteration_fast_s: 0.9 * iteration, iteration_slow_s: 1.2 * iteration, images_per_s: 64 / iteration,
    speedup: 1, efficiency: 1, bound_s: iteration / 2, bound_reason: "compute",
    root_s: {forward: 0.25 * iteration, backward: 0.5 * iteration, aggregation: 0.15 * iteration, reading: 0.1 * iteration}});
  return {format: "forescale-prediction-1", title: "one: net on box", platform: "box", model: "net", system: "one", schedule: "s",
    stack: "t", batch: "64", scaling: "strong", command: "forescale predict --platform box", points: [{gpus: 1, fits: false}, point(2, 0.4), point(4, 0.25), point(8, 0.16)],
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
    assert.match(await page.locator("#commands").innerText(), /forescale predict --platform box\n/);
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

test("hiding a result takes it out of every chart; linear axes", async () => {
  await withReport([write("a.json", prediction()), write("b.json", prediction({system: "two"}))], async (page) => {
    assert.equal(await page.locator("#scaling .curve path").count(), 6);
    assert.equal(await page.locator("#breakdown .bars rect").count(), 24);
    await page.locator("#scaling .legend input").first().uncheck();
    assert.equal(await page.locator("#scaling .curve path").count(), 3);
    assert.equal(await page.locator("#breakdown .bars rect").count(), 12);
    const before = await page.locator("#scaling .curve path").first().getAttribute("d");
    await page.getByLabel("linear", {exact: true}).check();
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
    assert.equal(await page.getByRole("region", {name: "Tuned points"}).locator("tbody tr").count(), 4);
    assert.match(await page.getByRole("region", {name: "Tuned points"}).locator("tbody tr").nth(0).innerText(), /\+25 %\s+\+100 %/);
    assert.match(await page.locator("#tuning-1 svg").first().textContent(), /k 4/);
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
    assert.equal(await page.getByRole("region", {name: "Claims"}).locator("tbody tr").count(), 4);
    // Of +10 % and +50 %: the median is 30 %.
    assert.match(await page.locator("#validation .tiles").innerText(), /2\s+predictions scored\s+30 %\s+median absolute error/);
    await page.locator("#validation select").nth(0).selectOption("two");
    assert.equal(await page.getByRole("region", {name: "Claims"}).locator("tbody tr").count(), 2);
    assert.equal(await page.locator("#validation .claims > *").count(), 1);
    await page.locator("#validation select").nth(1).selectOption("prediction");
    assert.equal(await page.getByRole("region", {name: "Claims"}).locator("tbody tr").count(), 1);
    assert.match(await page.getByRole("region", {name: "Claims"}).locator("tbody").innerText(), /\+50 %/);
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
    assert.equal(await page.title(), "forescale report");
    await page.locator(".timeline-view").focus();
    await page.keyboard.press("n");
    await page.waitForSelector(".timeline-tip:not([hidden])");
    for (const chart of await page.locator(".chart").all()) await chart.hover();
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("script").count(), 5);  // the theme, the data, two libraries, the page's own
    const text = await page.evaluate(() => document.body.textContent);
    assert.ok(text.includes(evil), "the texts are shown as they are");
    assert.ok(text.includes(name));
  });
});

test("the page's policy stops a script and a connection that were there nevertheless", async () => {
  forescale("report", write("one.json", prediction()), "-o", "report.html");
  const page = await newPage();
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

// Of an efficiency of at most 1 no point is above the dashed line, on any axes.
test("no point lies above the ideal line", async () => {
  await withReport([write("one.json", prediction())], async (page) => {
    for (const axes of ["logarithmic", "linear"]) {
      await page.getByLabel(axes, {exact: true}).check();
      const above = await page.evaluate(() => [...document.querySelectorAll("#scaling .chart")].slice(0, 2).flatMap((chart) => {
        const ideal = chart.querySelector(".ideal path");
        const at = (x) => {
          for (let low = 0, high = ideal.getTotalLength(); ;) {
            const middle = (low + high) / 2;
            const point = ideal.getPointAtLength(middle);
            if (high - low < 0.01) return point.y;
            if (point.x < x) low = middle;
            else high = middle;
          }
        };
        const corners = /^M?([-\d.]+),([-\d.]+)/;
        return chart.querySelector(".curve path").getAttribute("d").split(/[ML]/).filter(Boolean).map((pair) => corners.exec(pair))
          .map(([, x, y]) => at(Number(x)) - Number(y)).filter((height) => height > 0.6);
      }));
      assert.deepEqual(above, [], axes);
    }
  });
});

// Reads the packing as cli/report/timeline.hpp states it.
function spansOf(packed) {
  const bytes = zlib.inflateSync(Buffer.from(packed, "base64"));
  let at = 0;
  const next = () => {
    let number = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      number |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    return Number(number >> 1n ^ -(number & 1n));
  };
  const length = next();
  const names = JSON.parse(bytes.subarray(at, at += length).toString());
  const column = () => names.rows.map(({count}) => Array.from({length: count}, next));
  const [gaps, lengths, kinds] = [column(), column(), column()];
  const last = names.kinds.map(() => 0);
  const spans = names.rows.flatMap(({thread}, row) => {
    let end = 0;
    let kind = 0;
    return gaps[row].map((gap, i) => {
      kind += kinds[row][i];
      last[kind] += lengths[row][i];
      const begin = end + gap;
      end = begin + last[kind];
      return [thread, names.kinds[kind][0], begin, last[kind]];
    });
  });
  assert.equal(at, bytes.length);
  return spans;
}

const documentOf = () => JSON.parse(/id="document">([^]*?)<\/script>/.exec(fs.readFileSync(path.join(folder, "report.html"), "utf8"))[1]);

test("a packed timeline holds every span to the nanosecond", () => {
  const events = [];
  const nested = [[0, 1000.5], [0.25, 0.001], [3, 900], [3, 4.125], [2000, 1e9], [2000, 0]];
  for (const tid of [1, 2]) for (const [ts, dur] of nested) events.push({ph: "X", name: `k${ts}`, pid: 0, tid, ts: ts + tid, dur});
  forescale("report", write("t.json", {traceEvents: events}), "-o", "report.html");
  const [timeline] = documentOf().timelines;
  const sorted = (list) => list.map((entry) => JSON.stringify(entry)).sort();
  assert.deepEqual(sorted(spansOf(timeline.packed)), sorted(events.map(({name, tid, ts, dur}) => [`thread ${tid}`, name, Math.round((ts - 1) * 1000), Math.round(dur * 1000)])));
  assert.equal(timeline.spans, 12);
  assert.equal(timeline.merged_count, 0);
});

test("what is too much is merged, and the page says so", async () => {
  await withReport([write("t.json", trace(3000))], async (page) => {
    const [{spans, merged_count: merged, packed}] = documentOf().timelines;
    assert.ok(spans <= 500 && spans > 100, `${spans} spans`);
    assert.equal(spans + merged, 6000);
    // Back to back before, and after: nothing is lost of the time.
    const busy = spansOf(packed).reduce((sum, [, , , length]) => sum + length, 0);
    assert.equal(busy, 2 * 3000 * 1000);
    assert.match(await page.locator("#timeline").innerText(), new RegExp(`${merged.toLocaleString("en-US")} spans shorter than [\\d.]+ µs are drawn as one`));
  }, {words: ["--spans-max", "500"]});
});

// Half a million spans of many names on a hundred ranks: the page answers while it unpacks them.
test("a timeline of 50 MB neither freezes the page nor fills it", async (t) => {
  const parts = [];
  for (let rank = 0; rank < 100; ++rank) {
    parts.push(JSON.stringify({ph: "M", name: "thread_name", pid: 0, tid: rank, args: {name: `rank ${rank} (node0/gpu${rank}) compute`}}));
    for (let i = 0; i < 4200; ++i)
      parts.push(`{"ph":"X","name":"${i % 2 ? "reduce" : "forward"} layer${i % 300}","cat":"some","pid":0,"tid":${rank},"ts":${(i * 10 + (rank * i) % 7 / 3).toFixed(3)},"dur":${(5 + i % 11 / 3).toFixed(3)},"args":{"bytes":${4096 * (i % 50)},"peer":${i % 100}}}`);
  }
  write("large.json", `{"traceEvents":[${parts.join(",")}]}`);
  const megabytes = fs.statSync(path.join(folder, "large.json")).size / 1e6;
  assert.ok(megabytes > 50, `${megabytes} MB`);
  forescale("report", "large.json", "-o", "report.html");
  const page = await newPage({viewport: {width: 1200, height: 900}});
  await page.addInitScript(() => {
    window.blocked = [];
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.blocked.push(Math.round(entry.duration)))).observe({type: "longtask", buffered: true});
  });
  const begin = Date.now();
  await page.goto(`file://${folder}/report.html`);
  await isDrawn(page);
  await page.waitForTimeout(200);
  const blocked = await page.evaluate(() => window.blocked);
  const size = fs.statSync(path.join(folder, "report.html")).size / 1e6;
  t.diagnostic(`${megabytes.toFixed(0)} MB in ${size.toFixed(1)} MB; shown after ${Date.now() - begin} ms, longest task ${Math.max(0, ...blocked)} ms`);
  assert.ok(size < 4, `${size} MB`);
  assert.ok(blocked.every((ms) => ms < 500), `tasks of ${blocked} ms`);  // 200 on a machine of its own
  await page.close();
});

test("all is reached by Tab, with a focus that can be seen", async () => {
  await withReport([write("one.json", prediction()), write("t.json", trace(50)), write("v.json", validation([claim("a", "one", "prediction", 10, 11)]))], async (page) => {
    // Of radio buttons Tab reaches the one that is checked.
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")].filter((each) => each.checkVisibility() && !(each.type === "radio" && !each.checked));
      all.forEach((each, i) => each.dataset.stop = i);
      return all.length;
    });
    assert.ok(wanted > 25);
    const seen = new Set();
    for (let i = 0; i < wanted + 5; ++i) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const at = document.activeElement;
        const ring = (element) => getComputedStyle(element).outlineStyle !== "none" && parseFloat(getComputedStyle(element).outlineWidth) >= 2;
        return {stop: at.dataset.stop, isVisible: at.closest(".timeline") ? ring(at.closest(".timeline")) : ring(at), what: at.outerHTML.slice(0, 80)};
      });
      if (stop.stop === undefined) break;
      assert.ok(stop.isVisible, stop.what);
      seen.add(stop.stop);
    }
    assert.equal(seen.size, wanted);
    // A chart says what it is, and can be read as a table, opened by the keyboard.
    const [charts, named, tables] = await page.evaluate(() => [".chart", ".chart[role=img][aria-label]", "figure > .as-table"].map((selector) => document.querySelectorAll(selector).length));
    assert.deepEqual([named, tables], [charts, charts]);
    await page.locator(".as-table summary").first().focus();
    await page.keyboard.press("Enter");
    assert.match(await page.getByRole("region", {name: "Throughput (images/s), as a table"}).innerText(), /one\s+2\s+160 images\/s/);
  });
});

test("keys move through the timeline, and it says which", async () => {
  await withReport([write("t.json", trace(20))], async (page) => {
    assert.match(await page.locator("#timeline .keys").innerText(), /move.*zoom.*everything.*next and previous.*row/);
    await page.locator(".timeline-view").focus();
    const range = () => page.locator(".timeline-range").innerText();
    const tip = () => page.locator(".timeline-tip").innerText();
    for (const [key, then] of [["+", "5 µs to 15 µs of 20 µs"], ["ArrowLeft", "3 µs to 13 µs of 20 µs"], ["ArrowRight", "5 µs to 15 µs of 20 µs"], ["-", "0 s to 20 µs of 20 µs"], ["+", "5 µs to 15 µs of 20 µs"], ["0", "0 s to 20 µs of 20 µs"]]) {
      await page.keyboard.press(key);
      assert.equal(await range(), then, key);
    }
    await page.keyboard.press("n");
    assert.match(await tip(), /forward layer0[^]*rank 0/);
    await page.keyboard.press("n");
    assert.match(await tip(), /forward layer1[^]*rank 0/);
    await page.keyboard.press("j");
    assert.match(await tip(), /forward layer1[^]*rank 1/);
    await page.keyboard.press("p");
    assert.match(await tip(), /forward layer0[^]*rank 1/);
    await page.keyboard.press("k");
    assert.match(await tip(), /forward layer0[^]*rank 0/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".timeline-tip").isVisible(), false);
  });
});

const brightness = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number).reduce((sum, part) => sum + part, 0);
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("dark as the system is, or as the button says", async () => {
  for (const colorScheme of ["light", "dark"])
    await withReport([write("one.json", prediction()), write("t.json", trace(50))], async (page) => {
      const pixels = () => page.locator(".timeline-view canvas").evaluate((canvas) => canvas.toDataURL());
      const isDark = async () => brightness(await background(page)) < 150;
      const button = page.getByRole("button", {name: "Dark"});
      assert.equal(await isDark(), colorScheme === "dark");
      assert.equal(await button.getAttribute("aria-pressed"), String(colorScheme === "dark"));
      const before = await pixels();
      await button.click();
      assert.equal(await isDark(), colorScheme !== "dark");
      assert.equal(await button.getAttribute("aria-pressed"), String(colorScheme !== "dark"));
      assert.notEqual(await pixels(), before);
    }, {colorScheme});
});

test("narrow", async () => {
  const files = [write("one.json", prediction()), write("t.json", trace(50)), write("v.json", validation([claim("a", "one", "prediction", 10, 11)]))];
  await withReport(files, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  }, {viewport: {width: 390, height: 844}, colorScheme: "dark"});
});

// 718 pixels are A4 within its margins.
test("on paper: light, nothing to scroll, charts and the timeline within the page", async () => {
  const numbers = Array.from({length: 100}, (_, i) => ({file: `/a/b/file${i}.json`, path: "/latency_s", value: 1e-6, fast: 5e-7, slow: 2e-6, source: "guess", assumed: true}));
  const files = [write("one.json", prediction({numbers})), write("t.json", trace(50)), write("v.json", validation(Array.from({length: 60}, (_, i) => claim(`row${i}`, "one", "prediction", 10, 11))))];
  await withReport(files, async (page) => {
    const drawn = () => page.locator(".timeline-view canvas").evaluate((each) => [each.width, each.height]);
    const onScreen = await drawn();
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({media: "print"});
    await page.setViewportSize({width: 718, height: 1000});
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.ok(brightness(await background(page)) > 700);
    const {cut, wide} = await page.evaluate(() => {
      const visible = [...document.querySelectorAll("main *")].filter((each) => each.checkVisibility());
      const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflowX + getComputedStyle(each).overflowY);
      return {cut: visible.filter((each) => scrolls(each) && (each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1)).map((each) => each.className),
        wide: visible.filter((each) => each.matches("svg, canvas, table") && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((each) => each.outerHTML.slice(0, 60))};
    });
    assert.deepEqual(cut, []);
    assert.deepEqual(wide, []);
    const canvas = await page.locator(".timeline-view canvas").evaluate((each) => ({shown: each.clientWidth / each.clientHeight, drawn: each.width / each.height}));
    assert.ok(Math.abs(canvas.shown / canvas.drawn - 1) < 0.03, JSON.stringify(canvas));
    assert.deepEqual(await drawn(), onScreen);
    assert.ok((await page.pdf({format: "A4"})).length > 20000);
  }, {colorScheme: "dark"});
});

test("the libraries in the page are those that npm has under these versions", () => {
  const vendored = path.join(__dirname, "../../cli/report/page/vendor");
  for (const file of ["d3/dist/d3.min.js", "@observablehq/plot/dist/plot.umd.min.js"])
    assert.deepEqual(fs.readFileSync(path.join(vendored, path.basename(file))), fs.readFileSync(path.join(process.env.NODE_PATH, file)), file);
});
