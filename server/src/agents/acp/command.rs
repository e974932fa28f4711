//! How an agent's process is started, checked when the server starts.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Most arguments of a command.
pub const ARGS_MAX: usize = 64;

/// Most environment variables a configuration sets for an agent.
pub const ENV_MAX: usize = 64;

/// A command that exists, with a working directory that exists.
#[derive(Clone, PartialEq, Eq)]
pub struct AcpCommand {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is set beside the environment of the server.
    pub env: BTreeMap<String, String>,
    /// Where it runs, absolute.
    pub cwd: PathBuf,
}

/// Why a command cannot be started. Each says what to change.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program is not there.
    #[error(
        "command `{command}` was not found; \
         install it, give its full path, or add its folder to PATH"
    )]
    NotFound {
        /// The command.
        command: String,
    },
    /// The working directory is not there.
    #[error("cwd `{}` is not a directory; create it or name another", cwd.display())]
    NoDirectory {
        /// The directory.
        cwd: PathBuf,
    },
    /// The server has no current directory.
    #[error("the current directory of the server cannot be found ({0}); set cwd to a full path")]
    CurrentDirectory(#[source] io::Error),
    /// Too many arguments or variables.
    #[error("`{field}` has more than {entries_max} entries; shorten it")]
    TooMany {
        /// `args` or `env`.
        field: &'static str,
        /// Most entries it may have.
        entries_max: usize,
    },
    /// The name of a variable cannot be set.
    #[error("env: `{0}` is no name of a variable; it is empty or contains `=` or a NUL")]
    VariableName(String),
    /// A NUL character, which no process can be given.
    #[error("`{0}` contains a NUL character; remove it")]
    Nul(&'static str),
}

impl AcpCommand {
    /// Finds the program in `search_path` (the form of `PATH`; `env` may replace it) unless it names
    /// a path, and resolves everything against the current directory of the server.
    ///
    /// # Errors
    /// [`CommandError`] says what to change.
    pub fn find(
        command: &str,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<&Path>,
        search_path: Option<&str>,
    ) -> Result<Self, CommandError> {
        check(command, &args, &env)?;
        let here = std::env::current_dir().map_err(CommandError::CurrentDirectory)?;
        let search_path = env.get("PATH").map(String::as_str).or(search_path);
        let program = program(command, &here, search_path)
            .ok_or_else(|| CommandError::NotFound { command: command.to_owned() })?;
        let cwd = cwd.map_or_else(|| here.clone(), |cwd| here.join(cwd));
        if !cwd.is_dir() {
            return Err(CommandError::NoDirectory { cwd });
        }
        Ok(Self { program, args, env, cwd })
    }
}

/// Values of variables are left out: they may be keys.
impl fmt::Debug for AcpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}

fn check(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(), CommandError> {
    for (field, entries, entries_max) in
        [("args", args.len(), ARGS_MAX), ("env", env.len(), ENV_MAX)]
    {
        if entries > entries_max {
            return Err(CommandError::TooMany { field, entries_max });
        }
    }
    if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(CommandError::VariableName(name.escape_default().to_string()));
    }
    let has_nul = |text: &String| text.contains('\0');
    if command.contains('\0') {
        return Err(CommandError::Nul("command"));
    }
    if args.iter().any(has_nul) {
        return Err(CommandError::Nul("args"));
    }
    if env.values().any(has_nul) { Err(CommandError::Nul("env")) } else { Ok(()) }
}

fn program(command: &str, here: &Path, search_path: Option<&str>) -> Option<PathBuf> {
    if command.is_empty() {
        return None;
    }
    let folders: Vec<PathBuf> = if command.contains('/') {
        vec![here.to_owned()]
    } else {
        std::env::split_paths(search_path.unwrap_or_default()).collect()
    };
    let candidates = folders.iter().map(|folder| here.join(folder).join(command));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(command: &str, args: usize, env: &[(&str, &str)]) -> Result<AcpCommand, String> {
        let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        AcpCommand::find(command, vec!["a".into(); args], env, None, Some("/nowhere:/bin"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_looked_up_in_the_path_and_a_path_is_resolved() {
        assert_eq!(find("sh", 0, &[]).unwrap().program, Path::new("/bin/sh"));
        assert_eq!(find("/bin/sh", 0, &[]).unwrap().program, Path::new("/bin/sh"));
        assert!(find("sh", 0, &[("PATH", "/nowhere")]).unwrap_err().contains("add its folder"));
        assert!(find("./sh", 0, &[]).unwrap_err().contains("`./sh` was not found"));
        assert!(find("", 0, &[]).is_err() && find("/bin", 0, &[]).is_err());
    }

    #[test]
    fn what_no_process_can_be_given_is_refused() {
        assert!(find("sh", 0, &[("A=B", "")]).unwrap_err().contains("`A=B`"));
        assert!(find("sh", 0, &[("", "")]).is_err());
        assert_eq!(
            find("sh", 0, &[("A", "\0")]).unwrap_err(),
            CommandError::Nul("env").to_string()
        );
        assert!(find("s\0h", 0, &[]).is_err());
        let away = AcpCommand::find("/bin/sh", vec![], BTreeMap::new(), Some("/no".as_ref()), None);
        assert!(away.unwrap_err().to_string().contains("`/no` is not a directory"));
    }

    #[test]
    fn arguments_and_variables_have_bounds() {
        assert!(find("sh", ARGS_MAX - 1, &[]).is_ok() && find("sh", ARGS_MAX, &[]).is_ok());
        assert!(find("sh", ARGS_MAX + 1, &[]).unwrap_err().contains("`args`"));
        for (count, fits) in [(ENV_MAX - 1, true), (ENV_MAX, true), (ENV_MAX + 1, false)] {
            let names: Vec<String> = (0..count).map(|number| format!("V{number}")).collect();
            let env: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
            assert_eq!(find("sh", 0, &env).is_ok(), fits, "{count}");
        }
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let shown = format!("{:?}", find("sh", 0, &[("KEY", "sk-secret")]).unwrap());
        assert!(shown.contains("KEY") && !shown.contains("sk-secret"), "{shown}");
    }
}
