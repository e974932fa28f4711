//! What a search takes for one state is one: whatever may happen in one of its histories may happen in
//! each of them, with the same results.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use runwarden_sim::explore::{NotTaken, Play, Recording};
use runwarden_sim::race::Scope;
use runwarden_sim::setting::Setting;

/// States that are followed of each scenario.
const STATES_MAX: usize = 1_500;

/// What the choices of a state lead to: states, and rules that are broken.
type Future = BTreeSet<Result<u64, &'static str>>;

#[test]
fn histories_of_one_state_have_one_future() {
    let settings = [
        ("RACE-01", None, "clients:1,events:1,stops:1,drops:1,crashes:1"),
        ("RACE-16", None, "clients:2,events:1,stops:1,drops:1,crashes:1"),
        (
            "RACE-16",
            Some("stop-hits-whatever-runs"),
            "clients:1,events:1,stops:2,drops:0,crashes:1",
        ),
        (
            "RACE-06",
            Some("borrowed-agent-cleaned-up"),
            "clients:0,events:1,stops:1,drops:1,crashes:0",
        ),
        (
            "RACE-07",
            Some("retired-by-agent-object"),
            "clients:1,events:1,stops:1,drops:0,crashes:0",
        ),
        ("RACE-25", None, "clients:1,events:0,stops:1,drops:0,crashes:1"),
        ("RACE-32", None, "clients:0,events:0,stops:1,drops:0,crashes:1"),
        ("RACE-38", None, "clients:1,events:0,stops:1,drops:1,crashes:1"),
        ("RACE-41", None, "clients:1,events:0,stops:1,drops:1,crashes:0"),
        ("RACE-95", None, "clients:0,events:1,stops:1,drops:1,crashes:1"),
        ("RACE-33", None, "clients:1,events:0,stops:1,drops:0,crashes:1"),
        ("RACE-36", None, "clients:2,events:0,stops:0,drops:0,crashes:1"),
        ("RACE-69", None, "clients:1,events:0,stops:1,drops:0,crashes:0"),
        ("RACE-72", None, "clients:1,events:0,stops:1,drops:1,crashes:1"),
        ("RACE-75", None, "clients:3,events:0,stops:0,drops:0,crashes:1"),
        ("RACE-88", None, "clients:2,events:0,stops:0,drops:1,crashes:1"),
        ("RACE-97", None, "clients:2,events:0,stops:1,drops:0,crashes:1"),
        ("RACE-34", None, "clients:1,events:0,stops:1,drops:1,crashes:1"),
        ("RACE-20", None, "clients:0,events:0,stops:1,drops:1,crashes:1"),
        ("RACE-77", None, "clients:2,events:0,stops:0,drops:1,crashes:1"),
        ("RACE-46", None, "clients:1,events:1,stops:1,drops:0,crashes:1"),
        ("RACE-96", None, "clients:3,events:0,stops:1,drops:2,crashes:1"),
    ];
    let mut met_again = 0;
    for (scenario, variant, scope) in settings {
        let setting = Setting::find(scenario, variant).expect("it is in the list");
        let budget =
            setting.budget.with(&Scope::parse(scope).expect("a scope")).expect("it is small");
        let begin = setting.within(budget).begin(Recording::Off);
        met_again += follow(begin, |labels| format!("{scenario} {variant:?}: {labels:#?}"));
    }
    assert!(met_again > 15_000, "only {met_again} states were reached in a second way");
}

/// Follows every choice, breadth first, and compares a state that is met again with what it was at first.
/// Returns how often one was.
fn follow(begin: Box<dyn Play>, say: impl Fn(&[String]) -> String) -> usize {
    let mut known = BTreeMap::from([(begin.fingerprint(), future(&*begin))]);
    let mut waiting = VecDeque::from([(begin, Vec::new())]);
    let mut met_again = 0;
    while let Some((play, path)) = waiting.pop_front() {
        for label in play.enabled() {
            let mut after = play.fork();
            if after.take(&label).is_err() {
                continue;
            }
            let mut path = path.clone();
            path.push(label);
            let future = future(&*after);
            match known.get(&after.fingerprint()) {
                Some(first) => {
                    met_again += 1;
                    assert_eq!(*first, future, "{}", say(&path));
                }
                None if known.len() < STATES_MAX => {
                    known.insert(after.fingerprint(), future);
                    waiting.push_back((after, path));
                }
                None => {}
            }
        }
    }
    met_again
}

fn future(play: &dyn Play) -> Future {
    let outcome = |label: &String| {
        let mut after = play.fork();
        match after.take(label) {
            Ok(()) => Ok(after.fingerprint()),
            Err(NotTaken::Broken(broken)) => Err(broken.rule),
            Err(NotTaken::NotEnabled) => Err("not enabled"),
        }
    };
    play.enabled().iter().map(outcome).collect()
}
