//! Whether a client takes gzip (WEB-7).

use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// Weights are kept in thousandths.
const FULL: u16 = 1_000;

/// Whether gzip is selected: it is acceptable, and the client does not like the plain body better. An
/// explicit entry counts before the wildcard; without the header the body is sent as it is.
pub fn selects_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut identity, mut wildcard) = (None, None, None);
    let values = headers.get_all(ACCEPT_ENCODING);
    let texts = values.iter().filter_map(|value| value.to_str().ok());
    for entry in texts.flat_map(|text| text.split(',')) {
        let mut parts = entry.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let weight = weight(parts);
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            gzip = Some(weight);
        } else if coding.eq_ignore_ascii_case("identity") {
            identity = Some(weight);
        } else if coding == "*" {
            wildcard = Some(weight);
        }
    }
    let gzip = gzip.or(wildcard).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// The weight of an entry in thousandths; one that cannot be read refuses the coding.
fn weight<'a>(mut parameters: impl Iterator<Item = &'a str>) -> u16 {
    let is_weight = |text: &&str| text.get(..2).is_some_and(|q| q.eq_ignore_ascii_case("q="));
    match parameters.find(is_weight) {
        Some(text) => thousandths(&text[2..]).unwrap_or(0),
        None => FULL,
    }
}

/// A weight as HTTP writes it: 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u16 = format!("{decimals:0<3}").parse().ok()?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(FULL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selects(text: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
        selects_gzip(&headers)
    }

    #[test]
    fn gzip_is_selected_where_it_is_wanted() {
        assert!(!selects_gzip(&HeaderMap::new()));
        for (text, expected) in [
            ("gzip", true),
            ("GZip, deflate, br", true),
            ("br;q=1, gzip;q=0.001", true),
            ("gzip;q=0", false),
            ("gzip; Q=0.000", false),
            ("*", true),
            ("*;q=0", false),
            ("gzip;q=0, *", false),
            ("*;q=0, gzip;q=0.5", true),
            ("identity", false),
            ("identity, gzip;q=0.5", false),
            ("identity;q=0.5, gzip", true),
            ("br", false),
            ("", false),
            ("gzip;q=2", false),
            ("gzip;q=0.0001", false),
            ("gzippy", false),
        ] {
            assert_eq!(selects(text), expected, "{text}");
        }
    }

    fn in_some_case(name: &'static str) -> impl Strategy<Value = String> {
        prop::collection::vec(any::<bool>(), name.len()).prop_map(move |upper| {
            let pick = |(c, up): (char, bool)| if up { c.to_ascii_uppercase() } else { c };
            name.chars().zip(upper).map(pick).collect()
        })
    }

    proptest! {
        /// WEB-7 [property]: names in any case, q 0 refuses, and an explicit entry beats the wildcard,
        /// wherever either stands among other codings.
        #[test]
        fn an_explicit_entry_decides_before_the_wildcard(
            name in in_some_case("gzip"),
            q in 0..=1000_u16,
            wildcard in prop::option::of(0..=1000_u16),
            others in prop::collection::vec("(br|deflate|zstd)(;q=0\\.[0-9])?", 0..4),
            place in any::<prop::sample::Index>(),
        ) {
            let weight = |q: u16| format!("{}.{:03}", q / 1000, q % 1000);
            let mut entries = others;
            if let Some(q) = wildcard {
                entries.insert(place.index(entries.len() + 1), format!("*;q={}", weight(q)));
            }
            prop_assert_eq!(selects(&entries.join(",")), wildcard.is_some_and(|q| q > 0));
            entries.insert(place.index(entries.len() + 1), format!("{name} ; q={}", weight(q)));
            prop_assert_eq!(selects(&entries.join(", ")), q > 0);
        }
    }
}
