//! Pages of history, read from the settled rows (family HIS).

use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::session::history::{self, Older, Page, Source};
use runwarden_protocol::wire::actions::{HistorySelector, LoadHistory};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::Frame;
use runwarden_protocol::wire::limits::{PAGE_BYTES_MAX, PAGE_GROUPS_MAX};

use super::super::reply::ReplyTo;
use crate::hub::Hub;
use crate::ports::store::{ReadRows, RowPage, StoreFailure};
use crate::ports::{Store, World};

/// `load_history`. Pages are read from the newest one backwards.
pub(super) async fn load<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &LoadHistory,
    reply: ReplyTo,
) {
    let reader = reply.principal().id;
    match page(hub, reader, fields).await {
        Ok(page) => {
            let request_id = reply.request_id();
            let frame = page.into_frame(request_id, fields.generation);
            reply.done(Frame::HistoryPage(Box::new(frame)));
        }
        Err(Unread::Refused(code)) => reply.refuse(|refusal| refusal, code),
        Err(Unread::Failed(failure)) => reply.fail(Code::StorageFailed, &failure.to_string()),
    }
}

enum Unread {
    Refused(Code),
    Failed(StoreFailure),
}

async fn page<W: World, S: Store>(
    hub: &Hub<W, S>,
    reader: PrincipalId,
    fields: &LoadHistory,
) -> Result<Page, Unread> {
    let session_id = fields.session_id.parse::<SessionId>();
    let session_id = session_id.map_err(|_| Unread::Refused(Code::SessionUnknown))?;
    let store_id = hub.store().store_id();
    let older = match &fields.selector {
        HistorySelector::Latest => None,
        HistorySelector::Before(cursor) => {
            let snapshot = fields.snapshot.as_deref();
            Some(Older::parse(cursor, snapshot, store_id, session_id))
        }
        HistorySelector::After(_) | HistorySelector::Around(_) => {
            read(hub, reader, session_id, None, 1).await?;
            return Err(Unread::Refused(Code::CursorUnavailable));
        }
    };
    let before = older.and_then(Result::ok).map(|older| older.cursor.before);
    let rows = read(hub, reader, session_id, before, PAGE_GROUPS_MAX).await?;
    let is_other_head = fields.head_id.is_some()
        && fields.head_id != rows.head.head_id.map(|head_id| head_id.to_string());
    if is_other_head {
        return Err(Unread::Refused(Code::CursorUnavailable));
    }
    let source = Source {
        store_id,
        head: &rows.head,
        rows: &rows.rows,
        start: rows.start,
        total: rows.total,
    };
    match older {
        None => Ok(history::latest(source)),
        Some(older) => older
            .and_then(|older| history::before(source, older))
            .map_err(|_| Unread::Refused(Code::CursorUnavailable)),
    }
}

/// Reads rows of a session the principal may read; any other one is unknown to it (AUTH-5).
async fn read<W: World, S: Store>(
    hub: &Hub<W, S>,
    reader: PrincipalId,
    session_id: SessionId,
    before: Option<u64>,
    rows_max: usize,
) -> Result<RowPage, Unread> {
    let read = ReadRows { session_id, before, rows_max, bytes_max: PAGE_BYTES_MAX };
    match hub.store().rows(read).await {
        Ok(page) if page.head.owner == reader => Ok(page),
        Ok(_) | Err(StoreFailure::Missing(_)) => Err(Unread::Refused(Code::SessionUnknown)),
        Err(failure) => Err(Unread::Failed(failure)),
    }
}
