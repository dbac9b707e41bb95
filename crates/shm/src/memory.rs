//! Shared memory objects: making them, sealing them, and looking into them.
//!
//! Ports place their structures inside with `MapRef` and `MapSlice`.

use crate::PAGE_BYTES;
use crate::budget::TRUST_BY_NAME;
use crate::driver::DriverMemory;
use crate::fork::{ForkMark, PrivateFd};
use crate::open_memory::{Access, OpenMemoryError, map_received};
use crate::slab::Slabs;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Why a memory object could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateMemoryError {
    /// The size is 0 or cannot be expressed.
    #[error("shared memory `{label}` cannot have {bytes} bytes; choose 1 to 2^62 bytes")]
    BadSize {
        /// What the memory is for.
        label: String,
        /// The size asked for.
        bytes: u64,
    },
    /// More address space than copies of one user's messages may take.
    #[error(
        "the {bytes} bytes of address space for copies of `{label}` and what its user's other messages take \
         are more than the {limit} that a user may take who is not trusted by name; end some of its \
         publishers, or trust the user ({TRUST_BY_NAME})",
        TRUST_BY_NAME = TRUST_BY_NAME
    )]
    BeyondBudget {
        /// What the memory is for.
        label: String,
        /// The size asked for.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The driver that was to make it did not.
    #[error("the driver cannot make memory `{label}` of {bytes} bytes: {why}")]
    Driver {
        /// What the memory is for.
        label: String,
        /// The size asked for.
        bytes: u64,
        /// Its words, with the next step.
        why: String,
    },
    /// The kernel refused.
    #[error(
        "shared memory `{label}` of {bytes} bytes: {step} failed ({source}); check the limits on \
         open files, their size, address space and memory (`ulimit -a`)"
    )]
    System {
        /// What the memory is for.
        label: String,
        /// The size asked for.
        bytes: u64,
        /// The step that failed.
        step: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

/// Who may write to a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Its maker only.
    Maker,
    /// Its maker and every process that receives it.
    Everybody,
}

/// A mapping of a memory object; unmapped when the last owner goes, never in a forked child. Or
/// memory that a driver has made for this process, which goes back to it.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    fork: ForkMark,
    slabs: Slabs,
    driver: Option<DriverMemory>,
}

// SAFETY: a mapping is an address range; all access to it goes through atomics (`MapRef`) or
// through ranges whose exclusive or shared use the protocol grants.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` gives out addresses only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a memory object that is at least as long and stays so.
    pub(crate) fn new(
        fd: BorrowedFd<'_>,
        bytes: usize,
        protection: ProtFlags,
    ) -> Result<Self, Errno> {
        let fork = ForkMark::new();
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, 0)?
        };
        let start = NonNull::new(start.cast::<u8>()).ok_or(Errno::FAULT)?;
        let mapping = Mapping { start, bytes, fork, slabs: Slabs::default(), driver: None };
        mapping.advise(0, bytes, Advice::LinuxDontFork)?;
        Ok(mapping)
    }

    /// Memory that a driver has made: its pages are the driver's to have ready.
    pub(crate) fn of_driver(memory: DriverMemory) -> Self {
        let (start, bytes) = (memory.start(), memory.bytes());
        let (fork, slabs) = (ForkMark::new(), Slabs::default());
        Mapping { start, bytes, fork, slabs, driver: Some(memory) }
    }

    fn advise(&self, offset: usize, bytes: usize, advice: Advice) -> Result<(), Errno> {
        debug_assert!(offset <= self.bytes && bytes <= self.bytes - offset);
        // SAFETY: offset <= bytes of this mapping.
        let start = unsafe { self.start.as_ptr().add(offset) };
        // SAFETY: the range lies inside this mapping and neither advice used here drops contents.
        unsafe { rustix::mm::madvise(start.cast(), bytes, advice) }
    }

    /// Has forked children inherit the mapping. Without rights to do so they go without, and fault.
    pub(crate) fn keep_in_children(&self) {
        debug_assert!(self.driver.is_none(), "what a driver keeps in children is its own business");
        let _ = self.advise(0, self.bytes, Advice::LinuxDoFork);
    }

    /// Is this a forked child of the process that mapped it?
    #[inline(always)]
    pub(crate) fn in_child(&self) -> bool {
        self.fork.in_child()
    }

    /// What stands for it on devices.
    pub(crate) fn slabs(&self) -> &Slabs {
        &self.slabs
    }

    /// Bytes mapped.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Address of `offset` if `bytes` bytes from there lie inside.
    #[inline]
    pub(crate) fn range(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        let total = self.bytes as u64;
        if offset > total || bytes > total - offset {
            return None;
        }
        // SAFETY: offset <= bytes of this mapping, checked above.
        Some(unsafe { self.start.add(offset as usize) })
    }

    /// Address of an offset that the caller knows to lie inside: its own pool made it.
    #[inline(always)]
    pub(crate) fn own(&self, offset: u64) -> NonNull<u8> {
        debug_assert!(offset < self.bytes as u64);
        // SAFETY: the pool cuts its chunks out of this very mapping.
        unsafe { self.start.add(offset as usize) }
    }

    /// Is it a memory object that other processes can map?
    pub(crate) fn is_shared(&self) -> bool {
        self.driver.is_none()
    }

    /// Lets go of the memory object: the addresses stay taken, and are read as zeros. A
    /// reader that is still there was told by its publisher that it holds nothing, and reads zeros.
    pub(crate) fn vacate(&self) {
        if self.driver.is_some() || self.fork.in_child() {
            return;
        }
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let start = self.start.as_ptr().cast();
        // SAFETY: exactly the range of this mapping, which nobody else maps; it stays readable, and
        // the exchange is one step for those who look there meanwhile.
        let vacated =
            unsafe { rustix::mm::mmap_anonymous(start, self.bytes, ProtFlags::READ, flags) };
        // Refused: the memory stays until the mapping goes.
        if vacated.is_ok() {
            let _ = self.advise(0, self.bytes, Advice::LinuxDontFork);
        }
    }

    /// Makes the pages of a range present: a page that cannot be had at its first touch is SIGBUS
    /// for the thread that touches it, and an error here. One system call; the contents stay.
    pub(crate) fn populate(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        if bytes == 0 || self.driver.is_some() {
            return Ok(());
        }
        let start = self.range(offset, bytes).ok_or(Errno::INVAL)?;
        // SAFETY: inside this mapping, as just checked.
        unsafe { populate(start, bytes as usize) }
    }
}

/// How often the pages of a range are asked for again when a signal came between.
const POPULATE_TRIES_MAX: u32 = 16;

/// [`Mapping::populate`], for code that maps memory without one.
///
/// # Safety
/// The range lies in a shared mapping that may be written and stays while this runs.
pub(crate) unsafe fn populate(start: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
    let address = start.as_ptr() as usize;
    let lead = address % PAGE_BYTES;
    // SAFETY: the page that the range starts in is mapped as a whole.
    let first = unsafe { start.sub(lead) };
    let bytes = lead + bytes;
    for _ in 0..POPULATE_TRIES_MAX {
        // SAFETY: the range is mapped, as the caller promises; the advice changes no contents.
        let advised = unsafe {
            rustix::mm::madvise(first.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite)
        };
        match advised {
            Ok(()) => return Ok(()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // Sandboxes (and Linux < 5.14) that do not know it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => break,
            // "Touching it would be SIGBUS".
            Err(Errno::FAULT) => return Err(Errno::NOMEM),
            Err(errno) => return Err(errno),
        }
    }
    for page in (0..bytes).step_by(PAGE_BYTES) {
        // SAFETY: the page is one of the range.
        let byte = unsafe { first.add(page) };
        // SAFETY: in a live mapping that may be written; adding 0 changes nothing, even if others
        // write there, and makes the page present.
        let word = unsafe { std::sync::atomic::AtomicU8::from_ptr(byte.as_ptr()) };
        word.fetch_add(0, std::sync::atomic::Ordering::Relaxed);
    }
    Ok(())
}

/// Gives a new memory object its size. Beyond the limit on the size of files the kernel would not
/// only refuse, but send SIGXFSZ, which ends the process.
pub(crate) fn set_size(fd: BorrowedFd<'_>, bytes: u64) -> Result<(), Errno> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| bytes > limit) {
        return Err(Errno::FBIG);
    }
    rustix::fs::ftruncate(fd, bytes)
}

/// Who may write to memory or words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Their maker only: sealed, others map them read-only.
    Shown,
    /// Everybody who gets the descriptor.
    Open,
}

/// A memory object that messages lie in, kept mapped while this lives: for hardware that reads or
/// writes them, and must be told what it may touch.
///
/// `Send + Sync`; cloning shares the mapping.
#[derive(Clone, Debug)]
pub struct Region {
    mapping: Arc<Mapping>,
    writable: bool,
}

impl Region {
    /// What another one has written, or has handed out: to be read only.
    pub(crate) fn to_read(mapping: &Arc<Mapping>) -> Self {
        Region { mapping: Arc::clone(mapping), writable: false }
    }

    /// What this process has a loan in.
    pub(crate) fn to_write(mapping: &Arc<Mapping>) -> Self {
        Region { mapping: Arc::clone(mapping), writable: true }
    }

    /// The first `bytes` bytes of a memory object that another process has sent, to be written
    /// if it is [`Sharing::Open`]. Makes system calls.
    ///
    /// # Errors
    /// [`OpenMemoryError`]: it is not sealed against shrinking, smaller, or cannot be mapped so.
    pub fn open(
        label: &str,
        fd: BorrowedFd<'_>,
        bytes: u64,
        sharing: Sharing,
    ) -> Result<Self, OpenMemoryError> {
        let writable = sharing == Sharing::Open;
        let access = if writable { Access::ReadWrite } else { Access::Read };
        Ok(Region { mapping: map_received(label, fd, bytes, bytes, access)?, writable })
    }

    /// What stands for it on devices.
    pub(crate) fn slabs(&self) -> &Slabs {
        self.mapping.slabs()
    }

    /// May it be written, if a loan lies in it?
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The driver's memory that it is; `None`: it is a memory object, which other processes can
    /// map.
    pub fn driver(&self) -> Option<&DriverMemory> {
        self.mapping.driver.as_ref()
    }

    /// Address of its first byte, a multiple of 4096, or of 64 if a [driver](Region::driver)
    /// made it; tells regions of one process apart.
    pub fn address(&self) -> usize {
        self.mapping.start.as_ptr() as usize
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.mapping.bytes
    }

    /// How many regions, ports and samples of this process keep it mapped, this one among them.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.mapping)
    }
}

/// Memory of this process for hardware to read: what goes there besides messages.
///
/// `Send`. Writing needs `&mut self`, so nobody writes while a driver that borrows it lets hardware
/// read.
#[derive(Debug)]
pub struct Scratch {
    memory: OwnMemory,
}

impl Scratch {
    /// Makes `bytes` bytes of zeros, rounded up to pages. Allocates, makes system calls.
    pub fn create(label: &str, bytes: u64) -> Result<Self, CreateMemoryError> {
        let memory = OwnMemory::create(label, bytes, Writers::Maker)?;
        memory.populate(label, 0, bytes)?;
        Ok(Scratch { memory })
    }

    /// As [`Scratch::create`], also for other processes to write: those that have the
    /// [descriptor](Scratch::fd).
    pub fn create_open(label: &str, bytes: u64) -> Result<Self, CreateMemoryError> {
        let memory = OwnMemory::create(label, bytes, Writers::Everybody)?;
        memory.populate(label, 0, bytes)?;
        Ok(Scratch { memory })
    }

    /// The descriptor for other processes, which [`Region::open`] takes.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// The memory object.
    pub fn region(&self) -> Region {
        Region::to_read(&self.memory.mapping)
    }

    /// The memory object, also for hardware to write. The caller does not let hardware write while
    /// this is used.
    pub fn region_to_write(&mut self) -> Region {
        Region::to_write(&self.memory.mapping)
    }

    /// Copies what lies at an offset, also what hardware has written; false, and nothing copied,
    /// if there is not as much.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let Some(from) = self.memory.mapping.range(offset as u64, bytes.len() as u64) else {
            return false;
        };
        // SAFETY: inside a live mapping that this value alone writes, and hardware not meanwhile.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        true
    }

    /// Writes at an offset; false, and nothing written, if it does not fit.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let Some(to) = self.memory.mapping.range(offset as u64, bytes.len() as u64) else {
            return false;
        };
        // SAFETY: inside a live mapping that this value alone writes; nobody in this process reads
        // it meanwhile, since that takes a borrow of this value, and no reference into it is given
        // out.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        true
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.fork.in_child() {
            // The range is not ours here: something else may lie there by now. Nor is the driver.
            std::mem::forget(self.driver.take());
            return;
        }
        if self.driver.is_some() {
            return;
        }
        // SAFETY: made by `new` with this length; a user of the range owns a share of this mapping.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Structures that may lie in shared memory.
///
/// # Safety
/// Every bit pattern is valid, all fields that a peer may write are atomics, and the layout is
/// `repr(C)`.
pub(crate) unsafe trait Shared {}

/// One structure in a mapping, which lives as long as this reference to it.
pub(crate) struct MapRef<T: Shared> {
    at: NonNull<T>,
    mapping: Arc<Mapping>,
}

// SAFETY: `Shared` types are made of atomics; the mapping is Send and Sync.
unsafe impl<T: Shared> Send for MapRef<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for MapRef<T> {}

impl<T: Shared> Clone for MapRef<T> {
    fn clone(&self) -> Self {
        MapRef { at: self.at, mapping: self.mapping.clone() }
    }
}

impl<T: Shared> MapRef<T> {
    /// The structure at `offset`; `None` if it does not lie inside or is not aligned.
    pub(crate) fn new(mapping: &Arc<Mapping>, offset: u64) -> Option<Self> {
        let at = mapping.range(offset, size_of::<T>() as u64)?.cast::<T>();
        at.is_aligned().then(|| MapRef { at, mapping: mapping.clone() })
    }

    /// The mapping that it lies in.
    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }
}

impl<T: Shared> Deref for MapRef<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: inside the mapping and aligned (checked by `new`), alive while `mapping` is; any
        // bit pattern is a valid `Shared`. Ports check for a forked child before they come here.
        unsafe { self.at.as_ref() }
    }
}

impl<T: Shared> std::fmt::Debug for MapRef<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MapRef({:p})", self.at)
    }
}

/// Consecutive structures in a mapping.
pub(crate) struct MapSlice<T: Shared> {
    at: NonNull<T>,
    length: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: as for `MapRef`.
unsafe impl<T: Shared> Send for MapSlice<T> {}
// SAFETY: as for `MapRef`.
unsafe impl<T: Shared> Sync for MapSlice<T> {}

impl<T: Shared> MapSlice<T> {
    /// `length` structures from `offset` on; `None` if they do not lie inside or are not aligned.
    pub(crate) fn new(mapping: &Arc<Mapping>, offset: u64, length: usize) -> Option<Self> {
        let bytes = (length as u64).checked_mul(size_of::<T>() as u64)?;
        let at = mapping.range(offset, bytes)?.cast::<T>();
        at.is_aligned().then(|| MapSlice { at, length, _mapping: mapping.clone() })
    }
}

impl<T: Shared> Deref for MapSlice<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: as for `MapRef`, for `length` structures.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }
}

impl<T: Shared> std::fmt::Debug for MapSlice<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MapSlice({:p}; {})", self.at, self.length)
    }
}

/// A memory object that this process made, with its own read-write mapping.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    /// What is handed to peers: read-only if only the maker writes.
    handed: PrivateFd,
    mapping: Arc<Mapping>,
}

/// Without contents or a size; it can be sealed, and no program that is started inherits it.
pub(crate) fn make_memfd(name: &str) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // Linux < 6.3 does not know the flag.
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags),
        other => other,
    }
}

/// A second, read-only open file description; the writable one if /proc is not mounted, which is
/// safe because the seals forbid every further writable mapping and every change of size.
fn reopen_read_only(fd: OwnedFd) -> OwnedFd {
    use rustix::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    match rustix::fs::open(path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(read_only) => read_only,
        Err(_) => fd,
    }
}

impl OwnMemory {
    /// Makes, maps and seals `bytes` bytes of zeros. Pages but the first are made present by
    /// [`Mapping::populate`] before they are written or handed to anybody; others cost nothing.
    pub(crate) fn create(
        label: &str,
        bytes: u64,
        writers: Writers,
    ) -> Result<Self, CreateMemoryError> {
        let rounded = bytes.checked_next_multiple_of(PAGE_BYTES as u64);
        let rounded = match rounded {
            Some(rounded) if bytes > 0 && rounded <= 1 << 62 => rounded,
            _ => return Err(CreateMemoryError::BadSize { label: label.to_owned(), bytes }),
        };
        let failed = |step| {
            move |errno: Errno| CreateMemoryError::System {
                label: label.to_owned(),
                bytes,
                step,
                source: errno.into(),
            }
        };
        // The name only shows in /proc: at most 249 bytes, no NUL.
        let name: String =
            label.chars().filter(|c| c.is_ascii_graphic()).take(200).collect::<String>();
        let fd = make_memfd(&format!("crossdock:{name}")).map_err(failed("memfd_create"))?;
        set_size(fd.as_fd(), rounded).map_err(failed("giving it its size"))?;
        rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(failed("fchmod"))?;
        // The writable mapping comes before the seal that forbids further ones.
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let mapping =
            Mapping::new(fd.as_fd(), rounded as usize, protection).map_err(failed("mmap"))?;
        // What the object is is written there.
        mapping.populate(0, PAGE_BYTES as u64).map_err(failed("making its first page present"))?;
        let mut seals = SealFlags::SHRINK | SealFlags::GROW;
        if writers == Writers::Maker {
            seals |= SealFlags::FUTURE_WRITE;
        }
        rustix::fs::fcntl_add_seals(&fd, seals | SealFlags::SEAL).map_err(failed("sealing"))?;
        let handed = if writers == Writers::Maker { reopen_read_only(fd) } else { fd };
        Ok(OwnMemory { handed: handed.into(), mapping: Arc::new(mapping) })
    }

    /// [`Mapping::populate`], with the error of this operation.
    pub(crate) fn populate(
        &self,
        label: &str,
        offset: u64,
        bytes: u64,
    ) -> Result<(), CreateMemoryError> {
        self.mapping.populate(offset, bytes).map_err(|errno| absent_pages(label, bytes, errno))
    }

    /// The descriptor for peers.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.handed.as_fd()
    }

    /// This process's own mapping.
    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }
}

/// Pages cannot be had.
pub(crate) fn absent_pages(label: &str, bytes: u64, errno: Errno) -> CreateMemoryError {
    let label = label.to_owned();
    CreateMemoryError::System {
        label,
        bytes,
        step: "making its pages present",
        source: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_range_ends_where_the_memory_ends_at_the_latest() {
        let memory = OwnMemory::create("ranges", PAGE_BYTES as u64, Writers::Maker).unwrap();
        let mapping = memory.mapping();
        let total = mapping.bytes() as u64;
        let start = mapping.range(0, total).unwrap();
        let place = |offset, bytes| {
            let place: Option<NonNull<u8>> = mapping.range(offset, bytes);
            place.map(|place| place.addr().get() - start.addr().get())
        };
        assert_eq!(place(total - 8, 8), Some(PAGE_BYTES - 8));
        assert_eq!(place(total, 0), Some(PAGE_BYTES));
        for (offset, bytes) in [(0, total + 1), (total - 8, 9), (total + 1, 0), (8, u64::MAX)] {
            assert_eq!(place(offset, bytes), None, "{bytes} bytes from {offset}");
        }
    }
}
