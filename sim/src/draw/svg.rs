//! The diagram as a picture.

use std::fmt::Write;

use runwarden_protocol::instant::Instant;

use super::caption::{duration, shortened};
use super::scene::{Arrow, Lifeline, Part, Row, Scene, Verdict};

const GUTTER: usize = 120;
/// A picture of few lifelines is as wide as a page, one of many is wider.
const WIDTH: usize = 1_120;
const COLUMN_MIN: usize = 168;
const COLUMN_MAX: usize = 230;
const HEAD: usize = 64;
const ARROW: usize = 30;
const NOTE: usize = 34;
const PAD: usize = 14;
const RIGHT: usize = 106;

/// Colours and fonts; a page around the picture may set `--race-*` itself.
pub(super) const STYLE: &str = include_str!("diagram.css");

impl Scene {
    /// The picture as a file of its own. All text can be selected.
    pub fn svg(&self) -> String {
        let mut picture = self.picture();
        let style = format!("<style>{STYLE}</style>");
        let at = picture.find('>').expect("a picture has a first tag") + 1;
        picture.insert_str(at, &style);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{picture}\n")
    }

    /// The picture without its style, to stand inside a page.
    pub(super) fn picture(&self) -> String {
        let gaps = self.lifelines.len().saturating_sub(1).max(1);
        let column = ((WIDTH - GUTTER - 42 - RIGHT) / gaps).clamp(COLUMN_MIN, COLUMN_MAX);
        let last = self.start();
        Picture { scene: self, body: String::new(), y: HEAD + PAD, column, last }.draw()
    }
}

struct Picture<'a> {
    scene: &'a Scene,
    body: String,
    y: usize,
    /// From one lifeline to the next.
    column: usize,
    /// Time of the row before.
    last: Instant,
}

impl Picture<'_> {
    fn draw(mut self) -> String {
        let mut part = Part::File;
        self.begin();
        for (index, row) in self.scene.rows.iter().enumerate() {
            if row.part == Part::Begin {
                continue;
            }
            if row.part != part {
                self.part("on under the seed");
                part = row.part;
            }
            let is_last = index + 1 == self.scene.rows.len();
            self.row(row, is_last && self.scene.verdict != Verdict::Held);
        }
        self.verdict();
        let (width, height) = (self.width(), self.y + PAD);
        let mut lines = String::new();
        for (index, lifeline) in self.scene.lifelines.iter().enumerate() {
            self.head(&mut lines, index, lifeline, height);
        }
        format!(
            "<svg class=\"race\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>{lines}{}</svg>",
            escaped(&self.scene.title),
            self.body
        )
    }

    fn width(&self) -> usize {
        let gaps = self.scene.lifelines.len().saturating_sub(1).max(1);
        GUTTER + 42 + gaps * self.column + RIGHT
    }

    fn x_of(&self, column: usize) -> usize {
        GUTTER + 42 + column * self.column
    }

    fn head(&self, lines: &mut String, index: usize, lifeline: &Lifeline, height: usize) {
        let x = self.x_of(index);
        let half = (self.column - 28).min(180) / 2;
        let role = role_of(lifeline);
        let name = shortened(&lifeline.name(), 22);
        let _ = write!(
            lines,
            "<line class=\"life\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{}\"/>\
             <rect class=\"head {role}\" x=\"{}\" y=\"20\" width=\"{}\" height=\"36\" rx=\"8\"/>\
             <text class=\"name\" x=\"{x}\" y=\"43\">{}</text>",
            height - PAD,
            x - half,
            half * 2,
            escaped(&name)
        );
    }

    /// What happened before the schedule, in a few lines.
    fn begin(&mut self) {
        let text = self.scene.begin();
        if text.is_empty() {
            return;
        }
        let width = self.width() - 32;
        for line in wrapped(&format!("begins behind: {text}"), width / 7) {
            let _ = write!(
                self.body,
                "<text class=\"part\" x=\"16\" y=\"{}\">{}</text>",
                self.y + 16,
                escaped(&line)
            );
            self.y += 20;
        }
        self.y += PAD;
    }

    fn part(&mut self, title: &str) {
        let y = self.y + 18;
        let right = self.width() - 16;
        let _ = write!(
            self.body,
            "<line class=\"part\" x1=\"16\" y1=\"{}\" x2=\"{right}\" y2=\"{}\"/>\
             <text class=\"part\" x=\"16\" y=\"{}\">{title}</text>",
            y + 8,
            y + 8,
            y
        );
        self.y += NOTE;
    }

    fn row(&mut self, row: &Row, is_broken: bool) {
        let height = PAD
            + row.arrows.len() * ARROW
            + if row.note.is_some() || row.arrows.is_empty() { NOTE } else { 0 };
        let class = match (is_broken, row.part) {
            (true, _) => "row broken",
            (false, Part::Begin | Part::File | Part::UnderSeed) => "row",
        };
        let right = self.width() - 16;
        let _ = write!(
            self.body,
            "<g class=\"{class}\"><title>{}</title>\
             <rect class=\"band\" x=\"8\" y=\"{}\" width=\"{right}\" height=\"{height}\" rx=\"6\"/>",
            escaped(&row.title),
            self.y
        );
        self.margin(row);
        self.y += PAD / 2;
        if let Some(note) = &row.note {
            self.note(note);
        } else if row.arrows.is_empty() {
            self.note(&row.title);
        }
        for arrow in &row.arrows {
            self.arrow(arrow);
        }
        self.y += PAD / 2 + 4;
        self.body.push_str("</g>");
    }

    fn margin(&mut self, row: &Row) {
        let y = self.y + 24;
        if let Some(step) = row.step {
            let _ = write!(
                self.body,
                "<circle class=\"dot\" cx=\"34\" cy=\"{}\" r=\"12\"/>\
                 <text class=\"step\" x=\"34\" y=\"{y}\">{step}</text>",
                y - 4
            );
        }
        let since = row.now.as_micros() - self.scene.start().as_micros();
        if std::mem::replace(&mut self.last, row.now) != row.now {
            let _ = write!(
                self.body,
                "<text class=\"time\" x=\"54\" y=\"{y}\">+{}</text>",
                duration(since)
            );
        }
    }

    fn note(&mut self, text: &str) {
        let (left, right) = (GUTTER - 6, self.width() - 32);
        let _ = write!(
            self.body,
            "<rect class=\"note\" x=\"{left}\" y=\"{}\" width=\"{}\" height=\"24\" rx=\"12\"/>\
             <text class=\"note\" x=\"{}\" y=\"{}\">{}</text>",
            self.y + 3,
            right - left,
            left + 14,
            self.y + 19,
            escaped(&shortened(text, (right - left) / 8))
        );
        self.y += NOTE;
    }

    fn arrow(&mut self, arrow: &Arrow) {
        let (from, to) = (self.x_of(arrow.from), self.x_of(arrow.to));
        let y = self.y + 22;
        let is_right = from < to;
        let tip = if is_right { to - 2 } else { to + 2 };
        let wing = if is_right { tip - 9 } else { tip + 9 };
        let class = if arrow.is_rejected { "arrow rejected" } else { "arrow" };
        // The label stands over the first gap, so that no lifeline crosses it.
        let middle = if is_right { from + self.column / 2 } else { from - self.column / 2 };
        let _ = write!(
            self.body,
            "<g class=\"{class}\"><title>{}</title>\
             <line x1=\"{from}\" y1=\"{y}\" x2=\"{tip}\" y2=\"{y}\"/>\
             <path d=\"M{wing} {}L{tip} {y}L{wing} {}\"/>\
             <circle cx=\"{from}\" cy=\"{y}\" r=\"3\"/>\
             <text x=\"{middle}\" y=\"{}\">{}</text></g>",
            escaped(&arrow.detail),
            y - 5,
            y + 5,
            y - 6,
            escaped(&shortened(&arrow.label, self.column / 7))
        );
        self.y += ARROW;
    }

    fn verdict(&mut self) {
        let Verdict::Broken { rule, detail } = &self.scene.verdict else { return };
        let (left, right) = (8, self.width() - 8);
        let lines = wrapped(detail, (right - left - 48) / 8);
        let height = 44 + lines.len() * 20;
        let _ = write!(
            self.body,
            "<g class=\"verdict\"><rect x=\"{left}\" y=\"{}\" width=\"{}\" height=\"{height}\" rx=\"8\"/>\
             <text class=\"rule\" x=\"28\" y=\"{}\">✕ {} broken</text>",
            self.y,
            right - left,
            self.y + 28,
            escaped(rule)
        );
        for (index, line) in lines.iter().enumerate() {
            let y = self.y + 50 + index * 20;
            let _ = write!(self.body, "<text x=\"28\" y=\"{y}\">{}</text>", escaped(line));
        }
        self.body.push_str("</g>");
        self.y += height;
    }
}

/// Text for an element or an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The class that gives a lifeline its colour.
pub(super) fn role_of(lifeline: &Lifeline) -> &'static str {
    match lifeline {
        Lifeline::Client(_) => "client",
        Lifeline::Machine(_) => "machine",
        Lifeline::Store => "store",
        Lifeline::Worker(_) => "worker",
        Lifeline::Transport | Lifeline::Server => "other",
    }
}

fn wrapped(text: &str, chars_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > chars_max {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
