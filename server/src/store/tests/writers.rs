//! Two processes that believe the store is theirs.

use super::super::{meta, open_in_boot};
use super::*;

/// Whoever opened the store last writes it; the one before can change nothing any more (JRN-14).
#[test]
fn a_store_that_was_opened_again_is_not_written_by_the_process_before() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.append(append(5, vec![text(1, "mine")])).unwrap();
    // The lock of the state directory forbids this, where the file system keeps locks.
    let other = open_in_boot(&fixture.state, meta::boot_id().as_deref()).unwrap();
    let late = fixture.append(append(5, vec![text(1, "late")]));
    assert!(
        matches!(&late, Err(StoreFailure::Unavailable(why)) if why.contains("another process"))
    );
    let late = fixture.commit(settle(2, 5, Outcome::Completed));
    assert!(matches!(late, Err(StoreFailure::Unavailable(_))), "{late:?}");
    assert!(block_on(fixture.store.probe()).is_err());
    let next = block_on(other.append(append(5, vec![text(1, "theirs")]))).unwrap();
    assert_eq!(next.first_seq.get(), 2);
    let Fixture { state, store, directory: _directory } = fixture;
    assert!(store.close().is_err(), "it does not say that the store was closed");
    let is_closed = meta::is_closed(&rusqlite::Connection::open(state.sessions_db()).unwrap());
    assert_eq!(is_closed, Ok(false));
    other.close().unwrap();
}
