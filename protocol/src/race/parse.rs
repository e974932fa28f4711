//! Reading a race file.

use crate::instant::Instant;
use crate::record::{DIGEST_START, check_entry};
use serde_json::{Map, Value};

use super::error::{Problem, RaceError};
use super::file::{Choice, Expectation, Label, Race, Ring};
use super::lines::Lines;
use super::names::{Argument, Slug, Word};
use super::scope::Scope;

impl Race {
    /// Reads a race file.
    ///
    /// # Errors
    /// The first wrong line, and what to do about it.
    pub fn parse(bytes: &[u8]) -> Result<Self, RaceError> {
        let mut lines = Lines::new(bytes);
        if lines.next("`race/1`")? != "race/1" {
            return Err(lines.error(Problem::Version));
        }
        let mut race = read_head(&mut lines)?;
        race.expect = loop {
            let line = lines.next("a choice or `expect`")?;
            if line == "expect" || line.starts_with("expect ") {
                break parse_expect(line).map_err(|problem| lines.error(problem))?;
            }
            let choice = parse_choice(line, race.choices.last());
            race.choices.push(choice.map_err(|problem| lines.error(problem))?);
        };
        let line = lines.next("`digest`")?;
        let digest = line.strip_prefix("digest ").and_then(|text| text.parse().ok());
        race.digest = digest.ok_or_else(|| lines.error(Problem::Digest))?;
        lines.end()?;
        Ok(race)
    }
}

impl Choice {
    /// The choice called `name`: actor, verb and label with one space between.
    ///
    /// # Errors
    /// What the name lacks to be one.
    pub fn named(step: u64, now: Instant, name: &str) -> Result<Self, Problem> {
        let mut parts = name.splitn(3, ' ');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(Problem::Choice);
        let (actor, verb, label) = (next()?, next()?, next()?);
        let verb: Word = verb.parse()?;
        let label =
            if verb.as_str() == Race::INPUT { parse_input(label)? } else { parse_label(label)? };
        Ok(Self { step, now, actor: actor.parse()?, verb, label })
    }
}

/// The decimal number `text`, without sign.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[derive(Default)]
struct Head {
    scenario: Option<Slug>,
    ring: Option<Ring>,
    variant: Option<Slug>,
    scope: Option<Scope>,
    seed: Option<u64>,
    schema: Option<u64>,
    init: Option<Map<String, Value>>,
}

fn read_head(lines: &mut Lines<'_>) -> Result<Race, RaceError> {
    let mut head = Head::default();
    loop {
        let line = lines.next("an empty line")?;
        if line.is_empty() {
            return head.into_race().map_err(|problem| lines.error(problem));
        }
        head.take(line).map_err(|problem| lines.error(problem))?;
    }
}

impl Head {
    fn take(&mut self, line: &str) -> Result<(), Problem> {
        let (key, value) = line.split_once(": ").ok_or(Problem::Header)?;
        if value.is_empty() {
            return Err(Problem::Header);
        }
        match key {
            "scenario" => set(&mut self.scenario, "scenario", value.parse()?),
            "ring" => {
                let ring = Ring::ALL.into_iter().find(|ring| ring.as_str() == value);
                set(&mut self.ring, "ring", ring.ok_or(Problem::Ring)?)
            }
            "variant" => set(&mut self.variant, "variant", value.parse()?),
            "scope" => set(&mut self.scope, "scope", Scope::parse(value)?),
            "seed" => set(&mut self.seed, "seed", number(value).ok_or(Problem::Number("seed"))?),
            "schema" => {
                set(&mut self.schema, "schema", number(value).ok_or(Problem::Number("schema"))?)
            }
            "init" => set(&mut self.init, "init", parse_init(value)?),
            _ => Err(Problem::UnknownKey(key.chars().take(40).collect())),
        }
    }

    fn into_race(self) -> Result<Race, Problem> {
        Ok(Race {
            scenario: self.scenario.ok_or(Problem::MissingKey("scenario"))?,
            ring: self.ring.ok_or(Problem::MissingKey("ring"))?,
            variant: self.variant,
            scope: self.scope.ok_or(Problem::MissingKey("scope"))?,
            seed: self.seed.ok_or(Problem::MissingKey("seed"))?,
            schema: self.schema.ok_or(Problem::MissingKey("schema"))?,
            init: self.init,
            choices: Vec::new(),
            expect: Expectation::Ok,
            digest: DIGEST_START,
        })
    }
}

fn set<T>(slot: &mut Option<T>, key: &'static str, value: T) -> Result<(), Problem> {
    match slot.replace(value) {
        Some(_) => Err(Problem::RepeatedKey(key)),
        None => Ok(()),
    }
}

fn parse_init(text: &str) -> Result<Map<String, Value>, Problem> {
    let init: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| Problem::Init(error.to_string()))?;
    if init.values().all(has_integers_only) {
        return Ok(init);
    }
    Err(Problem::Init("a number is no integer".to_owned()))
}

fn has_integers_only(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(entries) => entries.iter().all(has_integers_only),
        Value::Object(fields) => fields.values().all(has_integers_only),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn parse_choice(line: &str, before: Option<&Choice>) -> Result<Choice, Problem> {
    let mut parts = line.splitn(3, ' ');
    let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(Problem::Choice);
    let (step, now, name) = (next()?, next()?, next()?);
    let step = number(step).ok_or(Problem::Number("step"))?;
    let now = number(now).map(Instant::from_micros).ok_or(Problem::Number("now_us"))?;
    let step_before = before.map_or(0, |choice| choice.step);
    if step <= step_before {
        return Err(Problem::StepNotGrowing(step_before));
    }
    if let Some(before) = before.filter(|before| now < before.now) {
        return Err(Problem::TimeFalls(before.now.as_micros()));
    }
    Choice::named(step, now, name)
}

fn parse_input(text: &str) -> Result<Label, Problem> {
    let input: Value =
        serde_json::from_str(text).map_err(|error| Problem::Input(error.to_string()))?;
    check_entry(&input).map_err(|error| Problem::Input(error.to_string()))?;
    Ok(Label::Input(input))
}

fn parse_label(text: &str) -> Result<Label, Problem> {
    let Some((name, rest)) = text.split_once('(') else {
        return Ok(Label::Named { name: text.parse()?, arguments: None });
    };
    let inner = rest.strip_suffix(')').ok_or(Problem::Label)?;
    let arguments: Vec<Argument> = match inner {
        "" => Vec::new(),
        inner => inner.split(',').map(str::parse).collect::<Result<_, _>>()?,
    };
    Ok(Label::Named { name: name.parse()?, arguments: Some(arguments) })
}

fn parse_expect(line: &str) -> Result<Expectation, Problem> {
    match line.strip_prefix("expect ") {
        Some("ok") => Ok(Expectation::Ok),
        Some(text) => match text.strip_prefix("violation ") {
            Some(id) => Ok(Expectation::Violation(id.parse()?)),
            None => Err(Problem::Expect),
        },
        None => Err(Problem::Expect),
    }
}
