//! The diagram as a page that needs nothing else: no script, no font, no network.

use std::fmt::Write;

use super::caption::duration;
use super::scene::{Part, Row, Scene, Verdict};
use super::svg::{STYLE, escaped};

const PAGE_STYLE: &str = include_str!("page.css");

impl Scene {
    /// The page: what was run, the diagram, and every step with its content.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let mut body = format!("<h1>{title}</h1>");
        body.push_str(&verdict(&self.verdict));
        body.push_str("<dl class=\"facts\">");
        for (name, value) in &self.facts {
            let _ = write!(body, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value));
        }
        let _ = write!(
            body,
            "</dl><div class=\"diagram\" tabindex=\"0\" aria-label=\"sequence diagram\">{}</div>\
             <h2>Step by step</h2>",
            self.picture()
        );
        let (begin, rest): (Vec<_>, Vec<_>) =
            self.rows.iter().partition(|row| row.part == Part::Begin);
        if !begin.is_empty() {
            let steps: String = begin.iter().map(|row| self.step(row, false)).collect();
            let _ = write!(
                body,
                "<details><summary>{} steps where the scenario begins</summary>\
                 <ol class=\"steps\">{steps}</ol></details>",
                begin.len()
            );
        }
        body.push_str("<ol class=\"steps\">");
        for (index, row) in rest.iter().enumerate() {
            let is_last = index + 1 == rest.len();
            body.push_str(&self.step(row, is_last && self.verdict != Verdict::Held));
        }
        body.push_str("</ol>");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<main>{body}</main>\n</body>\n</html>\n"
        )
    }

    fn step(&self, row: &Row, is_broken: bool) -> String {
        let class = match (is_broken, row.part) {
            (true, _) => "broken",
            (false, Part::Begin) => "begin",
            (false, Part::File | Part::UnderSeed) => "file",
        };
        let number = match (row.part, row.step) {
            (Part::Begin, _) | (_, None) => "·".to_owned(),
            (Part::File | Part::UnderSeed, Some(step)) => step.to_string(),
        };
        let since = row.now.as_micros() - self.start().as_micros();
        let time = match since {
            0 => String::new(),
            since => format!("<time>+{}</time>", duration(since)),
        };
        let mut text = format!(
            "<li class=\"{class}\"><span class=\"number\">{number}</span>\
             <div><p class=\"title\">{}{time}</p>",
            escaped(if row.title.is_empty() {
                row.arrows.first().map_or("", |arrow| arrow.label.as_str())
            } else {
                &row.title
            })
        );
        if let Some(note) = &row.note {
            let _ = write!(text, "<p class=\"note\">{}</p>", escaped(note));
        }
        if !row.arrows.is_empty() {
            text.push_str("<ul>");
        }
        for arrow in &row.arrows {
            let name = |index: usize| escaped(&self.lifelines[index].name());
            let _ = write!(
                text,
                "<li><b>{} → {}</b> {} <code>{}</code></li>",
                name(arrow.from),
                name(arrow.to),
                escaped(&arrow.label),
                escaped(&arrow.detail)
            );
        }
        if !row.arrows.is_empty() {
            text.push_str("</ul>");
        }
        if !row.aside.is_empty() {
            let _ = write!(text, "<p class=\"aside\">also: {}</p>", escaped(&row.aside.join(", ")));
        }
        text + "</div></li>"
    }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Held => "<p class=\"outcome held\">No rule is broken.</p>".to_owned(),
        Verdict::Broken { rule, detail } => format!(
            "<p class=\"outcome bad\"><strong>{} broken</strong> {}</p>",
            escaped(rule),
            escaped(detail)
        ),
    }
}
