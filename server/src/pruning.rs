//! Journals that have served their time go, beside everything else (JRN-18).

use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::World;

use crate::store::SqliteStore;

/// Time between two rounds.
const EVERY: Duration = Duration::from_secs(3_600);

/// Time between two steps of a round, so that everybody else's writes come first.
const PAUSE: Duration = Duration::from_millis(20);

/// Prunes journals for as long as the server lives. What fails is tried again in the next round.
pub async fn keep_pruning<W: World>(store: SqliteStore, world: W, retention: Duration) {
    loop {
        let rest = match store.prune(world.now(), retention).await {
            Ok(true) => PAUSE,
            Ok(false) => EVERY,
            Err(failure) => {
                tracing::warn!(%failure, "journals are not pruned now");
                EVERY
            }
        };
        world.sleep_until(world.now().plus(rest)).await;
    }
}
