/** The page on a bad wire, against the server of `RUNWARDEN_URL` or the mock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, idle, lastAnswer, openTab, partsOf, send, shot, stopButton, transcriptOf, until } from "./support.mjs";
import { context, page, server, useTab, wire } from "./tab.mjs";
import { intercept } from "./wire.mjs";

useTab({ intercepts: true });

test("a cut during a run keeps the view, and the reconnected page goes on with it", async () => {
  await send(page, "/slow");
  const before = await grown(page);
  await wire.cut();
  await page.locator('.badge[data-condition="reconnecting"]').waitFor();
  await shot(page, "reconnecting");
  assert.ok((await proseOf(page)).startsWith(before), "the view stays");
  await connected(page);
  await page.waitForFunction((known) => document.querySelector(".entry.answer:last-child .prose").textContent.length > known, before.length + 200);
  assert.ok((await proseOf(page)).startsWith(before));
  await stopButton(page).click();
  await ended(page);
  assert.equal(await page.locator(".entry.user").count(), 1);
  assert.equal(await page.locator(".entry.answer").count(), 1);
});

// ATT-22 [browser]: the outcome of a run that ended while the page was away comes from the server.
test("a run that ends while the page is away is settled from the resume", async () => {
  await send(page, "A short question");
  await lastAnswer(page).waitFor();
  wire.refusing = true;
  await wire.cut();
  const other = await openTab(context, page.url());
  await lastAnswer(other).waitFor();
  await idle(other);
  wire.refusing = false;
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await connected(page, 40_000);
  await idle(page);
  assert.deepEqual(await transcriptOf(page), await transcriptOf(other));
  await other.close();
});

test("an acknowledgement lost on the way leaves the message there exactly once", async () => {
  wire.down = (frame) => (frame.type === "message_ack" ? null : frame);
  await send(page, "Only once, please");
  await page.locator(".entry.user").waitFor();
  await lastAnswer(page).waitFor();
  wire.down = (frame) => frame;
  await wire.cut();
  await connected(page, 20_000);
  await idle(page);
  assert.equal(await page.locator(".entry.user").count(), 1);
  assert.ok(wire.count("get_request_result") >= 1);
  assert.equal(wire.count("send_message"), 1);
});

test("a message the server never got is sent again with its own key", async () => {
  wire.up = (action) => (action.action === "send_message" ? null : action);
  await send(page, "Sent into the void");
  await page.locator(".entry.user").waitFor();
  await page.waitForTimeout(300);
  wire.up = (action) => action;
  await wire.cut();
  await connected(page, 20_000);
  await lastAnswer(page).waitFor();
  await idle(page);
  assert.equal(await page.locator(".entry.user").count(), 1);
  const keys = wire.sent.filter((each) => each.action === "send_message").map((each) => each.idempotency_key);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

// UIX-18 [browser]: a refusal shows at the composer and gives the text back, without toast or card.
test("a refused message comes back as draft with its reason", async () => {
  wire.up = (action) => {
    if (action.action !== "send_message") return action;
    wire.push("message_refused", { request_id: action.request_id, action: "send_message", session_id: action.session_id, code: "session_busy", run_id: "run_x", phase: "running", attachable: true, continuation_session_id: null, limit: null, retry_after_ms: null });
    return null;
  };
  await send(page, "Not now");
  await page.locator(".composer > .control-notice", { hasText: "still working" }).waitFor();
  assert.equal(await page.locator(".composer textarea").inputValue(), "Not now");
  assert.equal(await page.locator(".entry.user").count(), 0);
  assert.equal(await page.locator(".toast, .card.error").count(), 0);
  await shot(page, "refused");
  await page.locator(".composer textarea").fill("");
});

// STOP-19 [browser]: Stop names the run of the session on screen; refused, the run shows as running and the failure shows.
test("a failed Stop leaves the run shown as running, with the failure", async () => {
  await send(page, "/slow");
  await grown(page);
  const ack = [];
  wire.up = (action) => {
    if (action.action !== "stop_run") return action;
    ack.push(action);
    wire.push("stop_result", { request_id: action.request_id, session_id: action.session_id, run_id: action.run_id, outcome: "refused", status: null, code: "remote_refused" });
    return null;
  };
  await stopButton(page).click();
  await page.locator(".composer > .control-notice", { hasText: "Not stopped" }).waitFor();
  assert.ok(page.url().includes(ack[0].session_id));
  assert.match(await stopButton(page).textContent(), /Stop$/);
  assert.equal(await page.locator('.phase[data-phase="running"]').count(), 1);
  await shot(page, "stop-refused");
  wire.up = (action) => action;
  await stopButton(page).click();
  await ended(page);
  const stops = wire.sent.filter((each) => each.action === "stop_run").map((each) => each.run_id);
  assert.equal(stops[0], stops[1]);
});

// UIX-20 [browser], OBS-08 [browser], WEB-18 [browser]: stopping is shown until the terminal, never a cancelled run before it.
test("a stopped run shows as stopping until its terminal arrives", async () => {
  await send(page, "/slow");
  await grown(page);
  await page.evaluate(watchStopping);
  const held = [];
  wire.down = (frame) => {
    if (frame.type === "stop_result" || frame.type === "run_status") return frame;
    held.push(frame);
    return null;
  };
  await stopButton(page).click();
  await page.locator('.phase[data-phase="cancelling"]').waitFor();
  await stopButton(page).filter({ hasText: "Stopping…" }).waitFor();
  await until(() => held.some((frame) => frame.type === "stream_terminal"), "the terminal is held back");
  assert.equal(await page.locator(".entry.divider").count(), 0);
  await shot(page, "stopping");
  wire.down = (frame) => frame;
  for (const { type, data } of held) wire.push(type, data);
  await ended(page);
  const seen = await page.evaluate(() => window.seenStopping);
  assert.ok(seen.stopping && !seen.cancelledWhileStopping, "cancelled was not shown with it");
});

// ATT-20 [browser], ATT-21 [browser]: frames act on their session and run only, and nothing follows a run's terminal.
test("frames of another session or of an ended run change nothing", async () => {
  let last = null;
  wire.down = (frame) => {
    if (frame.type === "stream_text") last = frame.data;
    return frame;
  };
  await send(page, "Say something");
  await lastAnswer(page).locator(".prose").first().waitFor();
  await idle(page);
  await page.locator(".composer textarea").fill("x");
  await page.locator(".composer button[type=submit]:enabled").waitFor();
  const settled = await transcriptOf(page);
  wire.push("stream_text", { ...last, stream_seq: last.stream_seq + 100, base_seq: last.stream_seq, text: "LATE" });
  wire.push("run_status", { session_id: last.session_id, run_id: last.entity_id, phase: "running", since: Date.now() });
  wire.push("stream_text", { ...last, session_id: "another", entity_id: "run_other", base_seq: 0, stream_seq: 1, text: "FOREIGN" });
  await page.waitForTimeout(300);
  assert.deepEqual(await transcriptOf(page), settled);
  assert.equal(await stopButton(page).isVisible(), false);
});

// SES-49 [browser]: live items keep their order when a frame is lost and the state is fetched.
test("a lost frame is noticed and the state fetched with the known seq", async () => {
  // The second one is lost whatever it holds: on a busy machine few texts come in frames of their own.
  let numbered = 0;
  wire.down = (frame) => {
    const isNumbered = ["stream_text", "stream_update", "stream_note"].includes(frame.type);
    numbered += Number(isNumbered);
    return isNumbered && numbered === 2 ? null : frame;
  };
  await send(page, "/tool");
  // A window that opens its session while the run starts asks once more, knowing nothing.
  const asks = () => wire.sent.filter((each) => each.action === "get_stream" && each.known_seq !== null);
  await until(() => asks().length > 0, "the loss is noticed");
  await page.locator(".card.tool").first().waitFor();
  const live = await partsOf(page);
  const asked = asks();
  assert.equal(asked.length, 1, JSON.stringify(asked));
  assert.ok(asked[0].known_seq > 0);
  await idle(page);
  assert.deepEqual((await partsOf(page)).slice(0, live.length), live);
  const other = await openTab(context, page.url());
  await lastAnswer(other).waitFor();
  assert.deepEqual(await transcriptOf(other), await transcriptOf(page));
  await other.close();
});

// CTX-05 [browser]: a prompt stands before its answer, also in a window that reads it late.
test("a message of another window stands before its answer, however late it is read", async () => {
  await send(page, "First message");
  await lastAnswer(page).waitFor();
  await idle(page);
  const other = await openTab(context, page.url());
  await lastAnswer(other).waitFor();
  await page.evaluate(watchOrder);
  const late = [];
  wire.down = (frame) => {
    if (frame.type !== "history_page") return frame;
    late.push(new Promise((pushed) => setTimeout(() => pushed(wire.push(frame.type, frame.data)), 600)));
    return null;
  };
  await send(other, "Second message");
  await page.locator(".entry.user", { hasText: "Second message" }).waitFor();
  await idle(page);
  await page.locator(".entry.answer").nth(1).waitFor();
  await Promise.all(late);
  assert.deepEqual(await page.evaluate(() => window.orphans), []);
  wire.down = (frame) => frame;
  await Promise.all(late);
  await other.close();
});

// OBS-07 [browser]: only its answer ends a submit, and the server's idle row is believed.
test("a submit stays in flight until its answer, and an idle session may be sent to", async () => {
  let item = null;
  let held = null;
  wire.down = (frame) => {
    if (frame.type === "session_item") item = frame.data;
    if (frame.type !== "message_ack") return frame;
    held = frame;
    return null;
  };
  await send(page, "/slow");
  await stopButton(page).waitFor();
  await lastAnswer(page).waitFor();
  const idleItem = (raise) => ({ ...item, item: { ...item.item, status: "idle", run: null, session_revision: item.item.session_revision + raise } });
  wire.down = (frame) => (frame.type === "session_item" ? null : frame);
  wire.push("session_item", idleItem(1));
  await page.locator(".composer textarea").fill("next");
  await page.waitForTimeout(300);
  assert.equal(await page.locator(".composer button[type=submit]:enabled").count(), 0, "unanswered: still in flight");
  wire.push(held.type, held.data);
  await stopButton(page).waitFor();
  wire.push("session_item", idleItem(2));
  await page.locator(".composer button[type=submit]:enabled").waitFor();
  await page.locator(".composer textarea").fill("");
});

// ATT-25 [browser]: rows that are already shown add nothing, and nothing is fetched for them.
test("replayed frames add nothing", async () => {
  const seen = [];
  wire.down = (frame) => {
    if (typeof frame.data.stream_seq === "number" && frame.type.startsWith("stream_")) seen.push(frame);
    return frame;
  };
  await send(page, "/ask");
  await page.locator('.question[data-outcome="open"]').waitFor();
  await page.waitForTimeout(200);
  const shown = await transcriptOf(page);
  const fetched = wire.count("get_stream");
  for (const { type, data } of seen.slice()) wire.push(type, data);
  await page.waitForTimeout(300);
  assert.ok(seen.length > 3);
  assert.deepEqual(await transcriptOf(page), shown);
  assert.equal(wire.count("get_stream"), fetched);
  await stopButton(page).click();
  await ended(page);
});

// WEB-11 [browser]: many deltas in one frame are one update of the page.
test("a burst of deltas draws once per animation frame", async () => {
  let last = null;
  wire.down = (frame) => {
    if (typeof frame.data.stream_seq === "number") last = frame.data;
    return frame;
  };
  await send(page, "/ask");
  await page.locator('.question[data-outcome="open"]').waitFor();
  await page.waitForTimeout(200);
  await page.evaluate(countDraws);
  let seq = last.stream_seq;
  for (let n = 0; n < 400; n += 1) {
    seq += 1;
    wire.push("stream_text", { session_id: last.session_id, entity_id: last.entity_id, item_id: "burst", item_kind: "text", base_seq: n === 0 ? 0 : seq - 1, stream_seq: seq, replay_degraded: false, text: `word${n} ` });
  }
  await page.locator(".prose", { hasText: "word399" }).waitFor();
  const { draws, frames } = await page.evaluate(() => window.counted);
  assert.ok(draws >= 1 && draws <= frames + 1, `${draws} draws in ${frames} frames`);
});

test("sync_required asks for the named stream, once per frame", async () => {
  await send(page, "/slow");
  await grown(page);
  const { session_id: sessionId } = wire.sent.find((each) => each.action === "send_message");
  const runId = await runIdOf(wire, page);
  const before = wire.count("get_stream");
  wire.push("sync_required", { session_id: sessionId, entity_id: runId, reason: "gap" });
  await page.waitForTimeout(400);
  assert.equal(wire.count("get_stream"), before + 1);
  await grown(page);
});

// OBS-03 [browser]: fifteen seconds without frame or heartbeat show as degraded, and a frame ends that.
test("silence shows as degraded observation", async () => {
  wire.silent = true;
  const began = Date.now();
  await page.locator('.badge[data-condition="degraded"]').waitFor({ timeout: 22_000 });
  assert.ok(Date.now() - began >= 9_000, "not before the silence is long enough");
  await shot(page, "degraded");
  wire.silent = false;
  wire.push("heartbeat", { server_time: Date.now() });
  await connected(page);
});

// RCN-13 [browser], ATT-26 [browser]: one connection, visible or hidden.
test("a hidden page keeps its one connection and what arrives on it", async () => {
  await send(page, "/slow");
  const shown = await grown(page);
  await setHidden(page, true);
  await wire.cut();
  await page.locator('.badge:not([data-condition="connected"])').waitFor();
  await connected(page, 20_000);
  assert.equal(wire.open, 1);
  await setHidden(page, false);
  assert.ok((await grown(page)).startsWith(shown));
  assert.equal(wire.open, 1);
  assert.equal(wire.opened, 2);
  await stopButton(page).click();
  await ended(page);
});

// WEB-16 [browser]: a page of another build is told to reload, one that states none is not.
test("a page of another build offers to reload", async () => {
  for (const [build, banners] of [["another-build", 1], [null, 0]]) {
    const tab = await openTab(context, server.url.split("#")[0], async (fresh) => {
      const hand = await intercept(fresh);
      hand.up = (action) => (action.action === "hello" ? { ...action, client_build: build } : action);
    });
    await connected(tab);
    await tab.waitForTimeout(200);
    assert.equal(await tab.locator(".banner:visible").count(), banners);
    await tab.close();
  }
});

// UIX-3 [browser], UIX-15 [browser]: an error shows one card and one toast, the card within 250 ms.
test("errors become cards at once and toast once per kind", async () => {
  await send(page, "Hello");
  await lastAnswer(page).waitFor();
  await idle(page);
  const { session_id: sessionId } = wire.sent.find((each) => each.action === "send_message");
  const times = [];
  for (let n = 0; n < 20; n += 1) {
    const record = errorOf(n, sessionId);
    await page.evaluate(watchCards);
    const began = await page.evaluate(() => performance.now());
    wire.push("operation_error", record);
    await page.locator(".card.error").nth(n).waitFor();
    times.push((await page.evaluate(() => window.cardSeen)) - began);
  }
  times.sort((a, b) => a - b);
  assert.ok(times[18] <= 250, `p95 ${times[18]} ms`);
  assert.equal(await page.locator(".toast").count(), 1);
  assert.equal(await page.getByText("The action failed.").count() >= 20, true);
});

// ASK-06 [browser]: several open questions show and close independently.
test("two questions of a run are independent", async () => {
  await send(page, "/ask");
  await page.locator('.question[data-outcome="open"]').waitFor();
  const { session_id: sessionId } = wire.sent.find((each) => each.action === "send_message");
  const runId = await runIdOf(wire, page);
  const question = { question_id: "q_second", run_id: runId, kind: "approval", question_version: 1, prompt: "May I?", marker: null, options: ["Yes", "No"], multi: false, allow_custom: false, expires_at: Date.now() + 60_000 };
  wire.push("question_asked", { session_id: sessionId, question, session_revision: 1 });
  await page.locator(".question", { hasText: "May I?" }).waitFor();
  assert.equal(await page.locator('.question[data-outcome="open"]').count(), 2);
  wire.push("question_resolved", { request_id: null, session_id: sessionId, question_id: "q_second", outcome: "answered", session_revision: 1 });
  await page.locator('.question[data-outcome="answered"]', { hasText: "May I?" }).waitFor();
  assert.equal(await page.locator('.question[data-outcome="open"]').count(), 1);
  await stopButton(page).click();
  await ended(page);
});

test("a revoked login shows the sign-in form and makes no further attempt", async () => {
  await wire.cut(1008, "unauthorized");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const attempts = wire.opened;
  await page.waitForTimeout(1_500);
  assert.equal(wire.opened, attempts);
});

async function grown(tab) {
  await lastAnswer(tab).locator(".prose").first().waitFor();
  const length = (await proseOf(tab)).length;
  await tab.waitForFunction((known) => document.querySelector(".entry.answer:last-child .prose")?.textContent.length > known, length);
  return proseOf(tab);
}

async function proseOf(tab) {
  return lastAnswer(tab).locator(".prose").first().textContent();
}

async function ended(tab) {
  await tab.locator('.entry.divider[data-marker="cancelled"]').waitFor({ timeout: 15_000 });
  await idle(tab);
}

/** The run a page would stop now, read from the Stop it sends without passing it on. */
async function runIdOf(hand, tab) {
  const { up } = hand;
  let runId = null;
  hand.up = (action) => {
    if (action.action !== "stop_run") return up(action);
    runId = action.run_id;
    hand.push("stop_result", { request_id: action.request_id, session_id: action.session_id, run_id: action.run_id, outcome: "refused", status: null, code: "remote_refused" });
    return null;
  };
  await stopButton(tab).click();
  await tab.locator(".composer > .control-notice").waitFor();
  hand.up = up;
  return runId;
}

function errorOf(n, sessionId) {
  const id = String(n).padStart(32, "0");
  return { error_id: `err_${id}`, request_id: null, scope: "session", code: "handler_error", message: "The command failed.", action: null, session_id: sessionId, operation_id: null, retryable: false, severity: "error", correlation_id: `corr_${id}`, occurred_at: new Date().toISOString() };
}

/** Runs in the page: notes every answer that stood without its prompt before it. */
function watchOrder() {
  window.orphans = [];
  const look = () => {
    for (const node of document.querySelectorAll(".entry.answer")) {
      const before = node.previousElementSibling;
      if (!before?.classList.contains("user")) window.orphans.push(before?.className ?? "nothing");
    }
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
}

/** Runs in the page: counts animation frames, and tasks that changed the transcript. */
function countDraws() {
  window.counted = { draws: 0, frames: 0 };
  const tick = () => {
    window.counted.frames += 1;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new MutationObserver(() => { window.counted.draws += 1; }).observe(document.querySelector(".entries"), { subtree: true, childList: true, characterData: true });
}

/** Runs in the page: notes when the next error card enters the document. */
function watchCards() {
  const known = document.querySelectorAll(".card.error").length;
  const observer = new MutationObserver(() => {
    if (document.querySelectorAll(".card.error").length <= known) return;
    window.cardSeen = performance.now();
    observer.disconnect();
  });
  observer.observe(document.body, { subtree: true, childList: true });
}

async function setHidden(tab, hidden) {
  await tab.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

/** Runs in the page: notes what is on screen until the marker appears. */
function watchStopping() {
  window.seenStopping = { stopping: false, cancelledWhileStopping: false };
  const look = () => {
    const stopping = document.querySelector('.phase[data-phase="cancelling"]:not([hidden])') !== null;
    const cancelled = document.querySelector('.entry.divider[data-marker="cancelled"]') !== null;
    if (stopping) window.seenStopping.stopping = true;
    if (stopping && cancelled) window.seenStopping.cancelledWhileStopping = true;
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
}
