//! A local OpenAI-compatible endpoint that misbehaves on command.
//!
//! What it does is named by the prompt, when its last user message begins with `fake:MODE`, or else by
//! the model; anything else gets the plain answer. It writes down what it saw, in order.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use async_channel::{Receiver, Sender};
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, FutureExt};
use futures_rustls::TlsAcceptor;
use serde_json::{Value, json};
use smol::net::{TcpListener, TcpStream};

/// The plain answer, which every mode that completes gives.
pub(crate) const ANSWER: &str = "Hello from the fake model: ä€😀.";

/// Modes and what they do.
pub(crate) const MODES: [&str; 24] = [
    "ok",           // the answer in several deltas, first one role-only, then [DONE]
    "thinking",     // reasoning before the answer
    "tool_call",    // requests a tool after the answer
    "usage",        // the answer, then a usage chunk without choices
    "length",       // the answer, finished by the model's limit
    "crlf",         // the answer with CRLF line ends and comments
    "split_utf8",   // the answer, one byte per chunk
    "no_last_line", // the answer, without the empty line after [DONE]
    "rate_limit",   // 429
    "server_error", // 500
    "unauthorized", // 401, repeating the key
    "forbidden",    // 403
    "refused",      // 400
    "redirect",     // 302 to itself
    "malformed",    // half the answer, then a chunk that is no JSON
    "error_object", // half the answer, then an error object
    "cut",          // half the answer, then the connection is closed
    "cut_end",      // half the answer, then the response ends properly, without [DONE]
    "silent",       // half the answer, then nothing for ever
    "mute",         // takes the request and never answers
    "hang_up",      // takes the request and closes
    "slow",         // a word every 20 ms until the client closes, for 30 s at most
    "huge_line",    // half the answer, then a line of 2 MiB
    "not_http",     // answers something that is not HTTP
];

/// What the endpoint saw.
#[derive(Clone, Debug)]
pub(crate) enum Saw {
    /// A complete request.
    Request { mode: String, authorization: Option<String>, body: Value },
    /// The client closed its connection before the endpoint did.
    ClientClosed { mode: String, at: Instant },
    /// The endpoint said all it had to say.
    Finished { mode: String },
}

/// A running endpoint; it stops accepting when dropped.
pub(crate) struct FakeOpenAi {
    address: SocketAddr,
    is_tls: bool,
    saw: Receiver<Saw>,
    _accepting: smol::Task<()>,
}

impl FakeOpenAi {
    /// Starts an endpoint on a free port.
    pub(crate) fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts an endpoint behind TLS.
    pub(crate) fn start_tls(acceptor: TlsAcceptor) -> Self {
        Self::start_with(Some(acceptor))
    }

    /// What to write into the configuration.
    pub(crate) fn base_url(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}/v1", self.address)
    }

    /// The next thing the endpoint saw.
    pub(crate) async fn saw(&self) -> Saw {
        self.saw.recv().await.unwrap()
    }

    /// Waits until the client closes a connection; skips everything before.
    pub(crate) async fn client_closed(&self) -> Instant {
        loop {
            if let Saw::ClientClosed { at, .. } = self.saw().await {
                return at;
            }
        }
    }

    /// A base URL where nobody listens.
    pub(crate) fn refusing_url() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    fn start_with(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = smol::block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (saw_sender, saw) = async_channel::unbounded();
        let is_tls = acceptor.is_some();
        let accepting = smol::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                smol::spawn(serve(stream, acceptor.clone(), saw_sender.clone())).detach();
            }
        });
        Self { address, is_tls, saw, _accepting: accepting }
    }
}

async fn serve(stream: TcpStream, acceptor: Option<TlsAcceptor>, saw: Sender<Saw>) {
    match acceptor {
        None => answer(stream, saw).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => answer(stream, saw).await,
            Err(_refused_by_client) => {}
        },
    }
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, saw: Sender<Saw>) {
    let (mut reader, writer) = futures_lite::io::split(stream);
    let Ok((authorization, body)) = read_request(&mut reader).await else { return };
    let mode = mode_of(&body);
    let _ = saw.try_send(Saw::Request {
        mode: mode.clone(),
        authorization: authorization.clone(),
        body,
    });
    let mut response = ResponseWriter { writer };
    let played = async {
        // A failed write is how a closed connection shows while the endpoint is writing.
        response.play(&mode, authorization.as_deref()).await.is_ok()
    };
    let watched = async {
        let mut byte = [0];
        while matches!(reader.read(&mut byte).await, Ok(1)) {}
        false
    };
    let at = |is_finished| match is_finished {
        true => Saw::Finished { mode: mode.clone() },
        false => Saw::ClientClosed { mode: mode.clone(), at: Instant::now() },
    };
    let is_finished = watched.or(played).await;
    let _ = saw.try_send(at(is_finished));
}

async fn read_request(
    reader: &mut (impl AsyncRead + Unpin),
) -> io::Result<(Option<String>, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        reader.read_exact(&mut byte).await?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then(|| value.to_owned()))
    };
    let length: usize = header("content-length").unwrap().parse().map_err(io::Error::other)?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    Ok((header("authorization"), serde_json::from_slice(&body)?))
}

fn mode_of(body: &Value) -> String {
    let prompt = body["messages"]
        .as_array()
        .and_then(|messages| messages.iter().rfind(|message| message["role"] == "user"))
        .and_then(|message| message["content"].as_str())
        .unwrap_or_default();
    let named = prompt
        .strip_prefix("fake:")
        .and_then(|rest| rest.split_whitespace().next())
        .or(body["model"].as_str())
        .unwrap_or_default();
    if MODES.contains(&named) { named.to_owned() } else { "ok".to_owned() }
}

fn delta(delta: Value) -> Value {
    json!({"object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn words(text: &str) -> impl Iterator<Item = Value> {
    text.split_inclusive(' ').map(|word| delta(json!({"content": word})))
}

struct ResponseWriter<W> {
    writer: W,
}

impl<W: AsyncWrite + Unpin> ResponseWriter<W> {
    async fn play(&mut self, mode: &str, authorization: Option<&str>) -> io::Result<()> {
        match mode {
            "rate_limit" => self.refuse("429 Too Many Requests", "slow down").await,
            "server_error" => self.refuse("500 Internal Server Error", "out of memory").await,
            "unauthorized" => {
                let text = format!("wrong key: {}", authorization.unwrap_or("none"));
                self.refuse("401 Unauthorized", &text).await
            }
            "forbidden" => self.refuse("403 Forbidden", "not for you").await,
            "refused" => self.refuse("400 Bad Request", "no such model").await,
            "redirect" => self.refuse("302 Found", "over there").await,
            "mute" => std::future::pending().await,
            "hang_up" => Ok(()),
            "not_http" => self.writer.write_all(b"220 mail.example ready\r\n\r\n").await,
            _ => {
                self.write_head().await?;
                self.stream(mode).await
            }
        }
    }

    async fn stream(&mut self, mode: &str) -> io::Result<()> {
        match mode {
            "crlf" => return self.complete_with_carriage_returns().await,
            "split_utf8" => return self.complete_byte_by_byte().await,
            "slow" => return self.tick().await,
            _ => self.event(&delta(json!({"role": "assistant", "content": null}))).await?,
        }
        let half = "Hello from ";
        match mode {
            "malformed" | "error_object" | "cut" | "cut_end" | "silent" | "huge_line" => {
                for event in words(half) {
                    self.event(&event).await?;
                }
                self.break_off(mode).await
            }
            "thinking" => {
                self.event(&delta(json!({"reasoning_content": "Let me "}))).await?;
                self.event(&delta(json!({"reasoning_content": "think."}))).await?;
                self.complete("stop", mode).await
            }
            "length" => self.complete("length", mode).await,
            "tool_call" => self.complete("tool_calls", mode).await,
            _ => self.complete("stop", mode).await,
        }
    }

    /// The endings that are no proper end.
    async fn break_off(&mut self, mode: &str) -> io::Result<()> {
        match mode {
            "malformed" => self.chunk(b"data: {\"choices\": [\n\n").await?,
            "error_object" => {
                self.event(&json!({"error": {"message": "overloaded", "code": 503}})).await?;
            }
            "cut_end" => return self.writer.write_all(b"0\r\n\r\n").await,
            "huge_line" => {
                let line = format!("data: {}\n\n", "x".repeat(2 << 20));
                for piece in line.as_bytes().chunks(64 << 10) {
                    self.chunk(piece).await?;
                }
            }
            "silent" => return std::future::pending().await,
            _cut => return Ok(()),
        }
        self.end().await
    }

    async fn complete(&mut self, reason: &str, mode: &str) -> io::Result<()> {
        for event in words(ANSWER) {
            self.event(&event).await?;
        }
        if mode == "tool_call" {
            for function in
                [json!({"name": "look", "arguments": "{\"at\""}), json!({"arguments": ":1}"})]
            {
                let calls = json!([{"index": 0, "id": "call_1", "function": function}]);
                self.event(&delta(json!({"tool_calls": calls}))).await?;
            }
        }
        self.event(&finish(reason)).await?;
        if mode == "usage" {
            let usage = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
                "prompt_tokens_details": {"cached_tokens": 5}});
            self.event(&json!({"choices": [], "usage": usage})).await?;
        }
        if mode == "no_last_line" {
            self.chunk(b"data: [DONE]").await?;
            return self.writer.write_all(b"0\r\n\r\n").await;
        }
        self.end().await
    }

    async fn complete_with_carriage_returns(&mut self) -> io::Result<()> {
        for event in words(ANSWER) {
            let text = format!(": comment\r\nevent: message\r\ndata: {event}\r\n\r\n");
            self.chunk(text.as_bytes()).await?;
        }
        self.chunk(b": bye\r\n\r\ndata: [DONE]\r\n\r\n").await
    }

    async fn complete_byte_by_byte(&mut self) -> io::Result<()> {
        let event = delta(json!({"content": ANSWER}));
        for byte in format!("data: {event}\n\ndata: [DONE]\n\n").as_bytes() {
            self.chunk(&[*byte]).await?;
        }
        Ok(())
    }

    /// The pace of a real model; nothing waits for these pauses but the reader of the stream.
    async fn tick(&mut self) -> io::Result<()> {
        for number in 0..1_500 {
            self.event(&delta(json!({"content": format!("tick {number} ")}))).await?;
            smol::Timer::after(std::time::Duration::from_millis(20)).await;
        }
        self.event(&finish("stop")).await?;
        self.end().await
    }

    async fn write_head(&mut self) -> io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n";
        self.writer.write_all(head.as_bytes()).await
    }

    async fn refuse(&mut self, status: &str, message: &str) -> io::Result<()> {
        let body = json!({"error": {"message": message}}).to_string();
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nretry-after: 7\r\n\
             location: /v1/chat/completions\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
        );
        self.writer.write_all(response.as_bytes()).await
    }

    async fn event(&mut self, event: &Value) -> io::Result<()> {
        self.chunk(format!("data: {event}\n\n").as_bytes()).await
    }

    async fn end(&mut self) -> io::Result<()> {
        self.chunk(b"data: [DONE]\n\n").await?;
        self.writer.write_all(b"0\r\n\r\n").await
    }

    async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.writer.write_all(&chunk).await
    }
}
