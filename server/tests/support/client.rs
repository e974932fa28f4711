//! A small client of its own: WebSocket over a plain socket, JSON as it comes, nothing of the runtime.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::client::IntoClientRequest;
use async_tungstenite::tungstenite::http::{HeaderName, HeaderValue, Request};
use async_tungstenite::tungstenite::{Error, Message};
use futures_lite::{FutureExt, StreamExt};
use serde_json::{Value, json};
use smol::Timer;
use smol::net::TcpStream;

use super::process::Server;

/// Longer than anything a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Frames that a failure prints at most.
const SHOWN_MAX: usize = 80;

/// Characters of one frame that a failure prints at most.
const SHOWN_CHARS_MAX: usize = 240;

/// A frame of the server.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Its place among the frames of its connection.
    pub(crate) arrival: u64,
    /// Its type.
    pub(crate) kind: String,
    /// Its data.
    pub(crate) data: Value,
}

/// One connection.
pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    inbox: VecDeque<Frame>,
    shown: VecDeque<String>,
    everything: String,
    arrivals: u64,
    requests: u64,
    closed: Option<(u16, String)>,
}

/// The live content of one run as a client builds it, strict about the numbers of its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveView {
    /// The run.
    pub(crate) run: String,
    /// Its items in the order of their first rows.
    pub(crate) items: Vec<ViewItem>,
    /// Number of the newest row.
    pub(crate) seq: u64,
    /// Event names of rows that show nothing.
    pub(crate) notes: Vec<String>,
    /// Phases in the order they were told.
    pub(crate) phases: Vec<String>,
    /// Settled steers with their fates, in order.
    pub(crate) steers: Vec<(String, String)>,
    /// Data of the one `stream_terminal`.
    pub(crate) terminal: Option<Value>,
    /// Arrival of the terminal.
    pub(crate) ended: u64,
    /// Whether rows were announced as not delivered (`sync_required`) and not read again.
    pub(crate) gapped: bool,
    note_seq: Option<u64>,
    joined: u64,
}

/// An item of a [`LiveView`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ViewItem {
    /// Its id.
    pub(crate) item_id: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its text, of a text item.
    pub(crate) text: String,
    /// Its newest value, of any other item.
    pub(crate) value: Value,
    /// Number of its newest row.
    pub(crate) last_seq: u64,
}

impl Frame {
    /// The data of a frame of this type.
    ///
    /// # Panics
    /// When it is of another type.
    #[track_caller]
    pub(crate) fn expect(self, kind: &str) -> Value {
        assert_eq!(self.kind, kind, "{}", self.data);
        self.data
    }

    /// Whether it is of this type and its field has this text.
    pub(crate) fn is(&self, kind: &str, field: &str, text: &str) -> bool {
        self.kind == kind && self.data[field] == text
    }
}

impl Client {
    /// A connection that has said `hello`.
    pub(crate) fn connect(server: &Server) -> Self {
        let mut client = Self::open(server);
        client.hello();
        client
    }

    /// A connection that has said nothing yet.
    pub(crate) fn open(server: &Server) -> Self {
        let bearer = format!("Bearer {}", server.token);
        Self::upgrade(server.address, &[("authorization", &bearer)]).expect("an upgrade")
    }

    /// An upgrade with these headers.
    ///
    /// # Errors
    /// The status of a refused upgrade.
    pub(crate) fn upgrade(address: SocketAddr, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut request: Request<()> =
            format!("ws://{address}/v1/ws").into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        let opening = async {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            match async_tungstenite::client_async(request, stream).await {
                Ok((socket, _)) => Ok(socket),
                Err(Error::Http(response)) => Err(response.status().as_u16()),
                Err(error) => panic!("the upgrade failed: {error}"),
            }
        };
        let late = async {
            Timer::after(PATIENCE).await;
            panic!("the upgrade is not answered");
        };
        smol::block_on(opening.or(late)).map(Self::of)
    }

    /// Negotiates; the data of `welcome`.
    #[track_caller]
    pub(crate) fn hello(&mut self) -> Value {
        let fields = json!({
            "protocol_min": 1, "protocol_max": 1, "features": [], "client_build": null,
        });
        self.ask("hello", fields).expect("welcome")
    }

    /// Sends an action under a fresh request id and returns the id.
    pub(crate) fn send(&mut self, action: &str, fields: Value) -> String {
        self.requests += 1;
        let request_id = format!("r{}", self.requests);
        self.send_as(&request_id, action, fields);
        request_id
    }

    /// Sends an action under this request id.
    pub(crate) fn send_as(&mut self, request_id: &str, action: &str, fields: Value) {
        let mut message = fields;
        message["action"] = json!(action);
        message["request_id"] = json!(request_id);
        self.send_text(&message.to_string());
    }

    /// Sends a text message as it is.
    pub(crate) fn send_text(&mut self, text: &str) {
        self.send_message(Message::text(text));
    }

    /// Sends any message. A connection the server has closed already takes it silently.
    pub(crate) fn send_message(&mut self, message: Message) {
        let late = async {
            Timer::after(PATIENCE).await;
            panic!("the server takes nothing");
        };
        // What the server made of it is seen by reading.
        let _ = smol::block_on(self.socket.send(message).or(late));
    }

    /// Waits for the reply to a request.
    #[track_caller]
    pub(crate) fn reply(&mut self, request_id: &str) -> Frame {
        let what = format!("the reply to {request_id}");
        self.wait_for(&what, |frame| frame.data["request_id"] == request_id)
    }

    /// Sends an action and waits for its reply.
    #[track_caller]
    pub(crate) fn ask(&mut self, action: &str, fields: Value) -> Frame {
        let request_id = self.send(action, fields);
        self.reply(&request_id)
    }

    /// Takes the first frame that fits out of what has arrived or arrives; the others stay.
    ///
    /// # Panics
    /// When none comes in time or the connection ends, with the frames seen so far.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&Frame) -> bool) -> Frame {
        self.take(&fits).unwrap_or_else(|| {
            let closed = &self.closed;
            panic!("no {what}; closed: {closed:?}; frames so far:\n{}", self.history())
        })
    }

    /// The reply to a request; none if the connection ended before it.
    ///
    /// # Panics
    /// When neither comes in time.
    #[track_caller]
    pub(crate) fn reply_or_end(&mut self, request_id: &str) -> Option<Frame> {
        let reply = self.take(&|frame| frame.data["request_id"] == request_id);
        assert!(reply.is_some() || self.closed.is_some(), "no reply:\n{}", self.history());
        reply
    }

    /// Every frame that has arrived and was not taken, in order.
    pub(crate) fn take_arrived(&mut self) -> Vec<Frame> {
        self.inbox.drain(..).collect()
    }

    /// The first frame that fits; none at the limit or the end of the connection.
    fn take(&mut self, fits: &dyn Fn(&Frame) -> bool) -> Option<Frame> {
        let limit = Instant::now() + PATIENCE;
        let mut looked_at = 0;
        loop {
            let found = self.inbox.iter().skip(looked_at).position(fits);
            if let Some(place) = found {
                return self.inbox.remove(looked_at + place);
            }
            looked_at = self.inbox.len();
            if !self.receive(limit) {
                return None;
            }
        }
    }

    /// Frames of this type that have arrived and were not taken, in order.
    pub(crate) fn arrived(&self, kind: &str) -> Vec<&Frame> {
        self.inbox.iter().filter(|frame| frame.kind == kind).collect()
    }

    /// Every frame that ever arrived, as its text, one a line.
    pub(crate) fn everything(&self) -> &str {
        &self.everything
    }

    /// Waits for the end of the connection; close code and reason, 1006 without a close frame.
    #[track_caller]
    pub(crate) fn closed(&mut self) -> (u16, String) {
        let limit = Instant::now() + PATIENCE;
        while self.receive(limit) {}
        let closed = self.closed.clone();
        closed.unwrap_or_else(|| panic!("not closed; frames so far:\n{}", self.history()))
    }

    /// Ends the connection without a word, as a pulled cable does.
    pub(crate) fn pull_cable(self) {
        drop(self);
    }

    /// Makes a session; its id.
    #[track_caller]
    pub(crate) fn create_session(&mut self) -> String {
        let created = self.ask("create_session", json!({})).expect("session_created");
        created["session_id"].as_str().unwrap().to_owned()
    }

    /// Opens a session without known values; its manifest.
    #[track_caller]
    pub(crate) fn open_session(&mut self, session: &str) -> Value {
        let fields = json!({"session_id": session, "generation": 1});
        self.ask("open_session", fields).expect("session_manifest")
    }

    /// Makes and opens a session; its id.
    #[track_caller]
    pub(crate) fn new_session(&mut self) -> String {
        let session = self.create_session();
        self.open_session(&session);
        session
    }

    /// Sends a prompt that is accepted; the live view of its run.
    #[track_caller]
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> LiveView {
        let ack = self.try_prompt(session, text).expect("message_ack");
        LiveView::of(ack["run_id"].as_str().unwrap())
    }

    /// Reads the live content of a run; `known` is the newest row that is known.
    #[track_caller]
    pub(crate) fn get_stream(&mut self, session: &str, run: &str, known: Option<u64>) -> Frame {
        let fields = json!({"session_id": session, "entity_id": run, "known_seq": known});
        self.ask("get_stream", fields)
    }

    /// Asks to start a run; the reply.
    #[track_caller]
    pub(crate) fn try_prompt(&mut self, session: &str, text: &str) -> Frame {
        self.ask("send_message", json!({"session_id": session, "text": text}))
    }

    /// Asks to stop a run; the data of `stop_result`.
    #[track_caller]
    pub(crate) fn stop(&mut self, session: &str, run: &str) -> Value {
        self.ask("stop_run", json!({"session_id": session, "run_id": run})).expect("stop_result")
    }

    /// The newest page of a session: data of `history_page`.
    #[track_caller]
    pub(crate) fn history_page(&mut self, session: &str) -> Value {
        let fields = json!({"session_id": session, "generation": 1, "latest": true});
        self.ask("load_history", fields).expect("history_page")
    }

    /// Applies what comes for the view until this is so; a gap is closed by reading the live content.
    #[track_caller]
    pub(crate) fn follow_until(
        &mut self,
        view: &mut LiveView,
        what: &str,
        reached: impl Fn(&LiveView) -> bool,
    ) {
        while !reached(view) {
            let frame = self.wait_for(what, |frame| view.concerns(frame));
            view.apply(&frame);
            if frame.kind == "sync_required" {
                let session = frame.data["session_id"].as_str().unwrap();
                let state = self.get_stream(session, &view.run, None);
                view.apply(&state);
            }
        }
    }

    /// Applies what comes for the view until its run has ended; the outcome.
    #[track_caller]
    pub(crate) fn follow(&mut self, view: &mut LiveView) -> String {
        self.follow_until(view, "stream_terminal", |view| view.terminal.is_some());
        view.outcome()
    }

    /// Waits until a list entry that arrived after this frame shows the session idle.
    #[track_caller]
    pub(crate) fn wait_idle(&mut self, session: &str, after: u64) {
        self.wait_for("idle session_item", |frame| {
            frame.is("session_item", "session_id", session)
                && frame.arrival > after
                && frame.data["item"]["status"] == "idle"
        });
    }

    fn of(socket: WebSocketStream<TcpStream>) -> Self {
        let (inbox, shown) = (VecDeque::new(), VecDeque::new());
        let everything = String::new();
        Self { socket, inbox, shown, everything, arrivals: 0, requests: 0, closed: None }
    }

    /// Takes one more message into the inbox; false at the limit or the end of the connection.
    fn receive(&mut self, limit: Instant) -> bool {
        if self.closed.is_some() {
            return false;
        }
        let late = async {
            Timer::at(limit).await;
            None
        };
        let next = async { Some(self.socket.next().await) };
        match smol::block_on(next.or(late)) {
            None => return false,
            Some(Some(Ok(Message::Text(text)))) => self.keep(text.as_str()),
            Some(Some(Ok(Message::Close(frame)))) => {
                let frame = frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                self.closed = Some(frame.unwrap_or((1005, String::new())));
            }
            Some(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Some(Some(Ok(other))) => panic!("not a frame: {other:?}"),
            Some(Some(Err(error))) => self.closed = Some((1006, error.to_string())),
            Some(None) => self.closed = Some((1006, "end of stream".to_owned())),
        }
        true
    }

    fn keep(&mut self, text: &str) {
        self.everything.push_str(text);
        self.everything.push('\n');
        let mut message: Value = serde_json::from_str(text).unwrap();
        let kind = message["type"].as_str().expect("a type").to_owned();
        if self.shown.len() == SHOWN_MAX {
            self.shown.pop_front();
        }
        self.shown.push_back(text.chars().take(SHOWN_CHARS_MAX).collect());
        self.arrivals += 1;
        let frame = Frame { arrival: self.arrivals, kind, data: message["data"].take() };
        self.inbox.push_back(frame);
    }

    fn history(&self) -> String {
        self.shown.iter().map(|line| format!("  {line}\n")).collect()
    }
}

impl LiveView {
    /// The view of a run from its first row on.
    pub(crate) fn of(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// Whether the frame is about this run.
    pub(crate) fn concerns(&self, frame: &Frame) -> bool {
        match frame.kind.as_str() {
            "run_status" => frame.data["run_id"] == self.run.as_str(),
            "stream_state" | "stream_text" | "stream_update" | "stream_note" | "steer_settled"
            | "stream_terminal" | "sync_required" => frame.data["entity_id"] == self.run.as_str(),
            _ => false,
        }
    }

    /// Takes a frame of this run in.
    ///
    /// # Panics
    /// When its numbers do not continue what is known (INV-CUR), or it follows the terminal.
    #[track_caller]
    pub(crate) fn apply(&mut self, frame: &Frame) {
        match frame.kind.as_str() {
            "run_status" => {
                self.phases.push(frame.data["phase"].as_str().unwrap().to_owned());
            }
            "sync_required" => self.gapped = true,
            "stream_state" if frame.data["status"] != "running" => {}
            "stream_state" => self.load(frame),
            // A stream_state holds what was sent before it.
            _ if frame.arrival < self.joined => {
                let seq = frame.data["stream_seq"].as_u64().expect("a row");
                assert!(seq <= self.seq, "the stream_state lacks row {seq}");
            }
            kind => {
                self.numbered(kind, &frame.data);
                if self.terminal.is_some() {
                    self.ended = frame.arrival;
                }
            }
        }
    }

    /// All text of items of one kind, in order.
    pub(crate) fn text_of(&self, kind: &str) -> String {
        self.items.iter().filter(|item| item.kind == kind).map(|item| &*item.text).collect()
    }

    /// The text of the answer.
    pub(crate) fn text(&self) -> String {
        self.text_of("text")
    }

    /// The outcome of the ended run.
    #[track_caller]
    pub(crate) fn outcome(&self) -> String {
        let terminal = self.terminal.as_ref().expect("an ended run");
        terminal["status"].as_str().expect("an outcome").to_owned()
    }

    /// Item id to text, of the items that have text.
    pub(crate) fn texts(&self) -> BTreeMap<&str, &str> {
        let texts = self.items.iter().filter(|item| item.value.is_null());
        texts.map(|item| (&*item.item_id, &*item.text)).collect()
    }

    #[track_caller]
    fn load(&mut self, frame: &Frame) {
        let data = &frame.data;
        (self.joined, self.gapped) = (frame.arrival, false);
        if let Some(deltas) = data["deltas"].as_array() {
            let from = data["from_seq"].as_u64().unwrap();
            assert!(from <= self.seq, "deltas from {from}, known are rows up to {}", self.seq);
            for delta in deltas {
                if delta["stream_seq"].as_u64() > Some(self.seq) {
                    self.numbered(delta["type"].as_str().unwrap(), delta);
                }
            }
        } else {
            self.items = data["items"].as_array().unwrap().iter().map(ViewItem::read).collect();
            self.note_seq = None;
        }
        let seq = data["stream_seq"].as_u64().unwrap();
        assert!(self.seq <= seq, "stream_state of row {seq}, known is row {}", self.seq);
        self.seq = seq;
    }

    #[track_caller]
    fn numbered(&mut self, kind: &str, data: &Value) {
        assert!(self.terminal.is_none(), "{kind} after the terminal: {data}");
        let seq = data["stream_seq"].as_u64().unwrap_or_else(|| panic!("no row: {data}"));
        let base = data["base_seq"].as_u64();
        match kind {
            "stream_text" => {
                let item = self.item(data);
                assert_eq!(base, Some(item.last_seq), "a row of the item is missing: {data}");
                assert!(item.last_seq < seq, "a row came twice: {data}");
                item.last_seq = seq;
                item.text += data["text"].as_str().unwrap();
            }
            "stream_update" => {
                let item = self.item(data);
                assert!(item.last_seq < seq, "an older value came later: {data}");
                item.last_seq = seq;
                item.value = data["value"].clone();
            }
            "stream_note" => {
                let known = self.note_seq.or(base);
                assert_eq!(base, known, "a note is missing: {data}");
                assert!(base < Some(seq), "a note came twice: {data}");
                self.note_seq = Some(seq);
                let names = data["names"].as_array().unwrap().iter();
                self.notes.extend(names.map(|name| name.as_str().unwrap().to_owned()));
            }
            "steer_settled" => {
                assert!(self.seq < seq, "a steer is settled twice: {data}");
                let (steer, outcome) = (&data["steer_id"], &data["outcome"]);
                self.steers
                    .push((steer.as_str().unwrap().into(), outcome.as_str().unwrap().into()));
            }
            "stream_terminal" => {
                assert!(self.seq < seq, "a row follows the terminal: {data}");
                self.terminal = Some(data.clone());
            }
            other => panic!("not a numbered frame: {other}"),
        }
        self.seq = self.seq.max(seq);
    }

    fn item(&mut self, data: &Value) -> &mut ViewItem {
        let item_id = data["item_id"].as_str().unwrap();
        let place = self.items.iter().position(|item| item.item_id == item_id);
        let place = place.unwrap_or_else(|| {
            self.items.push(ViewItem {
                item_id: item_id.to_owned(),
                kind: data["item_kind"].as_str().unwrap().to_owned(),
                text: String::new(),
                value: Value::Null,
                last_seq: 0,
            });
            self.items.len() - 1
        });
        &mut self.items[place]
    }
}

impl ViewItem {
    fn read(item: &Value) -> Self {
        Self {
            item_id: item["item_id"].as_str().unwrap().to_owned(),
            kind: item["item_kind"].as_str().unwrap().to_owned(),
            text: item["text"].as_str().unwrap_or_default().to_owned(),
            value: item["value"].clone(),
            last_seq: item["last_seq"].as_u64().unwrap(),
        }
    }
}
