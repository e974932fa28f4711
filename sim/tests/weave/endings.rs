//! How runs end, as the store sees it, and how a server ends.

use runwarden_protocol::ids::RunId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{Outcome, Reason, RowEvent, SteerFate};
use runwarden_protocol::session::record::Role;
use runwarden_runtime::DrainTimes;
use runwarden_sim::weave::{Act, Data, Script, StoredRun, TurnStep};
use serde_json::json;

use crate::support::{each_seed, run, session, session_id, speaks, stored, text_of, turn};

/// OWN-10 [sim]: whoever settles a run, one commit does all of it: before it nothing of the end is stored, behind it
/// transcript, pending turn, outcome, error, steers and the terminals of both journals are.
#[test]
fn a_settlement_is_one_commit_whoever_makes_it() {
    each_seed(100, async |mut bed| {
        bed.disk.keep_history();
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "completes").await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Fail])]);
        turn(&mut client, &session, "fails").await;
        bed.agents.will([0; 2].map(|_| Script::of(&[Act::Say("b"), Act::Hang])));
        let stopped = run(&mut client, &session, "is stopped").await;
        speaks(&mut client, &stopped).await;
        let steer =
            json!({"action": "steer_run", "session_id": session, "run_id": stopped, "text": "s"});
        assert_eq!(client.call(steer).await.expect("a reply").data["outcome"], "accepted");
        client.stop(&session, &stopped).await;
        client.ended(&stopped).await;
        // The session is free once the worker has gone.
        bed.sleep(Duration::from_secs(1)).await;
        let lost = run(&mut client, &session, "is lost").await;
        speaks(&mut client, &lost).await;
        bed.kill();
        bed.start().await;
        let history = bed.disk.history();
        let settled: usize = history.windows(2).map(|pair| settlements(&pair[0], &pair[1])).sum();
        assert_eq!(settled, 4);
        let data = bed.disk.data();
        let outcomes = [&stopped, &lost].map(|run| stored(&data, run).outcome);
        assert_eq!(outcomes, [Some(Outcome::Cancelled), Some(Outcome::Interrupted)]);
        let fate = |row: &RowEvent| {
            matches!(row, RowEvent::SteerSettled { fate: SteerFate::Returned, .. })
        };
        assert_eq!(
            stored(&data, &stopped).journal.iter().filter(|row| fate(&row.event)).count(),
            1
        );
    });
}

/// How many runs the write between these two states settled; each of them wholly.
fn settlements(before: &Data, after: &Data) -> usize {
    let mut settled = 0;
    for (run_id, run) in &after.runs {
        let earlier = before.runs.get(run_id);
        match (earlier.and_then(|run| run.outcome), run.outcome) {
            (None, None) => assert_open(after, *run_id, run),
            (None, Some(outcome)) => {
                assert_open(before, *run_id, earlier.expect("it was admitted before"));
                assert_settled(after, *run_id, run, outcome);
                settled += 1;
            }
            (Some(_), _) => assert_eq!(earlier, Some(run), "{run_id} is settled once"),
        }
    }
    settled
}

fn assert_open(data: &Data, run_id: RunId, run: &StoredRun) {
    let session = &data.sessions[&run.session_id];
    assert_eq!(session.head.pending.as_ref().map(|pending| pending.run_id), Some(run_id));
    assert!(session.rows.iter().all(|row| row.run_id != run_id), "no row of {run_id} is shown");
    assert_eq!((run.terminal(), run.reason, &run.error), (None, None, &None));
    assert!(!run.turn.iter().any(|step| matches!(step, TurnStep::Ended(_))));
}

fn assert_settled(data: &Data, run_id: RunId, run: &StoredRun, outcome: Outcome) {
    let session = &data.sessions[&run.session_id];
    assert_eq!(session.head.pending, None);
    let of_run: Vec<_> = session.rows.iter().filter(|row| row.run_id == run_id).collect();
    let count = |role| of_run.iter().filter(|row| row.role == role).count();
    assert_eq!((count(Role::User), count(Role::Assistant)), (1, 1));
    assert!(of_run.iter().all(|row| row.session_revision == session.head.revision));
    let last = run.journal.last().expect("a terminal");
    assert_eq!(last.event, RowEvent::Terminal { outcome });
    assert_eq!(run.turn.last(), Some(&TurnStep::Ended(outcome)));
    assert_eq!(run.error.is_some(), outcome == Outcome::Failed);
    let is_recorded = data.errors.iter().any(|(_, error)| Some(&error.data) == run.error.as_ref());
    assert_eq!(is_recorded, outcome == Outcome::Failed);
}

/// RST-12 [sim]: a server that stops lets its runs go on for the drain time, ends those that are left `interrupted`
/// with reason `shutdown`, shows each end before the close 1001, and keeps what waits and what is held.
#[test]
fn a_server_that_stops_gives_runs_their_time_and_ends_the_rest() {
    each_seed(100, async |mut bed| {
        let (mut client, quick) = session(&mut bed).await;
        let slow = client.create_session().await.expect("a session");
        let work = Duration::from_secs(3);
        bed.agents.will([
            Script::of(&[Act::Say("a"), Act::Work(work), Act::Say("b")]),
            Script::of(&[Act::Say("c"), Act::Hang]),
        ]);
        let finishes = run(&mut client, &quick, "quick").await;
        speaks(&mut client, &finishes).await;
        let hangs = run(&mut client, &slow, "slow").await;
        speaks(&mut client, &hangs).await;
        for session in [&quick, &slow] {
            let waits = json!({"action": "send_message", "session_id": session, "text": "waits",
                "when_busy": "queue", "idempotency_key": session});
            let queued = client.call(waits).await.expect("a reply");
            assert_eq!(queued.data["queue_position"], 1, "{queued:?}");
        }
        let began = bed.now();
        let hub = bed.hub().clone();
        let times = DrainTimes {
            runs: Duration::from_secs(5),
            settling: Duration::from_secs(10),
            connections: Duration::from_secs(4),
        };
        let drained = futures_lite::future::zip(hub.drain(times), async {
            let finished = client.ended(&finishes).await.expect("its end");
            assert_eq!(finished.data["status"], "completed");
            let ended = client.ended(&hangs).await.expect("its end");
            assert_eq!(text_of(&ended.data["status"]), "interrupted");
            assert!(ended.at.age_of(began) >= times.runs, "it had its time");
            assert_eq!(client.closed().await, Some((1001, "stopping".to_owned())));
        });
        assert!(drained.await.0);
        let data = bed.disk.data();
        assert_eq!(stored(&data, &hangs).reason, Some(Reason::Shutdown));
        for session in [&quick, &slow] {
            let session = &data.sessions[&session_id(session)];
            assert_eq!((session.queue.len(), session.head.queue_held), (1, None));
        }
        bed.kill();
        let is_alike = |data: &Data| data.sessions.values().all(|session| session.queue.len() == 1);
        assert!(is_alike(&bed.disk.data()), "nothing of the queues starts before the next start");
    });
}
