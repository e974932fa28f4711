//! One session over a real socket: the server as a process, a client of its own.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

mod choice;
mod deletion;
mod errors;
#[path = "../support/fake_openai.rs"]
mod fake_openai;
#[path = "../support/hostile_acp.rs"]
mod hostile_acp;
mod limits;
mod lists;
#[path = "../support/polling.rs"]
mod polling;
mod processes;
mod questions;
mod queue;
mod races;
#[path = "../support/raw_http.rs"]
mod raw_http;
mod reconnect;
mod repeated;
mod rewriting;
mod runs;
mod silence;
mod status;
mod steer;
mod stop;
#[path = "../support/e2e.rs"]
mod support;
mod unsettled;
mod windows;
