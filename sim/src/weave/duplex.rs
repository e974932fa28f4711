//! A socket in memory, which takes and gives bytes in pieces drawn from the seed.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};

use super::executor::lock;
use crate::random::Random;

/// Bytes that wait in one direction.
const WINDOW_BYTES: usize = 65_536;

/// Of a thousand reads and writes, those that are cut short.
const CUT_PERMILLE: u32 = 200;

/// One end of a socket in memory.
pub struct End {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    cuts: Random,
}

#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Two connected ends.
pub fn duplex(mut random: Random) -> (End, End) {
    let (there, back) = (Arc::<Mutex<Pipe>>::default(), Arc::<Mutex<Pipe>>::default());
    let near =
        End { incoming: Arc::clone(&back), outgoing: Arc::clone(&there), cuts: random.fork() };
    let far = End { incoming: there, outgoing: back, cuts: random.fork() };
    (near, far)
}

impl End {
    /// How many of `bytes` pass at once, at least one.
    fn cut(&mut self, bytes: usize) -> usize {
        if bytes > 1 && self.cuts.chance(CUT_PERMILLE) { 1 + self.cuts.below(bytes) } else { bytes }
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
        mut self: Pin<&mut Self>,
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
        let count = self.cut(there);
        for (place, byte) in buffer.iter_mut().zip(pipe.bytes.drain(..count)) {
            *place = byte;
        }
        pipe.wake_writer();
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
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
        let count = self.cut(free);
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
