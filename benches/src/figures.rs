//! Figures of many measurements.

use std::time::Duration;

/// Durations in order.
#[derive(Debug, Default)]
pub(crate) struct Durations(Vec<Duration>);

impl Durations {
    /// All of these.
    pub(crate) fn of(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The one that so many of a hundred do not exceed, in milliseconds; zero without any.
    pub(crate) fn percentile_ms(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(index).map_or(0.0, |duration| duration.as_secs_f64() * 1e3)
    }
}

/// Median, lowest and highest of some figures.
pub(crate) fn spread(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    let at = |index: usize| figures.get(index).copied().unwrap_or_default();
    (at(figures.len() / 2), at(0), at(figures.len().saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_measurement() {
        let of = |count: u64| Durations::of((1..=count).rev().map(Duration::from_millis).collect());
        let ms = |durations: &Durations, percent| durations.percentile_ms(percent).round();
        assert!(of(0).percentile_ms(50).abs() < f64::EPSILON);
        assert!((ms(&of(1), 99) - 1.0).abs() < f64::EPSILON);
        assert!((ms(&of(100), 50) - 50.0).abs() < f64::EPSILON);
        assert!((ms(&of(100), 99) - 99.0).abs() < f64::EPSILON);
        assert!((ms(&of(101), 99) - 100.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_spread_has_the_median_in_its_middle() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), (2.0, 1.0, 3.0));
        assert_eq!(spread(Vec::new()), (0.0, 0.0, 0.0));
    }
}
