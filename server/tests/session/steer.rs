//! Hints to a running agent: read once by its run, or given back with its end.

use serde_json::{Value, json};

use crate::fake_openai::FakeOpenAi;
use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};
use crate::support::stored::Stored;

fn steer(client: &mut Client, session: &str, run: &str, text: &str) -> Value {
    let fields = json!({"session_id": session, "run_id": run, "text": text});
    client.ask("steer_run", fields).expect("steer_result")
}

/// Gives a hint that is taken; its id.
#[track_caller]
fn accepted(client: &mut Client, session: &str, run: &str, text: &str) -> String {
    let result = steer(client, session, run, text);
    assert_eq!((&result["outcome"], &result["reason"]), (&json!("accepted"), &Value::Null));
    result["steer_id"].as_str().unwrap().to_owned()
}

fn running(client: &mut Client, session: &str, prompt: &str) -> LiveView {
    let mut view = client.prompt(session, prompt);
    client.follow_until(&mut view, "a few words", |view| view.text().len() > 5);
    view
}

fn fates(view: &LiveView) -> Vec<(&str, &str)> {
    view.steers.iter().map(|(steer, fate)| (steer.as_str(), fate.as_str())).collect()
}

#[test]
fn a_hint_is_read_once_and_every_window_sees_it() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut second = Client::connect(&server);
    second.open_session(&session);
    let mut view = running(&mut first, &session, "/count");
    let one = accepted(&mut second, &session, &view.run, "faster, please");
    let two = accepted(&mut first, &session, &view.run, "stop");
    assert_eq!(first.follow(&mut view), "completed");
    assert!(view.text().contains("“faster, please”. I go on."), "{}", view.text());
    assert!(view.text().contains("I stop here."), "{}", view.text());
    assert_eq!(fates(&view), [(&*one, "consumed"), (&*two, "consumed")]);
    assert_eq!(view.terminal.as_ref().unwrap()["returned_steers"], json!([]));
    for steer in [&one, &two] {
        second.wait_for("the hint is read", |frame| frame.is("steer_settled", "steer_id", steer));
    }
    let state = first.get_stream(&session, &view.run, None).expect("stream_state");
    let read = |steer: &str| json!({"steer_id": steer, "outcome": "consumed"});
    assert_eq!(state["steers"], json!([read(&one), read(&two)]));
}

#[test]
fn what_no_agent_read_is_given_back_with_the_end() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = running(&mut client, &session, "/ask");
    let one = accepted(&mut client, &session, &view.run, "ä one");
    let two = accepted(&mut client, &session, &view.run, "two");
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    let back = json!([{"steer_id": one, "text": "ä one"}, {"steer_id": two, "text": "two"}]);
    assert_eq!(view.terminal.as_ref().unwrap()["returned_steers"], back);
    assert_eq!(fates(&view), [(&*one, "returned"), (&*two, "returned")]);
    let late = steer(&mut client, &session, &view.run, "too late");
    assert_eq!((&late["outcome"], &late["reason"]), (&json!("refused"), &json!("not_running")));
    for run in ["run_0000000000000001", "nothing"] {
        assert_eq!(steer(&mut client, &session, run, "x")["reason"], "not_running");
    }

    client.wait_idle(&session, view.ended);
    let mut next = client.prompt(&session, "never read");
    client.follow_until(&mut next, "a thought", |view| !view.text_of("thinking").is_empty());
    let three = accepted(&mut client, &session, &next.run, "three");
    assert_eq!(client.follow(&mut next), "completed");
    assert_eq!(fates(&next), [(&*three, "returned")]);
}

#[test]
fn an_agent_that_takes_no_hints_says_so_and_goes_on() {
    let fake = FakeOpenAi::start();
    let config = format!(
        "[[agent]]\nname = \"plain\"\nkind = \"openai\"\nbase_url = \"{}\"\nmodel = \"slow\"\n",
        fake.base_url()
    );
    let server = Setup::fresh().config(&config).start();
    let mut client = Client::connect(&server);
    let listed = client.ask("list_agents", json!({})).expect("agents_list");
    assert_eq!(listed["agents"][0]["capabilities"]["steer"], false);
    let session = client.new_session();
    let mut view = running(&mut client, &session, "a question");
    let refused = steer(&mut client, &session, &view.run, "shorter");
    assert_eq!(
        (&refused["outcome"], &refused["reason"]),
        (&json!("refused"), &json!("unsupported"))
    );
    let said = view.text().len();
    client.follow_until(&mut view, "more words", |view| view.text().len() > said + 20);
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    assert!(view.steers.is_empty());
}

#[test]
fn the_seventeenth_unread_hint_is_refused() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = running(&mut client, &session, "/ask");
    for _ in 0..16 {
        accepted(&mut client, &session, &view.run, "one of many");
    }
    assert_eq!(steer(&mut client, &session, &view.run, "x")["reason"], "steer_full");
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    assert_eq!(view.steers.len(), 16);
}

#[test]
fn a_killed_server_gives_back_what_it_accepted() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let view = running(&mut client, &session, "/ask");
    let steer = accepted(&mut client, &session, &view.run, "kept");
    server.kill9();
    let server = server.restart();
    let mut client = Client::connect(&server);
    client.open_session(&session);
    let state = client.get_stream(&session, &view.run, None).expect("stream_state");
    assert_eq!(state["steers"], json!([{"steer_id": steer, "outcome": "returned"}]));
    let journal = Stored::open_checked(server.state()).journal(&view.run);
    let [.., settled, terminal] = &journal[..] else { panic!("{journal:?}") };
    assert_eq!((&*settled.event, &*terminal.event), ("steer_settled", "terminal"));
    assert_eq!((&*settled.body, settled.outcome.as_deref()), ("\"kept\"", Some("returned")));
}
