//! Runs on remote backends: a Stop waits for the backend, and what it owes outlives the row.

use super::state::{Lineage, Output, RunEntry};
use crate::ids::{AskId, RunId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::guards::Guards;
use crate::run::remote::{self, Fact, Remote};
use crate::run::stop::{self, Moment};

impl<G: Guards> Lineage<G> {
    /// The backend of a run says something; of one that is forgotten nobody waits for it.
    pub(super) fn remote(
        &mut self,
        now: Instant,
        run_id: RunId,
        fact: Fact,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let Ok(i) = self.index(run_id) else { return Ok(()) };
        let input = match (fact, self.runs[i].remote) {
            (Fact::Started, None) if self.runs[i].worker.invoked().is_some() => {
                self.runs[i].remote = Some(Remote::default());
                return Ok(());
            }
            (Fact::Gone, Some(_)) => {
                self.remote_gone(i, now, out);
                return Ok(());
            }
            (Fact::Identified, Some(_)) => remote::Input::Identified,
            (Fact::StopTaken, Some(_)) => remote::Input::StopTaken,
            (Fact::StopRefused, Some(_)) => remote::Input::StopRefused,
            (Fact::Started, _)
            | (Fact::Gone | Fact::Identified | Fact::StopTaken | Fact::StopRefused, None) => {
                return Err(Reject::Local("remote_unlisted"));
            }
        };
        self.drive_remote(i, now, input, out)?;
        self.finish(i, out);
        Ok(())
    }

    /// By STOP-17 and STOP-18: of a call on a remote backend a Stop waits for the backend.
    pub(super) fn stop_remote(
        &mut self,
        i: usize,
        now: Instant,
        ask: AskId,
        out: &mut Outbox<Output>,
    ) {
        let asked = stop::Input::Asked { ask, moment: Moment::Reserving };
        self.drive_stop(i, now, asked, out);
        self.drive_remote(i, now, remote::Input::StopAsked, out)
            .expect("a Stop that is not accepted asks a backend that runs");
    }

    pub(super) fn tick_remote(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let mut outputs = Outbox::new();
        if let Some(remote) = &mut self.runs[i].remote {
            remote.tick(now, &mut outputs);
        }
        self.translate_remote(i, now, outputs, out);
    }

    fn drive_remote(
        &mut self,
        i: usize,
        now: Instant,
        input: remote::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut outputs = Outbox::new();
        if let Some(remote) = &mut self.runs[i].remote {
            remote.step(now, input, &mut outputs)?;
        }
        self.translate_remote(i, now, outputs, out);
        Ok(())
    }

    fn translate_remote(
        &mut self,
        i: usize,
        now: Instant,
        mut outputs: Outbox<remote::Output>,
        out: &mut Outbox<Output>,
    ) {
        for output in outputs.drain() {
            // The run may have ended while its Stop waited.
            let is_held = self.runs[i].stop.is_held();
            match output {
                remote::Output::StopRemote => {
                    out.push(Output::StopRemote { run_id: self.runs[i].run_id });
                }
                remote::Output::Accept if is_held => {
                    let invoked = self.runs[i].worker.invoked();
                    self.drive_stop(i, now, stop::Input::Released { invoked }, out);
                }
                remote::Output::Refuse if is_held && G::heeds_remote_refusal() => {
                    self.drive_stop(i, now, stop::Input::RemoteRefused, out);
                }
                remote::Output::Refuse if is_held => {
                    let invoked = self.runs[i].worker.invoked();
                    self.drive_stop(i, now, stop::Input::Released { invoked }, out);
                }
                remote::Output::Accept | remote::Output::Refuse => {}
            }
        }
    }

    /// There is nothing to stop any more: whoever waits gets the answer of the run itself.
    fn remote_gone(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let was_waiting = self.runs[i].waits_for_remote();
        self.runs[i].remote = None;
        if was_waiting && self.runs[i].stop.is_held() {
            let invoked = self.runs[i].worker.invoked();
            self.drive_stop(i, now, stop::Input::Released { invoked }, out);
        }
        self.finish(i, out);
    }
}

impl<G: Guards> RunEntry<G> {
    /// Whether a Stop of the run is first a matter of its remote backend.
    pub(super) fn is_remote_call(&self) -> bool {
        self.remote.is_some() && self.worker.invoked().is_some() && !self.stop.is_accepted()
    }

    /// Whether a Stop waits for the backend.
    pub(super) fn waits_for_remote(&self) -> bool {
        matches!(self.remote, Some(Remote::AwaitingId { .. } | Remote::Asked { .. }))
    }

    /// Whether a backend is still to be asked to stop, so that the run is not forgotten (STOP-17).
    pub(super) fn owes_remote_stop(&self) -> bool {
        self.remote.is_some_and(Remote::is_owed)
    }
}
