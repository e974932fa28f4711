//! Sizes of texts in their JSON form, without building it.

/// Bytes of `text` inside a JSON string, its quotes not counted.
pub fn json_text_bytes(text: &str) -> usize {
    text.chars().map(json_char_bytes).sum()
}

/// Bytes of one character inside a JSON string.
pub const fn json_char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_encoder_for_every_character() {
        for character in '\0'..=char::MAX {
            let encoded = serde_json::to_string(&character).unwrap();
            assert_eq!(json_char_bytes(character) + 2, encoded.len(), "{character:?}");
        }
        let text = "a \"b\"\n\u{1}é\u{2028}🦀";
        assert_eq!(json_text_bytes(text) + 2, serde_json::to_string(text).unwrap().len());
    }
}
