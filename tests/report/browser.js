// What the tests of the report's page share: the program, a browser, a folder of their own.
//
// Needs FORESCALE_PROGRAM, CHROMIUM (default: chromium) and NODE_PATH with the packages of
// package.json.
"use strict";

const assert = require("node:assert/strict");
const {execFileSync} = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {after, before} = require("node:test");
const {chromium} = require("playwright-core");

const program = process.env.FORESCALE_PROGRAM;
const attack = `</script><img src=x onerror="window.attacked=1"><script>window.attacked=2</script>`;
const separators = `"'&<!--\u2028\u2029\\u003c\`\${1}`;

let browser;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "forescale-report-"));

before(async () => {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"]});
});

after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true, force: true});
});

const newPage = (options) => browser.newPage(options);
const forescale = (...words) => execFileSync(program, words, {cwd: folder, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"]});

function write(name, content) {
  fs.writeFileSync(path.join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  return name;
}

// Makes a report and opens it; fails at the end of `look` if the page erred or asked for anything.
async function withReport(files, look, {words = [], ...options} = {}) {
  forescale("report", ...files, ...words, "-o", "report.html");
  const page = await newPage({viewport: {width: 1200, height: 900}, ...options});
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`file://${folder}/report.html`)) wrong.push(`request: ${request.url().slice(0, 100)}`);
  });
  await page.goto(`file://${folder}/report.html`);
  await isDrawn(page);
  await look(page);
  assert.deepEqual(wrong, []);
  await page.close();
}

// Every chart is there, as wide as its place.
const isDrawn = (page) => page.waitForFunction(() => document.documentElement.dataset.written === "" &&
  (document.querySelector("#timeline") === null || document.querySelector(".timeline-view, #timeline .notice")) &&
  [...document.querySelectorAll(".chart")].every((chart) => Number(chart.querySelector("svg")?.getAttribute("width")) === Math.floor(chart.clientWidth)));

const bodyText = (page) => page.evaluate(() => document.body.innerText);

module.exports = {attack, separators, folder, newPage, forescale, write, withReport, isDrawn, bodyText};
