//! Library part.
