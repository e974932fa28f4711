//! A server killed at hundreds of moments under load: what it told its clients holds, and nothing is there
//! twice.
//!
//! Each client works on a session of its own: it sends, queues, stops, answers, steers, removes and resumes,
//! as its seed wants. The server dies in the middle; what is stored is compared with what every client was
//! told; then it starts again on that store, and the clients go on.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

mod account;
mod load;
#[path = "../support/e2e.rs"]
mod support;

use std::thread;
use std::time::Duration;

use account::Account;
use load::Load;
use support::client::Client;
use support::process::Server;
use support::seeded::Seeded;
use support::stored::Stored;
use support::tools;

/// Kills of the long test.
const KILLS: usize = 300;

/// Kills of the short test.
const KILLS_SHORT: usize = 6;

/// Sessions that work at once.
const SESSIONS: usize = 6;

/// Kills after which the sessions are left behind for new ones, so that none grows without end.
const KILLS_PER_SESSION: usize = 25;

/// Longest time between a start and the kill.
const LIFE_MICROS_MAX: u64 = 800_000;

#[test]
fn a_server_killed_under_load_keeps_every_word_it_gave() {
    let kills = if tools::is_slow_run("300 kills instead of 6") { KILLS } else { KILLS_SHORT };
    let mut seeded = Seeded::announced("kills");
    let mut server = Server::start();
    let mut told = account::Totals::default();
    let mut accounts = Vec::new();
    for kill in 0..kills {
        if kill % KILLS_PER_SESSION == 0 {
            server = finish(server, &mut accounts, &mut told);
            let mut client = Client::connect(&server);
            let sessions = (0..SESSIONS).map(|number| (client.create_session(), number % 2 == 0));
            accounts
                .extend(sessions.map(|(session, is_patient)| Account::new(session, is_patient)));
        }
        work_until_killed(&mut server, &mut accounts, &mut seeded);
        let stored = Stored::open_checked(server.state());
        for account in &accounts {
            account.check(&stored);
        }
        drop(stored);
        server = server.restart();
    }
    finish(server, &mut accounts, &mut told);
    println!("{kills} kills: {told}");
    told.check(kills == KILLS);
}

/// Every session is worked on until the server is killed, at a moment of the seed's choice.
fn work_until_killed(server: &mut Server, accounts: &mut [Account], seeded: &mut Seeded) {
    let loads: Vec<_> = accounts
        .iter_mut()
        .map(|account| Load::new(Client::connect(server), account, seeded.fork()))
        .collect();
    let life = Duration::from_micros(seeded.within(0..=LIFE_MICROS_MAX));
    thread::scope(|scope| {
        for load in loads {
            scope.spawn(|| load.work());
        }
        // The pause chooses the moment; nothing is waited for.
        thread::sleep(life);
        server.kill9();
    });
}

/// Whatever waits or runs comes to its end, the server is stopped in peace, and nothing is left over.
fn finish(mut server: Server, accounts: &mut Vec<Account>, told: &mut account::Totals) -> Server {
    let mut client = Client::connect(&server);
    for account in accounts.iter_mut() {
        load::drain(&mut client, account);
    }
    server.sigterm();
    assert_eq!(server.wait().code, Some(0));
    let stored = Stored::open_checked(server.state());
    assert_eq!(stored.unsettled(), 0);
    for account in accounts.drain(..) {
        account.check(&stored);
        account.check_end(&stored);
        told.add(&account, &stored);
    }
    drop(stored);
    server.restart()
}
