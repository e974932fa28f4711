/** Reads the queue of a session, takes messages out of it and ends its hold (LIFE-06, LIFE-07). */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

export class QueueControl {
  #host;
  #drafts;

  /** `host` as in questions.js, with `perform(projection, effects)`; `drafts` are those of the page. */
  constructor(host, drafts) {
    this.#host = host;
    this.#drafts = drafts;
  }

  /** Reads the list, for the open it was asked by. */
  read(projection) {
    const { generation } = projection;
    this.#host.connection.request("list_queue", { session_id: projection.sessionId }, ({ outcome, data }) => {
      if (generation !== projection.generation) return;
      this.#host.perform(projection, outcome === "done" ? projection.queue.page(data) : projection.queue.failed());
      this.#host.changed();
    });
  }

  /** Takes a message out; with `edit` its text goes back to the composer. */
  remove(entry, edit) {
    const { connection, pending, notice, changed, current } = this.#host;
    const projection = current();
    const key = `queued:${entry.message_id}`;
    if (projection === null || pending.has(key)) return;
    pending.add(key);
    notice("queue", null);
    const fields = { session_id: projection.sessionId, message_id: entry.message_id, idempotency_key: randomId() };
    connection.request("remove_queued", fields, (result) => {
      pending.delete(key);
      if (result.outcome === "done") {
        projection.queue.removed(result.data);
        if (edit) this.#drafts.giveBack(projection.sessionId, result.data.text);
      } else {
        notice("queue", result.data?.code === "gone" ? "This message has already left the queue." : textOfOutcome(result));
        this.#host.perform(projection, projection.queue.retry());
      }
      changed();
    }, () => pending.delete(key));
    changed();
  }

  /** Lets a held queue go on. */
  resume() {
    const { connection, pending, notice, changed, current } = this.#host;
    const projection = current();
    if (projection === null || pending.has("resume")) return;
    pending.add("resume");
    notice("queue", null);
    connection.request("resume_queue", { session_id: projection.sessionId, idempotency_key: randomId() }, (result) => {
      pending.delete("resume");
      if (result.outcome === "done") projection.queue.resumed();
      else notice("queue", `Not resumed: ${textOfOutcome(result)}`);
      changed();
    }, () => pending.delete("resume"));
    changed();
  }
}
