//! The status of the server: its runs and how far its connections are behind (OBS-02).

use std::collections::BTreeMap;

use runwarden_protocol::ids::{PrincipalId, RunId};
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::frames::ServerState;
use runwarden_protocol::wire::structures::{
    ConnectionLag, LagTotal, Replay, ReplayState, RunReport, ServerStatus,
};

use crate::connection::Peer;
use crate::hub::Hub;
use crate::ports::{Store, World};
use crate::session::Message;

/// Runs of a session whose journal was found wanting that are remembered.
const QUARANTINED_MAX: usize = 16;

/// Runs that a session found quarantined when it read their journals, with the reason. Beyond the bound the one
/// with the lowest id is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    runs: BTreeMap<RunId, String>,
}

impl Quarantine {
    pub(crate) fn note(&mut self, run_id: RunId, reason: String) {
        self.runs.insert(run_id, reason);
        if self.runs.len() > QUARANTINED_MAX {
            self.runs.pop_first();
        }
    }

    pub(crate) fn reason(&self, run_id: RunId) -> Option<&str> {
        self.runs.get(&run_id).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RunId, &str)> {
        self.runs.iter().map(|(run_id, reason)| (*run_id, reason.as_str()))
    }
}

/// How faithful a replay of a run is.
pub(crate) fn replay_of(is_degraded: bool, quarantine: Option<&str>) -> Replay {
    match (quarantine, is_degraded) {
        (Some(reason), _) => {
            Replay { state: ReplayState::Quarantined, reason: Some(reason.to_owned()) }
        }
        (None, true) => Replay { state: ReplayState::Degraded, reason: None },
        (None, false) => Replay { state: ReplayState::Complete, reason: None },
    }
}

impl<W: World, S: Store> Hub<W, S> {
    /// The status as `asker` may see it: the runs of its own sessions, or with `sees_all` of every session; its own
    /// connections one by one, all of them as a total.
    pub async fn status(&self, asker: PrincipalId, sees_all: bool) -> ServerStatus {
        let runs = self.reported_runs(asker, sees_all).await;
        let mut lag = LagTotal::default();
        let mut connections = Vec::new();
        for peer in self.peers() {
            let of_peer = self.lag_of(&peer);
            lag.add(&of_peer);
            if peer.principal.id == asker {
                connections.push(of_peer);
            }
        }
        let state = match (self.is_stopping(), self.is_storage_low()) {
            (true, _) => ServerState::Stopping,
            (false, true) => ServerState::StorageLow,
            (false, false) => ServerState::Open,
        };
        ServerStatus { state, server_time: int(self.now().as_millis()), runs, connections, lag }
    }

    async fn reported_runs(&self, asker: PrincipalId, sees_all: bool) -> Vec<RunReport> {
        let mut reports = Vec::new();
        for handle in self.loaded() {
            let (reply, report) = async_channel::bounded(1);
            let may_see = sees_all || handle.owner == asker;
            // A session that left memory meanwhile has no run.
            if may_see && handle.send(Message::Report { reply }) {
                reports.push(report);
            }
        }
        let mut runs = Vec::new();
        for report in reports {
            runs.extend(report.recv().await.unwrap_or_default());
        }
        runs
    }

    fn lag_of(&self, peer: &Peer) -> ConnectionLag {
        let lag = peer.outbound.lag(self.now());
        let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        ConnectionLag {
            connection_id: peer.id.to_string(),
            frames: count(lag.frames),
            bytes: count(lag.bytes),
            waiting_ms: int(lag.waiting.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarantined_runs_of_a_session_are_bounded() {
        let mut quarantine = Quarantine::default();
        for number in 1..=17_u64 {
            quarantine.note(RunId::new(number), format!("reason {number}"));
            let expected = usize::try_from(number).unwrap().min(16);
            assert_eq!(quarantine.iter().count(), expected);
        }
        assert_eq!(quarantine.reason(RunId::new(1)), None);
        assert_eq!(quarantine.reason(RunId::new(17)), Some("reason 17"));
    }
}
