//! What is said piece by piece and takes hints in between.

/// How far `/count` counts when nobody says anything.
const LAST: u32 = 60;

/// Most characters of a hint that are repeated.
const QUOTED_CHARS_MAX: usize = 80;

/// Something said in pieces by one who listens.
pub(super) trait Talk {
    /// Words that the pause before each piece takes.
    const PAUSE_WORDS: u32;

    /// Whether everything is said.
    fn is_over(&self) -> bool;

    /// The next piece, until it is over.
    fn next_piece(&mut self) -> Option<String>;

    /// What is said about a hint; what follows is as it says.
    fn hear(&mut self, words: &str) -> String;
}

/// A text that goes on whatever it is told.
#[derive(Debug)]
pub(super) struct Steady {
    /// In reverse.
    words: Vec<String>,
}

impl Steady {
    /// Says this, word by word.
    pub(super) fn new(text: &str) -> Self {
        Self { words: text.split_inclusive(' ').rev().map(str::to_owned).collect() }
    }
}

impl Talk for Steady {
    const PAUSE_WORDS: u32 = 1;

    fn is_over(&self) -> bool {
        self.words.is_empty()
    }

    fn next_piece(&mut self) -> Option<String> {
        self.words.pop()
    }

    fn hear(&mut self, words: &str) -> String {
        answer(words, "I go on.")
    }
}

/// A count that can be told to end, or to go on from another number.
#[derive(Debug)]
pub(super) struct Count {
    next: u32,
    last: u32,
}

impl Count {
    /// From 1.
    pub(super) const fn new() -> Self {
        Self { next: 1, last: LAST }
    }
}

impl Talk for Count {
    const PAUSE_WORDS: u32 = 10;

    fn is_over(&self) -> bool {
        self.next > self.last
    }

    fn next_piece(&mut self) -> Option<String> {
        if self.is_over() {
            return None;
        }
        let number = self.next;
        self.next = number.saturating_add(1);
        Some(format!("{number} "))
    }

    fn hear(&mut self, words: &str) -> String {
        let words = words.trim();
        match words.parse::<u32>() {
            Ok(number) if number <= LAST => {
                self.next = number;
                answer(words, &format!("I go on from {number}."))
            }
            Ok(number) => answer(words, &format!("I count to {LAST} only, not to {number}.")),
            Err(_) if words.eq_ignore_ascii_case("stop") => {
                self.last = 0;
                answer(words, "I stop here.")
            }
            Err(_) => answer(words, "I go on."),
        }
    }
}

fn answer(hint: &str, doing: &str) -> String {
    let quoted: String = hint.trim().chars().take(QUOTED_CHARS_MAX).collect();
    format!("\n\nYou say: “{quoted}”. {doing}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(talk: &mut impl Talk) -> Vec<String> {
        std::iter::from_fn(|| talk.next_piece()).collect()
    }

    #[test]
    fn a_count_goes_on_as_it_is_told() {
        let mut count = Count::new();
        assert_eq!([(); 3].map(|()| count.next_piece().unwrap()), ["1 ", "2 ", "3 "]);
        assert!(count.hear("faster, please").contains("“faster, please”. I go on."));
        assert_eq!(count.next_piece().unwrap(), "4 ");
        assert!(count.hear(" 59 ").contains("from 59"));
        assert_eq!(rest(&mut count), ["59 ", "60 "]);
        let mut count = Count::new();
        assert!(count.hear("61").contains("60 only"));
        assert!(count.hear("Stop").contains("I stop here."));
        assert!(count.is_over());
        assert_eq!(count.next_piece(), None);
    }

    #[test]
    fn a_steady_text_is_said_to_its_end() {
        let mut steady = Steady::new("one two three");
        assert_eq!(steady.next_piece().unwrap(), "one ");
        assert!(steady.hear(&"ä".repeat(81)).contains(&format!("“{}”", "ä".repeat(80))));
        assert!(!steady.is_over());
        assert_eq!(rest(&mut steady), ["two ", "three"]);
        assert!(steady.is_over());
    }
}
