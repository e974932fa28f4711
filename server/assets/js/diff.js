/** The difference of two texts by lines. Pure. */

/** Most single steps of the search; texts further apart are shown as replaced as a whole. */
export const EDITS_MAX = 400;
/** Unchanged lines shown around a change. */
export const CONTEXT_LINES = 3;

/**
 * Lines in reading order: `{kind: same|removed|added, text, old, now}` with line numbers from 1, null
 * on the side that lacks the line. A null `before` is a file that did not exist.
 */
export function lineDiff(before, after) {
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const kinds = [
    ...Array(start).fill("same"),
    ...edits(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...Array(end).fill("same"),
  ];
  return numbered(kinds, a, b);
}

/** Numbers of added and removed lines. */
export function changes(lines) {
  const of = (kind) => lines.filter((line) => line.kind === kind).length;
  return { added: of("added"), removed: of("removed") };
}

/** The lines with unchanged stretches far from a change left out as `{kind: "gap", count}`. */
export function folded(lines, context = CONTEXT_LINES) {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (line.kind !== "same") near.fill(1, Math.max(0, index - context), index + context + 1);
  });
  const shown = [];
  lines.forEach((line, index) => {
    const last = shown.at(-1);
    if (near[index]) shown.push(line);
    else if (last?.kind === "gap") last.count += 1;
    else shown.push({ kind: "gap", count: 1 });
  });
  return shown;
}

function linesOf(text) {
  if (text === null || text === undefined || text === "") return [];
  const lines = String(text).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The shortest way from `a` to `b` (Myers), removals before additions. */
function edits(a, b) {
  const whole = [...Array(a.length).fill("removed"), ...Array(b.length).fill("added")];
  if (a.length === 0 || b.length === 0) return whole;
  const most = Math.min(a.length + b.length, EDITS_MAX);
  const reach = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkedBack(trace, a.length, b.length);
    }
  }
  return whole;
}

/** The kinds of all steps, read backwards from the end. */
function walkedBack(trace, endX, endY) {
  const kinds = [];
  let [x, y] = [endX, endY];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const reach = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
    const fromX = d === 0 ? 0 : down ? reach.get(k + 1) : reach.get(k - 1);
    const stepX = d === 0 || down ? fromX : fromX + 1;
    for (; x > stepX; x -= 1) kinds.push("same");
    if (d > 0) kinds.push(down ? "added" : "removed");
    x = fromX;
    y = fromX - (down ? k + 1 : k - 1);
  }
  return kinds.reverse();
}

function numbered(kinds, a, b) {
  let old = 0;
  let now = 0;
  return kinds.map((kind) => {
    if (kind !== "added") old += 1;
    if (kind !== "removed") now += 1;
    return {
      kind, text: kind === "added" ? b[now - 1] : a[old - 1],
      old: kind === "added" ? null : old, now: kind === "removed" ? null : now,
    };
  });
}
