//! Vectors for clients in any language: what a client is told, and what it shows then. The page's projection is tested with
//! them too (`server/tests/browser/vectors.test.mjs`).

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::*;
use crate::wire::actions::KnownState;
use crate::wire::frames::SessionResume;
use crate::wire::structures::{Replay, ReplayState, ResumeMode, StreamResume, Terminal};

/// One client and the session it shows, with everything it was told.
struct Told {
    plain: Plain,
    client: Projection,
    deltas: Vec<SessionDelta>,
    steps: Vec<Value>,
    is_connected: bool,
    /// Pages that are on their way.
    pages: VecDeque<Frame>,
}

impl Told {
    fn new() -> Self {
        let plain = Plain::new();
        let client = Projection::new(&plain.head.session_id.to_string());
        let mut told = Self {
            plain,
            client,
            deltas: vec![],
            steps: vec![],
            is_connected: false,
            pages: VecDeque::new(),
        };
        told.connect();
        told.arrive();
        told
    }

    fn connect(&mut self) {
        self.is_connected = true;
        self.steps.push(json!({"connect": "store"}));
        let effects = self.client.connected("store");
        self.answer(effects);
    }

    fn disconnect(&mut self) {
        self.is_connected = false;
        self.pages.clear();
        self.steps.push(json!({"disconnect": true}));
        self.client.disconnected();
    }

    fn act(&mut self, act: Act) {
        let delta = self.plain.commit(act).expect("an act that applies");
        self.deltas.push(delta.clone());
        if self.is_connected {
            self.tell(Frame::SessionDelta(delta));
        }
    }

    /// The pages that were asked for come.
    fn arrive(&mut self) {
        while let Some(page) = self.pages.pop_front() {
            self.tell(page);
        }
    }

    fn tell(&mut self, frame: Frame) {
        self.steps.push(json!({ "frame": frame }));
        let effects = self.client.frame(&frame);
        self.answer(effects);
    }

    fn answer(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Open { generation, known: None } => {
                    self.tell(self.plain.manifest(generation));
                }
                Effect::Open { generation, known: Some(known) } => {
                    self.tell(self.resume(generation, &known));
                }
                Effect::ReadLatest { generation } => {
                    self.pages.push_back(self.plain.page(generation));
                }
                Effect::ListQueue => self.tell(self.plain.queue_list()),
                Effect::GetStream { .. } => {}
            }
        }
    }

    fn resume(&self, generation: i64, known: &KnownState) -> Frame {
        let missed = self.deltas.iter().filter(|d| d.to_revision > known.session_revision);
        let ended = known.stream_seqs.keys().map(|entity_id| StreamResume {
            entity_id: entity_id.clone(),
            mode: ResumeMode::Terminal,
            replay: Replay { state: ReplayState::Complete, reason: None },
            from_seq: 0,
            stream_seq: Some(9),
            deltas: vec![],
            terminal: Some(Terminal {
                status: Outcome::Completed,
                reason: None,
                complete: true,
                committed_in: None,
                returned_steers: vec![],
                usage: None,
                row: None,
                error: None,
            }),
        });
        Frame::SessionResume(Box::new(SessionResume {
            request_id: None,
            session_id: self.plain.head.session_id.to_string(),
            generation,
            from_revision: known.session_revision,
            session_revision: int(self.plain.head.revision.get()),
            ops: missed.flat_map(|delta| delta.ops.clone()).collect(),
            streams: ended.collect(),
            open_error_ids: vec![],
            open_questions: vec![],
        }))
    }

    fn finish(mut self, name: &str) -> Value {
        self.arrive();
        assert_same(&self.client, &self.plain).expect("the client shows the session");
        let view = &self.client.view;
        let row = |row: &Row| json!([row.message_id, row.body, row.status]);
        json!({
            "name": name,
            "session_id": self.plain.head.session_id,
            "steps": self.steps,
            "expect": {
                "revision": view.revision,
                "rows": view.rows.iter().map(row).collect::<Vec<_>>(),
                "live": view.live.keys().collect::<Vec<_>>(),
                "manifests": self.client.manifests(),
            },
        })
    }
}

fn admit(words: &str) -> Act {
    Act::Admit { words: words.to_owned(), keep: None }
}

fn settle(answer: &str) -> Act {
    Act::Settle { outcome: Outcome::Completed, answer: Some(answer.to_owned()), marked: false }
}

fn cases() -> Vec<Value> {
    let large = "x".repeat(DELTA_BYTES_MAX);
    let with = |name: &str, play: &dyn Fn(&mut Told)| {
        let mut told = Told::new();
        play(&mut told);
        told.finish(name)
    };
    vec![
        with("a turn comes by its two commits", &|told| {
            told.act(admit("a question"));
            told.act(settle("an answer"));
        }),
        with("rows too large for a delta are read", &|told| {
            told.act(admit("a question"));
            told.act(settle(&large));
        }),
        with("a turn that was missed comes with the resume", &|told| {
            told.act(admit("one"));
            told.disconnect();
            told.act(settle("answer to one"));
            told.act(admit("two"));
            told.act(settle("answer to two"));
            told.connect();
        }),
        with("a run that began while the window was away is live", &|told| {
            told.disconnect();
            told.act(admit("one"));
            told.connect();
        }),
        with("a page on its way takes nothing back that came meanwhile", &|told| {
            told.act(admit(&large));
            told.act(settle("a short answer"));
            told.act(admit("another question"));
            told.arrive();
        }),
        with("a read that was lost is done again after the resume", &|told| {
            told.act(admit(&large));
            told.disconnect();
            told.act(settle("a short answer"));
            told.connect();
        }),
        with("a start that was undone leaves nothing", &|told| {
            told.act(admit("one"));
            told.act(Act::Undo { requeue: false });
        }),
        with("what a rewrite removed is gone", &|told| {
            for words in ["one", "two"] {
                told.act(admit(words));
                told.act(settle(words));
            }
            told.act(Act::Reduce(2));
        }),
        with("late usage changes a row where it stands", &|told| {
            told.act(admit("one"));
            told.act(settle("answer"));
            told.act(Act::LateUsage(7));
            told.act(Act::Title("a title".to_owned()));
        }),
    ]
}

/// The file holds what the session and the client of this crate do; a difference is printed as the file it wants.
#[test]
fn the_vectors_are_what_the_machines_do() {
    let stored = include_str!("../../../tests/vectors/projection.json");
    let lines: Vec<_> = cases().iter().map(Value::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    assert!(stored == text, "tests/vectors/projection.json is not\n{text}");
}
