//! Permission requests as questions, and their answers as outcomes.

use std::collections::BTreeSet;

use agent_client_protocol_schema::v1::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
    SelectedPermissionOutcome,
};
use runwarden_runtime::ports::agent::{QuestionDraft, QuestionReply};
use serde_json::Value;

use super::message;

/// Most options of one request that are offered.
pub const OPTIONS_MAX: usize = 16;

/// Most characters of an option's name.
pub const OPTION_CHARS_MAX: usize = 200;

/// A permission request that people can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Permission {
    options: Vec<Choice>,
    prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    id: String,
    name: String,
    /// What it means; `None` for a kind that this version does not know.
    kind: Option<PermissionOptionKind>,
}

impl Permission {
    /// Reads the parameters of `session/request_permission`; `None` when it offers no option.
    pub(super) fn read(params: &Value) -> Option<Self> {
        let mut names = BTreeSet::new();
        let mut options = Vec::new();
        for option in params["options"].as_array()?.iter().take(OPTIONS_MAX) {
            let Some(id) = option["optionId"].as_str() else { continue };
            let name: String =
                option["name"].as_str().unwrap_or(id).chars().take(OPTION_CHARS_MAX).collect();
            let kind = message::typed(&option["kind"]);
            let name = unused(worded(name, kind), &names);
            names.insert(name.clone());
            options.push(Choice { id: id.to_owned(), name, kind });
        }
        let title = params["toolCall"]["title"].as_str().filter(|title| !title.trim().is_empty());
        let prompt = title.unwrap_or("The agent asks for permission.").to_owned();
        (!options.is_empty()).then_some(Self { options, prompt })
    }

    /// The question that people see.
    pub(super) fn question(&self) -> QuestionDraft {
        QuestionDraft {
            approval: true,
            prompt: self.prompt.clone(),
            options: self.options.iter().map(|option| option.name.clone()).collect(),
            multi: false,
            allow_custom: false,
        }
    }

    /// What the agent is told: the option that was chosen, or that nobody chose.
    pub(super) fn outcome(&self, reply: &QuestionReply) -> Value {
        let chosen = match reply {
            QuestionReply::Answered(answer) => self.chosen(answer),
            QuestionReply::Unanswered => None,
        };
        chosen.map_or_else(cancelled, |option| {
            let selected = SelectedPermissionOutcome::new(option.id.clone());
            answer(RequestPermissionOutcome::Selected(selected))
        })
    }

    fn chosen(&self, answer: &Value) -> Option<&Choice> {
        let name = answer["choice"].as_str().or_else(|| answer["options"][0].as_str());
        if let Some(name) = name {
            return self.options.iter().find(|option| option.name == name);
        }
        let wanted = if answer["allow"].as_bool()? {
            PermissionOptionKind::AllowOnce
        } else {
            PermissionOptionKind::RejectOnce
        };
        self.options.iter().find(|option| option.kind == Some(wanted))
    }
}

/// The outcome of a request that nobody answers.
pub(super) fn cancelled() -> Value {
    answer(RequestPermissionOutcome::Cancelled)
}

fn answer(outcome: RequestPermissionOutcome) -> Value {
    message::json(&RequestPermissionResponse::new(outcome))
}

/// A name that says so when the choice is for ever: people see only the name.
fn worded(name: String, kind: Option<PermissionOptionKind>) -> String {
    let is_lasting = matches!(
        kind,
        Some(PermissionOptionKind::AllowAlways | PermissionOptionKind::RejectAlways)
    );
    let says_so = name.to_lowercase().contains("always");
    if is_lasting && !says_so { format!("{name} (always)") } else { name }
}

fn unused(name: String, names: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| !names.contains(name))
        .expect("there are more numbers than options")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn permission() -> Permission {
        let options = json!([
            {"optionId": "a", "name": "Yes", "kind": "allow_once"},
            {"optionId": "b", "name": "Yes", "kind": "allow_always"},
            {"optionId": "c", "name": "No", "kind": "reject_once"},
            {"optionId": "d", "name": "No", "kind": "reject_once"},
            {"optionId": "e", "name": "Always no", "kind": "reject_always"},
            {"name": "has no id"},
        ]);
        Permission::read(&json!({"toolCall": {"title": "Delete it?"}, "options": options})).unwrap()
    }

    #[test]
    fn options_are_shown_by_distinct_names_and_mapped_back() {
        let permission = permission();
        let question = permission.question();
        assert_eq!(question.options, ["Yes", "Yes (always)", "No", "No (2)", "Always no"]);
        assert_eq!((question.prompt.as_str(), question.approval), ("Delete it?", true));
        for (answer, id) in [
            (json!({"choice": "Yes"}), "a"),
            (json!({"choice": "Yes (always)"}), "b"),
            (json!({"choice": "No (2)"}), "d"),
            (json!({"options": ["No"]}), "c"),
            (json!({"allow": true}), "a"),
            (json!({"allow": false}), "c"),
        ] {
            let outcome = permission.outcome(&QuestionReply::Answered(answer));
            assert_eq!(outcome["outcome"], json!({"outcome": "selected", "optionId": id}));
        }
    }

    #[test]
    fn an_answer_that_names_no_option_permits_nothing() {
        let permission = permission();
        for answer in [json!({"choice": "Maybe"}), json!({"text": "Yes"}), json!({})] {
            assert_eq!(permission.outcome(&QuestionReply::Answered(answer)), cancelled());
        }
        assert_eq!(permission.outcome(&QuestionReply::Unanswered), cancelled());
    }

    #[test]
    fn options_have_a_bound_and_none_is_no_question() {
        let of = |count: usize| {
            let options = vec![json!({"optionId": "a", "name": "A"}); count];
            Permission::read(&json!({"options": options})).map(|read| read.options.len())
        };
        assert_eq!(of(0), None);
        assert_eq!(of(OPTIONS_MAX - 1), Some(OPTIONS_MAX - 1));
        assert_eq!(of(OPTIONS_MAX), Some(OPTIONS_MAX));
        assert_eq!(of(OPTIONS_MAX + 1), Some(OPTIONS_MAX));
        let name = "ä".repeat(OPTION_CHARS_MAX + 1);
        let long =
            Permission::read(&json!({"options": [{"optionId": "a", "name": name}]})).unwrap();
        assert_eq!(long.question().options[0].chars().count(), OPTION_CHARS_MAX);
    }
}
