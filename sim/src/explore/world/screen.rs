//! One client beside the session: its screen, and what is on the way between the two.
//!
//! It has another session on screen, whose run works; the explored session stands in its list.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use runwarden_protocol::client::screen::{
    Input, Listed, Output, Rules, Screen, ScreenGuards, SubmitAnswer, SubmitKey,
};
use runwarden_protocol::ids::{AskId, MessageId, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::run::admission::{KeyFact, StartFacts};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{self, Start, StartAnswer};
use runwarden_protocol::run::stop::Answer;
use smallvec::SmallVec;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::{Conditions, Fault};
use super::runs::RunModel;
use super::take::{Cause, FACTS, id};
use super::{Broken, FEW, World};
use crate::variants as v;

const EXPLORED: SessionId = SessionId::new(1);
const ON_SCREEN: SessionId = SessionId::new(2);
const RUN_ON_SCREEN: RunId = RunId::new(99);

const LIST: AskId = AskId::new(50_001);
const SUBMIT: AskId = AskId::new(50_002);
const STOP: AskId = AskId::new(50_003);
const KEY: SubmitKey = SubmitKey::new(1);
const MACHINE: &str = "client/screen/a";

/// One thing that happens to the client or on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenChoice {
    /// The user asks for the list.
    List,
    /// The user sends the one message.
    Send,
    /// The user stops the explored session in the list.
    Stop,
    /// The server takes the next request.
    Serve,
    /// The client takes the next frame.
    Receive,
    /// The connection is lost with everything on it.
    Lose,
    /// It is there again.
    Connect,
}

/// The client, its link, and what must come true of its message.
#[derive(Clone, Debug, Hash)]
pub(super) struct Client {
    screen: AnyScreen,
    is_connected: bool,
    up: SmallVec<[Request; FEW]>,
    down: SmallVec<[Frame; FEW]>,
    message: Message,
    /// Runs that its submits became, with their keys.
    served: SmallVec<[(u8, SubmitKey); FEW]>,
    /// The run whose start answers its submit.
    awaited: Option<u8>,
    /// The run whose Stop is unanswered.
    stopping: Option<u8>,
}

/// What became of the message, as far as its client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Unsent,
    Unanswered,
    Started(u8),
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    List,
    Submit { key: SubmitKey },
    Stop { run_id: RunId },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Frame {
    List { run: Option<u8> },
    Submitted { run: Option<u8> },
    Stopped { is_done: bool },
    Shown { run: u8 },
    Over { run: u8 },
}

impl Client {
    /// Whether a Stop or its answer is on the way: one at a time is, under one name.
    fn is_stop_unanswered(&self) -> bool {
        self.stopping.is_some()
            || self.up.iter().any(|request| matches!(request, Request::Stop { .. }))
            || self.down.iter().any(|frame| matches!(frame, Frame::Stopped { .. }))
    }

    /// Whether the loss of the link takes a Stop of the run that is shown, or its answer: a run that is over needs none.
    fn is_stop_lost(&self, shown: Option<RunId>) -> bool {
        let is_shown = |run_id: RunId| shown == Some(run_id);
        self.stopping.is_some_and(|run| is_shown(id(run)))
            || self.up.iter().any(|request| match request {
                Request::Stop { run_id } => is_shown(*run_id),
                _ => false,
            })
            || self.down.iter().any(|frame| matches!(frame, Frame::Stopped { is_done: false }))
    }

    pub(super) fn new(conditions: Conditions) -> Option<Box<Self>> {
        conditions.screens.then(|| {
            let mut screen = AnyScreen(screen_of(conditions.fault));
            for input in [
                Input::RunShown { session_id: ON_SCREEN, run_id: RUN_ON_SCREEN },
                Input::SessionChosen { session_id: ON_SCREEN },
            ] {
                let taken = screen.0.take(Instant::ZERO, input, &mut Outbox::new());
                taken.expect("a screen takes what it is shown");
            }
            Box::new(Self {
                screen,
                is_connected: true,
                up: SmallVec::new(),
                down: SmallVec::new(),
                message: Message::Unsent,
                served: SmallVec::new(),
                awaited: None,
                stopping: None,
            })
        })
    }

    /// Whether something of it happens by itself.
    fn is_busy(&self) -> bool {
        !self.is_connected || !self.up.is_empty() || !self.down.is_empty()
    }

    fn is_asking(&self) -> bool {
        self.is_busy() || self.message == Message::Unanswered || self.stopping.is_some()
    }

    fn push(&mut self, frame: Frame) {
        if self.is_connected {
            self.down.push(frame);
        }
    }

    fn next_name(&self, is_up: bool) -> &'static str {
        if is_up {
            return match self.up.first() {
                Some(Request::List) => "list",
                Some(Request::Submit { .. }) => "submit",
                Some(Request::Stop { .. }) => "stop_run",
                None => "nothing",
            };
        }
        match self.down.first() {
            Some(Frame::List { .. }) => "sessions_list",
            Some(Frame::Submitted { .. }) => "message_ack",
            Some(Frame::Stopped { .. }) => "stop_ack",
            Some(Frame::Shown { .. }) => "run_status",
            Some(Frame::Over { .. }) => "stream_terminal",
            None => "nothing",
        }
    }
}

impl<G: Guards> World<G> {
    pub(super) fn screen_choices(&self, choices: &mut Vec<Choice>) {
        let Some(client) = &self.client else { return };
        let mut add = |choice| choices.push(Choice::Screen(choice));
        if !client.is_connected {
            add(ScreenChoice::Connect);
            return;
        }
        if !client.up.is_empty() {
            add(ScreenChoice::Serve);
        }
        if !client.down.is_empty() {
            add(ScreenChoice::Receive);
        }
        if self.budget.clients > 0 {
            add(ScreenChoice::List);
            if client.message == Message::Unsent {
                add(ScreenChoice::Send);
            }
        }
        let is_running = client.screen.0.run(EXPLORED).is_some();
        if self.budget.stops > 0 && is_running && !client.is_stop_unanswered() {
            add(ScreenChoice::Stop);
        }
        if self.budget.drops > 0 && client.is_asking() {
            add(ScreenChoice::Lose);
        }
    }

    pub(super) fn screen_label(&self, choice: ScreenChoice) -> String {
        let next = |is_up| self.client.as_ref().map_or("nothing", |client| client.next_name(is_up));
        match choice {
            ScreenChoice::List => "user-a send list".to_owned(),
            ScreenChoice::Send => "user-a send message(ses_1)".to_owned(),
            ScreenChoice::Stop => "user-a send stop_session(ses_1)".to_owned(),
            ScreenChoice::Serve => format!("server send take({})", next(true)),
            ScreenChoice::Receive => format!("link send {}", next(false)),
            ScreenChoice::Lose => "link fault lost(user-a)".to_owned(),
            ScreenChoice::Connect => "link send connected(user-a)".to_owned(),
        }
    }

    pub(super) fn take_screen(&mut self, choice: ScreenChoice) -> Result<(), Broken> {
        match choice {
            ScreenChoice::List => {
                self.budget.clients -= 1;
                self.show(Input::ListWanted { request: LIST })
            }
            ScreenChoice::Send => self.send_message(),
            ScreenChoice::Stop => self.stop_listed(),
            ScreenChoice::Serve => self.serve(),
            ScreenChoice::Receive => self.receive(),
            ScreenChoice::Lose => {
                self.budget.drops -= 1;
                self.lose_screen()
            }
            ScreenChoice::Connect => {
                self.client_mut().is_connected = true;
                self.show(Input::Connected)
            }
        }
    }

    /// Whether nothing of the client happens by itself.
    pub(super) fn is_screen_quiet(&self) -> bool {
        self.client.as_ref().is_none_or(|client| !client.is_busy())
    }

    /// Whether the run belongs to the client with the screen, whose connection is lost in its own way.
    pub(super) fn is_of_screen(&self, run: u8) -> bool {
        self.client
            .as_ref()
            .is_some_and(|client| client.served.iter().any(|(served, _)| *served == run))
    }

    /// The run that the message of the client became, if it did.
    pub(super) fn turn_of_screen(&self) -> Option<u8> {
        let client = self.client.as_ref()?;
        client.served.iter().map(|(run, _)| *run).find(|run| self.has_turn(*run))
    }

    pub(super) fn screen_told_start(&mut self, run: u8, answer: StartAnswer) {
        let first = self.turn_of_screen();
        let Some(client) = &mut self.client else { return };
        if client.awaited != Some(run) {
            return;
        }
        client.awaited = None;
        let run = match answer {
            StartAnswer::Started { .. } => Some(run),
            StartAnswer::Repeated => first,
            StartAnswer::Queued { .. } | StartAnswer::Unstored | StartAnswer::Refused(_) => None,
        };
        client.push(Frame::Submitted { run });
    }

    pub(super) fn screen_told_stop(&mut self, run: u8, answer: Answer) {
        let Some(client) = &mut self.client else { return };
        if client.stopping.take_if(|stopping| *stopping == run).is_some() {
            let is_done = matches!(answer, Answer::Accepted | Answer::AlreadyEnded { .. });
            client.push(Frame::Stopped { is_done });
        }
    }

    pub(super) fn screen_told_run(&mut self, run: u8, is_over: bool) {
        if let Some(client) = &mut self.client {
            client.push(if is_over { Frame::Over { run } } else { Frame::Shown { run } });
        }
    }

    /// A crash takes the connection along.
    pub(super) fn crash_screen(&mut self) -> Result<(), Broken> {
        match &self.client {
            Some(client) if client.is_connected => self.lose_screen(),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn check_screen(&self) -> Result<(), Broken> {
        let Some(client) = &self.client else { return Ok(()) };
        let is_in_flight = matches!(client.message, Message::Unanswered | Message::Started(_));
        ensure(!is_in_flight || client.screen.0.is_busy(EXPLORED), "OBS-07", || {
            format!("the message is {:?}, and its client shows no turn", client.message)
        })?;
        let turns = client.served.iter().filter(|(run, _)| self.has_turn(*run)).count();
        ensure(turns <= 1, "ADM-13", || format!("one message has {turns} turns"))
    }

    pub(super) fn check_screen_over(&self) -> Result<(), Broken> {
        let is_left = self.client.as_ref().is_some_and(|client| client.is_asking());
        ensure(!is_left, "INV-LIVE", || "a request of the client is never answered".to_owned())
    }

    fn send_message(&mut self) -> Result<(), Broken> {
        self.budget.clients -= 1;
        self.client_mut().message = Message::Unanswered;
        self.show(Input::SendWanted { request: SUBMIT, session_id: EXPLORED, key: KEY })?;
        let client = self.client_mut();
        let is_sent = client.up.contains(&Request::Submit { key: KEY });
        ensure(is_sent, "OBS-07", || "the client's own flag holds the message".to_owned())
    }

    fn stop_listed(&mut self) -> Result<(), Broken> {
        self.budget.stops -= 1;
        let shown = self.client_mut().screen.0.run(EXPLORED);
        self.show(Input::StopWanted { request: STOP, session_id: EXPLORED })?;
        self.check_shown(shown)
    }

    /// A Stop that is asked for, or has failed, leaves the run as it is shown (STOP-19).
    fn check_shown(&mut self, run: Option<RunId>) -> Result<(), Broken> {
        let now = self.client_mut().screen.0.run(EXPLORED);
        ensure(now == run, "STOP-19", || {
            format!("{run:?} is shown as {now:?}, and nothing says that it ended")
        })
    }

    fn lose_screen(&mut self) -> Result<(), Broken> {
        let client = self.client_mut();
        let shown = client.screen.0.run(EXPLORED);
        let is_stop_lost = client.is_stop_lost(shown);
        client.stopping = None;
        client.is_connected = false;
        client.up.clear();
        client.down.clear();
        client.awaited = None;
        // Nobody tells it of an end that it missed; it asks again.
        if matches!(client.message, Message::Started(_)) {
            client.message = Message::Over;
        }
        let served = client.served.clone();
        for (run, _) in served {
            self.run(run).lose_connection();
        }
        self.show(Input::ConnectionLost)?;
        self.check_shown(shown)?;
        let screen = &self.client_mut().screen.0;
        ensure(
            !is_stop_lost || screen.has_stop_failed(EXPLORED) || shown.is_none(),
            "STOP-19",
            || "a Stop was lost, and nobody is shown that".to_owned(),
        )
    }

    fn serve(&mut self) -> Result<(), Broken> {
        match self.client_mut().up.remove(0) {
            Request::List => {
                let run = self.lineage.row().and_then(|row| u8::try_from(row.run_id.number()).ok());
                self.client_mut().push(Frame::List { run });
                Ok(())
            }
            Request::Submit { key } => self.serve_submit(key),
            Request::Stop { run_id } => {
                ensure(run_id != RUN_ON_SCREEN, "STOP-19", || {
                    format!("{EXPLORED} was chosen and {run_id} is stopped, of {ON_SCREEN}")
                })?;
                let run = u8::try_from(run_id.number()).expect("runs are few");
                self.client_mut().stopping = Some(run);
                // It was counted when the user asked.
                self.budget.stops += 1;
                self.stop(run)
            }
        }
    }

    /// A key that is under way or had its effect has no second one (REQ-16, ADM-13).
    fn serve_submit(&mut self, key: SubmitKey) -> Result<(), Broken> {
        self.recover_first()?;
        let is_of_key = |served: &&(u8, SubmitKey)| served.1 == key;
        let served = self.client_mut().served.clone();
        let under_way = served.iter().filter(is_of_key).find(|(run, _)| {
            let stored = self.store.run(*run);
            self.lineage.holds(id(*run)) && !stored.is_admitted
        });
        if let Some((run, _)) = under_way {
            self.client_mut().awaited = Some(*run);
            return Ok(());
        }
        let had_effect = served.iter().filter(is_of_key).any(|(run, _)| self.has_turn(*run));
        let fact = if had_effect { KeyFact::SameContent } else { KeyFact::Unused };
        self.runs.push(RunModel::asked(self.last_run() + 1));
        let run = self.last_run();
        let number = u64::from(run);
        if !had_effect {
            self.client_mut().served.push((run, key));
        }
        self.client_mut().awaited = Some(run);
        let facts = StartFacts { key: fact, ..FACTS };
        let (ask, turn_id) = (AskId::new(number), MessageId::new(number));
        let start = Start { ask, run_id: id(run), turn_id, facts };
        self.feed(Cause::Nobody, lineage::Input::Start(start))
    }

    fn has_turn(&self, run: u8) -> bool {
        let stored = self.store.run(run);
        stored.is_admitted && !stored.is_undone
    }

    fn receive(&mut self) -> Result<(), Broken> {
        let client = self.client_mut();
        let (session_id, message) = (EXPLORED, client.message);
        let run_id = |run: u8| id(run);
        let input = match client.down.remove(0) {
            Frame::List { run } => {
                if message.is_started() && message != run.map_or(Message::Over, Message::Started) {
                    client.message = Message::Over;
                }
                let explored = Listed { session_id, run_id: run.map(run_id) };
                let other = Listed { session_id: ON_SCREEN, run_id: Some(RUN_ON_SCREEN) };
                Input::ListReceived { request: LIST, sessions: vec![explored, other] }
            }
            Frame::Submitted { run } => {
                client.message = run.map_or(Message::Over, Message::Started);
                let answer = match run {
                    Some(run) => SubmitAnswer::Started { run_id: id(run) },
                    None => SubmitAnswer::Refused,
                };
                let is_over = run.is_some_and(|run| self.store.run(run).terminal.is_some());
                if is_over {
                    self.client_mut().message = Message::Over;
                }
                Input::SubmitAnswered { request: SUBMIT, answer }
            }
            Frame::Stopped { is_done } => Input::StopReplied { request: STOP, is_done },
            Frame::Shown { run } => Input::RunShown { session_id, run_id: id(run) },
            Frame::Over { run } => {
                if message == Message::Started(run) {
                    client.message = Message::Over;
                }
                Input::RunOver { session_id, run_id: id(run) }
            }
        };
        self.show(input)
    }

    /// Lets the screen step, and sends what it asks for.
    fn show(&mut self, input: Input) -> Result<(), Broken> {
        let now = self.now;
        let mut out = Outbox::new();
        let taken = self.client_mut().screen.0.take(now, input.clone(), &mut out);
        if let Some(trace) = &mut self.trace {
            trace.step(now, MACHINE, &input, &out, taken.as_ref().err());
        }
        taken.map_err(|reject| Broken {
            rule: "DI-24",
            detail: format!("{input:?} was turned away by the screen: {reject}"),
        })?;
        let client = self.client_mut();
        for output in out.drain() {
            match output {
                Output::RequestList { .. } => client.up.push(Request::List),
                Output::Submit { key, .. } => client.up.push(Request::Submit { key }),
                Output::StopRun { run_id, .. } => client.up.push(Request::Stop { run_id }),
                Output::NotSent { .. }
                | Output::NotStopped { .. }
                | Output::StopsFailed { .. }
                | Output::ListCut => {}
            }
        }
        Ok(())
    }

    fn client_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("only a world with a screen has its choices")
    }
}

impl Message {
    fn is_started(self) -> bool {
        matches!(self, Self::Started(_))
    }
}

/// A screen without its guards in its type.
trait Shows: Debug {
    fn take(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject>;
    fn copy(&self) -> Box<dyn Shows>;
    fn add_to(&self, state: &mut dyn Hasher);
    fn run(&self, session_id: SessionId) -> Option<RunId>;
    fn is_busy(&self, session_id: SessionId) -> bool;
    fn has_stop_failed(&self, session_id: SessionId) -> bool;
}

#[derive(Debug)]
struct AnyScreen(Box<dyn Shows>);

impl Clone for AnyScreen {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl Hash for AnyScreen {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.add_to(state);
    }
}

impl<S: ScreenGuards> Shows for Screen<S> {
    fn take(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        self.step(now, input, out)
    }

    fn copy(&self) -> Box<dyn Shows> {
        Box::new(self.clone())
    }

    fn add_to(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }

    fn run(&self, session_id: SessionId) -> Option<RunId> {
        Screen::run(self, session_id)
    }

    fn is_busy(&self, session_id: SessionId) -> bool {
        Screen::is_busy(self, session_id)
    }

    fn has_stop_failed(&self, session_id: SessionId) -> bool {
        Screen::has_stop_failed(self, session_id)
    }
}

/// The screen of the fault, or the one that keeps the rules.
fn screen_of(fault: Option<Fault>) -> Box<dyn Shows> {
    match fault {
        Some(Fault::StopsSessionOnScreen) => Box::<Screen<v::StopsSessionOnScreen>>::default(),
        Some(Fault::StoppedShownIdle) => Box::<Screen<v::StoppedShownIdle>>::default(),
        Some(Fault::ListClearsTurn) => Box::<Screen<v::ListClearsTurn>>::default(),
        Some(Fault::OwnFlagHolds) => Box::<Screen<v::OwnFlagHolds>>::default(),
        Some(Fault::RepeatedUnderNewKey) => Box::<Screen<v::RepeatedUnderNewKey>>::default(),
        _ => Box::<Screen<Rules>>::default(),
    }
}
