/** Renaming, archiving and deleting a session in two windows, against the server of `RUNWARDEN_URL`. */

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

test("a session is renamed and goes to the archive and back, the same in every window", async () => {
  const title = `Plain ${Date.now()}`;
  await send(page, title);
  await idle(page);
  const other = await openTab(context, page.url());
  await other.getByRole("heading", { name: title, level: 1 }).waitFor();
  const renamed = `Renamed ${Date.now()}`;
  await act(page, "Rename");
  const field = page.getByRole("textbox", { name: "Title" });
  assert.equal(await field.inputValue(), title);
  await shot(page, "rename");
  await field.press("Escape");
  await act(page, "Rename");
  await field.fill(` ${renamed} `);
  await field.press("Enter");
  for (const tab of [page, other]) {
    await tab.getByRole("heading", { name: renamed, level: 1 }).waitFor();
    await tab.locator(".session", { hasText: renamed }).waitFor();
  }
  await act(page, "Archive");
  for (const tab of [page, other]) {
    await tab.locator(".session", { hasText: renamed }).waitFor({ state: "detached" });
    assert.equal(await tab.getByRole("heading", { name: renamed, level: 1 }).count(), 1, "it stays on screen");
  }
  await other.locator(".sidebar-foot").getByRole("button", { name: "Archive" }).click();
  await other.locator(".session", { hasText: renamed }).waitFor();
  assert.equal(await other.locator(".session").count(), 1, "nothing else is in the archive");
  await shot(other, "archive");
  await page.reload();
  await connected(page);
  await page.locator(".entry.user", { hasText: title }).waitFor();
  await act(page, "Take out of the archive");
  await page.locator(".session", { hasText: renamed }).waitFor();
  await other.locator(".sidebar-note", { hasText: "The archive is empty." }).waitFor();
  await other.locator(".sidebar-foot").getByRole("button", { name: "Back to the sessions" }).click();
  await other.locator(".session", { hasText: renamed }).waitFor();
  await send(page, "it goes on");
  await idle(page);
  await other.close();
});
