//! Session updates as items of the run.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, PlanEntry, SessionUpdate, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::AgentEvent;
use serde_json::{Map, Value, json};

use super::message;
use super::offer::Offer;

/// Most tool calls of one run that are shown.
pub const TOOL_CALLS_MAX: usize = 256;

/// Most bytes that are kept of what went into a tool, of what came out of it, and of the name of a mode.
pub const TOOL_VALUE_BYTES_MAX: usize = 65_536;

/// Most entries of a plan that are shown.
pub const PLAN_ENTRIES_MAX: usize = 64;

/// Numbers the items of one run and remembers what updates add to.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// What can be chosen; updates say what is in force.
    pub(super) offer: Offer,
    items: u32,
    /// The text item that the next piece continues.
    text: Option<(u32, ItemKind)>,
    tools: BTreeMap<String, Tool>,
    plan: Option<u32>,
    mode: Option<u32>,
}

#[derive(Debug)]
struct Tool {
    item: u32,
    value: Map<String, Value>,
}

impl Updates {
    /// The items of a run in a session with this offer.
    pub(super) fn new(offer: Offer) -> Self {
        Self { offer, ..Self::default() }
    }

    /// What an update shows; `None` for kinds that show nothing and for what cannot be read.
    pub(super) fn read(&mut self, update: &Value) -> Option<AgentEvent> {
        // Both have the same fields, and an agent may leave out any but the id.
        if let "tool_call" | "tool_call_update" = update["sessionUpdate"].as_str()? {
            return self.tool(update);
        }
        match message::typed(update)? {
            SessionUpdate::AgentMessageChunk(chunk) => self.text(ItemKind::Text, &chunk.content),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.text(ItemKind::Thinking, &chunk.content)
            }
            SessionUpdate::Plan(plan) => self.plan(&plan.entries),
            SessionUpdate::CurrentModeUpdate(update) => {
                let is_new = self.offer.take_mode(&update.current_mode_id.0);
                is_new.then(|| self.mode())?
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                let is_new = self.offer.take_options(&update.config_options);
                is_new.then(|| self.mode())?
            }
            // What it costs is left out: the currency is the agent's own.
            SessionUpdate::UsageUpdate(update) => Some(AgentEvent::Usage(Usage {
                context_used: Some(update.used),
                context_max: Some(update.size),
                ..Usage::UNKNOWN
            })),
            _ => None,
        }
    }

    /// The tool call of an update or of a permission request, shown as far as it is known.
    pub(super) fn tool(&mut self, call: &Value) -> Option<AgentEvent> {
        let ToolCallUpdate { tool_call_id, fields, .. } = message::typed(call)?;
        let id: &str = &tool_call_id.0;
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
        tool.merge(fields);
        let value = Value::Object(tool.value.clone());
        Some(AgentEvent::Update { item: tool.item, kind: ItemKind::Tool, value })
    }

    /// A line of the server about this run.
    pub(super) fn notice(&mut self, text: &str) -> AgentEvent {
        let (item, value) = (self.next_item(), json!({"text": text}));
        AgentEvent::Update { item, kind: ItemKind::Notice, value }
    }

    fn text(&mut self, kind: ItemKind, content: &ContentBlock) -> Option<AgentEvent> {
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

    fn plan(&mut self, entries: &[PlanEntry]) -> Option<AgentEvent> {
        if entries.is_empty() && self.plan.is_none() {
            return None;
        }
        let entries: Vec<Value> = entries.iter().take(PLAN_ENTRIES_MAX).map(plan_entry).collect();
        let item = match self.plan {
            Some(item) => item,
            None => self.next_item(),
        };
        self.plan = Some(item);
        self.text = None;
        let value = json!({"text": plan_line(&entries), "plan": entries});
        Some(AgentEvent::Update { item, kind: ItemKind::Notice, value })
    }

    /// The mode in force, as one item of the run.
    fn mode(&mut self) -> Option<AgentEvent> {
        let modes = self.offer.modes.as_ref()?;
        let (id, name) = (bounded(json!(modes.current)), bounded(json!(modes.current_name())));
        let item = match self.mode {
            Some(item) => item,
            None => self.next_item(),
        };
        self.mode = Some(item);
        self.text = None;
        let text = format!("Mode: {}", name.as_str().unwrap_or_default());
        let value = json!({"text": text, "mode": {"id": id, "name": name}});
        Some(AgentEvent::Update { item, kind: ItemKind::Notice, value })
    }

    fn next_item(&mut self) -> u32 {
        self.items = self.items.saturating_add(1);
        self.items
    }
}

impl Tool {
    fn merge(&mut self, fields: ToolCallUpdateFields) {
        let kind = fields.kind.filter(|kind| *kind != ToolKind::Other).map(|kind| json!(kind));
        let name = fields.name.filter(|name| !name.is_empty()).map(Value::from);
        if let Some(name) = name.or(kind) {
            self.set("name", name);
        }
        if let Some(title) = fields.title.filter(|title| !title.is_empty()) {
            self.set("summary", json!(title));
        }
        let status = match fields.status {
            Some(ToolCallStatus::Pending | ToolCallStatus::InProgress) => Some("running"),
            Some(ToolCallStatus::Completed) => Some("done"),
            Some(ToolCallStatus::Failed) => Some("failed"),
            _ => None,
        };
        if let Some(status) = status {
            self.set("status", json!(status));
        }
        if let Some(input) = fields.raw_input {
            self.set("input", input);
        }
        let content = fields.content.and_then(|content| output(&content));
        if let Some(output) = content.or(fields.raw_output) {
            self.set("output", output);
        }
    }

    fn set(&mut self, field: &str, value: Value) {
        self.value.insert(field.to_owned(), bounded(value));
    }
}

/// The text of a content block, or what stands for it.
fn content_text(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            EmbeddedResourceResource::TextResourceContents(resource) => resource.text.clone(),
            _ => String::new(),
        },
        ContentBlock::Image(_) => "[image]".to_owned(),
        ContentBlock::Audio(_) => "[audio]".to_owned(),
        _ => String::new(),
    }
}

/// Text alone becomes text; with anything else among it the blocks stay apart.
fn output(content: &[ToolCallContent]) -> Option<Value> {
    let blocks: Vec<Value> = content.iter().filter_map(block).collect();
    if blocks.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(Value::as_str).collect();
    Some(texts.map_or_else(|| json!(blocks), |texts| json!(texts.join("\n"))))
}

fn block(content: &ToolCallContent) -> Option<Value> {
    match content {
        ToolCallContent::Content(content) => Some(json!(content_text(&content.content))),
        ToolCallContent::Diff(diff) => {
            let path = diff.path.to_string_lossy();
            Some(json!({"path": path, "old": diff.old_text, "new": diff.new_text}))
        }
        _ => None,
    }
}

fn plan_entry(entry: &PlanEntry) -> Value {
    let content = bounded(json!(entry.content));
    json!({"content": content, "status": entry.status, "priority": entry.priority})
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
                {"content": "two", "status": status, "priority": "low"},
                {"content": "not an entry"},
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
    fn the_mode_is_one_item_and_shown_when_it_changes() {
        let modes = json!([{"id": "plan", "name": "Plan"}, {"id": "code", "name": "Code"}]);
        let modes = json!({"modes": {"currentModeId": "code", "availableModes": modes}});
        let mut updates = Updates::new(Offer::read(&modes));
        let to = |id: &str| json!({"sessionUpdate": "current_mode_update", "currentModeId": id});
        assert!(updates.read(&to("code")).is_none());
        let (first, kind, value) = shown(&mut updates, to("plan"));
        let plan = json!({"text": "Mode: Plan", "mode": {"id": "plan", "name": "Plan"}});
        assert_eq!((kind, value), (ItemKind::Notice, plan));
        let (second, _, value) = shown(&mut updates, to("own"));
        assert_eq!((second, value["text"].as_str()), (first, Some("Mode: own")));
    }

    #[test]
    fn what_is_unknown_or_empty_shows_nothing() {
        for update in [
            json!(null),
            json!({"sessionUpdate": "current_mode_update", "currentModeId": 3}),
            json!({"sessionUpdate": "from_a_later_version", "content": "text"}),
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
            let entry = json!({"content": "a", "status": "pending", "priority": "low"});
            let plan = json!({"sessionUpdate": "plan", "entries": vec![entry; count]});
            let (_, _, value) = shown(&mut updates, plan);
            assert_eq!(value["plan"].as_array().unwrap().len(), shown_entries);
        }
    }
}
