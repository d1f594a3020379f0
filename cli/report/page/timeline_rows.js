// A timeline's spans, ready to be searched and drawn: no element of the page in here.
//
// A row is a rank's track (or a process's thread). Spans that enclose others lie in a lower lane, so
// that within a lane spans follow each other and can be searched by time.

// {rows, end, kinds}; times in ns from the first span.
function timelineOf({kinds, rows}) {
  const made = rows.map((row) => {
    const rank = /^(rank (\d+)[^]*?\)) ([^]+)$/.exec(row.thread);
    return {group: rank ? rank[1] : row.process, track: rank ? rank[3] : row.thread, rank: rank ? Number(rank[2]) : null,
      process: row.process, lanes: lanesOf(row), busy: 0};
  });
  for (const row of made) row.busy = busyTime(row.lanes[0]);
  const end = made.reduce((most, row) => Math.max(most, row.lanes[0].end[row.lanes[0].count - 1]), 0);
  return {rows: made, kinds, end: Math.max(end, 1)};
}

function lanesOf({begin, length, kind}) {
  const lanes = [];
  const last = [];  // end of the latest span of each lane
  let time = 0;
  for (let i = 0; i < begin.length; ++i) {
    time += begin[i];
    let depth = 0;
    while (depth < last.length && last[depth] > time) ++depth;
    last.length = depth;
    last.push(time + length[i]);
    (lanes[depth] ??= {begin: [], end: [], kind: []}).begin.push(time);
    lanes[depth].end.push(time + length[i]);
    lanes[depth].kind.push(kind[i]);
  }
  return lanes.map((lane) => ({count: lane.begin.length, begin: Float64Array.from(lane.begin),
    end: Float64Array.from(lane.end), kind: Uint32Array.from(lane.kind)}));
}

const busyTime = (lane) => lane.begin.reduce((sum, begin, i) => sum + lane.end[i] - begin, 0);

// The first span of a lane, from `from` on, that ends after `time`.
function firstEndingAfter(lane, time, from = 0) {
  let low = from;
  let high = lane.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The innermost span of a row within `slack` of a time: {row, lane, index} or null.
function spanAt(row, time, slack) {
  for (let depth = row.lanes.length - 1; depth >= 0; --depth) {
    const lane = row.lanes[depth];
    const index = firstEndingAfter(lane, time - slack);
    if (index < lane.count && lane.begin[index] <= time + slack) return {row, lane, index};
  }
  return null;
}

// The other side of a message: the same time on a row of the rank that args.peer names.
function counterpart(timeline, span) {
  const peer = timeline.kinds[span.lane.kind[span.index]][1].peer;
  if (typeof peer !== "number" || span.row.rank === null) return null;
  for (const row of timeline.rows) {
    if (row.rank !== peer || row === span.row || row.track === span.row.track) continue;
    for (const lane of row.lanes) {
      let index = firstEndingAfter(lane, span.lane.end[span.index] - 1);
      for (; index < lane.count && lane.begin[index] <= span.lane.end[span.index]; ++index)
        if (timeline.kinds[lane.kind[index]][1].peer === span.row.rank &&
            Math.abs(lane.begin[index] - span.lane.begin[span.index]) <= 1) return {row, lane, index};
    }
  }
  return null;
}

// Share of rows busy in each of `count` equal pieces of the whole time.
function activity(rows, end, count) {
  const busy = new Float64Array(count + 1);
  for (const {lanes: [lane]} of rows)
    for (let i = 0; i < lane.count; ++i) {
      const from = lane.begin[i] / end * count;
      const to = lane.end[i] / end * count;
      for (let piece = Math.floor(from); piece < to && piece < count; ++piece)
        busy[piece] += Math.min(to, piece + 1) - Math.max(from, piece);
    }
  return busy.subarray(0, count).map((sum) => sum / Math.max(1, rows.length));
}

// What a span is coloured by: its phase, or the first word of its name.
const verbPhases = Object.fromEntries([...report.phases.map(({verb, name}) => [verb, name]),
  ["wait", "idle"], ["copy", "phase-copy"]]);
function colorClass(name) {
  const verb = (/^[\p{L}-]+/u.exec(name) ?? [name])[0].toLowerCase();
  return verbPhases[verb] ?? verb;
}
