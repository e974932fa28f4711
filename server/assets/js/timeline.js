/**
 * The one ordered list of what a transcript shows (CTX-05, ATT-23): settled rows, messages on
 * their way, the live scene, questions and error records, each with a stable key. Pure.
 */

import { itemsOfRow } from "./scene.js";

/**
 * Entries have `key`, `kind` (user, answer, marker, sending, live, error) and `version`: an equal
 * key and version means an unchanged entry.
 */
export function timeline(projection, errors) {
  const rows = projection.history.rows.filter((row) => row.role !== "root");
  const settled = rows.map(rowEntry);
  const entries = projection.maySend ? offer(settled) : settled;
  if (!projection.history.detached) {
    for (const entry of projection.optimistic) entries.push(sendingEntry(entry));
    for (const scene of projection.scenes.values()) {
      if (scene.anchored) entries.push(liveEntry(scene, projection));
    }
    const loose = [...projection.questions.values()].filter((each) => each.run_id === null);
    if (loose.length > 0) entries.push({ key: "loose", kind: "live", version: loose.map((each) => each.outcome).join(), items: [], questions: loose, steers: [], phase: null, terminal: null });
  }
  return placeErrors(entries, errors);
}

const cache = new WeakMap();

/** Rows do not change once loaded, so each is taken apart once. */
function rowEntry(row) {
  let entry = cache.get(row);
  if (!entry) {
    entry = newRowEntry(row);
    cache.set(row, entry);
  }
  return entry;
}

function newRowEntry(row) {
  const version = `${row.content_revision}:${row.status}:${row.session_revision}`;
  if (row.role === "user") return { key: `row:${row.message_id}`, kind: "user", version, text: row.body ?? row.summary ?? "", createdAt: row.created_at, status: row.status, row };
  if (row.role === "assistant") return { key: `row:${row.message_id}`, kind: "answer", version, items: itemsOfRow(row), createdAt: row.created_at, status: row.status, row };
  return { key: `row:${row.message_id}`, kind: "marker", version, marker: row.extra?.marker ?? null, reason: row.extra?.reason ?? null, text: row.body ?? row.summary ?? "", createdAt: row.created_at, row };
}

function sendingEntry(entry) {
  return { key: `sending:${entry.localId}`, kind: "user", version: entry.state, text: entry.text, createdAt: entry.createdAt, status: entry.state, row: null };
}

function liveEntry(scene, projection) {
  const questions = [...projection.questions.values()].filter((each) => each.run_id === scene.entityId);
  const phase = scene.terminal !== null ? null : projection.run?.run_id === scene.entityId ? projection.run.phase : "running";
  const steers = projection.steers.ofRun(scene.entityId);
  const asked = questions.map((each) => `${each.question_id}=${each.outcome}`).join();
  return {
    key: `live:${scene.entityId}`, kind: "live", version: `${scene.version}:${phase}:${asked}:${projection.steers.version}`,
    items: scene.items, questions, steers, phase, since: projection.run?.since ?? null, degraded: scene.degraded,
    terminal: scene.terminal, entityId: scene.entityId, createdAt: Number.MAX_SAFE_INTEGER,
  };
}

/** An error stands behind the run it names, else behind the last entry that is not newer. */
function placeErrors(entries, errors) {
  const placed = [...entries];
  for (const record of errors) {
    const reason = reasonOf(entries, record.operation_id);
    const entry = { key: `error:${record.error_id}`, kind: "error", version: `${record.error_id}:${reason}`, record, reason };
    placed.splice(errorIndex(placed, record), 0, entry);
  }
  return placed;
}

/** Why the server ended this run, as its live end or a row of it says. */
function reasonOf(entries, run) {
  for (const { entityId, terminal, row } of entries) {
    if (run !== null && (entityId ?? row?.extra?.run_id) === run) return terminal?.reason ?? row?.extra?.reason ?? null;
  }
  return null;
}

function errorIndex(entries, record) {
  const at = Date.parse(record.occurred_at);
  let index = 0;
  for (let i = 0; i < entries.length; i += 1) {
    const { kind, createdAt, entityId, row } = entries[i];
    const run = entityId ?? row?.extra?.run_id ?? null;
    if (run !== null && run === record.operation_id) index = i + 1;
    else if (kind === "error" ? Date.parse(entries[i].record.occurred_at) <= at : createdAt <= at) index = i + 1;
  }
  return index;
}

/** What may be done to each settled row, while nothing runs (LIFE-03): the last turn is told apart by how it ended. */
function offer(entries) {
  return entries.map((entry, i) => {
    const actions = actionsOf(entry, i === entries.length - 1);
    return actions.length === 0 ? entry : { ...entry, actions, version: `${entry.version}:${actions.join()}` };
  });
}

function actionsOf({ kind, status }, isLast) {
  if (kind === "user") return isLast ? ["edit", "retry"] : ["edit"];
  if (kind === "answer" && isLast) return [status === "completed" ? "regenerate" : "retry"];
  if (kind === "answer") return ["truncate"];
  return isLast ? ["retry"] : [];
}
