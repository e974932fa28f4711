//! The example of `docs/spec/record.md`, checked by a digest written from its text alone.

use runwarden_conformance::workspace::{Tree, root};
use serde_json::Value;

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

#[test]
fn the_example_of_the_record_page_carries_its_own_digests() {
    let tree = Tree::read(&root()).unwrap();
    let page = tree.text("docs/spec/record.md").expect("the page is there");
    let example = page.split("```jsonl\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut digest = OFFSET_BASIS;
    let mut records = 0;
    for line in example.expect("the page has an example").lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let stated = record.as_object_mut().unwrap().remove("digest").unwrap();
        digest = canonical(&record)
            .bytes()
            .fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        records += 1;
        assert_eq!(record["n"], records);
        assert_eq!(stated, format!("{digest:016x}"), "record {records}");
    }
    assert_eq!(records, 3);
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(canonical).collect();
            format!("[{}]", values.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
