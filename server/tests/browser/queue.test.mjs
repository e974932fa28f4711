/** Messages that wait, against the server of `RUNWARDEN_URL` or the mock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { idle, lastAnswer, openTab, send, shot, stopButton } from "./support.mjs";
import { context, page, useTab } from "./tab.mjs";

useTab();

// STR-21 [browser], UIX-20 [browser]: queue, hold and phase are the same in every window and after a reload; a held queue names its code and goes on when resumed.
test("messages wait their turn in every window, are held by Stop and resumed", async () => {
  await send(page, "/slow");
  await lastAnswer(page).locator(".prose").waitFor();
  const other = await openTab(context, page.url());
  await stopButton(other).waitFor();
  await page.locator(".composer textarea").fill("a draft of this window");
  for (const text of ["First in line", "Second in line", "Third in line"]) await send(page, text);
  for (const tab of [page, other]) await queueOf(tab, ["First in line", "Second in line", "Third in line"]);
  await shot(page, "queue");
  assert.equal(await page.locator(".entry.user").count(), 1, "nothing that waits stands in the transcript");
  await other.getByRole("button", { name: "Remove message 2" }).click();
  await page.getByRole("button", { name: "Take out and edit message 2" }).waitFor();
  for (const tab of [page, other]) await queueOf(tab, ["First in line", "Third in line"]);
  await other.getByRole("button", { name: "Take out and edit message 2" }).click();
  for (const tab of [page, other]) await queueOf(tab, ["First in line"]);
  assert.equal(await other.locator(".composer textarea").inputValue(), "Third in line");
  assert.equal(await page.locator(".composer textarea").inputValue(), "");
  await page.reload();
  await queueOf(page, ["First in line"]);
  await stopButton(page).click();
  for (const tab of [page, other]) await tab.locator('.queue[data-held="stopped_by_user"]', { hasText: "stopped_by_user" }).waitFor();
  await idle(page);
  await shot(page, "held");
  assert.equal(await page.locator(".entry.user").count(), 1, "a held queue starts nothing");
  await other.getByRole("button", { name: "Resume" }).click();
  for (const tab of [page, other]) await tab.locator(".entry.user", { hasText: "First in line" }).waitFor();
  for (const tab of [page, other]) await tab.locator(".queue").waitFor({ state: "hidden" });
  await Promise.all([idle(page), idle(other)]);
  await other.close();
});

/** Waits until these messages wait, in this order. */
async function queueOf(tab, texts) {
  await tab.waitForFunction((wanted) => {
    const shown = [...document.querySelectorAll(".queued:has(button:enabled) .queue-text")].map((node) => node.textContent);
    return JSON.stringify(shown) === JSON.stringify(wanted);
  }, texts);
}
