//! What the store knows of itself: its name, its writer, whether it was closed cleanly, the greatest time written.

use runwarden_protocol::ids::StoreId;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::identity::LastOpening;
use runwarden_protocol::journal::lease::{Epoch, WriterLease};
use runwarden_runtime::ports::StoreFailure;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;

/// Where Linux states the identity of the current boot.
const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";

/// What an opening found and wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// The name of this store's history.
    pub(super) store_id: StoreId,
    /// Under which this process writes (JRN-14).
    pub(super) epoch: Epoch,
    /// The greatest time any batch wrote.
    pub(super) greatest_time: Instant,
}

/// The identity of the current boot, where the system states one.
pub(super) fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string(BOOT_ID_PATH).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Marks the store as open and takes it over from whoever wrote it before (JRN-14). Its name becomes `fresh` when
/// it has none yet, or when it was not closed cleanly and power may have been lost since (KEEP-4, JRN-22): the boot
/// is another one, or unknown.
pub(super) fn mark_open(
    connection: &Connection,
    boot_id: Option<&str>,
    fresh: StoreId,
) -> rusqlite::Result<Identity> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let last = LastOpening {
        store_id: get(connection, "store_id")?.and_then(|text| text.parse().ok()),
        was_closed: is_closed(connection)?,
        is_same_boot: boot_id.is_some() && get(connection, "boot_id")?.as_deref() == boot_id,
    };
    let store_id = last.store_id(fresh);
    let epoch = lease(connection)?.take_over();
    set(connection, "store_id", &store_id.to_string())?;
    set(connection, "writer_epoch", &epoch.number().to_string())?;
    set(connection, "boot_id", boot_id.unwrap_or_default())?;
    set(connection, "clean", "0")?;
    connection.execute_batch("COMMIT")?;
    Ok(Identity { store_id, epoch, greatest_time: greatest_time(connection)? })
}

/// Refuses the writer whose store another process has opened since.
pub(super) fn admit(connection: &Connection, epoch: Epoch) -> Result<(), Fault> {
    // An exclusive lease does not run out, so that the time does not matter.
    let admitted = lease(connection)?.admit(Instant::ZERO, epoch);
    Ok(admitted.map_err(|lost| StoreFailure::Unavailable(lost.to_string()))?)
}

/// Marks the store as closed cleanly.
pub(super) fn mark_closed(connection: &Connection) -> rusqlite::Result<()> {
    set(connection, "clean", "1")
}

/// Whether the last one who had the store open closed it cleanly.
pub(super) fn is_closed(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(get(connection, "clean")?.as_deref() == Some("1"))
}

/// Remembers the greatest time written, also as the probe of a store's readiness.
pub(super) fn set_greatest_time(connection: &Connection, at: Instant) -> rusqlite::Result<()> {
    set(connection, "greatest_time_us", &at.as_micros().to_string())
}

fn greatest_time(connection: &Connection) -> rusqlite::Result<Instant> {
    let text = get(connection, "greatest_time_us")?;
    let micros = text.and_then(|text| text.parse().ok()).unwrap_or_default();
    Ok(Instant::from_micros(micros))
}

fn lease(connection: &Connection) -> rusqlite::Result<WriterLease> {
    let text = get(connection, "writer_epoch")?;
    let number = text.and_then(|text| text.parse().ok()).unwrap_or_default();
    Ok(WriterLease::exclusive(Epoch::new(number)))
}

fn get(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

fn set(connection: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO meta (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute(params![name, value])?;
    Ok(())
}
