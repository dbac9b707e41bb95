//! A built network in this process: the only place that knows the C interface of `network.h`. All
//! unsafe code of the crate is here.
//!
//! What the unsafe blocks rest on:
//! 1. A library is only opened after its checksum was compared with the one written when it was
//!    built from `network.h` as it is compiled into this program, and is asked for [`ABI`] first:
//!    its functions have the signatures that [`Functions`] gives them.
//! 2. [`Functions`] lives as long as the library is loaded: both are in [`Loaded`], which every
//!    [`Handle`] shares.
//! 3. A [`Handle`] is used by one thread at a time: its methods that reach the network take `&mut
//!    self`, and it is not `Sync`.
//! 4. [`Source`] and [`Sink`] have the layout of `xd_source` and `xd_sink`. Pointer and length in
//!    them come from one slice whose borrow they carry; the network uses them during a call only.
//! 5. Memory that a board reaches is that of [`Region`]s which the [`Handle`] keeps mapped. A board
//!    writes only while a run is in progress, only where a region is writable, and there only into
//!    loans, which nobody in this process looks into meanwhile: the driver has lent them out.
#![allow(unsafe_code)]

use crossdock_shm::Region;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// Version of the C interface that this file declares.
const ABI: u32 = 6;

/// The network of the C++ side.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// `xd_port`.
#[repr(C)]
struct RawPort {
    name: *const c_char,
    topic: *const c_char,
    message_type: *const c_char,
    width_bytes: u32,
    clock: u32,
    payload_bytes_max: u32,
    publisher_id: u16,
    filtered_id: u16,
    publishes: u8,
    gateway: u8,
    keep_last: u8,
}

/// One message on its way into the network: `xd_source`.
#[repr(C)]
#[derive(Debug)]
pub struct Source<'a> {
    port: u32,
    done: u32,
    frame: *const u8,
    bytes: u64,
    sent: u64,
    done_ps: u64,
    borrow: PhantomData<&'a [u8]>,
}

/// Room for one message that comes out of the network: `xd_sink`.
#[repr(C)]
#[derive(Debug)]
pub struct Sink<'a> {
    port: u32,
    done: u32,
    damaged: u32,
    unused: u32,
    data: *mut u8,
    capacity: u64,
    received: u64,
    first_ps: u64,
    done_ps: u64,
    borrow: PhantomData<&'a mut [u8]>,
}

/// A clock in time: `xd_clock`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) period_ps: u64,
    pub(crate) next_ps: u64,
}

/// An access to a board's registers: `xd_access`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Access {
    address: u32,
    write: u32,
    value: u64,
    done_ps: u64,
    response: u32,
    unused: u32,
}

impl Access {
    /// Reads the register at this byte address.
    #[must_use]
    pub fn read(address: u32) -> Self {
        Self { address, write: 0, value: 0, done_ps: 0, response: 0, unused: 0 }
    }

    /// Writes it.
    #[must_use]
    pub fn write(address: u32, value: u64) -> Self {
        Self { write: 1, value, ..Self::read(address) }
    }

    /// The byte address.
    #[must_use]
    pub fn address(&self) -> u32 {
        self.address
    }

    /// Whether it was answered as good once it is done: there is such a register.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.response == 0
    }

    /// What was read once it is done, or is written.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// When it was done; 0 before.
    #[must_use]
    pub fn done_ps(&self) -> u64 {
        self.done_ps
    }
}

/// How host memory answers a board: `xd_memory`. In cycles of the board's own clock.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTiming {
    /// From a burst's address to its first beat.
    pub read_latency: u32,
    /// From a burst's last beat to its response.
    pub write_latency: u32,
    /// Bursts open in each direction, 1 to 64.
    pub outstanding: u32,
    /// 1/256 cycles from one beat to the next, in each direction, 256 to 65536.
    pub beat_256ths: u32,
    /// Cycles of the memory that others have, in percent, 0 to 99.
    pub load_percent: u32,
    /// Which ones these are.
    pub seed: u32,
}

/// `xd_window`.
#[repr(C)]
struct RawWindow {
    address: u64,
    bytes: u64,
    memory: *mut u8,
    writable: u32,
    unused: u32,
}

/// What has passed between a board and host memory: `xd_traffic`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of whole beats that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Beats that were read.
    pub beats_read: u64,
    /// Beats that were written.
    pub beats_written: u64,
    /// Bursts that lay in no window: answered with an error, nothing was touched.
    pub refused: u64,
}

impl Traffic {
    /// What has passed since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes_read: self.bytes_read - before.bytes_read,
            bytes_written: self.bytes_written - before.bytes_written,
            beats_read: self.beats_read - before.beats_read,
            beats_written: self.beats_written - before.beats_written,
            refused: self.refused - before.refused,
        }
    }
}

/// `xd_run`.
#[repr(C)]
struct RawRun {
    clocks: *mut Clock,
    sources: *mut Source<'static>,
    sinks: *mut Sink<'static>,
    source_count: u32,
    sink_count: u32,
    until_ps: u64,
    now_ps: u64,
    edges: u64,
    accesses: *mut Access,
    access_count: u32,
    accesses_done: u32,
    access_cycles: u32,
    doorbell: u32,
    idle_cycles: u32,
    idle: u32,
}

/// What a host does in a run.
#[derive(Debug, Default)]
pub(crate) struct HostRun<'a> {
    pub(crate) accesses: &'a mut [Access],
    /// How many of them are done.
    pub(crate) done: u32,
    /// Cycles from one to the next.
    pub(crate) cycles: u32,
    /// Stop while it rings; afterwards: whether it does.
    pub(crate) doorbell: bool,
    /// Stop when so many edges of every clock have changed nothing; 0: never.
    pub(crate) idle_cycles: u32,
}

// The C++ side asserts the same sizes.
const _: () = assert!(size_of::<Source<'_>>() == 40);
const _: () = assert!(size_of::<Sink<'_>>() == 56);
const _: () = assert!(size_of::<Clock>() == 16);
const _: () = assert!(size_of::<RawRun>() == 88);
const _: () = assert!(size_of::<Access>() == 32);
const _: () = assert!(size_of::<MemoryTiming>() == 24);
const _: () = assert!(size_of::<RawWindow>() == 32);
const _: () = assert!(size_of::<Traffic>() == 40);
const _: () = assert!(size_of::<RawPort>() == 48);

impl<'a> Source<'a> {
    /// Sends a frame, header included, at the port with this index.
    #[must_use]
    pub fn new(port: u32, frame: &'a [u8]) -> Self {
        Self {
            port,
            done: 0,
            frame: frame.as_ptr(),
            bytes: frame.len() as u64,
            sent: 0,
            done_ps: 0,
            borrow: PhantomData,
        }
    }

    /// Index of its port.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Bytes of the frame.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last beat was taken; `None` before.
    #[must_use]
    pub fn done_ps(&self) -> Option<u64> {
        (self.done != 0).then_some(self.done_ps)
    }
}

impl<'a> Sink<'a> {
    /// Takes a frame, header included, from the port with this index. Bytes that do not fit are
    /// counted and not written.
    #[must_use]
    pub fn new(port: u32, data: &'a mut [u8]) -> Self {
        Self {
            port,
            done: 0,
            damaged: 0,
            unused: 0,
            data: data.as_mut_ptr(),
            capacity: data.len() as u64,
            received: 0,
            first_ps: 0,
            done_ps: 0,
            borrow: PhantomData,
        }
    }

    /// Index of its port.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.port
    }

    /// When the last beat was taken; `None` before.
    #[must_use]
    pub fn done_ps(&self) -> Option<u64> {
        (self.done != 0).then_some(self.done_ps)
    }

    /// When the first beat was taken; `None` before.
    #[must_use]
    pub fn first_ps(&self) -> Option<u64> {
        (self.done != 0 || self.received > 0).then_some(self.first_ps)
    }

    /// Bytes that have come, also those that did not fit.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Whether the network marked the message as damaged.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.damaged != 0
    }
}

// SAFETY: rule 4; a source is a shared borrow of bytes, a sink an exclusive one, and both may go to
// another thread as such borrows may.
unsafe impl Send for Source<'_> {}
// SAFETY: as above.
unsafe impl Send for Sink<'_> {}

/// The functions of a library.
struct Functions {
    new: unsafe extern "C" fn(u32) -> *mut Opaque,
    delete: unsafe extern "C" fn(*mut Opaque),
    port_count: unsafe extern "C" fn() -> u32,
    port: unsafe extern "C" fn(u32) -> *const RawPort,
    clock_count: unsafe extern "C" fn() -> u32,
    clock_name: unsafe extern "C" fn(u32) -> *const c_char,
    node_name: unsafe extern "C" fn(u32) -> *const c_char,
    read: unsafe extern "C" fn(*mut Opaque, u32, *mut u64) -> c_int,
    run: unsafe extern "C" fn(*mut Opaque, *mut RawRun) -> c_int,
    memory: unsafe extern "C" fn(*mut Opaque, *const MemoryTiming) -> c_int,
    windows: unsafe extern "C" fn(*mut Opaque, *const RawWindow, u32) -> c_int,
    traffic: unsafe extern "C" fn(*mut Opaque, *mut Traffic) -> c_int,
}

/// A library that is loaded.
pub(crate) struct Loaded {
    functions: Functions,
    // Dropped last: unloads the code behind `functions`.
    _library: Library,
}

/// A port as the library describes it.
pub(crate) struct LoadedPort {
    pub(crate) name: String,
    pub(crate) topic: String,
    pub(crate) width_bits: u32,
    pub(crate) clock: usize,
    pub(crate) payload_bytes_max: u32,
    pub(crate) publisher_id: u16,
    pub(crate) publishes: bool,
}

impl Loaded {
    /// Loads a library that was built by this program and not changed since.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let text = |error: libloading::Error| error.to_string();
        // SAFETY: rule 1: the file is what the compiler left, and its initialisers are Verilator's.
        let library = unsafe { Library::new(path) }.map_err(text)?;
        // SAFETY: rule 1; this function has had this signature in every version.
        let abi = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"xd_network_abi\0") };
        let abi = abi.map_err(text)?;
        // SAFETY: as above; it only returns a constant.
        let abi = unsafe { abi() };
        if abi != ABI {
            return Err(format!("it has version {abi} of the interface, not {ABI}"));
        }
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: rule 1: the version says that the signature is the one of the field.
                let symbol = unsafe { library.get($name) };
                *symbol.map_err(text)?
            }};
        }
        let functions = Functions {
            new: function!(b"xd_network_new\0"),
            delete: function!(b"xd_network_delete\0"),
            port_count: function!(b"xd_network_port_count\0"),
            port: function!(b"xd_network_port\0"),
            clock_count: function!(b"xd_network_clock_count\0"),
            clock_name: function!(b"xd_network_clock_name\0"),
            node_name: function!(b"xd_network_node_name\0"),
            read: function!(b"xd_network_read\0"),
            run: function!(b"xd_network_run\0"),
            memory: function!(b"xd_network_memory\0"),
            windows: function!(b"xd_network_windows\0"),
            traffic: function!(b"xd_network_traffic\0"),
        };
        Ok(Self { functions, _library: library })
    }

    /// The ports, by their index.
    pub(crate) fn ports(&self) -> Vec<LoadedPort> {
        // SAFETY: rules 1 and 2; the functions only read constants, as below.
        let count = unsafe { (self.functions.port_count)() };
        (0..count).filter_map(|index| self.port(index)).collect()
    }

    fn port(&self, index: u32) -> Option<LoadedPort> {
        // SAFETY: as above.
        let port = unsafe { (self.functions.port)(index) };
        // SAFETY: it points at a constant of the library, or is null.
        let port = unsafe { port.as_ref() }?;
        Some(LoadedPort {
            name: text(port.name),
            topic: text(port.topic),
            width_bits: port.width_bytes * 8,
            clock: port.clock as usize,
            payload_bytes_max: port.payload_bytes_max,
            publisher_id: port.publisher_id,
            publishes: port.publishes != 0,
        })
    }

    /// The names of the clocks, by their index.
    pub(crate) fn clocks(&self) -> Vec<String> {
        // SAFETY: as in `ports`.
        let count = unsafe { (self.functions.clock_count)() };
        let name = |clock| {
            // SAFETY: as in `ports`.
            let name = unsafe { (self.functions.clock_name)(clock) };
            text(name)
        };
        (0..count).map(name).collect()
    }

    /// The name of a node of a board; empty: there is none of this number.
    fn node(&self, number: u32) -> String {
        // SAFETY: as in `ports`.
        let name = unsafe { (self.functions.node_name)(number) };
        text(name)
    }
}

/// A text constant of a library; empty for a null pointer.
fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: rule 1: texts of the interface are constants of the library that end with a zero.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_string_lossy().into_owned()
}

/// One network in simulation.
pub(crate) struct Handle {
    network: NonNull<Opaque>,
    loaded: Arc<Loaded>,
    /// What the board may reach; kept mapped until it may no longer (rule 5).
    regions: Vec<Region>,
}

// SAFETY: rule 3: a network has no ties to the thread that made it.
unsafe impl Send for Handle {}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) now_ps: u64,
    pub(crate) edges: u64,
    /// Whether a source or sink is done.
    pub(crate) done: bool,
    /// Whether nothing will happen any more.
    pub(crate) idle: bool,
    /// The node whose clock stood still although it had something to do.
    pub(crate) late: Option<String>,
}

impl Handle {
    /// A network in reset state; `None` without memory for it.
    pub(crate) fn new(loaded: Arc<Loaded>, seed: u32) -> Option<Self> {
        // SAFETY: rules 1 and 2.
        let network = unsafe { (loaded.functions.new)(seed) };
        NonNull::new(network).map(|network| Self { network, loaded, regions: Vec::new() })
    }

    /// A register of a network; `None` if there is none, or it is a board.
    pub(crate) fn read(&mut self, address: u32) -> Option<u64> {
        let mut value = 0;
        let read = self.loaded.functions.read;
        // SAFETY: rules 1 to 3; `value` lives through the call.
        let found = unsafe { read(self.network.as_ptr(), address, &raw mut value) };
        (found == 0).then_some(value)
    }

    /// `xd_network_run`; `None` when it is refused. There must be as many clocks as the network
    /// has, which [`crate::Model`] sees to and this function checks.
    pub(crate) fn run(
        &mut self,
        clocks: &mut [Clock],
        sources: &mut [Source<'_>],
        sinks: &mut [Sink<'_>],
        host: &mut HostRun<'_>,
        until_ps: u64,
        now_ps: u64,
    ) -> Option<Ran> {
        // SAFETY: as in `Loaded::ports`.
        let clock_count = unsafe { (self.loaded.functions.clock_count)() };
        if clocks.len() != clock_count as usize {
            return None;
        }
        let mut run = RawRun {
            clocks: clocks.as_mut_ptr(),
            // The lifetimes end here: the network keeps no pointer after the call.
            sources: sources.as_mut_ptr().cast(),
            sinks: sinks.as_mut_ptr().cast(),
            source_count: u32::try_from(sources.len()).ok()?,
            sink_count: u32::try_from(sinks.len()).ok()?,
            until_ps,
            now_ps,
            edges: 0,
            accesses: host.accesses.as_mut_ptr(),
            access_count: u32::try_from(host.accesses.len()).ok()?,
            accesses_done: host.done,
            access_cycles: host.cycles,
            doorbell: u32::from(host.doorbell),
            idle_cycles: host.idle_cycles,
            idle: 0,
        };
        let function = self.loaded.functions.run;
        // SAFETY: rules 1 to 4; the counts are the slices' own, clocks were counted above.
        let ended = unsafe { function(self.network.as_ptr(), &raw mut run) };
        host.done = run.accesses_done;
        host.doorbell = run.doorbell != 0;
        let (done, idle) = (ended == 1, run.idle == 1);
        let late = run.idle.checked_sub(2).map(|number| self.loaded.node(number));
        let ran = Ran { now_ps: run.now_ps, edges: run.edges, done, idle, late };
        (ended >= 0).then_some(ran)
    }
}

impl Handle {
    /// How host memory answers; false: the network is no board, or a value is out of its range.
    pub(crate) fn memory(&mut self, timing: &MemoryTiming) -> bool {
        let memory = self.loaded.functions.memory;
        // SAFETY: rules 1 to 3; the value lives through the call.
        let set = unsafe { memory(self.network.as_ptr(), timing) };
        set == 0
    }

    /// The board reaches these regions, at the addresses that they have in this process, and no
    /// others; false: the network is no board, and nothing has happened.
    pub(crate) fn reach(&mut self, regions: Vec<Region>) -> bool {
        let window = |region: &Region| RawWindow {
            address: region.address() as u64,
            bytes: region.bytes() as u64,
            memory: std::ptr::with_exposed_provenance_mut(region.address()),
            writable: u32::from(region.is_writable()),
            unused: 0,
        };
        let raw: Vec<RawWindow> = regions.iter().map(window).collect();
        let Ok(count) = u32::try_from(raw.len()) else { return false };
        let windows = self.loaded.functions.windows;
        // SAFETY: rules 1 to 3 and 5: the regions stay mapped as long as the windows are open; what
        // is writable is memory of this process's own loans.
        let set = unsafe { windows(self.network.as_ptr(), raw.as_ptr(), count) };
        if set == 0 {
            self.regions = regions;
        }
        set == 0
    }

    /// What has passed so far; `None`: the network is no board.
    pub(crate) fn traffic(&mut self) -> Option<Traffic> {
        let mut found = Traffic::default();
        let traffic = self.loaded.functions.traffic;
        // SAFETY: rules 1 to 3; the value lives through the call.
        let read = unsafe { traffic(self.network.as_ptr(), &raw mut found) };
        (read == 0).then_some(found)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: rules 1 to 3; nobody else has this pointer.
        unsafe { (self.loaded.functions.delete)(self.network.as_ptr()) }
    }
}
