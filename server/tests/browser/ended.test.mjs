/** Runs that the server ends, against the server of `RUNWARDEN_URL`, whose runs last 2 s at most. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, idle, send, shot } from "./support.mjs";
import { page, useTab } from "./tab.mjs";

useTab();

const ENDED = "The run was ended: it took longer than this server allows.";

test("a run that took too long says so at its answer and at its error, also after a reload", async () => {
  await send(page, "/slow");
  await idle(page);
  const says = async () => {
    await page.locator(".entry.answer .row-note", { hasText: ENDED }).waitFor();
    await page.locator(".card.error .error-detail", { hasText: ENDED }).waitFor();
  };
  await says();
  await shot(page, "ended");
  await page.reload();
  await connected(page);
  await says();
  assert.equal(await page.locator(".entry.answer .row-note").count(), 1);
});
