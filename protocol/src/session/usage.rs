//! What a session used: the sum over its settled runs, each counted once (USE-02).

use super::record::Usage;

/// The usage of a session after one more run is settled. What no run knows stays unknown. The context is no
/// amount that adds up: the session shows that of the last settled run that stated one.
#[must_use]
pub fn add(sum: Usage, run: Usage) -> Usage {
    let add = |sum: Option<u64>, run: Option<u64>| match (sum, run) {
        (Some(sum), Some(run)) => Some(sum.saturating_add(run)),
        (known, None) | (None, known) => known,
    };
    Usage {
        input: add(sum.input, run.input),
        output: add(sum.output, run.output),
        cached: add(sum.cached, run.cached),
        cost: add(sum.cost, run.cost),
        ..context(sum, run)
    }
}

/// The usage of a session after a settled run's own value, `before`, was replaced by `after`, which knows
/// at least as much. `is_newest` says whether no run that stated a context was settled after it.
#[must_use]
pub fn replace(sum: Usage, before: Usage, after: Usage, is_newest: bool) -> Usage {
    let replace = |sum: Option<u64>, before: Option<u64>, after: Option<u64>| {
        let others = sum.map(|sum| sum.saturating_sub(before.unwrap_or(0)));
        match (others, after) {
            (Some(others), Some(after)) => Some(others.saturating_add(after)),
            (known, None) | (None, known) => known,
        }
    };
    Usage {
        input: replace(sum.input, before.input, after.input),
        output: replace(sum.output, before.output, after.output),
        cached: replace(sum.cached, before.cached, after.cached),
        cost: replace(sum.cost, before.cost, after.cost),
        ..if is_newest { context(sum, after) } else { sum }
    }
}

/// Whether a run stated how full its context is.
pub const fn states_context(usage: Usage) -> bool {
    usage.context_used.is_some() || usage.context_max.is_some()
}

const fn context(sum: Usage, run: Usage) -> Usage {
    if states_context(run) { run } else { sum }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_usage() -> impl Strategy<Value = Usage> {
        let value = || prop::option::of(0..1_000_000_u64);
        (value(), value(), value(), value(), value(), value()).prop_map(
            |(input, output, cached, cost, context_used, context_max)| Usage {
                input,
                output,
                cached,
                cost,
                context_used,
                context_max,
            },
        )
    }

    fn sum(runs: &[Usage], of: impl Fn(&Usage) -> Option<u64>) -> Option<u64> {
        runs.iter().filter_map(of).reduce(|sum, value| sum + value)
    }

    /// Counted anew from all runs in the order of their settlements.
    fn reference(runs: &[Usage]) -> Usage {
        let newest = runs.iter().rev().find(|run| states_context(**run));
        Usage {
            input: sum(runs, |run| run.input),
            output: sum(runs, |run| run.output),
            cached: sum(runs, |run| run.cached),
            cost: sum(runs, |run| run.cost),
            ..newest.copied().unwrap_or_default()
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Settled(Usage),
        Learned(prop::sample::Index, Usage),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            any_usage().prop_map(Step::Settled),
            (any::<prop::sample::Index>(), any_usage())
                .prop_map(|(run, usage)| Step::Learned(run, usage)),
        ]
    }

    proptest! {
        /// USE-02 [property]: however settlements and what is learned after them mix, the usage of a session
        /// is that counted anew from the newest value of each run.
        #[test]
        fn each_run_counts_once_with_its_newest_value(steps in prop::collection::vec(any_step(), 0..24)) {
            let (mut runs, mut total): (Vec<Usage>, Usage) = (Vec::new(), Usage::UNKNOWN);
            for step in steps {
                match step {
                    Step::Settled(usage) => {
                        runs.push(usage);
                        total = add(total, usage);
                    }
                    Step::Learned(run, later) if !runs.is_empty() => {
                        let run = run.index(runs.len());
                        let is_newest = !runs[run + 1..].iter().any(|run| states_context(*run));
                        let before = runs[run];
                        runs[run] = before.learned(later);
                        total = replace(total, before, runs[run], is_newest);
                    }
                    Step::Learned(..) => {}
                }
                prop_assert_eq!(total, reference(&runs));
            }
        }
    }

    #[test]
    fn unknown_values_stay_unknown_and_sums_stop_at_the_largest_number() {
        assert_eq!(add(Usage::UNKNOWN, Usage::UNKNOWN), Usage::UNKNOWN);
        let most = Usage { input: Some(u64::MAX), ..Usage::UNKNOWN };
        assert_eq!(add(most, most), most);
        assert_eq!(replace(most, Usage::UNKNOWN, most, true), most);
    }
}
