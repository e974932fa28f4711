use super::*;
use crate::cli::{Command, parse};

fn args(flags: &[&str]) -> ServeArgs {
    let all = std::iter::once("runwarden").chain(flags.iter().copied()).map(OsString::from);
    let Command::Serve(args) = parse(all).unwrap() else { panic!("not `serve`") };
    args
}

fn nothing(_: &str) -> Option<OsString> {
    None
}

/// Resolves with `text` as the file of a fresh state directory.
fn with_file(text: &str, flags: &[&str]) -> Result<Settings, ConfigError> {
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join(FILE_NAME), text).unwrap();
    let state = state.path().to_str().unwrap().to_owned();
    resolve(args(&[&["--state", &state], flags].concat()), &nothing)
}

fn invalid(text: &str) -> (usize, String, String) {
    match with_file(text, &[]) {
        Err(ConfigError::Invalid { line, key, message, .. }) => (line, key, message),
        other => panic!("{text:?} gave {other:?}"),
    }
}

const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

#[test]
fn without_a_file_the_defaults_are_in_force() {
    let settings = with_file("", &[]).unwrap();
    assert_eq!(settings.listen, LISTEN_DEFAULT);
    assert!(settings.principals.is_empty() && settings.agents.is_empty());
    assert_eq!(settings.limits, Limits::default());
    assert!(!settings.record);
}

#[test]
fn a_flag_beats_the_file_which_beats_the_default() {
    let file = "listen = '127.0.0.1:9000'\n[limits]\nruns_max = 3\nrun_max = 5000";
    let settings = with_file(file, &[]).unwrap();
    assert_eq!(settings.listen.port(), 9000);
    assert_eq!((settings.limits.runs_max, settings.limits.run_ms_max), (3, Some(5000)));
    assert_eq!(settings.limits.unwind_ms, 180_000);
    assert_eq!(with_file(file, &["--listen", "127.0.0.1:1"]).unwrap().listen.port(), 1);
}

#[test]
fn the_state_directory_comes_from_flag_file_or_environment() {
    let of = |name: &str| match name {
        "XDG_STATE_HOME" => Some(OsString::from("/x")),
        "HOME" => Some(OsString::from("/home/me")),
        _ => None,
    };
    assert_eq!(resolve(args(&[]), &of).unwrap().state, Path::new("/x/runwarden"));
    let home = |name: &str| (name == "HOME").then(|| OsString::from("/home/me"));
    let state = resolve(args(&[]), &home).unwrap().state;
    assert_eq!(state, Path::new("/home/me/.local/state/runwarden"));
    assert!(matches!(resolve(args(&[]), &nothing), Err(ConfigError::State(_))));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    std::fs::write(&path, "state = 'here'").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        resolve(args(&["--config", path]), &nothing).unwrap().state,
        folder.path().join("here")
    );
    let flags = args(&["--config", path, "--state", "/flag"]);
    assert_eq!(resolve(flags, &nothing).unwrap().state, Path::new("/flag"));
    assert!(matches!(with_file("state = 'x'", &[]), Err(ConfigError::Contradiction { .. })));
}

#[test]
fn a_missing_file_counts_only_when_it_was_named() {
    let error = resolve(args(&["--config", "/nonexistent/a.toml"]), &of_home).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/a.toml"), "{error}");
    assert!(resolve(args(&["--state", "/nonexistent"]), &nothing).is_ok());
}

fn of_home(name: &str) -> Option<OsString> {
    (name == "HOME").then(|| OsString::from("/h"))
}

#[test]
fn an_unknown_key_is_named_with_file_and_line() {
    let (line, key, message) = invalid("\n[limits]\nruns_max = 3\nruns_min = 4\n");
    assert_eq!((line, key.as_str()), (4, "limits.runs_min"));
    assert!(message.contains("unknown field `runs_min`"), "{message}");
    let (line, key, _) = invalid("lisen = '127.0.0.1:1'");
    assert_eq!((line, key.as_str()), (1, "lisen"));
    let (line, key, _) = invalid("[[agent]]\nname='a'\nkind='demo'\n[[agent]]\nkind='demo'\nx=1");
    assert_eq!((line, key.as_str()), (6, "agent[1].x"));
    let shown = with_file("wat = 1", &[]).unwrap_err().to_string();
    assert!(shown.contains("runwarden.toml:1: `wat`: unknown field"), "{shown}");
}

#[test]
fn a_wrong_type_or_value_is_named_with_file_and_line() {
    for (text, line, key) in [
        ("\nlisten = 8787", 2, "listen"),
        ("listen = 'somewhere'", 1, "listen"),
        ("trusted_proxies = ['10.0.0.0/8',\n'x']", 1, "trusted_proxies[1]"),
        ("public_url = 'ftp://example.org'", 1, "public_url"),
        ("[limits]\nrun_max = 'long'", 2, "limits.run_max"),
        ("[limits]\nunwind = 0", 2, "limits.unwind"),
        ("[limits]\nruns_max = -1", 2, "limits.runs_max"),
        ("[limits]\nruns_max = 1.5", 2, "limits.runs_max"),
        ("[[agent]]\nname='a'\nkind='magic'", 3, "agent[0].kind"),
        (
            "[[principal]]\nname='a'\nrole='owner'\ntoken_sha256='ab'",
            4,
            "principal[0].token_sha256",
        ),
        ("[[principal]]\nname=''\nrole='owner'", 2, "principal[0].name"),
        ("[[principal]]\nname='a'\nrole='king'", 3, "principal[0].role"),
    ] {
        let (found_line, found_key, message) = invalid(text);
        assert_eq!((found_line, found_key.as_str()), (line, key), "{text}: {message}");
    }
    assert_eq!(invalid("\n\nlisten = ").0, 3);
    assert!(invalid("[[principal]]\nname='a'\nrole='owner'").2.contains("token_sha256"));
}

#[test]
fn limits_hold_at_their_bounds() {
    for (text, is_fine) in [
        ("runs_max = 0", false),
        ("runs_max = 1", true),
        ("runs_max = 4096", true),
        ("runs_max = 4097", false),
        ("record_bytes_max = -1", false),
        ("record_bytes_max = 0", true),
        ("record_bytes_max = 1", false),
        ("record_bytes_max = 16383", false),
        ("record_bytes_max = 16384", true),
        ("record_bytes_max = 1048576", true),
        ("record_bytes_max = 1048577", false),
        ("disk_low = -1", false),
        ("disk_low = 0", true),
        ("disk_low = 17592186044416", true),
        ("disk_low = 17592186044417", false),
        ("agents_kept_max = 0", false),
        ("agents_kept_max = 1", true),
        ("agents_kept_max = 1024", true),
        ("agents_kept_max = 1025", false),
        ("ask_timeout = 0", false),
        ("ask_timeout = 1", true),
        ("journal_retention = 0", false),
        ("journal_retention = 1", true),
        ("journal_retention = 315360000000", true),
        ("journal_retention = 315360000001", false),
        ("agent_silence_max = 2592000000", true),
        ("agent_silence_max = 2592000001", false),
    ] {
        assert_eq!(with_file(&format!("[limits]\n{text}"), &[]).is_ok(), is_fine, "{text}");
    }
}

#[test]
fn a_file_above_the_bound_is_refused() {
    let bytes_max = usize::try_from(FILE_BYTES_MAX).unwrap();
    assert!(with_file(&"#".repeat(bytes_max), &[]).is_ok());
    assert!(with_file(&"#".repeat(bytes_max + 1), &[]).is_err());
}

/// PRIN-1 [unit]: a list with a doubled name, a doubled token, or a missing part is refused.
#[test]
fn a_faulty_list_of_principals_is_refused() {
    let entry = |name: &str, hash: &str| {
        format!("[[principal]]\nname = '{name}'\nrole = 'viewer'\ntoken_sha256 = '{hash}'\n")
    };
    let other = HASH.replace('9', "8");
    let settings = with_file(&(entry("a", HASH) + &entry("b", &other)), &[]).unwrap();
    assert_eq!(settings.principals.len(), 2);
    assert_eq!(settings.principals[0].token_hash, TokenHash::of("test"));
    assert_eq!(settings.principals[0].role, Role::Viewer);
    for faulty in [entry("a", HASH) + &entry("a", &other), entry("a", HASH) + &entry("b", HASH)] {
        assert!(matches!(with_file(&faulty, &[]), Err(ConfigError::Contradiction { .. })));
    }
}

#[test]
fn the_token_flag_names_the_operator_beside_the_list() {
    let file = format!(
        "[[principal]]\nname='operator'\nrole='viewer'\ntoken_sha256='{HASH}'\n\
         [[principal]]\nname='b'\nrole='viewer'\ntoken_sha256='{}'",
        HASH.replace('9', "8")
    );
    let settings = with_file(&file, &["--token", "mine"]).unwrap();
    let names: Vec<_> = settings.principals.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["b", OPERATOR]);
    assert_eq!(settings.principals[1].token_hash, TokenHash::of("mine"));
    assert_eq!(settings.principals[1].role, Role::Owner);
    let (longest, too_long) = ("x".repeat(TOKEN_BYTES_MAX), "x".repeat(TOKEN_BYTES_MAX + 1));
    assert!(with_file("", &["--token", &longest]).is_ok());
    for token in ["", "a b", "ü", &too_long] {
        assert!(matches!(with_file("", &["--token", token]), Err(ConfigError::Token)));
    }
}

#[test]
fn an_address_others_can_reach_needs_a_configured_token() {
    for listen in ["0.0.0.0:1", "192.168.1.2:1", "[::]:1"] {
        let error = with_file("", &["--listen", listen]).unwrap_err();
        assert!(matches!(error, ConfigError::OpenToOthers { .. }), "{error}");
        assert!(error.to_string().contains("--token"), "{error}");
        assert!(with_file("", &["--listen", listen, "--token", "t"]).is_ok());
    }
    assert!(with_file("", &["--listen", "[::1]:1"]).is_ok());
}

#[test]
fn a_public_url_is_taken_apart() {
    let of = |text: &str| PublicUrl::try_from(text.to_owned());
    let url = of("https://Example.org/runwarden").unwrap();
    assert!(url.is_https);
    assert_eq!((url.host.as_str(), url.port), ("example.org", 443));
    assert_eq!(url.base_path, "/runwarden/");
    let url = of("http://[::1]:8080").unwrap();
    assert_eq!((url.host.as_str(), url.port, url.base_path.as_str()), ("[::1]", 8080, "/"));
    for wrong in
        ["example.org", "/x", "https://u@example.org/", "https://e.org/?q", "https://e.org/#f", ""]
    {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_example_configuration_starts_as_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/example/runwarden.toml");
    let settings = resolve(args(&["--config", path, "--state", "/s"]), &nothing).unwrap();
    assert!(settings.listen.ip().is_loopback());
    assert_eq!(settings.agents[0].name, "demo");
    // Every line that is commented out is a setting that would be accepted.
    let text = std::fs::read_to_string(path).unwrap();
    let all: Vec<_> = text.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect();
    file::parse(&all.join("\n")).unwrap();
}
