/*! {"format": "forescale-comparison-1", "kind": "comparison", "made_by": "compare",
  "shape": {"title?": "text", "command?": "text", "efficiency_min?": "amount",
    "contenders": [{"platform?": "text", "system?": "text", "prediction": "forescale-prediction-1",
      "pays_up_to_gpus?": "count", "pays_up_to_nodes?": "count", "pays_to_the_end?": "flag", "at_gpus?": "count",
      "network?": {"factor": "number", "bandwidth_bytes_per_s": "amount", "gain_fastest": "number"},
      "cheapest?": {"gpus": "count", "epoch_cost": "amount"},
      "sensitivities?": [{"what": "text", "gain_percent": "number", "value": "number", "assumed": "flag"}]}, "+"]}} */
// Which platform or system to take: who is fastest at each count, how far each pays, what would help.

views["forescale-comparison-1"] = {show: async (all) => {
  all.forEach(comparisonSection);
  if (answersOf("forescale-prediction-1").length === 0) await showPredictions();
}};

function comparisonSection(answer, index) {
  const {result} = answer;
  const contenders = result.contenders.map((contender) => ({...contender, ...predictions.find((p) => p.result === contender.prediction)}));
  const counts = allCounts(contenders);
  let gpus = counts.findLast((count) => contenders.every((one) => pointAt(one, count))) ?? counts.at(-1);
  const rows = () => contenders.filter((one) => pointAt(one, gpus)).map((one) => ({one, ...rateRange(pointAt(one, gpus))})).sort((a, b) => b.value - a.value);
  const bars = () => rows().map(({one, value, low, high}) => ({name: `${one.letter}  ${one.short}`, color: one.color, value, low, high,
    tip: `${one.short}\n${shortNumber(value)} images/s${intervalText(low, high, shortNumber)}`}));
  const figure = chart("Images/s at one number of GPUs", (width) => barsPlot(width, bars(), {text: d3.format("~s"), label: "images/s"}),
    "The line is the 90 % interval: of two whose lines do not meet, the faster one is sure.",
    () => table(["Contender", "#Images/s", "#Low", "#High"], bars().map((bar) => [bar.name, ...[bar.value, bar.low, bar.high].map(shortNumber)])));
  const verdict = headlines();
  const show = () => {
    verdict.replaceChildren(...headlines(winnerText(rows().map(({one, ...rates}) => ({name: one.short, ...rates})), `on ${plural(gpus, "GPU")}`),
      contenders.map((one) => contenderText(one, result.efficiency_min))).childNodes);
    figure.redraw();
  };
  show();
  section(`comparison-${index + 1}`, `Compared: ${answer.name}`, null, verdict,
    counts.length > 1 ? element("div", {class: "controls"}, selection("GPUs", null, counts.map(String), (count) => {
      gpus = Number(count);
      show();
    }, String(gpus))) : null,
    figure, scrollBox("Contenders", contenderTable(contenders)), sensitivityDetails(contenders));
}

const pointAt = (one, gpus) => one.points.find((point) => point.gpus === gpus);

function contenderText(one, efficiencyMin) {
  const share = typeof efficiencyMin === "number" ? percentText(efficiencyMin) : "the efficiency asked for";
  const pays = typeof one.pays_up_to_gpus !== "number" ? "" : one.pays_up_to_gpus === 0 ? `never reaches ${share} efficiency`
    : `keeps ${share} efficiency up to ${plural(one.pays_up_to_gpus, "GPU")}${one.pays_to_the_end ? ", the largest count asked for" : ""}`;
  const cheapest = one.cheapest ? `an epoch costs least, ${shortNumber(one.cheapest.epoch_cost)}, on ${plural(one.cheapest.gpus, "GPU")}` : "";
  const text = [pays, cheapest].filter(Boolean).join("; ");
  return text && `${one.short} ${text}.`;
}

function contenderTable(contenders) {
  return filledTable(["Contender", "#Pays up to", "#Nodes", "#Cheapest at", "#Cost of an epoch", "#Network that is enough", "#A limitless one gains"],
    contenders.map((one) => [`${one.letter}  ${one.short}`, one.pays_up_to_gpus === undefined ? "" : plural(one.pays_up_to_gpus, "GPU"), one.pays_up_to_nodes,
      one.cheapest ? plural(one.cheapest.gpus, "GPU") : "", one.cheapest ? shortNumber(one.cheapest.epoch_cost) : "",
      one.network ? `${bandwidthText(one.network.bandwidth_bytes_per_s * one.network.factor)} (${shortNumber(one.network.factor)} of its own)` : "",
      one.network ? percentText(one.network.gain_fastest) : ""]));
}

function sensitivityDetails(contenders) {
  return contenders.filter((one) => one.sensitivities?.length).map((one) => element("details", {},
    element("summary", {}, `What would make ${one.short} faster${one.at_gpus ? ` on ${plural(one.at_gpus, "GPU")}` : ""}`),
    scrollBox(`Sensitivities of ${one.short}`, table(["1 % faster", "#Value", "#Gains", ""], one.sensitivities.map((each) =>
      [pathCell(each.what), each.value === 0 ? "" : quantityText(each.what, each.value), percentText(each.gain_percent / 100),
        each.assumed ? element("span", {class: "badge assumed"}, "assumed") : ""])))));
}
