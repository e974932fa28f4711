/** Times and numbers as a person reads them. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const COUNT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** Time of day today, else the day. */
export function shortTime(ms) {
  const date = new Date(ms);
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY.format(date);
}

/** A `time` element's texts. */
export function timeTexts(ms) {
  return { short: shortTime(ms), full: FULL.format(new Date(ms)), iso: new Date(ms).toISOString() };
}

/** Whole seconds as `7 s` or `2 min 5 s`. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A large count, compact. */
export function count(value) {
  return COUNT.format(value);
}

/** A size in bytes, compact. */
export function bytes(size) {
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1_000).toFixed(size < 10_000 ? 1 : 0)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/**
 * The known values of a usage as short facts, each `{text, full}` (USE-01). The cost is in millionths
 * of the currency the operator configured.
 */
export function usageFacts(usage) {
  const { input, output, cached, cost: price } = usage ?? {};
  const facts = [];
  if (isKnown(input)) {
    const part = isKnown(cached) && cached > 0 ? ` (${count(cached)} cached)` : "";
    facts.push({ text: `${count(input)} tokens in${part}`, full: `${whole(input)} tokens in${isKnown(cached) ? `, ${whole(cached)} of them from a cache` : ""}` });
  }
  if (isKnown(output)) facts.push({ text: `${count(output)} out`, full: `${whole(output)} tokens out` });
  if (isKnown(price)) facts.push({ text: `cost ${cost(price)}`, full: `cost ${(price / 1_000_000).toFixed(6)} in the currency of the agent` });
  return facts;
}

/** How full the context is, as `{text, share}`, or null when it is not known. */
export function contextFact(usage) {
  const used = usage?.context_used;
  const max = usage?.context_max;
  if (!isKnown(used)) return null;
  if (!isKnown(max) || max <= 0) return { text: `context ${count(used)}`, full: `${whole(used)} tokens of context in use`, share: null };
  const share = Math.min(1, used / max);
  return { text: `context ${count(used)} of ${count(max)}`, full: `${whole(used)} of ${whole(max)} tokens of context in use (${Math.round(share * 100)} %)`, share };
}

function isKnown(value) {
  return typeof value === "number";
}

function whole(value) {
  return value.toLocaleString("en");
}

function cost(millionths) {
  const value = millionths / 1_000_000;
  if (value === 0) return "0";
  return value >= 1 ? value.toFixed(2) : value.toPrecision(2);
}
