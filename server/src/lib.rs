//! The Runwarden server.
