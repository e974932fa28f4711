//! Turns and channels without a row: what a start does that meets one.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{JournalRow, Outcome, RowEvent};
use runwarden_protocol::run::limits::PENDING_GRACE;
use runwarden_protocol::run::store_kind::StoreKind;
use runwarden_protocol::session::record::{Marker, Role};
use runwarden_protocol::wire::structures::SessionStatus;
use runwarden_sim::weave::{Act, Bed, Data, Faults, Manner, Script, TurnStep};
use serde_json::json;

use crate::support::{each_seed, run, run_id, session, session_id, speaks, stored, text_of, turn};

/// REC-06 [sim]: the channel of a run that another process has settled is swept when its settlement here is answered,
/// or when a start meets it; the run of another session goes on, and the start is accepted.
#[test]
fn a_channel_without_a_row_is_swept_and_no_other() {
    each_seed(120, async |mut bed| {
        let mut random = bed.executor.stream();
        bed.limits.store = StoreKind::Shared;
        let (mut client, session) = session(&mut bed).await;
        let other = client.create_session().await.expect("a session");
        let speak = [Act::Say("a"), Act::Hang];
        bed.agents.will([
            Script::of(&[Act::Say("a"), Act::Work(Duration::from_secs(2))]),
            Script::of(&speak),
        ]);
        let lost = run(&mut client, &session, "prompt").await;
        speaks(&mut client, &lost).await;
        let goes_on = run(&mut client, &other, "goes on").await;
        speaks(&mut client, &goes_on).await;
        // Of the two the sweep is found by the answer of a save, or by the look of a start.
        let is_met = random.chance(500);
        if is_met {
            bed.disk.set_faults(Faults { settlements_fail: 8, ..Faults::default() });
            bed.sleep(Duration::from_secs(3)).await;
            assert_eq!(bed.hub().live(session_id(&session)).status, SessionStatus::Unsettled);
        }
        bed.disk.alter(|data| settle(data, &lost));
        if !is_met {
            bed.sleep(Duration::from_secs(3)).await;
        }
        bed.agents.forget_plans();
        let before = stored(&bed.disk.data(), &lost).clone();
        assert_eq!(turn(&mut client, &session, "next").await.1, "completed");
        let data = bed.disk.data();
        assert_eq!(stored(&data, &lost), &before, "it was settled once, by the other process");
        assert_eq!(stored(&data, &goes_on).outcome, None);
        assert_eq!(bed.hub().live(session_id(&other)).status, SessionStatus::Running);
        let end = client.ended(&lost).await.expect("its end is shown");
        assert_eq!(end.data["status"], "interrupted");
    });
}

/// Another process settles the run.
fn settle(data: &mut Data, run: &str) {
    let run_id = run_id(run);
    let run = data.runs.get_mut(&run_id).expect("the run");
    let last = run.journal.last().expect("a row").clone();
    let event = RowEvent::Terminal { outcome: Outcome::Interrupted };
    run.journal.push(JournalRow { seq: last.seq.plus(1), event, body: "{}".to_owned(), ..last });
    run.turn.push(TurnStep::Ended(Outcome::Interrupted));
    (run.outcome, run.settlements) = (Some(Outcome::Interrupted), 1);
    let head = &mut data.sessions.get_mut(&run.session_id).expect("its session").head;
    (head.pending, head.revision) = (None, head.revision.plus(1));
}

/// RACE-39 [sim]: a turn of a run without a row blocks a start in a shared store until it is 30 s old, and nowhere else;
/// then it is settled first and the start accepted; what cannot be read is left alone.
#[test]
fn a_turn_without_a_row_blocks_as_long_as_it_is_fresh() {
    each_seed(120, async |mut bed| {
        let mut random = bed.executor.stream();
        let is_shared = random.chance(750);
        if is_shared {
            bed.limits.store = StoreKind::Shared;
        }
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let found = run(&mut client, &session, "prompt").await;
        speaks(&mut client, &found).await;
        let pending = bed.disk.data().sessions[&session_id(&session)].head.pending.clone();
        let aged_at = pending.expect("a turn").pending_started_at.plus(PENDING_GRACE);
        bed.kill();
        bed.start().await;
        bed.agents.forget_plans();
        let mut client = bed.connect().await;
        if !is_shared {
            assert_eq!(stored(&bed.disk.data(), &found).outcome, Some(Outcome::Interrupted));
            client.open(&session).await;
            assert_eq!(turn(&mut client, &session, "next").await.1, "completed");
            return;
        }
        let say = json!({"action": "send_message", "session_id": session, "text": "next"});
        bed.sleep(Duration::from_millis(aged_at.age_of(bed.now()).as_millis() - 20)).await;
        let busy = client.call(say.clone()).await.expect("a reply");
        assert_eq!(
            (&busy.data["code"], &busy.data["run_id"]),
            (&json!("session_busy"), &json!(found))
        );
        assert_eq!(stored(&bed.disk.data(), &found).outcome, None, "it is left alone");
        bed.sleep(Duration::from_millis(aged_at.age_of(bed.now()).as_millis() + 1)).await;
        if random.chance(300) {
            bed.disk.set_faults(Faults { looks_fail: 1, ..Faults::default() });
            let unread = client.call(say.clone()).await.expect("a reply");
            assert_eq!(unread.data["code"], "liveness_unreadable");
            assert_eq!(stored(&bed.disk.data(), &found).outcome, None, "nothing is swept");
        }
        let accepted = client.call(say).await.expect("a reply");
        assert_eq!(accepted.kind, "message_ack", "{accepted:?}");
        let data = bed.disk.data();
        let settled = stored(&data, &found);
        assert_eq!((settled.outcome, settled.settlements), (Some(Outcome::Interrupted), 1));
    });
}

/// RST-01 [sim]: a session that left memory with a turn of another process pending settles that turn, once its time is
/// over, before it answers whoever loads it.
#[test]
fn a_session_that_is_loaded_settles_the_turn_it_lost_before_it_answers() {
    each_seed(60, async |mut bed| {
        bed.limits.store = StoreKind::Shared;
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let found = run(&mut client, &session, "prompt").await;
        speaks(&mut client, &found).await;
        bed.kill();
        bed.start().await;
        assert_eq!(stored(&bed.disk.data(), &found).outcome, None, "it is fresh");
        // Long enough for the session to leave memory.
        bed.sleep(Duration::from_secs(600)).await;
        assert_eq!(stored(&bed.disk.data(), &found).outcome, None, "nobody loads it");
        let mut client = bed.connect().await;
        let manifest = client.open(&session).await.expect("a manifest");
        assert_eq!(stored(&bed.disk.data(), &found).outcome, Some(Outcome::Interrupted));
        assert_eq!(manifest.data["status"], "idle", "{manifest:?}");
    });
}

/// RST-11 [sim]: a Stop whose settlement fails after its retries is accepted all the same; its session is unsettled,
/// can be read, refuses starts and is tried again every 30 s with the outcome that was claimed.
#[test]
fn a_stop_that_cannot_be_settled_is_tried_again_with_its_outcome() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let stopped = run(&mut client, &session, "one").await;
        speaks(&mut client, &stopped).await;
        let rounds = 1 + random.below(3);
        let settlements_fail = 4 * u32::try_from(rounds).expect("few rounds");
        bed.disk.set_faults(Faults { settlements_fail, ..Faults::default() });
        let answer = client.stop(&session, &stopped).await.expect("an answer");
        assert_eq!(answer.data["outcome"], "accepted");
        let began = bed.now();
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(bed.hub().live(session_id(&session)).status, SessionStatus::Unsettled);
        let refused = client.say(&session, "two").await.expect("a reply");
        assert_eq!(refused.data["code"], "liveness_unreadable");
        client.open(&session).await.expect("it can be read");
        let ended = client.ended(&stopped).await.expect("the end");
        assert_eq!(text_of(&ended.data["status"]), "cancelled");
        let due = Duration::from_secs(30 * u64::try_from(rounds).expect("few rounds"));
        let age = ended.at.age_of(began);
        assert!(
            age.as_millis() + 1_000 >= due.as_millis() && age.as_millis() < due.as_millis() + 1_000,
            "{age:?}"
        );
        let data = bed.disk.data();
        assert_eq!(
            (stored(&data, &stopped).outcome, stored(&data, &stopped).settlements),
            (Some(Outcome::Cancelled), 1)
        );
        bed.agents.forget_plans();
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
    });
}

/// RACE-23 [sim]: user row, partial row and marker of a stopped run, in this order and each once, also when its process
/// is killed at any moment of the Stop and recovery runs twice.
#[test]
fn a_partial_row_stands_before_its_marker_once() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let manner = [Manner::PROMPT, Manner::Deaf][random.below(2)];
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Say("b"), Act::Hang]).with(manner)]);
        let stopped = run(&mut client, &session, "prompt").await;
        speaks(&mut client, &stopped).await;
        let stop = json!({"action": "stop_run", "session_id": session, "run_id": stopped});
        client.send(stop).await;
        bed.sleep(Duration::from_micros(random.below(30_000) as u64)).await;
        for _ in 0..2 {
            if random.chance(500) {
                bed.kill()
            } else {
                bed.lose_power()
            }
            let before = bed.disk.data();
            let was_settled = stored(&before, &stopped).outcome.is_some();
            bed.start().await;
            check_order(&bed, &session, &stopped);
            if was_settled {
                let id = session_id(&session);
                assert_eq!(bed.disk.data().sessions[&id], before.sessions[&id], "nothing is saved");
            }
        }
    });
}

fn check_order(bed: &Bed, session: &str, run: &str) {
    let data = bed.disk.data();
    let rows = &data.sessions[&session_id(session)].rows;
    let of_run: Vec<Role> =
        rows.iter().filter(|row| row.run_id == run_id(run)).map(|row| row.role).collect();
    // Rows that were not stable may be lost with power; what is stored is shown.
    let has_output = stored(&data, run).journal.iter().any(|row| !row.event.is_terminal());
    let partial = has_output.then_some(Role::Assistant);
    let due: Vec<Role> =
        [Some(Role::User), partial, Some(Role::System)].into_iter().flatten().collect();
    assert_eq!(of_run, due);
    let marker = rows.last().and_then(|row| row.marker);
    assert!(matches!(marker, Some(Marker::Cancelled | Marker::Interrupted)));
}

/// RACE-76 [sim]: three messages that wait become three turns in their order, whatever becomes of the window, of the
/// server between their choice and their acceptance, and of the answer to one of them.
#[test]
fn what_waits_is_neither_lost_nor_doubled() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Work(Duration::from_millis(60))])]);
        let first = run(&mut client, &session, "first").await;
        let waits = |text: &str| {
            json!({"action": "send_message", "session_id": session, "text": text,
                "when_busy": "queue", "idempotency_key": text})
        };
        client.send(waits("Q1")).await;
        if random.chance(500) {
            // The answer is lost with the window, which sends the message again.
            client = bed.connect().await;
            client.open(&session).await;
        }
        client.call(waits("Q1")).await.expect("a reply");
        for text in ["Q2", "Q3"] {
            client.call(waits(text)).await.expect("a reply");
        }
        if random.chance(700) {
            bed.sleep(Duration::from_micros(random.below(90_000) as u64)).await;
            if random.chance(500) {
                bed.kill()
            } else {
                bed.lose_power()
            }
            bed.start().await;
        }
        bed.sleep(Duration::from_secs(60)).await;
        let data = bed.disk.data();
        assert!(stored(&data, &first).outcome.is_some());
        let rows = &data.sessions[&session_id(&session)].rows;
        let prompts: Vec<_> = rows
            .iter()
            .filter(|row| row.role == Role::User)
            .filter_map(|row| row.body.as_deref())
            .collect();
        assert_eq!(prompts, ["first", "Q1", "Q2", "Q3"]);
    });
}
