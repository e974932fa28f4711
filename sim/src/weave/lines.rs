//! A file of JSON lines on the disk of a simulation.

use std::sync::{Arc, Mutex};

use runwarden_protocol::ids::RunId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::json_lines::{self, LineError};
use runwarden_protocol::journal::row::JournalRow;

use super::executor::lock;
use super::world::SimWorld;
use crate::random::Random;

/// Bytes that reach the file at once.
const PIECE_BYTES_MAX: usize = 24;

/// A file of rows. Cheap to clone; outlives the processes that write it.
///
/// Bytes reach it a few at a time, so that a killed process leaves a line cut anywhere, also inside a character.
#[derive(Clone)]
pub struct LinesFile {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    bytes: Vec<u8>,
    /// So many survive a loss of power for sure.
    stable: usize,
    random: Random,
}

impl LinesFile {
    /// An empty file.
    pub fn new(random: Random) -> Self {
        let shared = Shared { bytes: Vec::new(), stable: 0, random };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// What it holds.
    pub fn bytes(&self) -> Vec<u8> {
        lock(&self.shared).bytes.clone()
    }

    /// Opens it before the first read or append: what follows the last LF is removed (JRN-04).
    ///
    /// # Errors
    /// A line that is no row.
    pub fn open(&self) -> Result<Vec<JournalRow>, LineError> {
        let mut shared = lock(&self.shared);
        let opened = json_lines::open(&shared.bytes)?;
        shared.bytes.truncate(opened.sound_bytes);
        shared.stable = opened.sound_bytes;
        Ok(opened.rows)
    }

    /// Appends rows of one run under their next numbers, piece by piece.
    ///
    /// # Errors
    /// A line of the file that is no row.
    pub async fn append(
        &self,
        world: &SimWorld,
        run_id: RunId,
        rows: &[JournalRow],
    ) -> Result<(), LineError> {
        let mut numbers = json_lines::open(&self.bytes())?.numbers(run_id);
        for row in rows {
            let seq = numbers.take(None).expect("a run that is written here goes on");
            let mut line = Vec::new();
            json_lines::append(&mut line, &JournalRow { run_id, seq, ..row.clone() });
            let mut rest = line.as_slice();
            while !rest.is_empty() {
                world.sleep(Duration::from_micros(100)).await;
                let mut shared = lock(&self.shared);
                let count = (1 + shared.random.below(PIECE_BYTES_MAX)).min(rest.len());
                let (piece, left) = rest.split_at(count);
                shared.bytes.extend_from_slice(piece);
                rest = left;
            }
        }
        Ok(())
    }

    /// Makes everything stable.
    pub fn sync(&self) {
        let mut shared = lock(&self.shared);
        shared.stable = shared.bytes.len();
    }

    /// Power is lost: of what was not stable any part may be left.
    pub fn lose_power(&self) {
        let mut shared = lock(&self.shared);
        let unsure = shared.bytes.len() - shared.stable;
        let left = shared.stable + shared.random.below(unsure + 1);
        shared.bytes.truncate(left);
    }

    /// Something else than its writer changes it.
    pub fn damage(&self, damage: impl FnOnce(&mut Vec<u8>)) {
        damage(&mut lock(&self.shared).bytes);
    }
}
