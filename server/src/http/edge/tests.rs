use proptest::prelude::*;

use super::*;

fn local(port: u16) -> Edge {
    Edge::new(SocketAddr::from(([127, 0, 0, 1], port)), None, Vec::new())
}

fn public(url: &str, trusted: &[&str]) -> Edge {
    let url = PublicUrl::try_from(url.to_owned()).unwrap();
    let trusted = trusted.iter().map(|net| net.parse().unwrap()).collect();
    Edge::new(SocketAddr::from(([127, 0, 0, 1], 8787)), Some(&url), trusted)
}

fn view(edge: &Edge, peer: &str, headers: &[(&str, &str)]) -> View {
    let mut request = Request::builder().uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let local = SocketAddr::from(([192, 168, 1, 5], 8787));
    edge.view(&request.body(()).unwrap(), Peer { address: peer.parse().unwrap(), local })
}

fn allows(edge: &Edge, host: &str) -> bool {
    view(edge, "127.0.0.1", &[("host", host)]).is_host_allowed
}

fn origin(edge: &Edge, text: &str) -> Origin {
    view(edge, "127.0.0.1", &[("origin", text)]).origin
}

/// EDGE-1 [unit]: without `public_url` the listen address and its loopback names are allowed.
#[test]
fn the_listen_address_and_its_loopback_names_are_allowed() {
    let edge = local(8787);
    for host in ["127.0.0.1:8787", "localhost:8787", "LOCALHOST:8787", "[::1]:8787"] {
        assert!(allows(&edge, host), "{host}");
        assert_eq!(origin(&edge, &format!("http://{host}")), Origin::Allowed, "{host}");
        assert_eq!(origin(&edge, &format!("https://{host}")), Origin::Foreign, "{host}");
    }
    for host in ["127.0.0.1", "127.0.0.1:80", "example.org:8787", "u@localhost:8787", "", ":8787"] {
        assert!(!allows(&edge, host), "{host}");
        assert_eq!(origin(&edge, &format!("http://{host}")), Origin::Foreign, "{host}");
    }
    assert_eq!(origin(&edge, "null"), Origin::Foreign);
    assert_eq!(view(&edge, "127.0.0.1", &[]).origin, Origin::Absent);
    assert!(!view(&edge, "127.0.0.1", &[]).is_host_allowed);
    assert!(allows(&local(80), "localhost"), "the port of http may be left out");
    assert_eq!((edge.base_path(), edge.cookie()), ("/", "runwarden_login_8787"));
}

#[test]
fn a_server_on_all_addresses_answers_to_the_one_that_was_dialled() {
    let edge = Edge::new("0.0.0.0:8787".parse().unwrap(), None, Vec::new());
    assert!(allows(&edge, "192.168.1.5:8787"));
    assert!(allows(&edge, "localhost:8787"));
    assert!(!allows(&edge, "192.168.1.6:8787"));
    assert!(!allows(&edge, "example.org:8787"));
    assert!(!allows(&local(8787), "192.168.1.5:8787"));
}

/// EDGE-1 [unit]: `public_url` alone fixes Host, Origin, Secure and base path.
#[test]
fn a_public_url_replaces_the_listen_address() {
    let edge = public("https://example.org/runwarden", &[]);
    assert!(allows(&edge, "example.org") && allows(&edge, "example.org:443"));
    for host in ["127.0.0.1:8787", "localhost:8787", "example.org:80", "a.example.org"] {
        assert!(!allows(&edge, host), "{host}");
    }
    assert_eq!(origin(&edge, "https://example.org"), Origin::Allowed);
    assert_eq!(origin(&edge, "http://example.org"), Origin::Foreign);
    assert_eq!(origin(&edge, "https://example.org.evil.test"), Origin::Foreign);
    assert!(view(&edge, "127.0.0.1", &[]).is_https);
    assert_eq!(edge.base_path(), "/runwarden/");
    assert_eq!(edge.below_base("/runwarden/v1/ws"), "v1/ws");
    assert_eq!(edge.below_base("/v1/ws"), "v1/ws");
}

#[test]
fn doubled_hosts_are_refused_and_an_absolute_target_counts_first() {
    let edge = local(8787);
    let twice = [("host", "localhost:8787"), ("host", "localhost:8787")];
    assert!(!view(&edge, "127.0.0.1", &twice).is_host_allowed);
    let request = Request::builder().uri("http://evil.test/").header("host", "localhost:8787");
    let peer = Peer { address: "127.0.0.1".parse().unwrap(), local: ([127, 0, 0, 1], 1).into() };
    assert!(!edge.view(&request.body(()).unwrap(), peer).is_host_allowed);
}

/// EDGE-3 [unit]: forwarded headers of a peer that is not a trusted proxy count for nothing.
#[test]
fn forwarded_headers_count_from_trusted_proxies_only() {
    let headers = [
        ("x-forwarded-for", "203.0.113.9, 10.0.0.2"),
        ("x-forwarded-host", "example.org"),
        ("x-forwarded-proto", "https"),
        ("host", "127.0.0.1:8787"),
    ];
    let edge = public("https://example.org/", &["10.0.0.0/8"]);
    let seen = view(&edge, "10.0.0.1", &headers);
    assert_eq!(seen.client, "203.0.113.9".parse::<IpAddr>().unwrap());
    assert!(seen.is_host_allowed);
    let unseen = view(&edge, "192.0.2.1", &headers);
    assert_eq!(unseen.client, "192.0.2.1".parse::<IpAddr>().unwrap());
    assert!(!unseen.is_host_allowed);
    let plain = Edge { trusted: vec!["10.0.0.1/32".parse().unwrap()], ..local(8787) };
    assert!(view(&plain, "10.0.0.1", &headers[2..]).is_https);
    assert!(!view(&plain, "10.0.0.9", &headers[2..]).is_https);
}

#[test]
fn addresses_are_read_as_proxies_write_them() {
    let edge = public("https://example.org/", &["10.0.0.0/8", "::1/128"]);
    for (text, client) in [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:99", "2001:db8::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, unknown", "10.0.0.1"),
        ("unknown, 10.0.0.3", "10.0.0.3"),
        ("10.0.0.5, 10.0.0.4", "10.0.0.5"),
        ("", "10.0.0.1"),
    ] {
        let seen = view(&edge, "::ffff:10.0.0.1", &[("x-forwarded-for", text)]);
        assert_eq!(seen.client, client.parse::<IpAddr>().unwrap(), "{text}");
    }
    let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "10.0.0.2")];
    let seen = view(&edge, "10.0.0.1", &lines);
    assert_eq!(seen.client, "203.0.113.9".parse::<IpAddr>().unwrap());
}

fn hop() -> impl Strategy<Value = (bool, u8)> {
    (any::<bool>(), 1..=250_u8)
}

proptest! {
    /// EDGE-3 [property]: whatever a client claims in front of the proxies, the address found is the
    /// last one, read from this end, that no trusted proxy has.
    #[test]
    fn the_client_is_the_last_address_that_is_not_trusted(
        claimed in "[ -~]{0,40}",
        hops in prop::collection::vec(hop(), 1..8),
    ) {
        let edge = public("https://example.org/", &["10.0.0.0/8"]);
        let text = |(is_trusted, n): &(bool, u8)| {
            if *is_trusted { format!("10.0.0.{n}") } else { format!("203.0.113.{n}") }
        };
        let addresses: Vec<String> = hops.iter().map(text).collect();
        let (peer, listed) = addresses.split_last().expect("at least one hop");
        let header = std::iter::once(claimed).chain(listed.iter().cloned());
        let header = header.collect::<Vec<_>>().join(", ");
        let found = view(&edge, peer, &[("x-forwarded-for", header.trim())]).client;
        if let Some(place) = hops.iter().rposition(|(is_trusted, _)| !is_trusted) {
            prop_assert_eq!(found, addresses[place].parse::<IpAddr>().unwrap());
        }
    }
}
