//! The diagram in plain text, for terminals and failure messages.

use std::fmt::Write;

use runwarden_protocol::instant::Instant;

use super::caption::{duration, shortened};
use super::scene::{Arrow, Part, Row, Scene, Verdict};

/// Characters from one lifeline to the next.
pub const COLUMN_CHARS: usize = 32;

/// Most characters of the content beside an arrow.
pub const DETAIL_CHARS_MAX: usize = 96;

/// Characters left of the first lifeline: number and time of the step.
const MARGIN_CHARS: usize = 22;

impl Scene {
    /// The diagram as text. The begin of a scenario is one line.
    pub fn text(&self) -> String {
        let mut drawing = Drawing { scene: self, text: String::new(), last: None };
        drawing.facts();
        drawing.heads();
        for row in &self.rows {
            if row.part != Part::Begin {
                drawing.row(row);
            }
        }
        drawing.verdict();
        drawing.text
    }
}

struct Drawing<'a> {
    scene: &'a Scene,
    text: String,
    /// Time of the row before.
    last: Option<Instant>,
}

impl Drawing<'_> {
    fn facts(&mut self) {
        let fact = |name: &str| self.scene.facts.iter().find(|(key, _)| *key == name);
        if let (Some((_, machines)), Some((_, scope))) = (fact("machines"), fact("scope")) {
            let line = format!("{} ({machines}; scope {scope})", self.scene.title);
            self.line(&line);
        }
        let begin = self.scene.begin();
        if !begin.is_empty() {
            self.line(&format!("begins behind: {begin}"));
        }
    }

    fn heads(&mut self) {
        let mut line = format!("{:>6} {:>12}", "step", "time");
        for (index, lifeline) in self.scene.lifelines.iter().enumerate() {
            let name = shortened(&lifeline.name(), COLUMN_CHARS - 2);
            let start = position_of(index).saturating_sub(name.chars().count() / 2);
            let gap = start.saturating_sub(line.chars().count()).max(1);
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(&name);
        }
        self.line(&line);
    }

    fn row(&mut self, row: &Row) {
        let since = row.now.as_micros() - self.scene.start().as_micros();
        let number = row.step.map(|step| step.to_string()).unwrap_or_default();
        let time = if self.last.replace(row.now) == Some(row.now) {
            String::new()
        } else {
            format!("+{}", duration(since))
        };
        let mut margin = format!("{number:>6} {time:>12}");
        if let Some(note) = &row.note {
            let line = format!("{}  ~~ {note} ~~", self.cells(&margin));
            self.line(&line);
            margin = String::new();
        } else if row.arrows.is_empty() {
            let line = format!("{}  {}", self.cells(&margin), row.title);
            self.line(&line);
        }
        for arrow in &row.arrows {
            self.arrow(&margin, arrow);
            margin = String::new();
        }
    }

    fn arrow(&mut self, margin: &str, arrow: &Arrow) {
        let Arrow { from, to, label, detail, is_rejected } = arrow;
        let mut cells: Vec<char> = self.cells(margin).chars().collect();
        let (left, right) = (position_of(*from.min(to)), position_of(*from.max(to)));
        cells[left + 1..right].fill('-');
        let tip_at = if from < to { right - 1 } else { left + 1 };
        cells[tip_at] = match is_rejected {
            true => 'x',
            false if from < to => '>',
            false => '<',
        };
        let label: Vec<char> =
            format!(" {} ", shortened(label, COLUMN_CHARS - 7)).chars().collect();
        // Beside the start of the arrow, so that a lifeline that is crossed does not hide it.
        let at = if from < to { left + 3 } else { right - 2 - label.len() };
        cells[at..at + label.len()].copy_from_slice(&label);
        let line: String = cells.into_iter().collect();
        // In a simulated world the label says what matters; the page has the rest.
        let is_said = self.scene.facts.iter().any(|(key, _)| *key == "scope") && !is_rejected;
        let detail = if is_said { "" } else { detail };
        self.line(&format!("{line}  {}", shortened(detail, DETAIL_CHARS_MAX)));
    }

    fn verdict(&mut self) {
        if let Verdict::Broken { rule, detail } = &self.scene.verdict {
            let line = format!("  !! {rule} broken: {detail}");
            self.line(&line);
        }
    }

    /// The margin and the lifelines.
    fn cells(&self, margin: &str) -> String {
        let mut cells: Vec<char> = margin.chars().collect();
        let count = self.scene.lifelines.len();
        if count > 0 {
            cells.resize(position_of(count - 1) + 1, ' ');
        }
        for index in 0..count {
            cells[position_of(index)] = '|';
        }
        cells.into_iter().collect()
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{}", line.trim_end()).expect("a String takes every text");
    }
}

fn position_of(column: usize) -> usize {
    MARGIN_CHARS + column * COLUMN_CHARS
}
