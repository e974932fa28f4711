//! What `runwarden record export` says when it cannot export, and who may ask the server.

use std::path::Path;
use std::process::Output;

use sha2::{Digest, Sha256};

use crate::export::export;
use crate::support::client::Client;
use crate::support::process::{Server, Setup};

const UNKNOWN: &str = "ses_0000000000000001";

#[track_caller]
fn refused(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("runwarden: ") && said.contains(words), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
}

/// A session whose one run has ended.
fn used(server: &Server) -> String {
    let mut client = Client::connect(server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    client.follow(&mut view);
    session
}

#[test]
fn each_refusal_says_what_to_do() {
    let server = Server::start();
    let session = used(&server);
    let state = server.state();
    refused(&export(state, "ses_1", &[]), "no session id");
    refused(&export(state, UNKNOWN, &[]), "404: there is no such session");
    refused(&export(state, &session, &["--token", "wrong"]), "401");
    refused(&export(state, &session, &["--token", "a\nb"]), "visible ASCII");
    refused(&export(state, &session, &["-o", "/nonexistent/x.race"]), "/nonexistent/x.race");
    let fresh = Client::connect(&server).new_session();
    refused(&export(state, &fresh, &[]), "nothing is recorded");
    let output = export(state, &session, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.starts_with(b"race/1\nscenario: flight-recorder\n"));

    let setup = server.setup().clone();
    drop(server);
    refused(&export(setup.state(), &session, &[]), "--record");
    refused(&export(Path::new("/nonexistent"), &session, &[]), "no server runs");
    let off = setup.config("[limits]\nrecord_bytes_max = 0\n").start();
    refused(&export(off.state(), &used(&off), &[]), "409: the flight recorder is off");
}

#[test]
fn a_session_is_exported_by_its_owner_and_by_the_operator_alone() {
    let principal = |name: &str, role: &str, token: &str| {
        let sha256 =
            Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("[[principal]]\nname = '{name}'\nrole = '{role}'\ntoken_sha256 = '{sha256}'\n")
    };
    let config = principal("ada", "owner", "ta")
        + &principal("bob", "owner", "tb")
        + &principal("eve", "viewer", "tv");
    let mut server = Setup::fresh().config(&config).flags(&["--token", "to"]).start();
    server.token = "ta".to_owned();
    let session = used(&server);
    let state = server.state();
    refused(&export(state, &session, &[]), "--token");
    refused(&export(state, &session, &["--token", "tb"]), "404: there is no such session");
    refused(&export(state, &session, &["--token", "tv"]), "403");
    for token in ["ta", "to"] {
        assert_eq!(export(state, &session, &["--token", token]).status.code(), Some(0), "{token}");
    }
}
