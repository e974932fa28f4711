//! An agent on the crate `agent-client-protocol`: a test starts its own binary again as this process.
//! Its sessions are files in the folder it runs in, so that another process can load them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ContentBlock, ContentChunk, Diff, InitializeRequest,
    InitializeResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, PromptRequest, PromptResponse, RequestPermissionOutcome,
    RequestPermissionRequest, SessionId, SessionNotification, SessionUpdate, StopReason, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_client_protocol::{Agent, Client, Error, Result, Stdio};
use async_channel::Receiver;

/// Set in the agent's process.
pub(crate) const VARIABLE: &str = "RUNWARDEN_TEST_RUST_AGENT";

/// What makes a running prompt of a session return.
type Cancels = Arc<Mutex<BTreeMap<Arc<str>, async_channel::Sender<()>>>>;

/// Becomes the agent if this process was started as one; never returns then.
pub(crate) fn be_the_agent_if_asked() {
    if std::env::var_os(VARIABLE).is_some() {
        // Ends the line that the test harness began.
        println!();
        let served = smol::block_on(serve());
        std::process::exit(i32::from(served.is_err()));
    }
}

async fn serve() -> Result<()> {
    let cancels = Cancels::default();
    let cancelled = Arc::clone(&cancels);
    Agent
        .v1()
        .name("example")
        .on_receive_request(
            async move |greeting: InitializeRequest, responder, _connection| {
                let capabilities = AgentCapabilities::new().load_session(true);
                responder.respond(
                    InitializeResponse::new(greeting.protocol_version)
                        .agent_capabilities(capabilities),
                )
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, _connection| {
                let id = format!("s-{}", std::process::id());
                keep(&id, "");
                responder.respond(NewSessionResponse::new(id))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |load: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                let Some(said) = kept(&load.session_id.0) else {
                    return responder.respond_with_error(Error::invalid_params());
                };
                let turn = Turn { connection, session_id: load.session_id };
                turn.update(SessionUpdate::UserMessageChunk(chunk(&said)))?;
                responder.respond(LoadSessionResponse::new())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _connection| {
                // Dropping the sender is the signal.
                cancelled.lock().unwrap().remove(&cancel.session_id.0);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |prompt: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let (cancel, is_cancelled) = async_channel::bounded(1);
                cancels.lock().unwrap().insert(prompt.session_id.0.clone(), cancel);
                let turn =
                    Turn { connection: connection.clone(), session_id: prompt.session_id.clone() };
                connection.spawn(async move {
                    let reason = turn.work(&text_of(&prompt.prompt), &is_cancelled).await?;
                    responder.respond(PromptResponse::new(reason))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_to(Stdio::new())
        .await
}

struct Turn {
    connection: ConnectionTo<Client>,
    session_id: SessionId,
}

impl Turn {
    async fn work(&self, text: &str, is_cancelled: &Receiver<()>) -> Result<StopReason> {
        let id = &self.session_id.0;
        keep(id, &format!("{}{text}\n", kept(id).unwrap_or_default()));
        if text.ends_with("wait") {
            self.say("Waiting.")?;
            let _ = is_cancelled.recv().await;
            return Ok(StopReason::Cancelled);
        }
        if text.ends_with("edit") {
            self.edit().await?;
        } else {
            let count = kept(id).unwrap_or_default().lines().count();
            self.say(&format!("You said {count} things, the last was: {text}"))?;
        }
        Ok(StopReason::EndTurn)
    }

    async fn edit(&self) -> Result<()> {
        let entry = PlanEntry::new("Edit", PlanEntryPriority::High, PlanEntryStatus::InProgress);
        self.update(SessionUpdate::Plan(Plan::new(vec![entry])))?;
        self.update(SessionUpdate::AgentThoughtChunk(chunk("I need to edit.")))?;
        let call = ToolCall::new("t-1", "Edit notes.txt").kind(ToolKind::Edit);
        self.update(SessionUpdate::ToolCall(call.clone()))?;
        let option = |id: &'static str, name, kind| PermissionOption::new(id, name, kind);
        let options = vec![
            option("allow_once", "Allow", PermissionOptionKind::AllowOnce),
            option("allow_always", "Allow", PermissionOptionKind::AllowAlways),
            option("reject_once", "Reject", PermissionOptionKind::RejectOnce),
        ];
        let session_id = self.session_id.clone();
        let request = RequestPermissionRequest::new(session_id, call.into(), options);
        let answer = self.connection.send_request(request).block_task().await?;
        let outcome = match answer.outcome {
            RequestPermissionOutcome::Selected(selected) => selected.option_id.0.to_string(),
            _ => "cancelled".to_owned(),
        };
        let fields = if outcome.starts_with("allow") {
            let diff = Diff::new("/notes.txt", "new").old_text("old".to_owned());
            ToolCallUpdateFields::new().status(ToolCallStatus::Completed).content(vec![diff.into()])
        } else {
            ToolCallUpdateFields::new().status(ToolCallStatus::Failed)
        };
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("t-1", fields)))?;
        self.say(&format!("The permission: {outcome}"))
    }

    fn say(&self, text: &str) -> Result<()> {
        self.update(SessionUpdate::AgentMessageChunk(chunk(text)))
    }

    fn update(&self, update: SessionUpdate) -> Result<()> {
        let session_id = self.session_id.clone();
        self.connection.send_notification(SessionNotification::new(session_id, update))
    }
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(text.to_owned().into())
}

fn text_of(prompt: &[ContentBlock]) -> String {
    let texts = prompt.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ").replace('\n', " ")
}

fn keep(id: &str, said: &str) {
    std::fs::write(format!("session-{id}"), said).unwrap();
}

fn kept(id: &str) -> Option<String> {
    std::fs::read_to_string(format!("session-{id}")).ok()
}
