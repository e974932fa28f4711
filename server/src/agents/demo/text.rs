//! The words of the demo agent.

use std::fmt::Write;

use runwarden_runtime::ports::agent::QuestionReply;
use serde_json::Value;

/// Characters of the prompt that the answer repeats.
const EXCERPT_CHARS_MAX: usize = 240;

/// Characters of the first message that later answers recall.
const RECALL_CHARS_MAX: usize = 48;

/// What the demo agent understands.
pub(super) const HELP: &str = "I am the built-in demo agent. I answer any message, and these:\n\n\
- `/slow` streams steady text for about 30 seconds; stop or steer it in the middle\n\
- `/plan` works off a plan, step by step\n\
- `/tool` makes two tool calls\n\
- `/diff` changes two files and shows what changed\n\
- `/long` shows a long output and a call that fails\n\
- `/permit` asks for a permission with several options\n\
- `/ask` asks you a question, `/ask2` two at once\n\
- `/count` counts slowly and takes hints while it does: `stop`, or a number to go on from\n\
- `/fail` fails after a few words\n\
- `/wedge` ignores Stop, so that the server has to end it by force\n\
- `/flood` sends 180 KiB in small pieces, as fast as it can\n\
- `/help` shows this list\n";

/// The answer after the last step of `/plan`.
pub(super) const PLAN_ANSWER: &str = "All four steps are done:\n\n\
1. the notes and the changelog agree\n2. three entries were missing and are written\n\
3. the tests pass\n\nNothing else was touched.\n";

/// A file before `/diff` changes it.
pub(super) const CODE_BEFORE: &str = "//! Greetings.\n\n\
use std::io::{self, Write};\n\n\
/// Greets whoever runs the program.\n\
pub fn greet() -> io::Result<()> {\n    \
    let mut out = io::stdout().lock();\n    \
    writeln!(out, \"Hello!\")?;\n    \
    out.flush()\n}\n\n\
/// Says good-bye.\n\
pub fn leave() -> io::Result<()> {\n    \
    let mut out = io::stdout().lock();\n    \
    writeln!(out, \"Good-bye.\")?;\n    \
    out.flush()\n}\n";

/// The same file after it.
pub(super) const CODE_AFTER: &str = "//! Greetings.\n\n\
use std::io::{self, Write};\n\n\
/// Greets a person by name; nobody in particular when the name is empty.\n\
pub fn greet(name: &str) -> io::Result<()> {\n    \
    let mut out = io::stdout().lock();\n    \
    let name = if name.is_empty() { \"you\" } else { name };\n    \
    writeln!(out, \"Hello, {name}!\")?;\n    \
    out.flush()\n}\n\n\
/// Says good-bye.\n\
pub fn leave() -> io::Result<()> {\n    \
    let mut out = io::stdout().lock();\n    \
    writeln!(out, \"Good-bye.\")?;\n    \
    out.flush()\n}\n";

/// A file that `/diff` makes.
pub(super) const CODE_NEW: &str = "use greeting::greet;\n\n\
#[test]\n\
fn an_empty_name_is_greeted_too() {\n    \
    assert!(greet(\"\").is_ok());\n}\n";

/// The answer after the calls of `/tool`.
pub(super) const TOOL_ANSWER: &str = "Both calls are done. Here is what they found:\n\n\
| File | Content |\n|---|---|\n| `CHANGELOG.md` | 0.1.0: the first release |\n\n\
The second file was not needed.\n";

/// Reasoning about a plain prompt.
pub(super) fn thought(prompt: &str) -> String {
    let words = prompt.split_whitespace().count();
    format!("The message has {}. I will repeat it and count. ", counted(words, "word"))
}

/// The answer to a plain prompt; `earlier` are the user messages before it, oldest first.
pub(super) fn answer(prompt: &str, earlier: &[&str]) -> String {
    let words = prompt.split_whitespace().count();
    let characters = prompt.chars().count();
    let mut answer = String::from("You wrote:\n\n");
    for line in excerpt(prompt, EXCERPT_CHARS_MAX).lines() {
        let _ = writeln!(answer, "> {line}");
    }
    let _ = write!(
        answer,
        "\nThis is what I can say about it:\n\n\
         - it has **{}** and {}\n- its longest word is *{}*\n- {}\n\n\
         The same as code:\n\n```rust\nlet words = {words};\nlet characters = {characters};\n```\n\n\
         I am the built-in demo agent: no model is behind me. Send `/help` to see what I can do.\n",
        counted(words, "word"),
        counted(characters, "character"),
        longest_word(prompt),
        memory(earlier),
    );
    answer
}

/// The answer to a command that does not exist.
pub(super) fn unknown_command(command: &str) -> String {
    let name: String = excerpt(command, RECALL_CHARS_MAX).replace('`', "");
    format!("I do not know `{name}`.\n\n{HELP}")
}

/// Exactly `words` words in numbered lines of ten, so that a lost or repeated one shows.
pub(super) fn steady(words: usize) -> String {
    let lines = words / 10;
    let mut text = String::new();
    for line in 1..=lines {
        let _ = write!(text, "Line {line} of {lines}: steady text until you press Stop.\n\n ");
    }
    text
}

/// A log of `lines` numbered lines.
pub(super) fn log(lines: usize) -> String {
    let mut text = String::new();
    for line in 1..=lines {
        let _ = writeln!(text, "[{line:>4}/{lines}] check module_{line:04} … ok");
    }
    text
}

/// Piece `number` of the flood: exactly `bytes` bytes, ASCII, each different.
pub(super) fn piece(number: usize, bytes: usize) -> String {
    let mut text = format!("piece {number} ");
    while text.len() + 1 < bytes {
        text.push(char::from(b'a' + (text.len() % 26) as u8));
    }
    text.push('\n');
    text
}

/// What the demo says once its questions are resolved.
pub(super) fn replies(replies: &[QuestionReply]) -> String {
    let noted: Vec<String> = replies.iter().filter_map(noted).collect();
    if noted.is_empty() {
        return "Nobody answered, so I go on as I think best.\n".into();
    }
    let noted = noted.iter().map(|said| format!("`{said}`")).collect::<Vec<_>>().join(" and ");
    format!("Thank you. I noted {noted} and will go by it.\n")
}

/// Whether the first reply is one of those that allow.
pub(super) fn permitted(replies: &[QuestionReply]) -> bool {
    let said = replies.first().and_then(noted).unwrap_or_default();
    said.starts_with("Allow") || said.starts_with("Always allow")
}

fn noted(reply: &QuestionReply) -> Option<String> {
    let QuestionReply::Answered(answer) = reply else { return None };
    let mut words = Vec::new();
    collect_words(answer, &mut words);
    let said = if words.is_empty() { answer.to_string() } else { words.join(", ") };
    Some(excerpt(&said, EXCERPT_CHARS_MAX).replace(['`', '\n'], " "))
}

/// Every text in the answer, in the order of its fields; the shape depends on the question.
fn collect_words(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => words.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_words(value, words)),
        Value::Object(fields) => fields.values().for_each(|value| collect_words(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn memory(earlier: &[&str]) -> String {
    match earlier {
        [] => "it is the first message of our conversation".into(),
        [first, ..] => format!(
            "I remember {} before it; the first began: *{}*",
            counted(earlier.len(), "earlier turn"),
            excerpt(first, RECALL_CHARS_MAX).replace(['*', '\n'], " "),
        ),
    }
}

fn longest_word(prompt: &str) -> &str {
    let words = prompt.split(|character: char| !character.is_alphanumeric());
    // Of words of equal length the first one, so that the answer is stable.
    let longest = words.rev().max_by_key(|word| word.chars().count()).unwrap_or_default();
    if longest.is_empty() { "none" } else { longest }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn excerpt(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_excerpt_is_cut_on_a_character_above_its_bound() {
        let text = "ä".repeat(5);
        assert_eq!(excerpt(&text, 6), text);
        assert_eq!(excerpt(&text, 5), text);
        assert_eq!(excerpt(&text, 4), "ääää…");
    }

    #[test]
    fn the_answer_remembers_earlier_turns() {
        assert!(answer("hi", &[]).contains("first message"));
        assert!(answer("hi", &["hello there"]).contains("1 earlier turn before it"));
        assert!(answer("hi", &["hello there", "again"]).contains("2 earlier turns"));
        assert!(answer("hi", &["hello there", "again"]).contains("*hello there*"));
    }

    #[test]
    fn the_reply_is_used_whatever_its_shape() {
        let custom = QuestionReply::Answered(json!({"text": "mauve"}));
        assert!(replies(&[custom]).contains("`mauve`"));
        let chosen = QuestionReply::Answered(json!({"options": ["Red", "Blue"], "text": null}));
        assert!(replies(std::slice::from_ref(&chosen)).contains("`Red, Blue`"));
        let bare = QuestionReply::Answered(json!({"allow": true}));
        assert!(replies(&[bare]).contains("allow"));
        assert!(replies(&[QuestionReply::Unanswered]).contains("Nobody answered"));
        let second = QuestionReply::Answered(json!({"choice": "No"}));
        assert!(replies(&[chosen, second]).contains("`Red, Blue` and `No`"));
    }

    #[test]
    fn only_words_that_allow_permit() {
        for (choice, allowed) in [
            ("Allow once", true),
            ("Always allow", true),
            ("Reject", false),
            ("Always reject", false),
        ] {
            let reply = QuestionReply::Answered(json!({"choice": choice}));
            assert_eq!(permitted(&[reply]), allowed, "{choice}");
        }
        assert!(!permitted(&[QuestionReply::Unanswered]));
        assert!(!permitted(&[]));
    }

    #[test]
    fn pieces_have_their_size_and_differ() {
        assert_eq!(piece(0, 64).len(), 64);
        assert_eq!(piece(2_879, 64).len(), 64);
        assert_ne!(piece(1, 64), piece(2, 64));
    }
}
