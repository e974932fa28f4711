/**
 * Steers of the runs of one session (STR-02, STR-04, STR-07; state table 5.8 of run-state.md). Pure.
 * Only the window that sent a steer knows its text; returned ones come with theirs.
 */

const STEERS_MAX = 64;

export class Steers {
  constructor() {
    /** `{key, runId, steerId, text, state, order}`; state sending, unknown, accepted, consumed, returned, or lost: its settlement was missed. */
    this.list = [];
    /** Raised by every change. */
    this.version = 0;
  }

  /** Steers of a run, oldest first. */
  ofRun(runId) {
    return this.list.filter((steer) => steer.runId === runId);
  }

  /** Steers of ended runs that no agent read, as far as is known, and nobody dealt with yet. */
  get returned() {
    return this.list.filter((steer) => ["returned", "lost"].includes(steer.state) && steer.text !== null);
  }

  submit(localId, runId, text, order) {
    this.#add({ key: localId, runId, steerId: null, text, state: "sending", order });
  }

  /** The run holds the steer. Its settlement may have come first. */
  accepted(localId, steerId) {
    const own = this.list.find((steer) => steer.key === localId);
    const known = this.list.find((steer) => steer.steerId === steerId);
    if (!own) return;
    if (known) this.list = this.list.filter((steer) => steer !== known);
    Object.assign(own, { steerId, state: known?.state ?? "accepted" });
    this.version += 1;
  }

  unknown(localId) {
    const own = this.list.find((steer) => steer.key === localId);
    if (own) own.state = "unknown";
    this.version += 1;
  }

  /** A steer that had no effect, or that a person dealt with. */
  drop(key) {
    this.list = this.list.filter((steer) => steer.key !== key);
    this.version += 1;
  }

  settled(runId, steerId, outcome, order) {
    const known = this.list.find((steer) => steer.steerId === steerId);
    if (known) known.state = outcome;
    else this.#add({ key: steerId, runId, steerId, text: null, state: outcome, order });
    this.version += 1;
  }

  /** Takes the steers of a `stream_state`. */
  state(runId, steers, order) {
    for (const { steer_id: steerId, outcome } of steers ?? []) this.settled(runId, steerId, outcome, order);
  }

  /** Takes what a terminal gives back. */
  terminal(runId, returned) {
    for (const { steer_id: steerId, text } of returned ?? []) {
      this.settled(runId, steerId, "returned", Number.MAX_SAFE_INTEGER);
      this.list.find((steer) => steer.steerId === steerId).text = text;
    }
  }

  /** The record of a run replaces its scene: what came back, or was never settled here, is still to be dealt with. */
  left(runId) {
    this.list = this.list.filter((steer) => steer.runId !== runId || (steer.state !== "consumed" && steer.text !== null));
    for (const steer of this.ofRun(runId)) if (steer.state !== "returned") steer.state = "lost";
    this.version += 1;
  }

  #add(steer) {
    this.list.push(steer);
    if (this.list.length > STEERS_MAX) this.list.shift();
    this.version += 1;
  }
}
