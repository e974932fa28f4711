//! The future of one connection. It polls timer, writer and reader in this order; the reader only when its
//! own waker fired.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::error::CapacityError;
use async_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::{Sink, Stream};
use runwarden_protocol::delivery::connection::{Connection, Features, Hello, Input, Output};
use runwarden_protocol::delivery::sender;
use runwarden_protocol::ids::AskId;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::wire::actions::{Action, ActionName, Hello as HelloFields, parse};
use runwarden_protocol::wire::close::Close;

use super::backend::Backend;
use super::gate::Gate;
use super::metered::Metered;
use super::peer::Peer;
use super::reply::{ReplyTo, Subject};
use super::{actions, pushes};
use crate::hub::Hub;
use crate::ports::{Store, World};

/// Rounds of one poll before other tasks get their turn.
const ROUNDS_MAX: usize = 16;

/// Messages read in one round.
const READS_MAX: usize = 16;

/// Names of the features (2.3).
pub(super) const FRAGMENTS: &str = "fragments";
pub(super) const DELTA: &str = "delta";

/// One connection, from its acceptance to its close.
pub(super) struct Driver<'s, W: World, S: Store, T, R> {
    hub: Hub<W, S>,
    backend: Arc<dyn Backend>,
    peer: Arc<Peer>,
    socket: &'s mut WebSocketStream<Metered<T>>,
    machine: Connection,
    /// What is to be answered by actions that have not started.
    waiting: BTreeMap<AskId, Subject>,
    writing: Writing,
    reading: Source,
    revocation: Option<(Source, R)>,
    alarm: Option<Alarm>,
    told: Told,
    closing: Option<Option<Close>>,
}

/// A batch on its way to the transport.
enum Writing {
    Idle,
    Feeding(VecDeque<Utf8Bytes>),
    Flushing,
}

/// Something that is polled when its own waker fired.
struct Source {
    gate: Arc<Gate>,
    waker: Waker,
    ready: bool,
}

struct Alarm {
    at: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What the machines were told last.
#[derive(Default)]
struct Told {
    read_bytes: u64,
    written_bytes: u64,
    reply_bytes: usize,
}

impl<'s, W, S, T, R> Driver<'s, W, S, T, R>
where
    W: World,
    S: Store,
    T: AsyncRead + AsyncWrite + Unpin,
    R: Future<Output = ()> + Unpin,
{
    pub(super) fn new(
        hub: Hub<W, S>,
        peer: Arc<Peer>,
        socket: &'s mut WebSocketStream<Metered<T>>,
        revoked: R,
    ) -> Self {
        let told = Told {
            read_bytes: socket.get_ref().read_bytes(),
            written_bytes: socket.get_ref().written_bytes(),
            reply_bytes: 0,
        };
        Self {
            backend: Arc::new(hub.clone()),
            machine: Connection::new(hub.now(), Features::default()),
            hub,
            peer,
            socket,
            waiting: BTreeMap::new(),
            writing: Writing::Idle,
            reading: Source::new(),
            revocation: Some((Source::new(), revoked)),
            alarm: None,
            told,
            closing: None,
        }
    }

    /// Drives the connection until it is to be closed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Close>> {
        for _ in 0..ROUNDS_MAX {
            let mut moved = self.poll_timer();
            moved |= self.poll_facts(cx);
            moved |= self.poll_writer(cx);
            moved |= self.poll_reader(cx);
            if let Some(reason) = self.closing.take() {
                return Poll::Ready(reason);
            }
            if !moved {
                self.set_alarm(cx);
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_timer(&mut self) -> bool {
        let now = self.hub.now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let sender_due = is_due(self.peer.outbound.deadline());
        let machine_due = is_due(self.machine.deadline().map(|(at, _)| at));
        if sender_due {
            self.peer.outbound.tick(now);
        }
        if machine_due {
            let mut outputs = Outbox::new();
            self.machine.tick(now, &mut outputs);
            self.carry_out(outputs);
        }
        sender_due || machine_due
    }

    fn poll_facts(&mut self, cx: &mut Context<'_>) -> bool {
        let facts = self.peer.facts(cx.waker());
        let mut moved = !facts.is_empty();
        for fact in facts {
            self.step(fact);
        }
        if let Some((source, revoked)) = &mut self.revocation
            && source.is_ready(cx)
        {
            source.ready = false;
            if source.poll(|cx| Pin::new(revoked).poll(cx)).is_ready() {
                self.revocation = None;
                self.step(Input::Revoke);
                moved = true;
            }
        }
        moved
    }

    fn poll_writer(&mut self, cx: &mut Context<'_>) -> bool {
        let work = self.peer.outbound.work(cx.waker());
        let mut moved = !work.owed.is_empty() || work.heartbeat || work.batch.is_some();
        for owed in work.owed {
            pushes::pay(&self.hub, &self.peer, owed);
        }
        if work.heartbeat {
            pushes::heartbeat(&self.hub, &self.peer);
        }
        if let Some(batch) = work.batch {
            self.writing = Writing::Feeding(batch);
        }
        if let Some(reason) = work.close {
            self.step(Input::SenderClosed { reason });
            return true;
        }
        moved |= self.write(cx);
        if self.machine.awaits_empty_queue() && self.peer.outbound.is_idle() {
            self.step(Input::QueueEmptied);
            moved = true;
        }
        moved |= self.tell_replies();
        moved
    }

    fn write(&mut self, cx: &mut Context<'_>) -> bool {
        let was_idle = matches!(self.writing, Writing::Idle);
        let written = self.writing.poll(&mut *self.socket, cx);
        let bytes = self.socket.get_ref().written_bytes();
        let now = self.hub.now();
        if self.told.written_bytes != bytes {
            self.told.written_bytes = bytes;
            self.peer.outbound.feed(now, sender::Input::WriteProgressed);
        }
        match written {
            Poll::Ready(Ok(())) if was_idle => false,
            Poll::Ready(Ok(())) => {
                self.peer.outbound.feed(now, sender::Input::Sent);
                true
            }
            Poll::Ready(Err(error)) => {
                tracing::debug!(connection = %self.peer.id, %error, "the transport failed");
                self.writing = Writing::Idle;
                self.peer.outbound.feed(now, sender::Input::TransportFailed);
                true
            }
            Poll::Pending => false,
        }
    }

    /// As ACT-15 says: a load that waits is told how many bytes of replies are queued.
    fn tell_replies(&mut self) -> bool {
        let bytes = self.peer.outbound.reply_bytes();
        if self.told.reply_bytes == bytes {
            return false;
        }
        self.told.reply_bytes = bytes;
        let awaited = self.machine.awaits_replies();
        self.step(Input::RepliesQueued { bytes });
        awaited
    }

    fn poll_reader(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        if self.reading.is_ready(cx) {
            for _ in 0..READS_MAX {
                if !self.machine.is_reading() {
                    break;
                }
                let socket = &mut *self.socket;
                match self.reading.poll(|cx| Pin::new(socket).poll_next(cx)) {
                    Poll::Pending => {
                        self.reading.ready = false;
                        break;
                    }
                    Poll::Ready(message) => {
                        moved = true;
                        self.received(message);
                    }
                }
            }
        }
        let bytes = self.socket.get_ref().read_bytes();
        if self.told.read_bytes != bytes {
            self.told.read_bytes = bytes;
            self.step(Input::BytesReceived);
        }
        moved
    }

    fn received(&mut self, message: Option<Result<Message, Error>>) {
        match message {
            Some(Ok(Message::Text(text))) => self.text_received(&text),
            Some(Ok(Message::Binary(_))) => self.step(Input::BinaryReceived),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
                self.step(Input::OversizeReceived);
            }
            Some(Err(error)) => {
                tracing::debug!(connection = %self.peer.id, %error, "the peer is gone");
                self.step(Input::PeerClosed);
            }
            Some(Ok(Message::Close(_))) | None => self.step(Input::PeerClosed),
        }
    }

    fn text_received(&mut self, text: &str) {
        let ticket = self.hub.ask_id();
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        // What other tasks have enqueued counts before the next action starts.
        self.tell_replies();
        let (name, subject) = match parse(text) {
            Ok(received) => {
                if let Action::Hello(hello) = &received.action {
                    let hello = self.hello(hello);
                    self.waiting.insert(ticket, Subject::Action(Arc::new(received)));
                    return self.step(Input::HelloReceived { ticket, hello });
                }
                (Some(received.action.name()), Subject::Action(Arc::new(received)))
            }
            Err(refusal) => (None, Subject::Message(Arc::from(refusal))),
        };
        let session = subject.session_id();
        if name != Some(ActionName::Ping) {
            self.waiting.insert(ticket, subject);
        }
        self.step(Input::ActionReceived { ticket, name, session, bytes });
    }

    fn hello(&self, hello: &HelloFields) -> Hello {
        let names = |feature: &str| hello.features.iter().any(|name| name == feature);
        let build = hello.client_build.as_ref();
        Hello {
            protocol_min: hello.protocol_min,
            protocol_max: hello.protocol_max,
            features: Features { fragments: names(FRAGMENTS), delta: names(DELTA) },
            other_build: build.is_some_and(|build| *build != self.hub.config().server_build),
        }
    }

    fn step(&mut self, input: Input) {
        let mut outputs = Outbox::new();
        if let Err(reject) = self.machine.step(self.hub.now(), input, &mut outputs) {
            tracing::debug!(connection = %self.peer.id, ?reject, "an input was turned away");
        }
        self.carry_out(outputs);
    }

    fn carry_out(&mut self, mut outputs: Outbox<Output>) {
        for output in outputs.drain() {
            match output {
                Output::Start { ticket } => {
                    if let Some(reply) = self.reply_to(ticket) {
                        actions::start(&self.hub, reply);
                    }
                }
                Output::Welcome { ticket, protocol, features, reload } => {
                    if let Some(reply) = self.reply_to(ticket) {
                        actions::welcome(&self.hub, reply, protocol, features);
                    }
                    if reload {
                        pushes::reload(&self.hub, &self.peer);
                    }
                }
                Output::Refuse { tickets, code } => {
                    for ticket in tickets {
                        if let Some(reply) = self.reply_to(ticket) {
                            actions::refuse(reply, code);
                        }
                    }
                }
                Output::OfferPong => pushes::pong(&self.hub, &self.peer),
                Output::OfferStopping => pushes::stopping(&self.hub, &self.peer),
                // The reader asks the machine before each message.
                Output::StopReading | Output::ResumeReading => {}
                Output::Close { reason } => {
                    self.waiting.clear();
                    self.closing = Some(reason);
                }
            }
        }
    }

    fn reply_to(&mut self, ticket: AskId) -> Option<ReplyTo> {
        let subject = self.waiting.remove(&ticket)?;
        Some(ReplyTo::new(self.peer.clone(), ticket, subject, self.backend.clone()))
    }

    /// Keeps one timer running that is not later than the next deadline. Deadlines move back far more often
    /// than they pass, so one that fires early is simply set anew.
    fn set_alarm(&mut self, cx: &mut Context<'_>) {
        let machine = self.machine.deadline().map(|(at, _)| at);
        let Some(at) = machine.into_iter().chain(self.peer.outbound.deadline()).min() else {
            return;
        };
        if self.alarm.as_ref().is_none_or(|alarm| at < alarm.at) {
            self.alarm = Some(Alarm { at, sleep: Box::pin(self.hub.world().sleep_until(at)) });
        }
        if let Some(alarm) = &mut self.alarm
            && alarm.sleep.as_mut().poll(cx).is_ready()
        {
            self.alarm = None;
            cx.waker().wake_by_ref();
        }
    }
}

impl Writing {
    /// Moves the batch on: feeds all its frames, then flushes once.
    fn poll<T: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: &mut WebSocketStream<Metered<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        if let Self::Feeding(frames) = self {
            while !frames.is_empty() {
                std::task::ready!(Pin::new(&mut *socket).poll_ready(cx))?;
                if let Some(text) = frames.pop_front() {
                    Pin::new(&mut *socket).start_send(Message::Text(text))?;
                }
            }
            *self = Self::Flushing;
        }
        if let Self::Flushing = self {
            std::task::ready!(Pin::new(socket).poll_flush(cx))?;
            *self = Self::Idle;
        }
        Poll::Ready(Ok(()))
    }
}

impl Source {
    fn new() -> Self {
        let (gate, waker) = Gate::new();
        Self { gate, waker, ready: false }
    }

    /// Whether it woke and was not polled to the end since.
    fn is_ready(&mut self, cx: &Context<'_>) -> bool {
        self.ready |= self.gate.pass(cx.waker());
        self.ready
    }

    fn poll<O>(&self, poll: impl FnOnce(&mut Context<'_>) -> Poll<O>) -> Poll<O> {
        poll(&mut Context::from_waker(&self.waker))
    }
}
