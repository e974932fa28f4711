//! The tables of the specification and those of the code are the same.

use std::fs;
use std::path::Path;

use runwarden_protocol::wire::actions::ActionKind;
use runwarden_protocol::wire::classes::Route;
use runwarden_protocol::wire::codes::Retryable;
use runwarden_protocol::wire::structures::Scope;
use runwarden_protocol::wire::{ActionName, Class, Close, Code, FrameType};

/// The rows of a page of the specification whose first cell is a name in backquotes.
fn rows(page: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/delivery").join(page);
    let text = fs::read_to_string(path).unwrap();
    let named = text.lines().filter(|line| line.starts_with("| `"));
    named.map(|line| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn name_of(row: &[String]) -> &str {
    row[0].split('`').nth(1).unwrap()
}

fn wire_name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

/// ACT-7 [unit]: every action of the specification, with its id rule, kind, scope and role.
#[test]
fn actions_are_those_of_the_specification() {
    let rows = rows("actions.md");
    let names: Vec<&str> = rows.iter().map(|row| name_of(row)).collect();
    assert_eq!(names, ActionName::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>());
    for (row, action) in rows.iter().zip(ActionName::ALL) {
        assert_eq!(row[3] == "R", action.request_id_required(), "{action}");
        assert_eq!(row[3] != "–", action.has_request_id(), "{action}");
        assert_eq!(row[0].contains("(owner)"), action.owner_only(), "{action}");
        match action.kind() {
            ActionKind::Upkeep => assert_eq!(row[4], "–"),
            kind => assert_eq!(row[4], wire_name(kind), "{action}"),
        }
        match row[5].as_str() {
            "–" => assert_eq!(action.scope(), Scope::System, "{action}"),
            by_kind if by_kind.contains("by kind") => {
                assert_eq!(action.scope(), Scope::Settings, "{action}");
            }
            scope => assert_eq!(scope, wire_name(action.scope()), "{action}"),
        }
        assert_eq!(Ok(*action), action.as_str().parse());
        assert_eq!(wire_name(action), action.as_str());
    }
}

/// SND-6 [unit]: the class of every frame type is that of the specification, and so are its route
/// and whether it may be fragmented.
#[test]
fn frame_types_are_those_of_the_specification() {
    let rows = rows("frames.md");
    let names: Vec<&str> = rows.iter().map(|row| name_of(row)).collect();
    assert_eq!(names, FrameType::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>());
    for (row, frame_type) in rows.iter().zip(FrameType::ALL) {
        let class = row[2].split([' ', ';']).next().unwrap();
        assert_eq!(class, wire_name(frame_type.push_class()), "{frame_type}");
        assert_eq!(row[4] == "F", frame_type.fragmentable(), "{frame_type}");
        let route = row[3].split([' ', ';']).next().unwrap();
        assert_eq!(route, route_text(frame_type.route()), "{frame_type}");
        assert_eq!(Ok(*frame_type), frame_type.as_str().parse());
        assert_eq!(wire_name(frame_type), frame_type.as_str());
    }
}

fn route_text(route: Route) -> &'static str {
    match route {
        Route::Connection => "conn",
        Route::Session => "session",
        Route::Readers => "readers",
        Route::Principal => "principal",
        Route::Owners => "owners",
        Route::All => "all",
        Route::None => "–",
    }
}

#[test]
fn codes_are_those_of_the_specification() {
    let rows = rows("codes.md");
    let names: Vec<&str> = rows.iter().map(|row| name_of(row)).collect();
    assert_eq!(names, Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    for (row, code) in rows.iter().zip(Code::ALL) {
        let http = code.http_status().map_or("–".to_owned(), |status| status.to_string());
        assert_eq!(row[1], http, "{code}");
        assert_eq!(row[2], wire_name(code.severity()), "{code}");
        assert_eq!(row[3], retryable_text(*code), "{code}");
        assert_eq!(row[4] == "yes", code.recorded(), "{code}");
        assert_eq!(Ok(*code), code.as_str().parse());
        assert_eq!(wire_name(code), code.as_str());
    }
}

fn retryable_text(code: Code) -> &'static str {
    match code.retryable() {
        Retryable::Always => "true",
        Retryable::Never => "false",
        Retryable::ByKind => "true for read and load, false for change and run",
        Retryable::AsStated if code == Code::JobFailed => "as stated by the job",
        Retryable::AsStated => "as stated by the turn",
    }
}

#[test]
fn closes_are_those_of_the_specification() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/delivery/codes.md");
    let text = fs::read_to_string(path).unwrap();
    let numbered = text.lines().filter_map(|line| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let code = cells.next()?.parse::<u16>().ok()?;
        Some((code, cells.next()?.trim_matches('`').replace("any", "")))
    });
    let closes = Close::ALL.iter().map(|close| (close.code(), close.reason().to_owned()));
    assert_eq!(numbered.collect::<Vec<_>>(), closes.collect::<Vec<_>>());
}

#[test]
fn caps_of_the_classes_nest() {
    let caps = |class: Class| (class.frames_cap(), class.bytes_cap());
    assert_eq!(caps(Class::Terminal), (256, 4_194_304));
    assert_eq!(caps(Class::Control), (256 - 64, 4_194_304 - 1_048_576));
    for class in [Class::Append, Class::Replace, Class::Snapshot] {
        assert_eq!(caps(class), (192 - 8, 3_145_728 - 65_536));
    }
}
