//! Transitions of table 5.1.

use super::guards::ConnectionGuards;
use super::state::{Action, Connection, Features, Negotiation, Phase};
use super::{Hello, Input, Lane, Output};
use crate::delivery::limits::{ACTION_BYTES_MAX, CONNECTION_LEASE, SHUTDOWN_DRAIN};
use crate::ids::AskId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::wire::actions::ActionName;
use crate::wire::close::Close;
use crate::wire::codes::Code;
use crate::wire::limits::PROTOCOL_VERSION;

impl<G: ConnectionGuards> Machine for Connection<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 12;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.phase == Phase::Closed {
            return Ok(());
        }
        match input {
            Input::HelloReceived { ticket, hello } => {
                self.expect_reading(ticket)?;
                self.timers.received_at = now;
                self.hello(now, ticket, hello, out);
            }
            Input::ActionReceived { ticket, name, session, bytes } => {
                self.expect_reading(ticket)?;
                self.timers.received_at = now;
                self.action(Action { ticket, name, session, bytes, started: false }, out);
            }
            Input::BinaryReceived => self.close(Some(Close::UnsupportedMessage), out),
            Input::OversizeReceived => self.close(Some(Close::MessageTooLarge), out),
            Input::BytesReceived => self.timers.received_at = now,
            Input::ActionEnded { ticket } => self.ended(ticket, out)?,
            Input::RepliesQueued { bytes } => {
                self.reply_bytes = bytes;
                self.start_ready(out);
            }
            Input::SessionOpened { session } => {
                self.sessions.insert(session);
            }
            Input::SessionClosed { session } => {
                self.sessions.remove(&session);
            }
            Input::StopServer => self.stop(out),
            Input::RunsSettled => self.drain(now, Close::Stopping),
            Input::QueueEmptied => self.queue_emptied(out),
            Input::Revoke => self.close(Some(Close::Unauthorized), out),
            Input::RecordFailed => self.close(Some(Close::StateRecoveryAfterFailure), out),
            Input::SenderClosed { reason } => self.close(Some(reason), out),
            Input::PeerClosed => self.close(None, out),
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.drained_at()) {
            self.queue_emptied(out);
        } else if due(self.lease_at()) {
            self.close(Some(Close::LeaseExpired), out);
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        let drained = self.drained_at().map(|at| (at, TimerKind::ShutdownDrain));
        let lease = self.lease_at().map(|at| (at, TimerKind::ConnectionLease));
        match (drained, lease) {
            (Some(drained), Some(lease)) if lease.0 < drained.0 => Some(lease),
            (drained, lease) => drained.or(lease),
        }
    }

    fn weight(&self) -> usize {
        self.held_bytes()
    }

    fn is_terminal(&self) -> bool {
        self.phase == Phase::Closed
    }

    fn state_name(&self) -> &'static str {
        match (self.phase, self.reading) {
            (Phase::Open, true) => "open",
            (Phase::Open, false) => "open, not reading",
            (Phase::Stopping, _) => "stopping",
            (Phase::Draining(_), _) => "draining",
            (Phase::Closed, _) => "closed",
        }
    }
}

impl<G: ConnectionGuards> Connection<G> {
    fn expect_reading(&self, ticket: AskId) -> Result<(), Reject> {
        if self.actions.iter().any(|action| action.ticket == ticket) {
            return Err(Reject::Local("ticket_in_use"));
        }
        if !self.reading {
            return Err(Reject::Local("not_reading"));
        }
        Ok(())
    }

    fn hello(&mut self, now: Instant, ticket: AskId, hello: Hello, out: &mut Outbox<Output>) {
        if self.phase != Phase::Open {
            return refuse(ticket, Code::ServerStopping, out);
        }
        if self.negotiation != Negotiation::Awaited {
            return refuse(ticket, Code::InvalidRequest, out);
        }
        let common = (hello.protocol_min..=hello.protocol_max).contains(&PROTOCOL_VERSION);
        if !common {
            self.negotiation = Negotiation::Baseline;
            refuse(ticket, Code::ProtocolUnsupported, out);
            self.drain(now, Close::ProtocolUnsupported);
            return;
        }
        let features = Features {
            fragments: self.offered.fragments && hello.features.fragments,
            delta: self.offered.delta && hello.features.delta,
        };
        self.negotiation = Negotiation::Done(features);
        let reload = hello.other_build;
        out.push(Output::Welcome { ticket, protocol: PROTOCOL_VERSION, features, reload });
    }

    fn action(&mut self, action: Action, out: &mut Outbox<Output>) {
        if action.bytes as usize > ACTION_BYTES_MAX {
            return self.close(Some(Close::MessageTooLarge), out);
        }
        if self.negotiation == Negotiation::Awaited {
            self.negotiation = Negotiation::Baseline;
        }
        if action.name == Some(ActionName::Ping) {
            return out.push(Output::OfferPong);
        }
        if self.phase != Phase::Open && !action.name.is_some_and(G::serves_while_stopping) {
            return refuse(action.ticket, Code::ServerStopping, out);
        }
        self.actions.push(action);
        self.start_ready(out);
        self.update_reading(out);
    }

    fn ended(&mut self, ticket: AskId, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let found = self.actions.iter().position(|a| a.ticket == ticket && a.started);
        let Some(position) = found else { return Err(Reject::Local("unknown_ticket")) };
        self.actions.remove(position);
        self.start_ready(out);
        self.update_reading(out);
        Ok(())
    }

    /// Starts every waiting action that may start, in arrival order (ACT-9).
    fn start_ready(&mut self, out: &mut Outbox<Output>) {
        let mut refused = Vec::new();
        for position in 0..self.actions.len() {
            if self.actions[position].started || !self.may_start(position) {
                continue;
            }
            let action = &self.actions[position];
            if let Some(session) = action.opens() {
                let taken = self.taken_sessions();
                if !taken.contains(&session) && !G::may_open(taken.len()) {
                    refused.push(action.ticket);
                    continue;
                }
            }
            out.push(Output::Start { ticket: action.ticket });
            self.actions[position].started = true;
        }
        self.refuse_all(refused, Code::LimitReached, out);
    }

    fn may_start(&self, position: usize) -> bool {
        let action = &self.actions[position];
        let changes_before = self.actions[..position]
            .iter()
            .filter(|other| other.lane() == Lane::Change && other.session == action.session)
            .count();
        let reads_running = self
            .actions
            .iter()
            .filter(|other| other.started && matches!(other.lane(), Lane::Read | Lane::Load))
            .count();
        G::may_start(action.lane(), changes_before, reads_running, self.reply_bytes)
    }

    fn update_reading(&mut self, out: &mut Outbox<Output>) {
        let may_read = G::may_read(self.actions.len(), self.unanswered_bytes());
        if may_read == self.reading {
            return;
        }
        self.reading = may_read;
        out.push(if may_read { Output::ResumeReading } else { Output::StopReading });
    }

    fn stop(&mut self, out: &mut Outbox<Output>) {
        if self.phase != Phase::Open {
            return;
        }
        self.phase = Phase::Stopping;
        out.push(Output::OfferStopping);
        let waiting = self
            .actions
            .iter()
            .filter(|action| !action.started && !action.name.is_some_and(G::serves_while_stopping));
        let refused = waiting.map(|action| action.ticket).collect();
        self.refuse_all(refused, Code::ServerStopping, out);
        self.start_ready(out);
        self.update_reading(out);
    }

    /// Answers actions that never started.
    fn refuse_all(&mut self, tickets: Vec<AskId>, code: Code, out: &mut Outbox<Output>) {
        if tickets.is_empty() {
            return;
        }
        self.actions.retain(|action| !tickets.contains(&action.ticket));
        out.push(Output::Refuse { tickets, code });
    }

    /// Lets the queue run empty, for at most 2,000 ms, before the close.
    fn drain(&mut self, now: Instant, reason: Close) {
        match self.phase {
            Phase::Open | Phase::Stopping => {
                self.phase = Phase::Draining(reason);
                self.timers.drain_since = now;
            }
            Phase::Draining(_) | Phase::Closed => {}
        }
    }

    fn queue_emptied(&mut self, out: &mut Outbox<Output>) {
        match self.phase {
            Phase::Draining(reason) => self.close(Some(reason), out),
            Phase::Open | Phase::Stopping | Phase::Closed => {}
        }
    }

    fn close(&mut self, reason: Option<Close>, out: &mut Outbox<Output>) {
        self.phase = Phase::Closed;
        self.reading = false;
        self.actions.clear();
        self.sessions.clear();
        self.reply_bytes = 0;
        out.push(Output::Close { reason });
    }

    fn lease_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Open | Phase::Stopping | Phase::Draining(_) => {
                Some(self.timers.received_at.plus(CONNECTION_LEASE))
            }
            Phase::Closed => None,
        }
    }

    fn drained_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Draining(_) => Some(self.timers.drain_since.plus(SHUTDOWN_DRAIN)),
            Phase::Open | Phase::Stopping | Phase::Closed => None,
        }
    }
}

fn refuse(ticket: AskId, code: Code, out: &mut Outbox<Output>) {
    out.push(Output::Refuse { tickets: vec![ticket], code });
}
