//! The list of sessions (family LIST).

use runwarden_protocol::session::cursor::{CursorError, ListCursor};
use runwarden_protocol::session::project;
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::actions::ListSessions as Fields;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, SessionsList};
use runwarden_protocol::wire::limits::LIST_LIMIT;
use runwarden_protocol::wire::structures::SessionItem;

use super::super::reply::ReplyTo;
use crate::hub::{Hub, Principal};
use crate::ports::store::{ListSessions, StoreFailure};
use crate::ports::{Store, World};

/// `list_sessions`.
pub(super) async fn list_sessions<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &Fields,
    reply: ReplyTo,
) {
    let after = match place(hub, fields) {
        Ok(after) => after,
        Err(error) => return reply.refuse(|refusal| refusal, cursor_code(error)),
    };
    let limit = limit(fields.limit);
    let list = ListSessions {
        principal: reply.principal().id,
        query: fields.query.clone(),
        archived: fields.archived.unwrap_or(false),
        after: after.map(|cursor| (cursor.activity_at, cursor.session_id)),
        // One more tells whether there is another page.
        limit: limit + 1,
    };
    match page(hub, reply.principal(), list, limit).await {
        Ok((sessions, next_cursor)) => {
            let request_id = reply.request_id();
            reply.done(Frame::SessionsList(SessionsList { request_id, sessions, next_cursor }));
        }
        Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
    }
}

/// Entries of a page; null means 100.
pub(super) fn limit(wanted: Option<i64>) -> usize {
    usize::try_from(wanted.unwrap_or(LIST_LIMIT).clamp(1, LIST_LIMIT))
        .expect("a number from 1 to 100 fits")
}

/// The code a cursor of a list is refused with: no text of ours is a wrong field (ERR-11).
pub(super) const fn cursor_code(error: CursorError) -> Code {
    match error {
        CursorError::Malformed => Code::InvalidRequest,
        CursorError::OtherStore | CursorError::OtherSession | CursorError::Gone => {
            Code::CursorUnavailable
        }
    }
}

fn place<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &Fields,
) -> Result<Option<ListCursor>, CursorError> {
    let cursor = fields.cursor.as_deref();
    cursor.map(|cursor| ListCursor::parse(cursor, hub.store().store_id())).transpose()
}

async fn page<W: World, S: Store>(
    hub: &Hub<W, S>,
    principal: Principal,
    list: ListSessions,
    limit: usize,
) -> Result<(Vec<SessionItem>, Option<String>), StoreFailure> {
    let mut heads = hub.store().sessions(list).await?;
    let has_more = heads.len() > limit;
    heads.truncate(limit);
    let mut sessions = Vec::with_capacity(heads.len());
    for head in &heads {
        let count = hub.store().count_errors(principal.id, Some(head.session_id)).await?;
        let live = hub.live(head.session_id);
        sessions.push(project::session_item(head, live, principal.id, count));
    }
    let cursor = |head: &SessionHead| {
        let store_id = hub.store().store_id();
        let (activity_at, session_id) = (head.activity_at, head.session_id);
        ListCursor { store_id, activity_at, session_id }.encode()
    };
    Ok((sessions, heads.last().filter(|_| has_more).map(cursor)))
}
