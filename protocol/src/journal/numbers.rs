//! The numbers of a run's rows where they are written to a file (JRN-04, JRN-13).

use crate::ids::Seq;

/// Gives the rows of one run their numbers, or accepts those the caller brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    last: Seq,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The run is written here.
    Own,
    /// Rows come from elsewhere with their numbers.
    Import,
    /// The import is over.
    Imported,
}

/// Why a row gets no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberRefused {
    /// The number is not the next one, which is named.
    #[error("the next row has the number {}", next.get())]
    NotNext {
        /// The next number.
        next: Seq,
    },
    /// The number of an imported row is not above the one before, which is named.
    #[error("the row before has the number {}", last.get())]
    NotRising {
        /// The number of the row before.
        last: Seq,
    },
    /// An imported row comes without a number.
    #[error("an imported row brings its number")]
    Unnumbered,
    /// The import is over, and its journal is read only.
    #[error("the journal of an import is read only once the import is over")]
    ReadOnly,
}

impl Numbers {
    /// Of a run that is written here and whose highest valid number is `last`.
    pub const fn own(last: Seq) -> Self {
        Self { last, mode: Mode::Own }
    }

    /// Of a run that is imported from its first row on.
    pub const fn import() -> Self {
        Self { last: Seq::ZERO, mode: Mode::Import }
    }

    /// The highest number so far.
    pub const fn last(&self) -> Seq {
        self.last
    }

    /// The number of the next row, which the caller may bring. An import takes numbers as they come, as long as
    /// they rise: what is missing in it is for its readers to report (JRN-11).
    ///
    /// # Errors
    /// [`NumberRefused`]; nothing is changed then.
    pub fn take(&mut self, brought: Option<Seq>) -> Result<Seq, NumberRefused> {
        let next = self.last.plus(1);
        self.last = match (self.mode, brought) {
            (Mode::Own, None) => next,
            (Mode::Own, Some(seq)) if seq == next => seq,
            (Mode::Own, Some(_)) => return Err(NumberRefused::NotNext { next }),
            (Mode::Import, Some(seq)) if seq > self.last => seq,
            (Mode::Import, Some(_)) => return Err(NumberRefused::NotRising { last: self.last }),
            (Mode::Import, None) => return Err(NumberRefused::Unnumbered),
            (Mode::Imported, _) => return Err(NumberRefused::ReadOnly),
        };
        Ok(self.last)
    }

    /// Ends an import; a run that is written here goes on.
    pub fn end_import(&mut self) {
        self.mode = match self.mode {
            Mode::Own => Mode::Own,
            Mode::Import | Mode::Imported => Mode::Imported,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seq(number: u64) -> Seq {
        Seq::new(number)
    }

    /// JRN-13 [unit]: a number that the caller brings is the next one, or the run is an import, which takes nothing once
    /// it is over.
    #[test]
    fn a_number_is_the_next_one_or_that_of_an_import() {
        let mut own = Numbers::own(seq(4));
        for brought in [0, 3, 4, 6] {
            let refused = Err(NumberRefused::NotNext { next: seq(5) });
            assert_eq!(own.take(Some(seq(brought))), refused);
        }
        assert_eq!(own.take(Some(seq(5))), Ok(seq(5)));
        own.end_import();
        assert_eq!(own.take(None), Ok(seq(6)));

        let mut import = Numbers::import();
        assert_eq!(import.take(None), Err(NumberRefused::Unnumbered));
        assert_eq!(import.take(Some(seq(0))), Err(NumberRefused::NotRising { last: seq(0) }));
        assert_eq!(import.take(Some(seq(2))), Ok(seq(2)));
        assert_eq!(import.take(Some(seq(2))), Err(NumberRefused::NotRising { last: seq(2) }));
        assert_eq!(import.take(Some(seq(7))), Ok(seq(7)));
        import.end_import();
        for brought in [None, Some(seq(7)), Some(seq(8)), Some(seq(9))] {
            assert_eq!(import.take(brought), Err(NumberRefused::ReadOnly));
        }
        assert_eq!(import.last(), seq(7));
    }
}
