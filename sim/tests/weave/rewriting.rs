//! Rewriting the transcript: each operation in one commit, beside other windows, a kill and a failing store.

use futures_lite::future::zip;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::session::record::{Role, SessionHead};
use runwarden_sim::weave::{Act, AgentEvent, Bed, Client, Data, Faults, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, session, session_id, transcript, turn};

fn rewrite(client: &Fixture, op: &str, message: Option<&str>, text: Option<&str>) -> Value {
    json!({
        "action": "rewrite", "session_id": client.session, "op": op, "message_id": message,
        "text": text, "expected_revision": client.head().revision.get(),
        "idempotency_key": format!("{op} at {}", client.head().revision.get()),
    })
}

/// A session with so many turns.
struct Fixture {
    bed: Bed,
    session: String,
}

impl Fixture {
    async fn new(mut bed: Bed, turns: u32) -> (Self, Client) {
        let (mut client, session) = session(&mut bed).await;
        for number in 0..turns {
            turn(&mut client, &session, &format!("question {number}")).await;
        }
        bed.sleep(Duration::from_millis(100)).await;
        (Self { bed, session }, client)
    }

    fn data(&self) -> Data {
        self.bed.disk.data()
    }

    fn head(&self) -> SessionHead {
        self.data().sessions[&session_id(&self.session)].head.clone()
    }

    /// Ids of the rows.
    fn rows(&self) -> Vec<String> {
        let data = self.data();
        let rows = &data.sessions[&session_id(&self.session)].rows;
        rows.iter().map(|row| row.message_id.to_string()).collect()
    }

    fn prompts(&self) -> Vec<String> {
        let rows = transcript(&self.data(), &self.session).into_iter();
        rows.filter(|(role, _)| *role == Role::User).filter_map(|(_, body)| body).collect()
    }

    /// What the last call of an agent was told, without the words of agents.
    fn told(&self) -> Vec<String> {
        let events = self.bed.agents.events();
        let context = events.into_iter().rev().find_map(|event| match event {
            AgentEvent::Invoked { context, .. } => Some(context),
            _ => None,
        });
        let user = runwarden_runtime::ports::agent::ContextRole::User;
        let said = context.expect("a call").into_iter().filter(|said| said.role == user);
        said.map(|said| said.text).collect()
    }

    async fn ends(&self, client: &mut Client, ack: &Value) -> String {
        let run = ack["run_id"].as_str().expect("a run").to_owned();
        let ended = client.ended(&run).await.expect("a terminal");
        self.bed.sleep(Duration::from_millis(100)).await;
        ended.data["status"].as_str().expect("a status").to_owned()
    }
}

/// LIFE-05 [sim]: every operation reduces the transcript at its place, raises the generation and states what stays, in
/// the commit that begins the turn where it begins one; the agent of that turn is told what is left.
#[test]
fn each_operation_is_one_commit() {
    each_seed(60, async |bed| {
        let (fixture, mut client) = Fixture::new(bed, 3).await;
        let rows = fixture.rows();
        let before = fixture.head();
        assert_eq!((rows.len(), before.transcript_generation), (6, 0));

        // Its settlement is a commit of its own, so it must not be over too soon.
        let answer = [Act::Work(Duration::from_millis(100)), Act::Say("done")];
        fixture.bed.agents.will([Script::of(&answer)]);
        let edited = rewrite(&fixture, "edit", Some(&rows[2]), Some("another"));
        let ack = client.call(edited).await.expect("a reply");
        assert_eq!(ack.kind, "message_ack", "{ack:?}");
        let head = fixture.head();
        assert_eq!(head.revision.get(), before.revision.get() + 1);
        let counts = (head.transcript_generation, head.transcript_generation_baseline);
        assert_eq!((counts, head.truncation_watermark), ((1, 2), head.revision));
        assert_eq!(fixture.ends(&mut client, &ack.data).await, "completed");
        assert_eq!(fixture.prompts(), ["question 0", "another"]);
        assert_eq!(fixture.told(), ["question 0", "another"]);

        let last = fixture.rows().pop().expect("an answer");
        let again = rewrite(&fixture, "regenerate", Some(&last), None);
        let ack = client.call(again).await.expect("a reply").data;
        assert_eq!(fixture.ends(&mut client, &ack).await, "completed");
        assert_eq!(fixture.prompts(), ["question 0", "another"]);
        assert_eq!(fixture.told(), ["question 0", "another"]);
        assert_eq!(fixture.rows().len(), 4);
        assert!(!fixture.rows().contains(&last));

        fixture.bed.agents.will([Script::of(&[Act::Say("half"), Act::Fail])]);
        assert_eq!(turn(&mut client, &fixture.session, "failing").await.1, "failed");
        fixture.bed.sleep(Duration::from_millis(100)).await;
        let failed = fixture.rows().pop().expect("a partial row");
        let refused = rewrite(&fixture, "retry", Some(&fixture.rows()[0]), None);
        let refused = client.call(refused).await.expect("a reply");
        assert_eq!(refused.data["code"], "invalid_request", "it completed");
        let ack = client.call(rewrite(&fixture, "retry", Some(&failed), None)).await;
        assert_eq!(fixture.ends(&mut client, &ack.expect("a reply").data).await, "completed");
        assert_eq!(fixture.prompts(), ["question 0", "another", "failing"]);
        assert_eq!(fixture.told(), ["question 0", "another", "failing"]);

        for (op, message, left) in [
            ("undo", None, vec!["question 0", "another"]),
            ("truncate", Some(1), vec!["question 0"]),
            ("clear", None, vec![]),
        ] {
            let rows = fixture.rows();
            let generation = fixture.head().transcript_generation;
            let message = message.map(|at: usize| rows[at].as_str());
            let reply = client.call(rewrite(&fixture, op, message, None)).await.expect("a reply");
            assert_eq!(reply.kind, "session_updated", "{op}: {reply:?}");
            assert_eq!(fixture.prompts(), left);
            let head = fixture.head();
            assert_eq!(head.transcript_generation, generation + 1);
            assert_eq!(head.transcript_generation_baseline, head.message_count);
        }
        let empty = client.call(rewrite(&fixture, "clear", None, None)).await.expect("a reply");
        assert_eq!(empty.data["session_revision"], fixture.head().revision.get());
        turn(&mut client, &fixture.session, "afresh").await;
        assert_eq!(fixture.told(), ["afresh"]);
    });
}

/// LIFE-05 [sim], SDB-02 [sim]: two windows that rewrite the same revision, or send beside it: one of them is first,
/// and the other is told that it is late; the list entry counts what stays, and a reduction alone is no activity.
#[test]
fn of_two_at_one_revision_one_is_late() {
    each_seed(150, async |bed| {
        let mut random = bed.executor.stream();
        let (fixture, mut client) = Fixture::new(bed, 2).await;
        let mut other = fixture.bed.connect().await;
        let rows = fixture.rows();
        let activity_at = fixture.head().activity_at;
        let undo = rewrite(&fixture, "undo", None, None);
        let truncate = rewrite(&fixture, "truncate", Some(&rows[0]), None);
        let message =
            json!({"action": "send_message", "session_id": fixture.session, "text": "beside"});
        let is_message = random.chance(500);
        let second = if is_message { message } else { truncate };
        let (first, second) = zip(client.call(undo), other.call(second)).await;
        let (first, second) = (first.expect("a reply"), second.expect("a reply"));
        let is_refused = |code: &Value| code == "regeneration_stale" || code == "session_busy";
        match (first.kind.as_str(), second.kind.as_str()) {
            ("session_updated", "message_ack") => assert!(is_message),
            ("session_updated", "message_refused") => {
                assert_eq!(second.data["code"], "regeneration_stale");
                assert_eq!(fixture.rows().len(), 2);
            }
            ("message_refused", "session_updated" | "message_ack") => {
                assert!(is_refused(&first.data["code"]), "{first:?}");
            }
            other => panic!("{other:?}: {first:?} {second:?}"),
        }
        fixture.bed.sleep(Duration::from_secs(5)).await;
        if !is_message {
            assert_eq!(fixture.head().activity_at, activity_at);
        }
        let count = fixture.rows().len();
        client.call(json!({"action": "list_sessions"})).await.expect("a list");
        let item = client.untaken().filter(|frame| frame.kind == "session_item").last();
        assert_eq!(item.expect("an entry").data["item"]["message_count"], count);
        assert_eq!(fixture.head().message_count, count as u64);
    });
}

/// LIFE-05 [sim], RST-07 [sim]: whenever the server is killed or loses power beside an edit, the transcript is that
/// before it or that behind it, nothing that was removed comes back, and what was acknowledged stays.
#[test]
fn a_killed_server_has_rewritten_all_or_nothing() {
    each_seed(150, async |bed| {
        let mut random = bed.executor.stream();
        let (mut fixture, mut client) = Fixture::new(bed, 2).await;
        let rows = fixture.rows();
        fixture
            .bed
            .agents
            .will([Script::of(&[Act::Say("new"), Act::Work(Duration::from_secs(1))])]);
        let edit = rewrite(&fixture, "edit", Some(&rows[0]), Some("edited"));
        let id = client.send(edit.clone()).await;
        fixture.bed.sleep(Duration::from_millis(random.below(30) as u64)).await;
        if random.chance(500) {
            fixture.bed.kill();
        } else {
            fixture.bed.lose_power();
        }
        client.closed().await;
        let was_acknowledged =
            client.untaken().any(|frame| frame.is("message_ack", "request_id", &id));
        fixture.bed.agents.forget_plans();
        fixture.bed.start().await;
        let prompts = fixture.prompts();
        if prompts == ["edited"] {
            assert!(rows.iter().all(|row| !fixture.rows().contains(row)), "{rows:?}");
            let head = fixture.head();
            assert_eq!((head.transcript_generation, head.transcript_generation_baseline), (1, 0));
        } else {
            assert!(!was_acknowledged);
            assert_eq!(
                (prompts, fixture.rows()),
                (vec!["question 0".to_owned(), "question 1".to_owned()], rows)
            );
            assert_eq!(fixture.head().transcript_generation, 0);
        }
        let mut client = fixture.bed.connect().await;
        client.open(&fixture.session).await.expect("a manifest");
        let again = client.call(edit).await.expect("a reply");
        assert_eq!(again.kind, "message_ack", "the key had its effect, or has it now: {again:?}");
        fixture.bed.sleep(Duration::from_secs(5)).await;
        assert_eq!(fixture.prompts(), ["edited"]);
        let next = json!({
            "action": "send_message", "session_id": fixture.session, "text": "next",
            "idempotency_key": "next",
        });
        let ack = client.call(next).await.expect("a reply").data;
        fixture.ends(&mut client, &ack).await;
        assert_eq!(fixture.told(), ["edited", "next"]);
        assert!(fixture.data().sessions[&session_id(&fixture.session)].replaced.is_none());
    });
}

/// A store that does not take a rewrite leaves everything as it was.
#[test]
fn a_rewrite_that_fails_changes_nothing() {
    each_seed(50, async |bed| {
        let (fixture, mut client) = Fixture::new(bed, 2).await;
        let rows = fixture.rows();
        let head = fixture.head();
        let faults = Faults { commit_permille: 1_000, admissions_fail: 1, ..Faults::default() };
        for (op, message, text, code) in [
            ("undo", None, None, "storage_failed"),
            ("edit", Some(rows[0].as_str()), Some("x"), "launch_failed"),
        ] {
            fixture.bed.disk.set_faults(faults);
            let failed = client.call(rewrite(&fixture, op, message, text)).await.expect("a reply");
            assert_eq!(failed.data["code"], code, "{failed:?}");
            fixture.bed.disk.set_faults(Faults::default());
            assert_eq!((fixture.rows(), fixture.head()), (rows.clone(), head.clone()));
        }
        assert_eq!(turn(&mut client, &fixture.session, "two").await.1, "completed");
        assert_eq!(fixture.told(), ["question 0", "question 1", "two"]);
    });
}
