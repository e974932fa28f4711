//! What a silent connection is sent.

use std::time::{Duration, Instant};

use crate::support::client::Client;
use crate::support::process::Server;
use crate::support::tools;

/// HEARTBEAT.
const SILENCE: Duration = Duration::from_secs(5);

/// OBS-01 [e2e], SND-30 [e2e]: after 5 s in which a connection was handed nothing, one heartbeat comes.
#[test]
fn a_silent_connection_is_sent_a_heartbeat() {
    if !tools::is_slow_run("a_silent_connection_is_sent_a_heartbeat") {
        return;
    }
    let server = Server::start();
    let mut client = Client::connect(&server);
    let mut since = Instant::now();
    for _ in 0..2 {
        let beat = client.wait_for("a heartbeat", |frame| frame.kind == "heartbeat");
        let silent = since.elapsed();
        since = Instant::now();
        assert!(beat.data["server_time"].is_u64());
        assert!(silent >= SILENCE - Duration::from_millis(200), "after {silent:?} already");
        assert!(silent < SILENCE + Duration::from_secs(2), "only after {silent:?}");
        assert!(client.arrived("heartbeat").is_empty(), "more than one");
    }
}
