/**
 * Rewrites the conversation on screen: edit, regenerate, retry, undo, clear and truncate, at the revision
 * the person saw (LIFE-04, LIFE-05).
 */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

/** What each operation did not do, for the notice of a refusal. */
const UNDONE = {
  edit: "Not edited", regenerate: "Not regenerated", retry: "Not tried again",
  undo: "Not undone", clear: "Not cleared", truncate: "Not removed",
};

export class Rewrites {
  #host;

  /** `host` as in questions.js, with `perform(projection, effects)`, `drafts` and `live()`. */
  constructor(host) {
    this.#host = host;
  }

  /** Whether the server would take one: what is shown is settled, and nothing runs (LIFE-03). */
  get ready() {
    const projection = this.#host.current();
    return this.#host.live() && projection !== null && projection.maySend && !this.#host.pending.has("rewrite");
  }

  /** Carries out an operation; `ended(done)` is called once with whether it took effect. */
  run(op, { messageId = null, text = null, draft = null } = {}, ended = () => {}) {
    const { connection, pending, notice, changed, current, perform, drafts } = this.#host;
    const projection = current();
    if (!this.ready) return;
    pending.add("rewrite");
    notice("session", null);
    const fields = {
      session_id: projection.sessionId, op, message_id: messageId, text,
      expected_revision: projection.history.revision, idempotency_key: randomId(),
    };
    connection.request("rewrite", fields, (result) => {
      pending.delete("rewrite");
      const done = result.outcome === "done";
      if (done && result.type === "message_ack") perform(projection, projection.rewritten(result.data));
      else perform(projection, projection.history.invalidate());
      if (done && draft !== null) drafts.giveBack(projection.sessionId, draft);
      if (!done && current() === projection) notice("session", `${UNDONE[op]}: ${textOfOutcome(result)}`);
      ended(done);
      changed();
    }, () => pending.delete("rewrite"));
    changed();
  }
}
