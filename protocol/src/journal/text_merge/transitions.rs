use super::state::{
    Collected, Input, Output, PIECE_BYTES_MAX, ROW_JSON_BYTES_MAX, TEXT_MERGE, TextMerge,
};
use crate::ids::ItemId;
use crate::instant::Instant;
use crate::journal::row::ItemKind;
use crate::json_bytes::json_char_bytes;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for TextMerge {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (&*self, input) {
            (Self::Empty | Self::Collecting(_), Input::Text { item_id, item_kind, text }) => {
                self.take(now, (item_id, item_kind), &text, out)
            }
            (Self::Collecting(_), Input::Flush) => {
                self.flush(out);
                Ok(())
            }
            (Self::Empty, Input::Flush) => Ok(()),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        match self {
            Self::Collecting(collected) if collected.due <= now => self.flush(out),
            Self::Collecting(_) | Self::Empty => {}
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        match self {
            Self::Empty => None,
            Self::Collecting(collected) => Some((collected.due, TimerKind::TextMerge)),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Collecting(collected) => collected.text.len(),
        }
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Collecting(_) => "collecting",
        }
    }
}

impl TextMerge {
    fn take(
        &mut self,
        now: Instant,
        item: (ItemId, ItemKind),
        text: &str,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.check(item, text)?;
        if text.is_empty() {
            return Ok(());
        }
        let collected = match std::mem::take(self) {
            Self::Collecting(old) if old.item_id == item.0 && now < old.due => old,
            Self::Collecting(old) => {
                emit(item_of(&old), vec![old.text], out);
                start(now, item)
            }
            Self::Empty => start(now, item),
        };
        *self = append(collected, now, text, out);
        Ok(())
    }

    fn check(&self, item: (ItemId, ItemKind), text: &str) -> Result<(), Reject> {
        if !item.1.is_text() {
            return Err(Reject::Local("not_a_text_item"));
        }
        if text.len() > PIECE_BYTES_MAX {
            return Err(Reject::Local("piece_too_long"));
        }
        match self {
            Self::Collecting(old) if old.item_id == item.0 && old.item_kind != item.1 => {
                Err(Reject::Local("item_kind_changed"))
            }
            Self::Collecting(_) | Self::Empty => Ok(()),
        }
    }

    fn flush(&mut self, out: &mut Outbox<Output>) {
        match std::mem::take(self) {
            Self::Collecting(old) => emit(item_of(&old), vec![old.text], out),
            Self::Empty => {}
        }
    }
}

/// Adds `text`, cutting off each full row; what is left is as old as this piece.
fn append(
    mut collected: Collected,
    now: Instant,
    text: &str,
    out: &mut Outbox<Output>,
) -> TextMerge {
    let mut full = Vec::new();
    for character in text.chars() {
        let bytes = json_char_bytes(character);
        if collected.json_bytes + bytes > ROW_JSON_BYTES_MAX {
            full.push(std::mem::take(&mut collected.text));
            collected = start(now, item_of(&collected));
        }
        collected.text.push(character);
        collected.json_bytes += bytes;
    }
    let item = item_of(&collected);
    let is_full = collected.json_bytes == ROW_JSON_BYTES_MAX;
    let next = if is_full {
        full.push(collected.text);
        TextMerge::Empty
    } else {
        TextMerge::Collecting(collected)
    };
    emit(item, full, out);
    next
}

fn emit((item_id, item_kind): (ItemId, ItemKind), texts: Vec<String>, out: &mut Outbox<Output>) {
    if !texts.is_empty() {
        out.push(Output::Rows { item_id, item_kind, texts });
    }
}

const fn item_of(collected: &Collected) -> (ItemId, ItemKind) {
    (collected.item_id, collected.item_kind)
}

fn start(now: Instant, (item_id, item_kind): (ItemId, ItemKind)) -> Collected {
    let due = now.plus(TEXT_MERGE);
    Collected { item_id, item_kind, text: String::new(), json_bytes: 0, due }
}
