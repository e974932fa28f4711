//! From the running server.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::StatusCode;
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::race::FILE_BYTES_MAX;

use super::error::ExportError;
use crate::asking::{self, Question};
use crate::config::Settings;

/// How long the server may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Asks the server that listens on `address`.
pub(super) fn fetch(
    settings: &Settings,
    address: SocketAddr,
    token: Option<&str>,
    session_id: SessionId,
) -> Result<String, ExportError> {
    let path = format!("v1/sessions/{session_id}/record");
    let question = Question { path: &path, token, bytes_max: FILE_BYTES_MAX, longest: ANSWER_MAX };
    let (status, text) = asking::get(settings, address, question)?;
    match status {
        StatusCode::OK => Ok(text),
        StatusCode::INTERNAL_SERVER_ERROR => Err(ExportError::Differs(text.trim_end().to_owned())),
        status => {
            let text = text.trim_end().to_owned();
            Err(ExportError::Refused { status: status.as_u16(), text })
        }
    }
}
