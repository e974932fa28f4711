//! The open errors of a principal, and their acknowledgement (family ERR).

use std::collections::BTreeMap;

use runwarden_protocol::errors::timestamp;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::session::cursor::ErrorCursor;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::actions::{AcknowledgeUserError, ListUserErrors};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{
    Frame, OperationRecovered, RecoveryCause, RecoveryRequired, UserErrorAcknowledged,
    UserErrorsList,
};
use runwarden_protocol::wire::structures::{ErrorData, Scope};

use super::super::reply::ReplyTo;
use super::list::{cursor_code, limit};
use crate::frames::SharedFrame;
use crate::hub::Hub;
use crate::ports::store::{ListErrors, StoreFailure, StoredError};
use crate::ports::{Store, World};

/// `list_user_errors`.
pub(super) async fn list<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &ListUserErrors,
    reply: ReplyTo,
) {
    let store_id = hub.store().store_id();
    let cursor = fields.cursor.as_deref();
    let after = match cursor.map(|cursor| ErrorCursor::parse(cursor, store_id)).transpose() {
        Ok(after) => after,
        Err(error) => return reply.refuse(|refusal| refusal, cursor_code(error)),
    };
    let limit = limit(fields.limit);
    let list = ListErrors {
        principal: reply.principal().id,
        session_id: None,
        after: after.map(|cursor| (cursor.occurred_at_ms, cursor.error_id)),
        // One more tells whether there is another page.
        limit: limit + 1,
        now: hub.now(),
    };
    let Some((records, errors, has_more)) = read(hub, list, limit).await else {
        // ERR-24: the list cannot be shown, and an error about it could not be recorded either.
        let request_id = reply.request_id();
        let reason = RecoveryCause::Storage;
        return reply.done(Frame::RecoveryRequired(RecoveryRequired { request_id, reason }));
    };
    let next_cursor = records.last().filter(|_| has_more).map(|record| {
        let (occurred_at_ms, error_id) = (record.occurred_at_ms, record.error_id.clone());
        ErrorCursor { store_id, occurred_at_ms, error_id }.encode()
    });
    match revisions(hub, &records).await {
        Ok(session_revisions) => {
            let request_id = reply.request_id();
            let list = UserErrorsList { request_id, errors, session_revisions, next_cursor };
            reply.done(Frame::UserErrorsList(list));
        }
        Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
    }
}

/// `acknowledge_user_error`: two frames for the requester (ERR-15) and one for every other connection of
/// the principal (ERR-16).
pub(super) async fn acknowledge<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &AcknowledgeUserError,
    reply: ReplyTo,
) {
    let (principal, now) = (reply.principal().id, hub.now());
    let error_id = fields.error_id.clone();
    let closed = match hub.store().acknowledge_error(principal, error_id, now).await {
        Ok(closed) => closed,
        Err(failure) => return reply.fail(Code::StorageFailed, &failure.to_string()),
    };
    let recovered = SharedFrame::push(
        hub.payload_id(),
        None,
        &Frame::OperationRecovered(recovered(&fields.error_id, closed.as_ref(), now)),
    );
    let requester = reply.peer().id;
    // A repetition keeps the time of the first one (ERR-14) and was told then.
    let is_first = closed.as_ref().is_some_and(|record| record.closed_at == Some(now));
    let acknowledged = Frame::UserErrorAcknowledged(UserErrorAcknowledged {
        request_id: reply.request_id(),
        error_id: fields.error_id.clone(),
    });
    reply.done_by(acknowledged, |outbound, now, shared| {
        outbound.offer_all(now, &[shared, recovered.clone()]);
    });
    if is_first {
        for peer in hub.peers_of(principal).iter().filter(|peer| peer.id != requester) {
            peer.outbound.offer(now, &recovered);
        }
        if let Some(session_id) = closed.and_then(|record| record.session_id) {
            hub.errors_changed(session_id);
        }
    }
}

/// The records of a page, what they hold, and whether more follow; none when they cannot be read.
async fn read<W: World, S: Store>(
    hub: &Hub<W, S>,
    list: ListErrors,
    limit: usize,
) -> Option<(Vec<StoredError>, Vec<ErrorData>, bool)> {
    let mut records = match hub.store().errors(list).await {
        Ok(records) => records,
        Err(failure) => {
            tracing::error!(%failure, "the errors of a principal could not be read");
            return None;
        }
    };
    let has_more = records.len() > limit;
    records.truncate(limit);
    let errors: Result<Vec<ErrorData>, _> =
        records.iter().map(|record| serde_json::from_str(&record.data)).collect();
    match errors {
        Ok(errors) => Some((records, errors, has_more)),
        Err(error) => {
            tracing::error!(%error, "a record of an error is not readable");
            None
        }
    }
}

/// The revision of each session the records name (ERR-13).
async fn revisions<W: World, S: Store>(
    hub: &Hub<W, S>,
    records: &[StoredError],
) -> Result<BTreeMap<String, i64>, StoreFailure> {
    let mut revisions = BTreeMap::new();
    for session_id in records.iter().filter_map(|record| record.session_id) {
        let name = session_id.to_string();
        if revisions.contains_key(&name) {
            continue;
        }
        if let Some(head) = hub.store().session(session_id).await? {
            revisions.insert(name, int(head.revision.get()));
        }
    }
    Ok(revisions)
}

/// What is told of a closed record; of an unknown or foreign one as little as possible (ERR-17).
fn recovered(error_id: &str, closed: Option<&StoredError>, now: Instant) -> OperationRecovered {
    let error = closed.and_then(|record| serde_json::from_str::<ErrorData>(&record.data).ok());
    let closed_at = closed.and_then(|record| record.closed_at).unwrap_or(now);
    OperationRecovered {
        error_ids: vec![error_id.to_owned()],
        scope: error.as_ref().map_or(Scope::System, ErrorData::scope),
        operation_id: error.and_then(|error| error.operation_id().map(str::to_owned)),
        occurred_at: timestamp::format(int(closed_at.as_millis()))
            .expect("the guarded clock is before the year 10000"),
    }
}
