//! What a server that was killed, or lost power, finds and settles.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{Outcome, Reason, RowEvent};
use runwarden_protocol::session::record::{Marker, Role};
use runwarden_sim::weave::{Act, Faults, Script};

use crate::support::{each_seed, run, session, session_id, stored, transcript, turn};

/// RST-01 [sim], RST-04 [sim]: a run found without settlement is settled once before anybody is served: the
/// prompt, what the journal holds, then the marker, each once.
#[test]
fn a_killed_server_settles_what_it_left_before_it_serves() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "before").await;
        let pause = Act::Work(Duration::from_millis(35));
        bed.agents.will([Script::of(&[Act::Say("a"), pause, Act::Say("b"), pause, Act::Hang])]);
        let run = run(&mut client, &session, "prompt").await;
        bed.sleep(Duration::from_micros(random.below(150_000) as u64)).await;
        if random.chance(500) {
            bed.kill();
        } else {
            bed.lose_power();
        }
        let found = stored(&bed.disk.data(), &run).clone();
        let content = |event: RowEvent| matches!(event, RowEvent::Content { .. });
        let partial: String = found
            .journal
            .iter()
            .filter(|row| content(row.event))
            .map(|row| row.body.as_str())
            .collect();
        bed.start().await;
        let data = bed.disk.data();
        let settled = stored(&data, &run);
        assert_eq!((settled.outcome, settled.settlements), (Some(Outcome::Interrupted), 1));
        let said = transcript(&data, &session);
        let mut expected = vec![
            (Role::User, Some("before".to_owned())),
            (Role::Assistant, Some("done".to_owned())),
            (Role::User, Some("prompt".to_owned())),
        ];
        if !partial.is_empty() {
            expected.push((Role::Assistant, Some(partial)));
        }
        expected.push((Role::System, None));
        assert_eq!(said, expected);
        let marker = data.sessions[&session_id(&session)].rows.last().and_then(|row| row.marker);
        assert_eq!(marker, Some(Marker::Interrupted));
        bed.agents.forget_plans();
        let mut client = bed.connect().await;
        client.open(&session).await;
        assert_eq!(turn(&mut client, &session, "after").await.1, "completed");
        assert_eq!(stored(&bed.disk.data(), &run).settlements, 1);
    });
}

/// REC-10 [sim]: a worker that goes without settling leaves its run to recovery, which settles it failed,
/// `worker_lost`, also when the first tries cannot be stored; the session is free afterwards.
#[test]
fn a_lost_worker_is_settled_by_recovery() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let settlements_fail = u32::try_from(random.below(7)).expect("a few");
        bed.disk.set_faults(Faults { contexts_fail: 1, settlements_fail, ..Faults::default() });
        let (run, status) = turn(&mut client, &session, "one").await;
        assert_eq!(status, "failed");
        let data = bed.disk.data();
        let stored = stored(&data, &run);
        assert_eq!(
            (stored.outcome, stored.reason),
            (Some(Outcome::Failed), Some(Reason::WorkerLost))
        );
        assert!(stored.by_recovery && stored.settlements == 1);
        assert_eq!(transcript(&data, &session), [(Role::User, Some("one".to_owned()))]);
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
    });
}

/// SES-31 [sim], SES-37 [sim]: a run whose recovery can be stored is settled before the first connection, with a
/// revision of its own; one whose recovery cannot leaves its session unsettled, readable, refusing starts, and
/// is tried again every 30 s.
#[test]
fn a_recovery_that_cannot_be_stored_is_tried_again() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        bed.kill();
        let revision = bed.disk.data().sessions[&session_id(&session)].head.revision;
        let rounds = random.below(4);
        let settlements_fail = 4 * u32::try_from(rounds).expect("few rounds");
        bed.disk.set_faults(Faults { settlements_fail, ..Faults::default() });
        bed.agents.forget_plans();
        let began = bed.now();
        bed.start().await;
        let mut client = bed.connect().await;
        let list = serde_json::json!({"action": "list_sessions"});
        if rounds > 0 {
            let listed = client.call(list.clone()).await.expect("a list");
            assert_eq!(listed.data["sessions"][0]["status"], "unsettled", "{listed:?}");
            let refused = client.say(&session, "two").await.expect("a reply");
            assert_eq!(refused.data["code"], "liveness_unreadable");
            client.open(&session).await.expect("it can be read");
            client.ended(&run).await.expect("the end");
        }
        let rounds = u64::try_from(rounds).expect("few rounds");
        let age = bed.now().age_of(began);
        let due = Duration::from_secs(30 * rounds);
        assert!(age >= due && age.as_millis() < due.as_millis() + 1_000, "{age:?} of {due:?}");
        let data = bed.disk.data();
        assert_eq!(stored(&data, &run).settlements, 1);
        assert_eq!(data.sessions[&session_id(&session)].head.revision, revision.plus(1));
        client.open(&session).await.expect("a manifest");
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
    });
}
