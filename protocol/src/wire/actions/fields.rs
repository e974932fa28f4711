//! Reading the fields of an action, naming the one that is refused.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::envelope::{JsonObject, is_safe};
use crate::wire::limits::{
    ATTACHMENTS_PER_MESSAGE, CATEGORIES_MAX, CURSOR_CHARS_MAX, FEATURES_MAX,
    IDEMPOTENCY_KEY_CHARS_MAX, INTEGER_MAX, KNOWN_SEQS_MAX, LIST_LIMIT, MESSAGE_BYTES_MAX,
    STEER_BYTES_MAX, TITLE_CHARS_MAX,
};
use crate::wire::structures::Limit;

/// An action whose fields can be read from its object.
pub(super) trait ReadFields: Sized {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal>;
}

/// A field that is missing or outside its type or range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldRefusal {
    pub(super) field: &'static str,
    pub(super) limit: Option<Limit>,
}

impl FieldRefusal {
    pub(super) fn outside(field: &'static str) -> Self {
        Self { field, limit: None }
    }

    fn above(field: &'static str, name: &str, max: usize) -> Self {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        Self { field, limit: Some(Limit { name: name.to_owned(), max }) }
    }
}

type Read<T> = Result<T, FieldRefusal>;

/// The object of an action. A missing field is null, and unknown ones are ignored (2.2).
pub(super) struct Fields<'a> {
    object: &'a JsonObject,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: &'a JsonObject) -> Self {
        Self { object }
    }

    pub(super) fn id(&self, field: &'static str) -> Read<String> {
        required(field, self.optional_id(field)?)
    }

    pub(super) fn optional_id(&self, field: &'static str) -> Read<Option<String>> {
        self.optional_string(field, is_safe)
    }

    pub(super) fn optional_key(&self, field: &'static str) -> Read<Option<String>> {
        self.optional_string(field, |text| {
            (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&text.chars().count())
        })
    }

    pub(super) fn optional_cursor(&self, field: &'static str) -> Read<Option<String>> {
        self.optional_string(field, |text| text.is_ascii() && text.len() <= CURSOR_CHARS_MAX)
    }

    pub(super) fn integer(&self, field: &'static str) -> Read<i64> {
        required(field, self.optional_integer(field)?)
    }

    pub(super) fn optional_integer(&self, field: &'static str) -> Read<Option<i64>> {
        self.optional(field, integer)
    }

    pub(super) fn optional_list_limit(&self, field: &'static str) -> Read<Option<i64>> {
        self.optional(field, |value| integer(value).filter(|n| (1..=LIST_LIMIT).contains(n)))
    }

    pub(super) fn boolean(&self, field: &'static str) -> Read<bool> {
        required(field, self.optional_boolean(field)?)
    }

    pub(super) fn optional_boolean(&self, field: &'static str) -> Read<Option<bool>> {
        self.optional(field, Value::as_bool)
    }

    pub(super) fn object(&self, field: &'static str) -> Read<JsonObject> {
        required(field, self.optional_object(field)?)
    }

    pub(super) fn optional_object(&self, field: &'static str) -> Read<Option<JsonObject>> {
        self.optional(field, |value| value.as_object().cloned())
    }

    pub(super) fn choice<T: DeserializeOwned>(&self, field: &'static str) -> Read<T> {
        required(field, self.optional_choice(field)?)
    }

    pub(super) fn optional_choice<T: DeserializeOwned>(
        &self,
        field: &'static str,
    ) -> Read<Option<T>> {
        self.optional(field, |value| {
            value.as_str()?;
            T::deserialize(value).ok()
        })
    }

    /// A title or a query (RATE-1).
    pub(super) fn optional_title(&self, field: &'static str) -> Read<Option<String>> {
        let title = self.optional_string(field, |_| true)?;
        let chars = title.as_deref().map_or(0, |text| text.chars().count());
        within(title, field, "title_chars_max", chars, TITLE_CHARS_MAX)
    }

    pub(super) fn message_text(&self, field: &'static str) -> Read<String> {
        required(field, self.optional_message_text(field)?)
    }

    /// The text of a message (RATE-1).
    pub(super) fn optional_message_text(&self, field: &'static str) -> Read<Option<String>> {
        let text = self.optional_string(field, |_| true)?;
        let bytes = text.as_deref().map_or(0, str::len);
        within(text, field, "message_bytes_max", bytes, MESSAGE_BYTES_MAX)
    }

    /// The text of a steer (RATE-1).
    pub(super) fn steer_text(&self, field: &'static str) -> Read<String> {
        let text = required(field, self.optional_string(field, |_| true)?)?;
        let bytes = text.len();
        within(text, field, "steer_bytes_max", bytes, STEER_BYTES_MAX)
    }

    /// Attachment ids (RATE-1).
    pub(super) fn attachments(&self, field: &'static str) -> Read<Option<Vec<String>>> {
        let ids = self.optional_ids(field)?;
        let count = ids.as_ref().map_or(0, Vec::len);
        within(ids, field, "attachments_per_message", count, ATTACHMENTS_PER_MESSAGE)
    }

    pub(super) fn features(&self, field: &'static str) -> Read<Vec<String>> {
        let features = required(field, self.optional_ids(field)?)?;
        if features.len() > FEATURES_MAX {
            return Err(FieldRefusal::outside(field));
        }
        Ok(features)
    }

    pub(super) fn categories(&self, field: &'static str) -> Read<Vec<String>> {
        let categories = required(field, self.optional_ids(field)?)?;
        if !(1..=CATEGORIES_MAX).contains(&categories.len()) {
            return Err(FieldRefusal::outside(field));
        }
        Ok(categories)
    }

    pub(super) fn optional_known_seqs(
        &self,
        field: &'static str,
    ) -> Read<Option<BTreeMap<String, i64>>> {
        let seqs = self.optional(field, |value| {
            let entries = value.as_object()?.iter();
            entries
                .map(|(id, seq)| Some((id.clone(), integer(seq)?)).filter(|_| is_safe(id)))
                .collect::<Option<BTreeMap<_, _>>>()
        })?;
        let count = seqs.as_ref().map_or(0, BTreeMap::len);
        within(seqs, field, "known_seqs_max", count, KNOWN_SEQS_MAX)
    }

    fn optional_ids(&self, field: &'static str) -> Read<Option<Vec<String>>> {
        self.optional(field, |value| {
            let texts = value.as_array()?.iter().map(Value::as_str);
            texts.map(|text| text.filter(|text| is_safe(text)).map(str::to_owned)).collect()
        })
    }

    fn optional_string(
        &self,
        field: &'static str,
        accept: impl Fn(&str) -> bool,
    ) -> Read<Option<String>> {
        self.optional(field, |value| value.as_str().filter(|text| accept(text)).map(str::to_owned))
    }

    fn optional<T>(
        &self,
        field: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Read<Option<T>> {
        match self.object.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).ok_or(FieldRefusal::outside(field)),
        }
    }
}

fn required<T>(field: &'static str, value: Option<T>) -> Read<T> {
    value.ok_or(FieldRefusal::outside(field))
}

fn within<T>(value: T, field: &'static str, name: &str, size: usize, max: usize) -> Read<T> {
    if size > max { Err(FieldRefusal::above(field, name, max)) } else { Ok(value) }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().filter(|n| (-INTEGER_MAX..=INTEGER_MAX).contains(n))
}
