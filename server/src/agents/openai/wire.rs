//! The JSON of chat completions, as far as this server uses it.

use runwarden_runtime::ports::agent::{ContextMessage, ContextRole};
use serde::Deserialize;
use serde_json::{Value, json};

/// The request for one streamed answer. It carries the whole context (AGT-02); nothing compacts it yet.
pub(super) fn request(model: &str, context: &[ContextMessage]) -> Value {
    let messages: Vec<Value> = context
        .iter()
        .map(|message| {
            let role = match message.role {
                ContextRole::User => "user",
                ContextRole::Assistant => "assistant",
            };
            json!({"role": role, "content": message.text})
        })
        .collect();
    json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

/// One event of the stream. Everything may be left out or null: endpoints differ.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<UsageCount>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    pub(super) index: Option<u32>,
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    pub(super) content: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<ToolCallDelta>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ToolCallDelta {
    pub(super) index: Option<u32>,
    pub(super) function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct UsageCount {
    pub(super) prompt_tokens: Option<u64>,
    pub(super) completion_tokens: Option<u64>,
    pub(super) prompt_tokens_details: Option<PromptTokens>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct PromptTokens {
    pub(super) cached_tokens: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_context_is_sent() {
        let context: Vec<ContextMessage> = (0..2_000)
            .map(|number| ContextMessage {
                role: if number % 2 == 0 { ContextRole::User } else { ContextRole::Assistant },
                text: format!("message {number}"),
            })
            .collect();
        let request = request("small", &context);
        assert_eq!(request["model"], "small");
        assert_eq!(request["stream"], true);
        assert_eq!(request["stream_options"]["include_usage"], true);
        let messages = request["messages"].as_array().unwrap();
        assert_eq!(messages.len(), context.len());
        for (number, message) in messages.iter().enumerate() {
            assert_eq!(message["role"], ["user", "assistant"][number % 2]);
            assert_eq!(message["content"], format!("message {number}"));
        }
    }
}
