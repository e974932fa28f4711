use super::{Author, Input, Output, SessionRecord};
use crate::ids::{AskId, Revision, RunId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;

const RUN: Author = Author::Run { run_id: RunId::new(1) };
const CHANGE: Author = Author::Change { ask: AskId::new(1) };
const START: SessionRecord = SessionRecord { revision: Revision::new(1), in_flight: None };

struct FewCommits;

impl Scope<SessionRecord> for FewCommits {
    fn inputs(&self, record: &SessionRecord) -> Vec<Input> {
        if record.revision.get() > 3 {
            return Vec::new();
        }
        let mut inputs = vec![Input::Failed { by: RUN }];
        inputs
            .extend([RUN, CHANGE, Author::Queue, Author::Deletion].map(|by| Input::Issued { by }));
        inputs.extend((1..5).map(|n| Input::Committed { by: RUN, revision: Revision::new(n) }));
        let beside = |n| Input::CommittedBeside { by: RUN, revision: Revision::new(n) };
        inputs.extend((1..5).map(beside));
        inputs.extend((1..5).map(|n| Input::Reread { revision: Revision::new(n) }));
        inputs
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(START, &FewCommits, 64).unwrap();
    assert_matrix!("run_record", &report.matrix);
}

#[test]
fn each_commit_raises_the_revision_by_exactly_one() {
    for (revision, accepted) in [(1, false), (2, true), (3, false)] {
        let mut record = START;
        let mut out = Outbox::new();
        record.step(Instant::ZERO, Input::Issued { by: RUN }, &mut out).unwrap();
        let revision = Revision::new(revision);
        let answer = Input::Committed { by: RUN, revision };
        assert_eq!(record.step(Instant::ZERO, answer, &mut out).is_ok(), accepted);
        assert_eq!(out.as_slice() == [Output::Advanced { revision }], accepted);
    }
}
