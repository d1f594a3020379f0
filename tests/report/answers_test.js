// Every JSON answer of the real program on the report's page: its numbers, its sentences, labels that
// do not touch, colours that differ; and the same answers with an attack in place of every text.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const {test} = require("node:test");
const {attack, separators, folder, forescale, isDrawn, write, withReport} = require("./browser.js");

const root = path.join(__dirname, "../..");
const star = "star:hosts=16,bandwidth=12.5GB/s,latency=1us";
const training = ["--model", "googlenet", "--batch", "256", "--system", "s-caffe-obr-hr"];

// "1.24 ms", "3.35 GB/s", "+4.2 %", "2.5×", "1,234 images/s" as numbers, in units of one.
const units = {s: 1, ms: 1e-3, "µs": 1e-6, ns: 1e-9, B: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, "%": 0.01,
  "B/s": 1, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "GFLOP/s": 1e9, "TFLOP/s": 1e12};
function quantity(text) {
  const [, sign, digits, unit] = /^([+−]?)([\d.,]+(?:e-?\d+)?)\s*(\S*)/.exec(text.trim()) ?? [];
  assert.ok(digits, `"${text}" is a number`);
  return (sign === "−" ? -1 : 1) * Number(digits.replaceAll(",", "")) * (units[unit] ?? 1);
}

// The cells under a heading of the table with this label.
async function column(page, label, heading) {
  const region = page.getByRole("region", {name: label, exact: true}).first();
  await region.waitFor();  // a table is made a moment after it is opened
  const headings = await region.locator("th").allTextContents();
  const index = headings.indexOf(heading);
  assert.ok(index >= 0, `${heading} is none of ${headings}`);
  return region.locator(`tbody tr > :nth-child(${index + 1})`).allTextContents();
}

// Three digits are shown.
async function expectColumn(page, label, heading, expected) {
  const shown = (await column(page, label, heading)).map(quantity);
  assert.equal(shown.length, expected.length, `${label}, ${heading}`);
  expected.forEach((value, i) => assert.ok(Math.abs(shown[i] - value) <= 0.006 * Math.abs(value) + 2e-6, `${label}, ${heading}: ${shown[i]} for ${value}`));
}

const text = (page, id) => page.locator(`section[id^="${id}"]`).first().innerText();
const bars = (page, id) => page.locator(`section[id^="${id}"] .bars rect`).count();

// {words, or make: what writes the file; check}. Files that an answer needs are written before.
const kinds = {
  prediction: {words: () => ["predict", "--platform", "kesch", "--gpus", "8,16", ...training], async check(page, {points}) {
    await expectColumn(page, "All points", "Iteration", points.map((point) => point.iteration_s));
    await expectColumn(page, "All points", "Images/s", points.map((point) => point.images_per_s));
    assert.equal(await page.getByRole("columnheader", {name: "Goodput"}).count(), 0);
    assert.match(await text(page, "scaling"), /images\/s on 16 GPUs, .* an iteration \(90 % interval .* to .*\); [\d.]+ % of ideal scaling from 8 GPUs/);
  }},
  comparison: {words: () => ["compare", "--platform", "ri2,owens", "--system", "horovod-mpi-opt", "--model", "resnet-50", "--batch", "64", "--scaling", "weak", "--gpus", "1,4", "--no-network"],
    async check(page, {contenders}) {
      const [ri2, owens] = contenders.map(({prediction}) => prediction.points.at(-1));
      assert.match(await text(page, "comparison"), /owens is fastest on 4 GPUs: \+[\d.]+ % over ri2; their 90 % intervals do not overlap/);
      const lead = quantity(/\+[\d.]+ %/.exec(await text(page, "comparison"))[0]);
      assert.ok(Math.abs(lead / (owens.images_per_s / ri2.images_per_s - 1) - 1) < 0.01, lead);
      assert.equal(await bars(page, "comparison"), 2);
      assert.equal(await page.locator("#comparison-1 .range line").count(), 2);
      await page.getByLabel("GPUs", {exact: true}).selectOption("1");
      assert.match(await text(page, "comparison"), /on 1 GPU:/);
      await page.getByText("What would make ri2 faster").click();
      await expectColumn(page, "Sensitivities of ri2", "Gains", contenders[0].sensitivities.map((each) => each.gain_percent / 100));
      assert.equal(await page.locator("#scaling .curve path").count(), 6);
    }},
  "failing nodes": {words: () => ["predict", "--platform", "kesch", "--gpus", "8,16", ...training, "--failures", "mtbf=500h,checkpoint=60s,restart=10min"], async check(page, {points}) {
    await expectColumn(page, "All points", "Goodput", points.map((point) => point.goodput));
    await expectColumn(page, "All points", "Epoch", points.map((point) => point.epoch_s));
  }},
  layouts: {words: () => ["predict", "--model", "llama-3-8b", "--platform", "dgx-h100", "--seq", "4096", "--gpus", "16,32", "--layout", "tp=2,pp=2,micro=1,global=64", "--no-range"],
    async check(page, {predictions}) {
      await expectColumn(page, "Layouts", "Iteration", predictions.map((one) => one.iteration_s));
      await expectColumn(page, "Layouts", "MFU", predictions.map((one) => one.model_flops_share));
      await expectColumn(page, "Layouts", "Memory", predictions.map((one) => one.memory_bytes));
      const flops = (100 * predictions[0].model_flops_share).toFixed(1);
      assert.match(await text(page, "layouts"), new RegExp(`16 GPUs .*tokens/s a GPU, MFU ${flops} %; .* of 80 GiB on the fullest GPU`));
      // A limit for each rank of the pipeline, and the memory of each.
      assert.equal(await page.locator("#layouts-1 .limit line").count(), 4);
      await page.locator("#layouts-1 figure", {hasText: "Memory of a GPU"}).locator("summary").click();
      await expectColumn(page, "Memory of a GPU, as a table", "activations", predictions.flatMap((one) => one.pipeline_ranks.map((rank) => rank.memory.activations)));
      await page.locator("#layouts-1 figure", {hasText: "Pipeline: passes"}).locator("summary").click();
      await expectColumn(page, "Pipeline: passes of each rank, as a table", "idle", predictions.flatMap((one) => one.pipeline_ranks.map((rank) => rank.idle_s)));
    }},
  "tuned layouts": {words: () => ["tune", "layout", "--platform", "dgx-h100", "--model", "llama-3-8b:num_hidden_layers=8", "--seq", "4096", "--gpus", "16", "--layout", "global=64,micro=1,vpp=1,cp=1", "--best", "4"],
    async check(page, {predictions}) {
      assert.equal(predictions.length, 4);
      await expectColumn(page, "Layouts", "Iteration", predictions.map((one) => one.iteration_s));
      assert.match(await text(page, "layouts"), /16 GPUs, dp=.*\(90 % interval .*\)/);
      const held = predictions.flatMap((one) => one.pipeline_ranks.length > 1 ? one.pipeline_ranks : [one]);
      assert.equal(await page.locator("#layouts-1 .limit line").count(), held.length);
    }},
  offers: {words: () => ["compare", "--platform", "dgx-h100,gcp-a3-high", "--model", "llama-3-8b:num_hidden_layers=8", "--seq", "4096", "--gpus", "8,16", "--layout", "tp=2,pp=1,global=64,zero=optimizer", "--only", "recompute", "--tokens", "1e9", "--price", "2,3"],
    async check(page, {predictions}) {
      assert.equal(predictions.length, 4);
      await expectColumn(page, "Layouts", "Iteration", predictions.map((one) => one.iteration_s));
      await expectColumn(page, "Layouts", "cost", predictions.map((one) => one.training.cost));
      assert.match(await text(page, "layouts"), /dgx-h100, 16 GPUs \(.*[^]*gcp-a3-high, 16 GPUs \(/);
    }},
  collective: {words: () => ["collective", "--platform", "kesch", "--stack", "mvapich2-gdr", "--op", "reduce", "--ranks", "8,16", "--bytes", "1MiB..4MiB", "--interval"], async check(page, {points}) {
    await expectColumn(page, "Points", "Time", points.map((point) => point.time_s));
    await expectColumn(page, "Points", "Floor", points.map((point) => point.bound_s));
    assert.match(await text(page, "collective"), /takes .* \(90 % interval .*\) for 4 MiB on 16 ranks[^]*Busiest there: /);
    assert.equal(await page.locator("#collective-1 .curve path").count(), 2);
    assert.equal(await page.locator("#collective-1 .floor path").count(), 2);
  }},
  "one collective": {words: () => ["collective", "--platform", star, "--op", "reduce", "--algorithm", "chain", "--ranks", "16", "--bytes", "1MiB"], async check(page, answer) {
    await expectColumn(page, "Points", "Time", [answer.time_s]);
    assert.equal(await bars(page, "collective"), 1);
  }},
  crossover: {words: () => ["crossover", "--platform", star, "--ranks", "4,8", "--chunk-bytes", "1MiB"], async check(page, {points}) {
    const [first, second] = points.map((point) => point.simulator.at_bytes);
    assert.deepEqual((await column(page, "Crossings", "Simulator")).map((cell) => quantity(cell.replace("from ", ""))), [first, second]);
    assert.match(await text(page, "crossover"), /On 4 ranks with chunks of 1 MiB chain beats binomial from [\d.]+ MiB on/);
    assert.equal(await bars(page, "crossover"), 4);
  }},
  sweep: {make: () => {
    write("study.json", {format: "forescale-study-1", command: "collective", fixed: {platform: star, op: "reduce", "chunk-bytes": "1MiB"},
      grid: {ranks: [4, 8], bytes: ["1MiB", "4MiB"], algorithm: ["chain", "cb"]}});
    return forescale("sweep", "study.json", "--json");
  }, async check(page, {rows}) {
    assert.equal(rows.length, 8);
    await expectColumn(page, "Rows of the study", "time", rows.map((row) => row.time_s));
    assert.equal(await page.locator("#sweep-1 .curve path").count(), 4);
    await page.getByLabel("Search: Rows of the study").fill("chain 8");
    assert.ok((await column(page, "Rows of the study", "algorithm")).every((cell) => cell === "chain"));
    await page.getByLabel("Search: Rows of the study").fill("chain");
    assert.equal((await column(page, "Rows of the study", "time")).length, 4);
    await page.getByLabel("Vertical").selectOption("messages");
    await page.locator("#sweep-1 .as-table summary").click();
    const numbers = (list) => list.map(Number).sort((a, b) => a - b);
    assert.deepEqual(numbers(await column(page, "Answers, as a table", "messages")), numbers(rows.map((row) => row.messages)));
    await page.getByLabel("Horizontal").selectOption("ranks");
    await page.getByLabel("Colours by").selectOption("algorithm");
    assert.equal(await page.locator("#sweep-1 .legend li").count(), 2);
  }},
  tuning: {words: () => ["tune", "collective", "--platform", star, "--op", "all-reduce", "--ranks", "4,8", "--bytes", "64KiB,1MiB", "--emit", "openmpi-rules", "--settings", "rules.conf"], async check(page, {points}) {
    await expectColumn(page, "Tuned points", "Time", points.map((point) => point.known.best.time_s));
    await expectColumn(page, "Tuned points", "Stack's default", points.map((point) => point.default.margin));
    assert.match(await text(page, "tuning"), /Against the stack's own choice the gain is .* at the median and .* at most[^]*Settings written to rules\.conf/);
    assert.equal(await page.locator("#tuning-1 .winner > *").count(), 4);
  }},
  "schedule tuning": {words: () => ["tune", "schedule", "--platform", "ri2", "--model", "resnet-50", "--batch", "64", "--scaling", "weak", "--gpus", "4", "--system", "horovod-mpi-opt", "--only", "fusion_threshold"],
    async check(page, {rows: [row]}) {
      const ranked = row.effects.map((effect) => effect.iteration_s).sort((a, b) => a - b);
      await expectColumn(page, "Candidates", "Iteration", ranked);
      assert.equal((await column(page, "Candidates", "")).filter((cell) => cell === "chosen").length, 1);
      assert.match(await text(page, "tuned-schedule"), /On 4 GPUs/);
    }},
  // Measured numbers as a trace of others would bring them.
  replay: {make: () => {
    forescale("predict", "--platform", "cluster-b", "--gpus", "8", ...training, "--record", "run.jsonl", "--no-range");
    const answer = JSON.parse(forescale("replay", "run.jsonl", "--platform", "kesch", "--what-if", "compute-scale=0.5", "--json"));
    answer.measured = {iteration_s: 1.1 * answer.iteration_s, communication_s: 0.02, hidden_s: 0.01};
    answer.against_measured = {difference_s: -0.02, iteration_with_all_s: 0.3, rest_s: 0.01, collectives: [{what: "reduce", calls: 3, measured_s: 0.02, predicted_s: 0.01, iteration_s: 0.31}]};
    return JSON.stringify(answer);
  }, async check(page, answer) {
    assert.match(await text(page, "replay"), /where .* was measured: −9.09 %[^]*The critical path is [^]*Fastest of the changes: compute-scale=0.5/);
    await expectColumn(page, "What if", "Iteration", [answer.what_if[0].replay.iteration_s]);
    await page.locator("#replay-1 figure", {hasText: "Critical path"}).locator("summary").click();
    await expectColumn(page, "Critical path, as a table", "Time", Object.values(answer.critical_path.by_cause_s).sort((a, b) => b - a));
    await expectColumn(page, "Why replay and measurement differ", "Measured", [0.02]);
  }},
  validation: {words: () => ["validate", "--id", "Poseidon-04,Poseidon-30,Poseidon-O1"], async check(page, {rows}) {
    const row = rows.find(({id}) => id === "Poseidon-30");
    assert.match(await text(page, "validation"), /median error of 1 prediction is [\d.]+ %; 1 of them within 30 %[^]*1 of 1 ordering as measured/);
    assert.ok((await column(page, "Claims", "Predicted")).some((cell) => cell && Math.abs(quantity(cell) / row.predicted - 1) < 0.01));
    await page.getByText("Orderings: ").click();
    assert.equal((await column(page, "Orderings", "Id")).length, rows.flatMap(({steps}) => steps).length);
  }},
  fit: {words: () => ["calibrate", "fit", path.join(root, "calibrate/published/azure-aks-4-nodes.json"), "--name", "az", "--emulated-gpu", "k80"], async check(page, {numbers, residuals}) {
    const ofTime = numbers.filter(({unit}) => unit === "s");
    const [shown, names] = [await column(page, "Fitted numbers", "High"), await column(page, "Fitted numbers", "Number")];
    for (const {what, high} of ofTime) assert.ok(Math.abs(quantity(shown[names.indexOf(what)]) / high - 1) < 0.006, what);
    assert.equal(await page.locator("#fit-1 .values circle").count(), numbers.filter(({low}) => low > 0).length);
    assert.match(await text(page, "fit"), new RegExp(`${numbers.length} numbers fitted to ${residuals.reduce((sum, {points}) => sum + points, 0)} points`));
  }},
  "GPU fit": {words: () => ["calibrate", "fit", "--hold-out", "--splits", "1", path.join(root, "calibrate/published_gpus/p100.json")], async check(page, answer) {
    await expectColumn(page, "Held out", "Median error", answer.held_out.map((row) => row.median_abs_error));
    assert.match(await text(page, "gpu-fit"), /that the fit has not seen: median error/);
  }},
  "executed collectives": {words: () => ["execute", "collective", "--ranks", "2", "--bytes", "4KiB,64KiB", "--budget", "2s", "--platform", "az-platform.json", "--stack", "az-stack.json",
    "--plans", "all-reduce/ring", "all-reduce/recursive-doubling"], async check(page, {rows}) {
    await expectColumn(page, "Executed collectives", "Measured", rows.map((row) => row.measured_s));
    await expectColumn(page, "Executed collectives", "Predicted", rows.map((row) => row.predicted_s));
    assert.match(await text(page, "executed-collectives"), /The median error of 4 predictions is/);
    assert.equal(await page.locator("#executed-collectives-1 .curve path").count(), 4);
  }},
  "executed schedules": {words: () => ["execute", "schedule", "--ranks", "2", "--platform", "az-platform.json", "--stack", "az-stack.json", "--model", "cifar10-quick", "--batch", "32", "--compute-scale", "0.2", "--schedules", "sc-obr,phases"],
    async check(page, {schedules}) {
      await expectColumn(page, "Executed schedules", "Measured", schedules.map((one) => one.measured.iteration_s));
      assert.match(await text(page, "executed-schedules"), /phases: .* measured, .* predicted/);
      assert.ok(await bars(page, "executed-schedules") >= 6);
    }},
};

const made = new Map();  // answers by kind
const fileOf = (kind) => `${kind.replaceAll(" ", "-")}.json`;
function answerOf(kind) {
  if (!made.has(kind)) made.set(kind, JSON.parse(kinds[kind].make?.() ?? forescale(...kinds[kind].words(), "--json")));
  return made.get(kind);
}

for (const [kind, {check}] of Object.entries(kinds))
  test(`${kind}: what the program says is what the page shows`, async () => {
    const answer = answerOf(kind);
    await withReport([write(fileOf(kind), answer)], async (page) => {
      await expectTidy(page);
      assert.match(await page.locator("#commands pre").first().innerText(), new RegExp(`^${answer.command.slice(0, 30).replace(/[^\w ]/g, ".")}`));
      await check(page, answer);
      await page.setViewportSize({width: 460, height: 900});
      await isDrawn(page);
      await expectTidy(page);
    });
  });

// Labels of a chart do not touch, bars and swatches can be told from the page and from each other.
async function expectTidy(page) {
  for (const colors of ["light", "dark"]) {
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(".chart svg")].flatMap((svg) => {
      const labels = [...svg.querySelectorAll("text")].filter((label) => label.textContent.trim() && !/rotate/.test(label.outerHTML)).map((label) => [label.textContent, label.getBoundingClientRect()]);
      return labels.flatMap(([one, a], i) => labels.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
        .map(([other]) => `${one} on ${other}`));
    })), [], "labels");
    const legends = await page.evaluate(() => {
      const parts = (color) => /rgba?\(([^)]*)/.exec(color)[1].split(/[ ,]+/).map(Number);
      const light = (color) => parts(color).slice(0, 3).map((part) => part / 255).map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
      const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
      const card = getComputedStyle(document.querySelector("section")).backgroundColor;
      const ink = [getComputedStyle(document.querySelector("section")).color, getComputedStyle(document.querySelector(".lead, .quiet, figcaption")).color].map((color) => contrast(color, card));
      return {ink, legends: [...document.querySelectorAll(".legend")].map((legend) => [...legend.querySelectorAll(".swatch")].map((swatch) => getComputedStyle(swatch).backgroundColor)).map((list) => ({list, least: Math.min(...list.map((color) => contrast(color, card)))}))};
    });
    for (const ratio of legends.ink) assert.ok(ratio > 4.5, `text has a contrast of ${ratio} (${colors})`);
    for (const {list, least} of legends.legends) {
      assert.equal(new Set(list).size, list.length, `colours of a legend: ${list}`);
      assert.ok(list.length === 0 || least > 1.8, `${list} on the page: ${least} (${colors})`);
    }
    await page.locator("#theme").click();
  }
}

// More sizes, counts, curves and bars than there is room for.
test("many labels do not touch either", async () => {
  const sizes = Array.from({length: 27}, (_, i) => 2 ** (i + 4));
  const point = (bytes, ranks) => ({op: "reduce", algorithm: "an-algorithm-of-a-long-name", ranks, bytes, time_s: 1e-6 + bytes * ranks * 1e-10, bound_s: bytes * 1e-11 + 1e-9});
  const collective = {format: "forescale-collective-1", platform: "p", stack: "s", points: [2, 3, 5, 7].flatMap((ranks) => sizes.map((bytes) => point(bytes, ranks)))};
  const counts = Array.from({length: 40}, (_, i) => 4 * (i + 1));
  const files = ["one", "two", "three", "four", "five"].map((system, k) => write(`${system}.json`, {format: "forescale-prediction-1", title: system, system,
    points: counts.map((gpus) => ({gpus, iteration_s: 1 / (gpus + k / 1000), images_per_s: 64 * gpus + k, root_s: {forward: 0.5, backward: 0.5}}))}));
  for (const width of [1200, 460])
    await withReport([write("sizes.json", collective), ...files], expectTidy, {viewport: {width, height: 900}});
});

// Every text, and in every object a twin of one entry under the attack's name.
function hostile(value, key) {
  if (typeof value === "string") return key === "format" ? value : attack + separators;
  if (Array.isArray(value)) return value.map((element) => hostile(element, ""));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([name, of]) => [name, hostile(of, name)]);
  const twin = entries.find(([name]) => name !== "format");
  return Object.fromEntries(twin ? [...entries, [attack, structuredClone(twin[1])]] : entries);
}

test("no text of any answer gets out of its place", async () => {
  for (const kind of Object.keys(kinds)) {
    const file = write(`<img src=x onerror=window.attacked=3>${fileOf(kind)}`, hostile(answerOf(kind), ""));
    await withReport([file], async (page) => {
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => details.open = true));
      for (const chart of await page.locator(".chart").all()) await chart.hover();
      for (const list of await page.locator("select").all()) await list.selectOption({index: 0});
      await page.waitForTimeout(100);
      const {attacked, foreign, scripts, shown} = await page.evaluate(() => ({attacked: window.attacked, scripts: document.scripts.length, shown: document.body.innerText,
        foreign: document.querySelectorAll("img, iframe, object, embed, base, foreignObject, [onerror], [onclick], [onload], a[href]:not([href^='#'])").length}));
      assert.equal(attacked, undefined, kind);
      assert.equal(foreign, 0, kind);
      assert.equal(scripts, 5, kind);
      assert.ok(shown.includes(attack), `${kind}: the text is shown as it is`);
    });
  }
});

test("the command that an answer states gives it again", () => {
  for (const kind of ["comparison", "layouts", "offers", "one collective", "crossover", "tuning", "fit"]) {
    const answer = answerOf(kind);
    const again = JSON.parse(forescale(...answer.command.split(" ").slice(1), ...(kind === "fit" ? ["--force"] : []), "--json"));
    assert.deepEqual({...again, command: ""}, {...answer, command: ""}, kind);
  }
});

test("help and the page's views name the same commands", () => {
  const help = forescale("report", "--help").replace(/\s+/g, " ");
  const views = path.join(root, "cli/report/page/views");
  for (const file of fs.readdirSync(views)) {
    const head = JSON.parse(/^\/\*!([^]*?)\*\//.exec(fs.readFileSync(path.join(views, file), "utf8"))[1]);
    for (const command of head.made_by.split(", ")) for (const word of command.replace(/ \(.*/, "").split(" ")) assert.ok(help.includes(word), `${file}: ${command}`);
    assert.ok(Object.keys(kinds).some((kind) => answerOf(kind).format === head.format), `${head.format} is tested`);
  }
});

test("many answers on one page", async () => {
  const files = Object.keys(kinds).map((kind) => write(fileOf(kind), answerOf(kind)));
  await withReport(files, async (page) => {
    assert.ok(await page.locator("nav a").count() >= Object.keys(kinds).length);
    await expectTidy(page);
    assert.equal(new Set(await page.locator("[id]").evaluateAll((all) => all.map((each) => each.id))).size, await page.locator("[id]").count());
  });
  assert.ok(fs.statSync(path.join(folder, "report.html")).size < 2e6);
});
