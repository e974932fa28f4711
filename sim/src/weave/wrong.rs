//! What the world of a faulty variant does wrong, where no guard of a machine decides it.

/// One thing that the world around the machines gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The store writes the partial answer of an interrupted run behind its marker.
    PartialBelowMarker,
    /// Each start of the server adds the partial answer of an interrupted run again.
    PartialEachLoad,
}
