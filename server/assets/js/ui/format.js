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
