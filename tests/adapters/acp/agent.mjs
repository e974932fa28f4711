// An agent on the official SDK that needs no model: it plans, thinks, asks and edits as it is told.
// Its sessions are files in the folder it runs in, so that another process can load them.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const cancels = new Map();
const modes = {
  currentModeId: "code",
  availableModes: [{ id: "plan", name: "Plan" }, { id: "code", name: "Code" }],
};
const file = (sessionId) => `session-${sessionId.replaceAll(/[^0-9a-f-]/g, "")}.json`;
const read = (sessionId) => JSON.parse(readFileSync(file(sessionId), "utf8"));
const keep = (sessionId, said) => writeFileSync(file(sessionId), JSON.stringify(said));
const app = agent({ name: "example" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = randomUUID();
    keep(sessionId, []);
    return { sessionId, modes };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    if (!existsSync(file(params.sessionId))) throw RequestError.resourceNotFound(params.sessionId);
    const turn = new Turn(client, params.sessionId);
    for (const said of read(params.sessionId)) await turn.say(said.text, said.by);
    return { modes };
  })
  .onRequest(methods.agent.session.setMode, () => ({}))
  .onNotification(methods.agent.session.cancel, ({ params }) => cancels.get(params.sessionId)?.abort())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const cancel = new AbortController();
    cancels.set(params.sessionId, cancel);
    const text = params.prompt.map((block) => block.text ?? "").join("\n");
    const said = [...read(params.sessionId), { by: "user_message_chunk", text }];
    const count = said.filter(({ by }) => by === "user_message_chunk").length;
    const answer = await new Turn(client, params.sessionId).work(text, count, cancel.signal);
    keep(params.sessionId, [...said, { by: "agent_message_chunk", text: answer }]);
    return { stopReason: cancel.signal.aborted ? "cancelled" : "end_turn" };
  });

class Turn {
  constructor(client, sessionId) {
    Object.assign(this, { client, sessionId });
  }
  update = (update) => this.client.notify(methods.client.session.update, { sessionId: this.sessionId, update });
  say = (text, by = "agent_message_chunk") => this.update({ sessionUpdate: by, content: { type: "text", text } });

  async work(text, count, signal) {
    if (text.endsWith("edit")) return this.edit();
    if (text.endsWith("wait")) await this.say("Waiting."), await sleep(60_000, null, { signal }).catch(() => {});
    const answer = signal.aborted ? "" : `You said ${count} things, the last was: ${text}`;
    await this.say(answer);
    return answer;
  }

  async edit() {
    await this.update({ sessionUpdate: "current_mode_update", currentModeId: "plan" });
    const entry = { content: "Edit the notes", priority: "high", status: "in_progress" };
    await this.update({ sessionUpdate: "plan", entries: [entry] });
    await this.say("I need to edit.", "agent_thought_chunk");
    const toolCall = { toolCallId: "t-1", title: "Edit notes.txt", kind: "edit", status: "pending" };
    await this.update({ sessionUpdate: "tool_call", ...toolCall });
    const options = [["allow_once", "Allow"], ["allow_always", "Allow"], ["reject_once", "Reject"]]
      .map(([kind, name]) => ({ optionId: kind, kind, name }));
    const request = { sessionId: this.sessionId, toolCall, options };
    const { outcome } = await this.client.request(methods.client.session.requestPermission, request);
    const content = [{ type: "diff", path: "/notes.txt", oldText: "old", newText: "new" }];
    const result = outcome.optionId?.startsWith("allow") ? { status: "completed", content } : { status: "failed" };
    await this.update({ sessionUpdate: "tool_call_update", toolCallId: "t-1", ...result });
    await this.say(`The permission: ${outcome.optionId ?? outcome.outcome}`);
    return "Edited.";
  }
}

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
