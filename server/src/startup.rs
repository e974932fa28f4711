//! From the command line to an open port: everything that can be wrong before the server serves.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use smol::net::TcpListener;

use crate::assets::Assets;
use crate::auth::{
    Authority, Clock, LoginStore, PrincipalEntry, Principals, Role, TokenFileError, TokenHash,
    load_or_generate,
};
use crate::cli::{self, Command, ServeArgs};
use crate::config::{self, ConfigError, OPERATOR, Settings};
use crate::diagnostics::{LEVEL_VARIABLE, LogError};
use crate::http::edge::Edge;
use crate::http::{BindError, Site, SocketService, bind, raise_open_files};
use crate::state_dir::{StateDir, StateDirError};

/// Exit code when the call or the environment is wrong.
pub const EXIT_WRONG_CALL: u8 = 2;

/// Why the server does not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The token.
    #[error(transparent)]
    Token(#[from] TokenFileError),
    /// The address.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// An open port and who may come in.
pub struct Door {
    /// Accepts connections.
    pub listener: TcpListener,
    /// Where it listens.
    pub bound: SocketAddr,
    principals: Principals,
    token: Option<String>,
}

/// Reads the command line of this process.
///
/// # Errors
/// The exit code, after the message was printed: 2 for a wrong call, 0 for `--help`.
pub fn command() -> Result<Command, ExitCode> {
    cli::parse(std::env::args_os()).map_err(|error| {
        // Nothing is left to do when even the message cannot be printed.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_WRONG_CALL))
    })
}

/// Reads environment and configuration of this process.
///
/// # Errors
/// The exit code, after the message was printed.
pub fn settings(args: ServeArgs) -> Result<Settings, ExitCode> {
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    config::resolve(args, &environment).map_err(|error| report(&error))
}

/// Prints why the server does not start, as one line on standard error; the exit code for it.
pub fn report(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("runwarden: {error}");
    ExitCode::from(EXIT_WRONG_CALL)
}

/// Makes the state directory this server's own, and starts the log in it.
///
/// # Errors
/// [`StartError`] when it cannot be used.
pub fn open_state(settings: &Settings) -> Result<StateDir, StartError> {
    let state = StateDir::open(&settings.state)?;
    let level = std::env::var(LEVEL_VARIABLE).ok();
    crate::diagnostics::start(&state.logs(), level.as_deref())?;
    Ok(state)
}

/// Opens the port. Without configured principals, the token in the state directory is the only way in.
///
/// # Errors
/// [`StartError`] when the token cannot be kept or the address cannot be used.
pub async fn open_door(settings: &Settings, state: &StateDir) -> Result<Door, StartError> {
    raise_open_files();
    let (listener, bound) = bind(settings.listen).await?;
    if !settings.principals.is_empty() {
        let principals = Principals::new(&settings.principals);
        return Ok(Door { listener, bound, principals, token: None });
    }
    let token = load_or_generate(&state.token())?;
    let token_hash = TokenHash::of(&token);
    let operator = PrincipalEntry { name: OPERATOR.to_owned(), token_hash, role: Role::Owner };
    let principals = Principals::new(&[operator]);
    Ok(Door { listener, bound, principals, token: Some(token) })
}

impl Door {
    /// What standard output says first. The second line is there when the token is a generated one, in
    /// this start or an earlier one: it is how the operator gets in (PRIN-2).
    pub fn announcement(&self) -> String {
        let bound = self.bound;
        let mut text = format!("runwarden listening on http://{bound}/\n");
        if let Some(token) = &self.token {
            text += &format!("open http://{bound}/#token={token}\n");
        }
        text
    }

    /// Prints the announcement at once. A closed standard output is no reason to stop.
    pub fn announce(&self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(self.announcement().as_bytes()).and_then(|()| out.flush());
    }

    /// What requests are answered from.
    pub fn site(
        &self,
        settings: &Settings,
        assets: Assets,
        logins: Arc<dyn LoginStore>,
        clock: Clock,
        service: Arc<dyn SocketService>,
    ) -> Arc<Site> {
        let trusted = settings.trusted_proxies.clone();
        Arc::new(Site {
            edge: Edge::new(self.bound, settings.public_url.as_ref(), trusted),
            authority: Authority::new(self.principals.clone(), logins, clock),
            assets,
            service,
        })
    }
}
