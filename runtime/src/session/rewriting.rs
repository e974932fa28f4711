//! Rewriting the transcript: what an operation means for the rows there are, then the session decides (LIFE-05).

use runwarden_protocol::ids::{MessageId, Revision};
use runwarden_protocol::run::changes::{self, ChangeKind};
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::session::rewrite::{Plan, Reduction, Target, plan};
use runwarden_protocol::wire::actions::{RewriteOperation, WhenBusy};
use runwarden_protocol::wire::codes::Code;

use super::driver::{Driver, Event, StartDetails};
use crate::connection::ReplyTo;
use crate::ports::change::Change;
use crate::ports::store::{KeyRecord, KeyUse};
use crate::ports::{Store, StoreFailure, World};

/// The reduction of a rewrite that is refused as stale; no store would carry it out.
const NOTHING: Reduction = Reduction { kept: u64::MAX };

/// What a `rewrite` names.
#[derive(Clone, Debug)]
pub struct WantedRewrite {
    /// What to do.
    pub op: RewriteOperation,
    /// The row it is about.
    pub named: Option<MessageId>,
    /// The new text of an edit.
    pub text: Option<String>,
    /// The revision the client saw (LIFE-04).
    pub expected: Revision,
}

/// A `rewrite` that waits for the store.
pub(super) struct Rewriting {
    reply: ReplyTo,
    wanted: WantedRewrite,
    key: Option<KeyUse>,
    remembered: Option<KeyRecord>,
}

impl Rewriting {
    pub(super) fn into_reply(self) -> ReplyTo {
        self.reply
    }
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn rewrite(
        &mut self,
        reply: ReplyTo,
        wanted: WantedRewrite,
        key: Option<KeyUse>,
        remembered: Option<KeyRecord>,
    ) {
        let named = wanted.named;
        let rewriting = Rewriting { reply, wanted, key, remembered };
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move {
            Event::TargetRead(rewriting, store.rewrite_target(session_id, named).await)
        });
    }

    /// A plan for another revision than the client saw is not carried out: the session refuses it as stale.
    pub(super) fn target_read(&mut self, rewriting: Rewriting, read: Result<Target, StoreFailure>) {
        let Rewriting { reply, wanted, key, remembered } = rewriting;
        let target = match read {
            Ok(target) => target,
            Err(failure) => return reply.fail(Code::StorageFailed, &failure.to_string()),
        };
        let WantedRewrite { op, text, expected, named: _ } = wanted;
        let is_current = target.revision == expected;
        let planned = match plan(op, text, target) {
            Ok(planned) => planned,
            Err(wrong) if is_current => {
                tracing::debug!(session = %self.session_id, %wrong, "a rewrite was refused");
                return reply.refuse(|refusal| refusal, Code::InvalidRequest);
            }
            Err(_) if op.starts_turn() => Plan::Start(NOTHING, String::new()),
            Err(_) => Plan::Reduce(NOTHING),
        };
        match planned {
            Plan::Start(reduction, words) => {
                let rewrites = Some((expected, reduction));
                let start = StartDetails { text: words.into(), key, rewrites };
                self.send(reply, start, false, WhenBusy::Reject, remembered);
            }
            Plan::Reduce(reduction) => self.reduce(reply, reduction, expected, key, remembered),
            Plan::Nothing if is_current => {
                // As with a change that names nothing, there is no commit and no effect of a key.
                self.reply_updated(reply, self.machine.revision());
            }
            Plan::Nothing => self.reduce(reply, NOTHING, expected, key, remembered),
        }
    }

    fn reduce(
        &mut self,
        reply: ReplyTo,
        reduction: Reduction,
        expected: Revision,
        key: Option<KeyUse>,
        remembered: Option<KeyRecord>,
    ) {
        if let Some(known) = remembered {
            self.repeat_update(reply, key, known);
            return;
        }
        let kind = ChangeKind::Rewrite { expected };
        let ask = self.await_change(reply, key, Change::Reduction(reduction));
        self.feed(Input::Change(changes::Change { ask, kind }));
    }
}
