use super::state::{Input, Output, SessionRecord};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for SessionRecord {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.in_flight, input) {
            (None, Input::Issued { by }) => self.in_flight = Some(by),
            (Some(issued), Input::Committed { by, revision })
                if issued == by && revision == self.revision.plus(1) =>
            {
                self.in_flight = None;
                self.revision = revision;
                out.push(Output::Advanced { revision });
            }
            (Some(issued), Input::CommittedBeside { by, revision })
                if issued == by && revision == self.revision =>
            {
                self.in_flight = None;
            }
            (None, Input::Reread { revision }) if revision >= self.revision => {
                self.revision = revision;
            }
            (None, Input::Reread { .. }) => return Err(Reject::Local("revision_went_back")),
            (Some(_), Input::Reread { .. }) => return Err(Reject::Local("commit_in_flight")),
            (Some(issued), Input::Failed { by }) if issued == by => self.in_flight = None,
            (Some(_), Input::Issued { .. }) => return Err(Reject::Local("commit_in_flight")),
            (
                None | Some(_),
                Input::Committed { .. } | Input::CommittedBeside { .. } | Input::Failed { .. },
            ) => {
                return Err(Reject::Local("commit_not_issued"));
            }
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self.in_flight {
            Some(_) => "commit in flight",
            None => "idle",
        }
    }
}
