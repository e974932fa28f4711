import assert from "node:assert/strict";
import { test } from "node:test";
import { reconnect } from "./modules.mjs";

const { Reconnect, reconnectDelayMax, RECONNECT_CAP_MS, RECONNECT_STABLE_MS, RECOVERY_BUDGET_MS } = reconnect;

const kinds = (effects) => effects.map((effect) => effect.kind);

function connectedAt(now) {
  const machine = new Reconnect();
  machine.start();
  machine.opened();
  machine.restored(now);
  return machine;
}

test("the longest delay doubles from 500 ms and is capped at 30 s", () => {
  assert.deepEqual([0, 1, 5, 6, 40].map(reconnectDelayMax), [500, 1_000, 16_000, RECONNECT_CAP_MS, RECONNECT_CAP_MS]);
});

test("the delay is the random share of its maximum", () => {
  for (const share of [0, 0.25, 0.999]) {
    const machine = connectedAt(0);
    machine.closed(1_000, 1006, share);
    assert.equal(machine.deadline(), 1_000 + share * reconnectDelayMax(1));
  }
});

test("a close before 10 s of connected time leads to the next attempt number, at 10 s back to 0", () => {
  for (const [time, attempt] of [[RECONNECT_STABLE_MS - 1, 1], [RECONNECT_STABLE_MS, 0], [RECONNECT_STABLE_MS + 1, 0]]) {
    const machine = connectedAt(0);
    machine.closed(time, 1006, 0.5);
    assert.equal(machine.attempt, attempt);
  }
});

test("a nudge starts the waiting attempt at once and keeps its number", () => {
  const machine = connectedAt(0);
  machine.closed(1, 1006, 1);
  assert.deepEqual(kinds(machine.nudge()), ["connect"]);
  assert.equal(machine.attempt, 1);
  assert.deepEqual(machine.nudge(), [], "at most one attempt is in progress");
});

test("refused credentials stop automatic attempts with one notice", () => {
  const machine = new Reconnect();
  machine.start();
  assert.deepEqual(kinds(machine.closed(1, 1008, 0.5)), ["notice_auth"]);
  assert.deepEqual(machine.tick(10 ** 9), []);
  assert.equal(machine.deadline(), null);
  assert.deepEqual(kinds(machine.start()), ["connect"]);
});

test("no common protocol and a normal end stop without a retry", () => {
  for (const code of [1002, 1000]) {
    const machine = connectedAt(0);
    machine.closed(1, code, 0.5);
    assert.equal(machine.state, "stopped");
    assert.deepEqual(machine.tick(10 ** 9), []);
  }
});

test("one incident makes one record: at 60 s without a connection, or earlier with an unknown change", () => {
  const machine = connectedAt(0);
  machine.closed(100, 1006, 1);
  assert.ok(!kinds(machine.tick(100 + RECOVERY_BUDGET_MS - 1)).includes("record_connection_lost"));
  assert.ok(kinds(machine.tick(100 + RECOVERY_BUDGET_MS)).includes("record_connection_lost"));
  assert.deepEqual(machine.changeUnknown(), []);
  const other = connectedAt(0);
  other.closed(100, 1006, 1);
  assert.deepEqual(kinds(other.changeUnknown()), ["record_connection_lost"]);
  assert.ok(!kinds(other.tick(100 + RECOVERY_BUDGET_MS)).includes("record_connection_lost"));
});

test("two closes with 1011 in a row put sessions before the error list", () => {
  const machine = connectedAt(0);
  machine.closed(1, 1011, 0);
  assert.equal(machine.sessionsFirst, false);
  machine.tick(2);
  machine.opened();
  machine.restored(3);
  machine.closed(4, 1011, 0);
  assert.equal(machine.sessionsFirst, true);
});
