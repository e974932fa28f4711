//! Who is not let in, on the real server.

use crate::support::client::Client;
use crate::support::process::Server;

fn unauthorized() -> (u16, String) {
    (1008, "unauthorized".to_owned())
}

#[test]
fn who_is_not_let_in_is_told_and_others_are_not_disturbed() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    let bearer = format!("Bearer {}", server.token);
    let right = ("authorization", bearer.as_str());
    let wrong = ("authorization", "Bearer 0123456789abcdef");
    let own = format!("http://{}", server.address);
    let try_with = |headers: &[(&str, &str)]| Client::upgrade(server.address, headers);

    assert_eq!(try_with(&[]).err(), Some(401));
    assert_eq!(try_with(&[wrong]).err(), Some(401));
    assert_eq!(try_with(&[right, ("host", "evil.test")]).err(), Some(421));
    for headers in
        [vec![("origin", own.as_str()), wrong], vec![("origin", "http://evil.test"), right]]
    {
        let mut refused = try_with(&headers).unwrap();
        assert_eq!(refused.closed(), unauthorized(), "{headers:?}");
    }
    let mut other = try_with(&[right, ("origin", &own)]).unwrap();
    assert_eq!(other.open_session(&session)["session_id"], *session);

    client.follow_until(&mut view, "text", |view| view.text().len() > 60);
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    let said = server.stderr();
    assert!(!said.contains(&server.token), "{said}");
}
