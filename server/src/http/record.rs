//! `GET /v1/sessions/SESSION/record`: what the flight recorder has of a session, as a race file.

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use hyper::{Request, Response, StatusCode};
use runwarden_protocol::flight::{Flight, FlightError};
use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::race::Race;
use runwarden_protocol::run::lineage::Lineage;
use runwarden_runtime::records::Recorded;

use super::edge::{Origin, View};
use super::respond::{self, Body, foreign_origin, refused, text};
use super::{Site, cookie};
use crate::auth::{Principal, Role, principal_id};
use crate::config::OPERATOR;

/// The session that a path below the base asks for.
pub(super) fn session_of(path: &str) -> Option<&str> {
    let id = path.strip_prefix("v1/sessions/")?.strip_suffix("/record")?;
    (!id.contains('/')).then_some(id)
}

/// The principal [`OPERATOR`] gets the record of every session, another owner that of its own.
pub(super) async fn answer(
    site: &Site,
    view: &View,
    request: &Request<Incoming>,
    session: &str,
) -> Response<Body> {
    if view.origin == Origin::Foreign {
        return foreign_origin();
    }
    let presented = cookie::presented(request.headers(), &site.edge);
    let principal = match site.authority.authenticate(view.client, presented).await {
        Ok(grant) => grant.principal,
        Err(refusal) => return refused(&refusal),
    };
    if principal.role != Role::Owner {
        return text(StatusCode::FORBIDDEN, "only an owner may export records");
    }
    let Ok(session_id) = session.parse() else {
        return text(StatusCode::NOT_FOUND, "that is no session id");
    };
    match site.service.flight(session_id, reader(principal)).await {
        Ok(Recorded::Kept(flight)) => exported(session_id, *flight).await,
        Ok(Recorded::Nothing) => text(
            StatusCode::NOT_FOUND,
            "nothing is recorded of this session: no run of it began, ended or was stopped since the server \
             started, or that is long ago",
        ),
        Ok(Recorded::Unknown) => text(StatusCode::NOT_FOUND, "there is no such session"),
        Ok(Recorded::Off) => text(
            StatusCode::CONFLICT,
            "the flight recorder is off: set record_bytes_max in [limits] and start the server again",
        ),
        Err(failure) => text(StatusCode::SERVICE_UNAVAILABLE, failure.to_string()),
    }
}

fn reader(principal: Principal) -> Option<PrincipalId> {
    (principal.id != principal_id(OPERATOR)).then_some(principal.id)
}

/// Taking the steps again may last some milliseconds, so that it is done beside the tasks.
async fn exported(session_id: SessionId, flight: Flight<Lineage>) -> Response<Body> {
    match smol::unblock(move || flight.export()).await {
        Ok(race) => file(session_id, &race),
        Err(error @ FlightError::TooLarge) => text(StatusCode::CONFLICT, error.to_string()),
        Err(error @ (FlightError::Differs | FlightError::Name(_) | FlightError::Record(_))) => {
            tracing::error!(%session_id, %error, "a flight could not be exported");
            text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

fn file(session_id: SessionId, race: &Race) -> Response<Body> {
    let mut response = text(StatusCode::OK, "");
    *response.body_mut() = Full::from(race.to_string());
    let name = format!("attachment; filename=\"{session_id}.race\"");
    let name = HeaderValue::try_from(name).expect("an id is visible ASCII");
    respond::set(&mut response, CONTENT_DISPOSITION, name);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_one_session() {
        assert_eq!(session_of("v1/sessions/ses_1/record"), Some("ses_1"));
        for other in ["v1/sessions/record", "v1/sessions/a/b/record", "v1/sessions/a", "record"] {
            assert_eq!(session_of(other), None, "{other}");
        }
    }
}
