use super::guards::ScreenGuards;
use super::state::{
    Input, Listed, Observation, Output, SESSIONS_SHOWN_MAX, SUBMITS_UNANSWERED_MAX, Screen, Shown,
    Stop, Submit, SubmitAnswer, SubmitKey,
};
use crate::ids::{AskId, RunId, SessionId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl<G: ScreenGuards> Machine for Screen<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    /// Each unanswered submit is asked again.
    const OUTPUTS_MAX: usize = SUBMITS_UNANSWERED_MAX;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match input {
            Input::SessionChosen { session_id } => {
                self.entry(session_id)?;
                self.on_screen = Some(session_id);
            }
            Input::ListWanted { request } => {
                if self.is_connected {
                    self.list = Some(Observation { request, outdated: Vec::new() });
                    out.push(Output::RequestList { request });
                }
            }
            Input::ListReceived { request, sessions } => self.observe(request, &sessions, out),
            Input::SendWanted { request, session_id, key } => {
                self.send(request, session_id, key, out)?;
            }
            Input::SubmitAnswered { request, answer } => self.submit_answered(request, answer)?,
            Input::StopWanted { request, session_id } => self.stop(request, session_id, out),
            Input::StopReplied { request, is_done } => self.stop_replied(request, is_done, out)?,
            Input::RunShown { session_id, run_id } => {
                let shown = self.entry(session_id)?;
                shown.run = Some(run_id).filter(|run| shown.ended != Some(*run));
                self.learned(session_id);
            }
            Input::RunOver { session_id, run_id } => self.run_over(session_id, run_id)?,
            Input::ConnectionLost => self.lose_connection(out)?,
            Input::Connected => self.connected(out)?,
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        let outdated = self.list.as_ref().map_or(0, |list| list.outdated.len());
        self.sessions.len() * size_of::<Shown>() + outdated * size_of::<SessionId>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        let is_any = |is: fn(&Shown) -> bool| self.sessions.iter().any(is);
        match () {
            () if !self.is_connected => "offline",
            () if self.sessions.is_empty() => "blank",
            () if is_any(|shown| shown.submit.is_some()) => "submitting",
            () if is_any(|shown| matches!(shown.stop, Stop::Asked { .. })) => "stopping",
            () if is_any(|shown| shown.run.is_some()) => "running",
            () => "idle",
        }
    }
}

impl<G: ScreenGuards> Screen<G> {
    /// What was asked for before something else was learned says nothing about that (OBS-07).
    fn observe(&mut self, request: AskId, sessions: &[Listed], out: &mut Outbox<Output>) {
        let Some(list) = self.list.take_if(|list| list.request == request) else { return };
        let is_outdated = |id: &SessionId| list.outdated.binary_search(id).is_ok();
        let counts = |id: &SessionId| G::takes_older(is_outdated(id));
        let on_screen = self.on_screen;
        self.sessions.retain(|shown| {
            let is_listed = sessions.iter().any(|entry| entry.session_id == shown.session_id);
            let is_kept = shown.is_wanted() || on_screen == Some(shown.session_id);
            is_listed || is_kept || !counts(&shown.session_id)
        });
        for entry in sessions.iter().filter(|entry| counts(&entry.session_id)) {
            let Ok(shown) = self.entry(entry.session_id) else {
                out.push(Output::ListCut);
                return;
            };
            shown.take_run(entry.run_id);
            if entry.run_id.is_none() && G::observation_ends_submit() {
                shown.submit = None;
            }
        }
    }

    fn send(
        &mut self,
        request: AskId,
        session_id: SessionId,
        key: SubmitKey,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let unanswered = self.sessions.iter().filter(|shown| shown.submit.is_some()).count();
        let is_connected = self.is_connected;
        let shown = self.entry(session_id)?;
        let is_held = shown.submit.is_some()
            || unanswered == SUBMITS_UNANSWERED_MAX
            || G::holds_send(shown.run.is_some());
        if is_held || !is_connected {
            out.push(Output::NotSent { request });
            return Ok(());
        }
        shown.submit = Some(Submit { request, key });
        self.learned(session_id);
        out.push(Output::Submit { request, session_id, key });
        Ok(())
    }

    fn submit_answered(&mut self, request: AskId, answer: SubmitAnswer) -> Result<(), Reject> {
        let is_asked =
            |shown: &&mut Shown| shown.submit.is_some_and(|submit| submit.request == request);
        let Some(shown) = self.sessions.iter_mut().find(is_asked) else {
            // A list ended it, which only a faulty screen lets happen.
            return Err(Reject::Remote("submit_unknown"));
        };
        shown.submit = None;
        match answer {
            SubmitAnswer::Started { run_id } => shown.take_run(Some(run_id)),
            SubmitAnswer::Queued | SubmitAnswer::Refused => {}
        }
        let session_id = shown.session_id;
        self.learned(session_id);
        Ok(())
    }

    fn stop(&mut self, request: AskId, session_id: SessionId, out: &mut Outbox<Output>) {
        let on_screen = self.on_screen.and_then(|id| self.run(id));
        let run_id = G::stopped(self.run(session_id), on_screen).filter(|_| self.is_connected);
        let (Some(run_id), Ok(shown)) = (run_id, self.entry(session_id)) else {
            out.push(Output::NotStopped { request });
            return;
        };
        shown.stop = Stop::Asked { request, run_id };
        if G::shows_stopped_at_once() {
            shown.run = None;
        }
        out.push(Output::StopRun { request, session_id, run_id });
    }

    fn stop_replied(
        &mut self,
        request: AskId,
        is_done: bool,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let is_asked = |shown: &&mut Shown| matches!(shown.stop, Stop::Asked { request: asked, .. } if asked == request);
        // The end of the run may have come first.
        let Some(shown) = self.sessions.iter_mut().find(is_asked) else { return Ok(()) };
        if is_done {
            shown.stop = Stop::None;
        } else if shown.fail_stop() {
            out.push(Output::StopsFailed { sessions: vec![shown.session_id] });
        }
        Ok(())
    }

    fn run_over(&mut self, session_id: SessionId, run_id: RunId) -> Result<(), Reject> {
        let shown = self.entry(session_id)?;
        shown.ended = Some(run_id);
        shown.run = shown.run.filter(|run| *run != run_id);
        shown.stop = match shown.stop {
            Stop::Asked { run_id: stopped, .. } | Stop::Failed { run_id: stopped }
                if stopped == run_id =>
            {
                Stop::None
            }
            other => other,
        };
        self.learned(session_id);
        Ok(())
    }

    fn lose_connection(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if !self.is_connected {
            return Err(Reject::Local("not_connected"));
        }
        self.is_connected = false;
        self.list = None;
        let failed = self.sessions.iter_mut().filter_map(|shown| {
            let session_id = shown.session_id;
            shown.fail_stop().then_some(session_id)
        });
        let sessions: Vec<_> = failed.collect();
        if !sessions.is_empty() {
            out.push(Output::StopsFailed { sessions });
        }
        Ok(())
    }

    /// What is unanswered is asked again, under its own key (ADM-13).
    fn connected(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.is_connected {
            return Err(Reject::Local("connected_twice"));
        }
        self.is_connected = true;
        for shown in &mut self.sessions {
            let session_id = shown.session_id;
            if let Some(Submit { request, key }) = &mut shown.submit {
                *key = G::repeated_key(*key);
                out.push(Output::Submit { request: *request, session_id, key: *key });
            }
        }
        Ok(())
    }

    /// Something was learned that a list asked for before does not know.
    fn learned(&mut self, session_id: SessionId) {
        if let Some(list) = &mut self.list
            && let Err(at) = list.outdated.binary_search(&session_id)
        {
            list.outdated.insert(at, session_id);
        }
    }

    fn entry(&mut self, session_id: SessionId) -> Result<&mut Shown, Reject> {
        match self.sessions.binary_search_by_key(&session_id, |shown| shown.session_id) {
            Ok(at) => Ok(&mut self.sessions[at]),
            Err(_) if self.sessions.len() == SESSIONS_SHOWN_MAX => {
                Err(Reject::Local("sessions_shown_max"))
            }
            Err(at) => {
                self.sessions.insert(at, Shown::new(session_id));
                Ok(&mut self.sessions[at])
            }
        }
    }
}

impl Shown {
    fn take_run(&mut self, run: Option<RunId>) {
        self.run = run.filter(|run| self.ended != Some(*run));
        if self.run.is_none() && matches!(self.stop, Stop::Failed { .. }) {
            self.stop = Stop::None;
        }
    }

    /// The run is shown as it was, with the failure (STOP-19).
    fn fail_stop(&mut self) -> bool {
        let Stop::Asked { run_id, .. } = self.stop else { return false };
        self.stop = Stop::Failed { run_id };
        true
    }
}
