//! Delivery: what a connection is sent, in which order, and what happens when it does not fit
//! (delivery.md sections 2.4, 4.2, 4.3, 4.10 and tables 5.1 to 5.3).
//!
//! - [`sender`]: the bounded queue of one connection.
//! - [`connection`]: which action of a connection starts when, and how the connection ends.
//! - [`requests`]: outcomes of actions and idempotency keys in flight.

pub mod connection;
pub mod frame;
pub mod limits;
pub mod requests;
pub mod sender;
