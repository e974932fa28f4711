//! Pure state machines and wire types of Runwarden.
