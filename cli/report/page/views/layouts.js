/*! {"format": "forescale-layouts-1", "kind": "layout prediction", "made_by": "predict --layout, tune layout, compare --layout",
  "shape": {"command?": "text", "question?": {"*": "value"},
    "predictions": [{"platform?": "text", "gpus": "count1", "layout": "text", "fits": "flag", "memory": {"*": "amount"}, "memory_bytes": "amount",
      "memory_low_bytes?": "amount", "memory_high_bytes?": "amount", "gpu_memory_bytes": "amount", "micro_batches?": "count",
      "iteration_s?": "amount", "iteration_low_s?": "amount", "iteration_high_s?": "amount", "influences?": {"*": "amount"}, "tokens_per_s_gpu?": "amount",
      "model_flops_share?": "amount", "times?": {"*": "amount?"}, "training?": {"*": "value"}, "full_memory?": {"times_low": "amount", "times_high": "amount"},
      "pipeline_ranks?": [{"rank": "count", "memory": {"*": "amount"}, "forward_s?": "amount", "backward_s?": "amount",
        "idle_s?": "amount"}]}, "+"]}} */
// Transformers on layouts: how fast, what the time is made of, and whether the memory is enough.

views["forescale-layouts-1"] = {show: (all) => all.forEach(layoutSection)};

const layoutMemory = ["parameters", "gradients", "optimizer", "activations", "reduced results", "recomputed layer", "logits", "gradient buffers", "framework"];
// By the number of GPUs, and the platform where several are compared; with its degrees where several have the same.
const layoutNames = (all) => {
  const short = (one) => joined([one.platform && plainText(one.platform), `${one.gpus} GPUs`].filter(Boolean));
  return new Map(all.map((one) => [one, all.filter((other) => short(other) === short(one)).length > 1 ? `${short(one)}, ${one.layout}` : short(one)]));
};
const partsIn = (objects, first) => {
  const found = new Set(objects.flatMap((object) => Object.entries(object).filter(([, value]) => value > 0).map(([key]) => key)));
  return [...first.filter((key) => found.has(key)), ...[...found].filter((key) => !first.includes(key))];
};

function layoutSection(answer, index) {
  const {result} = answer;
  const all = result.predictions;
  const timed = all.filter((one) => one.iteration_s > 0);
  const names = layoutNames(all);
  section(`layouts-${index + 1}`, `Layouts: ${joined([result.question?.model, result.question?.platform].filter(Boolean).map(plainText)) || answer.name}`, null,
    headlines(all.slice(0, 8).map((one) => layoutText(one, names.get(one)))),
    element("div", {class: "grid"}, timed.length ? [layoutTimes(timed, names), layoutRates(timed, names)] : null),
    layoutMemories(all, names), all.some((one) => one.pipeline_ranks?.length > 1) ? pipelineChart(all, names) : null,
    scrollBox("Layouts", layoutTable(all)));
}

function layoutText(one, name) {
  const memory = `${bytesText(one.memory_bytes)} of ${bytesText(one.gpu_memory_bytes)} on the fullest GPU`;
  if (!(one.iteration_s > 0)) return `${name}: does not fit, ${memory}.`;
  return `${name} (${one.layout}): ${durationText(one.iteration_s)} an iteration${intervalText(one.iteration_low_s, one.iteration_high_s, durationText)}, ` +
    `${shortNumber(one.tokens_per_s_gpu)} tokens/s a GPU, MFU ${percentText(one.model_flops_share)}; ${memory}${one.fits ? "" : ", which is not sure to fit"}` +
    `${one.full_memory ? `; so full, others took ${one.full_memory.times_low} to ${one.full_memory.times_high} times their predicted time` : ""}.`;
}

function layoutTimes(timed, names) {
  const kinds = partsIn(timed.map((one) => one.times ?? {}), []);
  const colors = categoryColors(kinds);
  const label = (kind) => kind.replace(/_s$/, "");
  const rows = timed.flatMap((one) => kinds.map((kind) => ({name: names.get(one), part: kind, value: one.times?.[kind] ?? 0})));
  return chart("What an iteration is made of", (width) => partsPlot(width, rows, colors, {text: durationText, label: "time of an iteration"}),
    "Of the pipeline rank that computes longest; communication is what nothing hides.",
    () => table(["Layout", ...kinds.map((kind) => `#${label(kind)}`)], timed.map((one) => [names.get(one), ...kinds.map((kind) => durationText(one.times?.[kind] ?? 0))])),
  legendOf("Kinds of time", kinds.map((kind) => [label(kind), colors.get(kind)])));
}

const layoutRates = (timed, names) => chart("Tokens a second and GPU", (width) => barsPlot(width, timed.map((one) => {
  const at = (time) => time > 0 ? one.tokens_per_s_gpu * one.iteration_s / time : undefined;
  return {name: names.get(one), value: one.tokens_per_s_gpu, low: at(one.iteration_high_s), high: at(one.iteration_low_s),
    tip: `${names.get(one)}\n${shortNumber(one.tokens_per_s_gpu)} tokens/s a GPU\nMFU ${percentText(one.model_flops_share)}`};
}), {text: d3.format("~s"), label: "tokens/s a GPU"}), "The line is the 90 % interval.",
() => table(["Layout", "#Tokens/s a GPU", "#MFU"], timed.map((one) => [names.get(one), shortNumber(one.tokens_per_s_gpu), percentText(one.model_flops_share)])));

// By rank of the pipeline where the answer has that, else of the fullest.
function layoutMemories(all, names) {
  const held = all.flatMap((one) => one.pipeline_ranks?.length > 1
    ? one.pipeline_ranks.map((rank) => ({name: `${names.get(one)}, rank ${rank.rank}`, memory: rank.memory, limit: one.gpu_memory_bytes}))
    : [{name: names.get(one), memory: one.memory, limit: one.gpu_memory_bytes}]);
  const parts = partsIn(held.map((one) => one.memory), layoutMemory);
  const colors = categoryColors(parts);
  return chart("Memory of a GPU", (width) => partsPlot(width,
    held.flatMap((one) => parts.map((part) => ({name: one.name, part, value: one.memory[part] ?? 0}))), colors,
    {text: bytesText, label: "bytes", limits: held.map((one) => ({name: one.name, value: one.limit}))}),
  "Thick line: what the GPU has. Ranks are those of the pipeline.",
  () => table(["GPU", ...parts.map((part) => `#${part}`), "#All", "#Of"], held.map((one) => [one.name, ...parts.map((part) => bytesText(one.memory[part] ?? 0)),
    bytesText(d3.sum(Object.values(one.memory))), bytesText(one.limit)])),
  legendOf("Parts of memory", parts.map((part) => [part, colors.get(part)])));
}

function pipelineChart(all, names) {
  const colors = new Map([["forward", "var(--phase-forward)"], ["backward", "var(--phase-backward)"], ["idle", "var(--phase-idle)"]]);
  const ranks = all.flatMap((one) => (one.pipeline_ranks ?? []).filter((rank) => rank.forward_s > 0).map((rank) => ({...rank, name: `${names.get(one)}, rank ${rank.rank}`})));
  if (ranks.length === 0) return null;
  return chart("Pipeline: passes of each rank", (width) => partsPlot(width, ranks.flatMap((rank) =>
    [...colors.keys()].map((part) => ({name: rank.name, part, value: rank[`${part}_s`] ?? 0}))), colors, {text: durationText, label: "up to the end of the last pass"}),
  "Idle is the bubble: waiting for the stages before and after.",
  () => table(["Rank", ...[...colors.keys()].map((part) => `#${part}`)], ranks.map((rank) => [rank.name, ...[...colors.keys()].map((part) => durationText(rank[`${part}_s`] ?? 0))])),
  legendOf("Passes", [...colors]));
}

function layoutTable(all) {
  const training = partsIn(all.map((one) => one.training ?? {}), []);
  return filledTable(["Platform", "#GPUs", "Layout", "#Micro-batches", "#Iteration", "#90 % interval", "#Tokens/s a GPU", "#MFU", "#Memory", "#Its 90 % interval", "#Of", "Fits",
    ...training.map((key) => `#${heading(key)}`)],
  all.map((one) => [plainText(one.platform ?? ""), one.gpus, one.layout, one.micro_batches, one.iteration_s > 0 ? durationText(one.iteration_s) : "",
    one.iteration_low_s > 0 ? `${durationText(one.iteration_low_s)} … ${durationText(one.iteration_high_s)}` : "", one.iteration_s > 0 ? shortNumber(one.tokens_per_s_gpu) : "",
    one.iteration_s > 0 ? percentText(one.model_flops_share) : "", bytesText(one.memory_bytes),
    one.memory_low_bytes ? `${bytesText(one.memory_low_bytes)} … ${bytesText(one.memory_high_bytes)}` : "", bytesText(one.gpu_memory_bytes), one.fits ? "yes" : "no",
    ...training.map((key) => quantityText(key, one.training?.[key]))]));
}
