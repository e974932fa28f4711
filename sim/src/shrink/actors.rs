//! Leaving out whole runs with everyone who acts for them.

use super::Trial;

/// Leaves out each run that is not needed; those behind it take the smaller numbers.
pub(super) fn leave_out(trial: &mut Trial, best: &mut Vec<String>) {
    let last = best.iter().filter_map(|label| run_of(label)).max().unwrap_or(0);
    for run in (1..=last).rev() {
        let is_other = |label: &&String| run_of(label) != Some(run);
        let without: Vec<_> = best.iter().filter(is_other).cloned().collect();
        let closed_up: Vec<_> = without.iter().map(|label| renumbered(label, run)).collect();
        if !trial.improve(best, &closed_up) {
            trial.improve(best, &without);
        }
    }
}

/// The run that a choice belongs to, if it belongs to one.
pub(super) fn run_of(label: &str) -> Option<u8> {
    let (actor, _) = label.split_once(' ')?;
    let (kind, name) = actor.split_once('-').unwrap_or((actor, ""));
    match kind {
        "client" => letter_number(name),
        "worker" | "agent" => name.parse().ok(),
        _ => argument_run(label),
    }
}

fn argument_run(label: &str) -> Option<u8> {
    let (_, arguments) = label.split_once('(')?;
    let first = arguments.trim_end_matches(')').split(',').next()?;
    if let Some(name) = first.strip_prefix("client-") {
        return letter_number(name);
    }
    let (_, number) = first.rsplit_once("run_").or_else(|| first.rsplit_once("msg_"))?;
    number.parse().ok()
}

fn letter_number(name: &str) -> Option<u8> {
    let [letter @ b'a'..=b'z'] = name.as_bytes() else { return None };
    Some(letter - b'a' + 1)
}

/// The label with every run above `gone` numbered one lower.
fn renumbered(label: &str, gone: u8) -> String {
    let (words, arguments) = label.split_once('(').unwrap_or((label, ""));
    let (actor, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (kind, name) = actor.split_once('-').unwrap_or((actor, ""));
    let actor = match kind {
        "client" => letter_number(name).map(|run| format!("client-{}", letter(lower(run, gone)))),
        "worker" | "agent" => name.parse().ok().map(|run| format!("{kind}-{}", lower(run, gone))),
        _ => None,
    }
    .unwrap_or_else(|| actor.to_owned());
    if arguments.is_empty() {
        return format!("{actor} {rest}");
    }
    let arguments = arguments.trim_end_matches(')').split(',').map(|text| argument(text, gone));
    format!("{actor} {rest}({})", arguments.collect::<Vec<_>>().join(","))
}

fn argument(text: &str, gone: u8) -> String {
    if let Some(run) = text.strip_prefix("client-").and_then(letter_number) {
        return format!("client-{}", letter(lower(run, gone)));
    }
    // A message has the number that its run would have had.
    let numbered = ["run_", "msg_"].into_iter().find_map(|kind| {
        let (head, number) = text.rsplit_once(kind)?;
        let run: u8 = number.parse().ok()?;
        Some(format!("{head}{kind}{}", lower(run, gone)))
    });
    numbered.unwrap_or_else(|| text.to_owned())
}

fn lower(run: u8, gone: u8) -> u8 {
    run - u8::from(run > gone)
}

fn letter(run: u8) -> char {
    char::from(b'a' + (run.max(1) - 1) % 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_belongs_to_the_run_it_names() {
        for (label, run) in [
            ("client-b send start(run_2)", Some(2)),
            ("client-b send stop_run(run_2)", Some(2)),
            ("worker-3 answer exited(run_3)", Some(3)),
            ("store answer settled(run_1)", Some(1)),
            ("link fault drop(client-c)", Some(3)),
            ("server fault crash(persisted:run_2)", Some(2)),
            ("server fault crash", None),
            ("clock fire unwind", None),
        ] {
            assert_eq!(run_of(label), run, "{label}");
        }
    }

    #[test]
    fn the_runs_behind_a_gap_close_up() {
        for (label, expected) in [
            ("client-c send start(run_3)", "client-b send start(run_2)"),
            ("client-a send start(run_1)", "client-a send start(run_1)"),
            ("agent-3 emit text(run_3)", "agent-2 emit text(run_2)"),
            ("link fault drop(client-c)", "link fault drop(client-b)"),
            (
                "server fault crash(settled:run_3,persisted:run_1)",
                "server fault crash(settled:run_2,persisted:run_1)",
            ),
            ("clock fire unwind", "clock fire unwind"),
        ] {
            assert_eq!(renumbered(label, 2), expected);
        }
    }
}
