/** The session list: create, choose, title and status of each. */

import { h, icon, Keyed, setAttribute, setText, show } from "./dom.js";
import { timeTexts } from "./format.js";

const STATUSES = { running: "Running", waiting: "Waiting for you", stopping: "Stopping", errored: "Failed", problem: "Has a problem", unsettled: "Recovering", held: "Queue held" };

export class Sidebar {
  #app;

  /** `problems()` opens the list of errors that belong to no session. */
  constructor(app, { chosen, problems }) {
    this.#app = app;
    const create = h("button", { type: "button", class: "new-session", onclick: () => { app.choose(null); chosen(); } }, icon("plus"), "New session");
    this.list = h("ul", { class: "session-list", role: "list" });
    this.note = h("p", { class: "muted sidebar-note" });
    this.more = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => app.loadMoreSessions() }, "Show more");
    this.archive = h("button", { type: "button", class: "quiet", onclick: () => app.showArchive(!app.sessions.archive) }, icon("archive"), h("span", {}));
    this.problems = h("button", { type: "button", class: "quiet problems", hidden: true, onclick: problems }, icon("alert"), h("span", {}));
    this.signOut = h("button", { type: "button", class: "quiet", onclick: () => app.signOut() }, icon("exit"), "Sign out");
    this.node = h("nav", { class: "sidebar", "aria-label": "Sessions", id: "sidebar" },
      h("div", { class: "brand" }, h("span", { class: "brand-mark", "aria-hidden": "true" }), "Runwarden"),
      create, h("div", { class: "session-scroll" }, this.list, this.note, this.more),
      h("div", { class: "sidebar-foot" }, this.problems, this.archive, this.signOut));
    this.entries = new Keyed(this.list, (entry) => sessionView(entry, (id) => { app.choose(id); chosen(); }));
  }

  update() {
    const { sessions, projection, errors } = this.#app;
    const current = projection?.sessionId ?? null;
    this.entries.update(sessions.items.map((item) => ({ key: item.session_id, item, current: item.session_id === current })));
    setText(this.note, noteOf(sessions));
    show(this.note, this.note.textContent !== "");
    show(this.more, sessions.cursor !== null);
    setText(this.archive.lastChild, sessions.archive ? "Back to the sessions" : "Archive");
    setAttribute(this.archive, "aria-pressed", String(sessions.archive));
    const open = errors.general().length;
    show(this.problems, open > 0 || errors.degraded);
    setText(this.problems.lastChild, errors.degraded ? "Problems (list not loaded)" : `${open} ${open === 1 ? "problem" : "problems"}`);
  }
}

function noteOf(sessions) {
  if (sessions.degraded) return "The list may be out of date.";
  if (!sessions.loaded) return "Loading…";
  if (sessions.items.length > 0) return sessions.archive ? "Archived sessions" : "";
  return sessions.archive ? "The archive is empty." : "No sessions yet.";
}

/** The status a person reads: a run on its way to its end counts as stopping, open errors as one. */
function statusOf(item) {
  if (item.run?.phase === "cancelling") return "stopping";
  if (item.status !== "idle") return item.status;
  return item.queue_held ? "held" : item.open_error_total > 0 ? "problem" : "idle";
}

function sessionView({ item: { session_id: id } }, choose) {
  const title = h("span", { class: "session-title" });
  const status = h("span", { class: "session-status" });
  const queued = h("span", { class: "session-queued" });
  const time = h("time", { class: "session-time" });
  const button = h("button", { type: "button", class: "session", onclick: () => choose(id) },
    title, h("span", { class: "session-line" }, status, queued, time));
  return {
    node: h("li", {}, button),
    update({ item, current }) {
      setText(title, item.title === "" ? "Untitled session" : item.title);
      const shown = statusOf(item);
      setText(status, STATUSES[shown] ?? "");
      setText(queued, item.queue_length > 0 ? `${item.queue_length} queued` : "");
      button.dataset.status = shown;
      const texts = timeTexts(item.activity_at);
      setText(time, texts.short);
      time.dateTime = texts.iso;
      setAttribute(button, "aria-current", current ? "true" : null);
    },
  };
}
