//! The tables of the two database files.

/// What leads from one version of the tables of `sessions.db`, kept in `user_version`, to the next: the first
/// entry from version 1 to version 2. New files get the newest tables at once.
pub(super) const SESSIONS_UPGRADES: &[&str] = &[
    "
ALTER TABLE sessions ADD COLUMN usage_cost INTEGER;
ALTER TABLE sessions ADD COLUMN usage_context_used INTEGER;
ALTER TABLE sessions ADD COLUMN usage_context_max INTEGER;
ALTER TABLE messages ADD COLUMN usage_cost INTEGER;
ALTER TABLE messages ADD COLUMN usage_context_used INTEGER;
ALTER TABLE messages ADD COLUMN usage_context_max INTEGER;
ALTER TABLE runs ADD COLUMN usage_cost INTEGER;
ALTER TABLE runs ADD COLUMN usage_context_used INTEGER;
ALTER TABLE runs ADD COLUMN usage_context_max INTEGER;
",
    CONVERSATIONS,
    "
ALTER TABLE sessions ADD COLUMN queue_length INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN queue_held TEXT;
CREATE INDEX sessions_waiting ON sessions (session_id)
    WHERE queue_length > 0 AND queue_held IS NULL;
CREATE TABLE queue (
    session_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    turn_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, place),
    UNIQUE (session_id, turn_id)
);
ALTER TABLE keys ADD COLUMN position INTEGER;
ALTER TABLE keys ADD COLUMN text TEXT;
",
    DELETIONS,
    "ALTER TABLE sessions ADD COLUMN truncation_watermark INTEGER NOT NULL DEFAULT 0;
",
    REPLACED,
    "ALTER TABLE runs ADD COLUMN journal_fate INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_by_end ON runs (ended_at) WHERE outcome IS NOT NULL AND journal_fate = 0;
CREATE INDEX runs_pruned ON runs (run_id) WHERE journal_fate = 1;
",
];

/// What a rewrite replaced, until the turn behind it is over; also a part of [`SESSIONS`].
pub(super) const REPLACED: &str = "CREATE TABLE replaced (
    replaced_by INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    predecessor INTEGER,
    created_at INTEGER NOT NULL,
    body TEXT,
    run_id INTEGER NOT NULL,
    agent TEXT,
    model TEXT,
    has_usage INTEGER NOT NULL,
    usage_input INTEGER,
    usage_output INTEGER,
    usage_cached INTEGER,
    usage_cost INTEGER,
    usage_context_used INTEGER,
    usage_context_max INTEGER,
    items TEXT NOT NULL,
    marker TEXT,
    session_revision INTEGER NOT NULL,
    PRIMARY KEY (replaced_by, position)
) WITHOUT ROWID;
CREATE TABLE reductions (
    replaced_by INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    head_id INTEGER,
    generation INTEGER NOT NULL,
    baseline INTEGER NOT NULL,
    watermark INTEGER NOT NULL
) WITHOUT ROWID;
";

/// What deleted sessions leave for a while, and what finds their runs; also a part of [`SESSIONS`].
pub(super) const DELETIONS: &str = "CREATE INDEX runs_by_session ON runs (session_id);
CREATE TABLE tombstones (
    run_id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    deleted_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tombstones_by_age ON tombstones (deleted_at);
CREATE TABLE closing (
    session_id INTEGER PRIMARY KEY NOT NULL,
    closed_at INTEGER NOT NULL
) WITHOUT ROWID;
";

/// Where agents find their own record of a conversation again; also a part of [`SESSIONS`].
pub(super) const CONVERSATIONS: &str = "CREATE TABLE conversations (
    session_id INTEGER PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    handle TEXT NOT NULL
) WITHOUT ROWID;
";

/// `application_id` of `sessions.db`: "RWNS".
pub(super) const SESSIONS_APPLICATION: i64 = 0x5257_4e53;

/// `application_id` of `errors.db`: "RWNE".
pub(super) const ERRORS_APPLICATION: i64 = 0x5257_4e45;

/// Tables of `sessions.db`.
pub(super) const SESSIONS: &str = "
CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
    session_id INTEGER PRIMARY KEY NOT NULL,
    owner INTEGER NOT NULL,
    title TEXT NOT NULL,
    title_folded TEXT NOT NULL,
    revision INTEGER NOT NULL,
    transcript_generation INTEGER NOT NULL DEFAULT 0,
    transcript_generation_baseline INTEGER NOT NULL DEFAULT 0,
    agent TEXT NOT NULL,
    model TEXT,
    archived INTEGER NOT NULL DEFAULT 0,
    shared INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    activity_at INTEGER NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    head_id INTEGER,
    usage_input INTEGER,
    usage_output INTEGER,
    usage_cached INTEGER,
    usage_cost INTEGER,
    usage_context_used INTEGER,
    usage_context_max INTEGER,
    pending_turn_id INTEGER,
    pending_run_id INTEGER,
    pending_text TEXT,
    pending_started_at INTEGER,
    pending_agent TEXT,
    pending_model TEXT,
    queue_length INTEGER NOT NULL DEFAULT 0,
    queue_held TEXT,
    truncation_watermark INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_activity ON sessions (archived, activity_at, session_id);
CREATE INDEX sessions_waiting ON sessions (session_id)
    WHERE queue_length > 0 AND queue_held IS NULL;

CREATE TABLE queue (
    session_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    turn_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, place),
    UNIQUE (session_id, turn_id)
);

CREATE TABLE messages (
    session_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    predecessor INTEGER,
    created_at INTEGER NOT NULL,
    body TEXT,
    run_id INTEGER NOT NULL,
    agent TEXT,
    model TEXT,
    has_usage INTEGER NOT NULL,
    usage_input INTEGER,
    usage_output INTEGER,
    usage_cached INTEGER,
    usage_cost INTEGER,
    usage_context_used INTEGER,
    usage_context_max INTEGER,
    items TEXT NOT NULL,
    marker TEXT,
    session_revision INTEGER NOT NULL,
    UNIQUE (session_id, position),
    UNIQUE (session_id, message_id)
);

CREATE TABLE conversations (
    session_id INTEGER PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    handle TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL,
    turn_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    reason TEXT,
    ended_at INTEGER,
    usage_input INTEGER,
    usage_output INTEGER,
    usage_cached INTEGER,
    usage_cost INTEGER,
    usage_context_used INTEGER,
    usage_context_max INTEGER,
    journal_fate INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_unsettled ON runs (run_id) WHERE outcome IS NULL;
CREATE INDEX runs_by_session ON runs (session_id);
CREATE INDEX runs_by_end ON runs (ended_at) WHERE outcome IS NOT NULL AND journal_fate = 0;
CREATE INDEX runs_pruned ON runs (run_id) WHERE journal_fate = 1;

CREATE TABLE tombstones (
    run_id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    deleted_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tombstones_by_age ON tombstones (deleted_at);

CREATE TABLE closing (
    session_id INTEGER PRIMARY KEY NOT NULL,
    closed_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE journal (
    run_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    event TEXT NOT NULL,
    subject INTEGER,
    outcome TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
CREATE INDEX journal_terminals ON journal (run_id) WHERE event = 'terminal';

CREATE TABLE turn_journal (
    turn_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT,
    PRIMARY KEY (turn_id, step)
) WITHOUT ROWID;

CREATE TABLE replaced (
    replaced_by INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    predecessor INTEGER,
    created_at INTEGER NOT NULL,
    body TEXT,
    run_id INTEGER NOT NULL,
    agent TEXT,
    model TEXT,
    has_usage INTEGER NOT NULL,
    usage_input INTEGER,
    usage_output INTEGER,
    usage_cached INTEGER,
    usage_cost INTEGER,
    usage_context_used INTEGER,
    usage_context_max INTEGER,
    items TEXT NOT NULL,
    marker TEXT,
    session_revision INTEGER NOT NULL,
    PRIMARY KEY (replaced_by, position)
) WITHOUT ROWID;
CREATE TABLE reductions (
    replaced_by INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    head_id INTEGER,
    generation INTEGER NOT NULL,
    baseline INTEGER NOT NULL,
    watermark INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settlements (
    settled INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL UNIQUE,
    turn_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    at INTEGER NOT NULL,
    error TEXT
);
CREATE INDEX settlements_by_session ON settlements (session_id, settled);

CREATE TABLE provenance (
    recorded INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    rows_before INTEGER NOT NULL,
    rows_after INTEGER NOT NULL
);

CREATE TABLE keys (
    used INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    turn_id INTEGER,
    run_id INTEGER,
    agent TEXT NOT NULL,
    model TEXT,
    position INTEGER,
    text TEXT,
    UNIQUE (scope, scope_id, key)
);
CREATE INDEX keys_by_scope ON keys (scope, scope_id, used);
CREATE INDEX keys_by_run ON keys (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE logins (
    token_hash BLOB PRIMARY KEY NOT NULL,
    principal INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX logins_by_principal ON logins (principal, expires_at);

CREATE TABLE error_outbox (
    error_id TEXT PRIMARY KEY NOT NULL,
    principal INTEGER NOT NULL,
    occurred_at_ms INTEGER NOT NULL,
    session_id INTEGER,
    request_id TEXT,
    data TEXT NOT NULL
) WITHOUT ROWID;
";

/// Tables of `errors.db`, with the indexes of ERR-21.
pub(super) const ERRORS: &str = "
CREATE TABLE errors (
    error_id TEXT PRIMARY KEY NOT NULL,
    principal INTEGER NOT NULL,
    occurred_at_ms INTEGER NOT NULL,
    session_id INTEGER,
    request_id TEXT,
    data TEXT NOT NULL,
    closed_at INTEGER
) WITHOUT ROWID;
CREATE INDEX errors_by_age ON errors (occurred_at_ms);
CREATE INDEX errors_by_principal ON errors (principal, occurred_at_ms, error_id);
CREATE INDEX errors_by_session ON errors (principal, session_id, occurred_at_ms, error_id);
CREATE INDEX errors_by_request ON errors (principal, request_id);
";
