//! From what `--record` wrote.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use runwarden_protocol::flight::{RECORD_BYTES_MAX, flight_of};
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::record::{Record, Recorder};
use runwarden_protocol::run::lineage::Lineage;

use super::error::{ExportError, Problem};
use crate::recording::{self, RecordFiles};
use crate::state_dir;

/// Most bytes of one line with its LF.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The race file of the newest recording of a session: its last steps, as many as a file has room for.
pub(super) fn read(state: &Path, session_id: SessionId) -> Result<String, ExportError> {
    let folder = state_dir::logs(state).join(recording::FOLDER);
    let unreadable = |path: PathBuf| |source| ExportError::Read { path, source };
    let newest = RecordFiles::newest(&folder, session_id).map_err(unreadable(folder))?;
    let path = newest
        .ok_or_else(|| ExportError::NothingRecorded { path: state.to_owned(), session_id })?;
    let file = File::open(&path).map_err(unreadable(path.clone()))?;
    export(BufReader::new(file)).map_err(|problem| ExportError::Damaged { path, problem })
}

fn export(input: impl BufRead) -> Result<String, Problem> {
    let lines = Lines { input, chain: Recorder::default() };
    let flight = flight_of::<Lineage, Problem>(RECORD_BYTES_MAX, lines)?;
    Ok(flight.export()?.to_string())
}

/// The records of a file. What a killed server had not written to the end of its line counts for nothing.
struct Lines<R> {
    input: R,
    chain: Recorder,
}

impl<R: BufRead> Lines<R> {
    fn read(&mut self) -> Result<Option<Record>, Problem> {
        let mut line = Vec::new();
        (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            let is_torn = (line.len() as u64) < LINE_BYTES_MAX;
            return if is_torn { Ok(None) } else { Err(Problem::LineTooLong(LINE_BYTES_MAX)) };
        }
        let record = Record::from_line(&String::from_utf8_lossy(&line))?;
        self.chain.check(&record)?;
        Ok(Some(record))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Record, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::flight::began;
    use runwarden_protocol::ids::{AskId, Revision, RunId};
    use runwarden_protocol::instant::Instant;
    use runwarden_protocol::machine::{Machine, Outbox};
    use runwarden_protocol::race::Race;
    use runwarden_protocol::run::lineage::{Input, KnownRun, Output, RunLimits};

    use super::*;

    /// A session that was asked `stops` times to stop a run it never had.
    fn recording(stops: u64) -> String {
        let mut session: Lineage =
            Lineage::new(SessionId::new(1), Revision::new(1), RunLimits::default());
        let (mut chain, machine) = (Recorder::default(), "run/ses_0000000000000001");
        let none: [Output; 0] = [];
        let first = chain.record(Instant::ZERO, machine, &began(&session), &none, None).unwrap();
        let mut text = first.to_line() + "\n";
        for number in 1..=stops {
            let (ask, now) = (AskId::new(number), Instant::from_micros(number));
            let input = Input::Stop { ask, run_id: RunId::new(1), known: KnownRun::Never };
            let mut out = Outbox::new();
            session.step(now, input.clone(), &mut out).unwrap();
            let record = chain.record(now, machine, &input, out.as_slice(), None).unwrap();
            text += &(record.to_line() + "\n");
        }
        text
    }

    fn steps(text: &str) -> Result<usize, Problem> {
        let race = Race::parse(export(text.as_bytes())?.as_bytes()).unwrap();
        Ok(race.choices.len())
    }

    #[test]
    fn the_whole_lines_of_a_recording_leave_as_a_race_file() {
        let text = recording(3);
        assert_eq!(steps(&text).unwrap(), 3);
        assert_eq!(steps(&text[..text.len() - 1]).unwrap(), 2, "the last line is torn");
        assert_eq!(steps(&recording(0)).unwrap(), 0);
        assert!(matches!(steps(""), Err(Problem::Recording(_))));
    }

    #[test]
    fn a_damaged_recording_is_named() {
        let text = recording(3);
        let without_second: String = text
            .lines()
            .enumerate()
            .filter(|(n, _)| *n != 1)
            .map(|(_, l)| l.to_owned() + "\n")
            .collect();
        assert!(matches!(steps(&without_second), Err(Problem::Record(_))));
        assert!(matches!(steps("x\n"), Err(Problem::Record(_))));
        let wide = "x".repeat(usize::try_from(LINE_BYTES_MAX).unwrap());
        assert!(matches!(steps(&wide[1..]), Err(Problem::Recording(_))), "a torn line alone");
        assert!(matches!(steps(&wide), Err(Problem::LineTooLong(LINE_BYTES_MAX))));
    }
}
