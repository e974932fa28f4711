//! What recovery puts into transcript and model context.

use proptest::prelude::*;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::session::record::{Marker, Role};
use runwarden_runtime::ports::agent::ContextRole;
use runwarden_runtime::ports::change::{Change, FieldsChange, SessionChange};

use super::*;

fn revision(fixture: &Fixture) -> u64 {
    fixture.head(SESSION).revision.get()
}

/// Settles what the store names as unsettled, as recovery does; how many runs it found.
fn recover(fixture: &Fixture) -> usize {
    let unsettled = block_on(fixture.store.unsettled()).unwrap();
    for run in &unsettled {
        let settled = settlement(revision(fixture), run.run_id.number(), Outcome::Interrupted);
        let marker = Some(Marker::Interrupted);
        fixture.commit(Commit::Settle(Settlement { marker, recovery: true, ..settled })).unwrap();
    }
    unsettled.len()
}

/// What a model is told before the words of the next turn.
fn told(fixture: &Fixture) -> Vec<(ContextRole, String)> {
    let said = block_on(fixture.store.context(SESSION)).unwrap();
    said.into_iter().map(|said| (said.role, said.text)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// RST-05 [property]: whatever the turns say, alike or not, a prompt that recovery found is in the model context
    /// once, at its place, however often recovery looks; no later turn has it in front of it again.
    #[test]
    fn a_recovered_prompt_is_told_once(turns in prop::collection::vec((0..3_u8, 0..2_u8, 0..3_usize), 1..9)) {
        let mut fixture = Fixture::with_session();
        let mut expected = Vec::new();
        for (run, (end, words, looks)) in (1..).zip(turns) {
            // Two texts among many turns: an identity is not a text.
            let text = format!("words {words}");
            let admission = Admission { text: text.clone().into(), ..admission(SESSION, revision(&fixture), run) };
            fixture.commit(Commit::Admit(admission)).unwrap();
            prop_assert_eq!(&told(&fixture), &expected, "a turn is not told before it is settled");
            if end > 0 {
                let answer = if end == 1 { "answer" } else { text.as_str() };
                fixture.append(append(run, vec![super::text(1, answer)])).unwrap();
            }
            expected.push((ContextRole::User, text.clone()));
            if end > 0 {
                let answer = if end == 1 { "answer".to_owned() } else { text };
                expected.push((ContextRole::Assistant, answer));
            }
            if looks == 0 {
                fixture.commit(settle(revision(&fixture), run, Outcome::Completed)).unwrap();
            } else {
                fixture = fixture.kill();
                prop_assert_eq!(recover(&fixture), 1);
                for _ in 1..looks {
                    fixture = fixture.kill();
                    prop_assert_eq!(recover(&fixture), 0);
                }
            }
            prop_assert_eq!(&told(&fixture), &expected);
        }
    }
}

/// OWN-09 [unit]: a head that was loaded without its messages can be changed and committed; no message is lost by it,
/// and one that is not current is refused.
#[test]
fn a_session_loaded_without_its_messages_is_not_saved_over_them() {
    let fixture = Fixture::with_session();
    for run in [1, 2] {
        fixture.commit(admit(revision(&fixture), run)).unwrap();
        fixture.append(append(run, vec![text(1, "an answer")])).unwrap();
        fixture.commit(settle(revision(&fixture), run, Outcome::Completed)).unwrap();
    }
    let kept = fixture.rows(SESSION).rows;
    assert_eq!(kept.iter().filter(|row| row.role == Role::User).count(), 2);
    let head = fixture.head(SESSION);
    let rename = |expected: u64| {
        let title = Some("renamed".to_owned());
        let what = Change::Fields(FieldsChange { title, archived: Some(true), choice: None });
        let expected = Revision::new(expected);
        Commit::Change(SessionChange {
            session_id: SESSION,
            expected,
            at: at(900),
            key: None,
            what,
        })
    };
    fixture.commit(rename(head.revision.get())).unwrap();
    assert_eq!(fixture.rows(SESSION).rows, kept);
    let stale = fixture.commit(rename(head.revision.get()));
    assert_eq!(stale, Err(StoreFailure::Conflict { current: head.revision.plus(1) }));
    fixture.commit(admit(revision(&fixture), 3)).unwrap();
    assert_eq!(fixture.rows(SESSION).rows, kept);
    fixture.commit(settle(revision(&fixture), 3, Outcome::Failed)).unwrap();
    let page = fixture.rows(SESSION);
    assert_eq!(page.rows[..kept.len()], kept);
    assert_eq!(page.head.message_count, page.rows.len() as u64);
}
