//! `--record`: every step of every session machine, in one chained file of Records for each time a session is
//! in memory. Its first record tells the state the machine begins in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use runwarden_protocol::ids::SessionId;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::record::{BEGAN, Recorder};
use runwarden_runtime::records::{RecordSink, Step};

/// Name of the folder below that of the logs.
pub const FOLDER: &str = "records";

/// How the names of the files end.
const ENDING: &str = "jsonl";

/// Writes records, without bound: for a person who looks for something.
pub struct RecordFiles {
    folder: PathBuf,
    open: Mutex<BTreeMap<String, RecordFile>>,
}

struct RecordFile {
    began_at: Instant,
    recorder: Recorder,
    file: BufWriter<File>,
}

impl RecordFiles {
    /// Writes into `folder`, which is made where it is missing. Files of earlier starts stay.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned(), open: Mutex::default() })
    }

    /// The newest file of a session in `folder`, if there is one.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn newest(folder: &Path, session_id: SessionId) -> io::Result<Option<PathBuf>> {
        let prefix = format!("{session_id}.");
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let is_own = name.to_str().is_some_and(|name| name.starts_with(&prefix));
            names.extend(Some(name).filter(|_| is_own));
        }
        // The time in the name has a fixed width.
        Ok(names.into_iter().max().map(|name| folder.join(name)))
    }

    fn begin(&self, step: &Step) -> io::Result<RecordFile> {
        let session = step.machine.strip_prefix("run/").unwrap_or(&step.machine);
        let name = format!("{session}.{:016}.{ENDING}", step.now.as_micros());
        let file = BufWriter::new(File::create(self.folder.join(name))?);
        Ok(RecordFile { began_at: step.now, recorder: Recorder::default(), file })
    }
}

impl RecordSink for RecordFiles {
    fn record(&self, step: Step) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let written = if step.input["kind"] == BEGAN {
            self.begin(&step).and_then(|mut file| {
                file.write(&step)?;
                open.insert(step.machine.clone(), file);
                Ok(())
            })
        } else {
            // A file that could not be written on is closed: a hole would be worse than an end.
            open.get_mut(&step.machine).map_or(Ok(()), |file| file.write(&step))
        };
        if let Err(error) = written {
            // Runs go on without a recording.
            tracing::error!(%error, machine = step.machine, "the recording ends here");
            open.remove(&step.machine);
        }
    }

    fn ended(&self, machine: &str, began_at: Instant) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(machine).is_some_and(|file| file.began_at == began_at) {
            open.remove(machine);
        }
    }
}

impl RecordFile {
    fn write(&mut self, step: &Step) -> io::Result<()> {
        let record = self
            .recorder
            .record(step.now, &step.machine, &step.input, &step.outputs, step.reject.as_ref())
            .map_err(io::Error::other)?;
        self.file.write_all(record.to_line().as_bytes())?;
        self.file.write_all(b"\n")?;
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::record::Record;
    use serde_json::json;

    use super::*;

    fn step(now_us: u64, machine: &str, kind: &str) -> Step {
        Step {
            now: Instant::from_micros(now_us),
            machine: machine.to_owned(),
            input: json!({ "kind": kind }),
            outputs: Vec::new(),
            reject: None,
        }
    }

    fn lines(path: &Path) -> Vec<Record> {
        let text = fs::read_to_string(path).unwrap();
        let mut chain = Recorder::default();
        text.lines()
            .map(|line| {
                let record = Record::from_line(line).unwrap();
                chain.check(&record).unwrap();
                record
            })
            .collect()
    }

    #[test]
    fn each_life_of_a_session_has_a_file_with_a_chain_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(FOLDER);
        let (one, other) = (SessionId::new(1), SessionId::new(2));
        let machine = |id| format!("run/{id}");
        assert_eq!(RecordFiles::newest(&folder, one).unwrap(), None);
        let files = RecordFiles::create(&folder).unwrap();
        files.record(step(9, &machine(one), BEGAN));
        files.record(step(9, &machine(other), BEGAN));
        files.record(step(10, &machine(one), "stop"));
        let first = RecordFiles::newest(&folder, one).unwrap().unwrap();
        assert_eq!(lines(&first).len(), 2);
        files.ended(&machine(one), Instant::from_micros(9));
        files.record(step(11, &machine(one), "late"));
        files.record(step(12, &machine(one), BEGAN));
        files.ended(&machine(one), Instant::from_micros(9));
        files.record(step(13, &machine(one), "stop"));
        let second = RecordFiles::newest(&folder, one).unwrap().unwrap();
        assert_ne!(first, second);
        assert_eq!((lines(&first).len(), lines(&second).len()), (2, 2));
        assert_eq!(RecordFiles::newest(&folder, SessionId::new(3)).unwrap(), None);
        drop(files);
        let again = RecordFiles::create(&folder).unwrap();
        again.record(step(20, &machine(other), BEGAN));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4, "files of earlier starts stay");
    }
}
