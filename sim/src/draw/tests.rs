use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Reject;
use runwarden_protocol::record::{Record, Recorder};
use serde_json::{Value, json};

use super::caption::{duration, short_ids, shortened};
use super::{DETAIL_CHARS_MAX, Scene};

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
    let drawn = Scene::of_records(&records()).text();
    let heads: Vec<_> = drawn.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads, ["step", "time", "client", "run/ses_1", "store", "worker"]);
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
    assert!(Scene::of_records(&[]).text().starts_with("  step"));
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

#[test]
fn ids_and_times_are_short() {
    for (long, short) in [
        ("run_0000000000000001", "run_1"),
        ("a=ses_00000000000000af b", "a=ses_af b"),
        ("run_0000000000000000", "run_0"),
        ("err_00000000000000000000000000000001", "err_00000000000000000000000000000001"),
        ("no_id_here_", "no_id_here_"),
        ("run_1", "run_1"),
    ] {
        assert_eq!(short_ids(long), short);
    }
    for (micros, text) in [
        (0, "0 µs"),
        (999, "999 µs"),
        (1_000, "1 ms"),
        (1_500, "1.5 ms"),
        (999_999, "999.9 ms"),
        (1_000_000, "1 s"),
        (119_999_999, "119.9 s"),
        (120_000_000, "2 min"),
    ] {
        assert_eq!(duration(micros), text);
    }
}

fn scene(scenario: &str, variant: Option<&str>, labels: &[&str]) -> Scene {
    let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
    let setting = crate::setting::Setting::find(scenario, variant).unwrap();
    Scene::of(&setting.race(3, &labels)).unwrap()
}

fn violation() -> Scene {
    let labels = ["client-a send stop_run(run_1)", "worker-1 answer invocation_asked(run_1)"];
    scene("RACE-04", Some("invocation-unchecked"), &labels)
}

#[test]
fn a_violation_is_drawn_with_its_rule() {
    insta::with_settings!({
        snapshot_path => "../../../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("sim_violation_diagram", violation().text());
    });
}

#[test]
fn a_page_holds_everything_it_needs_and_nothing_unescaped() {
    let mut scene = violation();
    scene.title = "<script>\"x\" & y</script>".to_owned();
    let page = scene.html();
    assert!(page.contains("&lt;script&gt;&quot;x&quot; &amp; y"));
    for forbidden in ["<script", "src=", "href=", "url(", "@import", "http://", "https://"] {
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!rest.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("INV-REG broken") && page.contains("class=\"row broken\""));
    let steps = page.matches("<li class=\"file\">").count();
    assert_eq!((steps, page.matches("<li class=\"broken\">").count()), (1, 1));
}

#[test]
fn a_picture_is_a_file_of_its_own() {
    let picture = violation().svg();
    assert!(picture.starts_with("<?xml") && picture.contains("<style>"));
    assert_eq!(picture.matches("<g").count(), picture.matches("</g>").count());
}

#[test]
fn faults_and_time_are_notes_and_a_walk_has_its_part() {
    let scene = scene("RACE-92", None, &["client-a send stop_run(run_1)", "server fault crash"]);
    let notes: Vec<_> = scene.rows.iter().filter_map(|row| row.note.as_deref()).collect();
    assert!(notes.iter().any(|note| note.starts_with("the server crashes")), "{notes:?}");
    assert!(scene.svg().contains("on under the seed"));
    assert!(scene.html().contains("No rule is broken."));
}
