//! What a seed decides in ring weave, one named decision at a time.
//!
//! Every decision has a calm course: tasks run in the order in which they became runnable, calls take no time,
//! no byte is held back, nothing fails. A *departure* is a decision that went another way, and a schedule is
//! its departures. Drawn from a seed there are many; given, as a race file gives them, there are those and no
//! others, so that one left out leaves the calm course in its place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use runwarden_protocol::instant::Instant;

use super::executor::lock;
use crate::random::Random;

/// The verb of a decision that lets something go wrong.
pub const FAULT: &str = "fault";

/// How often a decision of these verbs departs, in a thousand; one of them is drawn for each schedule and verb.
const RATES: [(&str, [u32; 4]); 3] =
    [("hold", [0, 50, 250, 600]), ("delay", [0, 200, 500, 900]), ("cut", [0, 0, 100, 300])];

/// How often a fault that is allowed strikes, in a thousand; drawn for each schedule and kind.
const FAULT_RATES: [u32; 6] = [0, 0, 10, 50, 150, 400];

/// Departures a schedule notes at most, below the lines of a race file; behind them it is calm.
pub const DEPARTURES_MAX: usize = 50_000;

/// Who decides something, by kind and number; number 0 is the only one of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    kind: Cow<'static, str>,
    number: u32,
}

/// One decision: who, about what, and which of its kind it is, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    actor: Actor,
    verb: Cow<'static, str>,
    name: Cow<'static, str>,
    number: u32,
}

/// How a decision departed from the calm course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// What it is about happened.
    Yes,
    /// So much of it.
    Number(u32),
    /// This one.
    Named(Cow<'static, str>),
}

/// A decision that departed from the calm course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it was taken.
    pub now: Instant,
    /// Which one.
    pub decision: Decision,
    /// How it went.
    pub way: Way,
}

/// A text that names no departure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no choice of ring weave: `<actor> <verb> <name>(<number>[,<way>])`")]
pub struct DepartureError(String);

/// The decisions of one schedule. Cheap to clone.
#[derive(Clone)]
pub struct Choices {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    now: Instant,
    source: Source,
    /// How many decisions of each kind there were.
    counts: BTreeMap<(Actor, &'static str, &'static str), u32>,
    allowed: BTreeSet<&'static str>,
    taken: Vec<Departure>,
    fired: BTreeMap<&'static str, u64>,
}

/// Of a thousand decisions, those that depart; by verb, and of faults by kind.
type Rates = BTreeMap<&'static str, u32>;

enum Source {
    Drawn { random: Random, rates: Rates },
    Given(BTreeMap<Decision, Way>),
}

impl Actor {
    /// One of several.
    pub const fn numbered(kind: &'static str, number: u32) -> Self {
        Self { kind: Cow::Borrowed(kind), number }
    }

    /// The only one.
    pub const fn only(kind: &'static str) -> Self {
        Self::numbered(kind, 0)
    }

    fn parse(text: &str) -> Option<Self> {
        let Some((kind, name)) = text.rsplit_once('-') else {
            return Some(Self { kind: text.to_owned().into(), number: 0 });
        };
        let number = match name.as_bytes() {
            [letter @ b'a'..=b'z'] => u32::from(letter - b'a') + 1,
            _ => name.parse().ok().filter(|number| *number > 0)?,
        };
        Some(Self { kind: kind.to_owned().into(), number })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = u8::try_from(self.number).ok().filter(|number| (1..=26).contains(number));
        match (self.number, letter) {
            (0, _) => f.write_str(&self.kind),
            (_, Some(letter)) if self.kind == "client" => {
                write!(f, "client-{}", char::from(b'a' + letter - 1))
            }
            (number, _) => write!(f, "{}-{number}", self.kind),
        }
    }
}

impl Departure {
    /// Reads `<actor> <verb> <name>(<number>[,<way>])`, as [`fmt::Display`] writes it.
    ///
    /// # Errors
    /// [`DepartureError`] when it is no such text.
    pub fn parse(now: Instant, text: &str) -> Result<Self, DepartureError> {
        Self::read(now, text).ok_or_else(|| DepartureError(text.to_owned()))
    }

    fn read(now: Instant, text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let (actor, verb, label) = (words.next()?, words.next()?, words.next()?);
        let (name, arguments) = label.strip_suffix(')')?.split_once('(')?;
        let (number, way) = match arguments.split_once(',') {
            None => (arguments, Way::Yes),
            Some((number, way)) => match way.parse() {
                Ok(count) => (number, Way::Number(count)),
                Err(_) => (number, Way::Named(way.to_owned().into())),
            },
        };
        let decision = Decision {
            actor: Actor::parse(actor)?,
            verb: verb.to_owned().into(),
            name: name.to_owned().into(),
            number: number.parse().ok()?,
        };
        Some(Self { now, decision, way })
    }

    /// Who departs, as a race file writes it.
    pub fn actor(&self) -> String {
        self.decision.actor.to_string()
    }

    /// Whether it lets something go wrong.
    pub fn is_fault(&self) -> bool {
        self.decision.verb == FAULT
    }

    /// What kind of departure it is, whoever departs.
    pub fn kind(&self) -> String {
        format!("{} {}", self.decision.verb, self.decision.name)
    }

    /// Whether both are about the same decision.
    pub fn is_of(&self, other: &Self) -> bool {
        self.decision == other.decision
    }

    /// How far it departs; small numbers are nearer to the calm course.
    pub fn weight(&self) -> u64 {
        match self.way {
            Way::Yes | Way::Named(_) => 1,
            Way::Number(number) => number.into(),
        }
    }

    /// Departures of the same decision that are nearer to the calm course, the nearest first.
    pub fn lower(&self) -> Vec<Self> {
        let Way::Number(number) = self.way else { return Vec::new() };
        let lower = [1, number / 2, number.saturating_sub(1)];
        let lower = lower.into_iter().filter(|lower| (1..number).contains(lower));
        lower.map(|lower| Self { way: Way::Number(lower), ..self.clone() }).collect()
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { actor, verb, name, number } = &self.decision;
        write!(f, "{actor} {verb} {name}({number}")?;
        match &self.way {
            Way::Yes => {}
            Way::Number(count) => write!(f, ",{count}")?,
            Way::Named(way) => write!(f, ",{way}")?,
        }
        f.write_str(")")
    }
}

impl Choices {
    /// Decisions drawn from a seed.
    pub fn drawn(seed: u64) -> Self {
        Self::new(Source::Drawn { random: Random::new(seed), rates: Rates::new() })
    }

    /// These departures and no others.
    pub fn given(departures: &[Departure]) -> Self {
        let given = departures.iter().map(|d| (d.decision.clone(), d.way.clone()));
        Self::new(Source::Given(given.collect()))
    }

    fn new(source: Source) -> Self {
        let inner = Inner {
            now: Instant::ZERO,
            source,
            counts: BTreeMap::new(),
            allowed: BTreeSet::new(),
            taken: Vec::new(),
            fired: BTreeMap::new(),
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// From now on these kinds of faults may strike, and no others.
    pub fn allow(&self, kinds: &[&'static str]) {
        lock(&self.inner).allowed = kinds.iter().copied().collect();
    }

    /// Whether something goes wrong here. A kind that is not allowed does not.
    pub fn fault(&self, actor: Actor, kind: &'static str) -> bool {
        let mut inner = lock(&self.inner);
        if !inner.allowed.contains(kind) {
            return false;
        }
        let draw = |random: &mut Random, rates: &mut Rates| {
            let drawn = |random: &mut Random| FAULT_RATES[random.below(FAULT_RATES.len())];
            let rate = *rates.entry(kind).or_insert_with(|| drawn(random));
            random.chance(rate).then_some(Way::Yes)
        };
        let strikes = inner.decide(actor, FAULT, kind, draw, |way| *way == Way::Yes).is_some();
        *inner.fired.entry(kind).or_default() += u64::from(strikes);
        strikes
    }

    /// A number below `bound`; 0 is the calm course.
    pub fn number(&self, actor: Actor, verb: &'static str, name: &'static str, bound: u32) -> u32 {
        let draw = |random: &mut Random, rates: &mut Rates| {
            let rate = *rates.entry(verb).or_insert_with(|| rate(verb, random));
            let number = if random.chance(rate) { random.below(bound as usize) } else { 0 };
            (number > 0).then(|| Way::Number(u32::try_from(number).unwrap_or(u32::MAX)))
        };
        let fits = |way: &Way| matches!(way, Way::Number(number) if (1..bound).contains(number));
        match lock(&self.inner).decide(actor, verb, name, draw, fits) {
            Some(Way::Number(number)) => number,
            Some(Way::Yes | Way::Named(_)) | None => 0,
        }
    }

    /// One of `options`; the first is the calm course.
    pub fn pick(
        &self,
        actor: Actor,
        verb: &'static str,
        name: &'static str,
        options: &[&'static str],
    ) -> &'static str {
        let draw = |random: &mut Random, _: &mut Rates| {
            let index = random.below(options.len());
            (index > 0).then(|| Way::Named(options[index].into()))
        };
        let index = |way: &Way| match way {
            Way::Named(way) => options.iter().position(|option| option == way),
            Way::Yes | Way::Number(_) => None,
        };
        let fits = |way: &Way| index(way).is_some_and(|index| index > 0);
        let way = lock(&self.inner).decide(actor, verb, name, draw, fits);
        options[way.as_ref().and_then(index).unwrap_or(0)]
    }

    /// The departures so far, in order.
    pub fn departures(&self) -> Vec<Departure> {
        lock(&self.inner).taken.clone()
    }

    /// How often each kind of fault struck.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.inner).fired.clone()
    }

    pub(super) fn set_now(&self, now: Instant) {
        lock(&self.inner).now = now;
    }
}

impl Inner {
    /// How the next decision of its kind goes: as it was given, if that fits, or as `draw` says.
    fn decide(
        &mut self,
        actor: Actor,
        verb: &'static str,
        name: &'static str,
        draw: impl FnOnce(&mut Random, &mut Rates) -> Option<Way>,
        fits: impl FnOnce(&Way) -> bool,
    ) -> Option<Way> {
        let count = self.counts.entry((actor.clone(), verb, name)).or_default();
        *count += 1;
        let number = *count;
        let decision = || Decision { actor, verb: verb.into(), name: name.into(), number };
        let (decision, way) = match &mut self.source {
            Source::Drawn { .. } if self.taken.len() >= DEPARTURES_MAX => return None,
            Source::Drawn { random, rates } => {
                let way = draw(random, rates)?;
                (decision(), way)
            }
            Source::Given(given) => {
                let decision = decision();
                let way = given.get(&decision).filter(|way| fits(way))?.clone();
                (decision, way)
            }
        };
        self.taken.push(Departure { now: self.now, decision, way: way.clone() });
        Some(way)
    }
}

fn rate(verb: &str, random: &mut Random) -> u32 {
    let known = RATES.iter().find(|(known, _)| *known == verb);
    known.map_or(1_000, |(_, rates)| rates[random.below(rates.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Actor = Actor::numbered("client", 1);

    fn some_decisions(choices: &Choices) -> Vec<String> {
        choices.allow(&["append_failed"]);
        let mut ways = Vec::new();
        for _ in 0..40 {
            ways.push(choices.fault(Actor::only("store"), "append_failed").to_string());
            ways.push(choices.number(Actor::numbered("session", 2), "hold", "poll", 4).to_string());
            ways.push(choices.pick(CLIENT, "act", "step", &["wait", "say", "stop"]).to_owned());
        }
        ways
    }

    #[test]
    fn given_departures_lead_where_the_seed_led() {
        for seed in 0..50 {
            let drawn = Choices::drawn(seed);
            let ways = some_decisions(&drawn);
            let departures = drawn.departures();
            let given = Choices::given(&departures);
            assert_eq!(some_decisions(&given), ways, "seed {seed}");
            assert_eq!((given.departures(), given.faults()), (departures, drawn.faults()));
        }
    }

    #[test]
    fn without_departures_everything_is_calm() {
        let calm = Choices::given(&[]);
        let ways = some_decisions(&calm);
        assert!(ways.chunks(3).all(|ways| *ways == ["false", "0", "wait"]), "{ways:?}");
        assert!(calm.departures().is_empty());
    }

    #[test]
    fn a_departure_is_read_as_it_is_written() {
        let drawn = Choices::drawn(3);
        some_decisions(&drawn);
        for departure in drawn.departures() {
            let text = departure.to_string();
            assert_eq!(Departure::parse(departure.now, &text), Ok(departure), "{text}");
        }
        for wrong in ["", "client-a act", "client-a act step", "client-a act step(x)", "a- b c(1)"]
        {
            assert!(Departure::parse(Instant::ZERO, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kind_of_fault_that_is_not_allowed_does_not_strike() {
        for seed in 0..50 {
            let choices = Choices::drawn(seed);
            assert!(!choices.fault(CLIENT, "reset"));
            choices.allow(&["reset"]);
            choices.allow(&[]);
            assert!(!choices.fault(CLIENT, "reset") && choices.departures().is_empty());
        }
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let departures =
            ["client-a act step(1,fly)", "client-a cut up(1,9)", "client-a cut up(2,0)"]
                .map(|text| Departure::parse(Instant::ZERO, text).expect("a departure"));
        let given = Choices::given(&departures);
        assert_eq!(given.pick(CLIENT, "act", "step", &["wait", "say"]), "wait");
        assert_eq!(
            [given.number(CLIENT, "cut", "up", 9), given.number(CLIENT, "cut", "up", 9)],
            [0; 2]
        );
        assert!(given.departures().is_empty());
    }
}
