//! The conversation so far, as text for a process that has not seen it (AGT-03).

use runwarden_runtime::ports::agent::{ContextMessage, ContextRole};

/// Most bytes of the preamble's messages; the oldest are left out first.
pub const PREAMBLE_BYTES_MAX: usize = 262_144;

const BEGIN: &str = "[The conversation so far. You are a new process and have not seen it; \
                     take it as memory and do not answer it again.]\n";
const LEFT_OUT: &str = "[Earlier messages are left out.]\n";
const END: &str = "[End of the conversation so far. The next message is the one to answer.]";

/// The text that stands before the prompt; `None` when nothing was said before.
pub(super) fn preamble(earlier: &[ContextMessage]) -> Option<String> {
    if earlier.is_empty() {
        return None;
    }
    let mut kept = Vec::new();
    let mut bytes = 0;
    for message in earlier.iter().rev() {
        let told = told(message);
        bytes += told.len();
        if bytes > PREAMBLE_BYTES_MAX {
            break;
        }
        kept.push(told);
    }
    let mut text = BEGIN.to_owned();
    if kept.len() < earlier.len() {
        text.push_str(LEFT_OUT);
    }
    kept.iter().rev().for_each(|told| text.push_str(told));
    text.push_str(END);
    Some(text)
}

fn told(message: &ContextMessage) -> String {
    let who = match message.role {
        ContextRole::User => "User",
        ContextRole::Assistant => "Assistant",
    };
    format!("{who}: {}\n", message.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: ContextRole, text: &str) -> ContextMessage {
        ContextMessage { role, text: text.into() }
    }

    #[test]
    fn nothing_said_needs_no_preamble() {
        assert_eq!(preamble(&[]), None);
    }

    #[test]
    fn the_conversation_stands_between_its_marks_in_order() {
        let earlier = [said(ContextRole::User, "one"), said(ContextRole::Assistant, "two")];
        let text = preamble(&earlier).unwrap();
        assert_eq!(text, format!("{BEGIN}User: one\nAssistant: two\n{END}"));
    }

    #[test]
    fn the_oldest_messages_are_left_out_beyond_the_bound() {
        let frame = told(&said(ContextRole::User, "")).len();
        for (extra, is_left_out) in [(-1_isize, false), (0, false), (1, true)] {
            let first = said(ContextRole::User, "first");
            let room = PREAMBLE_BYTES_MAX - told(&first).len() - frame;
            let rest = "x".repeat(room.checked_add_signed(extra).unwrap());
            let text = preamble(&[first, said(ContextRole::User, &rest)]).unwrap();
            assert_eq!(text.contains(LEFT_OUT), is_left_out, "{extra}");
            assert_eq!(text.contains("User: first"), !is_left_out, "{extra}");
        }
    }
}
