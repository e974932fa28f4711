//! Journals that something else than the server has changed.

use runwarden_protocol::ids::{Seq, SessionId};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{ItemKind, Outcome, RowEvent};
use runwarden_protocol::session::record::Role;
use runwarden_runtime::ports::{Store, StoreFailure};
use runwarden_sim::weave::{Act, ModelStore, Script, StoredRun};
use serde_json::json;

use crate::support::{each_seed, run, run_id, session, stored, transcript, turn};

/// What happened to a row, and what is said of it.
type Damage = (fn(&mut StoredRun, usize), &'static str);

/// A malformed, a foreign and a missing row.
const DAMAGES: [Damage; 3] = [
    (
        |run, row| {
            let item_id = match run.journal[row].event {
                RowEvent::Content { item_id, .. } => item_id,
                ref other => panic!("no content: {other:?}"),
            };
            run.journal[row].event = RowEvent::Content { item_id, item_kind: ItemKind::Tool };
        },
        "its value is not JSON",
    ),
    (|run, row| run.journal[row].session_id = SessionId::new(99), "it belongs to another session"),
    (|run, row| drop(run.journal.remove(row)), "is missing"),
];

/// JRN-11 [sim], RACE-44 [sim]: a run with a bad row is reported with its reason and shows what stands before it; the other
/// runs of the session are read and resumed as ever, and the session goes on.
#[test]
fn a_run_with_a_bad_row_is_quarantined_alone() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let (healthy, _) = turn(&mut client, &session, "before").await;
        let pause = Act::Work(Duration::from_millis(40));
        let says = [Act::Say("{a"), pause, Act::Say("{b"), pause, Act::Say("{c"), pause, Act::Hang];
        bed.agents.will([Script::of(&says)]);
        let bad = run(&mut client, &session, "one").await;
        bed.sleep(Duration::from_millis(300)).await;
        let is_settled = random.chance(500);
        if is_settled {
            client.stop(&session, &bad).await;
            client.ended(&bad).await.expect("a terminal");
        }
        bed.kill();
        let (damage, reason) = DAMAGES[random.below(DAMAGES.len())];
        let row = random.below(2);
        bed.disk.alter(|data| damage(data.runs.get_mut(&run_id(&bad)).expect("the run"), row));
        bed.start().await;

        let (_, world) = bed.process();
        let store = ModelStore::join(&bed.disk, world);
        let read = store.journal(run_id(&bad), Seq::new(row as u64)).await;
        let Err(StoreFailure::Quarantined { run_id: named, reason: told }) = read else {
            panic!("{read:?}");
        };
        assert_eq!(named, run_id(&bad));
        assert!(told.starts_with(&format!("row {}", row + 1)) && told.contains(reason), "{told}");

        let mut client = bed.connect().await;
        client.open(&session).await.expect("a manifest");
        let state = async |client: &mut runwarden_sim::weave::Client, run: &str, known: u64| {
            let get = json!({
                "action": "get_stream", "session_id": session, "entity_id": run, "generation": 1,
                "known_seq": known,
            });
            client.call(get).await.expect("a state").data
        };
        let last = stored(&bed.disk.data(), &healthy).last_seq().get();
        let resumed = state(&mut client, &healthy, last).await;
        assert_eq!(
            (&resumed["replay"]["state"], &resumed["deltas"]),
            (&json!("complete"), &json!([]))
        );
        let kept = state(&mut client, &bad, 1).await;
        assert_eq!(kept["replay"]["state"], "quarantined", "{kept}");
        let shown: String = ["{a", "{b", "{c"][..row].concat();
        let text = kept["items"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(text, if row == 0 { "" } else { &shown });
        if !is_settled {
            let outcome = stored(&bed.disk.data(), &bad).outcome;
            assert_eq!(outcome, Some(Outcome::Interrupted), "recovery settles it all the same");
            let said = transcript(&bed.disk.data(), &session);
            let answers = said.iter().filter(|(role, _)| *role == Role::Assistant);
            assert_eq!(answers.count(), if row == 0 { 1 } else { 2 });
        }
        bed.agents.forget_plans();
        assert_eq!(turn(&mut client, &session, "after").await.1, "completed");
    });
}
