//! What a server says of itself when its status is asked for (OBS-02).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Replay, RunPhase};
use crate::wire::frames::ServerState;

/// The answer of `GET /v1/status`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    /// Its state.
    pub state: ServerState,
    /// Unix milliseconds of the server.
    pub server_time: i64,
    /// Every run that is not over, and those whose journal was found wanting, of the sessions the asker may read.
    pub runs: Vec<RunReport>,
    /// The open connections of the asker.
    pub connections: Vec<ConnectionLag>,
    /// All open connections.
    pub lag: LagTotal,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Session of the run.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// Its phase; null of a run that has no row.
    pub phase: Option<RunPhase>,
    /// Unix milliseconds at which the phase began.
    pub since: i64,
    /// Number of its last durable row.
    pub last_seq: i64,
    /// Unix milliseconds of its last row; null while it has none.
    pub last_event_at: Option<i64>,
    /// How faithful a replay is, and why its journal is quarantined.
    pub replay: Replay,
    /// Questions that wait for an answer.
    pub open_questions: i64,
    /// Whether its settlement could not be stored yet.
    pub unsettled: bool,
    /// Whether it is longer in its phase than that may take.
    pub wedged: bool,
}

/// How far a connection is behind: what waits for its transport.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionLag {
    /// The connection.
    pub connection_id: String,
    /// Frames that wait.
    pub frames: i64,
    /// Their bytes.
    pub bytes: i64,
    /// Milliseconds since its transport took anything, while something waits.
    pub waiting_ms: i64,
}

/// The lag of all connections: how many there are and the greatest of each value (MET-8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LagTotal {
    /// Open connections.
    pub connections: i64,
    /// Most frames that wait for one.
    pub frames_max: i64,
    /// Most bytes that wait for one.
    pub bytes_max: i64,
    /// Longest time since a transport took anything, while something waits.
    pub waiting_ms_max: i64,
}

impl LagTotal {
    /// Counts one connection in.
    pub fn add(&mut self, lag: &ConnectionLag) {
        self.connections += 1;
        self.frames_max = self.frames_max.max(lag.frames);
        self.bytes_max = self.bytes_max.max(lag.bytes);
        self.waiting_ms_max = self.waiting_ms_max.max(lag.waiting_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MET-8 [unit]: over all connections only their count and the greatest values are told.
    #[test]
    fn a_total_is_a_count_and_the_greatest_of_each_value() {
        let mut total = LagTotal::default();
        for (frames, bytes, waiting_ms) in [(3, 10, 0), (1, 900, 5), (0, 0, 0)] {
            let connection_id = "con_1".to_owned();
            total.add(&ConnectionLag { connection_id, frames, bytes, waiting_ms });
        }
        let expected = serde_json::json!({
            "connections": 3, "frames_max": 3, "bytes_max": 900, "waiting_ms_max": 5,
        });
        assert_eq!(serde_json::to_value(&total).unwrap(), expected);
    }
}
