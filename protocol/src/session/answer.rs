//! What an answer to a question may be.

use serde_json::Value;

use crate::wire::JsonObject;
use crate::wire::structures::{Question, QuestionKind};

/// Why an answer does not fit its question. It resolves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// It holds none of `choice`, `options`, `text` and `allow`.
    #[error("it says nothing: give `choice`, `options`, `text` or `allow`")]
    Empty,
    /// A field has another type.
    #[error("`{0}` has the wrong type")]
    Type(&'static str),
    /// It names an option that the question does not offer.
    #[error("it names an option that is not offered")]
    UnknownOption,
    /// It names several options where one may be chosen.
    #[error("it names several options, and one may be chosen")]
    TooMany,
    /// It holds a text of its own where one of the options is asked for.
    #[error("it holds a text, and one of the options is asked for")]
    CustomText,
    /// `allow` answers a question that asks for no permission.
    #[error("`allow` answers permissions only")]
    NotAnApproval,
}

/// Checks the `answer` object of `answer_question` against its question. It may hold `choice` (one option),
/// `options` (several), `text` (words of one's own, where the question allows them or offers no options),
/// and for an approval `allow`. Null counts as left out, and other fields are ignored.
///
/// # Errors
/// [`AnswerFault`] says what does not fit.
pub fn check(question: &Question, answer: &JsonObject) -> Result<(), AnswerFault> {
    let chosen = chosen(answer)?;
    if chosen.iter().any(|name| !question.options.iter().any(|option| option == name)) {
        return Err(AnswerFault::UnknownOption);
    }
    if chosen.len() > 1 && !question.multi {
        return Err(AnswerFault::TooMany);
    }
    let text = field(answer, "text")
        .map(|value| value.as_str().ok_or(AnswerFault::Type("text")))
        .transpose()?
        .filter(|text| !text.is_empty());
    if text.is_some() && !question.allow_custom && !question.options.is_empty() {
        return Err(AnswerFault::CustomText);
    }
    let allow = field(answer, "allow")
        .map(|value| value.as_bool().ok_or(AnswerFault::Type("allow")))
        .transpose()?;
    if allow.is_some() && question.kind != QuestionKind::Approval {
        return Err(AnswerFault::NotAnApproval);
    }
    let is_empty = chosen.is_empty() && text.is_none() && allow.is_none();
    if is_empty && !may_choose_none(question, answer) { Err(AnswerFault::Empty) } else { Ok(()) }
}

/// Of several options none is a choice too, said by an empty list.
fn may_choose_none(question: &Question, answer: &JsonObject) -> bool {
    question.multi && field(answer, "options").is_some()
}

fn chosen(answer: &JsonObject) -> Result<Vec<&str>, AnswerFault> {
    let mut chosen = Vec::new();
    if let Some(value) = field(answer, "choice") {
        chosen.push(value.as_str().ok_or(AnswerFault::Type("choice"))?);
    }
    if let Some(value) = field(answer, "options") {
        for option in value.as_array().ok_or(AnswerFault::Type("options"))? {
            chosen.push(option.as_str().ok_or(AnswerFault::Type("options"))?);
        }
    }
    Ok(chosen)
}

fn field<'a>(answer: &'a JsonObject, name: &str) -> Option<&'a Value> {
    answer.get(name).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(kind: QuestionKind, options: &[&str], multi: bool, custom: bool) -> Question {
        Question {
            question_id: "q".to_owned(),
            run_id: None,
            kind,
            question_version: 1,
            prompt: String::new(),
            marker: None,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            multi,
            allow_custom: custom,
            expires_at: 0,
        }
    }

    fn checked(question: &Question, answer: Value) -> Result<(), AnswerFault> {
        check(question, answer.as_object().unwrap())
    }

    #[test]
    fn one_of_the_options_is_one_of_the_options() {
        let one = question(QuestionKind::Question, &["Red", "Blue"], false, false);
        for fits in [json!({"choice": "Red"}), json!({"options": ["Blue"], "text": null})] {
            assert_eq!(checked(&one, fits), Ok(()));
        }
        for (answer, fault) in [
            (json!({}), AnswerFault::Empty),
            (json!({"options": [], "text": ""}), AnswerFault::Empty),
            (json!({"choice": "red"}), AnswerFault::UnknownOption),
            (json!({"options": ["Red", "Green"]}), AnswerFault::UnknownOption),
            (json!({"options": ["Red", "Blue"]}), AnswerFault::TooMany),
            (json!({"choice": "Red", "options": ["Red"]}), AnswerFault::TooMany),
            (json!({"text": "mauve"}), AnswerFault::CustomText),
            (json!({"choice": "Red", "allow": true}), AnswerFault::NotAnApproval),
            (json!({"choice": 1}), AnswerFault::Type("choice")),
            (json!({"options": "Red"}), AnswerFault::Type("options")),
            (json!({"options": [1]}), AnswerFault::Type("options")),
            (json!({"choice": "Red", "text": 1}), AnswerFault::Type("text")),
        ] {
            assert_eq!(checked(&one, answer.clone()), Err(fault), "{answer}");
        }
    }

    #[test]
    fn several_options_none_of_them_and_own_words_where_the_question_says_so() {
        let many = question(QuestionKind::Question, &["Red", "Blue"], true, true);
        for fits in [
            json!({"options": ["Red", "Blue"]}),
            json!({"options": []}),
            json!({"options": ["Red"], "text": "and a little white"}),
        ] {
            assert_eq!(checked(&many, fits), Ok(()));
        }
        assert_eq!(checked(&many, json!({})), Err(AnswerFault::Empty));
        let open = question(QuestionKind::Question, &[], false, false);
        assert_eq!(checked(&open, json!({"text": "anything"})), Ok(()));
        assert_eq!(checked(&open, json!({"choice": "x"})), Err(AnswerFault::UnknownOption));
    }

    #[test]
    fn a_no_is_an_answer_to_a_permission() {
        let approval = question(QuestionKind::Approval, &["Allow", "Reject"], false, false);
        for fits in [json!({"allow": false}), json!({"choice": "Reject"})] {
            assert_eq!(checked(&approval, fits), Ok(()));
        }
        let wrong = checked(&approval, json!({"allow": "no"}));
        assert_eq!(wrong, Err(AnswerFault::Type("allow")));
    }
}
