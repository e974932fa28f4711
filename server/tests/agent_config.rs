//! Agents as an operator configures them.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/manual_world.rs"]
mod manual_world;

use manual_world::ManualWorld;
use runwarden::agents::{
    AGENTS_MAX, AgentConfig, AgentConfigError, Agents, LABEL_CHARS_MAX, MODEL_CHARS_MAX,
    MODELS_MAX, NAME_CHARS_MAX, build_with,
};
use serde_json::{Value, json};

fn build(configs: Value) -> Result<Agents, AgentConfigError> {
    let configs: Vec<AgentConfig> = serde_json::from_value(configs).unwrap();
    let environment = |name: &str| (name == "GOOD_KEY").then(|| "sk-1".to_owned());
    build_with(&configs, &ManualWorld::standing(), &environment)
}

fn openai(extra: Value) -> Value {
    let mut config =
        json!({"name": "a", "kind": "openai", "base_url": "http://h/v1", "model": "m"});
    for (field, value) in extra.as_object().unwrap() {
        config[field] = value.clone();
    }
    json!([config])
}

fn message(configs: Value) -> String {
    build(configs).err().unwrap().to_string()
}

#[test]
fn without_configuration_there_is_the_demo() {
    let agents = build(json!([])).unwrap();
    assert_eq!(agents.iter().count(), 1);
    let profile = agents.default_agent().profile();
    assert_eq!((profile.name.as_str(), profile.label.as_str()), ("demo", "Demo"));
    assert_eq!((profile.models.len(), profile.default_model.as_deref()), (0, None));
}

#[test]
fn agents_are_found_by_name_and_one_is_the_default() {
    let agents = build(json!([
        {"name": "first", "kind": "demo"},
        {"name": "second", "kind": "openai", "label": "Second", "base_url": "https://h/v1",
            "models": ["m", "n"], "key_env": "GOOD_KEY"},
    ]))
    .unwrap();
    assert_eq!(agents.default_agent().profile().name, "first");
    assert_eq!(agents.get("first").unwrap().profile().label, "first");
    let second = agents.get("second").unwrap().profile();
    assert_eq!((second.label.as_str(), second.models.len()), ("Second", 2));
    assert_eq!(second.default_model.as_deref(), Some("m"));
    assert!(agents.get("third").is_none());

    let other = agents.clone().with_default("second").unwrap();
    assert_eq!(other.default_agent().profile().name, "second");
    let error = agents.with_default("third").err().unwrap().to_string();
    assert_eq!(error, "no agent is named `third`; configured are: first, second");
}

#[test]
fn each_mistake_is_named_with_what_to_do() {
    let duplicate = json!([{"name": "a", "kind": "demo"}, {"name": "a", "kind": "demo"}]);
    for (configs, parts) in [
        (duplicate, ["`a`", "twice"]),
        (json!([{"name": " ", "kind": "demo"}]), ["name", "1 to 64"]),
        (json!([{"name": "a", "kind": "openai", "model": "m"}]), ["`a`", "needs `base_url`"]),
        (json!([{"name": "a", "kind": "openai", "base_url": "http://h"}]), ["`a`", "`model`"]),
        (json!([{"name": "a", "kind": "demo", "model": "m"}]), ["`model`", "remove it"]),
        (json!([{"name": "a", "kind": "demo", "cwd": "/"}]), ["`cwd`", "kind `demo`"]),
        (openai(json!({"args": ["x"]})), ["`args`", "kind `openai`"]),
        (json!([{"name": "a", "kind": "acp"}]), ["kind `acp`", "needs `command`"]),
        (json!([{"name": "a", "kind": "acp", "models": ["m"]}]), ["`models`", "kind `acp`"]),
        (json!([{"name": "a", "kind": "acp", "mode": ""}]), ["mode", "1 to 128"]),
        (openai(json!({"mode": "m"})), ["`mode`", "kind `openai`"]),
        (json!([{"name": "a", "kind": "acp", "command": "none"}]), ["agent `a`", "`none` was not"]),
        (openai(json!({"key_env": "BAD_KEY"})), ["`BAD_KEY`", "not set"]),
        (openai(json!({"base_url": "h:80"})), ["agent `a`: base_url `h:80`", "http://"]),
        (openai(json!({"models": ["n"]})), ["`m`", "`models`"]),
        (openai(json!({"models": ["m", ""]})), ["models", "1 to 128"]),
    ] {
        let message = message(configs.clone());
        assert!(parts.iter().all(|part| message.contains(part)), "{configs}: {message}");
    }
}

#[test]
fn unknown_fields_and_kinds_are_refused() {
    for (config, part) in [
        (json!({"name": "a", "kind": "demo", "modle": "m"}), "unknown field `modle`"),
        (json!({"name": "a", "kind": "other"}), "expected one of `demo`, `openai`, `acp`"),
        (json!({"kind": "demo"}), "missing field `name`"),
    ] {
        let error = serde_json::from_value::<AgentConfig>(config).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn lengths_and_counts_have_bounds() {
    let text = |characters: usize| "ä".repeat(characters);
    for (bound, config) in [
        (NAME_CHARS_MAX, &(|n| openai(json!({"name": text(n)}))) as &dyn Fn(usize) -> Value),
        (LABEL_CHARS_MAX, &|n| openai(json!({"label": text(n)}))),
        (MODEL_CHARS_MAX, &|n| openai(json!({"model": text(n)}))),
        (MODELS_MAX, &|n| openai(json!({"models": vec!["m"; n]}))),
        (AGENTS_MAX, &|n| {
            (0..n).map(|name| json!({"name": name.to_string(), "kind": "demo"})).collect()
        }),
    ] {
        assert!(build(config(bound - 1)).is_ok(), "{bound}");
        assert!(build(config(bound)).is_ok(), "{bound}");
        assert!(build(config(bound + 1)).is_err(), "{bound}");
    }
}
