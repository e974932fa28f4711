use super::{Input, Output, Rotation};
use crate::ids::{RunId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

const RUN: RunId = RunId::new(1);
const PARENT: SessionId = SessionId::new(1);
const NEXT: SessionId = SessionId::new(2);
const ASKED: Input = Input::Asked { run_id: RUN, continuation: NEXT };
const COMMITTED: Input = Input::Committed { from: PARENT };

struct OneRun;

impl Scope<Rotation> for OneRun {
    fn inputs(&self, _rotation: &Rotation) -> Vec<Input> {
        vec![ASKED, Input::MayCommit, COMMITTED, Input::Failed, Input::Withdrawn]
    }
}

fn step(rotation: &mut Rotation, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    rotation.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

#[test]
fn the_laws_hold() {
    let report = laws(Rotation::default(), &OneRun, size_of::<Rotation>()).unwrap();
    assert_matrix!("run_rotation", &report.matrix);
}

#[test]
fn a_rotation_is_made_whole_or_not_at_all() {
    let refused = vec![Output::Refused { run_id: RUN }];
    for (input, expected, parent) in [
        (COMMITTED, vec![Output::Rotated { run_id: RUN, continuation: NEXT }], Some(PARENT)),
        (Input::Failed, refused.clone(), None),
    ] {
        let mut rotation = Rotation::default();
        assert_eq!(step(&mut rotation, ASKED), Ok(vec![]));
        assert_eq!(rotation.wanted(), Some(RUN));
        assert_eq!(step(&mut rotation, ASKED), Ok(refused.clone()));
        let commit = vec![Output::Commit { run_id: RUN, continuation: NEXT }];
        assert_eq!(step(&mut rotation, Input::MayCommit), Ok(commit));
        assert_eq!(step(&mut rotation, input), Ok(expected));
        assert_eq!((rotation.parent(), rotation.wanted()), (parent, None));
    }
    let mut rotation = Rotation::default();
    assert_eq!(step(&mut rotation, ASKED), Ok(vec![]));
    assert_eq!(step(&mut rotation, Input::Withdrawn), Ok(refused));
    assert!(rotation.is_none());
}
