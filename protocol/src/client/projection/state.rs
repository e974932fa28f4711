//! The states of a projection and what moves it from one to the next.

use std::collections::{BTreeMap, BTreeSet};

use super::Effect;
use super::live::{Live, Took};
use crate::wire::Code;
use crate::wire::actions::KnownState;
use crate::wire::frames::{
    Frame, HistoryPage, QueueList, SessionDelta, SessionManifest, SessionResume, StreamState,
};
use crate::wire::limits::{KNOWN_SEQS_MAX, SCHEMA_VERSION};
use crate::wire::structures::{
    EntityStatus, NumberedFrame, Op, Question, QueueEntry, ResumeMode, Row, SessionFields,
    SessionStatus, Usage,
};

/// Ended entities remembered, so that a late frame brings none back.
const ENDED_MAX: usize = 256;

/// What a client shows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Revision of everything but the live content.
    pub revision: i64,
    /// Newest rows, oldest first; older ones are on other pages.
    pub rows: Vec<Row>,
    /// Rows of the whole chain.
    pub chain_length: i64,
    /// Title.
    pub title: String,
    /// Status.
    pub status: Option<SessionStatus>,
    /// Agent.
    pub agent: String,
    /// Model.
    pub model: Option<String>,
    /// Whether it is archived.
    pub archived: bool,
    /// What its runs used.
    pub usage: Option<Usage>,
    /// Generation of the transcript.
    pub transcript_generation: i64,
    /// What waits, the head first.
    pub queue: Vec<QueueEntry>,
    /// Why nothing of it starts.
    pub queue_held: Option<Code>,
    /// Open questions by id.
    pub questions: BTreeMap<String, Question>,
    /// Entities that have not ended.
    pub live: BTreeMap<String, Live>,
}

/// Where a projection stands (table 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing was asked for.
    Empty,
    /// A manifest was asked for.
    AwaitManifest,
    /// It follows the session.
    Ready,
    /// It asked for what it missed.
    Resuming,
    /// The connection is gone; what was shown stays.
    Detached {
        /// Whether there is something to resume from.
        is_known: bool,
    },
}

/// One client's projection of one session.
#[derive(Clone, Debug)]
pub struct Projection {
    /// What it shows.
    pub view: View,
    pub(super) state: State,
    session_id: String,
    store_id: String,
    generation: i64,
    /// How often the session was read anew: manifests taken.
    manifests: u64,
    reading: bool,
    dirty: bool,
    /// Whether the queue was not read since the manifest.
    queue_unread: bool,
    /// Deltas applied since the read under way began; they hold what an older page lacks (SES-30).
    since_read: Vec<SessionDelta>,
    ended: BTreeSet<String>,
}

impl Projection {
    /// A projection of a session that shows nothing yet.
    pub fn new(session_id: &str) -> Self {
        Self {
            view: View::default(),
            state: State::Empty,
            session_id: session_id.to_owned(),
            store_id: String::new(),
            generation: 0,
            manifests: 0,
            reading: false,
            dirty: false,
            queue_unread: false,
            since_read: Vec::new(),
            ended: BTreeSet::new(),
        }
    }

    /// Where it stands.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Manifests taken so far; a resume takes none.
    pub const fn manifests(&self) -> u64 {
        self.manifests
    }

    /// Whether nothing it asked for is missing.
    pub fn is_settled(&self) -> bool {
        let is_awaiting = self.view.live.values().any(|live| live.is_awaited);
        self.state == State::Ready && !self.reading && !is_awaiting && !self.queue_unread
    }

    /// The connection is there and said `welcome` for this store.
    pub fn connected(&mut self, store_id: &str) -> Vec<Effect> {
        let known = match self.state {
            State::Detached { is_known: true } | State::Ready | State::Resuming => {
                Some(self.known())
            }
            State::Empty | State::AwaitManifest | State::Detached { is_known: false } => None,
        };
        let effects = self.open(known);
        self.store_id = store_id.to_owned();
        effects
    }

    /// The connection is gone: every reply of it is void (SES-28).
    pub fn disconnected(&mut self) {
        let is_known = match self.state {
            State::Ready | State::Resuming | State::Detached { is_known: true } => true,
            State::Empty | State::AwaitManifest | State::Detached { is_known: false } => false,
        };
        self.state = State::Detached { is_known };
        self.dirty |= self.reading;
        self.reading = false;
        self.since_read.clear();
        for live in self.view.live.values_mut() {
            live.is_awaited = false;
        }
    }

    /// What it would tell an `open_session` now (SES-32).
    pub fn known(&self) -> KnownState {
        let seqs = self.view.live.iter().filter(|(_, live)| live.seq > 0);
        KnownState {
            store_id: self.store_id.clone(),
            session_revision: self.view.revision,
            stream_seqs: seqs
                .map(|(id, live)| (id.clone(), live.seq))
                .take(KNOWN_SEQS_MAX)
                .collect(),
            schema_version: SCHEMA_VERSION,
        }
    }

    /// Takes a frame of its session.
    pub fn frame(&mut self, frame: &Frame) -> Vec<Effect> {
        if frame.session_id() != Some(&self.session_id) {
            return Vec::new();
        }
        match frame {
            Frame::SessionManifest(manifest) => self.manifest(manifest),
            Frame::SessionResume(resume) => self.resume(resume),
            Frame::HistoryPage(page) => self.page(page),
            Frame::StreamState(state) => self.stream_state(state),
            Frame::QueueList(list) => self.queue_list(list),
            // What comes before the awaited answer is in it, or comes again behind it.
            _ if self.state != State::Ready => Vec::new(),
            Frame::SessionDelta(delta) => self.delta(delta),
            Frame::StreamText(text) => self.numbered(&NumberedFrame::StreamText(text.clone())),
            Frame::StreamUpdate(update) => {
                self.numbered(&NumberedFrame::StreamUpdate(update.clone()))
            }
            Frame::StreamNote(note) => self.numbered(&NumberedFrame::StreamNote(note.clone())),
            Frame::SteerSettled(settled) => {
                self.numbered(&NumberedFrame::SteerSettled(settled.clone()))
            }
            Frame::StreamTerminal(terminal) => {
                self.end(&terminal.entity_id);
                Vec::new()
            }
            Frame::QuestionAsked(asked) => {
                let question = asked.question.clone();
                self.view.questions.insert(question.question_id.clone(), question);
                Vec::new()
            }
            Frame::QuestionResolved(resolved) => {
                self.view.questions.remove(&resolved.question_id);
                Vec::new()
            }
            Frame::SessionItem(item) => {
                // The status also changes between two commits.
                let newest = item.item.as_ref();
                let newest = newest.filter(|item| item.session_revision >= self.view.revision);
                self.view.status = newest.map(|item| item.status).or(self.view.status);
                Vec::new()
            }
            Frame::SyncRequired(sync) => match &sync.entity_id {
                Some(entity_id) => self.fetch(&entity_id.clone()),
                None => self.reopen(),
            },
            _ => Vec::new(),
        }
    }

    fn manifest(&mut self, frame: &SessionManifest) -> Vec<Effect> {
        let manifest = &frame.manifest;
        let is_awaited = matches!(self.state, State::AwaitManifest | State::Resuming);
        if !is_awaited || manifest.generation != self.generation {
            return Vec::new();
        }
        self.state = State::Ready;
        self.manifests += 1;
        let questions = manifest.open_questions.iter();
        self.view = View {
            revision: manifest.session_revision,
            rows: Vec::new(),
            chain_length: manifest.chain_length,
            title: manifest.title.clone(),
            status: Some(manifest.status),
            agent: manifest.agent.clone(),
            model: manifest.model.clone(),
            archived: false,
            usage: None,
            transcript_generation: manifest.transcript_generation,
            queue: Vec::new(),
            queue_held: manifest.queue.held,
            questions: questions.map(|q| (q.question_id.clone(), q.clone())).collect(),
            live: BTreeMap::new(),
        };
        self.ended.clear();
        self.queue_unread = true;
        let mut effects = self.read_latest();
        effects.push(Effect::ListQueue);
        for entity_id in manifest.running.keys() {
            effects.extend(self.fetch(entity_id));
        }
        effects
    }

    /// Applies everything in one step (table 5.5); an entity that ended goes, its row is in the ops (SES-33).
    fn resume(&mut self, resume: &SessionResume) -> Vec<Effect> {
        let is_ours = resume.generation == self.generation
            && resume.from_revision == self.view.revision
            && self.state == State::Resuming;
        if !is_ours {
            return Vec::new();
        }
        self.state = State::Ready;
        let mut effects = self.apply(&resume.ops);
        self.view.revision = resume.session_revision;
        let questions = resume.open_questions.iter();
        self.view.questions = questions.map(|q| (q.question_id.clone(), q.clone())).collect();
        for stream in &resume.streams {
            match stream.mode {
                ResumeMode::Deltas => {
                    for delta in &stream.deltas {
                        effects.extend(self.numbered(delta));
                    }
                }
                ResumeMode::Fetch => effects.extend(self.fetch(&stream.entity_id)),
                ResumeMode::Terminal => self.end(&stream.entity_id),
            }
        }
        if self.dirty {
            effects.extend(self.read_latest());
        }
        effects.extend(self.queue_unread.then_some(Effect::ListQueue));
        effects
    }

    /// As SES-24 says, a delta that begins where this stands is applied whole, one that brings nothing is ignored, and any other
    /// one shows that something is missing.
    fn delta(&mut self, delta: &SessionDelta) -> Vec<Effect> {
        if delta.to_revision <= self.view.revision {
            return Vec::new();
        }
        if delta.from_revision != self.view.revision {
            return self.reopen();
        }
        if self.reading {
            self.since_read.push(delta.clone());
        }
        let effects = self.apply(&delta.ops);
        self.view.revision = delta.to_revision;
        effects
    }

    fn apply(&mut self, ops: &[Op]) -> Vec<Effect> {
        let mut invalidated = false;
        for op in ops {
            invalidated |= self.view.apply(op);
            if let Op::EntityEnded { entity_id, .. } = op {
                self.end(&entity_id.clone());
            }
        }
        if invalidated { self.read_latest() } else { Vec::new() }
    }

    /// Takes the newest page, and applies again what was applied while it was read (SES-30).
    fn page(&mut self, page: &HistoryPage) -> Vec<Effect> {
        if !self.reading || page.generation != self.generation || self.state != State::Ready {
            return Vec::new();
        }
        self.reading = false;
        self.view.rows.clone_from(&page.rows);
        let newer = std::mem::take(&mut self.since_read);
        for delta in newer.iter().filter(|delta| delta.to_revision > page.session_revision) {
            for op in &delta.ops {
                self.view.apply_row(op);
            }
        }
        if self.dirty { self.read_latest() } else { Vec::new() }
    }

    fn stream_state(&mut self, state: &StreamState) -> Vec<Effect> {
        if state.generation.is_some_and(|generation| generation != self.generation) {
            return Vec::new();
        }
        if state.status != EntityStatus::Running {
            self.end(&state.entity_id);
        } else if let Some(live) = self.view.live.get_mut(&state.entity_id) {
            live.restore(state);
        }
        Vec::new()
    }

    fn queue_list(&mut self, list: &QueueList) -> Vec<Effect> {
        if list.session_revision < self.view.revision {
            // A delta was faster; the list is asked for again.
            return vec![Effect::ListQueue];
        }
        self.queue_unread = false;
        self.view.queue.clone_from(&list.entries);
        self.view.queue_held = list.held;
        Vec::new()
    }

    fn numbered(&mut self, frame: &NumberedFrame) -> Vec<Effect> {
        let entity_id = match frame {
            NumberedFrame::StreamText(text) => &text.entity_id,
            NumberedFrame::StreamUpdate(update) => &update.entity_id,
            NumberedFrame::StreamNote(note) => &note.entity_id,
            NumberedFrame::SteerSettled(settled) => &settled.entity_id,
            NumberedFrame::StreamTerminal(terminal) => {
                self.end(&terminal.entity_id);
                return Vec::new();
            }
        };
        if self.ended.contains(entity_id) {
            return Vec::new();
        }
        match self.view.live.entry(entity_id.clone()).or_default().apply(frame) {
            Took::Applied | Took::Ignored => Vec::new(),
            Took::Gap => self.fetch(entity_id),
        }
    }

    fn fetch(&mut self, entity_id: &str) -> Vec<Effect> {
        if self.ended.contains(entity_id) {
            return Vec::new();
        }
        let live = self.view.live.entry(entity_id.to_owned()).or_default();
        if std::mem::replace(&mut live.is_awaited, true) {
            return Vec::new();
        }
        let known_seq = (live.seq > 0).then_some(live.seq);
        let (generation, entity_id) = (self.generation, entity_id.to_owned());
        vec![Effect::GetStream { generation, entity_id, known_seq }]
    }

    fn end(&mut self, entity_id: &str) {
        self.view.live.remove(entity_id);
        self.view.questions.retain(|_, question| question.run_id.as_deref() != Some(entity_id));
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_first();
        }
        self.ended.insert(entity_id.to_owned());
    }

    /// Any number of invalidations while a read is pending cause one further read (SES-29).
    fn read_latest(&mut self) -> Vec<Effect> {
        self.dirty = self.reading;
        if self.reading {
            return Vec::new();
        }
        self.reading = true;
        self.since_read.clear();
        vec![Effect::ReadLatest { generation: self.generation }]
    }

    fn reopen(&mut self) -> Vec<Effect> {
        let known = self.known();
        self.open(Some(known))
    }

    fn open(&mut self, known: Option<KnownState>) -> Vec<Effect> {
        self.generation += 1;
        self.state = if known.is_some() { State::Resuming } else { State::AwaitManifest };
        // A page that was asked for under another generation will be discarded, so it is read again.
        self.dirty |= self.reading;
        self.reading = false;
        self.since_read.clear();
        for live in self.view.live.values_mut() {
            live.is_awaited = false;
        }
        vec![Effect::Open { generation: self.generation, known }]
    }
}

impl View {
    pub(super) fn set(&mut self, fields: &SessionFields) {
        let SessionFields {
            title,
            status,
            counts,
            features: _,
            archived,
            agent,
            model,
            usage,
            transcript_generation,
            transcript_generation_baseline: _,
        } = fields.clone();
        self.title = title.unwrap_or_else(|| self.title.clone());
        self.status = status.or(self.status);
        if let Some(messages) = counts.and_then(|counts| counts.get("messages").copied()) {
            self.chain_length = messages;
        }
        self.archived = archived.unwrap_or(self.archived);
        if let Some(agent) = agent {
            (self.agent, self.model) = (agent, model);
        }
        self.usage = usage.or(self.usage.take());
        self.transcript_generation = transcript_generation.unwrap_or(self.transcript_generation);
    }
}
