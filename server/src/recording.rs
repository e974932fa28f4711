//! `--record`: every step of every session machine, as one chained file of Records.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use runwarden_protocol::record::Recorder;
use runwarden_runtime::records::{RecordSink, Step};

/// Writes records to one file. Without bound: for a person who looks for something.
pub struct RecordFile {
    state: Mutex<State>,
}

struct State {
    recorder: Recorder,
    file: BufWriter<File>,
    is_broken: bool,
}

impl RecordFile {
    /// Begins a new file, replacing one of an earlier start.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let state = State { recorder: Recorder::default(), file, is_broken: false };
        Ok(Self { state: Mutex::new(state) })
    }
}

impl RecordSink for RecordFile {
    fn record(&self, step: Step) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_broken {
            return;
        }
        if let Err(error) = state.write(&step) {
            // Runs go on without a recording; a file with a hole would be worse than one that ends.
            tracing::error!(%error, "the recording ends here");
            state.is_broken = true;
        }
    }
}

impl State {
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
