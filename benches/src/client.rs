//! A client over WebSocket that waits for the answers to its actions and drops what else it is told.

use std::net::SocketAddr;

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::Message;
use async_tungstenite::tungstenite::client::IntoClientRequest;
use async_tungstenite::tungstenite::http::{HeaderValue, header};
use futures_lite::StreamExt;
use serde_json::{Value, json};
use smol::net::TcpStream;

use crate::Problem;
use crate::server::TOKEN;

/// One connection.
pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    requests: u64,
    /// Whether the last entry of the list that came shows its session idle.
    pub(crate) is_idle: bool,
}

impl Client {
    /// A connection that has said `hello`.
    ///
    /// # Errors
    /// When the server does not take it.
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self, Problem> {
        let mut request = format!("ws://{address}/v1/ws").into_client_request()?;
        let bearer = HeaderValue::from_str(&format!("Bearer {TOKEN}")).expect("plain text");
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        let stream = TcpStream::connect(address).await.map_err(Problem::io("the server"))?;
        stream.set_nodelay(true).map_err(Problem::io("the socket"))?;
        let (socket, _) = async_tungstenite::client_async(request, stream).await?;
        let mut client = Self { socket, requests: 0, is_idle: true };
        let hello = json!({
            "protocol_min": 1, "protocol_max": 1, "features": [], "client_build": null,
        });
        client.expect("hello", hello, "welcome").await?;
        Ok(client)
    }

    /// Sends an action and waits for its answer, which must be of type `expected`; its data.
    ///
    /// # Errors
    /// When another answer comes, or none.
    pub(crate) async fn expect(
        &mut self,
        action: &str,
        fields: Value,
        expected: &'static str,
    ) -> Result<Value, Problem> {
        let mut frame = self.ask(action, fields).await?;
        if frame["type"] != expected {
            return Err(Problem::Answer { expected, answer: frame.to_string() });
        }
        Ok(frame["data"].take())
    }

    /// Sends an action and waits for its answer.
    ///
    /// # Errors
    /// When none comes.
    pub(crate) async fn ask(&mut self, action: &str, mut fields: Value) -> Result<Value, Problem> {
        self.requests += 1;
        let request_id = format!("r{}", self.requests);
        fields["action"] = json!(action);
        fields["request_id"] = json!(request_id);
        self.socket.send(Message::text(fields.to_string())).await?;
        self.until(|frame| frame["data"]["request_id"] == *request_id).await
    }

    /// Waits for the first frame that fits.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value, Problem> {
        loop {
            let message = self.socket.next().await;
            let Some(message) = message.transpose()? else {
                return Err(Problem::Answer { expected: "a frame", answer: "the end".to_owned() });
            };
            let Message::Text(text) = message else { continue };
            let Ok(frame) = serde_json::from_str::<Value>(text.as_str()) else { continue };
            if frame["type"] == "session_item" {
                self.is_idle = frame["data"]["item"]["status"] == "idle";
            }
            if fits(&frame) {
                return Ok(frame);
            }
        }
    }
}
