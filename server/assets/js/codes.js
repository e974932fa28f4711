/** Registered text of each code a person can meet, and what they can do (UIX-6). */

const TEXTS = {
  unknown_action: "The server does not know this action.",
  handler_error: "The action failed.",
  storage_failed: "The storage failed.",
  turn_failed: "The run failed.",
  process_restarted: "The server restarted while this was running.",
  invalid_request: "The server did not accept this input.",
  not_permitted: "Your role does not allow this.",
  session_unknown: "This session no longer exists.",
  session_read_only: "You can read this session but not change it.",
  cursor_unavailable: "This part of the history is no longer available.",
  upgrade_required: "The answer is too large for this page.",
  response_too_large: "The answer is too large to be shown.",
  server_stopping: "The server is stopping. Try again shortly.",
  idempotency_conflict: "This was already sent with other content.",
  session_busy: "The agent is still working in this session. Stop it or wait for it to end.",
  regeneration_stale: "The conversation changed meanwhile. Look at it again, then repeat this.",
  regeneration_unsupported: "This agent cannot go back in a conversation.",
  session_rotated: "This conversation continues in another session.",
  runtime_stale: "The agent changed since it was loaded. Send again.",
  compression_recovery_required: "This session is being recovered. Try again shortly.",
  liveness_unreadable: "The server cannot tell whether a run is still active. Try again shortly.",
  queue_full: "Too many messages are waiting.",
  stopped_by_user: "The queue is held because the run was stopped.",
  gone: "This question is no longer open.",
  backend_unavailable: "The chosen agent is not available on this server.",
  remote_refused: "The agent's backend refused to stop. The run goes on.",
  launch_failed: "The run could not be started. Nothing was lost; send again.",
  server_busy: "Too many runs are active. Try again shortly.",
  storage_low: "The server is short of disk space and starts no new run.",
  rate_limited: "Too many requests. Wait a moment.",
  not_running: "The run takes no steer any more.",
  stream_dead: "The run cannot be reached any more.",
  no_agent: "No agent is at work in this run yet. Try again in a moment.",
  unsupported: "This agent cannot be steered.",
  steer_full: "Too many steers wait to be read.",
  steer_error: "The steer could not be handed over. Try again.",
  limit_reached: "Too many sessions are open here.",
  connection_lost: "The connection to the server was lost.",
};

/** Codes whose wire message says more than the code: it is registered text too. */
const DETAILED = ["turn_failed", "handler_error", "storage_failed"];

const GENERIC = "Something went wrong on the server.";

/** Text for a code; an unknown code gets a generic one, never the wire message. */
export function textOfCode(code) {
  return TEXTS[code] ?? GENERIC;
}

/** A second line for a record whose registered message is more precise than its code. */
export function detailOf(record) {
  const text = textOfCode(record.code);
  return DETAILED.includes(record.code) && record.message !== text ? record.message : null;
}

/** Text of a refusal frame, with the limit or the wait it names. */
export function textOfRefusal(data) {
  let text = textOfCode(data?.code ?? data?.reason);
  if (data?.limit) text += ` Limit: ${data.limit.max.toLocaleString("en")} (${data.limit.name}).`;
  if (data?.retry_after_ms) text += ` Wait ${Math.ceil(data.retry_after_ms / 1000)} s.`;
  return text;
}

/** Text for a request that did not end as done. */
export function textOfOutcome({ outcome, data }) {
  if (outcome === "refused" || outcome === "failed") return textOfRefusal(data);
  if (outcome === "unknown") return "The server gave no answer, so the outcome is not known.";
  return "The server did not answer. Check the connection and try again.";
}
