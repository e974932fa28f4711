//! Runs that a process start finds: which evidence says how they ended, and what recovery leaves alone.

use runwarden_protocol::ids::{MessageId, RunId};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{JournalRow, Outcome, RowEvent};
use runwarden_protocol::session::record::{Marker, Role};
use runwarden_sim::weave::{Act, AgentEvent, Construct, Data, Script, TurnStep};

use crate::support::{each_seed, run, run_id, session, session_id, speaks, stored, turn};

const OTHER: RunId = RunId::new(77);

/// RST-02 [sim]: a run that is found has the outcome of its journal's terminal, else `superseded` when the session's
/// active run is another one, else `interrupted`; only that leaves a marker, and a terminal that is missing is
/// appended to its journal and to that of its turn.
#[test]
fn the_first_evidence_of_an_end_decides() {
    each_seed(120, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "prompt").await;
        speaks(&mut client, &run).await;
        bed.kill();
        let evidence = random.below(4);
        let expected = match evidence {
            0 => Outcome::Completed,
            1 => Outcome::Cancelled,
            2 => Outcome::Superseded,
            _ => Outcome::Interrupted,
        };
        bed.disk.alter(|data| match evidence {
            0 | 1 => journal_end(data, run_id(&run), expected),
            2 => take_over(data, run_id(&run)),
            _ => {}
        });
        bed.start().await;
        let data = bed.disk.data();
        let found = stored(&data, &run);
        assert_eq!((found.outcome, found.terminal()), (Some(expected), Some(expected)));
        assert_eq!(found.journal.iter().filter(|row| row.event.is_terminal()).count(), 1);
        assert_eq!(found.turn.last(), Some(&TurnStep::Ended(expected)));
        assert!(found.by_recovery && found.settlements == 1);
        let rows = &data.sessions[&session_id(&session)].rows;
        let shown: Vec<Role> =
            rows.iter().filter(|row| row.run_id == run_id(&run)).map(|row| row.role).collect();
        match expected {
            Outcome::Superseded => assert_eq!(shown, []),
            Outcome::Interrupted => assert_eq!(shown, [Role::User, Role::Assistant, Role::System]),
            Outcome::Completed | Outcome::Cancelled | Outcome::Failed => {
                assert_eq!(shown, [Role::User, Role::Assistant]);
            }
        }
        if let Some(other) = data.runs.get(&OTHER) {
            assert_eq!(other.outcome, Some(Outcome::Interrupted));
            assert_eq!(rows.last().and_then(|row| row.marker), Some(Marker::Interrupted));
        }
        assert_eq!(data.sessions[&session_id(&session)].head.pending, None);
        let mut client = bed.connect().await;
        client.open(&session).await.expect("a manifest");
        bed.agents.forget_plans();
        assert_eq!(turn(&mut client, &session, "next").await.1, "completed");
    });
}

fn journal_end(data: &mut Data, run_id: RunId, outcome: Outcome) {
    let run = data.runs.get_mut(&run_id).expect("the run");
    let last = run.journal.last().expect("a row").clone();
    let event = RowEvent::Terminal { outcome };
    run.journal.push(JournalRow { seq: last.seq.plus(1), event, body: "{}".to_owned(), ..last });
}

/// The session goes on with another run, which nobody runs either.
fn take_over(data: &mut Data, run_id: RunId) {
    let turn_id = MessageId::new(78);
    let mut other = data.runs[&run_id].clone();
    (other.turn_id, other.journal) = (turn_id, Vec::new());
    let session = data.sessions.get_mut(&other.session_id).expect("its session");
    let pending = session.head.pending.as_mut().expect("a pending turn");
    (pending.run_id, pending.turn_id) = (OTHER, turn_id);
    data.runs.insert(OTHER, other);
}

/// RST-09 [sim]: recovery runs nothing and goes on with nothing: no agent is made or called, the run gets no row but
/// its end, and sessions without an unsettled run stay as they are.
#[test]
fn recovery_settles_and_resumes_nothing() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, done) = session(&mut bed).await;
        turn(&mut client, &done, "before").await;
        let session = client.create_session().await.expect("a session");
        match random.below(3) {
            0 => bed.agents.constructed([Construct::After(Duration::from_millis(40))]),
            1 => bed.agents.will([Script::of(&[Act::Say("a"), Act::Ask])]),
            _ => bed.agents.will([Script::of(&[Act::Say("a"), Act::Say("b"), Act::Hang])]),
        }
        let run = run(&mut client, &session, "prompt").await;
        bed.sleep(Duration::from_micros(random.below(60_000) as u64)).await;
        if random.chance(500) {
            bed.kill()
        } else {
            bed.lose_power()
        }
        let before = bed.disk.data();
        let is_settled = stored(&before, &run).outcome.is_some();
        let deeds = deeds(&bed.agents.events());
        bed.start().await;
        bed.sleep(Duration::from_secs(700)).await;
        let after = bed.disk.data();
        assert_eq!(self::deeds(&bed.agents.events()), deeds, "no agent was made or called");
        let id = session_id(&done);
        assert_eq!(after.sessions[&id], before.sessions[&id]);
        let added = stored(&after, &run).journal.len() - stored(&before, &run).journal.len();
        assert_eq!(added, usize::from(!is_settled), "its terminal and no other row");
        let began = |data: &Data| {
            stored(data, &run).turn.iter().filter(|s| **s == TurnStep::WorkerStarted).count()
        };
        assert_eq!(began(&after), began(&before));
    });
}

/// How often agents were made and called.
fn deeds(events: &[AgentEvent]) -> usize {
    let is_deed = |event: &&AgentEvent| {
        matches!(event, AgentEvent::Constructed { .. } | AgentEvent::Invoked { .. })
    };
    events.iter().filter(is_deed).count()
}
