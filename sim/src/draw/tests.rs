use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Reject;
use runwarden_protocol::record::{Record, Recorder};
use serde_json::{Value, json};

use super::{DETAIL_CHARS_MAX, shortened, text};

fn records() -> Vec<Record> {
    let mut recorder = Recorder::default();
    let mut step = |now, input: Value, outputs: &[Value], reject: Option<&Reject>| {
        let now = Instant::from_micros(now);
        recorder.record(now, "run/ses_1", &input, outputs, reject).unwrap()
    };
    vec![
        step(
            0,
            json!({"kind": "start", "run_id": "run_4"}),
            &[json!({"kind": "admit", "run_id": "run_4"})],
            None,
        ),
        step(
            900,
            json!({"kind": "committed", "run_id": "run_4"}),
            &[json!({"kind": "start_answered", "ask": 1}), json!({"kind": "launch"})],
            None,
        ),
        step(1_000, json!({"kind": "launched"}), &[], Some(&Reject::Local("not_launching"))),
        step(12_000_000, json!({"kind": "tick"}), &[json!({"kind": "signal"})], None),
    ]
}

#[test]
fn a_run_is_drawn_with_a_lifeline_for_each_peer() {
    let drawn = text(&records());
    let heads: Vec<_> = drawn.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads, ["step", "now_us", "client", "run/ses_1", "store", "agent", "clock"]);
    insta::with_settings!({
        snapshot_path => "../../../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("sim_sequence_diagram", drawn);
    });
}

#[test]
fn nothing_to_draw_is_no_fault() {
    assert!(text(&[]).starts_with("  step"));
}

#[test]
fn long_content_is_cut_at_its_bound() {
    let cut = |chars: usize| shortened(&"x".repeat(chars), DETAIL_CHARS_MAX);
    assert_eq!(cut(DETAIL_CHARS_MAX - 1).len(), DETAIL_CHARS_MAX - 1);
    assert_eq!(cut(DETAIL_CHARS_MAX).len(), DETAIL_CHARS_MAX);
    assert!(!cut(DETAIL_CHARS_MAX).ends_with('~'));
    assert_eq!(cut(DETAIL_CHARS_MAX + 1).len(), DETAIL_CHARS_MAX);
    assert!(cut(DETAIL_CHARS_MAX + 1).ends_with('~'));
    assert_eq!(shortened("a\nb", 9), "a b");
}
