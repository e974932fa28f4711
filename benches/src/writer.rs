//! A program that only writes: the batches that the server writes, from one buffer, to every client in turn.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::Problem;

/// Frames of a batch, as many as a connection of the server writes at once.
const BATCH_FRAMES: usize = 64;

/// The program as a process; dropped, it is killed.
pub(crate) struct Writer {
    process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Writer {
    /// Starts it; it writes once so many clients are there.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(clients: usize) -> Result<Self, Problem> {
        let own = std::env::current_exe().map_err(Problem::io("this program"))?;
        let mut process = Command::new(own)
            .args(["write-raw", &clients.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Problem::io("the raw writer"))?;
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(Problem::io("the address of the raw writer"))?;
        match line.trim_end().parse() {
            Ok(address) => Ok(Self { process, address }),
            Err(_) => Err(Problem::Answer { expected: "its address", answer: line }),
        }
    }

    /// Its process.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program itself: prints its address, waits for its clients, and writes until one of them is gone.
pub(crate) fn run(clients: usize) -> ExitCode {
    match write(clients) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn write(clients: usize) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    let mut sockets = Vec::with_capacity(clients);
    for _ in 0..clients {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    let batch = batch();
    loop {
        for socket in &mut sockets {
            if socket.write_all(&batch).is_err() {
                return Ok(());
            }
        }
    }
}

/// Frames of the size of the server's: text of 200 bytes with its envelope.
fn batch() -> Vec<u8> {
    let text = "x".repeat(200);
    let frame = format!(
        "{{\"type\":\"stream_text\",\"data\":{{\"session_id\":\"ses_0123456789abcdef\",\
         \"entity_id\":\"run_0123456789abcdef\",\"item_id\":\"1\",\"item_kind\":\"text\",\
         \"base_seq\":100000,\"stream_seq\":100002,\"replay_degraded\":false,\"text\":\"{text}\"}}}}"
    );
    let bytes = u16::try_from(frame.len()).expect("a frame is short").to_be_bytes();
    let mut batch = Vec::new();
    for _ in 0..BATCH_FRAMES {
        batch.extend([0x81, 126]);
        batch.extend(bytes);
        batch.extend(frame.as_bytes());
    }
    batch
}
