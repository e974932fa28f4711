//! Limits of the wire (section 6). All are inclusive: "at most n" allows n.

use std::collections::BTreeMap;

/// Protocol version this crate speaks.
pub const PROTOCOL_VERSION: i64 = 1;
/// Version of the projections.
pub const SCHEMA_VERSION: i64 = 1;

/// Largest integer on the wire, 2^53 − 1; the smallest is its negative.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;
/// Characters of an id, and of any text that is echoed (`echo_chars_max`).
pub const ECHO_CHARS_MAX: usize = 128;
/// Characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 128;
/// Printable characters of a registered message (`message_chars_max`).
pub const MESSAGE_CHARS_MAX: usize = 256;
/// ASCII characters of a cursor (`cursor_chars_max`).
pub const CURSOR_CHARS_MAX: usize = 96;
/// Features named in one `hello`.
pub const FEATURES_MAX: usize = 16;
/// Categories named in one `plan_cleanup`.
pub const CATEGORIES_MAX: usize = 32;

/// Bytes of one action (`action_bytes_max`).
pub const ACTION_BYTES_MAX: usize = 1_048_576;
/// Bytes of a message text (`message_bytes_max`).
pub const MESSAGE_BYTES_MAX: usize = 262_144;
/// Bytes of a steer (`steer_bytes_max`).
pub const STEER_BYTES_MAX: usize = 32_768;
/// Characters of a title and of a query (`title_chars_max`).
pub const TITLE_CHARS_MAX: usize = 256;
/// Attachments of one message (`attachments_per_message`).
pub const ATTACHMENTS_PER_MESSAGE: usize = 10;
/// Entities named in one resume (`known_seqs_max`).
pub const KNOWN_SEQS_MAX: usize = 64;
/// Entries of one list page, and the number meant by null (`list_limit`).
pub const LIST_LIMIT: i64 = 100;
/// Open questions of one run (`questions_per_run`).
pub const QUESTIONS_PER_RUN: usize = 16;
/// Sessions open on one connection (`sessions_open_max`).
pub const SESSIONS_OPEN_MAX: usize = 8;
/// Connections of one principal (`connections_per_principal`).
pub const CONNECTIONS_PER_PRINCIPAL: usize = 64;
/// Actions per second of one principal (`actions_per_second`).
pub const ACTIONS_PER_SECOND: u32 = 50;
/// Actions of one principal in a burst (`actions_burst`).
pub const ACTIONS_BURST: u32 = 100;
/// Rate refusals of one connection within [`RATE_REFUSALS_WINDOW_MS`] that close it (`rate_refusals_max`).
pub const RATE_REFUSALS_MAX: usize = 500;
/// Window of [`RATE_REFUSALS_MAX`], in milliseconds.
pub const RATE_REFUSALS_WINDOW_MS: u64 = 10_000;
/// Failed logins of one address within [`LOGINS_FAILED_WINDOW_MS`] (`logins_failed_max`).
pub const LOGINS_FAILED_MAX: usize = 10;
/// Window of [`LOGINS_FAILED_MAX`], in milliseconds.
pub const LOGINS_FAILED_WINDOW_MS: u64 = 60_000;

/// Frames of a connection's queue (`queue_frames_max`); also the cap of a terminal frame.
pub const QUEUE_FRAMES_MAX: usize = 256;
/// Bytes of a connection's queue (`queue_bytes_max`); also the cap of a terminal frame.
pub const QUEUE_BYTES_MAX: usize = 4_194_304;
/// Frames after admission of a control frame (`control_cap`).
pub const CONTROL_CAP_FRAMES: usize = 192;
/// Bytes after admission of a control frame (`control_cap`).
pub const CONTROL_CAP_BYTES: usize = 3_145_728;
/// Frames after admission of an ordinary frame (`ordinary_cap`).
pub const ORDINARY_CAP_FRAMES: usize = 184;
/// Bytes after admission of an ordinary frame (`ordinary_cap`).
pub const ORDINARY_CAP_BYTES: usize = 3_080_192;
/// Frames up to which a queue counts as drained.
pub const DRAINED_FRAMES_MAX: usize = 92;
/// Marks of one connection (`marks_max`).
pub const MARKS_MAX: usize = 1_024;
/// Ended entities one queue remembers (`absorbed_max`).
pub const ABSORBED_MAX: usize = 4_096;
/// Relayed foreign frames queued on one connection (`foreign_frames_max`).
pub const FOREIGN_FRAMES_MAX: usize = 16;
/// Bytes of a merged frame (`merged_frame_max`).
pub const MERGED_FRAME_BYTES_MAX: usize = 65_536;
/// Frames of one batch in flight.
pub const BATCH_FRAMES_MAX: usize = 64;
/// Bytes of one batch in flight of more than one frame.
pub const BATCH_BYTES_MAX: usize = 65_536;
/// Time without write progress that counts as a failure (`send_stall`), in milliseconds.
pub const SEND_STALL_MS: u64 = 20_000;
/// Time without a received byte after which a connection is closed (`connection_lease`), in milliseconds.
pub const CONNECTION_LEASE_MS: u64 = 300_000;
/// Silence after which a heartbeat is offered (`heartbeat_after`), in milliseconds.
pub const HEARTBEAT_AFTER_MS: u64 = 5_000;

/// Unanswered actions of one connection (`unanswered_max`).
pub const UNANSWERED_ACTIONS_MAX: usize = 64;
/// Bytes of unanswered actions of one connection (`unanswered_max`).
pub const UNANSWERED_BYTES_MAX: usize = 2_097_152;
/// Reads and loads served at once on one connection (`reads_parallel`).
pub const READS_PARALLEL: usize = 4;
/// Bytes of queued replies at which no load starts (`replies_queued_max`).
pub const REPLIES_QUEUED_BYTES_MAX: usize = 1_048_576;
/// Finished results kept per principal (`results_kept`).
pub const RESULTS_KEPT: usize = 1_024;
/// Time a finished result is kept (`results_kept`), in milliseconds.
pub const RESULTS_KEPT_MS: u64 = 900_000;
/// Bytes of a reply kept with a result (`result_inline_max`).
pub const RESULT_INLINE_BYTES_MAX: usize = 16_384;
/// Idempotency keys kept per session, or per principal without one (`idempotency_memory`).
pub const IDEMPOTENCY_KEYS_KEPT: usize = 1_024;
/// Time an idempotency key is kept (`idempotency_memory`), in milliseconds.
pub const IDEMPOTENCY_MEMORY_MS: u64 = 86_400_000;

/// Bytes of a frame from which fragments are used (`fragment_threshold`); equal stays plain.
pub const FRAGMENT_THRESHOLD_BYTES: usize = 131_072;
/// Characters of one fragment (`fragment_chars`).
pub const FRAGMENT_CHARS: usize = 16_384;
/// Bytes of one fragment frame (`fragment_frame_max`).
pub const FRAGMENT_FRAME_BYTES_MAX: usize = 262_144;
/// Bytes of a frame on a baseline connection (`baseline_frame_max`).
pub const BASELINE_FRAME_BYTES_MAX: usize = 1_048_576;

/// Groups of one page (`page_groups_max`).
pub const PAGE_GROUPS_MAX: usize = 50;
/// Rows of one page (`page_rows_max`).
pub const PAGE_ROWS_MAX: usize = 2_000;
/// Bytes of one page (`page_bytes_max`).
pub const PAGE_BYTES_MAX: usize = 524_288;
/// Bytes of one group alone on a page (`group_alone_max`).
pub const GROUP_ALONE_BYTES_MAX: usize = 1_048_576;
/// Bytes of a tool result or prompt that stays inline (`inline_result_max`).
pub const INLINE_RESULT_BYTES_MAX: usize = 32_768;
/// History snapshots of one connection (`history_snapshots`).
pub const HISTORY_SNAPSHOTS: usize = 2;
/// Bytes of a manifest (`manifest_bytes_max`).
pub const MANIFEST_BYTES_MAX: usize = 262_144;
/// Ids in `chain_tail` (`chain_tail_max`).
pub const CHAIN_TAIL_MAX: usize = 512;
/// Bytes of a serialised delta or ring entry, the entry limit (`delta_bytes_max`).
pub const DELTA_BYTES_MAX: usize = 3_584;
/// Commits of one session kept for clients that missed some (`commit_ring`).
pub const COMMIT_RING_ENTRIES: usize = 512;
/// Live deltas of one entity kept for clients that missed some (`delta_ring`).
pub const DELTA_RING_ENTRIES: usize = 256;
/// Age up to which an entry of a ring is kept, in milliseconds.
pub const RING_AGE_MS: u64 = 900_000;
/// Bytes of the rings of all sessions (`rings_total`).
pub const RINGS_BYTES_MAX: usize = 268_435_456;
/// Missing deltas up to which a resume is guaranteed (`resume_guarantee`).
pub const RESUME_GUARANTEE_DELTAS: usize = 64;
/// Bytes of a guaranteed resume (`resume_guarantee`).
pub const RESUME_GUARANTEE_BYTES: usize = 262_144;
/// Bytes of any other resume (`resume_best_effort`).
pub const RESUME_BEST_EFFORT_BYTES: usize = 524_288;
/// Time text is collected into one delta per item (`text_merge`), in milliseconds.
pub const TEXT_MERGE_MS: u64 = 30;
/// Bytes of a `stream_state` (`stream_state_max`).
pub const STREAM_STATE_BYTES_MAX: usize = 262_144;
/// Characters of a summary.
pub const SUMMARY_CHARS_MAX: usize = 512;
/// Names in one `stream_note`.
pub const NOTE_NAMES_MAX: usize = 64;
/// Questions and error ids listed in a manifest.
pub const MANIFEST_LIST_MAX: usize = 100;
/// Entries of the send queue of one session (QUEUE_CAP).
pub const QUEUE_ENTRIES_MAX: usize = 64;
/// Steers given back by one terminal.
pub const RETURNED_STEERS_MAX: usize = 16;

/// Time until a request without a reply is resolved (`request_timeout`), in milliseconds.
pub const REQUEST_TIMEOUT_MS: u64 = 4_000;
/// The same for kind load (`load_timeout`), in milliseconds.
pub const LOAD_TIMEOUT_MS: u64 = 15_000;
/// The same for kind run (`run_timeout`), in milliseconds.
pub const RUN_TIMEOUT_MS: u64 = 25_000;

/// Time an error record is kept (`error_retention`), in milliseconds.
pub const ERROR_RETENTION_MS: u64 = 604_800_000;
/// Error records kept per principal (`errors_per_principal`).
pub const ERRORS_PER_PRINCIPAL: usize = 1_000;
/// Time the drain of a stopping server may take (`shutdown_drain`), in milliseconds.
pub const SHUTDOWN_DRAIN_MS: u64 = 2_000;

/// The limits of family RATE and their default values, by the name of section 6 (RATE-7).
///
/// A name that section 6 shortens behind a slash is written out: `actions_burst`,
/// `attachments_per_message`.
pub const RATE_LIMITS: [(&str, i64); 11] = [
    ("message_bytes_max", MESSAGE_BYTES_MAX as i64),
    ("steer_bytes_max", STEER_BYTES_MAX as i64),
    ("title_chars_max", TITLE_CHARS_MAX as i64),
    ("attachments_per_message", ATTACHMENTS_PER_MESSAGE as i64),
    ("questions_per_run", QUESTIONS_PER_RUN as i64),
    ("sessions_open_max", SESSIONS_OPEN_MAX as i64),
    ("connections_per_principal", CONNECTIONS_PER_PRINCIPAL as i64),
    ("actions_per_second", ACTIONS_PER_SECOND as i64),
    ("actions_burst", ACTIONS_BURST as i64),
    ("rate_refusals_max", RATE_REFUSALS_MAX as i64),
    ("logins_failed_max", LOGINS_FAILED_MAX as i64),
];

/// `limits` of `welcome`: every limit of family RATE with its default value (RATE-7).
pub fn welcome_limits() -> BTreeMap<String, i64> {
    RATE_LIMITS.iter().map(|(name, max)| ((*name).to_owned(), *max)).collect()
}
