//! Which agent and model a session uses, its title, and where it is listed.

use serde_json::{Value, json};

use crate::fake_openai::{ANSWER, FakeOpenAi};
use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};

/// A server with the demo agent and one that offers two models; the default of the latter is its first.
fn serve(fake: &FakeOpenAi) -> Server {
    let base_url = fake.base_url();
    let config = format!(
        "[[agent]]\nname = \"demo\"\nkind = \"demo\"\nlabel = \"Demo\"\n\n\
         [[agent]]\nname = \"models\"\nkind = \"openai\"\nbase_url = \"{base_url}\"\n\
         models = [\"usage\", \"ok\"]\n"
    );
    Setup::fresh().config(&config).start()
}

fn update(client: &mut Client, session: &str, fields: Value) -> Result<Value, Value> {
    let mut fields = fields;
    fields["session_id"] = json!(session);
    let reply = client.ask("update_session", fields);
    match reply.kind.as_str() {
        "session_updated" => Ok(reply.data),
        _ => Err(reply.expect("message_refused")),
    }
}

fn turn(client: &mut Client, session: &str, prompt: &str) -> (Value, LiveView) {
    let ack = client.try_prompt(session, prompt).expect("message_ack");
    let mut view = LiveView::of(ack["run_id"].as_str().unwrap());
    assert_eq!(client.follow(&mut view), "completed");
    client.wait_idle(session, view.ended);
    (ack, view)
}

/// Agent and model of each answer row.
fn shown(client: &mut Client, session: &str) -> Value {
    let page = client.history_page(session);
    let answers = page["rows"].as_array().unwrap().iter();
    let answers = answers.filter(|row| row["role"] == "assistant");
    json!(answers.map(|row| json!([row["agent"], row["model"]])).collect::<Vec<_>>())
}

#[test]
fn agents_are_listed_with_what_they_can_do() {
    let fake = FakeOpenAi::start();
    let server = serve(&fake);
    let mut client = Client::connect(&server);
    let listed = client.ask("list_agents", json!({})).expect("agents_list");
    let agents = listed["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2);
    assert_eq!((&agents[0]["agent"], &agents[0]["label"]), (&json!("demo"), &json!("Demo")));
    assert_eq!((&agents[0]["models"], &agents[0]["default_model"]), (&json!([]), &Value::Null));
    assert_eq!(agents[1]["models"], json!(["usage", "ok"]));
    assert_eq!(agents[1]["default_model"], "usage");
    for agent in agents {
        assert_eq!((&agent["context"], &agent["available"]), (&json!("transcript"), &json!(true)));
        for capability in ["steer", "attachments", "resume"] {
            assert!(agent["capabilities"][capability].is_boolean(), "{agent}");
        }
        assert_eq!(agent["capabilities"]["steer"], agent["agent"] == "demo");
    }
}

#[test]
fn a_session_is_made_with_an_agent_and_a_model_that_exist() {
    let fake = FakeOpenAi::start();
    let server = serve(&fake);
    let mut client = Client::connect(&server);
    for (fields, agent, model) in [
        (json!({}), "demo", Value::Null),
        (json!({"agent": "models"}), "models", Value::Null),
        (json!({"agent": "models", "model": "ok"}), "models", json!("ok")),
    ] {
        let created = client.ask("create_session", fields).expect("session_created");
        assert_eq!((&created["agent"], &created["model"]), (&json!(agent), &model));
    }
    for wrong in [
        json!({"agent": "nobody"}),
        json!({"model": "ok"}),
        json!({"agent": "models", "model": "nothing"}),
    ] {
        let refused = client.ask("create_session", wrong).expect("message_refused");
        assert_eq!(refused["code"], "backend_unavailable");
    }
    let session = client.create_session();
    for wrong in [json!({"agent": "nobody"}), json!({"model": "ok"})] {
        let refused = update(&mut client, &session, wrong).unwrap_err();
        assert_eq!(refused["code"], "backend_unavailable");
    }
    let refused = update(&mut client, &session, json!({"shared": true})).unwrap_err();
    assert_eq!(refused["code"], "invalid_request");
    let nothing = update(&mut client, &session, json!({"shared": false})).unwrap();
    assert_eq!(nothing["session_revision"], 1);
    let absent = update(&mut client, "ses_0000000000000001", json!({"title": "x"})).unwrap_err();
    assert_eq!(absent["code"], "session_unknown");
}

#[test]
fn a_later_choice_changes_no_earlier_row() {
    let fake = FakeOpenAi::start();
    let server = serve(&fake);
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (ack, _) = turn(&mut client, &session, "hello");
    assert_eq!((&ack["agent"], &ack["model"]), (&json!("demo"), &Value::Null));

    update(&mut client, &session, json!({"agent": "models"})).unwrap();
    let (ack, view) = turn(&mut client, &session, "hello");
    assert_eq!((&ack["agent"], &ack["model"]), (&json!("models"), &json!("usage")));
    assert_eq!(view.text(), ANSWER);
    let used = view.terminal.as_ref().unwrap()["usage"].clone();
    assert!(used["input"].as_u64() > Some(0), "{used}");

    update(&mut client, &session, json!({"model": "ok"})).unwrap();
    let (ack, _) = turn(&mut client, &session, "hello");
    assert_eq!(ack["model"], "ok");
    update(&mut client, &session, json!({"agent": "demo"})).unwrap();
    let manifest = client.open_session(&session);
    assert_eq!((&manifest["agent"], &manifest["model"]), (&json!("demo"), &Value::Null));

    let expected = json!([["demo", null], ["models", "usage"], ["models", "ok"]]);
    assert_eq!(shown(&mut client, &session), expected);
    let server = server.restart();
    let mut client = Client::connect(&server);
    assert_eq!(shown(&mut client, &session), expected);
    let rows = client.history_page(&session)["rows"].clone();
    assert_eq!(rows[3]["usage"], used, "{rows}");
    let item =
        client.ask("list_sessions", json!({})).expect("sessions_list")["sessions"][0].clone();
    let sum = |field: &str| -> u64 {
        let rows = rows.as_array().unwrap().iter();
        rows.filter_map(|row| row["usage"][field].as_u64()).sum()
    };
    for field in ["input", "output"] {
        assert_eq!(item["usage"][field], sum(field), "{field}");
    }
}

#[test]
fn agent_and_model_stay_while_a_run_goes_on_and_a_title_does_not() {
    let fake = FakeOpenAi::start();
    let server = serve(&fake);
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    for fields in [json!({"agent": "models"}), json!({"title": "x", "agent": "models"})] {
        let refused = update(&mut client, &session, fields).unwrap_err();
        assert_eq!(
            (&refused["code"], &refused["run_id"]),
            (&json!("session_busy"), &json!(view.run))
        );
        assert_eq!(refused["attachable"], true);
        assert_eq!(refused["action"], "update_session");
    }
    let named = update(&mut client, &session, json!({"title": "While it runs"})).unwrap();
    let pushed = client.wait_for("the title", |frame| {
        frame.is("session_item", "session_id", &session)
            && frame.data["item"]["title"] == "While it runs"
    });
    assert_eq!(pushed.data["item"]["session_revision"], named["session_revision"]);
    assert_eq!(pushed.data["item"]["agent"], "demo");
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_idle(&session, view.ended);
    update(&mut client, &session, json!({"agent": "models"})).unwrap();
    assert_eq!(client.open_session(&session)["title"], "While it runs");
}

#[test]
fn a_change_reaches_every_window_and_takes_effect_once() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let mut other = Client::connect(&server);
    let session = client.new_session();
    let fields = json!({"title": "Once", "archived": true, "idempotency_key": "k1"});
    let done = update(&mut client, &session, fields.clone()).unwrap();
    for window in [&mut client, &mut other] {
        let pushed = window.wait_for("the change", |frame| {
            frame.is("session_item", "session_id", &session)
                && frame.data["item"]["archived"] == true
        });
        assert_eq!(pushed.data["item"]["title"], "Once");
        assert_eq!(pushed.data["item"]["session_revision"], done["session_revision"]);
    }
    let listed = |client: &mut Client, archived: bool| {
        let list = client.ask("list_sessions", json!({"archived": archived}));
        list.expect("sessions_list")["sessions"].as_array().unwrap().len()
    };
    assert_eq!((listed(&mut client, false), listed(&mut client, true)), (0, 1));
    let revision = |data: &Value| data["session_revision"].clone();
    let again = update(&mut other, &session, fields.clone()).unwrap();
    assert_eq!(revision(&again), revision(&done));
    let changed = json!({"title": "Twice", "idempotency_key": "k1"});
    assert_eq!(update(&mut other, &session, changed).unwrap_err()["code"], "idempotency_conflict");

    let server = server.restart();
    let mut client = Client::connect(&server);
    update(&mut client, &session, json!({"title": "Later"})).unwrap();
    let again = update(&mut client, &session, fields).unwrap();
    assert_eq!(revision(&again), revision(&done));
    assert_eq!(client.open_session(&session)["title"], "Later");
}
