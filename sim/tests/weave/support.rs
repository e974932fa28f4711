//! What the scenarios share.

use std::future::Future;

use runwarden_protocol::ids::{RunId, SessionId};
use runwarden_protocol::session::record::Role;
use runwarden_sim::weave::{Bed, Client, Data, StoredRun};
use serde_json::Value;

/// Runs a scenario under `seeds` seeds. A seed that fails is named.
pub(crate) fn each_seed<F>(seeds: u64, scenario: impl Fn(Bed) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for seed in 0..seeds {
        let _named = Named(seed);
        Bed::run(seed, &scenario).unwrap_or_else(|stuck| panic!("{stuck}"));
    }
}

/// Names its seed when a test fails while it lives.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("under seed {}", self.0);
        }
    }
}

/// A started server with one client and one open session.
pub(crate) async fn session(bed: &mut Bed) -> (Client, String) {
    bed.start().await;
    let mut client = bed.connect().await;
    let session = client.create_session().await.expect("a session");
    (client, session)
}

/// Sends a message that is accepted; its run.
pub(crate) async fn run(client: &mut Client, session: &str, text: &str) -> String {
    let reply = client.say(session, text).await.expect("a reply");
    assert_eq!(reply.kind, "message_ack", "{reply:?}");
    text_of(&reply.data["run_id"])
}

/// Sends a message and waits for the end of its run: run and status.
pub(crate) async fn turn(client: &mut Client, session: &str, text: &str) -> (String, String) {
    let run = run(client, session, text).await;
    let ended = client.ended(&run).await.expect("a terminal");
    (run, text_of(&ended.data["status"]))
}

/// Waits until the run is called and has said something.
pub(crate) async fn speaks(client: &mut Client, run: &str) {
    client
        .until(|frame| frame.kind == "stream_text" && frame.data["entity_id"] == run)
        .await
        .expect("a delta");
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}

pub(crate) fn session_id(text: &str) -> SessionId {
    text.parse().expect("a session id")
}

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().expect("a run id")
}

/// The stored run.
pub(crate) fn stored<'a>(data: &'a Data, run: &str) -> &'a StoredRun {
    &data.runs[&run_id(run)]
}

/// Who said what in a session's transcript; a marker says nothing.
pub(crate) fn transcript(data: &Data, session: &str) -> Vec<(Role, Option<String>)> {
    let rows = &data.sessions[&session_id(session)].rows;
    rows.iter().map(|row| (row.role, row.body.clone())).collect()
}
