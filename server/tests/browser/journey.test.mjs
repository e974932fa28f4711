/** A person's way through the page, against the server of `RUNWARDEN_URL` or the mock. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connected, idle, lastAnswer, launch, newSession, openTab, openWindow, partsOf, send, shot, stopButton, target, transcriptOf } from "./support.mjs";

let browser;
let server;
let context;
let page;

before(async () => {
  browser = await launch();
  server = await target();
  ({ context, page } = await openWindow(browser, server.url));
  await connected(page);
});

after(async () => {
  await browser?.close();
  server?.close();
});

// PRIN-9 [browser]: the token of the fragment is used once and is gone from the address.
test("the page signs in with the token of the address and removes it", async () => {
  assert.ok(!page.url().includes("token"), page.url());
  await page.reload();
  await connected(page);
  assert.deepEqual(page.problems, []);
});

test("a message is answered with streamed text", async () => {
  await newSession(page);
  await shot(page, "new-session");
  await send(page, "Hello from the browser test");
  await page.locator(".entry.user", { hasText: "Hello from the browser test" }).waitFor();
  await lastAnswer(page).locator(".prose").first().waitFor();
  assert.deepEqual(await kindsOf(page), ["user", "answer"]);
  await shot(page, "streaming");
  await idle(page);
  assert.deepEqual(await kindsOf(page), ["user", "answer"]);
  assert.notEqual((await lastAnswer(page).locator(".prose").first().textContent()).trim(), "");
  await shot(page, "answered");
  assert.deepEqual(page.problems, []);
});

// ATT-23 [browser], ECHO-04 [browser]: settling and reloading add no item and lose none, interim text included.
test("a tool call shows one card, live, settled and after a reload", async () => {
  await newSession(page);
  await send(page, "/tool");
  await page.locator(".card.tool").first().waitFor();
  await shot(page, "tool");
  await idle(page);
  const settled = await transcriptOf(page);
  assert.ok(settled.join().includes("answer"));
  const cards = await page.locator(".card.tool").count();
  assert.ok(cards >= 1);
  const parts = await partsOf(page);
  assert.ok(parts.includes("interim:"), parts.join());
  await page.reload();
  await connected(page);
  await lastAnswer(page).waitFor();
  await idle(page);
  assert.deepEqual(await transcriptOf(page), settled);
  assert.equal(await page.locator(".card.tool").count(), cards);
  assert.deepEqual(await partsOf(page), parts);
});

// ATT-24 [browser]: after a reload during a run its items stand in row order.
test("a reload between the parts of an answer keeps their order", async () => {
  await newSession(page);
  await send(page, "/tool");
  await page.locator(".card.tool").first().waitFor();
  await page.reload();
  await page.locator(".card.tool").first().waitFor();
  const live = await partsOf(page);
  await idle(page);
  const settled = await partsOf(page);
  assert.ok(live.length >= 2 && settled.length > 2, settled.join());
  assert.deepEqual(settled.slice(0, live.length), live);
  assert.match(live[0], /^thinking/);
});

// WEB-18 [browser]: Stop is offered while the run may be stopped, and never again after its terminal.
test("Stop during a slow answer ends it, and what was shown stays", async () => {
  await newSession(page);
  assert.equal(await stopButton(page).isVisible(), false);
  await send(page, "/slow");
  await stopButton(page).waitFor();
  const grown = await growth(page);
  assert.ok(grown, "text is seen to grow");
  const shown = await lastAnswer(page).locator(".prose").first().textContent();
  await stopButton(page).click();
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor({ timeout: 15_000 });
  await shot(page, "stopped");
  await idle(page);
  assert.ok((await lastAnswer(page).locator(".prose").first().textContent()).startsWith(shown));
  assert.deepEqual(await kindsOf(page), ["user", "answer", "divider"]);
  assert.equal(await stopButton(page).isVisible(), false);
  await send(page, "And on we go");
  await page.locator(".entry.user", { hasText: "And on we go" }).waitFor();
  await idle(page);
});

test("a reload during a run finds the same transcript and goes on", async () => {
  await newSession(page);
  await send(page, "/slow");
  assert.ok(await growth(page));
  const before = await lastAnswer(page).locator(".prose").first().textContent();
  await page.reload();
  await lastAnswer(page).locator(".prose").first().waitFor();
  await page.waitForFunction((text) => document.querySelector(".entry.answer:last-child .prose")?.textContent.startsWith(text), before);
  assert.equal(await page.locator(".entry.user").count(), 1);
  assert.ok(await growth(page), "it still grows");
  await shot(page, "reloaded-during-run");
  await stopButton(page).click();
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor({ timeout: 15_000 });
  assert.ok((await lastAnswer(page).locator(".prose").first().textContent()).startsWith(before));
});

test("Stop on an agent that ignores it frees the session within 12 s", async () => {
  await newSession(page);
  await send(page, "/wedge");
  await stopButton(page).waitFor();
  await lastAnswer(page).waitFor();
  const began = Date.now();
  await stopButton(page).click();
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor();
  await shot(page, "wedge");
  await page.locator(".composer textarea").fill("Still there?");
  await page.locator('.composer button[data-mode="start"]:enabled').waitFor({ timeout: 12_000 });
  assert.ok(Date.now() - began <= 12_000, `${Date.now() - began} ms`);
  await page.locator(".composer textarea").press("Enter");
  await page.locator(".entry.user", { hasText: "Still there?" }).waitFor();
  await idle(page);
  assert.equal(await page.locator(".control-notice:visible").count(), 0);
});

// LIST-7 [browser], ASK-07 [browser]: a question outlives a window, is answered in one and closes in the other.
test("a question is asked, survives a reload, and closes in both windows when answered in one", async () => {
  await newSession(page);
  await send(page, "/ask");
  await page.locator('.question[data-outcome="open"]').waitFor();
  await shot(page, "question");
  const other = await openTab(context, page.url());
  await other.locator('.question[data-outcome="open"]').waitFor();
  await other.evaluate(watchOutcomes);
  await page.reload();
  await page.locator('.question[data-outcome="open"]').waitFor();
  await answer(page);
  await page.locator('.question[data-outcome="open"]').waitFor({ state: "detached" });
  await other.locator('.question[data-outcome="open"]').waitFor({ state: "detached" });
  await Promise.all([idle(page), idle(other)]);
  assert.ok((await other.evaluate(() => window.outcomes)).includes("answered"), "it closed when it was answered, not with its run");
  await other.close();
});

test("a second tab sees the same, live and settled", async () => {
  await newSession(page);
  await send(page, "/slow");
  assert.ok(await growth(page));
  const other = await openTab(context, page.url());
  assert.ok(await growth(other));
  assert.deepEqual(await kindsOf(other), ["user", "answer"]);
  await stopButton(other).click();
  await Promise.all([page, other].map((tab) => tab.locator('.entry.divider[data-marker="cancelled"]').waitFor({ timeout: 15_000 })));
  await Promise.all([idle(page), idle(other)]);
  assert.deepEqual(await transcriptOf(other), await transcriptOf(page));
  await send(other, "From the other tab");
  await page.locator(".entry.user", { hasText: "From the other tab" }).waitFor();
  await Promise.all([idle(page), idle(other)]);
  assert.deepEqual(await transcriptOf(other), await transcriptOf(page));
  assert.deepEqual([...page.problems, ...other.problems], []);
  await other.close();
});

// UIX-16 [browser]: the error of a failed run is a card at its place, also after a reload, until it is dismissed.
test("a failed run shows its error card, also after a reload, until it is dismissed", async () => {
  await newSession(page);
  await send(page, "/fail");
  await page.locator(".card.error").waitFor();
  await idle(page);
  await shot(page, "failed");
  assert.equal(await page.locator(".toast").count(), 0, "the failed run on screen makes no toast");
  await page.reload();
  await page.locator(".card.error").waitFor();
  await page.locator(".card.error").getByRole("button", { name: "Dismiss" }).click();
  await page.locator(".card.error").waitFor({ state: "detached" });
  await page.reload();
  await page.locator(".entry.user").waitFor();
  assert.equal(await page.locator(".card.error").count(), 0);
});

test("a flood of text arrives whole and leaves the page usable", async () => {
  await newSession(page);
  await send(page, "/flood");
  await lastAnswer(page).waitFor();
  await page.locator(".composer textarea").fill("typed meanwhile");
  await idle(page, 60_000);
  const settled = await transcriptOf(page);
  assert.equal(await page.locator(".composer textarea").inputValue(), "typed meanwhile");
  await page.reload();
  await lastAnswer(page).waitFor();
  assert.deepEqual(await transcriptOf(page), settled);
  assert.deepEqual(page.problems, []);
  await page.locator(".composer textarea").fill("");
});

test("the page reads well in dark and on a narrow screen", async () => {
  const dark = await openWindow(browser, server.url, { colorScheme: "dark" });
  const narrow = await openWindow(browser, server.url, { viewport: { width: 390, height: 800 } });
  for (const { page: tab } of [dark, narrow]) {
    await connected(tab);
    await showSession(tab, "Hello from the browser test");
    await lastAnswer(tab).waitFor();
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    assert.equal(wide, false, "nothing sticks out sideways");
  }
  await shot(dark.page, "dark");
  await shot(narrow.page, "narrow");
  await narrow.page.getByRole("button", { name: "Sessions" }).click();
  await narrow.page.locator(".session").first().waitFor();
  await narrow.page.evaluate(() => Promise.all(document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished)));
  await shot(narrow.page, "drawer");
  await narrow.page.keyboard.press("Escape");
  await narrow.page.locator(".session").first().waitFor({ state: "hidden" });
  await dark.context.close();
  await narrow.context.close();
});

/** Chooses a session of the list, which is a drawer on a narrow screen. */
async function showSession(tab, title) {
  const menu = tab.getByRole("button", { name: "Sessions" });
  if (await menu.isVisible()) await menu.click();
  await tab.locator(".session", { hasText: title }).first().click();
  await tab.getByRole("heading", { name: title }).waitFor();
}

function kindsOf(tab) {
  return tab.locator(".entries > .entry").evaluateAll((nodes) => nodes.map((node) => node.classList[1]));
}

/** Whether the text of the last answer is seen at two lengths. */
async function growth(tab) {
  await lastAnswer(tab).locator(".prose").first().waitFor();
  const length = (await lastAnswer(tab).locator(".prose").first().textContent()).length;
  await tab.waitForFunction((known) => document.querySelector(".entry.answer:last-child .prose")?.textContent.length > known, length);
  return true;
}

async function answer(tab) {
  const card = tab.locator('.question[data-outcome="open"]');
  const options = card.locator(".question-options button");
  if ((await options.count()) > 0) return options.first().click();
  await card.getByRole("textbox").fill("yes");
  return card.getByRole("button", { name: "Answer" }).click();
}

/** Runs in the page: notes every outcome a question card showed. */
function watchOutcomes() {
  window.outcomes = [];
  const look = () => {
    for (const node of document.querySelectorAll(".question")) window.outcomes.push(node.dataset.outcome);
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
}
