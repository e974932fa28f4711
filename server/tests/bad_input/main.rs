//! Wrong messages, wrong credentials, a wrong environment: each gets one clear answer, and whatever was
//! accepted before goes on.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

mod disk;
mod fields;
mod messages;
mod start;
#[path = "../support/e2e.rs"]
mod support;
mod upgrade;
