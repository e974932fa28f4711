//! Laws that hold for every machine in every reachable state of a small scope.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use crate::instant::{Duration, Instant};
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::{self, Matrix};
use crate::record::{DIGEST_START, Digest};

/// Most states [`laws`] visits before it reports the scope as too large.
pub const STATES_MAX: usize = 200_000;

/// What one run of [`laws`] saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawReport {
    /// Distinct states reached.
    pub states: usize,
    /// Steps taken.
    pub transitions: usize,
    /// How often each kind of state was reached.
    pub state_names: BTreeMap<&'static str, usize>,
    /// What each kind of input did in each kind of state.
    pub matrix: Matrix,
}

/// Which law was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law} broken in state {state} by {input}: {detail}")]
pub struct LawBroken {
    /// The law.
    pub law: &'static str,
    /// Name of the state.
    pub state: &'static str,
    /// The input, printed.
    pub input: String,
    /// What was seen.
    pub detail: String,
}

/// Checks the laws of every machine over all states reachable from `start` with the inputs of `scope`:
/// rejection is atomic, an early tick is a no-op, no spin, bounded outputs, bounded weight, terminal
/// absorbs, two clones given the same input agree, and every state survives serialisation.
/// Totality (no input panics) is shown by having tried them all.
///
/// # Errors
/// The first law found broken, or a scope above [`STATES_MAX`].
pub fn laws<M, S>(start: M, scope: &S, weight_max: usize) -> Result<LawReport, LawBroken>
where
    M: Machine + std::fmt::Debug,
    S: Scope<M>,
{
    let mut report = LawReport {
        states: 0,
        transitions: 0,
        state_names: BTreeMap::new(),
        matrix: Matrix::default(),
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut queue = VecDeque::new();
    seen.insert(fingerprint(&start, Instant::ZERO));
    queue.push_back((start, Instant::ZERO));
    while let Some((machine, now)) = queue.pop_front() {
        report.states += 1;
        *report.state_names.entry(machine.state_name()).or_default() += 1;
        report.matrix.reached(machine.state_name());
        if report.states > STATES_MAX {
            return Err(broken("scope", &machine, "-", "more states than STATES_MAX"));
        }
        check_state(&machine, now, weight_max)?;
        for (next, at) in successors(&machine, now, scope, &mut report)? {
            if seen.insert(fingerprint(&next, at)) {
                queue.push_back((next, at));
            }
        }
    }
    Ok(report)
}

fn successors<M, S>(
    machine: &M,
    now: Instant,
    scope: &S,
    report: &mut LawReport,
) -> Result<Vec<(M, Instant)>, LawBroken>
where
    M: Machine + std::fmt::Debug,
    S: Scope<M>,
{
    let mut found = Vec::new();
    for input in scope.inputs(machine) {
        report.transitions += 1;
        let label = format!("{input:?}");
        match check_step(machine, now, &input)? {
            Ok(next) => {
                report.matrix.note(machine.state_name(), &label, next.state_name());
                found.push((next, now));
            }
            Err(reject) => {
                report.matrix.note(machine.state_name(), &label, &matrix::rejected(&reject));
            }
        }
    }
    if let Some((due, _)) = machine.deadline().filter(|(due, _)| *due <= scope.horizon()) {
        report.transitions += 1;
        let at = if due > now { due } else { now };
        let next = check_tick(machine, at)?;
        report.matrix.note(machine.state_name(), matrix::TICK, next.state_name());
        found.push((next, at));
    }
    Ok(found)
}

fn check_state<M: Machine + std::fmt::Debug>(
    machine: &M,
    now: Instant,
    weight_max: usize,
) -> Result<(), LawBroken> {
    if machine.weight() > weight_max {
        let detail = format!("weight {} above {weight_max}", machine.weight());
        return Err(broken("bounded memory", machine, "-", &detail));
    }
    let early = machine.deadline().map_or(now, |(due, _)| {
        let before = Instant::from_micros(due.as_micros().saturating_sub(1));
        if before < now { now } else { before }
    });
    if machine.deadline().is_none_or(|(due, _)| early < due) {
        let mut out = Outbox::new();
        let mut ticked = machine.clone();
        ticked.tick(early, &mut out);
        if ticked != *machine || !out.is_empty() {
            return Err(broken(
                "early tick is a no-op",
                machine,
                "tick",
                &format!("{ticked:?} {out:?}"),
            ));
        }
    }
    let text = serde_json::to_string(machine)
        .map_err(|e| broken("serialises", machine, "-", &e.to_string()))?;
    match serde_json::from_str::<M>(&text) {
        Ok(back) if back == *machine => Ok(()),
        Ok(_) => Err(broken("serialises", machine, "-", "another state came back")),
        Err(e) => Err(broken("serialises", machine, "-", &e.to_string())),
    }
}

fn check_step<M: Machine + std::fmt::Debug>(
    machine: &M,
    now: Instant,
    input: &M::Input,
) -> Result<Result<M, String>, LawBroken> {
    let label = format!("{input:?}");
    let (mut one, mut two) = (machine.clone(), machine.clone());
    let (mut out, mut out_two) = (Outbox::new(), Outbox::new());
    let result = one.step(now, input.clone(), &mut out);
    let _ = two.step(now, input.clone(), &mut out_two);
    if one != two || format!("{out:?}") != format!("{out_two:?}") {
        return Err(broken("deterministic", machine, &label, "two clones disagree"));
    }
    if result.is_err() && (one != *machine || !out.is_empty()) {
        return Err(broken("rejection is atomic", machine, &label, &format!("{result:?} {out:?}")));
    }
    if out.len() > M::OUTPUTS_MAX {
        return Err(broken("bounded output", machine, &label, &format!("{} outputs", out.len())));
    }
    if machine.is_terminal() && (!out.is_empty() || !one.is_terminal()) {
        return Err(broken("terminal absorbs", machine, &label, &format!("{out:?}")));
    }
    Ok(result.map(|()| one).map_err(|reject| format!("{reject:?}")))
}

fn check_tick<M: Machine + std::fmt::Debug>(machine: &M, at: Instant) -> Result<M, LawBroken> {
    let mut next = machine.clone();
    let mut out = Outbox::new();
    next.tick(at, &mut out);
    if out.len() > M::OUTPUTS_MAX {
        return Err(broken("bounded output", machine, "tick", &format!("{} outputs", out.len())));
    }
    match next.deadline() {
        Some((due, kind)) if due <= at => {
            Err(broken("no spin", machine, "tick", &format!("{kind:?} still due")))
        }
        _ => Ok(next),
    }
}

/// A fingerprint of a state: deadlines count relative to `now`, through the machine's own hash.
fn fingerprint<M: Machine>(machine: &M, now: Instant) -> u64 {
    let mut hasher = Fnv(DIGEST_START);
    machine.hash(&mut hasher);
    if let Some((due, kind)) = machine.deadline() {
        Duration::from_micros(due.as_micros().saturating_sub(now.as_micros())).hash(&mut hasher);
        kind.hash(&mut hasher);
    }
    hasher.finish()
}

struct Fnv(Digest);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0.value()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.chain(bytes);
    }
}

fn broken<M: Machine>(law: &'static str, machine: &M, input: &str, detail: &str) -> LawBroken {
    LawBroken {
        law,
        state: machine.state_name(),
        input: input.to_owned(),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Reject, TimerKind};
    use serde::{Deserialize, Serialize};

    /// A lamp with a fault for each law, to show that each law is really checked.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    struct Lamp {
        on: bool,
        due: Option<Instant>,
        fault: Fault,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    enum Fault {
        None,
        ChangeOnReject,
        Chatty,
        Spin,
        Heavy,
        EarlyTick,
    }

    impl Machine for Lamp {
        type Input = bool;
        type Output = bool;
        type Reject = Reject;
        const OUTPUTS_MAX: usize = 1;

        fn step(&mut self, now: Instant, on: bool, out: &mut Outbox<bool>) -> Result<(), Reject> {
            if on == self.on {
                if self.fault == Fault::ChangeOnReject {
                    self.due = None;
                }
                return Err(Reject::Local("same"));
            }
            self.on = on;
            self.due = on.then(|| now.plus(Duration::from_secs(1)));
            out.push(on);
            if self.fault == Fault::Chatty {
                out.push(on);
            }
            Ok(())
        }

        fn tick(&mut self, now: Instant, out: &mut Outbox<bool>) {
            let Some(due) = self.due else { return };
            if now < due {
                if self.fault == Fault::EarlyTick {
                    out.push(false);
                }
                return;
            }
            if self.fault != Fault::Spin {
                self.on = false;
                self.due = None;
            }
        }

        fn deadline(&self) -> Option<(Instant, TimerKind)> {
            self.due.map(|due| (due, TimerKind::Heartbeat))
        }

        fn weight(&self) -> usize {
            if self.fault == Fault::Heavy && self.on { 100 } else { 1 }
        }

        fn is_terminal(&self) -> bool {
            false
        }

        fn state_name(&self) -> &'static str {
            if self.on { "on" } else { "off" }
        }
    }

    struct Both;

    impl Scope<Lamp> for Both {
        fn inputs(&self, _machine: &Lamp) -> Vec<bool> {
            vec![true, false]
        }
    }

    fn check(fault: Fault) -> Result<LawReport, LawBroken> {
        laws(Lamp { on: false, due: None, fault }, &Both, 10)
    }

    #[test]
    fn a_lawful_machine_passes_and_its_states_are_counted() {
        let report = check(Fault::None).unwrap();
        assert!(report.states >= 2 && report.transitions > report.states);
    }

    #[test]
    fn each_law_is_checked() {
        let law = |fault| check(fault).unwrap_err().law;
        assert_eq!(law(Fault::ChangeOnReject), "rejection is atomic");
        assert_eq!(law(Fault::Chatty), "bounded output");
        assert_eq!(law(Fault::Spin), "no spin");
        assert_eq!(law(Fault::Heavy), "bounded memory");
        assert_eq!(law(Fault::EarlyTick), "early tick is a no-op");
    }
}
