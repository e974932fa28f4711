//! The tools of the browser tests are there where they are required.

#[path = "support/tools.rs"]
mod tools;

#[test]
fn tools_that_are_required_are_found() {
    for path in [tools::node(), tools::chromium()].into_iter().flatten() {
        assert!(path.is_file(), "{}", path.display());
    }
}
