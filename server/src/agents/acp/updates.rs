//! Session updates as items of the run.

use std::collections::BTreeMap;

use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::AgentEvent;
use serde_json::{Map, Value, json};

/// Most tool calls of one run that are shown.
pub const TOOL_CALLS_MAX: usize = 256;

/// Most bytes that are kept of what went into a tool, and of what came out of it.
pub const TOOL_VALUE_BYTES_MAX: usize = 65_536;

/// Most entries of a plan that are shown.
pub const PLAN_ENTRIES_MAX: usize = 64;

/// Numbers the items of one run and remembers what updates add to.
#[derive(Debug, Default)]
pub(super) struct Updates {
    items: u32,
    /// The text item that the next piece continues.
    text: Option<(u32, ItemKind)>,
    tools: BTreeMap<String, Tool>,
    plan: Option<u32>,
}

#[derive(Debug)]
struct Tool {
    item: u32,
    value: Map<String, Value>,
}

impl Updates {
    /// What an update shows; `None` for kinds that show nothing.
    pub(super) fn read(&mut self, update: &Value) -> Option<AgentEvent> {
        match update["sessionUpdate"].as_str()? {
            "agent_message_chunk" => self.text(ItemKind::Text, &update["content"]),
            "agent_thought_chunk" => self.text(ItemKind::Thinking, &update["content"]),
            "tool_call" | "tool_call_update" => self.tool(update),
            "plan" => self.plan(&update["entries"]),
            _ => None,
        }
    }

    /// The tool call of a permission request, shown as far as it is known.
    pub(super) fn tool(&mut self, call: &Value) -> Option<AgentEvent> {
        let id = call["toolCallId"].as_str()?;
        if !self.tools.contains_key(id) {
            if self.tools.len() >= TOOL_CALLS_MAX {
                tracing::warn!("an agent made more tool calls in one run than are shown");
                return None;
            }
            let item = self.next_item();
            let value = Map::from_iter([
                ("name".to_owned(), json!("tool")),
                ("status".to_owned(), json!("running")),
            ]);
            self.tools.insert(id.to_owned(), Tool { item, value });
        }
        self.text = None;
        let tool = self.tools.get_mut(id).expect("it was put there if it was not");
        tool.merge(call);
        let value = Value::Object(tool.value.clone());
        Some(AgentEvent::Update { item: tool.item, kind: ItemKind::Tool, value })
    }

    /// A line of the server about this run.
    pub(super) fn notice(&mut self, text: &str) -> AgentEvent {
        let (item, value) = (self.next_item(), json!({"text": text}));
        AgentEvent::Update { item, kind: ItemKind::Notice, value }
    }

    fn text(&mut self, kind: ItemKind, content: &Value) -> Option<AgentEvent> {
        let text = content_text(content);
        if text.is_empty() {
            return None;
        }
        let item = match self.text {
            Some((item, known)) if known == kind => item,
            _ => self.next_item(),
        };
        self.text = Some((item, kind));
        Some(AgentEvent::Text { item, kind, text })
    }

    fn plan(&mut self, entries: &Value) -> Option<AgentEvent> {
        let entries: Vec<Value> =
            entries.as_array()?.iter().take(PLAN_ENTRIES_MAX).map(plan_entry).collect();
        let item = match self.plan {
            Some(item) => item,
            None => self.next_item(),
        };
        self.plan = Some(item);
        self.text = None;
        let value = json!({"text": plan_line(&entries), "plan": entries});
        Some(AgentEvent::Update { item, kind: ItemKind::Notice, value })
    }

    fn next_item(&mut self) -> u32 {
        self.items = self.items.saturating_add(1);
        self.items
    }
}

impl Tool {
    fn merge(&mut self, call: &Value) {
        let text = |field: &str| call[field].as_str().filter(|text| !text.is_empty());
        if let Some(name) = text("name").or(text("kind")) {
            self.set("name", json!(name));
        }
        if let Some(title) = text("title") {
            self.set("summary", json!(title));
        }
        let status = match call["status"].as_str() {
            Some("pending" | "in_progress") => Some("running"),
            Some("completed") => Some("done"),
            Some("failed") => Some("failed"),
            Some(_) | None => None,
        };
        if let Some(status) = status {
            self.set("status", json!(status));
        }
        if let Some(input) = call.get("rawInput").filter(|input| !input.is_null()) {
            self.set("input", input.clone());
        }
        let output =
            call.get("content").and_then(Value::as_array).and_then(|content| output(content));
        let output = output.or_else(|| call.get("rawOutput").cloned());
        if let Some(output) = output.filter(|output| !output.is_null()) {
            self.set("output", output);
        }
    }

    fn set(&mut self, field: &str, value: Value) {
        self.value.insert(field.to_owned(), bounded(value));
    }
}

/// The text of a content block, or what stands for it.
fn content_text(content: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match content["type"].as_str() {
        Some("text") => text(&content["text"]),
        Some("resource_link") => format!("[{}]({})", text(&content["name"]), text(&content["uri"])),
        Some("resource") => text(&content["resource"]["text"]),
        Some(kind @ ("image" | "audio")) => format!("[{kind}]"),
        Some(_) | None => String::new(),
    }
}

/// Text alone becomes text; with anything else among it the blocks stay apart.
fn output(content: &[Value]) -> Option<Value> {
    let blocks: Vec<Value> = content.iter().filter_map(block).collect();
    if blocks.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(Value::as_str).collect();
    Some(texts.map_or_else(|| json!(blocks), |texts| json!(texts.join("\n"))))
}

fn block(content: &Value) -> Option<Value> {
    match content["type"].as_str()? {
        "content" => Some(json!(content_text(&content["content"]))),
        "diff" => Some(json!({
            "path": content["path"], "old": content["oldText"], "new": content["newText"],
        })),
        _ => None,
    }
}

fn plan_entry(entry: &Value) -> Value {
    let text = |field: &str| bounded(json!(entry[field].as_str().unwrap_or_default()));
    json!({"content": text("content"), "status": text("status"), "priority": text("priority")})
}

fn plan_line(entries: &[Value]) -> String {
    let done = entries.iter().filter(|entry| entry["status"] == "completed").count();
    let now = entries.iter().find(|entry| entry["status"] == "in_progress");
    let now = now.and_then(|entry| entry["content"].as_str());
    let now = now.map(|content| format!("; now: {content}")).unwrap_or_default();
    format!("Plan: {done} of {} done{now}", entries.len())
}

/// The value, or the beginning of its text when it is too long to be kept.
fn bounded(value: Value) -> Value {
    let text = match &value {
        Value::String(text) if text.len() > TOOL_VALUE_BYTES_MAX => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= TOOL_VALUE_BYTES_MAX {
                return value;
            }
            text
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => return value,
    };
    let cut = text.floor_char_boundary(TOOL_VALUE_BYTES_MAX - '…'.len_utf8());
    json!(format!("{}…", &text[..cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(updates: &mut Updates, update: Value) -> (u32, ItemKind, Value) {
        match updates.read(&update).unwrap() {
            AgentEvent::Text { item, kind, text } => (item, kind, json!(text)),
            AgentEvent::Update { item, kind, value } => (item, kind, value),
            other => panic!("{other:?}"),
        }
    }

    fn said(kind: &str, text: &str) -> Value {
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn pieces_of_one_kind_are_one_item_until_something_else_comes() {
        let mut updates = Updates::default();
        let numbers: Vec<u32> = [
            said("agent_thought_chunk", "a"),
            said("agent_thought_chunk", "b"),
            said("agent_message_chunk", "c"),
            json!({"sessionUpdate": "tool_call", "toolCallId": "t"}),
            said("agent_message_chunk", "d"),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t"}),
        ]
        .into_iter()
        .map(|update| shown(&mut updates, update).0)
        .collect();
        assert_eq!(numbers, [1, 1, 2, 3, 4, 3]);
    }

    #[test]
    fn a_tool_keeps_what_later_updates_do_not_mention() {
        let mut updates = Updates::default();
        let (_, kind, first) = shown(
            &mut updates,
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Reads a",
                "kind": "read", "status": "pending", "rawInput": {"path": "a"}}),
        );
        assert_eq!(kind, ItemKind::Tool);
        let input = json!({"path": "a"});
        assert_eq!(
            first,
            json!({"name": "read", "status": "running", "summary": "Reads a", "input": input})
        );
        let (_, _, last) = shown(
            &mut updates,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "hello"}}]}),
        );
        assert_eq!(
            last,
            json!({"name": "read", "status": "done", "summary": "Reads a", "input": input,
                "output": "hello"})
        );
    }

    #[test]
    fn a_diff_stays_a_diff() {
        let diff = json!({"type": "diff", "path": "/a", "oldText": "x", "newText": "y"});
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "content": [diff]});
        let (_, _, value) = shown(&mut Updates::default(), call);
        assert_eq!(value["output"], json!([{"path": "/a", "old": "x", "new": "y"}]));
    }

    #[test]
    fn a_plan_is_one_item_and_says_how_far_it_is() {
        let mut updates = Updates::default();
        let plan = |status: &str| {
            json!({"sessionUpdate": "plan", "entries": [
                {"content": "one", "status": "completed", "priority": "high"},
                {"content": "two", "status": status},
            ]})
        };
        let (first, kind, value) = shown(&mut updates, plan("in_progress"));
        assert_eq!(
            (kind, value["text"].as_str()),
            (ItemKind::Notice, Some("Plan: 1 of 2 done; now: two"))
        );
        let (second, _, value) = shown(&mut updates, plan("completed"));
        assert_eq!((first, value["text"].as_str()), (second, Some("Plan: 2 of 2 done")));
    }

    #[test]
    fn what_is_unknown_or_empty_shows_nothing() {
        for update in [
            json!(null),
            json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}),
            json!({"sessionUpdate": "tool_call"}),
            json!({"sessionUpdate": "plan", "entries": 3}),
            said("agent_message_chunk", ""),
            said("user_message_chunk", "hi"),
            json!({"sessionUpdate": "agent_message_chunk", "content": "text"}),
        ] {
            assert!(Updates::default().read(&update).is_none(), "{update}");
        }
    }

    #[test]
    fn tool_calls_their_values_and_plans_have_bounds() {
        let mut updates = Updates::default();
        for number in 0..=TOOL_CALLS_MAX {
            let call = json!({"sessionUpdate": "tool_call", "toolCallId": number.to_string()});
            assert_eq!(updates.read(&call).is_some(), number < TOOL_CALLS_MAX, "{number}");
        }
        for (bytes, is_cut) in [(-1_isize, false), (0, false), (1, true)] {
            let bytes = TOOL_VALUE_BYTES_MAX.checked_add_signed(bytes).unwrap();
            let text = bounded(json!("x".repeat(bytes)));
            assert_eq!(text.as_str().unwrap().ends_with('…'), is_cut, "{bytes}");
            assert!(text.as_str().unwrap().len() <= TOOL_VALUE_BYTES_MAX);
            let list = bounded(json!(["x".repeat(bytes - 4)]));
            assert_eq!(list.is_string(), is_cut, "{bytes}");
        }
        for (count, shown_entries) in [
            (PLAN_ENTRIES_MAX - 1, PLAN_ENTRIES_MAX - 1),
            (PLAN_ENTRIES_MAX, PLAN_ENTRIES_MAX),
            (PLAN_ENTRIES_MAX + 1, PLAN_ENTRIES_MAX),
        ] {
            let plan = json!({"sessionUpdate": "plan", "entries": vec![json!({}); count]});
            let (_, _, value) = shown(&mut updates, plan);
            assert_eq!(value["plan"].as_array().unwrap().len(), shown_entries);
        }
    }
}
