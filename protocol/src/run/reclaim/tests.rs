use super::{Input, Output, Reclaim};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Rules;
use crate::run::limits::UNWIND;

struct Everything;

impl Scope<Reclaim> for Everything {
    fn inputs(&self, _reclaim: &Reclaim) -> Vec<Input> {
        vec![Input::StopAccepted, Input::ChannelClosed, Input::StartAsked, Input::RowGone]
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Reclaim::<Rules>::new(UNWIND), &Everything, 64).unwrap();
    assert_eq!(report.state_names.len(), 4, "every state is reached");
    assert_matrix!("run_reclaim", &report.matrix);
}

#[test]
fn a_stopped_row_is_reclaimed_at_the_window_and_not_before() {
    let mut reclaim = Reclaim::<Rules>::new(UNWIND);
    let mut out = Outbox::new();
    reclaim.step(Instant::ZERO, Input::StopAccepted, &mut out).unwrap();
    reclaim.step(Instant::from_millis(1), Input::ChannelClosed, &mut out).unwrap();
    let due = Instant::ZERO.plus(UNWIND);
    let before = Instant::from_micros(due.as_micros() - 1);
    reclaim.step(before, Input::StartAsked, &mut out).unwrap();
    assert!(out.is_empty());
    reclaim.step(due, Input::StartAsked, &mut out).unwrap();
    assert_eq!(out.as_slice(), [Output::Reclaim]);
}

#[test]
fn an_open_channel_keeps_the_row_at_any_age() {
    let mut reclaim = Reclaim::<Rules>::new(UNWIND);
    let mut out = Outbox::new();
    reclaim.step(Instant::ZERO, Input::StopAccepted, &mut out).unwrap();
    reclaim.step(Instant::from_millis(999_999), Input::StartAsked, &mut out).unwrap();
    assert!(out.is_empty() && reclaim.deadline().is_none());
}
