//! Who may write the journals of a store (JRN-14).

use serde::{Deserialize, Serialize};

use crate::instant::{Duration, Instant};

/// Age from which the lease of a shared store that was not renewed is lost (JOURNAL_LEASE).
pub const JOURNAL_LEASE: Duration = Duration::from_secs(30);

/// How often its holder renews it.
pub const JOURNAL_LEASE_RENEW: Duration = Duration::from_secs(10);

/// Which writer of a store one is; each has a higher one than the writer before. Every append presents it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(u64);

/// The caller is not the writer any more: another one has taken over, or its lease ran out. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another process writes this store now")]
pub struct LeaseLost;

/// The lease as the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WriterLease {
    epoch: Epoch,
    /// Of a shared store: when it was taken or renewed last.
    renewed_at: Option<Instant>,
}

impl Epoch {
    /// The epoch with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl WriterLease {
    /// The lease of a store that one process has for itself, which wrote it under `epoch` last.
    pub const fn exclusive(epoch: Epoch) -> Self {
        Self { epoch, renewed_at: None }
    }

    /// The lease of a shared store that nobody has written yet.
    pub const fn shared() -> Self {
        Self { epoch: Epoch(0), renewed_at: None }
    }

    /// Takes an exclusive store, which a process does at its start: whoever wrote it before does not any more.
    pub fn take_over(&mut self) -> Epoch {
        self.epoch = Epoch(self.epoch.0.saturating_add(1));
        self.renewed_at = None;
        self.epoch
    }

    /// Takes a shared store; none while another process holds it.
    pub fn take(&mut self, now: Instant) -> Option<Epoch> {
        if self.is_held(now) {
            return None;
        }
        let epoch = self.take_over();
        self.renewed_at = Some(now);
        Some(epoch)
    }

    /// Renews the lease of a shared store.
    ///
    /// # Errors
    /// [`LeaseLost`] as in [`WriterLease::admit`].
    pub fn renew(&mut self, now: Instant, presented: Epoch) -> Result<(), LeaseLost> {
        self.admit(now, presented)?;
        self.renewed_at = self.renewed_at.map(|_| now);
        Ok(())
    }

    /// Whether the writer that presents this epoch may append now.
    ///
    /// # Errors
    /// [`LeaseLost`] under an older epoch or a lease that has run out.
    pub fn admit(&self, now: Instant, presented: Epoch) -> Result<(), LeaseLost> {
        let is_current = presented == self.epoch && self.epoch > Epoch(0);
        let has_run_out = self.renewed_at.is_some() && !self.is_held(now);
        if is_current && !has_run_out { Ok(()) } else { Err(LeaseLost) }
    }

    fn is_held(&self, now: Instant) -> bool {
        self.renewed_at.is_some_and(|renewed| now.age_of(renewed) < JOURNAL_LEASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO.plus(Duration::from_secs(secs))
    }

    #[test]
    fn an_exclusive_store_belongs_to_the_process_that_started_last() {
        let mut lease = WriterLease::exclusive(Epoch::new(4));
        let first = lease.take_over();
        assert_eq!(first, Epoch::new(5));
        assert_eq!(lease.admit(at(1_000), first), Ok(()), "it does not run out");
        assert_eq!(lease.renew(at(1_000), first), Ok(()));
        let second = lease.take_over();
        assert_eq!(lease.admit(at(0), first), Err(LeaseLost));
        assert_eq!(lease.admit(at(1_000_000), second), Ok(()));
        assert_eq!(
            WriterLease::exclusive(Epoch::new(0)).admit(at(0), Epoch::new(0)),
            Err(LeaseLost)
        );
    }

    #[test]
    fn the_lease_of_a_shared_store_runs_out() {
        let mut lease = WriterLease::shared();
        assert_eq!(lease.admit(at(0), Epoch::default()), Err(LeaseLost), "nobody has taken it");
        let first = lease.take(at(0)).unwrap();
        let just_before = Instant::from_micros(JOURNAL_LEASE.as_micros() - 1);
        assert_eq!(lease.take(just_before), None);
        assert_eq!(lease.admit(just_before, first), Ok(()));
        assert_eq!(lease.admit(at(30), first), Err(LeaseLost), "also while nobody else wants it");
        assert_eq!(lease.renew(at(30), first), Err(LeaseLost));
        let second = lease.take(at(30)).unwrap();
        assert!(second > first);
        assert_eq!(lease.renew(at(31), first), Err(LeaseLost));
        assert_eq!(lease.renew(at(40), second), Ok(()));
        assert_eq!(lease.admit(at(69), second), Ok(()));
        assert_eq!(lease.take(at(70)), Some(Epoch::new(3)));
    }
}
