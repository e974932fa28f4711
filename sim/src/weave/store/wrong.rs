//! What the store of a faulty variant does wrong.

use runwarden_protocol::ids::{MessageId, SessionId};
use runwarden_protocol::session::record::Role;

use super::super::wrong::Wrong;
use super::Disk;
use super::data::Data;
use crate::weave::executor::lock;

impl Data {
    /// Behind a settlement.
    pub(super) fn spoil_settlement(&mut self, wrong: Option<Wrong>, session_id: SessionId) {
        let Some(session) = self.sessions.get_mut(&session_id) else { return };
        if let (Some(Wrong::PartialBelowMarker), [.., partial, marker]) =
            (wrong, &mut session.rows[..])
            && partial.role == Role::Assistant
            && marker.marker.is_some()
        {
            std::mem::swap(partial, marker);
        }
    }

    fn add_partials_again(&mut self) {
        for session in self.sessions.values_mut() {
            let marked = session.rows.iter().rfind(|row| row.marker.is_some());
            let Some(run_id) = marked.map(|row| row.run_id) else { continue };
            let rows = session.rows.iter().filter(|row| row.run_id == run_id);
            let partial = rows.into_iter().find(|row| row.role == Role::Assistant);
            let Some(mut again) = partial.cloned() else { continue };
            again.message_id = MessageId::new(session.rows.len() as u64 + 1);
            session.rows.push(again);
            session.head.message_count += 1;
        }
    }
}

impl Disk {
    /// At the start of a server.
    pub(super) fn spoil_start(&self) {
        let mut shared = lock(&self.shared);
        if shared.wrong == Some(Wrong::PartialEachLoad) {
            shared.durable.add_partials_again();
        }
    }
}
