/**
 * The live content of one run in one session (ATT-20, ATT-21, ATT-25, SES-32, SES-49). Pure.
 *
 * `apply` answers applied, ignored (already known, or after the terminal) or gap (a frame is
 * missing; the caller asks for `stream_state` with `seq` as the known one).
 */

const NOT_IN_TIMELINE = ["tree", "progress", "context"];

export class Scene {
  #items = new Map();

  constructor(sessionId, entityId) {
    this.sessionId = sessionId;
    this.entityId = entityId;
    this.seq = 0;
    this.terminal = null;
    this.awaiting = false;
    this.degraded = false;
    this.version = 0;
  }

  /** Items in order of their first seq (SES-49). */
  get items() {
    return [...this.#items.values()].sort((a, b) => a.order - b.order);
  }

  /** Takes one numbered frame, or a live event that has no row. */
  apply(type, data) {
    if (this.terminal !== null || this.awaiting) return "ignored";
    const seq = data.stream_seq;
    if (seq !== null && seq <= this.seq) return "ignored";
    if (seq !== null && this.#skips(type, data)) return "gap";
    this.#absorb(type, data);
    return "applied";
  }

  /** Takes the answer of `get_stream`: whole items, or the frames after `from_seq`. */
  applyState(state) {
    this.awaiting = false;
    if (this.terminal !== null) return;
    this.degraded = state.replay?.state !== "complete";
    if (state.items !== null) {
      this.#replaceItems(state.items, state.stream_seq);
    } else {
      for (const delta of state.deltas) {
        if (delta.stream_seq === null || delta.stream_seq > this.seq) this.#absorb(delta.type, delta);
      }
    }
    this.seq = Math.max(this.seq, state.stream_seq);
    this.version += 1;
  }

  /** Latches the first terminal; later frames of the run change nothing (ATT-21). */
  settle(terminal) {
    if (this.terminal !== null) return false;
    this.terminal = terminal;
    this.awaiting = false;
    this.version += 1;
    return true;
  }

  #skips(type, data) {
    if (data.base_seq === null || data.base_seq === undefined) return false;
    if (type === "stream_text") {
      const last = this.#items.get(data.item_id)?.lastSeq ?? 0;
      return data.base_seq !== last;
    }
    return type === "stream_note" && data.base_seq > this.seq;
  }

  #absorb(type, data) {
    if (type === "stream_text") this.#text(data);
    else if (type === "stream_update" && !NOT_IN_TIMELINE.includes(data.kind)) this.#value(data);
    if (data.replay_degraded) this.degraded = true;
    if (data.stream_seq !== null) this.seq = Math.max(this.seq, data.stream_seq);
    this.version += 1;
  }

  #text(data) {
    const item = this.#items.get(data.item_id) ?? this.#add(data);
    item.text = (item.text ?? "") + data.text;
    item.lastSeq = data.stream_seq ?? item.lastSeq;
    item.version += 1;
  }

  #value(data) {
    const item = this.#items.get(data.item_id) ?? this.#add(data);
    item.value = data.value;
    item.lastSeq = data.stream_seq ?? item.lastSeq;
    item.version += 1;
  }

  #add(data) {
    const order = data.stream_seq ?? this.seq + 0.5;
    const item = { id: data.item_id, kind: data.item_kind, order, lastSeq: 0, text: null, value: null, version: 0 };
    this.#items.set(item.id, item);
    return item;
  }

  #replaceItems(items) {
    const old = this.#items;
    this.#items = new Map();
    for (const part of items) {
      const version = (old.get(part.item_id)?.version ?? 0) + 1;
      this.#items.set(part.item_id, {
        id: part.item_id, kind: part.item_kind, order: part.first_seq, lastSeq: part.last_seq,
        text: part.text ?? null, value: part.value ?? null, omitted: Boolean(part.marker), version,
      });
    }
  }
}

/**
 * The items of a settled answer row: `body` is cut into its text items by their length in Unicode
 * scalar values, every other item carries its own content.
 */
export function itemsOfRow(row) {
  const parts = row.extra?.items;
  if (!Array.isArray(parts) || parts.length === 0) {
    return row.body ? [settledItem({ item_id: `${row.message_id}:body`, item_kind: "text", first_seq: 0 }, row.body)] : [];
  }
  if (row.body === null && row.summary) return summarised(row, parts);
  const scalars = row.body === null ? null : [...row.body];
  let at = 0;
  return parts.map((part) => {
    if (part.item_kind !== "text" || typeof part.chars !== "number" || scalars === null) return settledItem(part, part.text ?? null);
    const text = scalars.slice(at, at + part.chars).join("");
    at += part.chars;
    return settledItem(part, text);
  });
}

/** A row whose body is too long for a page: its summary stands for all text. */
function summarised(row, parts) {
  const isText = (part) => part.item_kind === "text";
  const first = parts.find(isText);
  return parts.filter((part) => part === first || !isText(part)).map((part) => settledItem(part, part === first ? `${row.summary}…` : (part.text ?? null)));
}

function settledItem(part, text) {
  return { id: part.item_id, kind: part.item_kind, order: part.first_seq, lastSeq: part.last_seq, text, value: part.value ?? null, version: 0 };
}
