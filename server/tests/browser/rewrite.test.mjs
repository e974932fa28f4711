/** Rewriting a conversation in two windows, against the server of `RUNWARDEN_URL`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { idle, openTab, send, shot, transcriptOf } from "./support.mjs";
import { context, page, useTab } from "./tab.mjs";

useTab();

/** Waits until both windows show the same messages of the user, these. */
async function prompts(tabs, texts) {
  for (const tab of tabs) {
    await tab.waitForFunction((wanted) => {
      const shown = [...document.querySelectorAll(".entry.user .bubble")].map((node) => node.textContent);
      return JSON.stringify(shown) === JSON.stringify(wanted) && document.querySelector('.entry.answer[data-live="true"]') === null;
    }, texts, { timeout: 20_000 });
  }
  // The card of a failed run comes with the end of the run, which either window may read first.
  let shown = [];
  for (let look = 0; look < 50; look += 1) {
    shown = await Promise.all(tabs.map((tab) => transcriptOf(tab)));
    if (JSON.stringify(shown[0]) === JSON.stringify(shown[1])) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.deepEqual(shown[0], shown[1]);
}

function button(tab, name, nth = -1) {
  const all = tab.locator(".entry-actions").getByRole("button", { name });
  return nth < 0 ? all.last() : all.nth(nth);
}

/** Chooses an entry of the menu of the session on screen. */
async function act(tab, name) {
  await tab.locator(".session-menu > summary").click();
  await tab.locator(".menu-items").getByRole("button", { name }).click();
}

test("messages are edited, regenerated, retried, taken back and cleared, the same in both windows", async () => {
  for (const text of ["one", "two", "/fail three"]) {
    await send(page, text);
    await idle(page);
  }
  const other = await openTab(context, page.url());
  const tabs = [page, other];
  await prompts(tabs, ["one", "two", "/fail three"]);
  await button(page, "Edit", 1).click();
  const editor = page.getByRole("textbox", { name: "Edit message" });
  assert.equal(await editor.inputValue(), "two");
  await page.locator(".message-editor", { hasText: "removes everything after" }).waitFor();
  await shot(page, "edit");
  await editor.press("Escape");
  await editor.waitFor({ state: "detached" });
  await button(page, "Edit", 1).click();
  await editor.fill("another two");
  await editor.press("Enter");
  await prompts(tabs, ["one", "another two"]);
  const before = await other.locator(".entry.answer").count();
  await button(other, "Regenerate").click();
  await idle(other);
  await prompts(tabs, ["one", "another two"]);
  assert.equal(await other.locator(".entry.answer").count(), before);
  await send(page, "/fail again");
  await idle(page);
  await button(other, "Try again").waitFor();
  await button(other, "Try again").click();
  await idle(other);
  await prompts(tabs, ["one", "another two", "/fail again"]);
  await act(page, "Take back the last message");
  await prompts(tabs, ["one", "another two"]);
  assert.equal(await page.locator(".composer textarea").inputValue(), "/fail again");
  await button(other, "Remove what follows", 0).click();
  await prompts(tabs, ["one"]);
  await act(other, "Clear the conversation");
  await other.locator("dialog.confirm").getByRole("button", { name: "Clear" }).click();
  // The card of the failed run stays until somebody has seen it.
  for (const tab of tabs) await tab.waitForFunction(() => document.querySelector(".entry:is(.user, .answer)") === null);
  await page.locator(".composer textarea").fill("");
  await send(page, "afresh");
  await prompts(tabs, ["afresh"]);
  assert.equal(await page.locator(".control-notice:visible").count(), 0);
  await other.close();
});
