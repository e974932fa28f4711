//! A start that cannot work: exit code 2, one line on standard error that says what to do, and what is
//! there already is left as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use crate::support::client::Client;
use crate::support::process::{Server, Setup};

/// The user `nobody` of most systems.
const NOBODY: u32 = 65_534;

/// The one line of a refused start.
#[track_caller]
fn refusal(setup: &Setup) -> String {
    let ended = setup.refused();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stdout, "", "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.starts_with("runwarden: "), "{ended:?}");
    ended.stderr
}

/// A state directory with one settled run, and its session.
fn used() -> (Setup, String) {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");
    server.kill9();
    (server.setup().clone(), session)
}

/// The settled run is still there, and the session goes on.
#[track_caller]
fn assert_intact(setup: Setup, session: &str) {
    let server = setup.start();
    let mut client = Client::connect(&server);
    client.open_session(session);
    assert_eq!(client.history_page(session)["rows"][0]["body"], "/fail");
    let mut view = client.prompt(session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");
}

#[test]
fn a_state_directory_in_use_stays_with_its_server() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    let message = refusal(server.setup());
    assert!(message.contains("is in use by another server"), "{message}");
    assert!(message.contains("--state"), "{message}");
    client.follow_until(&mut view, "text", |view| view.text().len() > 60);
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
}

#[test]
fn a_store_of_a_newer_version_is_not_touched() {
    for file in ["sessions.db", "errors.db"] {
        let (setup, session) = used();
        let path = setup.state().join(file);
        let version = set_version(&path, NEWER);
        let before = fs::read(&path).unwrap();
        let message = refusal(&setup);
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(message.contains("was made by a newer version"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), before);
        set_version(&path, version);
        assert_intact(setup, &session);
    }
}

/// A schema version that no file has yet.
const NEWER: i64 = 1_000;

/// Sets the schema version of a file; the one before.
fn set_version(path: &Path, version: i64) -> i64 {
    let connection = Connection::open(path).unwrap();
    let before = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
    before
}

#[test]
fn a_file_that_is_no_store_of_this_server_is_not_touched() {
    let foreign = |state: &Path| {
        let connection = Connection::open(state.join("sessions.db")).unwrap();
        connection.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    };
    let no_database = |state: &Path| {
        fs::write(state.join("sessions.db"), "Dear diary, ".repeat(1_000)).unwrap();
    };
    let made: [&dyn Fn(&Path); 2] = [&foreign, &no_database];
    for make in made {
        let setup = Setup::fresh();
        fs::create_dir_all(setup.state()).unwrap();
        make(setup.state());
        let path = setup.state().join("sessions.db");
        let before = fs::read(&path).unwrap();
        let message = refusal(&setup);
        assert!(message.contains("was not made by Runwarden"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::remove_file(&path).unwrap();
        Client::connect(&setup.start()).new_session();
    }
}

#[test]
fn a_state_directory_that_is_a_file_is_refused() {
    let setup = Setup::fresh();
    fs::write(setup.state(), "a file").unwrap();
    let message = refusal(&setup);
    assert!(message.contains("is not a directory"), "{message}");
    assert_eq!(fs::read_to_string(setup.state()).unwrap(), "a file");
}

#[test]
fn a_read_only_state_directory_is_refused() {
    let (setup, session) = used();
    let home = setup.state().parent().unwrap();
    let mut reader = setup.clone();
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere, so the server runs as somebody else, from a place they may read.
        fs::set_permissions(home, fs::Permissions::from_mode(0o755)).unwrap();
        let program = home.join("runwarden");
        fs::copy(env!("CARGO_BIN_EXE_runwarden"), &program).unwrap();
        reader = reader.user(NOBODY, &program);
    }
    let set_mode = |mode| {
        fs::set_permissions(setup.state(), fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o555);
    let message = refusal(&reader);
    set_mode(0o700);
    assert!(message.contains(&setup.state().display().to_string()), "{message}");
    assert!(message.contains("cannot be written"), "{message}");
    assert_intact(setup, &session);
}

#[test]
fn a_port_in_use_is_named() {
    let server = Server::start();
    let message = refusal(&Setup::fresh().listen(server.address));
    assert!(message.contains(&format!("{} is in use", server.address)), "{message}");
    assert!(message.contains("--listen"), "{message}");
    Client::connect(&server).new_session();
}

#[test]
fn a_wrong_configuration_names_file_line_and_key() {
    for (text, line, key) in [
        ("[limits]\nruns_max = 4\nruns_most = 4\n", 3, "limits.runs_most"),
        ("\ntrusted_proxies = \"10.0.0.1\"\n", 2, "trusted_proxies"),
        ("[[agent]]\nname = \"demo\"\nkind = \"oracle\"\n", 3, "agent[0].kind"),
        ("listen = \n", 1, ""),
    ] {
        let setup = Setup::fresh().config(text);
        let message = refusal(&setup);
        let file = setup.state().join("runwarden.toml");
        assert!(message.contains(&format!("{}:{line}: ", file.display())), "{message}");
        assert!(message.contains(key), "{message}");
        assert!(!setup.state().join("sessions.db").exists());
    }
}

#[test]
fn a_damaged_token_is_told() {
    let (setup, session) = used();
    let token = setup.state().join("token");
    let kept = fs::read(&token).unwrap();
    fs::write(&token, "").unwrap();
    let message = refusal(&setup);
    assert!(message.contains("does not hold a token"), "{message}");
    fs::write(&token, kept).unwrap();
    assert_intact(setup, &session);
}

#[test]
fn an_agent_that_is_not_configured_is_told() {
    let setup = Setup::fresh().flags(&["--agent", "oracle"]);
    let message = refusal(&setup);
    assert!(message.contains("oracle"), "{message}");
    let server = Setup::fresh().flags(&["--agent", "demo"]).start();
    let mut client = Client::connect(&server);
    let refused = client.ask("create_session", json!({"agent": "oracle"}));
    assert_eq!(refused.data["code"], "backend_unavailable", "{}", refused.data);
}
