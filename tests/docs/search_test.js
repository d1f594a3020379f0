// The site's search in a browser, from its folder alone: search_test.js; FORESCALE_SITE names the folder that
// site_test.py has made.
//
// Needs CHROMIUM (default: chromium) and NODE_PATH with the packages of tests/report/package.json.
"use strict";

const assert = require("node:assert/strict");
const path = require("node:path");
const {after, before, test} = require("node:test");
const {chromium} = require("playwright-core");

const site = path.resolve(process.env.FORESCALE_SITE);
let browser;

before(async () => {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"]});
});

after(() => browser?.close());

// What a search finds; fails where the page errs or asks for anything that is not in the folder.
async function found(words) {
  const page = await browser.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${site}/`)) wrong.push(`request: ${request.url().slice(0, 100)}`);
  });
  await page.goto(`file://${site}/search.html?q=${encodeURIComponent(words)}`);
  await page.locator("#search-results p.search-summary, #search-results > p", {hasText: /found|did not match/}).first().waitFor({timeout: 30000});
  const links = await page.locator("#search-results li a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  assert.deepEqual(wrong, []);
  await page.close();
  return links;
}

test("a word of the pages", async () => {
  const links = await found("fusion");
  for (const page of ["tuning.html", "tutorials/tune.html"]) assert.ok(links.some((link) => link.startsWith(page)), `${page} is none of ${links}`);
});

test("a term of the glossary", async () => {
  assert.ok((await found("straggler")).some((link) => link.startsWith("glossary.html#term-straggler")));
});

test("a stack's name", async () => {
  assert.ok((await found("mvapich2-gdr-opt")).some((link) => link.startsWith("catalogue/stacks/mvapich2-gdr-opt.html")));
});

test("a word that is nowhere", async () => {
  assert.deepEqual(await found("xylophone"), []);
});
