/** What a session is doing, in words (UIX-20). Pure. */

/** A Stop that takes longer than this is said to be slow, in milliseconds. */
export const SLOW_STOP_MS = 4_000;

const PHASES = { starting: "Starting…", running: "Working…", finalizing: "Finishing…" };

/** The phase of a run that is on screen; `elapsedMs` counts since the phase began. */
export function phaseText(phase, openQuestions, elapsedMs) {
  if (phase === "cancelling") return elapsedMs >= SLOW_STOP_MS ? "Still stopping: the agent has not reacted yet and is ended by force after 10 s" : "Stopping…";
  if (phase === "running" && openQuestions > 0) return openQuestions === 1 ? "Waiting for your answer" : `Waiting for your ${openQuestions} answers`;
  return PHASES[phase] ?? "Working…";
}

/** What keeps a session without a live answer from taking a message, or null. */
export function windingText(status, elapsedMs) {
  if (status === "unsettled") return "This session is being recovered after a failure of the storage. It can be read; new messages have to wait.";
  if (status !== "stopping") return null;
  return elapsedMs >= SLOW_STOP_MS
    ? "Stopped. The agent does not end by itself and is ended by force after 10 s; then you can send again."
    : "Stopped. The agent is winding down; you can send again in a moment.";
}

/** Why a queue is held, by its code; null for a code that has no text of its own here. */
export function heldText(code) {
  return HELD[code] ?? null;
}

const HELD = {
  stopped_by_user: "You stopped the run, so nothing starts by itself.",
  session_rotated: "The conversation moved here from another session.",
  backend_unavailable: "The chosen agent or model is not available. Choose another one, then resume.",
  launch_failed: "The next message could not be started.",
  storage_failed: "The next message could not be stored.",
  storage_low: "The server is short of disk space.",
  runtime_stale: "The agent changed since it was loaded.",
  compression_recovery_required: "This session is being recovered.",
  liveness_unreadable: "The server cannot tell whether a run is still active.",
  attachment_unknown: "An attachment of the next message no longer exists.",
  attachments_unsupported: "The chosen agent takes no attachments.",
};

/** Why the server ended a run, by the reason of its end; null for one without a text of its own. */
export function endedText(reason) {
  return Object.hasOwn(ENDED, reason ?? "") ? ENDED[reason] : null;
}

const ENDED = {
  run_max: "The run was ended: it took longer than this server allows.",
  agent_silent: "The run was ended: the agent had produced nothing for too long.",
  journal_full: "The run was ended: it had produced more than the server keeps of one run.",
  storage_failed: "The run was ended: what it produced could not be stored.",
  worker_lost: "The run was ended: the server lost the agent at work.",
  shutdown: "The server was stopped while the agent worked.",
};
