//! A client of the server that looks only at what it waits for.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::Problem;
use crate::wire::{Wire, contains};

/// One connection that has said `hello`.
pub(crate) struct Client {
    wire: Wire,
    requests: u64,
}

impl Client {
    /// A connection that has said `hello`.
    ///
    /// # Errors
    /// When the server does not take it.
    pub(crate) async fn connect(address: SocketAddr, token: &str) -> Result<Self, Problem> {
        let mut client = Self { wire: Wire::connect(address, token).await?, requests: 0 };
        let hello = json!({
            "protocol_min": 1, "protocol_max": 1, "features": [], "client_build": null,
        });
        client.expect("hello", hello, "welcome").await?;
        Ok(client)
    }

    /// A connection to a program that begins with frames at once.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) async fn without_upgrade(address: SocketAddr) -> Result<Self, Problem> {
        Ok(Self { wire: Wire::without_upgrade(address).await?, requests: 0 })
    }

    /// The next frame.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(crate) async fn next(&mut self) -> Result<&[u8], Problem> {
        self.wire.next().await
    }

    /// A session of its own, which it has opened.
    ///
    /// # Errors
    /// When the server makes none.
    pub(crate) async fn create_session(&mut self) -> Result<String, Problem> {
        self.create_session_with(json!({})).await
    }

    /// The same, of another agent than the default.
    ///
    /// # Errors
    /// When the server makes none.
    pub(crate) async fn create_session_of(&mut self, agent: &str) -> Result<String, Problem> {
        self.create_session_with(json!({"agent": agent})).await
    }

    async fn create_session_with(&mut self, fields: Value) -> Result<String, Problem> {
        let created = self.expect("create_session", fields, "session_created").await?;
        let session = created["session_id"].as_str().unwrap_or_default().to_owned();
        self.open(&session).await?;
        Ok(session)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// When the server does not.
    pub(crate) async fn open(&mut self, session: &str) -> Result<(), Problem> {
        let open = json!({"session_id": session, "generation": 1});
        self.expect("open_session", open, "session_manifest").await?;
        Ok(())
    }

    /// Closes a session.
    ///
    /// # Errors
    /// When the connection is gone.
    pub(crate) async fn close(&mut self, session: &str) -> Result<(), Problem> {
        let close = json!({"session_id": session});
        self.expect("close_session", close, "session_closed").await?;
        Ok(())
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
        self.wire.send(&fields.to_string()).await?;
        let asked = format!("\"request_id\":\"{request_id}\"");
        self.until(&[&asked]).await
    }

    /// Waits until an entry of the list shows the session idle, at a later revision than `revision`: an older
    /// entry may still be on its way.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(crate) async fn until_idle(&mut self, session: &str, revision: i64) -> Result<(), Problem> {
        let of_session = format!("\"session_id\":\"{session}\"");
        loop {
            let parts = ["\"type\":\"session_item\"", "\"status\":\"idle\"", &of_session];
            let entry = self.until(&parts).await?;
            let shown = &entry["data"]["item"]["session_revision"];
            if shown.as_i64().is_some_and(|shown| shown > revision) {
                return Ok(());
            }
        }
    }

    /// Waits for the first frame that contains all of these.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(crate) async fn until(&mut self, parts: &[&str]) -> Result<Value, Problem> {
        loop {
            let text = self.wire.next().await?;
            if parts.iter().all(|part| contains(text, part))
                && let Ok(frame) = serde_json::from_slice(text)
            {
                return Ok(frame);
            }
        }
    }
}
