//! Datagrams over the loopback interface: what the kernel takes of a message that goes this way,
//! without a middleware around it. Fragments where a datagram is too small; after each window of
//! them the sender waits for a credit of each receiver, so that nothing is lost. The kernel copies
//! twice, this code never.

use super::{Link, PATIENCE, Topics, Use};
use crate::Failure;
use crate::control::{ChildPlan, Role};
use crate::failure::While;
use crate::payload::Payload;
use rustix::net::sockopt::{set_socket_recv_buffer_size, socket_recv_buffer_size};
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recvmsg, sendmsg_addr,
};
use std::io::{IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most payload in one datagram: below the 65 507 that fit beside the header.
const FRAGMENT_BYTES: usize = 60 << 10;
/// Number of the message and index of the fragment.
const HEADER_BYTES: usize = 16;
/// Asked for; the kernel gives what `net.core.rmem_max` allows.
const BUFFER_BYTES: usize = 16 << 20;
/// The kernel counts a datagram with what surrounds it: at most this part is filled.
const FILLED_PART: usize = 4;

struct Udp {
    socket: UdpSocket,
    /// Where receivers of `out` write their ports.
    folder: PathBuf,
    out: Option<String>,
    into: Option<String>,
    receivers: Vec<SocketAddr>,
    /// Fragments between two credits; the same on both sides.
    window: usize,
    /// This thread receives what it sends: fragment by fragment, since nobody else empties the
    /// buffer.
    own: bool,
    payload: Payload,
    written: Vec<u8>,
    read: Vec<u8>,
    /// Fragments of the message under way that have been received.
    received: usize,
}

/// Opens a socket, makes its port known and hands it to `work`.
pub(super) fn with_link(plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
    static OPEN: AtomicUsize = AtomicUsize::new(0);
    let topics = Topics::of(plan);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).during("opening a socket")?;
    socket.set_read_timeout(Some(PATIENCE)).during("setting a time-out")?;
    set_socket_recv_buffer_size(&socket, BUFFER_BYTES).during("sizing the socket's buffer")?;
    let given = socket_recv_buffer_size(&socket).during("reading the socket's buffer")?;
    let window = (given / FILLED_PART / FRAGMENT_BYTES).max(1);
    if let Some(topic) = &topics.into {
        let port = socket.local_addr().during("reading the socket's port")?.port();
        let unique = (std::process::id(), OPEN.fetch_add(1, Ordering::Relaxed));
        let name = format!("{}{}-{}", prefix(topic), unique.0, unique.1);
        std::fs::write(plan.folder.join(name), port.to_string()).during("telling the port")?;
    }
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    work.run(&mut Udp {
        socket,
        folder: plan.folder.clone(),
        out: topics.out,
        into: topics.into,
        receivers: vec![],
        window,
        own: plan.role == Role::HandOver,
        payload,
        written: vec![0; payload.bytes],
        read: vec![0; payload.bytes],
        received: 0,
    })
}

fn prefix(topic: &str) -> String {
    format!("udp-{}-", topic.replace('/', "-"))
}

impl Udp {
    fn fragments(&self) -> usize {
        self.payload.bytes.div_ceil(FRAGMENT_BYTES)
    }

    fn is_end_of_window(&self, index: usize) -> bool {
        (index + 1).is_multiple_of(self.window) && index + 1 < self.fragments()
    }

    fn send_fragment(&self, number: u64, index: usize) -> Result<(), Failure> {
        let start = index * FRAGMENT_BYTES;
        let end = (start + FRAGMENT_BYTES).min(self.payload.bytes);
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&number.to_le_bytes());
        header[8..].copy_from_slice(&(index as u64).to_le_bytes());
        let parts = [IoSlice::new(&header), IoSlice::new(&self.written[start..end])];
        for receiver in &self.receivers {
            let (mut none, flags) = (SendAncillaryBuffer::default(), SendFlags::empty());
            sendmsg_addr(&self.socket, receiver, &parts, &mut none, flags).during("sending")?;
        }
        Ok(())
    }

    /// Where the next fragment belongs is known before it comes: the way keeps their order.
    fn receive_fragment(&mut self, number: u64) -> Result<(), Failure> {
        let index = self.received;
        let start = index * FRAGMENT_BYTES;
        let end = (start + FRAGMENT_BYTES).min(self.payload.bytes);
        let mut header = [0; HEADER_BYTES];
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut self.read[start..end])];
        let (mut none, flags) = (RecvAncillaryBuffer::default(), RecvFlags::empty());
        let came = recvmsg(&self.socket, &mut parts, &mut none, flags).during("receiving")?;
        let (whole, expected) = (HEADER_BYTES + end - start, [number, index as u64]);
        let (words, _) = header.as_chunks::<8>();
        if came.bytes != whole || words != expected.map(u64::to_le_bytes) {
            let what = format!("{} bytes, header {header:?}", came.bytes);
            return Err(Failure::new(format!("receiving fragment {index} of {number}"), what));
        }
        self.received += 1;
        if !self.own && self.is_end_of_window(index) {
            let sender = came.address.and_then(|address| SocketAddr::try_from(address).ok());
            let sender = sender.during("finding the sender")?;
            self.socket.send_to(&[1], sender).during("giving a credit")?;
        }
        Ok(())
    }
}

impl Link for Udp {
    fn connected(&mut self, peers: usize) -> Result<bool, Failure> {
        let Some(topic) = &self.out else { return Ok(true) };
        self.receivers.clear();
        let prefix = prefix(topic);
        for file in std::fs::read_dir(&self.folder).during("looking for receivers")? {
            let file = file.during("looking for receivers")?;
            if file.file_name().to_string_lossy().starts_with(&prefix) {
                let text = std::fs::read_to_string(file.path()).during("reading a port")?;
                // Between the making of the file and its filling it is empty.
                if let Ok(port) = text.parse::<u16>() {
                    self.receivers.push((Ipv4Addr::LOCALHOST, port).into());
                }
            }
        }
        Ok(self.receivers.len() == peers)
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        self.payload.write(&mut self.written, number);
        for index in 0..self.fragments() {
            self.send_fragment(number, index)?;
            if self.own {
                self.receive_fragment(number)?;
            } else if self.is_end_of_window(index) {
                for _ in 0..self.receivers.len() {
                    self.socket.recv(&mut [0]).during("waiting for a credit")?;
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        self.into.as_ref().during("receiving")?;
        while self.received < self.fragments() {
            self.receive_fragment(number)?;
        }
        self.received = 0;
        self.payload.read(&self.read, number)
    }

    fn poll(&mut self) -> Result<bool, Failure> {
        let waiting = rustix::io::ioctl_fionread(&self.socket).during("polling")?;
        Ok(waiting > 0)
    }
}
