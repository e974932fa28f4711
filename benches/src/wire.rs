//! A WebSocket client that does as little as it can, so that the load costs little beside the server: it finds
//! the frames in what it reads, and hands out their text where it lies.

use std::net::SocketAddr;
use std::ops::Range;

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use smol::net::TcpStream;

use crate::Problem;

/// Bytes read at once by a connection that is told much.
const READ_BYTES_MAX: usize = 65_536;

/// Bytes read at once at first.
const READ_BYTES: usize = 4_096;

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// Bit of the second byte: the frame is masked, as every frame of a client.
const MASKED: u8 = 0x80;

/// One connection after its upgrade.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer was read and not handed out.
    unread: Range<usize>,
}

impl Wire {
    /// A connection that the server took.
    ///
    /// # Errors
    /// When it did not.
    pub(crate) async fn connect(address: SocketAddr, token: &str) -> Result<Self, Problem> {
        let mut wire = Self::without_upgrade(address).await?;
        let request = format!(
            "GET /v1/ws HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let sent = wire.stream.write_all(request.as_bytes()).await;
        sent.map_err(Problem::io("the socket"))?;
        let head_end = loop {
            let unread = &wire.buffer[wire.unread.clone()];
            if let Some(at) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            wire.fill().await?;
        };
        if !wire.buffer.starts_with(b"HTTP/1.1 101 ") {
            let answer = String::from_utf8_lossy(&wire.buffer[..head_end]).into_owned();
            return Err(Problem::Answer { expected: "an upgrade", answer });
        }
        wire.unread.start = head_end;
        Ok(wire)
    }

    /// A connection to a program that begins with frames at once.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) async fn without_upgrade(address: SocketAddr) -> Result<Self, Problem> {
        let stream = TcpStream::connect(address).await.map_err(Problem::io("the server"))?;
        stream.set_nodelay(true).map_err(Problem::io("the socket"))?;
        Ok(Self { stream, buffer: vec![0; READ_BYTES], unread: 0..0 })
    }

    /// Sends a text. Its mask is zero, which every server must take.
    ///
    /// # Errors
    /// When the connection is gone.
    pub(crate) async fn send(&mut self, text: &str) -> Result<(), Problem> {
        let mut frame = Vec::with_capacity(text.len() + 14);
        frame.push(TEXT);
        match u16::try_from(text.len()) {
            Ok(bytes @ 0..=125) => frame.push(MASKED | bytes.to_le_bytes()[0]),
            Ok(bytes) => {
                frame.push(MASKED | 126);
                frame.extend(bytes.to_be_bytes());
            }
            Err(_) => {
                frame.push(MASKED | 127);
                frame.extend((text.len() as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.stream.write_all(&frame).await.map_err(Problem::io("the socket"))
    }

    /// The next text.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(crate) async fn next(&mut self) -> Result<&[u8], Problem> {
        loop {
            match self.take() {
                Some((TEXT, payload)) => return Ok(&self.buffer[payload]),
                Some((CLOSE, _)) => {
                    return Err(Problem::Answer { expected: "a frame", answer: "close".into() });
                }
                Some(_) => {}
                None => self.fill().await?,
            }
        }
    }

    /// The first byte and the place of the payload of the next frame, once all of it was read.
    fn take(&mut self) -> Option<(u8, Range<usize>)> {
        let frame = &self.buffer[self.unread.clone()];
        let (&[first, short], rest) = frame.split_first_chunk()?;
        let (head, bytes) = match short {
            126 => (4, usize::from(u16::from_be_bytes(*rest.first_chunk()?))),
            127 => {
                let bytes = u64::from_be_bytes(*rest.first_chunk()?);
                (10, usize::try_from(bytes).expect("a frame fits into memory"))
            }
            bytes => (2, usize::from(bytes)),
        };
        if frame.len() < head + bytes {
            return None;
        }
        let payload = self.unread.start + head..self.unread.start + head + bytes;
        self.unread.start = payload.end;
        Some((first, payload))
    }

    /// Reads more, behind what is unread.
    async fn fill(&mut self) -> Result<(), Problem> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.end == self.buffer.len() {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
            if self.unread.end == self.buffer.len() {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        let read = self.stream.read(&mut self.buffer[self.unread.end..]).await;
        match read.map_err(Problem::io("the socket"))? {
            0 => Err(Problem::Answer { expected: "a frame", answer: "the end".to_owned() }),
            bytes => {
                self.unread.end += bytes;
                let length = self.buffer.len();
                if self.unread.end == length && length < READ_BYTES_MAX {
                    self.buffer.resize(2 * length, 0);
                }
                Ok(())
            }
        }
    }
}

/// Whether `text` contains `part`.
pub(crate) fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|bytes| bytes == part.as_bytes())
}
