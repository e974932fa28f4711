//! Machines of a client: what it knows, what it shows, and what it asks for. Simulated and conformance clients use them;
//! the operator page has the same in JavaScript, proved by the same vectors.

pub mod projection;
pub mod screen;
