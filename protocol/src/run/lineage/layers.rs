use super::state::Output;
use crate::run::layer::Layer;

/// Of a turn that begins: with a rewrite also what it replaces, with a wakeup also that.
const BEGUN: [Layer; 7] = [
    Layer::PendingTurn,
    Layer::TurnJournal,
    Layer::SessionRecord,
    Layer::SessionMetadata,
    Layer::Transcript,
    Layer::ModelContext,
    Layer::SendQueue,
];

/// Of the head of the queue that begins.
const HEAD_BEGUN: [Layer; 5] = [
    Layer::PendingTurn,
    Layer::TurnJournal,
    Layer::SessionRecord,
    Layer::SessionMetadata,
    Layer::SendQueue,
];

/// Of a start that is undone, or a run that is settled.
const ENDED: [Layer; 8] = [
    Layer::PendingTurn,
    Layer::RunJournal,
    Layer::TurnJournal,
    Layer::Transcript,
    Layer::ModelContext,
    Layer::SendQueue,
    Layer::SessionRecord,
    Layer::SessionMetadata,
];

/// Of a session that goes on as another one.
const ROTATED: [Layer; 4] =
    [Layer::PendingTurn, Layer::SendQueue, Layer::SessionRecord, Layer::SessionMetadata];

impl Output {
    /// The layers this effect changes, by name; none of an effect that changes nothing, or of an event (OBS-05).
    pub const fn layers(&self) -> &'static [Layer] {
        match self {
            Self::Admit { is_head: false, .. } => &BEGUN,
            Self::Admit { is_head: true, .. } => &HEAD_BEGUN,
            Self::Compensate { .. } | Self::Settle { .. } | Self::Delete { .. } => &ENDED,
            Self::ChangeQueue { .. } | Self::ChangeWakeups { .. } => {
                &[Layer::SendQueue, Layer::SessionRecord]
            }
            Self::Change { .. } => &[Layer::SessionRecord, Layer::SessionMetadata],
            Self::Rotate { .. } => &ROTATED,
            Self::StartWorker { .. } => &[Layer::TurnJournal],
            Self::Append { .. } => &[Layer::RunJournal],
            Self::Invoke { .. } => &[Layer::AgentStore],
            Self::Close { .. } | Self::CleanUp { .. } | Self::TellCache { .. } => {
                &[Layer::AgentCache]
            }
            Self::ReleaseSlot { .. } => &[Layer::WorkerRegistry],
            Self::Forget { .. } | Self::Discard { .. } => &[Layer::LiveStream],
            Self::StartHead { .. }
            | Self::StartWakeup { .. }
            | Self::WakeupsAnswered { .. }
            | Self::Launch { .. }
            | Self::Construct { .. }
            | Self::AbandonConstruction { .. }
            | Self::AskRegistration { .. }
            | Self::Prepare { .. }
            | Self::Signal { .. }
            | Self::StopRemote { .. }
            | Self::SessionRotated { .. }
            | Self::RotationRefused { .. }
            | Self::ExitWorker { .. }
            | Self::HandSteer { .. }
            | Self::StartAnswered { .. }
            | Self::ChangeAnswered { .. }
            | Self::DeletionAnswered { .. }
            | Self::QueueAnswered { .. }
            | Self::SteerAnswered { .. }
            | Self::StopAnswered { .. }
            | Self::QuestionOpened { .. }
            | Self::QuestionRefused { .. }
            | Self::QuestionsResolved { .. }
            | Self::AnswerRefused { .. }
            | Self::Published { .. }
            | Self::PublishedDegraded { .. }
            | Self::PhaseChanged { .. }
            | Self::RunEnded { .. }
            | Self::SessionChanged { .. }
            | Self::BecameIdle => &[],
        }
    }

    /// Their names, for the log.
    pub fn layer_names(&self) -> String {
        let names: Vec<_> = self.layers().iter().map(|layer| layer.as_str()).collect();
        names.join(",")
    }
}
