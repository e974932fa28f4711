//! The front of the server over real sockets: the page, logins, Host and Origin, and the upgrade.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/front.rs"]
mod front;
#[path = "support/raw_http.rs"]
mod raw_http;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;

use async_tungstenite::tungstenite::client::IntoClientRequest;
use async_tungstenite::tungstenite::error::Error;
use async_tungstenite::tungstenite::handshake::HandshakeError;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::{Message, WebSocket, client};
use front::Front;
use raw_http::{Answer, connect, exchange, get, send};
use runwarden::assets::{Assets, GZIP_BYTES_MIN, INDEX, is_compressible};
use runwarden::auth::TokenHash;

const TOKEN: &str = "correct-horse";

fn start() -> (tempfile::TempDir, Front) {
    let state = tempfile::tempdir().unwrap();
    let front = Front::start(state.path(), &["--token", TOKEN]);
    (state, front)
}

fn bearer() -> (&'static str, &'static str) {
    ("Authorization", "Bearer correct-horse")
}

fn origin(address: SocketAddr) -> String {
    format!("http://{address}")
}

fn log_in(address: SocketAddr, token: &str) -> Answer {
    let body = format!("{{\"token\": \"{token}\"}}");
    send(address, "POST", "/v1/login", &[], &body)
}

/// `name=value` of the cookie an answer sets.
fn cookie_of(answer: &Answer) -> String {
    let header = answer.header("set-cookie").unwrap();
    header.split(';').next().unwrap().to_owned()
}

/// Upgrades with these headers: the socket, or the status of the refusal.
fn upgrade(
    address: SocketAddr,
    headers: &[(&'static str, &str)],
) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = format!("ws://{address}/v1/ws").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match client(request, connect(address)) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

fn close_of(socket: &mut WebSocket<TcpStream>) -> (u16, String) {
    match socket.read().unwrap() {
        Message::Close(Some(frame)) => (frame.code.into(), frame.reason.to_string()),
        other => panic!("expected a close, got {other:?}"),
    }
}

fn unauthorized() -> (u16, String) {
    (CloseCode::Policy.into(), "unauthorized".to_owned())
}

/// WEB-3 [e2e]: the page and each of its files come with exactly the headers of the rule.
#[test]
fn the_page_and_its_files_carry_the_security_headers() {
    let (_state, front) = start();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                  font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    let assets = Assets::load();
    let files = assets.iter().map(|(path, _)| format!("/{path}"));
    for path in files.chain(["/".to_owned()]) {
        let answer = get(front.address, &path, &[]);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-security-policy"), Some(policy), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
    }
    let page = get(front.address, "/", &[]);
    assert_eq!(page.body, assets.get(INDEX).unwrap().plain);
    assert!(page.text().contains(assets.build()));
    let head = send(front.address, "HEAD", "/", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), page.header("content-length"));
}

/// WEB-6 [e2e], WEB-8 [e2e]: a file is compressed exactly when it may be and the client wants it, and
/// says that it varies exactly when it could have been.
#[test]
fn files_are_compressed_exactly_when_negotiated() {
    let (_state, front) = start();
    let (mut compressed, mut plain) = (0, 0);
    for (path, asset) in Assets::load().iter() {
        let is_negotiable =
            is_compressible(asset.media_type) && asset.plain.len() >= GZIP_BYTES_MIN;
        for (accepted, wants_gzip) in [
            (None, false),
            (Some("gzip"), true),
            (Some("br, GZIP;q=0.5"), true),
            (Some("gzip;q=0, *"), false),
            (Some("identity"), false),
        ] {
            let headers: Vec<_> =
                accepted.map(|text| ("Accept-Encoding", text)).into_iter().collect();
            let answer = get(front.address, &format!("/{path}"), &headers);
            let is_gzip = answer.header("content-encoding") == Some("gzip");
            assert_eq!(is_gzip, is_negotiable && wants_gzip, "{path} {accepted:?}");
            let varies = answer.header("vary") == Some("Accept-Encoding");
            assert_eq!(varies, is_negotiable, "{path} {accepted:?}");
            let body = if is_gzip { unzip(&answer.body) } else { answer.body };
            assert_eq!(body, asset.plain, "{path}");
            if is_gzip { compressed += 1 } else { plain += 1 }
        }
    }
    assert!(compressed > 0 && plain > 0, "both happened: {compressed} and {plain}");
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn an_unchanged_file_is_not_sent_again() {
    let (_state, front) = start();
    let first = get(front.address, "/", &[]);
    let tag = first.header("etag").unwrap();
    let again = get(front.address, "/", &[("If-None-Match", tag)]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(get(front.address, "/", &[("If-None-Match", "W/\"other\"")]).status, 200);
}

#[test]
fn unknown_paths_and_wrong_methods_are_told() {
    let (_state, front) = start();
    for path in ["/v1", "/v1/events", "/v1/actions", "/metrics", "/nothing", "/../Cargo.toml"] {
        assert_eq!(get(front.address, path, &[bearer()]).status, 404, "{path}");
        assert_eq!(send(front.address, "POST", path, &[], "x").status, 404, "{path}");
    }
    for (method, path, allow) in [
        ("POST", "/", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("GET", "/v1/login", "POST"),
        ("DELETE", "/v1/logout", "POST"),
        ("POST", "/v1/ws", "GET"),
    ] {
        let answer = send(front.address, method, path, &[], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(front.address, path, &[]).status, 200, "{path}");
    }
}

/// EDGE-2 [e2e]: a Host that is not allowed is answered 421, with good credentials and without.
#[test]
fn a_foreign_host_is_misdirected_before_authentication() {
    let (_state, front) = start();
    for path in ["/", "/v1/ws", "/v1/login", "/healthz", "/nothing"] {
        for host in ["evil.test", "127.0.0.1", "evil.test:80"] {
            let headers = [("Host", host), bearer()];
            assert_eq!(get(front.address, path, &headers).status, 421, "{path} {host}");
            assert_eq!(get(front.address, path, &headers[..1]).status, 421, "{path} {host}");
        }
    }
    assert_eq!(exchange(front.address, "GET / HTTP/1.0\r\n\r\n").status, 421);
    for _ in 0..20 {
        let headers = [("Host", "evil.test"), ("Authorization", "Bearer wrong")];
        assert_eq!(get(front.address, "/v1/ws", &headers).status, 421);
    }
    assert_eq!(log_in(front.address, TOKEN).status, 204, "the token was never looked at");
}

/// AUTH-2 [e2e]: a cookie counts only together with the Origin of this server.
#[test]
fn a_cookie_needs_the_origin_of_this_server() {
    let (_state, front) = start();
    let cookie = cookie_of(&log_in(front.address, TOKEN));
    let own = origin(front.address);
    let mut socket = upgrade(front.address, &[("cookie", &cookie), ("origin", &own)]).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("owner"));
    assert_eq!(upgrade(front.address, &[("cookie", &cookie)]).err(), Some(403));
    for foreign in ["http://evil.test", "null", "https://127.0.0.1", "http://127.0.0.1"] {
        let mut refused =
            upgrade(front.address, &[("cookie", &cookie), ("origin", foreign)]).unwrap();
        assert_eq!(close_of(&mut refused), unauthorized(), "{foreign}");
        let headers = [("Cookie", cookie.as_str()), ("Origin", foreign)];
        assert_eq!(send(front.address, "POST", "/v1/logout", &headers, "").status, 403);
    }
    let headers = [("Cookie", cookie.as_str())];
    assert_eq!(send(front.address, "POST", "/v1/logout", &headers, "").status, 403);
    assert_eq!(get(front.address, "/v1/ws", &headers).status, 426, "no handshake, no harm");
    assert_eq!(front.logins.all().len(), 1, "nothing of this logged out");
}

/// AUTH-3 [e2e]: with an Origin header a refused upgrade is completed and closed with 1008 before any
/// frame; without one it is answered 401.
#[test]
fn a_refused_upgrade_is_closed_where_a_browser_could_not_see_the_status() {
    let (_state, front) = start();
    let own = origin(front.address);
    let wrong = ("authorization", "Bearer wrong");
    for headers in [
        vec![("origin", own.as_str())],
        vec![("origin", own.as_str()), wrong],
        vec![("origin", "http://evil.test"), ("authorization", "Bearer correct-horse")],
    ] {
        let mut socket = upgrade(front.address, &headers).unwrap();
        assert_eq!(close_of(&mut socket), unauthorized(), "{headers:?}");
        assert!(matches!(socket.read(), Err(Error::ConnectionClosed)), "{headers:?}");
    }
    assert_eq!(upgrade(front.address, &[]).err(), Some(401));
    assert_eq!(upgrade(front.address, &[wrong]).err(), Some(401));
    let answer = get(front.address, "/v1/ws", &[("Origin", &own)]);
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
}

#[test]
fn a_bearer_token_opens_a_socket_without_an_origin() {
    let (_state, front) = start();
    let mut socket = upgrade(front.address, &[("authorization", "bearer correct-horse")]).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("owner"));
    let largest = "x".repeat(runwarden::http::ACTION_BYTES_MAX);
    socket.send(Message::text(largest.clone())).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text(largest));
    let answer = get(front.address, "/v1/ws", &[bearer()]);
    assert_eq!((answer.status, answer.header("upgrade")), (426, Some("websocket")));
}

#[test]
fn what_a_client_sends_right_behind_the_handshake_is_not_lost() {
    let (_state, front) = start();
    let mut stream = connect(front.address);
    let head = format!(
        "GET /v1/ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer {TOKEN}\r\n\r\n",
        front.address
    );
    // A text frame "hi" under the mask 0.
    stream.write_all(&[head.as_bytes(), &[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']].concat()).unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"\x81\x02hi") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
    assert!(read.starts_with(b"HTTP/1.1 101 "));
}

/// PRIN-2 [e2e]: the generated token is printed once, kept with mode 0600, and found nowhere else; it
/// opens the server after a restart too, and nothing that resembles it does.
#[test]
fn a_generated_token_is_printed_kept_and_nowhere_else() {
    let state = tempfile::tempdir().unwrap();
    let front = Front::start(state.path(), &[]);
    let lines: Vec<_> = front.announcement.lines().map(str::to_owned).collect();
    assert_eq!(lines[0], format!("runwarden listening on http://{}/", front.address));
    let token = lines[1].strip_prefix(&format!("open http://{}/#token=", front.address)).unwrap();
    assert_eq!((lines.len(), token.len()), (2, 64));
    let path = state.path().join("token");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let changed = format!("{}{}", &token[..63], if token.ends_with('0') { '1' } else { '0' });
    for wrong in ["", &token[..63], &token.to_uppercase().replace(char::is_numeric, "A"), &changed]
    {
        let answer = log_in(front.address, wrong);
        assert_eq!(answer.status, 401);
        assert!(!answer.text().contains(token));
    }
    let answer = log_in(front.address, token);
    assert_eq!(answer.status, 204);
    assert!(!format!("{answer:?}").contains(token));
    drop(front);
    for file in std::fs::read_dir(state.path().join("logs")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains(token), "the log names the token");
    }
    let again = Front::start(state.path(), &[]);
    assert!(again.announcement.ends_with(&format!("#token={token}\n")), "it is kept");
    assert_eq!(log_in(again.address, token).status, 204);
}

/// PRIN-6 [e2e]: the cookie is HttpOnly, SameSite=Strict, for the base path, lives 30 days, holds 256
/// bits and is stored as a hash; it is Secure under https, as the next test shows.
#[test]
fn a_login_sets_a_cookie_that_is_stored_as_a_hash() {
    let (_state, front) = start();
    let answer = log_in(front.address, TOKEN);
    assert_eq!(answer.status, 204);
    let port = front.address.port();
    let header = answer.header("set-cookie").unwrap().to_owned();
    let cookie = cookie_of(&answer);
    let value = cookie.strip_prefix(&format!("runwarden_login_{port}=")).unwrap();
    assert_eq!((value.len(), value.bytes().all(|b| b.is_ascii_hexdigit())), (64, true));
    let attributes = header.strip_prefix(&cookie).unwrap();
    assert_eq!(attributes, "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
    let stored = front.logins.all();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].token_hash, TokenHash::of(value).bytes());
    assert_ne!(cookie_of(&log_in(front.address, TOKEN)), cookie, "every login has its own");

    let own = origin(front.address);
    let headers = [("cookie", cookie.as_str()), ("origin", own.as_str())];
    front.pass_ms(2_592_000_000 - 1);
    assert_eq!(upgrade(front.address, &headers).unwrap().read().unwrap(), Message::text("owner"));
    front.pass_ms(1);
    assert_eq!(close_of(&mut upgrade(front.address, &headers).unwrap()), unauthorized());
}

/// EDGE-1 [e2e], PRIN-6 [e2e]: `public_url` alone fixes Host, Origin, base path and the Secure cookie.
#[test]
fn behind_a_public_url_only_that_url_counts() {
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("runwarden.toml"), "public_url = 'https://example.org/base'")
        .unwrap();
    let front = Front::start(state.path(), &["--token", TOKEN]);
    let host = ("Host", "example.org");
    let body = format!("{{\"token\": \"{TOKEN}\"}}");
    let answer = send(front.address, "POST", "/base/v1/login", &[host], &body);
    let header = answer.header("set-cookie").unwrap();
    assert!(header.starts_with("runwarden_login="), "{header}");
    assert!(header.ends_with("; Path=/base/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"));
    assert_eq!(log_in(front.address, TOKEN).status, 421, "the listen address is no Host");
    let cookie = cookie_of(&answer);
    for (from, is_allowed) in [("https://example.org", true), ("http://example.org", false)] {
        let headers = [("host", "example.org"), ("cookie", &*cookie), ("origin", from)];
        let mut socket = upgrade(front.address, &headers).unwrap();
        match is_allowed {
            true => assert_eq!(socket.read().unwrap(), Message::text("owner")),
            false => assert_eq!(close_of(&mut socket), unauthorized()),
        }
    }
    let moved = get(front.address, "/base", &[host]);
    assert_eq!((moved.status, moved.header("location")), (308, Some("/base/")));
    assert_eq!(get(front.address, "/base/", &[host]).status, 200);
}

/// PRIN-7 [e2e]: a logout removes the cookie and closes its connections with 1008; another login of the
/// same principal stays.
#[test]
fn a_logout_closes_the_connections_of_its_cookie_only() {
    let (_state, front) = start();
    let own = origin(front.address);
    let cookies = [0, 1].map(|_| cookie_of(&log_in(front.address, TOKEN)));
    let [mut first, mut second] = [0, 1].map(|n: usize| {
        let headers = [("cookie", cookies[n].as_str()), ("origin", own.as_str())];
        let mut socket = upgrade(front.address, &headers).unwrap();
        assert_eq!(socket.read().unwrap(), Message::text("owner"));
        socket
    });
    let headers = [("Cookie", cookies[0].as_str()), ("Origin", own.as_str())];
    let answer = send(front.address, "POST", "/v1/logout", &headers, "");
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").unwrap().contains("=; Path=/; Max-Age=0;"));
    assert_eq!(close_of(&mut first), unauthorized());
    second.send(Message::text("still here")).unwrap();
    assert_eq!(second.read().unwrap(), Message::text("still here"));
    assert_eq!(send(front.address, "POST", "/v1/logout", &headers, "").status, 401);
    assert_eq!(send(front.address, "POST", "/v1/logout", &headers[1..], "").status, 401);
}

/// RATE-5 [e2e]: after ten failures from one address even the right token is answered 429, until the
/// window has passed.
#[test]
fn ten_failures_block_the_address_for_the_window() {
    let (_state, front) = start();
    let cookie = cookie_of(&log_in(front.address, TOKEN));
    for n in 0..10 {
        match n % 2 {
            0 => assert_eq!(log_in(front.address, "wrong").status, 401),
            _ => assert_eq!(
                upgrade(front.address, &[("authorization", "Bearer wrong")]).err(),
                Some(401)
            ),
        }
    }
    let answer = log_in(front.address, TOKEN);
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")));
    let own = origin(front.address);
    assert_eq!(upgrade(front.address, &[("cookie", &cookie), ("origin", &own)]).err(), Some(429));
    assert_eq!(upgrade(front.address, &[]).err(), Some(401), "nothing was presented");
    assert_eq!(get(front.address, "/", &[]).status, 200, "the page is for everybody");
    front.pass_ms(59_999);
    assert_eq!(log_in(front.address, TOKEN).status, 429);
    front.pass_ms(1);
    assert_eq!(log_in(front.address, TOKEN).status, 204);
}

#[test]
fn a_login_reads_a_bounded_body_of_the_right_form() {
    let (_state, front) = start();
    let post = |body: &str| send(front.address, "POST", "/v1/login", &[], body).status;
    let padded = |bytes: usize| {
        let body = format!("{{\"token\": \"{TOKEN}\"}}");
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    assert_eq!(post(&padded(4_096)), 204);
    assert_eq!(post(&padded(4_097)), 413);
    for wrong in ["", "token", "[]", "{}", "{\"token\": 1}", "{\"token\": null}"] {
        assert_eq!(post(wrong), 400, "{wrong}");
    }
    let body = format!("{{\"token\": \"{TOKEN}\"}}");
    let foreign = [("Origin", "http://evil.test")];
    assert_eq!(send(front.address, "POST", "/v1/login", &foreign, &body).status, 403);
}

#[test]
fn a_head_above_the_bound_is_refused() {
    let (_state, front) = start();
    let start = "GET / HTTP/1.1\r\nX-Large: ";
    let head_of = |bytes: usize| start.to_owned() + &"x".repeat(bytes - start.len());
    assert_eq!(exchange(front.address, &head_of(65_536)).status, 431);
    let rest = format!("\r\nHost: {}\r\nConnection: close\r\n\r\n", front.address);
    let largest = head_of(65_535 - rest.len()) + &rest;
    assert_eq!(exchange(front.address, &largest).status, 200);
    assert_eq!(exchange(front.address, "what is this\r\n\r\n").status, 400);
}
