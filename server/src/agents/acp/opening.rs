//! Greeting a new process and opening a session in it, a known one where that is possible (AGT-03).

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, ClientCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, NewSessionRequest, NewSessionResponse, ResumeSessionRequest,
};
use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::FailureKind;
use runwarden_runtime::ports::{AgentFailure, World};
use serde_json::Value;

use super::command::AcpCommand;
use super::connection::{Connection, Inbox, malformed};
use super::message;
use super::offer::Offer;
use super::turn;

/// Longest silence of an agent that loads a session; one that says nothing for so long is given a new
/// session instead.
pub const LOAD_SILENCE_MAX: Duration = Duration::from_secs(60);

/// Longest time for loading a session altogether.
pub const LOAD_MAX: Duration = Duration::from_secs(300);

/// Most bytes of an agent's session id.
pub const SESSION_ID_BYTES_MAX: usize = 1_024;

/// The version of the protocol that is spoken.
const PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion::V1;

/// A session in a process.
pub(super) struct Opened {
    /// Its id, by which the agent finds it again if it can.
    pub(super) session_id: String,
    /// What can be chosen in it.
    pub(super) offer: Offer,
    /// Whether the agent knows the conversation already.
    pub(super) is_resumed: bool,
    /// Whether the agent can find a session again.
    pub(super) can_resume: bool,
}

/// Why there is no session.
pub(super) enum NotOpened {
    /// The agent cannot be used.
    Failed(AgentFailure),
    /// It broke over the session it was to load; another process may open a new one.
    LostInLoad(AgentFailure),
}

impl From<AgentFailure> for NotOpened {
    fn from(failure: AgentFailure) -> Self {
        Self::Failed(failure)
    }
}

/// How an agent takes up a session again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without repeating it.
    Resume,
    /// Repeating all of it.
    Load,
}

/// Greets the process and opens a session: the one of `resume` if the agent takes it up, else a new one.
///
/// # Errors
/// [`NotOpened`]
pub(super) async fn open<W: World>(
    world: &W,
    (connection, inbox): (&Connection, &Inbox<'_>),
    command: &AcpCommand,
    resume: Option<&str>,
) -> Result<Opened, NotOpened> {
    let ways = greet(connection, inbox).await?;
    // Some offer a way that they then do not know.
    for (way, session_id) in ways.iter().filter_map(|way| Some((*way, resume?))) {
        let taken_up = take_up(world, (connection, inbox), command, (way, session_id)).await;
        match taken_up {
            Ok(opened) => return Ok(opened),
            Err(failure) if connection.is_over() || failure.kind == FailureKind::Unreachable => {
                return Err(NotOpened::LostInLoad(failure));
            }
            Err(failure) => {
                tracing::info!(%failure, ?way, "an agent cannot take up its session this way");
            }
        }
    }
    let request = message::json(&NewSessionRequest::new(command.cwd.clone()));
    let answer = connection.call(inbox, AGENT_METHOD_NAMES.session_new, &request).await?;
    let opened = message::typed::<NewSessionResponse>(&answer);
    let session_id = opened.map(|opened| opened.session_id.0.to_string()).unwrap_or_default();
    if session_id.is_empty() || session_id.len() > SESSION_ID_BYTES_MAX {
        return Err(malformed("the agent named no session".to_owned()).into());
    }
    let offer = Offer::read(&answer);
    Ok(Opened { session_id, offer, is_resumed: false, can_resume: !ways.is_empty() })
}

/// The ways the agent offers to take up a session, the better one first.
async fn greet(connection: &Connection, inbox: &Inbox<'_>) -> Result<Vec<Way>, AgentFailure> {
    let client = Implementation::new("runwarden", env!("CARGO_PKG_VERSION"));
    let greeting = InitializeRequest::new(PROTOCOL_VERSION)
        .client_capabilities(ClientCapabilities::default())
        .client_info(client);
    let greeting = message::json(&greeting);
    let answer = connection.call(inbox, AGENT_METHOD_NAMES.initialize, &greeting).await?;
    let greeted = message::typed::<InitializeResponse>(&answer);
    let Some(greeted) = greeted.filter(|greeted| greeted.protocol_version == PROTOCOL_VERSION)
    else {
        return Err(malformed(format!(
            "the agent speaks protocol version {}, not {PROTOCOL_VERSION}",
            answer["protocolVersion"]
        )));
    };
    let capabilities = greeted.agent_capabilities;
    let resumes = capabilities.session_capabilities.resume.map(|_| Way::Resume);
    Ok(resumes.into_iter().chain(capabilities.load_session.then_some(Way::Load)).collect())
}

/// What the agent repeats of the conversation is dropped here: it is in the transcript.
async fn take_up<W: World>(
    world: &W,
    (connection, inbox): (&Connection, &Inbox<'_>),
    command: &AcpCommand,
    (way, session_id): (Way, &str),
) -> Result<Opened, AgentFailure> {
    let (id, cwd) = (session_id.to_owned(), command.cwd.clone());
    let (method, request) = match way {
        Way::Resume => {
            (AGENT_METHOD_NAMES.session_resume, message::json(&ResumeSessionRequest::new(id, cwd)))
        }
        Way::Load => {
            (AGENT_METHOD_NAMES.session_load, message::json(&LoadSessionRequest::new(id, cwd)))
        }
    };
    let until = world.now().plus(LOAD_MAX);
    let asked = connection.request(method, &request).await;
    let answer = loop {
        let patience = world.now().plus(LOAD_SILENCE_MAX).min(until);
        let late = async {
            world.sleep_until(patience).await;
            let detail = format!("{method} was not answered");
            Err(AgentFailure { kind: FailureKind::Unreachable, detail })
        };
        let answered = connection.answer_or_other(inbox, method, asked).or(late).await?;
        if let Some(answer) = answered {
            break answer;
        }
    };
    // Some repeat a part of it behind their answer.
    turn::pass_fence(world, connection, inbox).await;
    let (session_id, offer) = (session_id.to_owned(), offer_of(&answer));
    Ok(Opened { session_id, offer, is_resumed: true, can_resume: true })
}

/// An answer without content is a good one.
fn offer_of(answer: &Value) -> Offer {
    if answer.is_object() { Offer::read(answer) } else { Offer::default() }
}
