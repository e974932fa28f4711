/** Deleting a session in two windows, against the server of `RUNWARDEN_URL`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, idle, lastAnswer, openTab, send, shot, stopButton } from "./support.mjs";
import { context, page, useTab } from "./tab.mjs";

useTab();

/** Chooses an entry of the menu of the session on screen. */
async function act(tab, name) {
  await tab.locator(".session-menu > summary").click();
  await tab.locator(".menu-items").getByRole("button", { name }).click();
}

test("a deleted session leaves every window, also under its run, and says so", async () => {
  const title = `To be deleted ${Date.now()}`;
  await send(page, title);
  await idle(page);
  const other = await openTab(context, page.url());
  await other.locator(".entry.user", { hasText: title }).waitFor();
  const third = await openTab(context, page.url().split("#")[0]);
  await connected(third);
  await send(page, "/slow");
  await lastAnswer(page).locator(".prose").waitFor();
  await stopButton(other).waitFor();
  await other.locator(".composer textarea").fill("an unsent thought");
  await act(page, "Delete session");
  await page.locator("dialog.confirm", { hasText: title }).waitFor();
  await shot(page, "delete");
  await page.locator("dialog.confirm").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator(".entry.user").count(), 2, "nothing was deleted yet");
  await act(page, "Delete session");
  await page.locator("dialog.confirm").getByRole("button", { name: "Delete" }).click();
  for (const tab of [page, other]) await tab.getByText("What should the agent do?").waitFor();
  await other.locator(".control-notice", { hasText: "This session was deleted." }).waitFor();
  assert.equal(await other.locator(".composer textarea").inputValue(), "an unsent thought");
  for (const tab of [page, other, third]) {
    await tab.locator(".session", { hasText: title }).waitFor({ state: "detached" });
    assert.equal(await tab.locator(".toast, .card.error").count(), 0);
  }
  await page.reload();
  await connected(page);
  assert.equal(await page.locator(".session", { hasText: title }).count(), 0);
  await other.close();
  await third.close();
});
