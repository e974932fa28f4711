import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "./modules.mjs";

const { changes, CONTEXT_LINES, EDITS_MAX, folded, lineDiff } = diff;
const MARKS = { same: " ", added: "+", removed: "-" };
const shown = (lines) => lines.map((line) => `${MARKS[line.kind]}${line.text}`).join("|");
const sideOf = (lines, kind) => lines.filter((line) => line.kind !== kind).map((line) => line.text);

test("a changed line is removed, then added, between unchanged ones", () => {
  const lines = lineDiff("a\nb\nc\nd\n", "a\nx\nc\ne\nd\n");
  assert.equal(shown(lines), " a|-b|+x| c|+e| d");
  assert.deepEqual(lines.map((line) => [line.old, line.now]), [[1, 1], [2, null], [null, 2], [3, 3], [null, 4], [4, 5]]);
  assert.deepEqual(changes(lines), { added: 2, removed: 1 });
});

test("a file that begins or ends to exist", () => {
  assert.equal(shown(lineDiff(null, "a\nb")), "+a|+b");
  assert.equal(shown(lineDiff("a\nb", null)), "-a|-b");
  assert.equal(shown(lineDiff("a", "a\n")), " a");
  assert.deepEqual(lineDiff(null, null), []);
});

test("both sides can be read back, and no shorter way exists", () => {
  let seed = 7;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let round = 0; round < 2_000; round += 1) {
    const [a, b] = [0, 1].map(() => Array.from({ length: 1 + random(10) }, () => "abcd"[random(4)]));
    const lines = lineDiff(a.join("\n"), b.join("\n"));
    assert.deepEqual([sideOf(lines, "added"), sideOf(lines, "removed")], [a, b]);
    const { added, removed } = changes(lines);
    assert.equal(added + removed, a.length + b.length - 2 * commonOf(a, b), `${a} to ${b}`);
  }
});

test("texts too far apart are replaced as a whole, and still complete", () => {
  for (const [edits, isWhole] of [[EDITS_MAX - 2, false], [EDITS_MAX, false], [EDITS_MAX + 2, true]]) {
    const a = Array.from({ length: edits / 2 }, (_, n) => [`a${n}`, "kept"]).flat();
    const b = a.map((line) => line.replace("a", "b"));
    const lines = lineDiff(a.join("\n"), b.join("\n"));
    assert.deepEqual([sideOf(lines, "added"), sideOf(lines, "removed")], [a, b]);
    assert.equal(changes(lines).added > edits / 2, isWhole, `${edits}`);
  }
});

test("unchanged lines far from a change are folded", () => {
  const before = Array.from({ length: 20 }, (_, n) => `${n}`);
  const after = before.with(10, "x");
  const parts = folded(lineDiff(before.join("\n"), after.join("\n")));
  assert.deepEqual([parts[0], parts.at(-1)], [{ kind: "gap", count: 10 - CONTEXT_LINES }, { kind: "gap", count: 9 - CONTEXT_LINES }]);
  assert.equal(parts.length, 2 + 2 * CONTEXT_LINES + 2);
});

/** Length of the longest common subsequence. */
function commonOf(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
  for (let x = 1; x <= a.length; x += 1) {
    for (let y = 1; y <= b.length; y += 1) {
      table[x][y] = a[x - 1] === b[y - 1] ? table[x - 1][y - 1] + 1 : Math.max(table[x - 1][y], table[x][y - 1]);
    }
  }
  return table[a.length][b.length];
}
