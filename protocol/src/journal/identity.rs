//! The name of a store's history (JRN-22).

use crate::ids::StoreId;

/// What an opening finds of the opening before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastOpening {
    /// The name it went by; none in a new store and in one that was restored.
    pub store_id: Option<StoreId>,
    /// Whether it was closed cleanly, so that everything it answered is stable.
    pub was_closed: bool,
    /// Whether the system has run without a break since; unknown counts as no.
    pub is_same_boot: bool,
}

impl LastOpening {
    /// The name under which the store goes on: the same one, or `fresh` where it has none or where power may have
    /// been lost with rows that clients had seen. A killed process loses none, for what it had answered is with the
    /// system.
    pub fn store_id(self, fresh: StoreId) -> StoreId {
        let is_whole = self.was_closed || self.is_same_boot;
        self.store_id.filter(|_| is_whole).unwrap_or(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_its_name_unless_power_may_have_been_lost() {
        let (known, fresh) = (StoreId::new(1), StoreId::new(2));
        for (was_closed, is_same_boot, kept) in
            [(true, true, true), (true, false, true), (false, true, true), (false, false, false)]
        {
            let last = LastOpening { store_id: Some(known), was_closed, is_same_boot };
            assert_eq!(last.store_id(fresh), if kept { known } else { fresh });
            assert_eq!(LastOpening { store_id: None, ..last }.store_id(fresh), fresh);
        }
    }
}
