//! `/count`: something slow that takes hints while it works.

/// How far `/count` counts when nobody says anything.
const LAST: u32 = 60;

/// Words that the pause between two numbers takes.
pub(super) const COUNT_PAUSE_WORDS: u32 = 10;

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

    /// What is said about a hint; the count goes on as it says.
    pub(super) fn hear(&mut self, words: &str) -> String {
        let words = words.trim();
        let doing = match words.parse::<u32>() {
            Ok(number) if number <= LAST => {
                self.next = number;
                format!("I go on from {number}.")
            }
            Ok(number) => format!("I count to {LAST} only, not to {number}."),
            Err(_) if words.eq_ignore_ascii_case("stop") => {
                self.last = 0;
                "I stop here.".to_owned()
            }
            Err(_) => "I go on.".to_owned(),
        };
        let quoted: String = words.chars().take(80).collect();
        format!("\n\nYou say: “{quoted}”. {doing}\n\n")
    }
}

impl Iterator for Count {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let number = self.next;
        if number > self.last {
            return None;
        }
        self.next = number.saturating_add(1);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_goes_on_as_it_is_told() {
        let mut count = Count::new();
        assert_eq!(count.by_ref().take(3).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(count.hear("faster, please").contains("“faster, please”. I go on."));
        assert_eq!(count.next(), Some(4));
        assert!(count.hear(" 59 ").contains("from 59"));
        assert_eq!(count.by_ref().collect::<Vec<_>>(), [59, 60]);
        let mut count = Count::new();
        assert!(count.hear("61").contains("60 only"));
        assert!(count.hear("Stop").contains("I stop here."));
        assert_eq!(count.next(), None);
    }
}
