use super::{
    Input, Listed, Output, SESSIONS_SHOWN_MAX, SUBMITS_UNANSWERED_MAX, Screen, SubmitAnswer,
    SubmitKey,
};
use crate::ids::{AskId, RunId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

const FIRST: SessionId = SessionId::new(1);
const SECOND: SessionId = SessionId::new(2);
const RUN: RunId = RunId::new(1);

fn request(n: u64) -> AskId {
    AskId::new(n)
}

fn key(n: u64) -> SubmitKey {
    SubmitKey::new(n)
}

fn listed(session_id: SessionId, run: Option<u64>) -> Listed {
    Listed { session_id, run_id: run.map(RunId::new) }
}

fn try_feed(screen: &mut Screen, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    screen.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn feed(screen: &mut Screen, input: Input) -> Vec<Output> {
    try_feed(screen, input).expect("listed input")
}

fn list(screen: &mut Screen, n: u64, sessions: Vec<Listed>) -> Vec<Output> {
    feed(screen, Input::ListWanted { request: request(n) });
    feed(screen, Input::ListReceived { request: request(n), sessions })
}

fn send(n: u64, session_id: SessionId) -> Input {
    Input::SendWanted { request: request(n), session_id, key: key(n) }
}

fn started(n: u64) -> Input {
    Input::SubmitAnswered { request: request(n), answer: SubmitAnswer::Started { run_id: RUN } }
}

fn stop(n: u64, session_id: SessionId) -> Input {
    Input::StopWanted { request: request(n), session_id }
}

/// Everything that two users of two sessions and a server may do.
struct TwoSessions;

impl Scope<Screen> for TwoSessions {
    fn inputs(&self, _screen: &Screen) -> Vec<Input> {
        let mut inputs = vec![
            Input::SessionChosen { session_id: FIRST },
            Input::ListWanted { request: request(1) },
            Input::ListReceived { request: request(1), sessions: vec![] },
            Input::ListReceived { request: request(1), sessions: vec![listed(FIRST, Some(1))] },
            Input::ListReceived {
                request: request(1),
                sessions: vec![listed(FIRST, None), listed(SECOND, Some(2))],
            },
            send(3, FIRST),
            started(3),
            Input::SubmitAnswered { request: request(3), answer: SubmitAnswer::Refused },
            Input::SubmitAnswered { request: request(3), answer: SubmitAnswer::Queued },
            stop(5, FIRST),
            stop(6, SECOND),
            Input::RunShown { session_id: FIRST, run_id: RUN },
            Input::RunOver { session_id: FIRST, run_id: RUN },
            Input::ConnectionLost,
            Input::Connected,
        ];
        let reply = |is_done| Input::StopReplied { request: request(5), is_done };
        inputs.extend([true, false].map(reply));
        inputs
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Screen::default(), &TwoSessions, Screen::<super::Rules>::WEIGHT_MAX).unwrap();
    assert!(report.states > 100, "{report:?}");
    assert_matrix!("client_screen", &report.matrix);
}

#[test]
fn a_stop_names_the_run_of_the_chosen_session() {
    let mut screen = Screen::default();
    list(&mut screen, 1, vec![listed(FIRST, Some(1)), listed(SECOND, Some(2))]);
    feed(&mut screen, Input::SessionChosen { session_id: FIRST });
    let run_id = RunId::new(2);
    let asked = Output::StopRun { request: request(9), session_id: SECOND, run_id };
    assert_eq!(feed(&mut screen, stop(9, SECOND)), [asked]);
    assert_eq!(screen.run(SECOND), Some(run_id), "it runs until it is said to have ended");
    let over = Input::RunOver { session_id: SECOND, run_id };
    feed(&mut screen, over);
    assert_eq!((screen.run(FIRST), screen.run(SECOND)), (Some(RUN), None));
    assert_eq!(feed(&mut screen, stop(10, SECOND)), [Output::NotStopped { request: request(10) }]);
}

#[test]
fn a_stop_that_fails_shows_the_run_and_the_failure() {
    for failure in
        [Input::StopReplied { request: request(9), is_done: false }, Input::ConnectionLost]
    {
        let mut screen = Screen::default();
        list(&mut screen, 1, vec![listed(FIRST, Some(1))]);
        feed(&mut screen, stop(9, FIRST));
        let failed = Output::StopsFailed { sessions: vec![FIRST] };
        assert_eq!(feed(&mut screen, failure), [failed]);
        assert!(screen.has_stop_failed(FIRST) && screen.run(FIRST) == Some(RUN));
    }
}

#[test]
fn what_was_asked_before_an_answer_does_not_undo_it() {
    let mut screen = Screen::default();
    list(&mut screen, 1, vec![listed(FIRST, None)]);
    feed(&mut screen, Input::ListWanted { request: request(2) });
    feed(&mut screen, send(3, FIRST));
    feed(&mut screen, started(3));
    let sessions = vec![listed(FIRST, None)];
    feed(&mut screen, Input::ListReceived { request: request(2), sessions: sessions.clone() });
    assert_eq!(screen.run(FIRST), Some(RUN));
    list(&mut screen, 4, sessions);
    assert!(!screen.is_busy(FIRST), "a list that was asked for later is believed");
    list(&mut screen, 5, vec![listed(FIRST, Some(1))]);
    feed(&mut screen, Input::RunOver { session_id: FIRST, run_id: RUN });
    list(&mut screen, 6, vec![listed(FIRST, Some(1))]);
    assert!(!screen.is_busy(FIRST), "a run that has ended does not come back");
}

#[test]
fn an_unanswered_submit_is_asked_again_under_its_key() {
    let mut screen = Screen::default();
    feed(&mut screen, send(3, FIRST));
    assert_eq!(feed(&mut screen, send(4, FIRST)), [Output::NotSent { request: request(4) }]);
    list(&mut screen, 1, vec![listed(FIRST, None)]);
    feed(&mut screen, Input::ConnectionLost);
    assert!(screen.is_submitting(FIRST));
    let again = Output::Submit { request: request(3), session_id: FIRST, key: key(3) };
    assert_eq!(feed(&mut screen, Input::Connected), [again]);
    feed(&mut screen, started(3));
    assert_eq!((screen.is_submitting(FIRST), screen.run(FIRST)), (false, Some(RUN)));
    let sent = Output::Submit { request: request(5), session_id: FIRST, key: key(5) };
    assert_eq!(feed(&mut screen, send(5, FIRST)), [sent], "its own flag does not hold a send");
}

#[test]
fn the_bounds_are_kept_and_told() {
    let mut screen = Screen::default();
    for n in 1..=SUBMITS_UNANSWERED_MAX as u64 + 1 {
        let sent = feed(&mut screen, send(n, SessionId::new(n)));
        let is_sent = matches!(sent[..], [Output::Submit { .. }]);
        assert_eq!(is_sent, n <= SUBMITS_UNANSWERED_MAX as u64, "{n}");
    }
    let most = |n: usize| (1..=n as u64).map(|n| listed(SessionId::new(n), None)).collect();
    for (count, told) in [(-1, 0), (0, 0), (1, 1)] {
        let mut screen = Screen::default();
        let sessions = most(SESSIONS_SHOWN_MAX.saturating_add_signed(count));
        assert_eq!(list(&mut screen, 1, sessions).len(), told);
        assert!(screen.weight() <= Screen::<super::Rules>::WEIGHT_MAX);
    }
    list(&mut screen, 1, most(SESSIONS_SHOWN_MAX));
    let chosen = Input::SessionChosen { session_id: SessionId::new(9_999) };
    assert_eq!(try_feed(&mut screen, chosen), Err(Reject::Local("sessions_shown_max")));
}
