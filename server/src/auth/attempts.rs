//! How often an address presented credentials that were refused (RATE-5).

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

use runwarden_protocol::instant::{Duration, Instant};

/// Failures of one address within the window after which it must wait.
pub const LOGINS_FAILED_MAX: usize = 10;

/// The window, in milliseconds.
pub const LOGINS_WINDOW_MS: u64 = 60_000;

/// Addresses remembered at once. Beyond it, the one that failed longest ago is forgotten.
const ADDRESSES_MAX: usize = 4_096;

/// Failures by address.
#[derive(Debug, Default)]
pub struct Attempts {
    failures: BTreeMap<IpAddr, VecDeque<Instant>>,
}

impl Attempts {
    /// Whether the address may try now; if not, how many milliseconds it must wait (RATE-5).
    ///
    /// # Errors
    /// The time to wait, at least 1.
    pub fn check(&self, now: Instant, address: IpAddr) -> Result<(), u64> {
        let Some(times) = self.failures.get(&network(address)) else { return Ok(()) };
        match times.front() {
            Some(first) if times.len() == LOGINS_FAILED_MAX => {
                let age_ms = now.age_of(*first).as_millis();
                if age_ms < LOGINS_WINDOW_MS { Err(LOGINS_WINDOW_MS - age_ms) } else { Ok(()) }
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Remembers a failure.
    pub fn failed(&mut self, now: Instant, address: IpAddr) {
        let address = network(address);
        if !self.failures.contains_key(&address) && self.failures.len() == ADDRESSES_MAX {
            self.make_room(now);
        }
        let times = self.failures.entry(address).or_default();
        if times.len() == LOGINS_FAILED_MAX {
            times.pop_front();
        }
        times.push_back(now);
    }

    fn make_room(&mut self, now: Instant) {
        let window = Duration::from_millis(LOGINS_WINDOW_MS);
        self.failures
            .retain(|_, times| times.back().is_some_and(|last| now.age_of(*last) < window));
        if self.failures.len() < ADDRESSES_MAX {
            return;
        }
        let newest =
            |(address, times): (&IpAddr, &VecDeque<Instant>)| (times.back().copied(), *address);
        if let Some((_, oldest)) = self.failures.iter().map(newest).min() {
            self.failures.remove(&oldest);
        }
    }
}

/// One IPv6 host has a whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn address(last: u32) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + last))
    }

    /// RATE-5 [unit]: the 10th failure within 60,000 ms blocks until the window of those ten has
    /// passed; other addresses are not concerned.
    #[test]
    fn ten_failures_in_the_window_block_until_it_has_passed() {
        let mut attempts = Attempts::default();
        for n in 0..9 {
            attempts.failed(at(1_000 * n), address(1));
            assert_eq!(attempts.check(at(8_000), address(1)), Ok(()));
        }
        attempts.failed(at(9_000), address(1));
        assert_eq!(attempts.check(at(9_000), address(1)), Err(51_000));
        assert_eq!(attempts.check(at(59_999), address(1)), Err(1));
        assert_eq!(attempts.check(at(60_000), address(1)), Ok(()));
        assert_eq!(attempts.check(at(9_000), address(2)), Ok(()));
        attempts.failed(at(60_000), address(1));
        assert_eq!(attempts.check(at(60_000), address(1)), Err(1_000));
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_count_together() {
        let mut attempts = Attempts::default();
        for n in 0..10_u16 {
            attempts.failed(at(0), IpAddr::V6(Ipv6Addr::new(1, 2, 3, 4, 0, 0, 0, n)));
        }
        assert!(attempts.check(at(1), "1:2:3:4:ffff::1".parse().unwrap()).is_err());
        assert!(attempts.check(at(1), "1:2:3:5::1".parse().unwrap()).is_ok());
        let mut mapped = Attempts::default();
        for _ in 0..10 {
            mapped.failed(at(0), "::ffff:10.0.0.1".parse().unwrap());
        }
        assert!(mapped.check(at(1), "10.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn the_number_of_remembered_addresses_is_bounded() {
        let count = u32::try_from(ADDRESSES_MAX).unwrap();
        let mut attempts = Attempts::default();
        for n in 0..count {
            attempts.failed(at(u64::from(n)), address(n));
        }
        assert_eq!(attempts.failures.len(), ADDRESSES_MAX);
        attempts.failed(at(5_000), address(count));
        assert_eq!(attempts.failures.len(), ADDRESSES_MAX);
        assert!(!attempts.failures.contains_key(&address(0)), "the oldest made room");
        attempts.failed(at(5_000_000), address(count + 1));
        assert_eq!(attempts.failures.len(), 1, "past windows are forgotten first");
    }
}
