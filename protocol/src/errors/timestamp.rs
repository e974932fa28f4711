//! Unix milliseconds as text, `YYYY-MM-DDTHH:MM:SS.mmmZ`, by integer arithmetic.

/// Largest time that has this form: the last millisecond of the year 9999.
pub const TIME_MS_MAX: i64 = 253_402_300_799_999;

const DAY_MS: i64 = 86_400_000;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// The text of a time; none before 1970 or after the year 9999.
pub fn format(time_ms: i64) -> Option<String> {
    if !(0..=TIME_MS_MAX).contains(&time_ms) {
        return None;
    }
    let (year, month, day) = civil(time_ms / DAY_MS);
    let ms = time_ms % DAY_MS;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    let milli = ms % 1_000;
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"))
}

/// The time of a text made by [`format()`]; none for any other text.
pub fn parse(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let time_ms = days * DAY_MS + seconds * 1_000 + number(20, 23)?;
    format(time_ms).filter(|again| again == text).map(|_| time_ms)
}

/// Year, month and day of a number of days since 1970. Years begin in March here, so that the
/// leap day is the last of its year and months have a regular pattern of lengths.
fn civil(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + EPOCH_DAYS;
    let era = days / ERA_DAYS;
    let day_of_era = days % ERA_DAYS;
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Days since 1970 of a date; the inverse of [`civil`] for dates that exist.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
        - EPOCH_DAYS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times_have_their_known_text() {
        for (time_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_933_135_628_090, "2031-04-05T06:07:08.090Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (TIME_MS_MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(format(time_ms).as_deref(), Some(text));
            assert_eq!(parse(text), Some(time_ms));
        }
    }

    #[test]
    fn times_outside_the_form_have_no_text() {
        assert_eq!(format(-1), None);
        assert_eq!(format(TIME_MS_MAX + 1), None);
    }

    #[test]
    fn other_texts_have_no_time() {
        for text in [
            "",
            "2031-04-05T06:07:08Z",
            "2031-04-05 06:07:08.090Z",
            "2031-02-30T06:07:08.090Z",
            "2031-04-05T24:00:00.000Z",
            "2031-04-05T06:07:08.090z",
            "+031-04-05T06:07:08.090Z",
            "2031-04-05T06:07:08.0900Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_keeps_time_and_order(a in 0..=TIME_MS_MAX, b in 0..=TIME_MS_MAX) {
            let (text_a, text_b) = (format(a).unwrap(), format(b).unwrap());
            prop_assert_eq!(parse(&text_a), Some(a));
            prop_assert_eq!(a.cmp(&b), text_a.cmp(&text_b));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
