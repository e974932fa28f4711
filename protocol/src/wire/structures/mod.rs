//! Structures that frames are made of (2.7).

mod error_data;
mod graph;
mod job;
mod limit;
mod operation;
mod question;
mod report;
mod row;
mod session;
mod state;
mod status;
mod stream;

pub(crate) use error_data::UncheckedErrorData;
pub use error_data::{ErrorData, Scope, Severity};
pub use graph::GraphNode;
pub use job::Job;
pub use limit::Limit;
pub use operation::{Op, SessionFields};
pub use question::{Question, QuestionKind, QuestionOutcome};
pub use report::{ConnectionLag, LagTotal, RunReport, ServerStatus};
pub use row::{DetailField, Marker, Role, Row, ToolResult};
pub use session::{
    AgentCapabilities, AgentContext, AgentItem, Manifest, QueueEntry, QueueState, RunItem,
    SessionItem,
};
pub use state::{CategoryReport, Report};
pub use status::{
    EntityStatus, JobStatus, RecoveryReason, RowStatus, RunOutcome, RunPhase, SessionStatus,
    TerminalReason,
};
pub use stream::{
    Item, ItemKind, NumberedFrame, Replay, ReplayState, ResumeMode, ReturnedSteer, Steer,
    SteerState, StreamResume, Terminal, Usage,
};
