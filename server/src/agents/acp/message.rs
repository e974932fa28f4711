//! JSON-RPC 2.0 messages, one per line.

use agent_client_protocol_schema::v1::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an agent sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming {
    /// The end of one of our requests.
    Response {
        /// The id of the request; `None` when it is none of ours.
        id: Option<u64>,
        /// The result, or the error.
        outcome: Result<Value, Error>,
    },
    /// A request of the agent.
    Request {
        /// Its id, a number or a text, given back unchanged.
        id: Value,
        /// What it asks.
        method: String,
        /// With what.
        params: Value,
    },
    /// A message without an answer.
    Notification {
        /// What it is about.
        method: String,
        /// Its content.
        params: Value,
    },
}

/// Reads one line; `None` for what is no JSON-RPC message.
pub(super) fn parse(line: &[u8]) -> Option<Incoming> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let fields = message.as_object_mut()?;
    let id = fields.remove("id").filter(|id| !id.is_null());
    if let Some(method) = fields.remove("method") {
        let method = method.as_str()?.to_owned();
        let params = fields.remove("params").unwrap_or(Value::Null);
        return Some(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    let outcome = match (fields.remove("error"), fields.remove("result")) {
        (Some(error), _) if !error.is_null() => {
            Err(typed(&error).unwrap_or_else(Error::internal_error))
        }
        (_, Some(result)) => Ok(result),
        (_, None) => return None,
    };
    Some(Incoming::Response { id: id.and_then(|id| id.as_u64()), outcome })
}

/// What the protocol's own types make of a value; `None` where it is not what it should be.
pub(super) fn typed<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// The JSON form of one of the protocol's own types.
pub(super) fn json<T: Serialize>(message: &T) -> Value {
    serde_json::to_value(message).expect("messages of the protocol have a JSON form")
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// A notification of ours.
pub(super) fn notification(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// The answer to a request of the agent.
pub(super) fn response(id: &Value, result: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// The answer to a request for something that is not offered.
pub(super) fn not_offered(id: &Value, method: &str) -> String {
    let mut error = Error::method_not_found();
    error.message = format!("{method} is not offered");
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_and_anything_else_is_garbage() {
        let response = parse(br#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#);
        assert_eq!(
            response,
            Some(Incoming::Response { id: Some(3), outcome: Ok(json!({"a": 1})) })
        );
        for (error, expected) in [
            (r#"{"code":-1,"message":"no"}"#, Error::new(-1, "no")),
            (r#""no""#, Error::internal_error()),
        ] {
            let line = format!(r#"{{"id":"x","error":{error}}}"#);
            let expected = Incoming::Response { id: None, outcome: Err(expected) };
            assert_eq!(parse(line.as_bytes()), Some(expected));
        }
        let request = parse(br#"{"id":"x","method":"m","params":[1]}"#);
        let (method, params) = ("m".to_owned(), json!([1]));
        assert_eq!(request, Some(Incoming::Request { id: json!("x"), method, params }));
        let told = parse(br#"{"id":null,"method":"m"}"#);
        let (method, params) = ("m".to_owned(), Value::Null);
        assert_eq!(told, Some(Incoming::Notification { method, params }));
        for garbage in ["", "hello", "[]", "{}", r#"{"id":1}"#, r#"{"method":1}"#, "\u{7f}", "{"] {
            assert_eq!(parse(garbage.as_bytes()), None, "{garbage}");
        }
    }

    #[test]
    fn what_is_sent_is_one_line() {
        let params = json!({"text": "a\nb"});
        for sent in [
            request(1, "m", &params),
            notification("m", &params),
            response(&json!("x"), &params),
            not_offered(&json!(7), "m"),
        ] {
            assert_eq!(sent.matches('\n').count(), 1, "{sent}");
            assert!(sent.ends_with('\n') && parse(sent.as_bytes()).is_some(), "{sent}");
        }
    }
}
