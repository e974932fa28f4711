//! Stop and what the server ends.

use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::limits::{STOP_KILL_AFTER, STOP_TERM_AFTER};
use runwarden_protocol::wire::structures::SessionStatus;
use runwarden_runtime::ports::Signal;
use runwarden_sim::weave::{Act, AgentEvent, Bed, Construct, Manner, Script};

use crate::support::{each_seed, run, run_id, session, session_id, speaks, stored, text_of, turn};

/// STOP_FREE.
const FREE: Duration = Duration::from_secs(12);

/// A session that is free within its time; when.
async fn freed(bed: &Bed, session: &str, since: Instant) -> Instant {
    while bed.hub().live(session_id(session)).status != SessionStatus::Idle {
        bed.sleep(Duration::from_millis(50)).await;
        assert!(bed.now() <= since.plus(FREE), "not free within 12 s");
    }
    bed.now()
}

fn signals(bed: &Bed) -> Vec<(Instant, Signal)> {
    let signals = bed.agents.log().into_iter().filter_map(|(at, event)| match event {
        AgentEvent::Signalled { signal, .. } => Some((at, signal)),
        AgentEvent::Constructed { .. }
        | AgentEvent::Invoked { .. }
        | AgentEvent::Answered { .. }
        | AgentEvent::Heard { .. }
        | AgentEvent::Returned { .. }
        | AgentEvent::Closed { .. } => None,
    });
    signals.collect()
}

/// STOP-20 [sim]: however an agent takes a Stop, and at whatever moment it comes, the session takes a turn
/// within 12 s.
#[test]
fn a_stopped_session_is_free_within_its_time() {
    each_seed(200, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let after = Duration::from_millis(random.below(900) as u64);
        let manner = match random.below(4) {
            0 => Manner::Deaf,
            1 => Manner::Yields { to: Signal::Terminate, after },
            2 => Manner::Yields { to: Signal::Kill, after },
            _ => Manner::Yields { to: Signal::Interrupt, after },
        };
        let first = [Act::Hang, Act::Die][random.below(2)];
        bed.agents.will([Script::of(&[first, Act::Hang]).with(manner)]);
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang]).with(manner)]);
        let construct = match random.below(4) {
            0 => Construct::Hangs,
            1 => Construct::After(Duration::from_millis(random.below(40_000) as u64)),
            _ => Construct::After(Duration::ZERO),
        };
        bed.agents.constructed([Construct::After(Duration::ZERO), construct]);
        let run = run(&mut client, &session, "one").await;
        bed.sleep(Duration::from_micros(random.below(30_000) as u64)).await;
        let asked = bed.now();
        let answer = client.stop(&session, &run).await.expect("an answer");
        assert_eq!(answer.data["outcome"], "accepted");
        freed(&bed, &session, asked).await;
        bed.agents.forget_plans();
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
    });
}

/// REG-15 [sim]: an agent that ignores its interrupt is asked to end 5 s later and killed 5 s after that;
/// when the call is over nothing more is sent.
#[test]
fn an_agent_is_pressed_in_steps_and_not_beyond_its_return() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let hears = [Some(Signal::Interrupt), Some(Signal::Terminate), None][random.below(3)];
        let after = Duration::from_millis(1);
        let manner = hears.map_or(Manner::Deaf, |to| Manner::Yields { to, after });
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang]).with(manner)]);
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        client.stop(&session, &run).await;
        bed.sleep(Duration::from_secs(30)).await;
        let sent = signals(&bed);
        let begin = sent[0].0;
        let expected = [
            (begin, Signal::Interrupt),
            (begin.plus(STOP_TERM_AFTER), Signal::Terminate),
            (begin.plus(STOP_TERM_AFTER).plus(STOP_KILL_AFTER), Signal::Kill),
        ];
        let heard = match hears {
            Some(Signal::Interrupt) => 1,
            Some(Signal::Terminate) => 2,
            Some(Signal::Kill) | None => 3,
        };
        assert_eq!(sent, expected[..heard]);
        let is_dropped = hears.is_none();
        let over = AgentEvent::Returned { agent: 1, run_id: run_id(&run), is_dropped };
        assert!(bed.agents.events().contains(&over), "{:?}", bed.agents.events());
    });
}

/// STOP-04 [sim]: whoever is shown a run as cancelled finds it so in the store.
#[test]
fn a_cancelled_run_is_stable_before_it_is_shown() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let mut other = bed.connect().await;
        other.open(&session).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        let request = serde_json::json!({
            "action": "stop_run", "session_id": session, "run_id": run,
        });
        let request_id = client.send(request).await;
        let shown = |kind: &str, status: &serde_json::Value| {
            kind == "stream_terminal" && *status == "cancelled" || kind == "stop_result"
        };
        for client in [&mut client, &mut other] {
            client.until(|frame| shown(&frame.kind, &frame.data["status"])).await.expect("a frame");
            let outcome = stored(&bed.disk.data(), &run).outcome;
            assert_eq!(outcome, Some(Outcome::Cancelled), "shown and not stored");
        }
        client.until(|frame| frame.data["request_id"] == request_id.as_str()).await;
        let stored = stored(&bed.disk.data(), &run).clone();
        assert_eq!((stored.outcome, stored.settlements), (Some(Outcome::Cancelled), 1));
    });
}

/// STOP-03 [sim]: a run whose channel is closed and whose worker unwinds is stopped as any other.
#[test]
fn a_run_without_channel_is_stopped_in_the_same_way() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang]).with(Manner::Deaf)]);
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        for wait in [0, 1, 6] {
            bed.sleep(Duration::from_secs(wait)).await;
            let answer = client.stop(&session, &run).await.expect("an answer");
            assert_eq!(answer.data["outcome"], "accepted", "{answer:?}");
        }
        bed.sleep(FREE).await;
        let answer = client.stop(&session, &run).await.expect("an answer");
        assert_eq!(answer.data["outcome"], "already_ended");
        assert_eq!(answer.data["status"], "cancelled");
    });
}

/// STOP-21 [sim]: a run that the server ends is interrupted and settled once, with the outcome of its rule,
/// and its session is free afterwards.
#[test]
fn a_server_ending_takes_the_steps_of_a_stop() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        bed.limits.agent_silence_max = Duration::from_secs(60);
        let (mut client, session) = session(&mut bed).await;
        let manner = [Manner::PROMPT, Manner::Deaf][random.below(2)];
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang]).with(manner)]);
        let run = run(&mut client, &session, "one").await;
        let is_silence = random.chance(500);
        if !is_silence {
            speaks(&mut client, &run).await;
            bed.hub().end_runs().await;
        }
        let ended = client.ended(&run).await.expect("a terminal");
        let expected =
            if is_silence { ("failed", "agent_silent") } else { ("interrupted", "shutdown") };
        assert_eq!(
            (ended.data["status"].as_str(), ended.data["reason"].as_str()),
            (Some(expected.0), Some(expected.1))
        );
        let since = bed.now();
        freed(&bed, &session, since).await;
        assert_eq!(signals(&bed)[0].1, Signal::Interrupt);
        assert_eq!(stored(&bed.disk.data(), &run).settlements, 1);
        assert_eq!(text_of(&ended.data["entity_id"]), run);
    });
}
