// A timeline's spans, ready to be searched and drawn: no element of the page in here.
//
// A row is a rank's track (or a process's thread). Spans that enclose others lie in a lower lane, so
// that within a lane spans follow each other and can be searched by time.

// {rows, end, kinds, colors}; times in ns from the first span.
async function timelineOf({kinds, rows}) {
  const made = [];
  let end = 1;
  for (const row of rows) {
    const rank = /^(rank (\d+)[^]*?\)|pipeline rank (\d+)) ([^]+)$/.exec(row.thread);
    const lanes = lanesOf(row);
    made.push({group: rank ? rank[1] : row.process, track: rank ? rank[4] : row.thread, rank: rank ? Number(rank[2] ?? rank[3]) : null,
      process: row.process, lanes, busy: busyTime(lanes[0])});
    end = Math.max(end, lanes[0].end[lanes[0].count - 1]);
    await breathe();
  }
  const names = new Set(kinds.map(([name]) => colorClass(name)));
  return {rows: made, kinds, end, colors: categoryColors(names)};
}

function lanesOf({begin, length, kind}) {
  const lanes = [];
  const last = [];  // end of the latest span of each lane
  for (let i = 0; i < begin.length; ++i) {
    let depth = 0;
    while (depth < last.length && last[depth] > begin[i]) ++depth;
    last.length = depth;
    last.push(begin[i] + length[i]);
    (lanes[depth] ??= []).push(i);
  }
  return lanes.map((indices) => ({count: indices.length, begin: Float64Array.from(indices, (i) => begin[i]),
    end: Float64Array.from(indices, (i) => begin[i] + length[i]), kind: Uint32Array.from(indices, (i) => kind[i])}));
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

// Share of rows busy in each of `count` equal pieces of the whole time. A span adds to its first and
// last piece, and one to `steps` where those between begin, however many they are.
function activity(rows, end, count) {
  const busy = new Float64Array(count + 1);
  const steps = new Float64Array(count + 2);
  for (const {lanes: [lane]} of rows)
    for (let i = 0; i < lane.count; ++i) {
      const from = lane.begin[i] / end * count;
      const to = lane.end[i] / end * count;
      const first = Math.floor(from);
      const last = Math.floor(to);
      if (first === last) {
        busy[first] += to - from;
        continue;
      }
      busy[first] += first + 1 - from;
      busy[last] += to - last;
      steps[first + 1] += 1;
      steps[last] -= 1;
    }
  let whole = 0;
  return busy.subarray(0, count).map((sum, piece) => (sum + (whole += steps[piece])) / Math.max(1, rows.length));
}
