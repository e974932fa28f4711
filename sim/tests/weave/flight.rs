//! The flight recorder: what it has of a session, whenever it is asked, replays to where the session is.

use runwarden_protocol::ids::SessionId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::race::Race;
use runwarden_runtime::records::Recorded;
use runwarden_sim::machines::Registry;
use runwarden_sim::replay::replay;
use runwarden_sim::weave::{Act, Bed, OWNER, Script};

use crate::support::{each_seed, run, session, session_id, speaks, turn};

/// More than a session stays in memory that nobody uses.
const LEFT_ALONE: Duration = Duration::from_secs(90);

/// Exports what there is of every session and replays it.
pub(crate) async fn check_flights(bed: &Bed) {
    let sessions: Vec<_> = bed.disk.data().sessions.keys().copied().collect();
    for session_id in sessions {
        if let Some(race) = exported(bed, session_id).await {
            check(&race);
        }
    }
}

async fn exported(bed: &Bed, session_id: SessionId) -> Option<Race> {
    match bed.hub().flight(session_id, Some(OWNER)).await.expect("the store is read") {
        Recorded::Kept(flight) => Some(flight.export().unwrap_or_else(|error| panic!("{error}"))),
        Recorded::Nothing => None,
        other @ (Recorded::Unknown | Recorded::Off) => panic!("{other:?}"),
    }
}

fn check(race: &Race) {
    let text = race.to_string();
    let race = Race::parse(text.as_bytes()).expect("an export is read");
    let replayed = replay(&race, &Registry::product(), |_| {}).expect("an export replays");
    assert!(replayed.is_met, "{:?} in\n{text}", replayed.violation);
    assert_eq!(replayed.digest, race.digest, "{text}");
}

#[test]
fn a_session_that_left_memory_keeps_its_flight_until_it_takes_another_step() {
    each_seed(3, |mut bed| async move {
        let (mut client, session) = session(&mut bed).await;
        let session_id = session_id(&session);
        assert!(exported(&bed, session_id).await.is_none(), "nothing happened yet");
        turn(&mut client, &session, "hello").await;
        drop(client);
        bed.sleep(LEFT_ALONE).await;
        let left = exported(&bed, session_id).await.expect("it is kept");
        check(&left);
        let mut client = bed.connect().await;
        client.open(&session).await.expect("it is there");
        assert_eq!(
            exported(&bed, session_id).await.as_ref(),
            Some(&left),
            "who looks changes nothing"
        );
        turn(&mut client, &session, "again").await;
        let next = exported(&bed, session_id).await.expect("another one");
        check(&next);
        assert_ne!(next.init, left.init);
    });
}

#[test]
fn a_run_that_goes_on_is_exported_where_it_stands() {
    each_seed(10, |mut bed| async move {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a word "), Act::Hang])]);
        let run = run(&mut client, &session, "go on").await;
        speaks(&mut client, &run).await;
        let race = exported(&bed, session_id(&session)).await.expect("it runs");
        check(&race);
        let open = race.init.as_ref().expect("a state").values().next().expect("of one machine");
        assert_eq!(open["runs"], serde_json::json!([]), "the whole run is there");
        let stopped = client.stop(&session, &run).await.expect("an answer");
        assert_eq!(stopped.data["outcome"], "accepted");
        check(&exported(&bed, session_id(&session)).await.expect("it ran"));
    });
}

#[test]
fn a_recorder_that_is_off_or_asked_for_what_is_not_there_says_so() {
    each_seed(1, |mut bed| async move {
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "hello").await;
        let stranger = runwarden_protocol::ids::PrincipalId::new(7);
        let session_id = session_id(&session);
        let asked = async |id, principal| bed.hub().flight(id, principal).await.expect("the store");
        assert!(matches!(asked(session_id, None).await, Recorded::Kept(_)));
        assert!(matches!(asked(session_id, Some(stranger)).await, Recorded::Unknown));
        assert!(matches!(asked(SessionId::new(1), None).await, Recorded::Unknown));
        bed.kill();
        bed.record_bytes_max = 0;
        bed.start().await;
        let off = bed.hub().flight(session_id, None).await.expect("the store");
        assert!(matches!(off, Recorded::Off));
    });
}
