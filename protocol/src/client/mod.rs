//! Machines of a client: what it knows, what it shows, and what it asks for.

pub mod screen;
