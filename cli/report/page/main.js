// The page from top to bottom: each kind of answer where its first file was named, then timelines, and
// what all have in common.

function writeHeader() {
  const one = answers.length === 1 ? plainText(answers[0].result.title) || sections[0].title : "";
  const title = report.title || one || (predictions.length && predictions.length === answers.length ? "Scaling predictions" : "forescale report");
  document.title = title;
  document.getElementById("title").textContent = title;
  const kinds = d3.rollups(report.files, (files) => files.length, (file) => file.kind);
  document.getElementById("subtitle").textContent = joined(kinds.map(([kind, count]) => plural(count, kind)));
  document.getElementById("made-by").textContent = `Made by ${report.generator}. Charts: Observable Plot and D3. This page opens no connection.`;
}

async function writePage() {
  for (const format of new Set(answers.map((answer) => answer.format))) {
    await views[format].show(answersOf(format));
    await breathe();
  }
  for (const part of [timelineSection, writeHeader, warningsSection, inputsSection, commandsSection]) {
    part();
    await breathe();
  }
  document.getElementById("contents").append(...sections.map(({id, title}) => element("a", {href: `#${id}`}, title)));
  document.documentElement.dataset.written = "";
}

writePage();
