//! A client of a simulation: real WebSocket frames, JSON as it comes.

use std::collections::VecDeque;

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::Message;
use async_tungstenite::tungstenite::protocol::CloseFrame;
use futures_lite::StreamExt;
use runwarden_protocol::instant::Instant;
use serde_json::{Value, json};

use super::duplex::End;
use super::executor::Executor;

/// A frame of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its type.
    pub kind: String,
    /// Its data.
    pub data: Value,
    /// When it was read.
    pub at: Instant,
}

/// One connection. A frame that nobody asked for yet waits in order.
pub struct Client {
    socket: WebSocketStream<End>,
    executor: Executor,
    waiting: VecDeque<Frame>,
    requests: u64,
    is_over: bool,
    closed: Option<(u16, String)>,
    everything: String,
}

impl Frame {
    /// Whether it is of this type and its field has this text.
    pub fn is(&self, kind: &str, field: &str, text: &str) -> bool {
        self.kind == kind && self.data[field] == text
    }
}

impl Client {
    pub(super) fn new(socket: WebSocketStream<End>, executor: Executor) -> Self {
        Self {
            socket,
            executor,
            waiting: VecDeque::new(),
            requests: 0,
            is_over: false,
            closed: None,
            everything: String::new(),
        }
    }

    pub(super) async fn hello(socket: WebSocketStream<End>, executor: Executor) -> Self {
        let mut client = Self::new(socket, executor);
        let hello =
            json!({"action": "hello", "protocol_min": 1, "protocol_max": 1, "features": []});
        client.call(hello).await;
        client
    }

    /// Sends an action under a fresh request id, and returns that.
    pub async fn send(&mut self, mut action: Value) -> String {
        self.requests += 1;
        let request_id = format!("request-{}", self.requests);
        action["request_id"] = json!(request_id);
        if self.socket.send(Message::text(action.to_string())).await.is_err() {
            self.is_over = true;
        }
        request_id
    }

    /// Sends an action and waits for its answer; `None` when the connection is lost.
    pub async fn call(&mut self, action: Value) -> Option<Frame> {
        let request_id = self.send(action).await;
        self.until(|frame| frame.data["request_id"] == request_id.as_str()).await
    }

    /// Takes the first frame, of those that wait and those that come, that `wanted` picks. Others stay.
    pub async fn until(&mut self, wanted: impl Fn(&Frame) -> bool) -> Option<Frame> {
        let mut looked = 0;
        loop {
            while looked < self.waiting.len() {
                if wanted(&self.waiting[looked]) {
                    return self.waiting.remove(looked);
                }
                looked += 1;
            }
            self.receive().await?;
        }
    }

    /// All frames that came and were not taken, in order.
    pub fn untaken(&self) -> impl Iterator<Item = &Frame> {
        self.waiting.iter()
    }

    /// Everything that came so far, as text.
    pub fn everything(&self) -> &str {
        &self.everything
    }

    /// Reads until the server closes; its code and reason, if it said them.
    pub async fn closed(&mut self) -> Option<(u16, String)> {
        while self.receive().await.is_some() {}
        self.closed.clone()
    }

    /// Creates a session and opens it; its id.
    pub async fn create_session(&mut self) -> Option<String> {
        let created = self.call(json!({"action": "create_session"})).await?;
        let session = created.data["session_id"].as_str()?.to_owned();
        self.open(&session).await?;
        Some(session)
    }

    /// Opens a session.
    pub async fn open(&mut self, session: &str) -> Option<Frame> {
        self.call(json!({"action": "open_session", "session_id": session, "generation": 1})).await
    }

    /// Sends a message; the reply.
    pub async fn say(&mut self, session: &str, text: &str) -> Option<Frame> {
        self.requests += 1;
        let key = format!("key-{}", self.requests);
        let message = json!({
            "action": "send_message", "session_id": session, "text": text, "idempotency_key": key,
        });
        self.call(message).await
    }

    /// Asks for the Stop of a run, and does not wait for the answer.
    pub async fn send_stop(&mut self, session: &str, run: &str) -> String {
        self.send(json!({"action": "stop_run", "session_id": session, "run_id": run})).await
    }

    /// Stops a run; the answer.
    pub async fn stop(&mut self, session: &str, run: &str) -> Option<Frame> {
        self.call(json!({"action": "stop_run", "session_id": session, "run_id": run})).await
    }

    /// The terminal of a run.
    pub async fn ended(&mut self, run: &str) -> Option<Frame> {
        self.until(|frame| frame.kind == "stream_terminal" && frame.data["entity_id"] == run).await
    }

    async fn receive(&mut self) -> Option<()> {
        while !self.is_over {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    self.take(&text);
                    return Some(());
                }
                Some(Ok(
                    Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
                )) => {}
                Some(Ok(Message::Close(frame))) => {
                    self.is_over = true;
                    let said = |frame: CloseFrame| (frame.code.into(), frame.reason.to_string());
                    self.closed = frame.map(said);
                }
                Some(Err(_)) | None => self.is_over = true,
            }
        }
        None
    }

    fn take(&mut self, text: &str) {
        let mut message: Value = serde_json::from_str(text).expect("the server sends JSON");
        let kind = message["type"].as_str().expect("a frame has a type").to_owned();
        let data = message["data"].take();
        self.everything.push_str(text);
        self.waiting.push_back(Frame { kind, data, at: self.executor.now() });
    }
}
