//! Rules of runs that are about the whole: what the code may read, and what an input may do to everything.

mod inputs;
mod predicates;
mod views;
