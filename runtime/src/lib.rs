//! Async drivers of Runwarden.
