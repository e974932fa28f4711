//! How a server stops (RST-12).

use futures_lite::future::or;
use runwarden_protocol::instant::Duration;

use crate::hub::Hub;
use crate::ports::{Store, World};

/// How often a drain looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// How long each part of a stop may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainTimes {
    /// How long running runs may go on.
    pub runs: Duration,
    /// How long settling the runs that were ended may take.
    pub settling: Duration,
    /// How long connections may take to send what they hold, and to close.
    pub connections: Duration,
}

impl<W: World, S: Store> Hub<W, S> {
    /// Stops: runs get their time and are then ended `interrupted` with reason `shutdown`, each end is announced
    /// before the connections close, and what waits in queues stays for the next start (RST-12). Returns whether
    /// every run was settled; the next start settles the others.
    pub async fn drain(&self, times: DrainTimes) -> bool {
        self.stop_accepting();
        self.until(|hub| !hub.has_runs(), times.runs).await;
        let settled = async {
            self.end_runs().await;
            true
        };
        let late = async {
            self.wait(times.settling).await;
            false
        };
        let is_settled = or(settled, late).await;
        self.runs_settled();
        self.until(|hub| hub.peers().is_empty(), times.connections).await;
        is_settled
    }

    async fn until(&self, is_over: impl Fn(&Self) -> bool, longest: Duration) {
        let over = async {
            while !is_over(self) {
                self.wait(LOOK).await;
            }
        };
        or(over, self.wait(longest)).await;
    }

    async fn wait(&self, time: Duration) {
        self.world().sleep_until(self.now().plus(time)).await;
    }
}
