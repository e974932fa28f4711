//! Random histories: clients, faults and crashes drawn from the seed, and what must hold whatever they were.

use runwarden_protocol::flight::RECORD_BYTES_DEFAULT;
use runwarden_protocol::ids::RunId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::RowEvent;
use runwarden_protocol::session::record::Role;
use runwarden_runtime::ports::Signal;
use runwarden_sim::weave::{Act, Bed, Client, Construct, Data, Faults, Manner, Random, Script};

use crate::flight::check_flights;
use crate::support::each_seed;

/// So few bytes that a recorder drops steps in each history.
const RECORD_BYTES_FEW: usize = 1_024;

/// Things that clients do in one history.
const STEPS: usize = 14;

/// Everything a client was promised, and what became of it.
#[derive(Debug, Default)]
pub(crate) struct Promised {
    /// Runs that were acknowledged, with their session and prompt.
    pub(crate) acknowledged: Vec<(String, String, String)>,
    /// Runs whose Stop was accepted.
    pub(crate) stopped: Vec<String>,
}

/// One history.
pub(crate) async fn history(mut bed: Bed) {
    let mut random = bed.executor.stream();
    bed.agents_kept_max = 1;
    bed.record_bytes_max = [RECORD_BYTES_DEFAULT, RECORD_BYTES_FEW][random.below(2)];
    bed.start().await;
    let mut client = bed.connect().await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(client.create_session().await.expect("a session"));
    }
    let mut promised = Promised::default();
    for step in 0..STEPS {
        prepare(&bed, &mut random);
        let session = sessions[random.below(sessions.len())].clone();
        match random.below(10) {
            0..=4 => send(&mut client, &session, step, &mut promised).await,
            5 | 6 => stop(&mut client, &mut random, &mut promised).await,
            7 => bed.sleep(Duration::from_millis(random.below(20_000) as u64)).await,
            8 => bed.sleep(Duration::from_micros(random.below(20_000) as u64)).await,
            _ => {
                check_flights(&bed).await;
                client = crash(&mut bed, &mut random).await;
            }
        }
    }
    check_flights(&bed).await;
    bed.disk.set_faults(Faults::default());
    bed.kill();
    bed.start().await;
    judge(&bed.disk.data(), &promised);
}

fn prepare(bed: &Bed, random: &mut Random) {
    let permille = [0, 0, 100][random.below(3)];
    let faults =
        Faults { commit_permille: permille, append_permille: permille, ..Faults::default() };
    bed.disk.set_faults(faults);
    bed.agents.will([script(random)]);
    let slow = Construct::After(Duration::from_millis(random.below(50) as u64));
    bed.agents
        .constructed([[slow, Construct::Fails(Duration::ZERO)][usize::from(random.chance(50))]]);
}

fn script(random: &mut Random) -> Script {
    let mut acts = Vec::new();
    for _ in 0..random.below(4) {
        acts.push(match random.below(6) {
            0 | 1 => Act::Say("word "),
            2 => Act::Work(Duration::from_millis(random.below(3_000) as u64)),
            3 => Act::Die,
            4 => Act::Hang,
            _ => Act::Fail,
        });
    }
    let after = Duration::from_millis(random.below(2_000) as u64);
    let manner = match random.below(4) {
        0 => Manner::Deaf,
        1 => Manner::Yields { to: Signal::Terminate, after },
        _ => Manner::Yields { to: Signal::Interrupt, after },
    };
    Script { acts, manner }
}

async fn send(client: &mut Client, session: &str, step: usize, promised: &mut Promised) {
    let text = format!("prompt {step}");
    let Some(reply) = client.say(session, &text).await else { return };
    if reply.kind == "message_ack" {
        let run = reply.data["run_id"].as_str().expect("a run").to_owned();
        promised.acknowledged.push((run, session.to_owned(), text));
    }
}

async fn stop(client: &mut Client, random: &mut Random, promised: &mut Promised) {
    if promised.acknowledged.is_empty() {
        return;
    }
    let (run, session, _) =
        promised.acknowledged[random.below(promised.acknowledged.len())].clone();
    let Some(answer) = client.stop(&session, &run).await else { return };
    if answer.data["outcome"] == "accepted" {
        promised.stopped.push(run);
    }
}

async fn crash(bed: &mut Bed, random: &mut Random) -> Client {
    if random.chance(500) {
        bed.kill();
    } else {
        bed.lose_power();
    }
    bed.start().await;
    bed.connect().await
}

/// What holds after the last recovery.
fn judge(data: &Data, promised: &Promised) {
    for (run, session, text) in &promised.acknowledged {
        let run: RunId = run.parse().expect("a run id");
        let stored = data.runs.get(&run).unwrap_or_else(|| panic!("{run} was acknowledged"));
        assert_eq!(stored.settlements, 1, "{run} is settled once");
        let session = &data.sessions[&session.parse().expect("a session id")];
        let prompts = session.rows.iter().filter(|row| row.body.as_ref() == Some(text));
        assert_eq!(prompts.count(), 1, "{text} of {run} is in the transcript once");
    }
    for session in data.sessions.values() {
        assert_eq!(session.head.pending, None);
        assert_eq!(session.rows.len() as u64, session.head.message_count);
    }
    for run in &promised.stopped {
        let run: RunId = run.parse().expect("a run id");
        assert!(data.runs[&run].outcome.is_some(), "{run} was stopped");
    }
    for (run, stored) in &data.runs {
        assert!(stored.outcome.is_some(), "{run} has ended");
        let terminals = stored.journal.iter().filter(|row| row.event.is_terminal()).count();
        assert_eq!(terminals, 1, "{run}");
        let said: String = stored.journal.iter().filter_map(content).collect();
        let rows = &data.sessions[&stored.session_id].rows;
        let answers = rows.iter().filter(|row| row.run_id == *run && row.role == Role::Assistant);
        let shown: String = answers.filter_map(|row| row.body.clone()).collect();
        assert_eq!(shown, said, "the transcript has what {run} stored");
    }
}

fn content(row: &runwarden_protocol::journal::row::JournalRow) -> Option<&str> {
    match row.event {
        RowEvent::Content { .. } => Some(&row.body),
        RowEvent::QuestionAsked { .. }
        | RowEvent::QuestionResolved { .. }
        | RowEvent::SteerAccepted { .. }
        | RowEvent::SteerSettled { .. }
        | RowEvent::Terminal { .. } => None,
    }
}

#[test]
fn whatever_happens_every_acknowledged_turn_is_kept_and_settled_once() {
    each_seed(150, history);
}
