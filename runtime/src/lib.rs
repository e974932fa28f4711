//! Async drivers of Runwarden: they feed the machines of `runwarden-protocol` and carry out their
//! effects, generic over the ports in [`ports`].

pub mod ports;
