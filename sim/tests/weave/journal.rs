//! Rows: durable before they are shown, and runs whose rows cannot be written.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_protocol::journal::run_journal::{JOURNAL_BYTES_MAX, WAITING_BYTES_MAX};
use runwarden_sim::weave::{Act, Faults, Script};
use serde_json::json;

use crate::support::{each_seed, run, session, stored, turn};

/// JRN-07 [sim]: a numbered frame is shown only when its row is stored.
#[test]
fn a_row_is_durable_before_it_is_shown() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let pause = Act::Work(Duration::from_millis(40));
        let says = [Act::Say("a"), pause, Act::Say("b"), pause, Act::Say("c"), pause];
        bed.agents.will([Script::of(&says)]);
        let run = run(&mut client, &session, "one").await;
        let mut shown = 0;
        loop {
            let frame = client
                .until(|frame| frame.data["entity_id"] == run.as_str())
                .await
                .expect("a frame of the run");
            let Some(seq) = frame.data["stream_seq"].as_u64() else { continue };
            let data = bed.disk.data();
            assert!(stored(&data, &run).last_seq().get() >= seq, "row {seq} is shown early");
            assert!(seq > shown, "{seq} follows {shown}");
            shown = seq;
            if frame.kind == "stream_terminal" {
                break;
            }
        }
        assert_eq!(shown, stored(&bed.disk.data(), &run).last_seq().get());
    });
}

/// JRN-05 [sim], JRN-06 [sim], SES-42 [sim]: rows of a failed batch are shown without a number and said to be degraded;
/// their numbers go to the next batch, and whoever resumes gets the state from memory.
#[test]
fn a_batch_that_fails_leaves_no_row_and_is_shown_as_degraded() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let outage = Duration::from_secs(2);
        let says = [
            Act::Work(Duration::from_millis(100)),
            Act::Say("lost "),
            Act::Work(Duration::from_secs(3)),
            Act::Say("kept"),
            Act::Hang,
        ];
        bed.agents.will([Script::of(&says)]);
        let no_append_before = Some(bed.now().plus(outage));
        bed.disk.set_faults(Faults { no_append_before, ..Faults::default() });
        let run = run(&mut client, &session, "one").await;
        let delta = |frame: &runwarden_sim::weave::Frame| {
            frame.kind == "stream_text" && frame.data["entity_id"] == run.as_str()
        };
        let lost = client.until(delta).await.expect("a frame");
        assert_eq!(lost.data["stream_seq"], json!(null), "{lost:?}");
        assert_eq!(lost.data["replay_degraded"], true);
        let kept = client.until(delta).await.expect("a frame");
        assert_eq!(kept.data["stream_seq"], 1, "the number of the failed batch");
        let get = json!({"action": "get_stream", "session_id": session, "entity_id": run, "generation": 1, "known_seq": 0});
        let state = client.call(get).await.expect("a state");
        assert_eq!(state.data["replay"]["state"], "degraded", "{state:?}");
        assert_eq!(state.data["deltas"], json!(null));
        assert_eq!(state.data["items"][0]["text"], "lost kept");
        client.stop(&session, &run).await;
        let data = bed.disk.data();
        let bodies: Vec<_> =
            stored(&data, &run).journal.iter().map(|row| row.body.clone()).collect();
        assert_eq!(bodies[0], "kept");
        assert_eq!(bodies.len(), 2, "one row and the terminal");
    });
}

/// JRN-21 [sim]: a run of which no append succeeds for 20 s is ended, and not before.
#[test]
fn a_run_that_cannot_be_journaled_is_ended() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let is_long = random.chance(500);
        let mut says = Vec::new();
        for _ in 0..30 {
            says.extend([Act::Say("x"), Act::Work(Duration::from_secs(1))]);
        }
        bed.agents.will([Script::of(&says)]);
        let outage = Duration::from_secs(if is_long { 40 } else { 15 });
        let no_append_before = Some(bed.now().plus(outage));
        bed.disk.set_faults(Faults { no_append_before, ..Faults::default() });
        let began = bed.now();
        let run = run(&mut client, &session, "one").await;
        let ended = client.ended(&run).await.expect("a terminal");
        let stored = stored(&bed.disk.data(), &run).clone();
        if is_long {
            assert_eq!(ended.data["reason"], "storage_failed");
            assert_eq!(
                (stored.outcome, stored.reason),
                (Some(Outcome::Failed), Some(Reason::StorageFailed))
            );
            let took = bed.now().age_of(began);
            assert!(took >= Duration::from_secs(20) && took < Duration::from_secs(23), "{took:?}");
        } else {
            assert_eq!(stored.outcome, Some(Outcome::Completed));
        }
    });
}

/// JRN-17 [sim]: a row that would carry a journal above 64 MiB is neither stored nor shown, and its run is ended, with
/// everything before it; its terminal is stored all the same, and the session goes on.
#[test]
fn a_full_journal_ends_its_run() {
    const OUTPUT_BYTES: usize = 32_000;
    each_seed(2, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Show(OUTPUT_BYTES); 2_200])]);
        let run = run(&mut client, &session, "one").await;
        let ended = client.ended(&run).await.expect("a terminal");
        assert_eq!(
            (&ended.data["status"], &ended.data["reason"]),
            (&json!("failed"), &json!("journal_full"))
        );
        let (bytes, largest, last) = {
            let data = bed.disk.data();
            let run = stored(&data, &run);
            assert_eq!(
                (run.outcome, run.reason),
                (Some(Outcome::Failed), Some(Reason::JournalFull))
            );
            let (terminal, rows) = run.journal.split_last().expect("a terminal");
            assert!(terminal.event.is_terminal());
            let sizes = || rows.iter().map(|row| row.body.len() as u64);
            (sizes().sum::<u64>(), sizes().max().unwrap_or(0), run.last_seq().get())
        };
        // What waited behind the last batch goes with the end of the run.
        let unsure = largest + WAITING_BYTES_MAX;
        assert!(bytes <= JOURNAL_BYTES_MAX && bytes + unsure > JOURNAL_BYTES_MAX, "{bytes}");
        assert_eq!(ended.data["stream_seq"], last);
        let seqs = client.untaken().filter(|frame| frame.kind == "stream_update");
        let newest = seqs.filter_map(|frame| frame.data["stream_seq"].as_u64()).max();
        assert!(newest < Some(last), "{newest:?}");
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
    });
}
