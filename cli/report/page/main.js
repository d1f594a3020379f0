// The page from top to bottom.

function writeHeader() {
  const title = report.title || (predictions.length === 1 ? predictions[0].name : predictions.length ? "Scaling predictions" : "forescale report");
  document.title = title;
  document.getElementById("title").textContent = title;
  const count = (list, what) => list.length ? `${list.length} ${what}${list.length === 1 ? "" : "s"}` : null;
  document.getElementById("subtitle").textContent = joined([count(predictions, "prediction"), count(report.validations, "validation"),
    count(report.tunings, "tuning"), count(report.timelines, "timeline")].filter(Boolean));
  document.getElementById("made-by").textContent = `Made by ${report.generator}. Charts: Observable Plot and D3. This page opens no connection.`;
}

writeHeader();
scalingSection();
breakdownSection();
validationSection();
tuningSection();
timelineSection();
pointsSection();
warningsSection();
inputsSection();
commandsSection();
document.getElementById("contents").append(...sections.map(({id, title}) => element("a", {href: `#${id}`}, title)));
