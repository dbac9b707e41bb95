//! Passes the frames of Foxglove's server on to a viewer, and keeps what a slow viewer makes wait
//! small.
//!
//! A viewer that takes messages more slowly than the graph publishes them sees the newest. What it
//! misses is counted, and it is told. What the protocol cannot do without (topics, answers,
//! parameters) is never left out: the server waits instead.

use crate::flow::Flow;
use crate::parameters::Followed;
use crate::words::{LENGTH_64, MASKED, OPCODE, Words, further_bytes, length};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes that wait for one viewer, beside the frame that is being written; one message may be
/// larger. Two large images, or a second of many small topics.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Largest frame of the server.
const FRAME_BYTES_MAX: u64 = 1 << 30;

/// Between two words to a viewer about what it misses.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

/// How long the server may take to end when the viewer has said its last word.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Parts of a frame's head (RFC 6455, section 5.2).
const FIN: u8 = 0x80;
const TEXT: u8 = 1;
const BINARY: u8 = 2;

const CLOSE: u8 = 8;

/// The end of a connection that went as it should (status 1000).
const CLOSED: [u8; 4] = [FIN | CLOSE, 2, 0x03, 0xe8];

/// First byte of a binary frame with a message; the number of its subscription and a time follow.
const MESSAGE_DATA: u8 = 1;
const MESSAGE_HEAD_BYTES: usize = 1 + size_of::<u32>() + size_of::<u64>();

/// Foxglove's levels.
const WARNING: u8 = 1;
const ERROR: u8 = 2;

/// Bytes of answers that may wait for a viewer: what it says meanwhile waits, too. Each of its
/// words may make the server answer.
const ANSWERS_BYTES_MAX: usize = 1 << 20;

/// Of a viewer's words that are passed on at once.
const PASSED_BYTES_MAX: usize = 2 << 10;

/// Words that are passed on together without a pause, and the pause, in which the server answers.
const WORDS_MAX: usize = 32;
const WORDS_PAUSE: Duration = Duration::from_millis(10);

/// The same for pings. Viewers ping every few seconds.
const PINGS_MAX: usize = 16;
const PINGS_PAUSE: Duration = Duration::from_millis(100);

/// Passes everything on until one end goes. The viewer's words go through as they are.
pub(crate) async fn pass_on(
    viewer: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    flow: &Flow,
    followed: &Followed,
) {
    let (from_viewer, to_viewer) = tokio::io::split(viewer);
    let (from_server, mut to_server) = tokio::io::split(server);
    let waiting = Waiting::default();
    // Either end may go at any time.
    tokio::select! {
        () = async {
            if let Err(error) = waiting.pass_words(from_viewer, &mut to_server, followed).await {
                waiting.say(refusal(&error));
            }
            let _ = to_server.shutdown().await;
            tokio::time::sleep(END_TIMEOUT).await;
        } => {}
        () = async {
            waiting.fill(from_server, flow).await;
            // What waits is still written.
            std::future::pending().await
        } => {}
        _ = waiting.empty(to_viewer) => {}
    }
}

/// A frame of the server as it goes over the wire, and whose message it is.
struct Frame {
    bytes: Vec<u8>,
    subscription: Option<u32>,
    /// Bytes of the message, without all heads; 0 for other frames.
    message_bytes: usize,
}

impl Frame {
    /// The server's next frame.
    async fn read(server: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = vec![0; 2];
        server.read_exact(&mut bytes).await?;
        let (kind, second) = (bytes[0], bytes[1]);
        if kind & FIN == 0 || second & MASKED != 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a whole server's frame"));
        }
        bytes.resize(2 + further_bytes(second), 0);
        server.read_exact(&mut bytes[2..]).await?;
        let length = length(&bytes).filter(|length| *length <= FRAME_BYTES_MAX);
        let Some(length) = length else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too large a frame"));
        };
        let head = bytes.len();
        bytes.reserve_exact(length as usize);
        if (&mut *server).take(length).read_to_end(&mut bytes).await? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let subscription = match &bytes[head..] {
            [MESSAGE_DATA, a, b, c, d, ..] if kind & OPCODE == BINARY => {
                Some(u32::from_le_bytes([*a, *b, *c, *d]))
            }
            _ => None,
        };
        let message_bytes = match subscription {
            Some(_) => bytes.len().saturating_sub(head + MESSAGE_HEAD_BYTES),
            None => 0,
        };
        Ok(Self { bytes, subscription, message_bytes })
    }

    /// A word of ours, in the server's name.
    fn text(text: &str) -> Self {
        let mut bytes = vec![FIN | TEXT];
        match text.len() {
            short @ ..126 => bytes.push(short as u8),
            long => {
                bytes.push(LENGTH_64);
                bytes.extend((long as u64).to_be_bytes());
            }
        }
        bytes.extend(text.as_bytes());
        Self { bytes, subscription: None, message_bytes: 0 }
    }

    fn is_close(&self) -> bool {
        self.bytes[0] & OPCODE == CLOSE
    }
}

/// Frames that wait for the viewer.
#[derive(Default)]
struct Waiting {
    line: Mutex<Line>,
    /// One is there, or the server has ended.
    filled: Notify,
    /// One has been taken: for who reads from the server, and for who reads from the viewer.
    emptied: Notify,
    answered: Notify,
}

#[derive(Default)]
struct Line {
    frames: VecDeque<Frame>,
    /// Bytes that wait, by subscription; without one: what is never left out.
    bytes: BTreeMap<Option<u32>, usize>,
    /// Messages that were left out.
    missed: u64,
    has_ended: bool,
}

impl Waiting {
    /// Passes on what the viewer says, until it goes.
    async fn pass_words(
        &self,
        mut viewer: impl AsyncRead + Unpin,
        server: &mut (impl AsyncWrite + Unpin),
        followed: &Followed,
    ) -> io::Result<()> {
        let (mut words, mut bytes) = (Words::default(), vec![0; PASSED_BYTES_MAX]);
        loop {
            while self.lock().answers() > ANSWERS_BYTES_MAX {
                self.answered.notified().await;
            }
            let count = viewer.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            words.see(&bytes[..count])?;
            // Whoever speaks then goes, until it was the one with the names.
            followed.check()?;
            server.write_all(&bytes[..count]).await?;
            // The server reads them faster than it answers, and keeps the answers.
            let (said, pings) = words.take_counts();
            if pings > PINGS_MAX {
                tokio::time::sleep(PINGS_PAUSE).await;
            } else if said > WORDS_MAX {
                tokio::time::sleep(WORDS_PAUSE).await;
            }
        }
    }

    /// A word of ours to the viewer.
    fn say(&self, frame: Frame) {
        self.lock().add(frame);
        self.filled.notify_one();
    }

    /// Reads from the server until that ends.
    async fn fill(&self, mut server: impl AsyncRead + Unpin, flow: &Flow) {
        while let Ok(frame) = Frame::read(&mut server).await {
            flow.note(frame.message_bytes);
            while !self.lock().has_room() {
                self.emptied.notified().await;
            }
            self.lock().add(frame);
            self.filled.notify_one();
        }
        self.lock().has_ended = true;
        self.filled.notify_one();
    }

    /// Writes to the viewer until the server has ended and all is written.
    async fn empty(&self, mut viewer: impl AsyncWrite + Unpin) -> io::Result<()> {
        let (mut told, mut is_closed) = (0, false);
        let mut tell_at = Instant::now();
        loop {
            let (frame, missed, has_ended) = {
                let mut line = self.lock();
                (line.take(), line.missed, line.has_ended)
            };
            self.emptied.notify_one();
            self.answered.notify_one();
            match frame {
                Some(frame) => {
                    viewer.write_all(&frame.bytes).await?;
                    is_closed = frame.is_close();
                }
                None if has_ended => {
                    // The server does not answer a viewer that closes.
                    if !is_closed {
                        viewer.write_all(&CLOSED).await?;
                    }
                    return viewer.shutdown().await;
                }
                None => self.filled.notified().await,
            }
            if missed > told && Instant::now() >= tell_at {
                (told, tell_at) = (missed, Instant::now() + TELL_INTERVAL);
                viewer.write_all(&tell(missed).bytes).await?;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Whether the server may go on: what is never left out has room.
    fn has_room(&self) -> bool {
        self.answers() < WAITING_BYTES_MAX
    }

    /// Bytes that wait of what is never left out.
    fn answers(&self) -> usize {
        self.bytes.get(&None).copied().unwrap_or(0)
    }

    /// Adds a frame. For a message, the oldest of the subscription with most bytes make room: a
    /// topic of images takes nothing from one of transforms.
    fn add(&mut self, frame: Frame) {
        let fits = |line: &Self| {
            line.bytes.values().sum::<usize>() + frame.bytes.len() <= WAITING_BYTES_MAX
        };
        while frame.subscription.is_some() && !fits(self) && self.leave_one_out() {}
        *self.bytes.entry(frame.subscription).or_default() += frame.bytes.len();
        self.frames.push_back(frame);
    }

    /// Gives whether there was a message to leave out.
    fn leave_one_out(&mut self) -> bool {
        let messages = self.bytes.iter().filter(|(subscription, _)| subscription.is_some());
        let largest = messages.max_by_key(|(_, bytes)| **bytes).map(|(largest, _)| *largest);
        let oldest = self.frames.iter().position(|it| Some(it.subscription) == largest);
        let Some(frame) = oldest.and_then(|oldest| self.frames.remove(oldest)) else {
            return false;
        };
        self.give_back(&frame);
        self.missed += 1;
        true
    }

    fn take(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.give_back(&frame);
        Some(frame)
    }

    fn give_back(&mut self, frame: &Frame) {
        if let Some(bytes) = self.bytes.get_mut(&frame.subscription) {
            *bytes -= frame.bytes.len();
            if *bytes == 0 {
                self.bytes.remove(&frame.subscription);
            }
        }
    }
}

/// Foxglove shows one status for each `id`: a later one takes its place.
fn tell(missed: u64) -> Frame {
    let message = format!(
        "{missed} messages were left out: this viewer takes them more slowly than they are \
         published; show fewer or smaller topics"
    );
    let status = json!({ "op": "status", "level": WARNING, "id": "slow", "message": message });
    Frame::text(&status.to_string())
}

/// Why a viewer is not heard any more.
fn refusal(error: &io::Error) -> Frame {
    let message = error.to_string();
    let status = json!({ "op": "status", "level": ERROR, "id": "refused", "message": message });
    Frame::text(&status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::DuplexStream;

    const MIB: usize = 1 << 20;

    fn message(subscription: u32, number: u8, length: usize) -> Vec<u8> {
        let mut payload = vec![number; length];
        payload[0] = MESSAGE_DATA;
        payload[1..5].copy_from_slice(&subscription.to_le_bytes());
        let mut bytes = vec![FIN | BINARY, LENGTH_64];
        bytes.extend((length as u64).to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    /// What a viewer gets that begins to read only when `server` has no more to say, or, if that
    /// waits, after all else stands still.
    fn relay<F: Future<Output = ()> + Send + 'static>(
        server: impl FnOnce(DuplexStream) -> F,
        reads_late: bool,
    ) -> Vec<Frame> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut viewer, viewer_end) = tokio::io::duplex(64 << 10);
            let (server_end, theirs) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                pass_on(viewer_end, theirs, &Flow::default(), &Followed::default()).await
            });
            let server = tokio::spawn(server(server_end));
            if reads_late {
                server.await.unwrap();
            }
            let mut frames = Vec::new();
            while let Ok(frame) = Frame::read(&mut viewer).await {
                frames.push(frame);
            }
            assert!(frames.pop().is_some_and(|last| last.is_close()), "the end is said");
            frames
        })
    }

    fn numbers(frames: &[Frame], subscription: u32) -> Vec<u8> {
        let of_it = frames.iter().filter(|frame| frame.subscription == Some(subscription));
        of_it.map(|frame| frame.bytes[frame.bytes.len() - 1]).collect()
    }

    #[test]
    fn a_slow_viewer_sees_the_newest_images_and_all_of_small_topics() {
        let server = async |mut server: DuplexStream| {
            server.write_all(&Frame::text("first").bytes).await.unwrap();
            for number in 0..100 {
                server.write_all(&message(1, number, MIB)).await.unwrap();
                server.write_all(&message(2, number, 100)).await.unwrap();
            }
            server.write_all(&Frame::text("last").bytes).await.unwrap();
        };
        let frames = relay(server, true);
        assert_eq!(numbers(&frames, 2), (0..100).collect::<Vec<u8>>());
        let images = numbers(&frames, 1);
        // One more than may wait was on its way.
        let newest: Vec<u8> = (100 - (WAITING_BYTES_MAX / MIB) as u8 + 1..100).collect();
        assert!(images.ends_with(&newest), "{images:?}");
        assert!(images.len() <= newest.len() + 2, "{images:?}");
        let words: Vec<String> = (frames.iter().filter(|frame| frame.subscription.is_none()))
            .map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned())
            .collect();
        assert!(
            words[0].ends_with("first") && words[words.len() - 1].ends_with("last"),
            "{words:?}"
        );
        let missed = format!("{} messages were left out", 100 - images.len());
        assert!(words.iter().any(|word| word.contains(&missed)), "{missed}: {words:?}");
    }

    #[test]
    fn a_viewer_that_reads_no_answers_is_not_heard_any_more() {
        const PING: [u8; 6] = [FIN | 9, MASKED, 0, 0, 0, 0];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut viewer, viewer_end) = tokio::io::duplex(64 << 10);
            let (server_end, server) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                pass_on(viewer_end, server_end, &Flow::default(), &Followed::default()).await
            });
            let (mut heard, mut answers) = tokio::io::split(server);
            // Answers each ping with a kilobyte.
            tokio::spawn(async move {
                let (mut ping, pong) = ([0; PING.len()], Frame::text(&"x".repeat(1 << 10)));
                while heard.read_exact(&mut ping).await.is_ok() {
                    if answers.write_all(&pong.bytes).await.is_err() {
                        return;
                    }
                }
            });
            let mut sent = 0;
            let stands = async {
                loop {
                    viewer.write_all(&PING).await.unwrap();
                    sent += 1;
                }
            };
            let stands = tokio::time::timeout(Duration::from_secs(2), stands).await;
            assert!(stands.is_err());
            // What lies between the ends: answers, and pings that the relay and the pipes hold.
            let between =
                (ANSWERS_BYTES_MAX >> 10) + (PASSED_BYTES_MAX + 3 * (64 << 10)) / PING.len();
            assert!(sent < 2 * between, "{sent} pings");
        });
    }

    #[test]
    fn a_message_that_is_larger_than_all_that_may_wait_arrives() {
        let server = async |mut server: DuplexStream| {
            for number in 0..3 {
                server.write_all(&message(1, number, WAITING_BYTES_MAX + 1)).await.unwrap();
            }
        };
        assert!(numbers(&relay(server, true), 1).ends_with(&[2]));
    }

    #[test]
    fn what_is_no_message_is_never_left_out() {
        let text = |number: usize| format!("{number:03}").repeat(MIB);
        let server = async move |mut server: DuplexStream| {
            for number in 0..40 {
                server.write_all(&Frame::text(&text(number)).bytes).await.unwrap();
            }
        };
        let frames = relay(server, false);
        assert_eq!(frames.len(), 40);
        for (number, frame) in frames.iter().enumerate() {
            assert!(frame.bytes.ends_with(text(number).as_bytes()), "{number}");
        }
    }
}
