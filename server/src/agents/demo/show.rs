//! Scripts that show what a page can draw: plans, changes of files, long outputs, permissions.

use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::agent::QuestionDraft;
use serde_json::{Value, json};

use super::script::{Act, call, say, think};
use super::text;

/// Lines of the output of `/long`.
pub(super) const LONG_LINES: usize = 400;

/// Item that `/permit` asks for.
const PERMITTED_ITEM: u32 = 3;

const STEPS: [&str; 4] = [
    "Read the release notes",
    "Compare them with the changelog",
    "Write the missing entries",
    "Run the tests",
];

/// A mode, a plan that is worked off entry by entry, and a tool call for each.
pub(super) fn plan() -> Vec<Act> {
    let mode =
        json!({"text": "Mode: Plan, then act", "mode": {"id": "plan", "name": "Plan, then act"}});
    let mut acts = vec![
        Act::Show { item: 1, kind: ItemKind::Notice, value: mode },
        think(2, "The work has several steps. I write them down before I begin. "),
        plan_at(0),
    ];
    for (step, name) in ["read_file", "compare", "edit_file", "run_tests"].into_iter().enumerate() {
        let item = 4 + u32::try_from(step).unwrap_or(u32::MAX);
        let input = json!({"step": step + 1});
        acts.extend(call(item, name, &input, &json!("It went as expected."), STEPS[step]));
        acts.push(plan_at(step + 1));
    }
    acts.push(say(9, text::PLAN_ANSWER));
    acts
}

fn plan_at(done: usize) -> Act {
    let status = |step: usize| match step.cmp(&done) {
        std::cmp::Ordering::Less => "completed",
        std::cmp::Ordering::Equal => "in_progress",
        std::cmp::Ordering::Greater => "pending",
    };
    let entries: Vec<Value> = STEPS
        .iter()
        .enumerate()
        .map(|(step, content)| {
            let priority = if step == 3 { "high" } else { "medium" };
            json!({"content": content, "status": status(step), "priority": priority})
        })
        .collect();
    let text = format!("Plan: {done} of {} done", STEPS.len());
    Act::Show { item: 3, kind: ItemKind::Notice, value: json!({"text": text, "plan": entries}) }
}

/// A tool call that changes one file and makes another.
pub(super) fn diff() -> Vec<Act> {
    let input = json!({"files": ["src/greeting.rs", "tests/greeting.rs"]});
    let output = json!([
        "Two files were changed.",
        {"path": "src/greeting.rs", "old": text::CODE_BEFORE, "new": text::CODE_AFTER},
        {"path": "tests/greeting.rs", "old": null, "new": text::CODE_NEW},
    ]);
    let mut acts = vec![think(1, "The greeting has to take a name. A test should say so. ")];
    acts.extend(call(2, "edit", &input, &output, "Let the greeting take a name"));
    acts.push(say(3, "The greeting takes a name now, and a test holds it to that.\n"));
    acts
}

/// A tool call with a long output, and one that fails.
pub(super) fn long() -> Vec<Act> {
    let output = json!(text::log(LONG_LINES));
    let mut acts = vec![say(1, "I run the build and look at its output. ")];
    let command = json!({"command": "make check"});
    acts.extend(call(2, "execute", &command, &output, "make check"));
    let failed = json!({
        "name": "execute", "status": "failed", "input": {"command": "make publish"},
        "output": "make: *** No rule to make target 'publish'.  Stop.", "summary": "make publish",
    });
    acts.push(Act::Show { item: 3, kind: ItemKind::Tool, value: failed });
    acts.push(say(4, "The check passed after many lines; there is nothing to publish.\n"));
    acts
}

/// A tool call that needs a permission with several options.
pub(super) fn permit() -> Vec<Act> {
    let question = QuestionDraft {
        approval: true,
        prompt: "Delete the directory build/ with everything in it?".into(),
        options: ["Allow once", "Always allow", "Reject", "Always reject"].map(Into::into).into(),
        multi: false,
        allow_custom: false,
    };
    vec![
        think(1, "The old build is in the way. Deleting needs a permission. "),
        say(2, "I would like to start from a clean tree. "),
        Act::Show { item: PERMITTED_ITEM, kind: ItemKind::Tool, value: deletion("running", None) },
        Act::Ask(vec![question]),
        Act::UsePermission { item: PERMITTED_ITEM },
        Act::UseReply { item: 4 },
    ]
}

/// The tool call of `/permit` as it stands; `output` once it is known.
pub(super) fn deletion(status: &str, output: Option<&str>) -> Value {
    let mut value = json!({
        "name": "execute", "status": status, "input": {"command": "rm -r build"},
        "summary": "Delete build/",
    });
    if let Some(output) = output {
        value["output"] = json!(output);
    }
    value
}

/// Two questions at once, one of them with several answers.
pub(super) fn ask_twice() -> Vec<Act> {
    let approval = QuestionDraft {
        approval: true,
        prompt: "May I send the report when it is ready?".into(),
        options: vec!["Yes".into(), "No".into()],
        multi: false,
        allow_custom: false,
    };
    let parts = QuestionDraft {
        approval: false,
        prompt: "Which parts should the report have?".into(),
        options: vec!["Summary".into(), "Figures".into(), "Sources".into()],
        multi: true,
        allow_custom: true,
    };
    vec![
        say(1, "I need to know two things; answer them in any order. "),
        Act::Ask(vec![approval, parts]),
        Act::UseReply { item: 2 },
    ]
}
