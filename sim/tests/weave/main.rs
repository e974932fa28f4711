//! Rules of runs, shown on the drivers of the server under many seeds.

mod agents;
mod determinism;
mod journal;
mod random;
mod recovery;
mod starts;
mod stops;
mod support;
