//! The command line of `runwarden`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// What to do, and the flags that say how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Serve until asked to stop.
    Serve(ServeArgs),
    /// Look at the state directory and try the agents.
    Doctor(DoctorArgs),
    /// Write what the flight recorder has of a session as a race file.
    ExportRecord(ExportArgs),
}

/// Flags of `runwarden record export`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ExportArgs {
    /// The session, as the address of its page shows it
    #[arg(long, value_name = "SESSION")]
    pub session: String,
    /// Where to write the race file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// State directory of the server [default: as of `serve`]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Configuration file of the server [default: as of `serve`]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Token of the session's owner or of the principal `operator` [default: the generated one]
    #[arg(long, value_name = "T")]
    pub token: Option<String>,
}

/// Flags of `runwarden doctor`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorArgs {
    /// State directory to look at [default: as of `serve`]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Configuration file whose agents are tried [default: as of `serve`]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Token of the principal `operator`, to ask a running server with [default: the generated one]
    #[arg(long, value_name = "T")]
    pub token: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Flags of `runwarden serve`. A flag beats the configuration file, which beats the default.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeArgs {
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub listen: Option<SocketAddr>,
    /// Directory that holds sessions, token and logs [default: $XDG_STATE_HOME/runwarden]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Configuration file [default: runwarden.toml in the state directory, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Agent of sessions that name none [default: the first one configured]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Token of the principal `operator` [default: generated once and kept in the state directory]
    #[arg(long, value_name = "T")]
    pub token: Option<String>,
    /// Write every step of every session to logs/records in the state directory; grows without bound
    #[arg(long)]
    pub record: bool,
}

/// Reads the command line, the program's name included.
///
/// # Errors
/// What clap prints, with its exit code: 2 for a wrong call, 0 for `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let cli = Cli::try_parse_from(arguments)?;
    Ok(match cli.verb {
        Some(Verb::Serve(serve)) => Command::Serve(serve),
        Some(Verb::Doctor(doctor)) => Command::Doctor(doctor),
        Some(Verb::Record { verb: RecordVerb::Export(export) }) => Command::ExportRecord(export),
        None => Command::Serve(cli.serve),
    })
}

/// A server for agent runs: admits one run per session, streams it, obeys Stop, loses nothing
#[derive(Parser, Debug)]
#[command(name = "runwarden", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    serve: ServeArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Serve until SIGTERM or ctrl-c; what happens without a command
    Serve(ServeArgs),
    /// Look at the state directory, read-only, and try each agent; exit code 1 when something is found
    Doctor(DoctorArgs),
    /// What the flight recorder keeps of each session
    Record {
        #[command(subcommand)]
        verb: RecordVerb,
    },
}

#[derive(Subcommand, Debug)]
enum RecordVerb {
    /// Write it as a race file, which `runwarden-sim replay` takes; from the running server, else from what
    /// `--record` left. Exit code 1 when the recorded steps do not lead to the state of the session
    Export(ExportArgs),
}

/// Reads a listen address. `localhost` stands for 127.0.0.1; other names are not looked up.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let literal = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    literal.parse().map_err(|_| {
        "expected an IP address and a port, such as 127.0.0.1:8787 or [::1]:8787".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(arguments: &[&str]) -> Result<ServeArgs, clap::Error> {
        let all = std::iter::once("runwarden").chain(arguments.iter().copied());
        parse(all.map(OsString::from)).map(|command| match command {
            Command::Serve(args) => args,
            Command::Doctor(_) | Command::ExportRecord(_) => panic!("not `serve`"),
        })
    }

    #[test]
    fn flags_work_with_and_without_the_command() {
        let flags = ["--listen", "127.0.0.1:0", "--state", "/s", "--token", "t", "--record"];
        let bare = serve(&flags).unwrap();
        let with_command = serve(&[&["serve"], &flags[..]].concat()).unwrap();
        assert_eq!(bare, with_command);
        assert_eq!(bare.listen, Some("127.0.0.1:0".parse().unwrap()));
        assert_eq!(bare.state, Some(PathBuf::from("/s")));
        assert!(bare.record);
        assert_eq!(serve(&[]).unwrap(), ServeArgs::default());
    }

    #[test]
    fn a_wrong_call_exits_with_2_and_help_with_0() {
        for wrong in [
            &["--listen", "nowhere"][..],
            &["--listen", "127.0.0.1"],
            &["--wat"],
            &["doctor", "--listen", "127.0.0.1:0"],
            &["doctor", "clean"],
            &["record"],
            &["record", "export"],
            &["record", "export", "--session", "s", "--listen", "127.0.0.1:0"],
            &["--token", "a", "--token", "b"],
        ] {
            assert_eq!(serve(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
        for fine in ["--help", "--version"] {
            assert_eq!(serve(&[fine]).unwrap_err().exit_code(), 0);
        }
    }

    #[test]
    fn a_doctor_takes_a_place_a_file_and_a_form() {
        let arguments = ["runwarden", "doctor", "--state", "/s", "--config", "/c", "--json"];
        let expected = DoctorArgs {
            state: Some(PathBuf::from("/s")),
            config: Some(PathBuf::from("/c")),
            token: None,
            json: true,
        };
        assert_eq!(parse(arguments.map(OsString::from)).unwrap(), Command::Doctor(expected));
    }

    #[test]
    fn an_export_names_a_session_and_a_file() {
        let arguments = ["runwarden", "record", "export", "--session", "s", "-o", "x.race"];
        let expected = ExportArgs {
            session: "s".to_owned(),
            output: Some(PathBuf::from("x.race")),
            state: None,
            config: None,
            token: None,
        };
        let parsed = parse(arguments.map(OsString::from)).unwrap();
        assert_eq!(parsed, Command::ExportRecord(expected));
    }

    #[test]
    fn localhost_is_the_ipv4_loopback() {
        assert_eq!(parse_listen("localhost:80"), Ok("127.0.0.1:80".parse().unwrap()));
        assert_eq!(parse_listen("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
        assert!(parse_listen("localhost").is_err());
        assert!(parse_listen("localhost:65536").is_err());
    }
}
