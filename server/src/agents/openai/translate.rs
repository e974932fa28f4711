//! Turns the deltas of a stream into events of the agent port.

use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::AgentEvent;
use serde_json::{Value, json};

use super::wire::{Chunk, Delta, ToolCallDelta, UsageCount};

/// Most tool calls of one answer.
pub(super) const TOOL_CALLS_MAX: usize = 64;

/// Most bytes of a tool call's name and arguments together.
pub(super) const TOOL_CALL_BYTES_MAX: usize = 64 << 10;

/// Why a chunk that is valid JSON cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TranslateError {
    #[error("the answer requests more than {TOOL_CALLS_MAX} tool calls")]
    TooManyToolCalls,
    #[error("a tool call is longer than {TOOL_CALL_BYTES_MAX} bytes")]
    ToolCallTooLong,
}

/// Numbers the items of one answer and joins what belongs together.
#[derive(Debug, Default)]
pub(super) struct Translator {
    items: u32,
    /// The text item that grows now.
    open: Option<(u32, ItemKind)>,
    tool_calls: Vec<ToolCall>,
}

#[derive(Debug)]
struct ToolCall {
    index: u32,
    item: u32,
    name: String,
    arguments: String,
}

impl Translator {
    /// Adds what the chunk says to `events`.
    ///
    /// # Errors
    /// [`TranslateError`] when a bound is passed.
    pub(super) fn take(
        &mut self,
        chunk: Chunk,
        events: &mut Vec<AgentEvent>,
    ) -> Result<(), TranslateError> {
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.unwrap_or(0) != 0 {
                continue;
            }
            self.take_delta(choice.delta.unwrap_or_default(), events)?;
            if let Some(reason) = choice.finish_reason {
                self.take_finish(&reason, events);
            }
        }
        if let Some(count) = chunk.usage {
            events.push(AgentEvent::Usage(usage(count)));
        }
        Ok(())
    }

    fn take_delta(
        &mut self,
        delta: Delta,
        events: &mut Vec<AgentEvent>,
    ) -> Result<(), TranslateError> {
        // An endpoint that fills both fields says the same thing twice.
        let reasoning = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        self.take_text(ItemKind::Thinking, reasoning, events);
        self.take_text(ItemKind::Text, delta.content, events);
        self.take_text(ItemKind::Text, delta.refusal, events);
        for call in delta.tool_calls.unwrap_or_default() {
            self.take_tool_call(call, events)?;
        }
        Ok(())
    }

    fn take_text(&mut self, kind: ItemKind, text: Option<String>, events: &mut Vec<AgentEvent>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let item = match self.open {
            Some((item, open_kind)) if open_kind == kind => item,
            Some(_) | None => self.new_item(),
        };
        self.open = Some((item, kind));
        events.push(AgentEvent::Text { item, kind, text });
    }

    fn take_tool_call(
        &mut self,
        delta: ToolCallDelta,
        events: &mut Vec<AgentEvent>,
    ) -> Result<(), TranslateError> {
        let index = delta.index.unwrap_or(0);
        let function = delta.function.unwrap_or_default();
        let position = match self.tool_calls.iter().position(|call| call.index == index) {
            Some(position) => position,
            None if self.tool_calls.len() == TOOL_CALLS_MAX => {
                return Err(TranslateError::TooManyToolCalls);
            }
            None => {
                let item = self.new_item();
                self.open = None;
                let (name, arguments) = Default::default();
                self.tool_calls.push(ToolCall { index, item, name, arguments });
                self.tool_calls.len() - 1
            }
        };
        let call = &mut self.tool_calls[position];
        let was_named = !call.name.is_empty();
        call.name.push_str(&function.name.unwrap_or_default());
        call.arguments.push_str(&function.arguments.unwrap_or_default());
        if call.name.len() + call.arguments.len() > TOOL_CALL_BYTES_MAX {
            return Err(TranslateError::ToolCallTooLong);
        }
        // The value travels whole each time: show it when it is named, then once more at the end.
        if !was_named && !call.name.is_empty() {
            events.push(call.update());
        }
        Ok(())
    }

    fn take_finish(&mut self, reason: &str, events: &mut Vec<AgentEvent>) {
        events.extend(self.tool_calls.iter().map(ToolCall::update));
        let text = match reason {
            "length" => "The answer is cut: the model reached its limit of output.",
            "content_filter" => "The answer is cut: the provider's content filter stopped it.",
            _ => return,
        };
        let item = self.new_item();
        self.open = None;
        let value = json!({"code": reason, "text": text});
        events.push(AgentEvent::Update { item, kind: ItemKind::Notice, value });
    }

    fn new_item(&mut self) -> u32 {
        self.items = self.items.saturating_add(1);
        self.items
    }
}

impl ToolCall {
    /// This server offers no tools, so a call stays a request.
    fn update(&self) -> AgentEvent {
        let input = serde_json::from_str(&self.arguments)
            .unwrap_or_else(|_| Value::String(self.arguments.clone()));
        let value = json!({"name": self.name, "status": "requested", "input": input});
        AgentEvent::Update { item: self.item, kind: ItemKind::Tool, value }
    }
}

fn usage(count: UsageCount) -> Usage {
    Usage {
        input: count.prompt_tokens,
        output: count.completion_tokens,
        cached: count.prompt_tokens_details.and_then(|details| details.cached_tokens),
        ..Usage::UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::record::canonical_json;

    use super::*;

    fn take_all(chunks: &[Value]) -> Result<Vec<String>, TranslateError> {
        let mut translator = Translator::default();
        let mut events = Vec::new();
        for chunk in chunks {
            translator.take(serde_json::from_value(chunk.clone()).unwrap(), &mut events)?;
        }
        Ok(events.iter().map(show).collect())
    }

    fn show(event: &AgentEvent) -> String {
        match event {
            AgentEvent::Text { item, kind, text } => format!("{item} {} {text}", kind.as_str()),
            AgentEvent::Update { item, kind, value } => {
                format!("{item} {} {}", kind.as_str(), canonical_json(value))
            }
            AgentEvent::Usage(usage) => {
                format!("usage {:?} {:?} {:?}", usage.input, usage.output, usage.cached)
            }
            AgentEvent::Question { .. } => "question".into(),
            AgentEvent::SteerWanted { .. } | AgentEvent::SteerRead { .. } => "steer".into(),
        }
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    #[test]
    fn empty_deltas_make_no_item() {
        let chunks = [
            delta(json!({"role": "assistant", "content": null})),
            delta(json!({"role": "assistant"})),
            delta(json!({"content": "", "reasoning": ""})),
            json!({"choices": [{"delta": null, "finish_reason": "stop"}]}),
            json!({"choices": []}),
            json!({}),
        ];
        assert_eq!(take_all(&chunks).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn text_of_one_kind_grows_one_item() {
        let chunks = [
            delta(json!({"reasoning_content": "a", "reasoning": "a"})),
            delta(json!({"reasoning_content": "", "reasoning": "b"})),
            delta(json!({"content": "c"})),
            delta(json!({"content": "d"})),
            delta(json!({"reasoning": "e"})),
            json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
        ];
        let expected = ["1 thinking a", "1 thinking b", "2 text c", "2 text d", "3 thinking e"];
        assert_eq!(take_all(&chunks).unwrap(), expected);
    }

    #[test]
    fn tool_calls_are_shown_as_requested_first_and_whole() {
        let call = |index: u32, function: Value| {
            delta(json!({"tool_calls": [{"index": index, "function": function}]}))
        };
        let chunks = [
            call(0, json!({"name": "look", "arguments": ""})),
            call(0, json!({"arguments": "{\"a\""})),
            call(1, json!({"name": "go", "arguments": "not json"})),
            call(0, json!({"arguments": ":1}"})),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ];
        let expected = [
            r#"1 tool {"input":"","name":"look","status":"requested"}"#,
            r#"2 tool {"input":"not json","name":"go","status":"requested"}"#,
            r#"1 tool {"input":{"a":1},"name":"look","status":"requested"}"#,
            r#"2 tool {"input":"not json","name":"go","status":"requested"}"#,
        ];
        assert_eq!(take_all(&chunks).unwrap(), expected);
    }

    #[test]
    fn tool_calls_have_bounds() {
        let calls = |count: usize| {
            let calls: Vec<Value> = (0..count)
                .map(|index| json!({"index": index, "function": {"name": "n"}}))
                .collect();
            delta(json!({"tool_calls": calls}))
        };
        for count in [TOOL_CALLS_MAX - 1, TOOL_CALLS_MAX] {
            assert_eq!(take_all(&[calls(count)]).unwrap().len(), count);
        }
        let too_many = take_all(&[calls(TOOL_CALLS_MAX + 1)]);
        assert_eq!(too_many, Err(TranslateError::TooManyToolCalls));

        let long = |bytes: usize| {
            let function = json!({"name": "n", "arguments": "x".repeat(bytes - 1)});
            delta(json!({"tool_calls": [{"index": 0, "function": function}]}))
        };
        for bytes in [TOOL_CALL_BYTES_MAX - 1, TOOL_CALL_BYTES_MAX] {
            assert!(take_all(&[long(bytes)]).is_ok());
        }
        let too_long = take_all(&[long(TOOL_CALL_BYTES_MAX + 1)]);
        assert_eq!(too_long, Err(TranslateError::ToolCallTooLong));
    }

    #[test]
    fn a_cut_answer_gets_a_notice() {
        for reason in ["length", "content_filter"] {
            let chunks = [
                delta(json!({"content": "a"})),
                json!({"choices": [{"delta": {}, "finish_reason": reason}]}),
            ];
            let events = take_all(&chunks).unwrap();
            assert!(
                events[1].starts_with(&format!("2 notice {{\"code\":\"{reason}\"")),
                "{events:?}"
            );
        }
    }

    #[test]
    fn usage_comes_with_or_without_choices() {
        let count = json!({"prompt_tokens": 3, "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 2}});
        let chunks = [
            json!({"choices": [], "usage": count}),
            json!({"usage": {"prompt_tokens": 3}}),
            json!({"choices": [], "usage": null}),
        ];
        let expected = ["usage Some(3) Some(4) Some(2)", "usage Some(3) None None"];
        assert_eq!(take_all(&chunks).unwrap(), expected);
    }
}
