//! The model context that follows from the settled rows (L2).

use super::record::Role;

/// What a settled row adds to the model context: who said it and its words.
///
/// A user row adds its text, an answer its body unless that is empty. Markers and the thinking and tool
/// records of an answer are never sent to a provider (STOP-11, CTX-06).
pub fn message(role: Role, body: Option<&str>) -> Option<(Speaker, &str)> {
    match role {
        Role::User => Some((Speaker::User, body.unwrap_or_default())),
        Role::Assistant => {
            body.filter(|text| !text.is_empty()).map(|text| (Speaker::Assistant, text))
        }
        Role::System => None,
    }
}

/// Who said a message of the model context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A user turn.
    User,
    /// An answer.
    Assistant,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CTX-06 [property]: a marker, which is what an interruption stores, is never in the model context.
    #[test]
    fn markers_are_not_sent_to_a_model() {
        for body in [None, Some(""), Some("interrupted")] {
            assert_eq!(message(Role::System, body), None);
        }
    }

    #[test]
    fn user_text_and_answers_with_words_are_sent() {
        assert_eq!(message(Role::User, Some("hello")), Some((Speaker::User, "hello")));
        assert_eq!(message(Role::Assistant, Some("hi")), Some((Speaker::Assistant, "hi")));
    }

    #[test]
    fn an_answer_of_thinking_and_tools_alone_is_left_out() {
        assert_eq!(message(Role::Assistant, Some("")), None);
        assert_eq!(message(Role::Assistant, None), None);
    }
}
