//! What one client does while the server lives.

use std::time::Duration;

use serde_json::{Value, json};

use crate::account::{Account, Reply};
use crate::support::client::{Client, Frame};
use crate::support::seeded::Seeded;

/// Longest time between two actions of a client.
const PAUSE_MICROS_MAX: u64 = 20_000;

/// Messages of one session that wait at most; a client that sees so many removes or stops something.
const WAITING_MAX: usize = 8;

/// How prompts begin; the rest tells them apart.
const PROMPTS: [&str; 8] = ["Say", "/slow", "/ask", "/fail", "/tool", "/count", "/fail", "/permit"];

/// A client at work.
pub(crate) struct Load<'a> {
    client: Client,
    account: &'a mut Account,
    seeded: Seeded,
    /// The run that was last told of.
    run: Option<String>,
    questions: Vec<Value>,
}

impl<'a> Load<'a> {
    /// A client that opens its session and is shown what there is.
    pub(crate) fn new(mut client: Client, account: &'a mut Account, seeded: Seeded) -> Self {
        let manifest = client.open_session(&account.session);
        let run = running(&manifest);
        Self { client, account, seeded, run, questions: Vec::new() }
    }

    /// Works until the connection is gone; what arrived before is taken in.
    pub(crate) fn work(mut self) {
        for sent in self.account.unanswered() {
            if self.send(sent).is_none() {
                return self.take_in();
            }
        }
        while self.act().is_some() {
            std::thread::sleep(Duration::from_micros(self.seeded.within(0..=PAUSE_MICROS_MAX)));
        }
        self.take_in();
    }

    /// One action; none when the connection ended before its answer.
    fn act(&mut self) -> Option<()> {
        self.take_in();
        let waiting = self.account.waiting();
        match self.seeded.within(0..=99) {
            0..=44 if waiting < WAITING_MAX => {
                let when_busy = if self.seeded.within(0..=3) > 0 { "queue" } else { "reject" };
                let prompt = self.prompt();
                let sent = self.account.next(prompt, when_busy);
                self.send(sent)
            }
            0..=47 => self.stop(),
            48..=77 => self.answer(),
            78..=84 => self.steer(),
            85..=89 => self.remove(),
            _ => self.resume(),
        }
    }

    fn prompt(&mut self) -> &'static str {
        if self.account.is_patient && self.seeded.flip() {
            return "/ask";
        }
        let last = PROMPTS.len() as u64 - 1;
        PROMPTS[usize::try_from(self.seeded.within(0..=last)).unwrap()]
    }

    /// Sends a message, or sends it again under its key.
    fn send(&mut self, sent: usize) -> Option<()> {
        let fields = self.account.sent[sent].action(&self.account.session);
        let reply = self.ask("send_message", fields)?;
        let reply = reply_of(&reply);
        if let Reply::Accepted { run: Some(run), .. } = &reply {
            self.run = Some(run.clone());
        }
        self.account.sent[sent].reply = Some(reply);
        Some(())
    }

    fn stop(&mut self) -> Option<()> {
        let Some(run) = self.run.clone() else { return Some(()) };
        // Most questions are to be answered, not stopped.
        let is_asked = !self.questions.is_empty() && self.seeded.within(0..=3) > 0;
        if is_asked || self.account.is_patient && self.seeded.within(0..=39) > 0 {
            return self.answer();
        }
        let fields = json!({"session_id": self.account.session, "run_id": run});
        let result = self.ask("stop_run", fields)?;
        let outcome = match result.data["outcome"].as_str() {
            Some("accepted") => "cancelled".to_owned(),
            Some("already_ended") => result.data["status"].as_str().unwrap().to_owned(),
            _ => return Some(()),
        };
        self.account.stops += usize::from(result.data["outcome"] == "accepted");
        self.account.ended.push((run, outcome));
        Some(())
    }

    fn answer(&mut self) -> Option<()> {
        let Some(question) = self.questions.pop() else { return Some(()) };
        let option = question["options"][0].clone();
        let fields = json!({
            "session_id": self.account.session,
            "question_id": question["question_id"],
            "question_version": question["question_version"],
            "answer": {"options": [option]},
        });
        let reply = self.ask("answer_question", fields)?;
        self.account.answers += usize::from(reply.kind == "question_resolved");
        Some(())
    }

    fn steer(&mut self) -> Option<()> {
        let Some(run) = self.run.clone() else { return Some(()) };
        let fields = json!({
            "session_id": self.account.session, "run_id": run, "text": "a little faster",
        });
        let reply = self.ask("steer_run", fields)?;
        if reply.data["outcome"] == "accepted" {
            let steer = reply.data["steer_id"].as_str().unwrap().to_owned();
            self.account.steers.push((run, steer));
        }
        Some(())
    }

    fn remove(&mut self) -> Option<()> {
        let Some(sent) = self.account.last_waiting() else { return Some(()) };
        let Some(Reply::Accepted { message, .. }) = &self.account.sent[sent].reply else {
            return Some(());
        };
        let fields = json!({"session_id": self.account.session, "message_id": message});
        // Whether it is gone is not known until the answer.
        self.account.sent[sent].may_be_removed = true;
        let reply = self.ask("remove_queued", fields)?;
        let sent = &mut self.account.sent[sent];
        sent.is_removed = reply.kind == "queue_removed";
        sent.may_be_removed = sent.is_removed;
        Some(())
    }

    fn resume(&mut self) -> Option<()> {
        self.ask("resume_queue", json!({"session_id": self.account.session})).map(|_| ())
    }

    fn ask(&mut self, action: &str, fields: Value) -> Option<Frame> {
        let request_id = self.client.send(action, fields);
        self.client.reply_or_end(&request_id)
    }

    /// Takes in what the server told without being asked.
    fn take_in(&mut self) {
        for frame in self.client.take_arrived() {
            let data = &frame.data;
            match &*frame.kind {
                "run_status" => self.run = data["run_id"].as_str().map(str::to_owned),
                "question_asked" => self.questions.push(data["question"].clone()),
                "stream_terminal" => {
                    let text = |field: &str| data[field].as_str().unwrap().to_owned();
                    self.account.ended.push((text("entity_id"), text("status")));
                    self.account.shown(data);
                }
                _ => self.account.shown(data),
            }
        }
    }
}

/// The run that a manifest shows, if one may be attached to.
fn running(manifest: &Value) -> Option<String> {
    manifest["running"].as_object().unwrap().keys().next().cloned()
}

fn reply_of(frame: &Frame) -> Reply {
    let text = |field: &str| frame.data[field].as_str().map(str::to_owned);
    match &*frame.kind {
        "message_ack" => {
            Reply::Accepted { message: text("message_id").unwrap(), run: text("run_id") }
        }
        kind => Reply::Refused(format!("{kind}: {}", frame.data)),
    }
}

/// Sends again what had no answer, then lets everything that waits come to its turn and ends it.
pub(crate) fn drain(client: &mut Client, account: &mut Account) {
    let session = account.session.clone();
    client.open_session(&session);
    for sent in account.unanswered() {
        let fields = account.sent[sent].action(&session);
        account.sent[sent].reply = Some(reply_of(&client.ask("send_message", fields)));
    }
    loop {
        let manifest = client.open_session(&session);
        if let Some(run) = running(&manifest) {
            client.stop(&session, &run);
        } else if manifest["queue"]["length"] == 0 && manifest["status"] != "stopping" {
            break;
        }
        client.ask("resume_queue", json!({"session_id": session}));
    }
}
