//! The agent a session keeps: how it is given up.

use super::state::{Lineage, Output};
use crate::ids::AgentId;
use crate::machine::Outbox;
use crate::run::cache::Notice;
use crate::run::guards::Guards;

impl<G: Guards> Lineage<G> {
    /// By REG-06: handle, and the cache entry if it names this agent, go in this step, with one close.
    pub(super) fn retire(&mut self, agent: AgentId, out: &mut Outbox<Output>) {
        if self.handle == Some(agent) {
            self.handle = None;
        }
        if self.cache == Some(agent) {
            self.cache = None;
            out.push(Output::TellCache { notice: Notice::Retired });
        }
        out.push(Output::Close { agent });
    }

    /// By REG-13: refused while there is a row in any phase; else the entry goes in this step.
    pub(super) fn evict(&mut self, out: &mut Outbox<Output>) {
        let Some(agent) = self.cache else { return };
        if G::refuses_eviction(self.row_entry().is_some()) {
            out.push(Output::TellCache { notice: Notice::Refused });
        } else {
            self.retire(agent, out);
        }
    }
}
