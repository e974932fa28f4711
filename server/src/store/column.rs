//! How values become columns. Ids and counters are 64-bit and unsigned, SQLite's integers are signed.

use runwarden_protocol::ids::{
    MessageId, PrincipalId, QuestionId, Revision, RunId, Seq, SessionId, SteerId, StoreId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_protocol::session::record::Usage;
use runwarden_protocol::wire::codes::Code;
use rusqlite::types::Type;
use rusqlite::{Row, RowIndex};

/// A value with the integer that stands for it. Integers order as the values do.
pub(super) trait Column: Sized {
    /// The integer to store.
    fn to_column(self) -> i64;

    /// The value of a stored integer.
    fn from_column(column: i64) -> Self;
}

const SIGN: u64 = 1 << 63;

macro_rules! id_column {
    ($($name:ty),*) => {$(
        impl Column for $name {
            fn to_column(self) -> i64 {
                (self.number() ^ SIGN).cast_signed()
            }

            fn from_column(column: i64) -> Self {
                Self::new(column.cast_unsigned() ^ SIGN)
            }
        }
    )*};
}

id_column!(SessionId, RunId, MessageId, QuestionId, PrincipalId, SteerId, StoreId);
id_column!(runwarden_protocol::ids::ItemId);

impl Column for u64 {
    fn to_column(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }

    fn from_column(column: i64) -> Self {
        Self::try_from(column).unwrap_or(0)
    }
}

impl Column for Seq {
    fn to_column(self) -> i64 {
        self.get().to_column()
    }

    fn from_column(column: i64) -> Self {
        Self::new(u64::from_column(column))
    }
}

impl Column for Revision {
    fn to_column(self) -> i64 {
        self.get().to_column()
    }

    fn from_column(column: i64) -> Self {
        Self::new(u64::from_column(column))
    }
}

impl Column for Instant {
    fn to_column(self) -> i64 {
        self.as_micros().to_column()
    }

    fn from_column(column: i64) -> Self {
        Self::from_micros(u64::from_column(column))
    }
}

/// Reads a column that is never null.
pub(super) fn read<T: Column>(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<T> {
    row.get(column).map(T::from_column)
}

/// Reads a column that may be null.
pub(super) fn read_opt<T: Column>(
    row: &Row<'_>,
    column: impl RowIndex,
) -> rusqlite::Result<Option<T>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(T::from_column))
}

/// Reads six columns of a usage from `first` on.
pub(super) fn read_usage_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: read_opt(row, first)?,
        output: read_opt(row, first + 1)?,
        cached: read_opt(row, first + 2)?,
        cost: read_opt(row, first + 3)?,
        context_used: read_opt(row, first + 4)?,
        context_max: read_opt(row, first + 5)?,
    })
}

/// Reads an outcome by its name.
pub(super) fn read_outcome(
    row: &Row<'_>,
    column: impl RowIndex,
) -> rusqlite::Result<Option<Outcome>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| Outcome::from_name(&text).ok_or_else(|| unreadable("outcome", &text)))
        .transpose()
}

/// Reads why a run ended.
pub(super) fn read_reason(row: &Row<'_>, name: &str) -> rusqlite::Result<Option<Reason>> {
    row.get::<_, Option<String>>(name)?
        .map(|text| Reason::from_name(&text).ok_or_else(|| unreadable(name, &text)))
        .transpose()
}

/// Reads the columns of a usage.
pub(super) fn read_usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: read_opt(row, "usage_input")?,
        output: read_opt(row, "usage_output")?,
        cached: read_opt(row, "usage_cached")?,
        cost: read_opt(row, "usage_cost")?,
        context_used: read_opt(row, "usage_context_used")?,
        context_max: read_opt(row, "usage_context_max")?,
    })
}

/// Reads a registered code by its name, where there is one.
pub(super) fn read_code(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Option<Code>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| text.parse().map_err(|_| unreadable("code", &text)))
        .transpose()
}

/// The error of a stored value that no version of this server writes.
pub(super) fn unreadable(column: &str, value: &str) -> rusqlite::Error {
    let shown: String = value.chars().take(40).collect();
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Text,
        format!("column {column} holds {shown:?}").into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_order_as_the_ids_do() {
        let ids = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX].map(SessionId::new);
        assert!(ids.windows(2).all(|pair| pair[0].to_column() < pair[1].to_column()));
        assert!(ids.iter().all(|&id| SessionId::from_column(id.to_column()) == id));
    }

    #[test]
    fn counters_stay_within_what_a_column_holds() {
        assert_eq!(u64::MAX.to_column(), i64::MAX);
        assert_eq!(u64::from_column(-1), 0);
        assert_eq!(u64::from_column(5_u64.to_column()), 5);
    }
}
