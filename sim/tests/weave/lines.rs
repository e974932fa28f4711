//! Files of JSON lines under kills and losses of power.

use runwarden_protocol::ids::{ItemId, RunId, Seq, SessionId};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::json_lines::{read_run, read_session};
use runwarden_protocol::journal::row::{ItemKind, JournalRow, RowEvent};
use runwarden_protocol::journal::soundness::Unsound;
use runwarden_sim::weave::{Act, Bed, Executor, LinesFile, SimWorld};

use crate::support::{each_seed, run, session, stored};

const SESSION: SessionId = SessionId::new(3);
const RUN: RunId = RunId::new(7);

fn row(bed: &Bed, body: &str) -> JournalRow {
    let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
    let (run_id, session_id, created_at) = (RUN, SESSION, bed.now());
    JournalRow { run_id, session_id, seq: Seq::ZERO, created_at, event, body: body.to_owned() }
}

fn bodies(rows: &[JournalRow]) -> Vec<(u64, String)> {
    rows.iter().map(|row| (row.seq.get(), row.body.clone())).collect()
}

/// A process appends rows and is killed while it does, or power is lost.
async fn cut_off(bed: &mut Bed, file: &LinesFile, rows: Vec<JournalRow>, micros: u64, power: bool) {
    let (host, world) = bed.process();
    let writer: (LinesFile, SimWorld) = (file.clone(), world);
    bed.executor.spawn(host, "writer", async move {
        let (file, world) = writer;
        let _ = file.append(&world, RUN, &rows).await;
    });
    bed.sleep(Duration::from_micros(micros)).await;
    let executor: &Executor = &bed.executor;
    executor.kill(host);
    if power {
        file.lose_power();
    }
}

/// JRN-04 [sim], RACE-44 [sim]: wherever a line is cut off, the opening removes it before anything else, and the next number
/// is one more than the highest, in a file and in the table alike.
#[test]
fn a_torn_line_is_gone_before_the_next_row() {
    each_seed(300, async |mut bed| {
        let mut random = bed.executor.stream();
        let file = LinesFile::new(bed.executor.stream());
        let mut known: Vec<(u64, String)> = Vec::new();
        for round in 0..4 {
            let texts = ["a", "zwölf\n", "😀\u{2028}", "the last one"].map(|text| row(&bed, text));
            let micros = random.below(2_500) as u64;
            let power = random.chance(300);
            cut_off(&mut bed, &file, texts.to_vec(), micros, power).await;
            let opened = bodies(&file.open().expect("no line is glued to another"));
            assert_eq!(file.bytes().last().copied().unwrap_or(b'\n'), b'\n', "round {round}");
            assert_eq!(opened[..known.len()], known, "what was opened once stays");
            let numbers: Vec<_> = opened.iter().map(|(seq, _)| *seq).collect();
            assert_eq!(numbers, (1..=opened.len() as u64).collect::<Vec<_>>());
            known = opened;
        }
    });
    each_seed(50, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let pause = Act::Work(Duration::from_millis(35));
        let says = [Act::Say("a"), pause, Act::Say("b"), pause, Act::Say("c"), Act::Hang];
        bed.agents.will([runwarden_sim::weave::Script::of(&says)]);
        let run = run(&mut client, &session, "one").await;
        let millis = bed.executor.stream().below(150) as u64;
        bed.sleep(Duration::from_millis(millis)).await;
        bed.lose_power();
        let left = stored(&bed.disk.data(), &run).last_seq();
        bed.start().await;
        let ended = stored(&bed.disk.data(), &run).clone();
        assert_eq!(ended.last_seq(), left.plus(1), "the terminal has the next number");
        assert_eq!(ended.journal.len() as u64, left.get() + 1);
    });
}

/// JRN-04 [sim], RACE-45 [sim]: a row is one line whatever its text holds, for the reader of the run and for that of the
/// session.
#[test]
fn separators_in_a_text_split_no_row() {
    each_seed(50, async |mut bed| {
        let file = LinesFile::new(bed.executor.stream());
        let texts = ["\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"];
        let rows: Vec<_> = texts.iter().map(|text| row(&bed, text)).collect();
        let (_, world) = bed.process();
        file.append(&world, RUN, &rows).await.expect("rows");
        let again = row(&bed, "x");
        cut_off(&mut bed, &file, vec![again.clone()], 150, false).await;
        file.open().expect("rows");
        let opened = file.open().expect("rows").len();
        if opened == texts.len() {
            file.append(&world, RUN, &[again]).await.expect("rows");
        }
        let expected: Vec<_> =
            (1..).zip(texts.iter().chain(&["x"]).map(|&text| text.to_owned())).collect();
        let by_run = read_run(&file.bytes(), SESSION, RUN);
        assert_eq!(bodies(&by_run.rows), expected);
        assert_eq!(by_run.unsound, None);
        assert_eq!(read_session(&file.bytes(), SESSION), [(RUN, by_run)]);
    });
}

/// JRN-11 [sim], RACE-44 [sim]: a row that was damaged in a file keeps its own run back, from that row on, and no other.
#[test]
fn a_damaged_line_keeps_one_run_back() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let file = LinesFile::new(bed.executor.stream());
        let (_, world) = bed.process();
        let other = RunId::new(8);
        let texts = ["a", "b", "c", "d"].map(|text| row(&bed, text));
        for run_id in [RUN, other] {
            file.append(&world, run_id, &texts).await.expect("rows");
        }
        let bad = random.below(3);
        file.damage(|bytes| {
            let line = bytes.len() / 8 * bad;
            bytes[line] = b'?';
        });
        let sound = read_run(&file.bytes(), SESSION, other);
        assert_eq!((sound.rows.len(), sound.unsound), (4, None));
        let kept = read_run(&file.bytes(), SESSION, RUN);
        assert_eq!(kept.rows.len(), bad);
        assert_eq!(kept.unsound, Some(Unsound::Missing { seq: Seq::new(bad as u64 + 1) }));
    });
}
