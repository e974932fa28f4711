//! Rules of runs, shown on the drivers of the server under many seeds.

mod actions;
mod agents;
mod connections;
mod deletion;
mod determinism;
mod endings;
mod flight;
mod found;
mod identity;
mod journal;
mod launches;
mod lines;
mod orphans;
mod quarantine;
mod questions;
mod queue;
mod random;
mod recovery;
mod rewriting;
mod starts;
mod steers;
mod stops;
mod storage;
mod support;
mod turns;
mod writers;
