//! Starts: what blocks them, and what is true when they are acknowledged.

use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{Act, AgentEvent, Manner, Script};

use crate::support::{each_seed, run, run_id, session, stored, text_of, turn};

/// ADM-03 [sim]: a run that is not stopping blocks a start at any age.
#[test]
fn a_row_blocks_a_start_for_as_long_as_it_stands() {
    each_seed(100, async |mut bed| {
        bed.limits.agent_silence_max = Duration::from_secs(20_000);
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Hang])]);
        let first = run(&mut client, &session, "one").await;
        for wait in [0, 1, 40, 200, 4_000] {
            bed.sleep(Duration::from_secs(wait)).await;
            // The connection of before is closed after 300 s without a word.
            client = bed.connect().await;
            let refused = client.say(&session, "two").await.expect("a reply");
            assert_eq!(refused.kind, "message_refused", "after {wait} s more");
            assert_eq!(refused.data["code"], "session_busy");
            assert_eq!(refused.data["run_id"], first.as_str());
        }
        client.open(&session).await;
        client.stop(&session, &first).await;
        // The row stands until the stopped worker is gone.
        bed.sleep(Duration::from_millis(1)).await;
        assert_eq!(turn(&mut client, &session, "three").await.1, "completed");
    });
}

/// ADM-12 [sim]: when a start is acknowledged its turn outlives a loss of power, and no agent is made
/// before that.
#[test]
fn an_acknowledged_turn_outlives_a_loss_of_power() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "keep me").await;
        let is_early = bed.agents.events().iter().any(|event| match event {
            AgentEvent::Invoked { run_id: invoked, .. } => *invoked != run_id(&run),
            AgentEvent::Constructed { .. }
            | AgentEvent::Signalled { .. }
            | AgentEvent::Answered { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Returned { .. }
            | AgentEvent::Closed { .. } => false,
        });
        assert!(!is_early);
        bed.lose_power();
        let data = bed.disk.data();
        let pending =
            data.sessions.values().next().and_then(|session| session.head.pending.clone());
        let pending = pending.expect("the turn is pending");
        assert_eq!((pending.run_id, pending.text.as_str()), (run_id(&run), "keep me"));
        assert_eq!(stored(&data, &run).settlements, 0);
    });
}

/// OWN-14 [sim]: whoever is told the end of a run that was not stopped may start the next at once.
#[test]
fn the_end_of_a_run_frees_its_session_in_the_same_step() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let mut other = bed.connect().await;
        other.open(&session).await;
        for script in [Script::says("a"), Script::of(&[Act::Fail]).with(Manner::Deaf)] {
            bed.agents.will([script]);
            let run = run(&mut client, &session, "next").await;
            let ended = other.ended(&run).await.expect("a terminal");
            assert!(["completed", "failed"].contains(&text_of(&ended.data["status"]).as_str()));
            let (last, _) = turn(&mut other, &session, "at once").await;
            client.ended(&last).await;
        }
    });
}
