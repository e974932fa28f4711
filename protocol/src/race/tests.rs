use crate::instant::Instant;
use crate::record::NUMBER_MAX;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    Choice, Expectation, FILE_BYTES_MAX, LINE_BYTES_MAX, LINES_MAX, Label, Problem, Race,
    RaceError, Ring, Scope, ScopeKey,
};

const HEAD: &str = "race/1\nscenario: flight-recorder\nring: explore\nscope: clients:1,cap:64\n\
                    seed: 7\nschema: 1\n\n";
const TAIL: &str = "expect ok\ndigest 0000000000000000\n";

fn with(choices: &str) -> String {
    format!("{HEAD}{choices}{TAIL}")
}

fn wrong(text: &str) -> (usize, Problem) {
    let RaceError { line, problem } = Race::parse(text.as_bytes()).unwrap_err();
    (line, problem)
}

#[test]
fn the_example_of_the_race_page_is_read_and_written_unchanged() {
    let page = include_str!("../../../docs/spec/race.md");
    let example = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let race = Race::parse(example.as_bytes()).unwrap();
    assert_eq!(race.to_string(), example);
    assert_eq!((race.choices.len(), race.scope.get(ScopeKey::Stops)), (2, Some(1)));
    for (index, choice) in race.choices.iter().enumerate() {
        let line = example.lines().nth(race.line_of(index) - 1).unwrap();
        assert_eq!(line, choice.to_string());
    }
}

#[test]
fn keys_may_stand_in_any_order() {
    let text = "race/1\nschema: 1\ninit: {\"run/a\":{\"x\":1}}\nseed: 0\nscope: events:0\nring: weave\n\
                variant: late\nscenario: a-1\n\nexpect violation INV-TERM\ndigest 00000000000000ff\n";
    let race = Race::parse(text.as_bytes()).unwrap();
    assert_eq!(Race::parse(race.to_string().as_bytes()), Ok(race));
}

#[test]
fn each_fault_is_named_with_its_line() {
    let key = |from: &str, to: &str| with("").replace(from, to);
    let id_error = wrong(&key("expect ok", "expect violation stop")).1;
    assert!(matches!(id_error, Problem::Name(_)), "{id_error:?}");
    for (text, line, problem) in [
        (String::new(), 1, Problem::Ends("`race/1`")),
        ("race/2\n".into(), 1, Problem::Version),
        ("race/1\r\n".into(), 1, Problem::CarriageReturn),
        ("race/1".into(), 1, Problem::NoLineFeed),
        ("race/1\n".into(), 2, Problem::Ends("an empty line")),
        (key("seed: 7", "seed 7"), 5, Problem::Header),
        (key("seed: 7", "seed: "), 5, Problem::Header),
        (key("seed: 7", "seeds: 7"), 5, Problem::UnknownKey("seeds".into())),
        (key("seed: 7", "schema: 1"), 6, Problem::RepeatedKey("schema")),
        (key("seed: 7\n", ""), 6, Problem::MissingKey("seed")),
        (key("seed: 7", "seed: +7"), 5, Problem::Number("seed")),
        (key("seed: 7", "seed: 18446744073709551616"), 5, Problem::Number("seed")),
        (key("explore", "web"), 3, Problem::Ring),
        (key("cap:64", "caps:64"), 4, Problem::Scope("caps:64".into())),
        (key("cap:64", "clients:2"), 4, Problem::Scope("clients:2".into())),
        (with("1 0 store answer\n"), 8, Problem::Choice),
        (with("1  0 store answer x\n"), 8, Problem::Choice),
        (with("\n"), 8, Problem::Choice),
        (with("0 0 a emit x\n"), 8, Problem::StepNotGrowing(0)),
        (with("2 0 a emit x\n2 0 a emit x\n"), 9, Problem::StepNotGrowing(2)),
        (with("1 5 a emit x\n2 4 a emit x\n"), 9, Problem::TimeFalls(5)),
        (with("1 x a emit x\n"), 8, Problem::Number("now_us")),
        (with("1 0 a emit x(1\n"), 8, Problem::Label),
        (key("expect ok", "expect"), 8, Problem::Expect),
        (key("expect ok", "expect fine"), 8, Problem::Expect),
        (key("digest 0", "digest A"), 9, Problem::Digest),
        (key("expect ok\n", ""), 8, Problem::Choice),
        (format!("{HEAD}expect ok\n"), 9, Problem::Ends("`digest`")),
        (format!("{}x\n", with("")), 10, Problem::AfterDigest),
    ] {
        assert_eq!(wrong(&text), (line, problem), "{text}");
    }
}

#[test]
fn labels_are_words_with_arguments_and_inputs_are_json() {
    for label in ["x", "x()", "x(a b)", "x(9,2)", "to_server(client-a)"] {
        assert!(Race::parse(with(&format!("1 0 a emit {label}\n")).as_bytes()).is_ok(), "{label}");
    }
    for label in ["x y", "x(,)", "x(a)b", "(a)", "x(a(b))", "{\"kind\":\"x\",\"y\":1}", "x)"] {
        assert_eq!(wrong(&with(&format!("1 0 a emit {label}\n"))).0, 8, "{label}");
    }
    for input in
        ["x", "[]", "{}", "{\"kind\":1}", "{\"kind\":\"x\",\"at\":0.5}", "{\"kind\":\"x\"} y"]
    {
        let (line, problem) = wrong(&with(&format!("1 0 run/a input {input}\n")));
        assert!(line == 8 && matches!(problem, Problem::Input(_)), "{input}");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_named_with_their_line() {
    let mut bytes = with("1 0 a emit x\n").into_bytes();
    let position = bytes.windows(4).position(|window| window == b"emit").unwrap();
    bytes[position] = 0xff;
    let error = Race::parse(&bytes).unwrap_err();
    assert_eq!(error, RaceError { line: 8, problem: Problem::NotUtf8 });
}

#[test]
fn a_line_has_at_most_its_bytes() {
    let choice = |bytes: usize| {
        let frame = "1 0 run/a input {\"kind\":\"x\",\"t\":\"\"}";
        format!("{}{}\"}}\n", &frame[..frame.len() - 2], "t".repeat(bytes - frame.len()))
    };
    assert!(Race::parse(with(&choice(LINE_BYTES_MAX - 1)).as_bytes()).is_ok());
    assert!(Race::parse(with(&choice(LINE_BYTES_MAX)).as_bytes()).is_ok());
    assert_eq!(wrong(&with(&choice(LINE_BYTES_MAX + 1))), (8, Problem::LineTooLong));
}

#[test]
fn a_file_has_at_most_its_lines() {
    let file = |lines: usize| {
        let choices: String = (1..=lines - 9).map(|step| format!("{step} 0 a emit x\n")).collect();
        with(&choices)
    };
    assert!(Race::parse(file(LINES_MAX - 1).as_bytes()).is_ok());
    assert!(Race::parse(file(LINES_MAX).as_bytes()).is_ok());
    assert_eq!(wrong(&file(LINES_MAX + 1)), (LINES_MAX + 1, Problem::TooManyLines));
}

#[test]
fn a_file_has_at_most_its_bytes() {
    let file = |bytes: usize| {
        let rest = bytes - with("").len();
        let head = "1 0 a emit ".len() + 1;
        let line = rest / 5;
        let lines = (1..=5).map(|step| {
            let length = if step == 5 { rest - 4 * line } else { line };
            format!("{step} 0 a emit {}\n", "x".repeat(length - head))
        });
        with(&lines.collect::<String>())
    };
    assert_eq!(file(FILE_BYTES_MAX).len(), FILE_BYTES_MAX);
    assert!(Race::parse(file(FILE_BYTES_MAX - 1).as_bytes()).is_ok());
    assert!(Race::parse(file(FILE_BYTES_MAX).as_bytes()).is_ok());
    assert_eq!(wrong(&file(FILE_BYTES_MAX + 1)), (14, Problem::FileTooLarge));
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(race in races()) {
        let text = race.to_string();
        prop_assert_eq!(Race::parse(text.as_bytes()), Ok(race.clone()), "{}", text);
        for (index, choice) in race.choices.iter().enumerate() {
            let line = text.split('\n').nth(race.line_of(index) - 1).unwrap();
            prop_assert_eq!(line, choice.to_string());
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(
        bytes in vec(any::<u8>(), 0..200),
        at in 0_usize..170,
    ) {
        let _ = Race::parse(&bytes);
        let mut text = with("1 0 a emit x(1,2)\n2 3 run/a input {\"kind\":\"x\"}\n").into_bytes();
        text.splice(at..at, bytes.into_iter().take(3));
        let _ = Race::parse(&text);
    }
}

fn races() -> impl Strategy<Value = Race> {
    let scope = btree_map(prop::sample::select(&ScopeKey::ALL[..]), any::<u64>(), 1..6);
    let init = btree_map("[a-z/_0-9]{1,8}", json_values(), 0..3)
        .prop_map(|states| states.into_iter().collect::<Map<_, _>>());
    let expect = prop_oneof![
        Just(Expectation::Ok),
        "[A-Z]{1,5}-[A-Z0-9]{1,4}".prop_map(|id| Expectation::Violation(id.parse().unwrap())),
    ];
    (
        ("[a-z0-9-]{1,20}", prop::sample::select(&Ring::ALL[..]), option::of("[a-z-]{1,20}")),
        (scope, any::<u64>(), any::<u64>(), option::of(init)),
        (choices(), expect, "[0-9a-f]{16}"),
    )
        .prop_map(|(names, numbers, content)| Race {
            scenario: names.0.parse().unwrap(),
            ring: names.1,
            variant: names.2.map(|variant| variant.parse().unwrap()),
            scope: Scope::new(numbers.0).unwrap(),
            seed: numbers.1,
            schema: numbers.2,
            init: numbers.3,
            choices: content.0,
            expect: content.1,
            digest: content.2.parse().unwrap(),
        })
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let word = || "[^ (),\\pC]{1,6}";
    let named = (word(), word(), option::of(vec("[^(),\\pC]{1,5}", 0..3))).prop_filter_map(
        "`input` has another label",
        |(verb, name, arguments)| {
            let arguments =
                arguments.map(|all| all.iter().map(|text| text.parse().unwrap()).collect());
            let label = Label::Named { name: name.parse().unwrap(), arguments };
            (verb != Race::INPUT).then_some((verb, label))
        },
    );
    let input = (any::<String>(), 0..=NUMBER_MAX, json_values()).prop_map(|(text, at, more)| {
        let input = json!({"kind": "x", "text": text, "at": at, "more": more});
        (Race::INPUT.to_owned(), Label::Input(input))
    });
    vec((1_u64..3, 0_u64..3, word(), prop_oneof![named, input]), 0..8).prop_map(|steps| {
        let (mut step, mut now) = (0, 0);
        let next = |(more, later, actor, (verb, label)): (u64, u64, String, (String, Label))| {
            step += more;
            now += later;
            let (actor, verb) = (actor.parse().unwrap(), verb.parse().unwrap());
            Choice { step, now: Instant::from_micros(now), actor, verb, label }
        };
        steps.into_iter().map(next).collect()
    })
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(NUMBER_MAX as i64)..=NUMBER_MAX as i64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
