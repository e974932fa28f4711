/** Deletes the session on screen, with everything of it (LIFE-01). */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

export class Lifecycle {
  #host;

  /** `host` as in questions.js, with `removed(sessionId, text)`. */
  constructor(host) {
    this.#host = host;
  }

  /** Deletes a session; a run of it is stopped by the server first. */
  remove(sessionId) {
    const { connection, pending, notice, changed, removed } = this.#host;
    if (pending.has("delete")) return;
    pending.add("delete");
    notice("session", null);
    connection.request("delete_session", { session_id: sessionId, idempotency_key: randomId() }, (result) => {
      pending.delete("delete");
      if (result.outcome === "done") removed(sessionId, null);
      else if (result.data?.code === "session_unknown") removed(sessionId, "This session was deleted.");
      else notice("session", `Not deleted: ${textOfOutcome(result)}`);
      changed();
    }, () => pending.delete("delete"));
    changed();
  }
}
