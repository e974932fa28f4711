//! A stream that counts what passes through it, so that progress is seen below the frames (SND-27).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

/// A stream with the number of bytes it read and wrote.
#[derive(Debug)]
pub struct Metered<T> {
    stream: T,
    read_bytes: u64,
    written_bytes: u64,
}

impl<T> Metered<T> {
    /// Counts what passes through `stream` from now on.
    pub fn new(stream: T) -> Self {
        Self { stream, read_bytes: 0, written_bytes: 0 }
    }

    /// Bytes received so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Bytes the transport has taken so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Poll::Ready(Ok(bytes)) = read {
            self.read_bytes += bytes as u64;
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buffer);
        if let Poll::Ready(Ok(bytes)) = written {
            self.written_bytes += bytes as u64;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}
