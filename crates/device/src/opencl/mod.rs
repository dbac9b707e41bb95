//! Devices behind OpenCL. The library is loaded when the first function is called; where there is
//! none, there are no devices.
//!
//! What the unsafe blocks rest on:
//! 1. A [`Raw`] is the driver's own pointer, or of memory the address of a [`ClMemory`]; each is
//!    given back once, by the function that `device.rs` calls when the handle is dropped.
//! 2. Ranges were checked against their memory, and belong to this device.
//! 3. The OpenCL specification (3.0, section 5) makes every function used here safe to call from
//!    any thread, except `clSetKernelArg` on one kernel: a launch borrows its kernel mutably.
//! 4. A command keeps what it uses: programs, kernels, queues and memory that are released
//!    meanwhile go when it is over. Only memory of the host does not: [`Driver::free`] waits for
//!    all streams before that is unmapped.
//! 5. Managed memory is shared virtual memory: kernels are given its address, and a buffer over it
//!    (5.2.1: a buffer of such a pointer has it as its storage) stands for it in copies.

mod clock;
mod ends;
mod listing;
mod shared;

pub(crate) use listing::{PREFIX, list, open};

use crate::capability::DeviceInfo;
use crate::clock::{ClockPair, Observed};
use crate::driver::{Access, Claims, Driver, Ending, Raw, RawSpan};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use cl3::command_queue::{self as queue, CL_QUEUE_PROFILING_ENABLE};
use cl3::error_codes::{ClError, cl_int};
use cl3::event;
use cl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE,
    CL_MEM_SVM_FINE_GRAIN_BUFFER, CL_MEM_USE_HOST_PTR,
};
use cl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_mem};
use clock::Clock;
use crossdock_shm::Region;
use crossdock_shm::timeline::FencePoint;
use ends::Ends;
use shared::Shared;
use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// OpenCL's codes for memory that cannot be had.
const NO_MEMORY: [cl_int; 4] = [-4, -5, -6, -61];

/// One device and its context.
#[derive(Debug)]
pub(crate) struct OpenCl {
    info: DeviceInfo,
    /// `cl_context` and `cl_device_id`, which may be used from any thread.
    context: usize,
    device: usize,
    /// Queues that are open: what [`Driver::free`] waits for.
    streams: Mutex<BTreeSet<usize>>,
    claims: Claims,
    clock: Clock,
    /// Ends of work that are to come.
    ends: Arc<Ends>,
}

/// A buffer, and where it is the host's memory.
struct ClMemory {
    buffer: cl_mem,
    host: Host,
    /// Other processes can have it, too: see `shared`.
    shared: Option<Shared>,
}

/// Where the host has a memory.
#[derive(Clone, Copy)]
enum Host {
    /// Nowhere.
    None,
    /// Here: memory of its own.
    Registered(usize),
    /// Here (5).
    Managed(usize),
}

impl OpenCl {
    fn context(&self) -> cl_context {
        self.context as cl_context
    }

    fn device(&self) -> cl_device_id {
        self.device as cl_device_id
    }

    fn failed(&self, doing: &'static str, code: cl_int) -> DeviceError {
        let (device, why) = (self.info.name.clone(), format!("{} ({code})", ClError(code)));
        DeviceError::Driver { device, doing, why }
    }

    fn done<T>(&self, doing: &'static str, result: Result<T, cl_int>) -> Result<T, DeviceError> {
        result.map_err(|code| self.failed(doing, code))
    }

    /// A command was put into a queue: its event is not needed.
    fn put(&self, doing: &'static str, event: Result<cl_event, cl_int>) -> Result<(), DeviceError> {
        let event = self.done(doing, event)?;
        // SAFETY: the command's own event, which nobody else has.
        self.done(doing, unsafe { event::release_event(event) })
    }

    fn buffer(&self, bytes: u64, flags: u64, host: Host) -> Result<Raw, DeviceError> {
        let (at, flags) = match host {
            Host::None => (ptr::null_mut(), flags),
            Host::Registered(at) | Host::Managed(at) => {
                (at as *mut c_void, flags | CL_MEM_USE_HOST_PTR)
            }
        };
        // SAFETY: the flags fit the pointer: one is given where, and only where, they say so; its
        // memory has this length and stays, as the caller of `register` promises, or until it is
        // freed.
        let made =
            unsafe { cl3::memory::create_buffer(self.context(), flags, bytes.max(1) as usize, at) };
        match made {
            Ok(buffer) => {
                Ok(Raw(Box::into_raw(Box::new(ClMemory { buffer, host, shared: None })) as usize))
            }
            Err(code) if NO_MEMORY.contains(&code) => Err(self.no_room(bytes)),
            Err(code) => Err(self.failed("making a buffer", code)),
        }
    }

    /// A queue that keeps its order and notes the times of its commands. The latter is a property
    /// of queues for good, and whether kernels are observed is known only later. On PoCL it costs
    /// 0.1 us on the 1.6 us of a launch, and nothing that could be measured on the 31 us of a
    /// launch that is waited for.
    fn queue(&self, doing: &'static str) -> Result<cl_command_queue, DeviceError> {
        let (context, timed) = (self.context(), CL_QUEUE_PROFILING_ENABLE);
        // The older of the two functions: devices of OpenCL 1.2 have no other.
        #[allow(deprecated)]
        // SAFETY: the device is the context's, and every device has this property.
        let made = unsafe { queue::create_command_queue(context, self.device(), timed) };
        self.done(doing, made)
    }

    fn no_room(&self, bytes: u64) -> DeviceError {
        let (device, limit_bytes) = (self.info.name.clone(), self.info.allocation_max_bytes);
        DeviceError::OutOfMemory { device, bytes, limit_bytes }
    }
}

/// A value for a parameter of a kernel.
enum Value {
    /// So many bytes, from there.
    Bytes(usize, *const c_void),
    /// The address of managed memory.
    Managed(usize),
}

/// The buffer behind a raw handle.
///
/// # Safety
/// The handle is a memory's and not freed.
unsafe fn memory<'a>(raw: Raw) -> &'a ClMemory {
    // SAFETY: as the caller promises (1).
    unsafe { &*(raw.0 as *const ClMemory) }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        self.clock.close();
        // SAFETY: made by `open`, used by nobody any more: everything else keeps this device alive.
        let _ = unsafe { cl3::context::release_context(self.context()) };
    }
}

impl Driver for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn claims(&self) -> Claims {
        self.claims
    }

    fn open_stream(&self) -> Result<Raw, DeviceError> {
        let made = self.queue("opening a stream")?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(made as usize);
        Ok(Raw(made as usize))
    }

    unsafe fn close_stream(&self, stream: Raw) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.remove(&stream.0);
        // What fails now was told by the calls before.
        let _ = queue::finish(stream.0 as _);
        // SAFETY: (1).
        let _ = unsafe { queue::release_command_queue(stream.0 as _) };
    }

    unsafe fn finish(&self, stream: Raw) -> Result<(), DeviceError> {
        self.done("waiting for a stream", queue::finish(stream.0 as _))
    }

    fn allocate(&self, bytes: u64) -> Result<Raw, DeviceError> {
        self.buffer(bytes, CL_MEM_READ_WRITE, Host::None)
    }

    fn allocate_managed(&self, bytes: u64) -> Result<(Raw, usize), DeviceError> {
        let fine = match self.claims.managed_concurrent {
            true => CL_MEM_SVM_FINE_GRAIN_BUFFER,
            false => 0,
        };
        let (context, whole) = (self.context(), usize::try_from(bytes.max(1)));
        let whole = whole.map_err(|_| self.no_room(bytes))?;
        let (flags, usual) = (CL_MEM_READ_WRITE | fine, 0);
        // SAFETY: flags that the device claims; 0 is the alignment of its largest type.
        let made = unsafe { cl3::memory::svm_alloc(context, flags, whole, usual) };
        // The function has no codes, and all but the room was asked before.
        let host = made.map_err(|_| self.no_room(bytes))?;
        self.buffer(bytes, CL_MEM_READ_WRITE, Host::Managed(host as usize))
            .map(|raw| (raw, host as usize))
            .inspect_err(|_| {
                // SAFETY: made above, used by nothing.
                let _ = unsafe { cl3::memory::svm_free(context, host) };
            })
    }

    fn allocate_shared(&self, bytes: u64) -> Result<Raw, DeviceError> {
        shared::allocate(self, bytes)
    }

    unsafe fn export(&self, raw: Raw) -> Result<OwnedFd, DeviceError> {
        // SAFETY: (1).
        shared::export(self, unsafe { memory(raw) })
    }

    fn import(&self, fd: BorrowedFd<'_>, bytes: u64, writable: bool) -> Result<Raw, DeviceError> {
        shared::import(self, fd, bytes, writable)
    }

    unsafe fn register(&self, region: &Region) -> Result<Raw, DeviceError> {
        let access = if region.is_writable() { CL_MEM_READ_WRITE } else { CL_MEM_READ_ONLY };
        let (bytes, at) = (region.bytes() as u64, region.address());
        self.buffer(bytes, access, Host::Registered(at))
    }

    unsafe fn free(&self, raw: Raw, of_host: bool) {
        if of_host {
            // Held: a stream is not closed meanwhile.
            let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            for stream in streams.iter() {
                let _ = queue::finish(*stream as _);
            }
        }
        // SAFETY: (1).
        let memory = unsafe { Box::from_raw(raw.0 as *mut ClMemory) };
        // SAFETY: (1) and (4).
        let _ = unsafe { cl3::memory::release_mem_object(memory.buffer) };
        if let Host::Managed(host) = memory.host {
            // SAFETY: made by `allocate_managed`; no work uses it any more, nor does the buffer.
            let _ = unsafe { cl3::memory::svm_free(self.context(), host as *mut c_void) };
        }
    }

    unsafe fn copy(&self, stream: Raw, from: RawSpan, to: RawSpan) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let source = unsafe { memory(from.memory) };
        // SAFETY: (1).
        let target = unsafe { memory(to.memory) };
        let (at, bytes) = ((from.offset as usize, to.offset as usize), from.bytes as usize);
        let stream = stream.0 as _;
        let (source, target) = (source.buffer, target.buffer);
        // SAFETY: (2).
        let event = unsafe {
            queue::enqueue_copy_buffer(stream, source, target, at.0, at.1, bytes, 0, ptr::null())
        };
        self.put("copying", event)
    }

    unsafe fn write(&self, stream: Raw, to: RawSpan, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let target = unsafe { memory(to.memory) }.buffer;
        let (at, from) = (to.offset as usize, bytes.as_ptr().cast());
        let stream = stream.0 as _;
        // SAFETY: (2); blocking: the slice is not used afterwards.
        let event = unsafe {
            queue::enqueue_write_buffer(stream, target, 1, at, bytes.len(), from, 0, ptr::null())
        };
        self.put("copying to the device", event)
    }

    unsafe fn read(&self, stream: Raw, from: RawSpan, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let source = unsafe { memory(from.memory) }.buffer;
        let (at, to) = (from.offset as usize, bytes.as_mut_ptr().cast());
        let stream = stream.0 as _;
        // SAFETY: (2); blocking: the slice is not used afterwards.
        let event = unsafe {
            queue::enqueue_read_buffer(stream, source, 1, at, bytes.len(), to, 0, ptr::null())
        };
        self.put("copying from the device", event)
    }

    unsafe fn acquire(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        let flags = match how {
            Access::Read => CL_MAP_READ,
            Access::Write => CL_MAP_WRITE_INVALIDATE_REGION,
            Access::ReadWrite => CL_MAP_READ | CL_MAP_WRITE,
        };
        // SAFETY: (1).
        let ClMemory { buffer: target, host, .. } = *unsafe { memory(span.memory) };
        let (at, bytes) = (span.offset as usize, span.bytes as usize);
        let (stream, mut mapped) = (stream.0 as _, ptr::null_mut());
        let doing = "giving memory to the host";
        if let Host::Managed(host) = host {
            let start = (host + at) as *mut c_void;
            // SAFETY: (2), (5); blocking.
            let event =
                unsafe { queue::enqueue_svm_map(stream, 1, flags, start, bytes, 0, ptr::null()) };
            return self.put(doing, event);
        }
        // SAFETY: (2); blocking. The address is known: it is the host memory's.
        let event = unsafe {
            queue::enqueue_map_buffer(
                stream,
                target,
                1,
                flags,
                at,
                bytes,
                &mut mapped,
                0,
                ptr::null(),
            )
        };
        self.put(doing, event)
    }

    unsafe fn release(&self, stream: Raw, span: RawSpan, _: Access) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let ClMemory { buffer, host, .. } = *unsafe { memory(span.memory) };
        let (stream, start) = (stream.0 as _, |host| (host + span.offset as usize) as *mut c_void);
        let event = match host {
            Host::None => return Ok(()),
            // SAFETY: the specification (5.2.4) gives memory of the host its own address when
            // mapped.
            Host::Registered(host) => unsafe {
                queue::enqueue_unmap_mem_object(stream, buffer, start(host), 0, ptr::null())
            },
            // SAFETY: (5); mapped by `acquire` from the same address.
            Host::Managed(host) => unsafe {
                queue::enqueue_svm_unmap(stream, start(host), 0, ptr::null())
            },
        };
        self.put("giving memory to the device", event)
    }

    fn load(&self, source: &KernelSource<'_>) -> Result<Raw, DeviceError> {
        // One string: the binding passes several wrongly.
        let made = cl3::program::create_program_with_source(self.context(), &[&source.whole()]);
        let program = self.done("reading kernels", made)?;
        let built =
            cl3::program::build_program(program, &[self.device()], c"", None, ptr::null_mut());
        let Err(code) = built else { return Ok(Raw(program as usize)) };
        let log = cl3::program::get_program_build_info(
            program,
            self.device(),
            cl3::program::CL_PROGRAM_BUILD_LOG,
        );
        // SAFETY: made above and not handed out.
        let _ = unsafe { cl3::program::release_program(program) };
        let log = log.map_or_else(|_| ClError(code).to_string(), String::from);
        let (device, label) = (self.info.name.clone(), source.label.to_owned());
        Err(DeviceError::Compile { device, label, log: log.trim().to_owned() })
    }

    unsafe fn unload(&self, program: Raw) {
        // SAFETY: (1).
        let _ = unsafe { cl3::program::release_program(program.0 as _) };
    }

    unsafe fn kernel(&self, program: Raw, label: &str, name: &str) -> Result<Raw, DeviceError> {
        let none = || DeviceError::NoKernel {
            device: self.info.name.clone(),
            label: label.to_owned(),
            kernel: name.to_owned(),
        };
        let text = CString::new(name).map_err(|_| none())?;
        let made = cl3::kernel::create_kernel(program.0 as _, &text).map_err(|_| none())?;
        Ok(Raw(made as usize))
    }

    unsafe fn drop_kernel(&self, kernel: Raw) {
        // SAFETY: (1).
        let _ = unsafe { cl3::kernel::release_kernel(kernel.0 as _) };
    }

    unsafe fn launch(
        &self,
        stream: Raw,
        kernel: Raw,
        grid: Grid,
        arguments: &[Argument<'_>],
        observed: Option<Observed>,
    ) -> Result<(), DeviceError> {
        let mut place = 0;
        let mut set = |value: Value| {
            let kernel = kernel.0 as _;
            let done = match value {
                // SAFETY: that many bytes; that the kernel takes them there is the caller's
                // promise, which the driver checks, too.
                Value::Bytes(bytes, value) => unsafe {
                    cl3::kernel::set_kernel_arg(kernel, place, bytes, value)
                },
                // SAFETY: (5), and as above.
                Value::Managed(start) => unsafe {
                    cl3::kernel::set_kernel_arg_svm_pointer(kernel, place, start as *const c_void)
                },
            };
            place += 1;
            self.done("passing an argument to a kernel", done)
        };
        for argument in arguments {
            match argument {
                Argument::In(span) | Argument::Out(span) => {
                    let RawSpan { memory: raw, offset, .. } = span.raw();
                    // SAFETY: (1).
                    match unsafe { memory(raw) } {
                        ClMemory { host: Host::Managed(host), .. } => {
                            set(Value::Managed(*host))?;
                        }
                        ClMemory { buffer, .. } => {
                            set(Value::Bytes(size_of::<cl_mem>(), ptr::from_ref(buffer).cast()))?;
                        }
                    }
                    set(Value::Bytes(8, ptr::from_ref(&offset).cast()))?;
                }
                Argument::U32(value) => set(Value::Bytes(4, ptr::from_ref(value).cast()))?,
                Argument::I32(value) => set(Value::Bytes(4, ptr::from_ref(value).cast()))?,
                Argument::F32(value) => set(Value::Bytes(4, ptr::from_ref(value).cast()))?,
                Argument::U64(value) => set(Value::Bytes(8, ptr::from_ref(value).cast()))?,
            }
        }
        if grid.items.contains(&0) {
            return Ok(());
        }
        let (items, group) = (grid.launched(), grid.group.map(|size| size.max(1) as usize));
        let stream = stream.0 as _;
        // SAFETY: three dimensions each; the rest is the caller's promise.
        let event = unsafe {
            queue::enqueue_nd_range_kernel(
                stream,
                kernel.0 as _,
                3,
                ptr::null(),
                items.as_ptr(),
                group.as_ptr(),
                0,
                ptr::null(),
            )
        };
        match observed {
            None => self.put("launching a kernel", event)?,
            Some(observed) => clock::observe(self.done("launching a kernel", event)?, observed),
        }
        self.done("launching a kernel", queue::flush(stream))
    }

    fn clock_pair(&self) -> Result<ClockPair, DeviceError> {
        self.clock.pair(self)
    }

    unsafe fn signal(&self, stream: Raw, ending: Ending) -> Result<(), DeviceError> {
        let doing = "signalling the end of work";
        // SAFETY: no wait list.
        let event = unsafe { queue::enqueue_marker_with_wait_list(stream.0 as _, 0, ptr::null()) };
        let event = self.done(doing, event)?;
        let told = self.ends.tell(event, ending);
        self.done(doing, told)?;
        self.done(doing, queue::flush(stream.0 as _))
    }

    unsafe fn wait(&self, stream: Raw, point: &FencePoint, _: bool) -> Result<(), DeviceError> {
        let doing = "waiting for another stream";
        let Some(end) = self.ends.of(point) else {
            // It may have come since the caller has looked.
            return match point.is_reached() {
                Ok(true) => Ok(()),
                _ => {
                    let why = "no stream of this process is to reach the point".to_owned();
                    Err(DeviceError::CannotWait { device: self.info.name.clone(), why })
                }
            };
        };
        // SAFETY: one event, alive; its stream was flushed when it was put there.
        let put = unsafe { queue::enqueue_barrier_with_wait_list(stream.0 as _, 1, &end.raw()) };
        self.put(doing, put)?;
        self.done(doing, queue::flush(stream.0 as _))
    }
}
