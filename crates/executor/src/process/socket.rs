//! The control socket between the launcher and a process of nodes: one JSON value per frame, each
//! frame in packets of a `SOCK_SEQPACKET` socket pair.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use crossdock_comm::PrivateFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The environment variable that tells a package binary that its standard input is a control
/// socket. Its value is the number of the file descriptor, which is always 0: standard input is
/// the one descriptor that a process can hand down and adopt without unsafe code.
pub(crate) const CONTROL_VARIABLE: &str = "CROSSDOCK_CONTROL";

/// The only value of [`CONTROL_VARIABLE`].
pub(crate) const CONTROL_VALUE: &str = "0";

/// Bytes of one packet: far below the smallest socket buffer that Linux gives (4.5 KiB are the
/// least that can be set, 208 KiB the default).
const PACKET_BYTES_MAX: usize = 32 * 1024;

/// Bytes of one frame: a plan of thousands of nodes fits, a broken peer cannot fill the memory.
const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a send may wait for a peer that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// First byte of a packet: more packets of this frame follow.
const MORE: u8 = 0;

/// First byte of a packet: the last one of its frame.
const LAST: u8 = 1;

/// The result of a wait for a frame.
#[derive(Debug)]
pub(crate) enum Received<T> {
    /// A whole frame.
    Frame(T),
    /// Nothing within the time.
    Nothing,
    /// The peer is gone.
    Closed,
}

/// Why a frame could not be sent or read.
#[derive(Debug)]
pub(crate) enum ControlError {
    /// The socket failed.
    Socket(io::Error),
    /// The peer is gone.
    Closed,
    /// The peer did not read for [`SEND_TIMEOUT`].
    Blocked,
    /// The frame is longer than [`FRAME_BYTES_MAX`].
    TooLong,
    /// A packet that this protocol does not know.
    Packet,
    /// The frame is not the JSON that was expected here.
    Json(serde_json::Error),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "the control socket failed: {error}"),
            Self::Closed => write!(f, "the other side of the control socket is gone"),
            Self::Blocked => write!(
                f,
                "the other side of the control socket did not read for {} s",
                SEND_TIMEOUT.as_secs()
            ),
            Self::TooLong => write!(
                f,
                "a frame on the control socket is longer than the limit of {FRAME_BYTES_MAX} bytes"
            ),
            Self::Packet => {
                write!(f, "a packet on the control socket is not of the control protocol")
            }
            Self::Json(error) => write!(f, "a frame on the control socket has no meaning: {error}"),
        }
    }
}

impl From<Errno> for ControlError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            Errno::AGAIN => Self::Blocked,
            other => Self::Socket(other.into()),
        }
    }
}

/// One end of the control socket.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    fd: PrivateFd,
    /// The packets so far of the frame that is being received.
    partial: Vec<u8>,
}

impl ControlSocket {
    /// A connected pair; the second end is for the process to be spawned.
    pub(crate) fn pair() -> Result<(Self, OwnedFd), ControlError> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self::adopt(ours)?, theirs))
    }

    /// Takes over an end that is already connected.
    pub(crate) fn adopt(fd: OwnedFd) -> Result<Self, ControlError> {
        set_socket_timeout(&fd, Timeout::Send, Some(SEND_TIMEOUT))?;
        Ok(Self { fd: fd.into(), partial: Vec::new() })
    }

    /// Sends one frame. Waits at most [`SEND_TIMEOUT`] per packet for a peer that does not read.
    pub(crate) fn send<T: Serialize>(&self, value: &T) -> Result<(), ControlError> {
        let frame = serde_json::to_vec(value).map_err(ControlError::Json)?;
        if frame.len() > FRAME_BYTES_MAX {
            return Err(ControlError::TooLong);
        }
        let mut packet = Vec::with_capacity(PACKET_BYTES_MAX.min(frame.len() + 1));
        let mut rest = frame.as_slice();
        loop {
            let (now, later) = rest.split_at(rest.len().min(PACKET_BYTES_MAX - 1));
            packet.clear();
            packet.push(if later.is_empty() { LAST } else { MORE });
            packet.extend_from_slice(now);
            rustix::io::retry_on_intr(|| send(&self.fd, &packet, SendFlags::NOSIGNAL))?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// Waits for one frame, at most `timeout`; `None` waits until a frame or the end comes.
    pub(crate) fn receive<T: DeserializeOwned>(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Received<T>, ControlError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let mut packet = [0; PACKET_BYTES_MAX];
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            let length = match rustix::io::retry_on_intr(|| recv(&self.fd, &mut packet[..], flags))
            {
                Ok((_, length)) => length,
                Err(Errno::AGAIN) if readable(&[self.fd.as_fd()], deadline)? => continue,
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(Errno::CONNRESET) => return Ok(Received::Closed),
                Err(other) => return Err(other.into()),
            };
            let Some((&kind, bytes)) = packet.get(..length).and_then(<[u8]>::split_first) else {
                return if length == 0 { Ok(Received::Closed) } else { Err(ControlError::Packet) };
            };
            if self.partial.len() + bytes.len() > FRAME_BYTES_MAX {
                return Err(ControlError::TooLong);
            }
            self.partial.extend_from_slice(bytes);
            match kind {
                MORE => {}
                LAST => {
                    let frame = std::mem::take(&mut self.partial);
                    let value = serde_json::from_slice(&frame).map_err(ControlError::Json)?;
                    return Ok(Received::Frame(value));
                }
                _ => return Err(ControlError::Packet),
            }
        }
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Waits until one of the descriptors has something to read or is closed, or until `deadline`
/// (`None`: without end). False at the deadline.
pub(crate) fn readable(
    fds: &[BorrowedFd<'_>],
    deadline: Option<Instant>,
) -> Result<bool, ControlError> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let rest = rest.map(|rest| Timespec {
            tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(rest.subsec_nanos()),
        });
        match poll(&mut polled, rest.as_ref()) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(other) => return Err(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_several_packets_arrives_whole() {
        let (mut ours, theirs) = ControlSocket::pair().expect("a pair");
        let theirs = ControlSocket::adopt(theirs).expect("an end");
        let text: String = (0..50_000).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
        theirs.send(&text).expect("sent");
        theirs.send(&7_u32).expect("sent");
        match ours.receive::<String>(None).expect("received") {
            Received::Frame(received) => assert_eq!(received, text),
            other => panic!("{other:?}"),
        }
        assert!(matches!(ours.receive::<u32>(None), Ok(Received::Frame(7))));
        assert!(matches!(ours.receive::<u32>(Some(Duration::ZERO)), Ok(Received::Nothing)));
        drop(theirs);
        assert!(matches!(ours.receive::<u32>(None), Ok(Received::Closed)));
        assert!(matches!(ours.send(&1), Err(ControlError::Closed)));
    }

    #[test]
    fn packets_of_another_protocol_are_refused() {
        let (mut ours, theirs) = ControlSocket::pair().expect("a pair");
        send(&theirs, &[9, 9, 9], SendFlags::NOSIGNAL).expect("sent");
        assert!(matches!(ours.receive::<u32>(None), Err(ControlError::Packet)));
        send(&theirs, &[LAST, b'{'], SendFlags::NOSIGNAL).expect("sent");
        let (mut ours, theirs) = ControlSocket::pair().expect("a pair");
        send(&theirs, &[LAST, b'{'], SendFlags::NOSIGNAL).expect("sent");
        assert!(matches!(ours.receive::<u32>(None), Err(ControlError::Json(_))));
    }

    #[test]
    fn a_frame_beyond_the_limit_is_neither_sent_nor_gathered() {
        let (mut ours, theirs) = ControlSocket::pair().expect("a pair");
        let other = ControlSocket::adopt(theirs.try_clone().expect("an end")).expect("an end");
        // With its two quotes one byte too long.
        let text = "x".repeat(FRAME_BYTES_MAX - 1);
        assert!(matches!(other.send(&text), Err(ControlError::TooLong)));
        drop(other);
        let sender = std::thread::spawn(move || {
            let packet = [MORE; PACKET_BYTES_MAX];
            let packets = FRAME_BYTES_MAX / (PACKET_BYTES_MAX - 1) + 1;
            (0..packets).all(|_| send(&theirs, &packet, SendFlags::NOSIGNAL).is_ok())
        });
        assert!(matches!(ours.receive::<u32>(None), Err(ControlError::TooLong)));
        assert!(sender.join().expect("no panic"), "the last packet is one too many");
    }
}
