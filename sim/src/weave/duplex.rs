//! A socket in memory, which takes and gives bytes in pieces.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};

use super::choices::{Actor, Choices};
use super::executor::lock;

/// Bytes that wait in one direction.
const WINDOW_BYTES: usize = 65_536;

/// A cut read or write passes one of so many equal parts.
const CUTS: u32 = 8;

/// One end of a socket in memory.
pub struct End {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    choices: Choices,
    client: Actor,
    reads: &'static str,
    writes: &'static str,
}

#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Two connected ends, that of the client first.
pub fn duplex(choices: &Choices, client: Actor) -> (End, End) {
    let (up, down) = (Arc::<Mutex<Pipe>>::default(), Arc::<Mutex<Pipe>>::default());
    let near = End {
        incoming: Arc::clone(&down),
        outgoing: Arc::clone(&up),
        choices: choices.clone(),
        client: client.clone(),
        reads: "client_reads",
        writes: "client_writes",
    };
    let far = End {
        incoming: up,
        outgoing: down,
        choices: choices.clone(),
        client,
        reads: "server_reads",
        writes: "server_writes",
    };
    (near, far)
}

impl End {
    /// How many of `bytes` pass at once, at least one.
    fn cut(&self, what: &'static str, bytes: usize) -> usize {
        if bytes <= 1 {
            return bytes;
        }
        let parts = self.choices.number(self.client.clone(), "cut", what, CUTS) as usize;
        if parts == 0 { bytes } else { (bytes * parts / CUTS as usize).max(1) }
    }
}

impl Pipe {
    fn close(&mut self) {
        self.is_closed = true;
        self.wake_reader();
        self.wake_writer();
    }

    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let pipe = Arc::clone(&self.incoming);
        let mut pipe = lock(&pipe);
        let there = pipe.bytes.len().min(buffer.len());
        if there == 0 && !buffer.is_empty() {
            if pipe.is_closed {
                return Poll::Ready(Ok(0));
            }
            pipe.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = self.cut(self.reads, there);
        for (place, byte) in buffer.iter_mut().zip(pipe.bytes.drain(..count)) {
            *place = byte;
        }
        pipe.wake_writer();
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let pipe = Arc::clone(&self.outgoing);
        let mut pipe = lock(&pipe);
        if pipe.is_closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let free = WINDOW_BYTES.saturating_sub(pipe.bytes.len()).min(bytes.len());
        if free == 0 && !bytes.is_empty() {
            pipe.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = self.cut(self.writes, free);
        pipe.bytes.extend(&bytes[..count]);
        pipe.wake_reader();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.outgoing).close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.outgoing).close();
        lock(&self.incoming).close();
    }
}
