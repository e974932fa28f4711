//! Transitions of table 5.3, server registry.

use super::guards::RequestGuards;
use super::state::{
    Ended, Entry, Finished, KeyInFlight, PENDING_MAX, Pending, RequestKey, Requests,
};
use super::{Found, Input, KeyUse, Outcome, Output};
use crate::delivery::limits::RESULT_AGE_MAX;
use crate::ids::{AskId, PayloadId};
use crate::instant::{Duration, Instant};
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::wire::actions::ActionName;

impl<G: RequestGuards> Machine for Requests<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 3;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match input {
            Input::Accepted { ask, request, action, key } => {
                if self.pending.contains_key(&ask) {
                    return Err(Reject::Local("ask_in_use"));
                }
                if self.pending.len() >= PENDING_MAX {
                    return Err(Reject::Local("too_many_pending"));
                }
                self.accept(now, ask, request, action, out);
                match key {
                    None => out.push(Output::Execute { ask }),
                    Some(key) => self.use_key(now, ask, key, out),
                }
            }
            Input::Finished { ask, outcome } => {
                let leads = self.pending.get(&ask).is_some_and(|pending| pending.shares.is_none());
                if !leads {
                    return Err(Reject::Local("unknown_ask"));
                }
                self.finish(now, ask, outcome, out);
            }
            Input::Query { ask, target } => {
                let result = self.find(now, target);
                out.push(Output::Found { ask, result });
            }
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let forgotten = self.expire(now);
        forget(forgotten, out);
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        let just_beyond = Duration::from_micros(RESULT_AGE_MAX.as_micros() + 1);
        self.finished.front().map(|oldest| (oldest.at.plus(just_beyond), TimerKind::ResultAge))
    }

    fn weight(&self) -> usize {
        self.held_bytes()
    }

    /// Never: a registry answers queries for as long as it exists.
    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.pending.is_empty(), self.finished.is_empty()) {
            (true, true) => "empty",
            (true, false) => "finished",
            (false, _) => "pending",
        }
    }
}

impl<G: RequestGuards> Requests<G> {
    /// Makes this execution the one that counts for its request (REQ-9: a repeated id executes anew).
    fn accept(
        &mut self,
        now: Instant,
        ask: AskId,
        request: Option<RequestKey>,
        action: ActionName,
        out: &mut Outbox<Output>,
    ) {
        self.pending.insert(ask, Pending { request, shares: None });
        let Some(request) = request else { return };
        let mut forgotten = self.expire(now);
        let before = self.results.insert(request, Entry { ask, action, ended: None });
        if let Some(ended) = before.and_then(|entry| entry.ended) {
            self.finished.retain(|finished| finished.request != request);
            forgotten.extend(kept_body(ended));
        }
        forget(forgotten, out);
    }

    fn use_key(&mut self, now: Instant, ask: AskId, used: KeyUse, out: &mut Outbox<Output>) {
        let in_flight = self
            .keys
            .iter()
            .find(|known| known.key == used.key && known.session == used.session)
            .map(|known| (known.fingerprint, known.leader));
        if let Some((fingerprint, leader)) = in_flight {
            if !G::same_fields(fingerprint, used.fingerprint) {
                return out.push(Output::RefuseConflict { ask });
            }
            if G::shares() {
                if let Some(pending) = self.pending.get_mut(&ask) {
                    pending.shares = Some(leader);
                }
                return;
            }
        }
        match used.remembered {
            Some(known) if !G::same_fields(known.fingerprint, used.fingerprint) => {
                out.push(Output::RefuseConflict { ask });
            }
            Some(known) => self.finish(now, ask, Outcome::Done(known.reply), out),
            None => {
                let KeyUse { session, key, fingerprint, remembered: _ } = used;
                self.keys.push(KeyInFlight { session, key, fingerprint, leader: ask });
                out.push(Output::Execute { ask });
            }
        }
    }

    /// Records the outcome for the execution and all that share it, frees the key, and answers.
    fn finish(&mut self, now: Instant, ask: AskId, outcome: Outcome, out: &mut Outbox<Output>) {
        let shared = self.pending.iter().filter(|(_, pending)| pending.shares == Some(ask));
        let asks: Vec<_> = std::iter::once(ask).chain(shared.map(|(other, _)| *other)).collect();
        self.keys.retain(|known| known.leader != ask);
        let omitted = !G::repeats(outcome.body());
        let mut keep = 0;
        for ended in &asks {
            let Some(pending) = self.pending.remove(ended) else { continue };
            let Some(request) = pending.request else { continue };
            let counts = self.results.get_mut(&request).filter(|entry| entry.ask == *ended);
            let Some(entry) = counts else { continue };
            entry.ended = Some(Ended { outcome, omitted });
            self.finished.push_back(Finished { request, at: now });
            keep += usize::from(!omitted);
        }
        out.push(Output::Answer { asks, outcome, keep });
        let forgotten = self.expire(now);
        forget(forgotten, out);
    }

    fn find(&self, now: Instant, target: RequestKey) -> Found {
        let Some(entry) = self.results.get(&target) else { return Found::Unknown };
        let Some(ended) = entry.ended else { return Found::Pending { action: entry.action } };
        let finished = self.finished.iter().rev().enumerate().find(|(_, f)| f.request == target);
        let kept = finished.is_some_and(|(newer, f)| G::keeps(now.age_of(f.at), newer));
        if !kept {
            return Found::Unknown;
        }
        Found::Ended { action: entry.action, outcome: ended.outcome, omitted: ended.omitted }
    }

    /// Forgets what is too old or has too many newer ones; returns the bodies that were kept (REQ-8).
    fn expire(&mut self, now: Instant) -> Vec<PayloadId> {
        let mut forgotten = Vec::new();
        while let Some(oldest) = self.finished.front() {
            if G::keeps(now.age_of(oldest.at), self.finished.len() - 1) {
                break;
            }
            let Some(oldest) = self.finished.pop_front() else { break };
            let entry = self.results.remove(&oldest.request);
            forgotten.extend(entry.and_then(|entry| entry.ended).and_then(kept_body));
        }
        forgotten
    }
}

fn kept_body(ended: Ended) -> Option<PayloadId> {
    (!ended.omitted).then(|| ended.outcome.body().id)
}

fn forget(payloads: Vec<PayloadId>, out: &mut Outbox<Output>) {
    if !payloads.is_empty() {
        out.push(Output::Forget { payloads });
    }
}
