//! The agents of this server: the kinds behind the agent port.

pub mod demo;
mod interrupt;
