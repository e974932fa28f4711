//! The state directory as an operator sees it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of the state directory by category.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// One entry per category.
    pub categories: Vec<CategoryReport>,
    /// Logical bytes of the root.
    pub root_logical: i64,
    /// Allocated bytes of the root.
    pub root_allocated: i64,
    /// Bytes by which categories and root differ.
    pub mismatch: i64,
    /// Whether the difference is small enough.
    pub valid: bool,
    /// Whether the warning size is exceeded.
    pub warned: bool,
}

/// Size of one category.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CategoryReport {
    /// Category of the state directory.
    pub category: String,
    /// Logical bytes.
    pub logical: i64,
    /// Allocated bytes.
    pub allocated: i64,
    /// Number of files.
    pub files: i64,
    /// Removed only when asked for by name.
    pub protected: bool,
}
