/** One view per kind of transcript entry. */

import { detailOf, textOfCode } from "../codes.js";
import { actionsBar, messageEditor } from "./actions.js";
import { h, icon, Keyed, setText, show } from "./dom.js";
import { contextFact, duration, timeTexts, usageFacts } from "./format.js";
import { itemView } from "./items.js";
import { questionView } from "./question.js";
import { endedText, phaseText } from "./states.js";
import { steerView } from "./steer.js";

const ROW_NOTES = { failed: "This answer is incomplete: the run failed." };
const MARKERS = { cancelled: "Stopped", interrupted: "Interrupted: the server stopped or was restarted", failed: "Failed", superseded: "Replaced" };

/** Creates the view of a timeline entry. */
export function entryView(app, entry) {
  if (entry.kind === "user") return userView(app, entry);
  if (entry.kind === "marker") return markerView(app);
  if (entry.kind === "error") return errorView(app);
  return answerView(app, entry);
}

/** Carries out an action that needs no further word. */
function rewrite(app, op, entry) {
  app.rewrites.run(op, { messageId: entry.row.message_id });
}

function userView(app, first) {
  const text = h("div", { class: "bubble" });
  const note = h("p", { class: "bubble-note", role: "status" });
  const actions = actionsBar((name, entry) => (name === "edit" ? edit(entry) : rewrite(app, name, entry)));
  const node = h("li", { class: "entry user" }, h("h2", { class: "visually-hidden" }, "You"), text, note, actions.node);
  let state = first;
  let editor = null;
  const close = () => {
    editor?.node.remove();
    editor = null;
    show(text, true);
    actions.update(state);
  };
  const edit = (entry) => {
    const send = (words) => {
      editor.busy(true);
      app.rewrites.run("edit", { messageId: entry.row.message_id, text: words }, (done) => (done ? close() : editor?.busy(false)));
    };
    editor = messageEditor({ text: entry.text, followed: !entry.actions.includes("retry"), send, close });
    show(text, false);
    show(actions.node, false);
    text.after(editor.node);
    editor.focus();
  };
  return {
    node,
    continues: (entry) => entry.kind === "user" && state.row === null && entry.text === state.text,
    update(entry) {
      state = entry;
      setText(text, entry.text);
      node.dataset.status = entry.status;
      setText(note, entry.status === "unknown" ? "Not confirmed yet. Checking with the server…" : "");
      show(note, entry.status === "unknown");
      if (editor === null) actions.update(entry);
    },
  };
}

function markerView(app) {
  const label = h("span", {});
  const actions = actionsBar((name, entry) => rewrite(app, name, entry));
  const node = h("li", { class: "entry divider" }, label, actions.node);
  return {
    node,
    update(entry) {
      node.dataset.marker = entry.marker ?? "note";
      setText(label, endedText(entry.reason) ?? MARKERS[entry.marker] ?? entry.text);
      actions.update(entry);
    },
  };
}

function answerView(app, first) {
  const parts = h("div", { class: "parts" });
  const items = new Keyed(parts, (entry) => partView(app, entry));
  const foot = h("footer", { class: "answer-foot" });
  const status = phaseLine();
  const actions = actionsBar((name, entry) => rewrite(app, name, entry));
  const node = h("li", { class: "entry answer" }, h("h2", { class: "visually-hidden" }, "Agent"), parts, status.node, foot, actions.node);
  let ids = new Set();
  let live = first.kind === "live";
  return {
    node,
    continues: (entry) => live && entry.kind === "answer" && entry.items.some((item) => ids.has(item.id)),
    update(entry) {
      live = entry.kind === "live";
      ids = new Set(entry.items.map((item) => item.id));
      node.dataset.live = String(live);
      items.update(partsOf(entry));
      status.update(entry);
      footOf(foot, entry);
      actions.update(entry);
    },
  };
}

function partView(app, entry) {
  if (entry.question) return questionView(app, entry);
  return entry.steer ? steerView() : itemView(entry);
}

/** Items, questions and steers of an answer in their order. */
function partsOf(entry) {
  const settled = entry.kind === "answer" || entry.terminal !== null;
  const asking = (entry.questions ?? []).some((question) => question.outcome === null);
  const last = asking ? null : entry.items.at(-1);
  const parts = entry.items.map((item) => {
    const active = !settled && item === last;
    return { key: `item:${item.id}`, version: `${item.version}:${settled}:${active}`, order: item.order, item, final: settled, active };
  });
  for (const question of entry.questions ?? []) {
    parts.push({ key: `question:${question.question_id}`, order: question.order, question });
  }
  for (const steer of entry.steers ?? []) {
    if (steer.state !== "returned") parts.push({ key: `steer:${steer.key}`, version: steer.state, order: steer.order, steer });
  }
  return parts.sort((a, b) => a.order - b.order);
}

function phaseLine() {
  const label = h("span", { class: "phase-label" });
  const time = h("span", { class: "phase-time", "aria-hidden": "true" });
  const node = h("p", { class: "phase" }, h("span", { class: "pulse", "aria-hidden": "true" }), label, time);
  let seen = { phase: null, at: 0 };
  return {
    node,
    update(entry) {
      const shown = entry.kind === "live" && entry.phase !== null;
      show(node, shown);
      if (!shown) return;
      if (seen.phase !== entry.phase) seen = { phase: entry.phase, at: Date.now() };
      node.dataset.phase = entry.phase;
      const open = entry.questions.filter((question) => question.outcome === null).length;
      const elapsed = Date.now() - (entry.since ?? seen.at);
      setText(label, phaseText(entry.phase, open, elapsed));
      setText(time, elapsed >= 2_000 ? duration(elapsed) : "");
    },
  };
}

/** Who answered, when, and what it used: as stored with the run, whatever is chosen now (AGT-05, USE-01). */
function footOf(foot, entry) {
  const { row } = entry;
  show(foot, entry.kind === "answer" && row !== null && row !== undefined);
  if (foot.hidden) return;
  const time = timeTexts(row.created_at);
  const parts = [];
  const note = endedText(entry.status === "failed" ? row.extra?.reason : null) ?? ROW_NOTES[entry.status];
  if (note) parts.push(h("span", { class: "row-note" }, note));
  parts.push(h("time", { datetime: time.iso, title: time.full }, time.short));
  const names = [row.agent, row.model].filter(Boolean).join(" · ");
  if (names !== "") parts.push(h("span", { class: "row-agent" }, names));
  const facts = [...usageFacts(row.usage), contextFact(row.usage)].filter(Boolean);
  for (const { text, full } of facts) parts.push(h("span", { class: "row-usage", title: full }, text));
  if (row.body === null && row.summary) parts.push(h("span", {}, "Too long to show here in full."));
  foot.replaceChildren(...parts);
}

function errorView(app) {
  const title = h("p", { class: "card-title" });
  const detail = h("p", { class: "error-detail" });
  const meta = h("p", { class: "error-meta" });
  const notice = h("p", { class: "control-notice", role: "alert" });
  const button = h("button", { type: "button", class: "quiet" }, "Dismiss");
  const node = h("li", { class: "entry" }, h("section", { class: "card error", role: "group", "aria-label": "Error" },
    icon("alert"), h("div", { class: "error-text" }, title, detail, meta, notice), button));
  let record = null;
  button.addEventListener("click", () => app.acknowledge(record));
  return {
    node,
    update(entry) {
      record = entry.record;
      node.dataset.code = record.code;
      setText(title, textOfCode(record.code));
      setText(detail, endedText(entry.reason) ?? detailOf(record) ?? "");
      show(detail, detail.textContent !== "");
      const time = timeTexts(Date.parse(record.occurred_at));
      setText(meta, [time.short, record.retryable ? "you can try again" : null, record.correlation_id || null].filter(Boolean).join(" · "));
      button.disabled = app.pending.has(`error:${record.error_id}`);
      const text = app.notice(`error:${record.error_id}`);
      setText(notice, text ?? "");
      show(notice, text !== null);
    },
  };
}

export { errorView };
