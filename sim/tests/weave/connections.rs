//! Connections: silence, slow readers, too many, and what a lost one leaves alone.

use runwarden_protocol::ids::PrincipalId;
use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{Act, Script};
use serde_json::json;

use crate::support::{each_seed, run, session, speaks, stored, text_of, turn};

/// A piece of an answer of 4,000 bytes.
const LONG: &str = {
    const BYTES: [u8; 4_000] = [b'x'; 4_000];
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

/// OBS-01 [sim], SND-30 [sim]: a connection to which nothing was handed for 5 s gets a heartbeat, and one
/// only.
#[test]
fn a_silent_connection_gets_a_heartbeat_every_5_s() {
    each_seed(60, async |mut bed| {
        bed.start().await;
        let mut client = bed.connect().await;
        let begin = bed.now();
        for beat in 1..=20 {
            let frame = client.until(|_| true).await.expect("a frame");
            assert_eq!(frame.kind, "heartbeat");
            assert_eq!(frame.at.age_of(begin), Duration::from_secs(5 * beat), "beat {beat}");
        }
        bed.sleep(Duration::from_secs(3)).await;
        client.call(json!({"action": "list_sessions"})).await.expect("a reply");
        let handed = bed.now();
        let frame = client.until(|_| true).await.expect("a frame");
        assert_eq!(
            (frame.kind.as_str(), frame.at),
            ("heartbeat", handed.plus(Duration::from_secs(5)))
        );
    });
}

/// ATT-19 [sim], SND-27 [sim]: a connection from which nothing came for 300 s is closed, and any message renews
/// that time.
#[test]
fn a_connection_that_says_nothing_is_closed_after_300_s() {
    each_seed(60, async |mut bed| {
        let mut random = bed.executor.stream();
        bed.start().await;
        let mut client = bed.connect().await;
        let mut last = bed.now();
        for _ in 0..random.below(3) {
            bed.sleep(Duration::from_millis(random.below(299_000) as u64)).await;
            last = bed.now();
            client.call(json!({"action": "list_sessions"})).await.expect("a reply");
        }
        let closed = client.closed().await;
        assert_eq!(closed, Some((1001, "lease_expired".to_owned())));
        let age = bed.now().age_of(last);
        assert!(age >= Duration::from_secs(300) && age < Duration::from_secs(301), "{age:?}");
    });
}

/// ATT-19 [sim], SND-27 [sim]: a client that takes no bytes while some wait is dropped after 20 s; the run goes
/// on, and who reads sees all of it.
#[test]
fn a_client_that_does_not_read_is_dropped_and_the_run_goes_on() {
    each_seed(30, async |mut bed| {
        let (stalled, session) = session(&mut bed).await;
        let mut client = bed.connect().await;
        client.open(&session).await;
        let pause = Act::Work(Duration::from_millis(200));
        let long = [Act::Say(LONG), pause].repeat(60);
        bed.agents.will([Script::of(&[&long[..], &[Act::Work(Duration::from_secs(30))]].concat())]);
        let (run, status) = turn(&mut client, &session, "tell me").await;
        assert_eq!(status, "completed");
        assert_eq!(bed.hub().peers().len(), 1, "the one that did not read is gone");
        drop(stalled);
        let data = bed.disk.data();
        let said: usize = stored(&data, &run).journal.iter().map(|row| row.body.len()).sum();
        assert!(said >= 60 * LONG.len());
    });
}

/// RATE-3 [sim]: the 65th connection of a principal is closed before any frame; the others stay.
#[test]
fn the_65th_connection_is_closed_before_any_frame() {
    each_seed(10, async |mut bed| {
        bed.start().await;
        let mut clients = Vec::new();
        for _ in 0..64 {
            clients.push(bed.connect().await);
        }
        let mut late = bed.connect_silently().await;
        assert_eq!(late.closed().await, Some((1013, "rate_limited".to_owned())));
        assert_eq!(late.everything(), "");
        let mut other = bed.connect_as(PrincipalId::new(2)).await;
        other.call(json!({"action": "list_sessions"})).await.expect("another principal is served");
        for client in &mut clients {
            client.call(json!({"action": "list_sessions"})).await.expect("a reply");
        }
        drop(clients.pop());
        bed.sleep(Duration::from_millis(10)).await;
        let mut next = bed.connect().await;
        next.call(json!({"action": "list_sessions"})).await.expect("a place is free");
    });
}

/// SND-26 [sim]: a connection that closes leaves nothing behind and changes no run.
#[test]
fn a_lost_connection_is_forgotten_and_its_run_goes_on() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[
            Act::Say("a"),
            Act::Work(Duration::from_millis(50)),
            Act::Say("b"),
        ])]);
        let run = run(&mut client, &session, "go on").await;
        bed.sleep(Duration::from_millis(random.below(60) as u64)).await;
        drop(client);
        bed.sleep(Duration::from_secs(1)).await;
        assert!(bed.hub().peers().is_empty());
        let said: String = stored(&bed.disk.data(), &run).journal[..2]
            .iter()
            .map(|row| row.body.clone())
            .collect();
        assert!(said.starts_with("ab"), "{said}");
        bed.sleep(Duration::from_secs(61)).await;
        assert_eq!(bed.agents.open(), 0, "nobody is subscribed: the session left memory");
    });
}

/// ATT-17 [sim], ATT-18 [sim], OBS-08 [sim]: whoever opens a session is told of its run, and whoever has it open
/// sees a run begin, change its phase and end, without asking.
#[test]
fn a_run_is_pushed_to_whoever_has_its_session_open() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let mut watcher = bed.connect().await;
        watcher.open(&session).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let first = run(&mut client, &session, "one").await;
        speaks(&mut watcher, &first).await;
        let mut late = bed.connect().await;
        let manifest = late.open(&session).await.expect("a manifest");
        assert_eq!(manifest.data["status"], "running", "{manifest:?}");
        let told = late.until(|frame| frame.is("run_status", "run_id", &first)).await;
        assert_eq!(told.expect("the phase").data["phase"], "running");
        client.stop(&session, &first).await;
        for (client, expected) in [
            (&mut watcher, &["starting", "running", "cancelling"][..]),
            (&mut late, &["cancelling"][..]),
        ] {
            let ended = client.ended(&first).await.expect("an end");
            assert_eq!(ended.data["status"], "cancelled");
            let phases: Vec<String> = client
                .untaken()
                .filter(|frame| frame.is("run_status", "run_id", &first))
                .map(|frame| text_of(&frame.data["phase"]))
                .collect();
            assert_eq!(phases, expected, "each change once, in order");
        }
    });
}
