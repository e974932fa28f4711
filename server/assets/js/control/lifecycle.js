/** Renames, archives and deletes a session (LIFE-01, LIFE-03). */

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

  /** Gives a session another title. */
  rename(sessionId, title) {
    this.#change(sessionId, { title }, "Not renamed");
  }

  /** Puts a session into the archive, or takes it out. */
  archive(sessionId, archived) {
    this.#change(sessionId, { archived }, archived ? "Not archived" : "Not taken out");
  }

  /** What is shown follows from the entry of the session that the server pushes. */
  #change(sessionId, change, failed) {
    const { connection, pending, notice, changed } = this.#host;
    if (pending.has("change")) return;
    pending.add("change");
    notice("session", null);
    const fields = { session_id: sessionId, title: null, archived: null, agent: null, model: null, shared: null, idempotency_key: randomId(), ...change };
    connection.request("update_session", fields, (result) => {
      pending.delete("change");
      if (result.outcome !== "done") notice("session", `${failed}: ${textOfOutcome(result)}`);
      changed();
    }, () => pending.delete("change"));
    changed();
  }
}
