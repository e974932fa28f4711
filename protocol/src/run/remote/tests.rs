use super::*;
use crate::instant::{Duration, Instant};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;

fn step(remote: &mut Remote, at_s: u64, input: Input) -> Vec<Output> {
    let mut out = Outbox::new();
    let now = Instant::ZERO.plus(Duration::from_secs(at_s));
    remote.step(now, input, &mut out).unwrap_or_else(|reject| panic!("{input:?}: {reject:?}"));
    out.drain().collect()
}

fn tick(remote: &mut Remote, now: Instant) -> Vec<Output> {
    let mut out = Outbox::new();
    remote.tick(now, &mut out);
    out.drain().collect()
}

struct All;

impl Scope<Remote> for All {
    fn inputs(&self, _: &Remote) -> Vec<Input> {
        vec![Input::StopAsked, Input::Identified, Input::StopTaken, Input::StopRefused]
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Remote::default(), &All, size_of::<Remote>()).unwrap();
    assert_matrix!("run_remote", &report.matrix);
}

#[test]
fn a_stop_waits_for_the_backend_at_most_5_s() {
    for known in [false, true] {
        let mut remote = if known { Remote::Running } else { Remote::Starting };
        step(&mut remote, 0, Input::StopAsked);
        let due = Instant::ZERO.plus(REMOTE_STOP_WAIT);
        assert_eq!(remote.deadline().map(|(at, _)| at), Some(due));
        assert_eq!(tick(&mut remote, Instant::from_micros(due.as_micros() - 1)), []);
        assert_eq!(tick(&mut remote, due), [Output::Accept]);
        assert_eq!(remote.is_owed(), !known);
    }
}

#[test]
fn the_backend_is_asked_once_as_soon_as_its_id_is_known() {
    let mut remote = Remote::Starting;
    assert_eq!(step(&mut remote, 0, Input::StopAsked), []);
    assert_eq!(step(&mut remote, 1, Input::StopAsked), []);
    assert_eq!(step(&mut remote, 3, Input::Identified), [Output::StopRemote]);
    assert_eq!(step(&mut remote, 3, Input::StopTaken), [Output::Accept]);

    let mut late = Remote::Starting;
    step(&mut late, 0, Input::StopAsked);
    tick(&mut late, Instant::ZERO.plus(REMOTE_STOP_WAIT));
    assert_eq!(step(&mut late, 9, Input::Identified), [Output::StopRemote]);
    assert_eq!(step(&mut late, 9, Input::StopRefused), []);
}

#[test]
fn a_refusal_leaves_the_run_as_it_was_and_a_later_stop_asks_again() {
    let mut remote = Remote::Running;
    step(&mut remote, 0, Input::StopAsked);
    assert_eq!(step(&mut remote, 1, Input::StopRefused), [Output::Refuse]);
    assert_eq!(remote, Remote::Running);
    assert_eq!(step(&mut remote, 2, Input::StopAsked), [Output::StopRemote]);
}
