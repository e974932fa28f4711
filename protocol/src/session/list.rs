//! Lists of sessions: titles and what a query selects (family LIST).

/// Most characters of a first title (LIST-4).
pub const FIRST_TITLE_CHARS_MAX: usize = 60;

/// The first title of a session: the first 60 characters of its first message, line breaks as
/// spaces (LIST-4). CR LF is one line break.
pub fn first_title(message: &str) -> String {
    let mut title = String::new();
    let mut characters = message.chars().peekable();
    for _ in 0..FIRST_TITLE_CHARS_MAX {
        let Some(character) = characters.next() else { break };
        if character == '\r' && characters.peek() == Some(&'\n') {
            characters.next();
        }
        title.push(if is_line_break(character) { ' ' } else { character });
    }
    title
}

/// Whether a title contains the query, case aside (LIST-3).
pub fn matches(title: &str, query: &str) -> bool {
    fold(title).contains(&fold(query))
}

/// The text with the case of every character folded, one character for one (simple case folding).
pub fn fold(text: &str) -> String {
    text.chars().map(fold_character).collect()
}

fn fold_character(character: char) -> char {
    /// Dotless i has no simple folding, though its capital is the capital of i.
    const DOTLESS_I: char = '\u{131}';
    if character == DOTLESS_I {
        return character;
    }
    let upper = only(character.to_uppercase()).unwrap_or(character);
    only(upper.to_lowercase()).unwrap_or(upper)
}

fn only(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next()?;
    mapped.next().is_none().then_some(first)
}

const fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// LIST-4 [unit]: 59, 60 and 61 characters; line breaks of every kind are one space.
    #[test]
    fn a_first_title_is_sixty_characters_on_one_line() {
        for (length, kept) in [(0, 0), (59, 59), (60, 60), (61, 60)] {
            assert_eq!(first_title(&"ü".repeat(length)), "ü".repeat(kept));
        }
        assert_eq!(first_title("one\ntwo\r\nthree\rfour\u{2028}five"), "one two three four five");
    }

    #[test]
    fn one_character_folds_to_one() {
        for (written, folded) in
            [("STRASSE", "strasse"), ("Straße", "straße"), ("ΣΊΣΥΦΟΣ", "σίσυφοσ"), ("ς", "σ")]
        {
            assert_eq!(fold(written), folded);
        }
        assert_eq!(fold("\u{131}"), "\u{131}");
        assert_eq!(fold("\u{212a}"), "k");
    }

    proptest! {
        /// LIST-3 [property]: a query finds a title that contains it in any case, and no other.
        #[test]
        fn a_query_finds_what_contains_it(before in "\\PC{0,8}", word in "\\PC{1,8}", after in "\\PC{0,8}") {
            let title = format!("{before}{word}{after}");
            prop_assert!(matches(&title, &word));
            prop_assert!(matches(&title, &fold(&word)));
            prop_assert!(matches(&fold(&title), &word));
            prop_assert_eq!(matches(&title, "\u{1}"), false);
            prop_assert_eq!(fold(&fold(&title)), fold(&title));
            prop_assert_eq!(fold(&title).chars().count(), title.chars().count());
        }
    }
}
