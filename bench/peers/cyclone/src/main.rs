//! Eclipse Cyclone DDS as its users have it: reliable, keep last, a wait set where the receiver
//! sleeps. Its own threads run where the kernel puts them on the processor of the case. `Cyclone`
//! is its configuration but for the interface; `CycloneTuned` sets what its guide and ROS's set for
//! large messages; `CycloneShared` lets it use iceoryx, and loans.

use crossdock_bench::control::{ChildPlan, System};
use crossdock_bench::failure::While;
use crossdock_bench::findings::report;
use crossdock_bench::payload::Payload;
use crossdock_bench::systems::{Link, Opener, PATIENCE, Topics, Use};
use crossdock_bench::{Failure, child, programs};
use std::ffi::{CStr, CString, c_char, c_void};
use std::process::ExitCode;
use std::ptr::{null, null_mut};

/// The C side's, which only it looks into.
#[repr(C)]
struct Ends {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn link_open(made: *mut *mut Ends, out: *const c_char, into: *const c_char, bytes: u32) -> i32;
    fn link_matched(link: *mut Ends, listeners: *mut u32, publishers: *mut u32) -> i32;
    fn link_loans(link: *mut Ends) -> i32;
    fn link_loan(link: *mut Ends, memory: *mut *mut c_void) -> i32;
    fn link_write(link: *mut Ends, memory: *const c_void) -> i32;
    fn link_take(link: *mut Ends, memory: *mut *mut c_void) -> i32;
    fn link_return(link: *mut Ends, memory: *mut *mut c_void) -> i32;
    fn link_wait(link: *mut Ends, nanoseconds: i64) -> i32;
    fn link_error(error: i32) -> *const c_char;
}

/// The loopback interface only; discovery by unicast, since it has no multicast.
const LOOPBACK: &str = "<General><PackageDescriptions><NetworkInterface name=\"lo\" multicast=\"false\"/>\
    </PackageDescriptions><AllowMulticast>false</AllowMulticast>{general}</General>\
    <Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>60\
    </MaxAutoParticipantIndex><Peers><Peer Address=\"127.0.0.1\"/></Peers></Discovery>{more}";

/// Datagrams as large as they may be, and buffers as large as the system gives.
const TUNED_GENERAL: &str = "<MaxMessageSize>65500B</MaxMessageSize>\
    <FragmentSize>65000B</FragmentSize>";
const TUNED_MORE: &str = "<Internal><SocketReceiveBufferSize max=\"16MB\"/>\
    <SocketSendBufferSize max=\"16MB\"/></Internal>";
const SHARED_MORE: &str =
    "<SharedMemory><Enable>true</Enable><LogLevel>fatal</LogLevel></SharedMemory>";

fn configuration(system: System) -> String {
    let (general, more) = match system {
        System::CycloneTuned => (TUNED_GENERAL, TUNED_MORE),
        System::CycloneShared => ("", SHARED_MORE),
        _ => ("", ""),
    };
    LOOPBACK.replace("{general}", general).replace("{more}", more)
}

struct Cyclone;

struct CycloneLink {
    ends: *mut Ends,
    out: bool,
    into: bool,
    payload: Payload,
}

/// What the C side says, as a result.
fn said(code: i32, doing: &str) -> Result<i32, Failure> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: the function takes any number.
    let text = unsafe { link_error(code) };
    // SAFETY: it returns a text that lies in the library and ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    Err(Failure::new(doing, text.to_string_lossy()))
}

fn topic(name: Option<String>) -> Result<Option<CString>, Failure> {
    let plain = |name: String| CString::new(name.replace(['/', '-'], "_"));
    name.map(plain).transpose().during("naming a topic")
}

impl Opener for Cyclone {
    fn open(&self, plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
        let topics = Topics::of(plan);
        let (out, into) = (topic(topics.out)?, topic(topics.into)?);
        let pointer = |name: &Option<CString>| name.as_ref().map_or(null(), |name| name.as_ptr());
        let mut ends = null_mut();
        let bytes = u32::try_from(plan.payload_bytes).during("sizing the messages")?;
        // SAFETY: both names are texts or null and outlive the call, which writes `ends` once.
        let opened = unsafe { link_open(&mut ends, pointer(&out), pointer(&into), bytes) };
        said(opened, "opening Cyclone DDS")?;
        // SAFETY: `ends` has just been opened.
        let loans = unsafe { link_loans(ends) } != 0;
        if loans != (plan.system == System::CycloneShared) {
            return Err(Failure::new("opening Cyclone DDS", format!("loans: {loans}")));
        }
        let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
        let (out, into) = (out.is_some(), into.is_some());
        work.run(&mut CycloneLink { ends, out, into, payload })
    }
}

impl CycloneLink {
    fn take(&mut self, number: u64) -> Result<Option<()>, Failure> {
        let mut memory = null_mut();
        // SAFETY: `ends` is open and has a reader, or the call returns an error.
        let taken = unsafe { link_take(self.ends, &mut memory) };
        if said(taken, "taking")? == 0 {
            return Ok(None);
        }
        // SAFETY: the message has this many bytes, which stay as they are until it is returned.
        let message =
            unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), self.payload.bytes) };
        let read = self.payload.read(message, number);
        // SAFETY: what was taken is returned once, and nothing refers to it any more.
        said(unsafe { link_return(self.ends, &mut memory) }, "returning a message")?;
        read.map(Some)
    }
}

impl Link for CycloneLink {
    fn connected(&mut self, peers: usize) -> Result<bool, Failure> {
        let (mut listeners, mut publishers) = (0, 0);
        // SAFETY: `ends` is open; both numbers outlive the call.
        let matched = unsafe { link_matched(self.ends, &mut listeners, &mut publishers) };
        said(matched, "connecting")?;
        Ok((!self.out || listeners as usize == peers) && (!self.into || publishers == 1))
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let mut memory = null_mut();
        // SAFETY: `ends` is open and has a writer, or the call returns an error.
        said(unsafe { link_loan(self.ends, &mut memory) }, "loaning")?;
        // SAFETY: the loan is this side's alone, this many bytes long and, as all memory of the
        // two heaps that it may come from, has values.
        let message =
            unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), self.payload.bytes) };
        self.payload.write(message, number);
        // SAFETY: the memory is that of the loan, which this call ends.
        said(unsafe { link_write(self.ends, memory) }, "writing").map(drop)
    }

    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        loop {
            if self.take(number)?.is_some() {
                return Ok(());
            }
            let patience = PATIENCE.as_nanos() as i64;
            // SAFETY: `ends` is open and has a reader, or the call returns an error.
            if said(unsafe { link_wait(self.ends, patience) }, "waiting")? == 0 {
                return Err(Failure::new("waiting for a message", format!("no {number}")));
            }
        }
    }

    fn poll(&mut self) -> Result<bool, Failure> {
        Err(Failure::new("polling", "Cyclone DDS is not polled here"))
    }
}

fn main() -> ExitCode {
    match programs::plan_of_child() {
        Some(Ok(plan)) => {
            // SAFETY: no other thread runs yet.
            unsafe { std::env::set_var("CYCLONEDDS_URI", configuration(plan.system)) };
            child::run_peer(&plan, &Cyclone);
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => report(Err(failure)),
        None => report(Err(Failure::new("starting", "this is started by `figures` and `peers`"))),
    }
}
