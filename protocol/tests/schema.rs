//! The committed schema is the one the types have.
#![expect(clippy::disallowed_methods, reason = "a test asks whether to rewrite the file")]

use std::fs;
use std::path::Path;

use runwarden_protocol::wire::schema::schema;

#[test]
fn committed_schema_equals_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/schema.json");
    let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var("RUNWARDEN_BLESS").as_deref() == Ok("1") {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "docs/spec/schema.json is not what the types say; run the test with RUNWARDEN_BLESS=1 and commit the file"
    );
}
