//! Connections by the login they were opened with, so that a logout closes them (PRIN-7, AUTH-8).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_channel::{Receiver, Sender};

/// SHA-256 of a login's cookie value.
type LoginHash = [u8; 32];

/// The open connections of every login. Bounded by the connections the server holds.
#[derive(Clone, Debug, Default)]
pub struct Revocations(Arc<Mutex<Table>>);

/// A connection's credentials. While they hold, [`Lease::revoked`] waits.
#[derive(Debug)]
pub struct Lease {
    revoked: Receiver<Infallible>,
    held: Held,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    senders: BTreeMap<(LoginHash, u64), Sender<Infallible>>,
}

#[derive(Debug)]
enum Held {
    /// By a token, which nothing revokes while the server runs.
    Token { _sender: Sender<Infallible> },
    /// By a login.
    Login { table: Revocations, key: (LoginHash, u64) },
}

impl Revocations {
    /// A lease of this login. Take it before the login is looked up, so that a logout in between is seen.
    pub fn lease(&self, login: LoginHash) -> Lease {
        let (sender, revoked) = async_channel::bounded(1);
        let mut table = self.table();
        let key = (login, table.next);
        table.next += 1;
        table.senders.insert(key, sender);
        Lease { revoked, held: Held::Login { table: self.clone(), key } }
    }

    /// Ends every lease of this login.
    pub fn revoke(&self, login: LoginHash) {
        let mut table = self.table();
        let keys: Vec<_> =
            table.senders.range((login, 0)..=(login, u64::MAX)).map(|(key, _)| *key).collect();
        for key in keys {
            table.senders.remove(&key);
        }
    }

    /// The table is whole after every statement, so a panic elsewhere does not spoil it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// A lease that is never revoked, for a token.
    pub fn of_token() -> Self {
        let (sender, revoked) = async_channel::bounded(1);
        Self { revoked, held: Held::Token { _sender: sender } }
    }

    /// Resolves when the credentials were revoked; the connection is to be closed with 1008 (AUTH-8).
    pub async fn revoked(&self) {
        let Err(_closed) = self.revoked.recv().await;
    }

    /// Whether the credentials were revoked.
    pub fn is_revoked(&self) -> bool {
        self.revoked.is_closed()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match &self.held {
            Held::Token { .. } => {}
            Held::Login { table, key } => {
                table.table().senders.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_ends_the_leases_of_its_login_only() {
        let revocations = Revocations::default();
        let (first, second) = (revocations.lease([1; 32]), revocations.lease([1; 32]));
        let (other, token) = (revocations.lease([2; 32]), Lease::of_token());
        revocations.revoke([1; 32]);
        assert!(first.is_revoked() && second.is_revoked());
        assert!(!other.is_revoked() && !token.is_revoked());
        smol::block_on(first.revoked());
    }

    #[test]
    fn a_dropped_lease_leaves_nothing_behind() {
        let revocations = Revocations::default();
        drop(revocations.lease([1; 32]));
        assert!(revocations.table().senders.is_empty());
    }
}
