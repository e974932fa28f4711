use crate::instant::Instant;
use crate::machine::Machine;

/// Steps a segment makes room for at first.
const STEPS_AT_FIRST: usize = 16;

/// An input that a recorder may keep: it holds no words of anybody.
pub trait Kept: Clone {
    /// Bytes it holds beside its own size.
    fn heap_bytes(&self) -> usize;
}

/// What a machine took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<I> {
    /// An input.
    Input(I),
    /// Time: a deadline was due.
    Tick,
}

/// Keeps the last steps of a machine within a bound, always with the state they begin from.
///
/// There are two segments, each a state and the steps behind it. When the newer one is full the older one is
/// dropped, so that half of the bound is always used.
#[derive(Clone, Debug)]
pub struct FlightRecorder<M: Machine<Input: Kept>> {
    bytes_max: usize,
    older: Option<Segment<M>>,
    newer: Option<Segment<M>>,
}

/// A state and what was taken from there on.
#[derive(Clone, Debug)]
struct Segment<M: Machine<Input: Kept>> {
    begin: M,
    steps: Vec<Step<M::Input>>,
    /// Bytes that the inputs hold beside their own size.
    heap_bytes: usize,
}

/// One step, without what came of it.
#[derive(Clone, Debug)]
pub(super) struct Step<I> {
    pub(super) now: Instant,
    pub(super) taken: Taken<I>,
}

impl<M: Machine<Input: Kept>> FlightRecorder<M> {
    /// Bytes of one step, without what its input holds beside its own size.
    pub const STEP_BYTES: usize = size_of::<Step<M::Input>>();

    /// A recorder that keeps at most `bytes_max` bytes of steps, but at least one of each half, and beside them
    /// at most two states of the machine.
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, older: None, newer: None }
    }

    /// Notes what `machine` is about to take.
    pub fn note(&mut self, machine: &M, now: Instant, taken: Taken<M::Input>) {
        let heap_bytes = match &taken {
            Taken::Input(input) => input.heap_bytes(),
            Taken::Tick => 0,
        };
        let half = self.bytes_max / 2;
        if self.newer.as_ref().is_none_or(|segment| !segment.has_room(half, heap_bytes)) {
            let begun = Segment { begin: machine.clone(), steps: Vec::new(), heap_bytes: 0 };
            self.older = self.newer.replace(begun);
        }
        let newer = self.newer.as_mut().expect("a segment was begun");
        newer.push(half, heap_bytes, Step { now, taken });
    }

    /// Steps that are kept.
    pub fn len(&self) -> usize {
        self.segments().map(|segment| segment.steps.len()).sum()
    }

    /// Whether nothing was noted yet.
    pub fn is_empty(&self) -> bool {
        self.newer.is_none()
    }

    /// Bytes of the steps that are kept, unused room included; without the two states.
    pub fn step_bytes(&self) -> usize {
        let bytes =
            |segment: &Segment<M>| segment.steps.capacity() * Self::STEP_BYTES + segment.heap_bytes;
        self.segments().map(bytes).sum()
    }

    /// The state from which the kept steps begin, and these steps; without the older half where asked.
    pub(super) fn kept(
        &self,
        with_older: bool,
    ) -> Option<(&M, impl Iterator<Item = &Step<M::Input>>)> {
        let older = self.older.as_ref().filter(|_| with_older);
        let begin = &older.or(self.newer.as_ref())?.begin;
        let steps = older.into_iter().chain(&self.newer).flat_map(|s| &s.steps);
        Some((begin, steps))
    }

    fn segments(&self) -> impl Iterator<Item = &Segment<M>> {
        self.older.iter().chain(&self.newer)
    }
}

impl<M: Machine<Input: Kept>> Segment<M> {
    fn has_room(&self, bytes_max: usize, heap_bytes: usize) -> bool {
        let steps = (self.steps.len() + 1).max(self.steps.capacity());
        steps * FlightRecorder::<M>::STEP_BYTES + self.heap_bytes + heap_bytes <= bytes_max
    }

    /// Room doubles, as that of a vector does by itself, but never passes the bound.
    fn push(&mut self, bytes_max: usize, heap_bytes: usize, step: Step<M::Input>) {
        self.heap_bytes += heap_bytes;
        let (length, room) = (self.steps.len(), bytes_max.saturating_sub(self.heap_bytes));
        let steps_max = (room / FlightRecorder::<M>::STEP_BYTES).max(length + 1);
        if length == self.steps.capacity() {
            self.steps.reserve_exact(length.max(STEPS_AT_FIRST).min(steps_max - length));
        }
        self.steps.push(step);
    }
}
