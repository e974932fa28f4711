use super::state::{Input, Output, Room, Storage};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Storage {
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
        match (self.room, input) {
            (Room::Enough, Input::Measured { free_bytes }) => {
                if free_bytes < self.low_bytes {
                    self.room = Room::Low;
                    out.push(Output::BecameLow);
                }
            }
            (Room::Low, Input::Measured { free_bytes }) => {
                if self.is_enough(free_bytes) {
                    self.room = Room::Enough;
                    out.push(Output::Recovered);
                }
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
        match self.room {
            Room::Enough => "enough",
            Room::Low => "low",
        }
    }
}

impl Storage {
    /// Whether 1.25 times the bound is free (KEEP-7).
    const fn is_enough(&self, free_bytes: u64) -> bool {
        free_bytes as u128 * 4 >= self.low_bytes as u128 * 5
    }
}
