//! One request and its streamed answer.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_lite::FutureExt;
use futures_lite::future::poll_fn;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::{FailureKind, SinkClosed};
use runwarden_runtime::ports::{AgentFailure, EventSink, Returned, World};
use serde_json::Value;
use smol_hyper::rt::FuturesIo;

use super::connect::{Connection, connect};
use super::endpoint::Endpoint;
use super::sse::SseParser;
use super::translate::Translator;
use super::wire::Chunk;

/// Longest time for resolving the name, connecting and the TLS handshake together.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Longest time from the request to the head of the response. Some endpoints answer only once the
/// whole prompt is read. What follows the head is bounded by AGENT_SILENCE_MAX.
pub const FIRST_BYTE_MAX: Duration = Duration::from_secs(300);

/// Longest time for the body of an error response, which only explains.
pub const ERROR_BODY_MAX: Duration = Duration::from_secs(5);

/// Most bytes of an error response that are read.
pub const ERROR_BODY_BYTES_MAX: usize = 4_096;

/// Bytes hyper may buffer for one response, its head included.
const READ_BUFFER_BYTES_MAX: usize = 128 << 10;

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

type HttpConnection = http1::Connection<FuturesIo<Box<dyn Connection>>, Full<Bytes>>;

/// Sends `body` and passes the answer to `sink`. Dropping the future closes the connection.
pub(super) async fn exchange<W: World>(
    endpoint: &Endpoint,
    world: &W,
    body: &Value,
    sink: &EventSink,
) -> Returned {
    match attempt(endpoint, world, body, sink).await {
        Ok(()) => Returned::Completed,
        Err(Ended::SinkClosed) => Returned::Interrupted,
        Err(Ended::Failed(failure)) => Returned::Failed(AgentFailure {
            kind: failure.kind,
            detail: endpoint.redact(&failure.detail),
        }),
    }
}

/// Connects within [`CONNECT_MAX`].
///
/// # Errors
/// Every failure is [`FailureKind::Unreachable`].
pub(super) async fn reach<W: World>(
    endpoint: &Endpoint,
    world: &W,
) -> Result<Box<dyn Connection>, AgentFailure> {
    within(world, CONNECT_MAX, connect(endpoint))
        .await
        .unwrap_or_else(|| Err(failure(FailureKind::Unreachable, "no connection within 10 s")))
}

/// Why an exchange ended early.
enum Ended {
    SinkClosed,
    Failed(AgentFailure),
}

impl From<SinkClosed> for Ended {
    fn from(_: SinkClosed) -> Self {
        Self::SinkClosed
    }
}

impl From<AgentFailure> for Ended {
    fn from(failure: AgentFailure) -> Self {
        Self::Failed(failure)
    }
}

/// The connection makes progress only while it is polled beside whoever waits for it. Nothing is
/// spawned, so that dropping the exchange drops the connection.
struct Driver {
    connection: Option<Pin<Box<HttpConnection>>>,
}

impl Driver {
    async fn drive<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        poll_fn(|cx| {
            if let Some(connection) = &mut self.connection
                && connection.as_mut().poll(cx).is_ready()
            {
                // An error of the connection also reaches whoever waits for head or body.
                self.connection = None;
            }
            future.as_mut().poll(cx)
        })
        .await
    }
}

async fn attempt<W: World>(
    endpoint: &Endpoint,
    world: &W,
    body: &Value,
    sink: &EventSink,
) -> Result<(), Ended> {
    let stream = reach(endpoint, world).await?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(READ_BUFFER_BYTES_MAX)
        .handshake(FuturesIo::new(stream))
        .await
        .map_err(|error| failure(FailureKind::Unreachable, describe(&error)))?;
    let mut driver = Driver { connection: Some(Box::pin(connection)) };
    let answered = driver.drive(sender.send_request(request(endpoint, body)));
    let response = within(world, FIRST_BYTE_MAX, answered)
        .await
        .ok_or_else(|| failure(FailureKind::Unreachable, "no response within 300 s"))?
        .map_err(|error| failure(FailureKind::Malformed, describe(&error)))?;
    if response.status() == StatusCode::OK {
        stream_answer(&mut driver, response, sink).await
    } else {
        Err(refusal(&mut driver, world, response).await.into())
    }
}

fn request(endpoint: &Endpoint, body: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::post(endpoint.path.as_str())
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("the path was taken from a parsed URL");
    let headers = request.headers_mut();
    headers.insert(HOST, endpoint.authority.clone());
    for (name, value) in [
        (ACCEPT, "text/event-stream"),
        (CONTENT_TYPE, "application/json"),
        (CONNECTION, "close"),
        (USER_AGENT, concat!("runwarden/", env!("CARGO_PKG_VERSION"))),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(authorization) = &endpoint.authorization {
        headers.insert(AUTHORIZATION, authorization.clone());
    }
    request
}

async fn stream_answer(
    driver: &mut Driver,
    response: Response<Incoming>,
    sink: &EventSink,
) -> Result<(), Ended> {
    let malformed = |detail: String| failure(FailureKind::Malformed, detail);
    let (head, mut body) = response.into_parts();
    let mut parser = SseParser::default();
    let mut translator = Translator::default();
    let mut data = Vec::new();
    while let Some(frame) = driver.drive(body.frame()).await {
        let frame = frame.map_err(|error| malformed(describe(&error)))?;
        let Ok(bytes) = frame.into_data() else { continue };
        let parsed = parser.push(&bytes, &mut data);
        // What was complete before a fault is still the answer's.
        for data in data.drain(..) {
            if data == DONE {
                return Ok(());
            }
            take_event(&data, &mut translator, sink).await?;
        }
        parsed.map_err(|error| malformed(error.to_string()))?;
    }
    match parser.finish() {
        Ok(Some(data)) if data == DONE => Ok(()),
        Ok(_) => {
            let kind = text_of(&head.headers, &CONTENT_TYPE);
            Err(malformed(format!("the stream ended before [DONE]; content type {kind}")).into())
        }
        Err(error) => Err(malformed(error.to_string()).into()),
    }
}

async fn take_event(
    data: &str,
    translator: &mut Translator,
    sink: &EventSink,
) -> Result<(), Ended> {
    let malformed = |detail: String| failure(FailureKind::Malformed, detail);
    let chunk: Chunk = serde_json::from_str(data)
        .map_err(|error| malformed(format!("a chunk is not usable: {error}")))?;
    if let Some(error) = &chunk.error {
        let detail = excerpt(&error.to_string());
        return Err(failure(FailureKind::Provider, format!("error in the stream: {detail}")).into());
    }
    let mut events = Vec::new();
    let taken = translator.take(chunk, &mut events);
    for event in events {
        sink.send(event).await?;
    }
    taken.map_err(|error| malformed(error.to_string()))?;
    Ok(())
}

/// The failure that a response other than 200 means. Redirects are not followed.
async fn refusal<W: World>(
    driver: &mut Driver,
    world: &W,
    response: Response<Incoming>,
) -> AgentFailure {
    let status = response.status();
    let kind = match status.as_u16() {
        401 | 403 => FailureKind::Unauthorized,
        429 => FailureKind::RateLimited,
        500..=599 => FailureKind::Provider,
        300..=499 => FailureKind::Refused,
        _ => FailureKind::Malformed,
    };
    let (head, body) = response.into_parts();
    let mut bytes = Vec::new();
    let _ = within(world, ERROR_BODY_MAX, driver.drive(read_some(body, &mut bytes))).await;
    let mut detail = format!("status {status}");
    if let Some(after) = head.headers.get(RETRY_AFTER) {
        detail = format!("{detail}, retry after {}", String::from_utf8_lossy(after.as_bytes()));
    }
    failure(kind, format!("{detail}: {}", excerpt(&String::from_utf8_lossy(&bytes))))
}

async fn read_some(mut body: Incoming, bytes: &mut Vec<u8>) {
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let room = ERROR_BODY_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if bytes.len() == ERROR_BODY_BYTES_MAX {
            return;
        }
    }
}

/// The result of `future`, or `None` once `duration` has passed.
async fn within<W: World, T>(
    world: &W,
    duration: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let timer = world.sleep_until(world.now().plus(duration));
    let result = async { Some(future.await) };
    let expired = async {
        timer.await;
        None
    };
    result.or(expired).await
}

fn failure(kind: FailureKind, detail: impl Into<String>) -> AgentFailure {
    AgentFailure { kind, detail: detail.into() }
}

/// An error with its causes; hyper says little at the top.
fn describe(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    excerpt(value.as_deref().unwrap_or("not given"))
}

fn excerpt(text: &str) -> String {
    text.chars().take(1_024).collect()
}
