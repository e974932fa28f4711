/**
 * Sends what a person wrote: a message that starts a run or waits its turn (ADM-17), or a steer of
 * the run on screen (STR-02). What is refused goes back to the composer as draft (UIX-18).
 */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

export class Messages {
  #host;
  #waitUntil = 0;

  /**
   * `host` as in questions.js, with `perform(projection, effects)`, `limits()`, `drafts`, `agents()`,
   * `choose(sessionId)` and `live()`.
   */
  constructor(host) {
    this.#host = host;
    this.creating = false;
  }

  /** What Send does now: start a run, queue a message, or nothing (null). By the server's status, never by a flag of the page alone (WEB-18). */
  get mode() {
    const projection = this.#host.current();
    if (!this.#host.live() || this.creating || performance.now() < this.#waitUntil) return null;
    if (projection === null) return "start";
    if (projection.maySend) return projection.queue.waits ? "queue" : "start";
    return projection.mayQueue ? "queue" : null;
  }

  /** Whether the run on screen takes a steer: its agent does, and it is running. */
  get maySteer() {
    const projection = this.#host.current();
    if (!this.#host.live() || projection === null || projection.run?.phase !== "running" || !projection.mayStop) return false;
    return this.#host.agents().get(projection.facts?.agent)?.capabilities.steer ?? false;
  }

  /** Sends a text. Returns whether it left the composer. */
  send(text) {
    const { current } = this.#host;
    const { mode } = this;
    if (mode === null || !this.#fits(text, "message_bytes_max")) return false;
    if (current() === null) this.#create(text);
    else if (mode === "queue") this.#enqueue(current(), text);
    else this.#submit(current(), text);
    return true;
  }

  /** Steers the run on screen. Returns whether the text left the composer. */
  steer(text) {
    if (!this.maySteer || !this.#fits(text, "steer_bytes_max")) return false;
    const { connection, notice, changed, current } = this.#host;
    const projection = current();
    const localId = randomId();
    const runId = projection.run.run_id;
    notice("composer", null);
    projection.steered(localId, runId, text);
    connection.request("steer_run", { session_id: projection.sessionId, run_id: runId, text }, (result) => {
      if (result.outcome === "done") projection.steers.accepted(localId, result.data.steer_id);
      else {
        projection.steers.drop(localId);
        this.#giveBack(projection.sessionId, text, `Not steered: ${textOfOutcome(result)}`);
      }
      changed();
    }, () => projection.steers.unknown(localId));
    changed();
    return true;
  }

  #fits(text, name) {
    const bytes = new TextEncoder().encode(text).length;
    const max = this.#host.limits()[name];
    if (max === undefined || bytes <= max) return true;
    const what = name === "steer_bytes_max" ? "steer" : "message";
    this.#host.notice("composer", `This ${what} has ${bytes.toLocaleString("en")} bytes; at most ${max.toLocaleString("en")} can be sent.`);
    return false;
  }

  #create(text) {
    const { connection, notice, changed, current, agents, choose } = this.#host;
    this.creating = true;
    notice("composer", null);
    const fields = { title: null, ...agents().next, idempotency_key: randomId() };
    connection.request("create_session", fields, (result) => {
      this.creating = false;
      if (result.outcome === "done") {
        if (current() === null) choose(result.data.session_id);
        if (current()?.sessionId === result.data.session_id) this.#submit(current(), text);
      } else {
        this.#hold(result.data);
        this.#giveBack(null, text, textOfOutcome(result));
      }
      changed();
    });
    changed();
  }

  #submit(projection, text) {
    const { perform, changed } = this.#host;
    const localId = randomId();
    perform(projection, projection.submit({ localId, text, createdAt: Date.now() }));
    this.#request(projection, { localId, text, whenBusy: null }, {
      done: (ack) => projection.acknowledged(localId, ack),
      refused: () => projection.refused(localId),
      unknown: () => projection.submitUnknown(localId),
    });
    changed();
  }

  #enqueue(projection, text) {
    const localId = randomId();
    projection.queue.submit(localId, text);
    this.#request(projection, { localId, text, whenBusy: "queue" }, {
      done: (ack) => projection.enqueued({ localId, text, createdAt: Date.now() }, ack),
      refused: () => projection.queue.drop(localId),
      unknown: () => projection.queue.unknown(localId),
    });
    this.#host.changed();
  }

  #request(projection, { localId, text, whenBusy }, ended) {
    const { connection, notice, changed, perform } = this.#host;
    for (const control of ["composer", "stop", "queue"]) notice(control, null);
    const fields = { session_id: projection.sessionId, text, attachments: null, when_busy: whenBusy, idempotency_key: localId };
    connection.request("send_message", fields, (result) => {
      if (result.outcome === "done") {
        perform(projection, ended.done(result.data));
      } else {
        ended.refused();
        this.#hold(result.data);
        this.#giveBack(projection.sessionId, text, textOfOutcome(result));
      }
      changed();
    }, ended.unknown);
  }

  /** Nothing refused is sent again before the wait the server named is over (RATE-9). */
  #hold(refusal) {
    if (refusal?.retry_after_ms) this.#waitUntil = performance.now() + refusal.retry_after_ms;
  }

  #giveBack(sessionId, text, reason) {
    const { drafts, current, notice } = this.#host;
    drafts.giveBack(sessionId, text);
    if ((current()?.sessionId ?? null) === sessionId) notice("composer", reason);
  }
}
