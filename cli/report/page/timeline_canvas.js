// The timeline: rows on a canvas, of which only what is in sight is drawn, however many spans.

const rowHeight = 17;
const groupHeight = 22;
const rulerHeight = 24;

// {node, filter, zoom, fit}: the canvas with its overview and tooltip; `range` is told what is in sight.
function canvasView(timeline, label, range) {
  const canvas = element("canvas", {"aria-hidden": "true"});
  const filler = element("div", {class: "timeline-filler"});
  const overview = element("canvas", {class: "timeline-overview", "aria-hidden": "true"});
  const tip = element("div", {class: "timeline-tip", role: "status", hidden: true});
  const scroller = element("div", {class: "timeline-view", tabindex: 0, role: "group", "aria-label":
    `${label}. Keys: left and right move, plus and minus zoom, 0 shows everything, n and p step through the spans of a row, j and k through rows.`}, canvas, filler);
  const node = element("div", {class: "timeline"}, overview, scroller, tip);

  let from = 0;  // the view, ns
  let to = timeline.end;
  let lines = [];  // {y, height, row or group}
  let busy = null;
  let chosen = null;  // span under the pointer or the keyboard
  let colors = new Map();
  let isPending = false;

  // What is printed is what was in sight: paper shows the same picture, smaller.
  let size = {width: 0, height: 0};
  function measure() {
    if (!window.matchMedia("print").matches) size = {width: scroller.clientWidth, height: scroller.clientHeight};
  }
  const labelWidth = () => Math.min(210, Math.max(84, size.width * 0.2));
  const plotWidth = () => Math.max(10, size.width - labelWidth());
  const xOf = (time) => labelWidth() + (time - from) / (to - from) * plotWidth();
  const timeOf = (x) => from + (x - labelWidth()) / plotWidth() * (to - from);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function redraw() {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      if (node.isConnected) draw();
    });
  }

  function colorOf(kind) {
    if (!colors.has(kind)) {
      const color = timeline.colors.get(colorClass(timeline.kinds[kind][0]));
      colors.set(kind, color.startsWith("var(") ? style(color.slice(4, -1)) : color);
    }
    return colors.get(kind);
  }

  function setView(begin, end) {
    const length = Math.min(timeline.end, Math.max(20, end - begin));
    from = Math.min(Math.max(0, begin), timeline.end - length);
    to = from + length;
    range.value = `${durationText(from / 1e9)} to ${durationText(to / 1e9)} of ${durationText(timeline.end / 1e9)}`;
    redraw();
  }
  const zoomAt = (factor, time) => setView(time - (time - from) * factor, time + (to - time) * factor);

  function filter(isShown) {
    const rows = timeline.rows.filter(isShown);
    lines = [];
    let y = rulerHeight;
    let group = null;
    for (const row of rows) {
      if (row.group !== group) {
        lines.push({y, height: groupHeight, group: row.group});
        y += groupHeight;
        group = row.group;
      }
      lines.push({y, height: rowHeight, row});
      y += rowHeight;
    }
    busy = {rows};
    chosen = null;
    filler.style.height = `${Math.max(0, y + 6 - scroller.clientHeight)}px`;
    filler.dataset.height = y + 6;
    scroller.style.maxHeight = `${y + 8}px`;  // no empty space below few rows
    redraw();
  }

  function sized(target, width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (target.width !== Math.round(width * ratio) || target.height !== Math.round(height * ratio)) {
      target.width = Math.round(width * ratio);
      target.height = Math.round(height * ratio);
      target.style.height = `${height}px`;
    }
    const pen = target.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    return pen;
  }

  function draw() {
    measure();
    const {width, height} = size;
    if (width < 40 || height < 40) return;
    filler.style.height = `${Math.max(0, Number(filler.dataset.height) - height)}px`;
    const pen = sized(canvas, width, height);
    const ink = style("--ink");
    const quiet = style("--quiet");
    const line = style("--line");
    const top = scroller.scrollTop;
    const ticks = rulerTicks();
    pen.fillStyle = line;
    for (const [time] of ticks) pen.fillRect(xOf(time), rulerHeight, 1, height);
    for (const entry of lines) {
      const y = entry.y - top;
      if (y > height || y + entry.height < rulerHeight) continue;
      if (entry.row) drawRow(pen, entry.row, y, width, line);
      else {
        pen.fillStyle = style("--hover");
        pen.fillRect(0, y + 2, width, entry.height - 3);
        pen.fillStyle = ink;
        pen.fillText(entry.group, 6, y + entry.height / 2 + 1, width - 12);
      }
    }
    if (lines.length === 0) {
      pen.fillStyle = quiet;
      pen.fillText("No row matches.", 10, rulerHeight + 20);
    }
    drawLabels(pen, top, height, quiet);
    if (chosen) drawChosen(pen, top, ink);
    drawRuler(pen, width, ticks, quiet, line);
    drawOverview(width);
  }

  function drawRow(pen, row, y, width, line) {
    pen.fillStyle = line;
    pen.fillRect(labelWidth(), y + rowHeight - 1, width, 0.5);
    const nanosecondsAPixel = (to - from) / plotWidth();
    row.lanes.forEach((lane, depth) => {
      const inset = 1.5 + Math.min(depth, 3) * 2.5;
      for (let i = firstEndingAfter(lane, from); i < lane.count && lane.begin[i] < to;) {
        const left = Math.max(labelWidth(), xOf(lane.begin[i]));
        const right = Math.min(width, xOf(lane.end[i]));
        pen.fillStyle = colorOf(lane.kind[i]);
        if (right - left < 1) {
          // Too thin to tell apart: one pixel for all that end within it.
          pen.fillRect(left, y + inset, 1, rowHeight - 2 * inset);
          i = Math.max(i + 1, firstEndingAfter(lane, Math.max(from, lane.begin[i]) + nanosecondsAPixel, i));
          continue;
        }
        pen.fillRect(left, y + inset, Math.max(1, right - left - 0.5), rowHeight - 2 * inset);
        if (right - left > 34) drawName(pen, timeline.kinds[lane.kind[i]][0], left, right, y);
        ++i;
      }
    });
  }

  function drawName(pen, name, left, right, y) {
    const fitting = name.slice(0, Math.floor((right - left - 6) / 5.8));
    if (fitting.length < 3) return;
    pen.fillStyle = readable(pen.fillStyle);
    pen.fillText(fitting, left + 3, y + rowHeight / 2, right - left - 5);
  }

  // Black or white, whichever can be read on "#rrggbb".
  function readable(color) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
  }

  function drawLabels(pen, top, height, quiet) {
    pen.fillStyle = style("--card");
    pen.globalAlpha = 0.94;
    for (const entry of lines) {
      const y = entry.y - top;
      if (entry.row && y < height && y > 0) pen.fillRect(0, y, labelWidth() - 1, entry.height);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = quiet;
    for (const entry of lines) {
      const y = entry.y - top;
      if (entry.row && y < height && y > 0) pen.fillText(entry.row.track, 14, y + entry.height / 2, labelWidth() - 20);
    }
  }

  function drawChosen(pen, top, ink) {
    const other = counterpart(timeline, chosen);
    const boxes = [chosen, other].filter(Boolean).map((span) => {
      const entry = lines.find((candidate) => candidate.row === span.row);
      if (!entry) return null;
      const left = xOf(span.lane.begin[span.index]);
      return {left, width: Math.max(2, xOf(span.lane.end[span.index]) - left), y: entry.y - top};
    }).filter(Boolean);
    pen.save();
    pen.beginPath();
    pen.rect(labelWidth(), rulerHeight, plotWidth(), 1e6);
    pen.clip();
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    for (const box of boxes) pen.strokeRect(box.left, box.y + 1, box.width, rowHeight - 2);
    if (boxes.length === 2) {
      pen.beginPath();
      pen.moveTo(boxes[0].left + boxes[0].width / 2, boxes[0].y + rowHeight / 2);
      pen.lineTo(boxes[1].left + boxes[1].width / 2, boxes[1].y + rowHeight / 2);
      pen.stroke();
    }
    pen.restore();
  }

  // [[time, text]].
  function rulerTicks() {
    const step = d3.tickStep(from, to, Math.max(2, plotWidth() / 110));
    const [scale, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([least]) => to >= least) ?? [1, "ns"];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
    return d3.range(Math.ceil(from / step), Math.floor(to / step) + 1).map((index) =>
      [index * step, `${(index * step / scale).toFixed(digits)} ${unit}`]);
  }

  function drawRuler(pen, width, ticks, quiet, line) {
    pen.fillStyle = style("--card");
    pen.fillRect(0, 0, width, rulerHeight);
    for (const [time, text] of ticks) {
      const x = xOf(time);
      pen.fillStyle = line;
      pen.fillRect(x, rulerHeight - 6, 1, 6);
      pen.fillStyle = quiet;
      if (x + 4 + pen.measureText(text).width <= width) pen.fillText(text, x + 4, rulerHeight / 2 - 1);
    }
    pen.fillStyle = line;
    pen.fillRect(0, rulerHeight - 1, width, 1);
  }

  function drawOverview(width) {
    const pen = sized(overview, width, 44);
    const count = Math.round(width / 2);
    if (busy.count !== count) Object.assign(busy, {count, shares: activity(busy.rows, timeline.end, count)});
    const most = d3.max(busy.shares) || 1;
    pen.fillStyle = style("--phase-forward");
    busy.shares.forEach((share, i) => pen.fillRect(i * width / count, 42 - 36 * share / most, width / count, 36 * share / most));
    pen.fillStyle = style("--page");
    pen.globalAlpha = 0.72;
    const left = from / timeline.end * width;
    const right = to / timeline.end * width;
    pen.fillRect(0, 0, left, 44);
    pen.fillRect(right, 0, width - right, 44);
    pen.globalAlpha = 1;
    pen.strokeStyle = style("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, 1, Math.max(2, right - left - 2), 42);
  }

  function lineAt(y) {
    const inside = y + scroller.scrollTop;
    return y < rulerHeight ? null : lines.find((entry) => entry.row && inside >= entry.y && inside < entry.y + entry.height);
  }

  function spanUnder(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const entry = lineAt(event.clientY - box.top);
    if (!entry || x < labelWidth()) return null;
    return spanAt(entry.row, timeOf(x), 2 * (to - from) / plotWidth());
  }

  function choose(span, x, y) {
    const before = chosen;
    chosen = span;
    if (before?.lane !== span?.lane || before?.index !== span?.index) redraw();
    tip.hidden = span === null;
    if (span === null) return;
    const [name, args] = timeline.kinds[span.lane.kind[span.index]];
    const begin = span.lane.begin[span.index];
    const facts = [["Length", durationText((span.lane.end[span.index] - begin) / 1e9)], ["Begin", durationText(begin / 1e9)],
      ["Where", `${span.row.group}, ${span.row.track}`], ["Process", span.row.process],
      ...Object.entries(args).map(([key, value]) => [heading(key), key === "bytes" && typeof value === "number" ? bytesText(value) : plainText(value)])];
    tip.replaceChildren(element("strong", {}, name), element("dl", {}, facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)])));
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + tip.offsetHeight + 24 > window.innerHeight ? y - tip.offsetHeight - 12 : y + 16}px`;
  }

  // The next span of the chosen one's lane, or the first in sight.
  function stepSpan(by) {
    const entry = chosen ? lines.find((candidate) => candidate.row === chosen.row) : lines.find((candidate) => candidate.row);
    if (!entry) return;
    const lane = chosen ? chosen.lane : entry.row.lanes[0];
    const index = Math.min(lane.count - 1, Math.max(0, chosen ? chosen.index + by : firstEndingAfter(lane, from)));
    if (lane.begin[index] < from || lane.end[index] > to) {
      const middle = (lane.begin[index] + lane.end[index]) / 2;
      setView(middle - (to - from) / 2, middle + (to - from) / 2);
    }
    const box = scroller.getBoundingClientRect();
    choose({row: entry.row, lane, index}, box.left + xOf((lane.begin[index] + lane.end[index]) / 2),
      box.top + entry.y - scroller.scrollTop + rowHeight);
  }

  // The span of the row below or above that is nearest in time.
  function stepRow(by) {
    if (!chosen) return stepSpan(0);
    const rows = lines.filter((entry) => entry.row);
    const entry = rows[rows.findIndex((candidate) => candidate.row === chosen.row) + by];
    if (!entry) return;
    const lane = entry.row.lanes[0];
    choose({row: entry.row, lane, index: Math.min(lane.count - 1, firstEndingAfter(lane, chosen.lane.begin[chosen.index]))}, 0, 0);
    if (entry.y < scroller.scrollTop + rulerHeight || entry.y + entry.height > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = entry.y - scroller.clientHeight / 2;
    stepSpan(0);
  }

  attachPointer();
  scroller.addEventListener("scroll", redraw);
  scroller.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoomAt(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), timeOf(event.clientX - scroller.getBoundingClientRect().left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const move = (event.deltaX || event.deltaY) / plotWidth() * (to - from);
      setView(from + move, to + move);
    }
  }, {passive: false});
  scroller.addEventListener("keydown", (event) => {
    const piece = (to - from) / 5;
    const middle = (from + to) / 2;
    const actions = {ArrowLeft: () => setView(from - piece, to - piece), ArrowRight: () => setView(from + piece, to + piece),
      "+": () => zoomAt(0.5, middle), "=": () => zoomAt(0.5, middle), "-": () => zoomAt(2, middle),
      0: () => setView(0, timeline.end), n: () => stepSpan(1), p: () => stepSpan(-1), j: () => stepRow(1), k: () => stepRow(-1), Escape: () => choose(null)};
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  scroller.addEventListener("blur", () => choose(null));
  new ResizeObserver(redraw).observe(scroller);
  // At once: on paper there is no next frame.
  const restyle = () => {
    colors = new Map();
    if (node.isConnected) draw();
  };
  window.addEventListener("themechange", restyle);
  window.matchMedia("print").addEventListener("change", restyle);
  setView(0, timeline.end);

  // One finger or the mouse moves, two fingers zoom; in the overview a drag chooses the view.
  function attachPointer() {
    const pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.clientX);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) {
        choose(spanUnder(event), event.clientX, event.clientY);
        return;
      }
      const old = [...pointers.values()];
      pointers.set(event.pointerId, event.clientX);
      const left = canvas.getBoundingClientRect().left;
      const now = [...pointers.values()];
      if (now.length === 2 && Math.abs(now[0] - now[1]) > 4) {
        const time = timeOf((old[0] + old[1]) / 2 - left);
        zoomAt(Math.abs(old[0] - old[1]) / Math.abs(now[0] - now[1]), time);
      } else if (now.length === 1 && before !== event.clientX) {
        canvas.classList.add("dragged");
        choose(null);
        const move = (event.clientX - before) / plotWidth() * (to - from);
        setView(from - move, to - move);
      }
    });
    const release = (event) => {
      if (pointers.delete(event.pointerId) && event.type === "pointerup" && !canvas.classList.contains("dragged"))
        choose(spanUnder(event), event.clientX, event.clientY);
      canvas.classList.remove("dragged");
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") choose(null);
    });
    canvas.addEventListener("dblclick", (event) => {
      const span = spanUnder(event);
      if (span === null) return;
      const length = span.lane.end[span.index] - span.lane.begin[span.index];
      setView(span.lane.begin[span.index] - 0.1 * length, span.lane.end[span.index] + 0.1 * length);
    });
    let anchor = null;
    const overviewTime = (event) => (event.clientX - overview.getBoundingClientRect().left) / overview.clientWidth * timeline.end;
    overview.addEventListener("pointerdown", (event) => {
      anchor = overviewTime(event);
      overview.setPointerCapture(event.pointerId);
    });
    overview.addEventListener("pointermove", (event) => {
      if (anchor === null) return;
      const time = overviewTime(event);
      if (Math.abs(time - anchor) > timeline.end / 500) setView(Math.min(anchor, time), Math.max(anchor, time));
    });
    overview.addEventListener("pointerup", (event) => {
      const half = (to - from) / 2;
      if (anchor !== null && Math.abs(overviewTime(event) - anchor) <= timeline.end / 500) setView(anchor - half, anchor + half);
      anchor = null;
    });
  }

  return {node, filter, zoom: (factor) => zoomAt(factor, (from + to) / 2), fit: () => setView(0, timeline.end)};
}
