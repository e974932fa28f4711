//! What a connection that does nothing costs the server.

use std::time::Duration;

use smol::Timer;

use crate::Problem;
use crate::client::Client;
use crate::process::resident_bytes;
use crate::server::{Program, Server, Setup, token};

/// Connections of one user.
const CONNECTIONS_PER_USER: usize = 64;

/// Connections before the first measurement, so that what the server allocates once is not counted.
const WARM_UP: usize = 64;

/// How long the server may settle before it is measured.
const SETTLE: Duration = Duration::from_millis(500);

/// What is asked of the benchmark.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many connections, each count measured with a server of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
    connections: Vec<usize>,
}

/// Runs it and prints the figures.
///
/// # Errors
/// When the server cannot be started or does not take the connections.
pub(crate) fn run(program: &Program, options: &Options) -> Result<bool, Problem> {
    runwarden::http::raise_open_files();
    for &connections in &options.connections {
        let users = (connections + WARM_UP).div_ceil(CONNECTIONS_PER_USER);
        let setup = Setup { program: program.clone(), principals: users, limits: "" };
        let server = Server::start(&setup)?;
        let (before, after) = smol::block_on(measure(&server, connections))?;
        let bytes = after.saturating_sub(before) / connections.max(1) as u64;
        println!(
            "{connections} idle connections: {bytes} bytes of memory each ({} to {} KiB)",
            before / 1_024,
            after / 1_024
        );
    }
    Ok(true)
}

/// Memory of the server before and with them.
async fn measure(server: &Server, connections: usize) -> Result<(u64, u64), Problem> {
    let mut clients = Vec::with_capacity(connections + WARM_UP);
    while clients.len() < WARM_UP {
        clients.push(connect(server, clients.len()).await?);
    }
    Timer::after(SETTLE).await;
    let before = resident_bytes(server.process_id());
    while clients.len() < connections + WARM_UP {
        clients.push(connect(server, clients.len()).await?);
    }
    Timer::after(SETTLE).await;
    Ok((before, resident_bytes(server.process_id())))
}

async fn connect(server: &Server, number: usize) -> Result<Client, Problem> {
    Client::connect(server.address, &token(number / CONNECTIONS_PER_USER)).await
}
