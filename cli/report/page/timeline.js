// The timeline's section: its controls, its legend, and the same as a table.

function timelineSection() {
  if (report.timelines.length === 0) return;
  const names = report.timelines.map(({file}) => report.files[file].name);
  const holder = element("div");
  let wanted = null;
  // What is asked for last is shown, whichever is unpacked first.
  const show = async (index) => {
    wanted = index;
    const source = report.timelines[index];
    if (!canUnpack()) {
      holder.replaceChildren(element("p", {class: "notice"}, "This browser cannot unpack timelines: Chromium 80, Firefox 113, Safari 16.4 and later can. The file opens in ui.perfetto.dev too."));
      return;
    }
    holder.replaceChildren(element("p", {class: "quiet", role: "status"}, `Unpacking ${plural(source.spans, "span")} …`));
    const timeline = await timelineOf(await unpacked(source));
    if (wanted === index) holder.replaceChildren(...timelineView(timeline, source, names[index]).filter(Boolean));
  };
  section("timeline", "Timeline of one iteration",
    "Each row is one track of a rank. Drag to move, Ctrl + wheel or pinch to zoom, double-click a span to fill the view with it.",
    names.length > 1 ? element("div", {class: "controls"}, element("label", {}, element("span", {class: "quiet"}, "Timeline"),
      element("select", {"aria-label": "Timeline", onchange: (event) => show(Number(event.target.value))},
        names.map((name, index) => element("option", {value: index}, name))))) : null,
    holder);
  show(0);
}

function timelineView(timeline, source, name) {
  const tracks = [...new Set(timeline.rows.map((row) => row.track.replace(/\d+/g, "N")))];
  const hidden = new Set();
  let wanted = "";
  const range = element("output", {class: "timeline-range", "aria-live": "polite"});
  const view = canvasView(timeline, `Timeline ${name}`, range);
  const filter = () => view.filter((row) => !hidden.has(row.track.replace(/\d+/g, "N")) && isWanted(row, wanted));
  filter();
  const button = (label, title, action) => element("button", {type: "button", title, "aria-label": title, onclick: action}, label);
  return [
    element("div", {class: "controls"},
      button("+", "Zoom in", () => view.zoom(0.5)), button("−", "Zoom out", () => view.zoom(2)),
      button("Fit", "Show everything", () => view.fit()), range),
    element("div", {class: "controls"},
      search("Ranks or names: 0-7, 12, node1", (text) => {
        wanted = text;
        filter();
      }),
      tracks.length > 1 && tracks.length <= 16 ? element("fieldset", {}, element("legend", {}, "Tracks"), tracks.map((track) =>
        checkbox(track, (shown) => {
          if (shown) hidden.delete(track);
          else hidden.add(track);
          filter();
        }, true))) : null),
    timelineLegend(timeline), view.node, keysHelp(), mergedNote(source), busyTable(timeline), otherEvents(source),
  ];
}

// "0-7, 12": ranks; anything else is searched in names.
function isWanted(row, text) {
  if (text === "") return true;
  return text.split(",").map((part) => part.trim()).filter(Boolean).some((part) => {
    const ranks = /^(\d+)(?:\s*(?:-|\.\.)\s*(\d+))?$/.exec(part);
    if (ranks && row.rank !== null) return row.rank >= Number(ranks[1]) && row.rank <= Number(ranks[2] ?? ranks[1]);
    return `${row.process} ${row.group} ${row.track}`.toLowerCase().includes(part);
  });
}

function keysHelp() {
  const keys = [[["←", "→"], "move"], [["+", "−"], "zoom"], [["0"], "show everything"], [["n", "p"], "next and previous span"], [["j", "k"], "row below and above"], [["Esc"], "let go"]];
  return element("p", {class: "keys"}, "Keys, once the timeline has the focus: ", keys.flatMap(([names, what], i) =>
    [i ? ", " : "", ...names.flatMap((key) => [element("kbd", {}, key), " "]), what]), ".");
}

function mergedNote({merged_count: count, merged_below_s: below}) {
  return count === 0 ? null : element("p", {class: "quiet"}, `${plural(count, "span")} shorter than ${durationText(below)} are drawn as one with their neighbours: this page would be too large with each of them.`);
}

function timelineLegend(timeline) {
  const label = Object.fromEntries(Object.entries(verbPhases).map(([verb, kind]) => [kind, verb]));
  const most = 24;
  const entries = [...timeline.colors].slice(0, most).map(([kind, color]) => [Object.hasOwn(label, kind) ? label[kind] : kind, color]);
  return element("div", {}, legendOf("Kinds of spans", entries),
    timeline.colors.size > most ? element("p", {class: "quiet"}, `And ${timeline.colors.size - most} other kinds.`) : null);
}

function busyTable(timeline) {
  const busyRows = () => {
    const tracks = d3.rollups(timeline.rows, (rows) => rows, (row) => row.track);
    return table(["Track", "#Rows", "#Spans", "#Mean busy a row", "#Most busy row"],
      tracks.map(([track, rows]) => [track, rows.length, d3.sum(rows, (row) => d3.sum(row.lanes, (lane) => lane.count)),
        durationText(d3.mean(rows, (row) => row.busy) / 1e9), durationText(d3.max(rows, (row) => row.busy) / 1e9)]));
  };
  const box = scrollBox("Busy time by track", null);
  return element("details", {ontoggle: () => box.replaceChildren(busyRows())}, element("summary", {}, "Busy time by track, as a table"), box);
}

function otherEvents(source) {
  const others = Object.entries(source.other_events).filter(([kind]) => !["s", "t", "f"].includes(kind));
  if (others.length === 0) return null;
  return element("p", {class: "quiet"}, "Not shown: " + joined(others.map(([kind, count]) => `${count} events of kind "${kind}"`)) + ".");
}
