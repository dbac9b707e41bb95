//! Memory that several processes write: elements of one type, and beside them the table of who has
//! claimed which of them.
//!
//! The owner makes it, and members get its descriptor. Members can spoil the elements and the
//! table, never more. Elements are loaded and stored one by one, atomically (Relaxed, which is an
//! ordinary load or store). If two members write the same element, against the rules, it has one of
//! their values. No code makes a slice of the elements. Claims ([`ClaimTable`]) order the accesses
//! of one node and the next.
//!
//! If a driver makes the elements' memory, for this process alone, only the table lies in the
//! memory object, and no other process gets its descriptor.

use crate::PAGE_BYTES;
use crate::driver::DriverMemory;
use crate::faults::{self, fault};
use crate::memory::{CreateMemoryError, MapRef, Mapping, OwnMemory, Region, Shared, Writers};
use crate::open_memory::{Access, OpenMemoryError, check_present, map_received};
use crate::protocol::ClaimTable;
use crate::sync::Ordering;
use crate::tables::{Kind, Preamble};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Where the elements begin: behind the head and the table, at a page's start.
const SHARED_DATA_AT: u64 = 4 * PAGE_BYTES as u64;
/// The most bytes of elements: far more than machines have, far less than an address can say.
pub const SHARED_BYTES_MAX: u64 = 1 << 40;

/// Behind the preamble.
#[repr(C, align(64))]
#[derive(Debug)]
struct SharedHead {
    generation: AtomicU64,
    reserved: [AtomicU64; 7],
}

// SAFETY: repr(C), atomics only.
unsafe impl Shared for SharedHead {}

const HEAD_AT: u64 = size_of::<Preamble>() as u64;
const TABLE_AT: u64 = PAGE_BYTES as u64;
const _: () = assert!(TABLE_AT + size_of::<ClaimTable>() as u64 <= SHARED_DATA_AT);

/// The types that elements may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ElementType {
    /// `u8`.
    U8 = 1,
    /// `i8`.
    I8,
    /// `u16`.
    U16,
    /// `i16`.
    I16,
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `f32`.
    F32,
    /// `u64`.
    U64,
    /// `i64`.
    I64,
    /// `f64`.
    F64,
}

impl ElementType {
    const ALL: [Self; 10] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The type with a number, as messages name it.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| *it as u8 == number)
    }

    /// Its length in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Rust's name of it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }
}

mod sealed {
    /// What is stored for an element: an atomic of its length.
    pub trait Stored: Copy {
        type Word: 'static;
        fn load(word: &Self::Word) -> Self;
        fn store(word: &Self::Word, value: Self);
        /// As it lies in memory; `bytes` is as long as it is.
        fn to_bytes(value: Self, bytes: &mut [u8]);
        fn from_memory(bytes: &[u8]) -> Self;
    }
}

/// Types of elements: numbers of 1, 2, 4 and 8 bytes. Every bit pattern is a value.
pub trait Element: sealed::Stored + Send + Sync + std::fmt::Debug + 'static {
    /// Which it is.
    const TYPE: ElementType;

    /// The element whose bytes these are, as they lie in memory.
    ///
    /// # Panics
    /// There are not as many as it has.
    #[inline(always)]
    fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_memory(bytes)
    }
}

macro_rules! elements {
    ($($type:ty, $which:ident, $word:ty, $load:expr, $store:expr;)*) => {$(
        impl sealed::Stored for $type {
            type Word = $word;
            #[inline(always)]
            fn load(word: &$word) -> Self {
                ($load)(word.load(Ordering::Relaxed))
            }
            #[inline(always)]
            fn store(word: &$word, value: Self) {
                word.store(($store)(value), Ordering::Relaxed);
            }
            #[inline(always)]
            fn to_bytes(value: Self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            #[inline(always)]
            fn from_memory(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(bytes);
                <$type>::from_ne_bytes(array)
            }
        }
        impl Element for $type {
            const TYPE: ElementType = ElementType::$which;
        }
    )*};
}

elements! {
    u8, U8, AtomicU8, |it| it, |it| it;
    i8, I8, AtomicU8, |it: u8| it.cast_signed(), i8::cast_unsigned;
    u16, U16, AtomicU16, |it| it, |it| it;
    i16, I16, AtomicU16, |it: u16| it.cast_signed(), i16::cast_unsigned;
    u32, U32, AtomicU32, |it| it, |it| it;
    i32, I32, AtomicU32, |it: u32| it.cast_signed(), i32::cast_unsigned;
    f32, F32, AtomicU32, f32::from_bits, f32::to_bits;
    u64, U64, AtomicU64, |it| it, |it| it;
    i64, I64, AtomicU64, |it: u64| it.cast_signed(), i64::cast_unsigned;
    f64, F64, AtomicU64, f64::from_bits, f64::to_bits;
}

/// See the head of this file. `Send + Sync`; cheap to share behind an `Arc`.
///
/// In a forked child it must not be touched ([`SharedMemory::in_child`]).
#[derive(Debug)]
pub struct SharedMemory {
    head: MapRef<SharedHead>,
    table: MapRef<ClaimTable>,
    /// What the elements lie in, from here on.
    mapping: Arc<Mapping>,
    data_at: u64,
    /// Bytes of elements.
    bytes: u64,
    /// Of the owner: for members in other processes.
    own: Option<OwnMemory>,
}

impl SharedMemory {
    /// Makes memory for `bytes` bytes of elements, all zero and present. Allocates, makes system
    /// calls.
    ///
    /// # Errors
    /// [`CreateMemoryError`]: the size is not legal, or the system refuses.
    pub fn create(label: &str, bytes: u64) -> Result<Self, CreateMemoryError> {
        let bad = || CreateMemoryError::BadSize { label: label.to_owned(), bytes };
        if bytes == 0 || bytes > SHARED_BYTES_MAX {
            return Err(bad());
        }
        let total = SHARED_DATA_AT + bytes;
        let own = OwnMemory::create(label, total, Writers::Everybody)?;
        own.populate(label, 0, total)?;
        Preamble::write(own.mapping(), Kind::Shared);
        let mapping = Arc::clone(own.mapping());
        Self::over(mapping, bytes, Some(own)).ok_or_else(bad)
    }

    /// The same with the elements in memory that a driver has made, for this process alone. Writes
    /// all of it.
    ///
    /// # Errors
    /// As [`SharedMemory::create`], or the driver's memory is too small.
    pub fn create_in(
        label: &str,
        bytes: u64,
        memory: DriverMemory,
    ) -> Result<Self, CreateMemoryError> {
        let bad = || CreateMemoryError::BadSize { label: label.to_owned(), bytes };
        let table = OwnMemory::create(label, SHARED_DATA_AT, Writers::Maker)?;
        table.populate(label, 0, SHARED_DATA_AT)?;
        let mapping = Arc::new(Mapping::of_driver(memory));
        let start = mapping.range(0, bytes).filter(|_| bytes > 0).ok_or_else(bad)?;
        // SAFETY: inside the driver's memory, which nobody else has yet.
        unsafe { start.write_bytes(0, bytes as usize) };
        let head = MapRef::new(table.mapping(), HEAD_AT).ok_or_else(bad)?;
        let table = MapRef::new(table.mapping(), TABLE_AT).ok_or_else(bad)?;
        Ok(SharedMemory { head, table, mapping, data_at: 0, bytes, own: None })
    }

    /// The memory behind a descriptor that its owner sent, with `bytes` bytes of elements, at most
    /// `limit_bytes`. Its owner has made all of its pages present, or it is refused: what this
    /// process takes for it is address space and page tables. An owner that breaks the rules can
    /// take pages away meanwhile, and this process makes those anew. Makes system calls.
    ///
    /// # Errors
    /// [`OpenMemoryError`]: it is not such memory, or smaller, or larger than allowed, or not all
    /// of it is present, or the system refuses.
    pub fn open(
        label: &str,
        fd: BorrowedFd<'_>,
        bytes: u64,
        limit_bytes: u64,
    ) -> Result<Self, OpenMemoryError> {
        let total = SHARED_DATA_AT.saturating_add(bytes);
        let limit = SHARED_DATA_AT + limit_bytes.min(SHARED_BYTES_MAX);
        let mapping = map_received(label, fd, total, limit, Access::ReadWrite)?;
        Preamble::check(label, &mapping, Kind::Shared)?;
        if !faults::is(fault::SPARSE_MEMORY) {
            check_present(label, fd, total)?;
        }
        mapping.populate(0, total).map_err(|errno| OpenMemoryError::System {
            label: label.to_owned(),
            step: "making its pages present",
            source: errno.into(),
        })?;
        let small = OpenMemoryError::TooSmall { label: label.to_owned(), bytes, wanted: total };
        Self::over(mapping, bytes, None).ok_or(small)
    }

    fn over(mapping: Arc<Mapping>, bytes: u64, own: Option<OwnMemory>) -> Option<Self> {
        let (head, table) = (MapRef::new(&mapping, HEAD_AT)?, MapRef::new(&mapping, TABLE_AT)?);
        mapping.range(SHARED_DATA_AT, bytes)?;
        Some(SharedMemory { head, table, mapping, data_at: SHARED_DATA_AT, bytes, own })
    }

    /// The descriptor for members; `None`: this process is one, or has the elements for itself.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().map(OwnMemory::fd)
    }

    /// Bytes of elements.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of the memory that the elements lie in, to be registered with devices; they begin at
    /// [`SharedMemory::data_at`]. A caller that lets a device write it holds a claim of what the
    /// device writes.
    pub fn region(&self) -> Region {
        Region::to_write(&self.mapping)
    }

    /// Where the elements begin in the [region](SharedMemory::region).
    pub fn data_at(&self) -> u64 {
        self.data_at
    }

    /// Who has claimed what.
    #[inline]
    pub fn claims(&self) -> &ClaimTable {
        &self.table
    }

    /// Is this a forked child of the process that mapped it? One load.
    #[inline]
    pub fn in_child(&self) -> bool {
        self.mapping.in_child()
    }

    /// How often the owner has begun anew.
    #[inline]
    pub fn generation(&self) -> u64 {
        // Acquire pairs with `begin_generation`.
        self.head.generation.load(Ordering::Acquire)
    }

    /// Begins the next one, and returns it. The owner's.
    pub fn begin_generation(&self) -> u64 {
        self.head.generation.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Says that nobody shall claim anything any more: sets the generation to `u64::MAX`. The
    /// owner's.
    pub fn close(&self) {
        self.head.generation.store(u64::MAX, Ordering::Release);
    }

    /// Copies elements to `bytes`, side by side. False, and nothing copied: `bytes` is not as long
    /// as `count` elements.
    ///
    /// # Panics
    /// There is no such element.
    pub fn gather<T: Element>(
        &self,
        elements: impl Iterator<Item = u64>,
        count: u64,
        bytes: &mut [u8],
    ) -> bool {
        let length = const { T::TYPE.bytes() as usize };
        if bytes.len() as u64 != count.saturating_mul(length as u64) {
            return false;
        }
        for (index, bytes) in elements.zip(bytes.chunks_exact_mut(length)) {
            T::to_bytes(self.load(index), bytes);
        }
        true
    }

    /// The element at `index`, counted in elements of its type.
    ///
    /// # Panics
    /// There is none.
    #[inline(always)]
    pub fn load<T: Element>(&self, index: u64) -> T {
        T::load(self.word::<T>(index))
    }

    /// Sets the element at `index`. The caller holds a claim to write it.
    ///
    /// # Panics
    /// There is none.
    #[inline(always)]
    pub fn store<T: Element>(&self, index: u64, value: T) {
        T::store(self.word::<T>(index), value);
    }

    #[inline(always)]
    fn word<T: Element>(&self, index: u64) -> &T::Word {
        let length = const { T::TYPE.bytes() };
        assert!(index < self.bytes / length, "element {index} of {}", self.bytes / length);
        let at = self.mapping.own(self.data_at + index * length).cast::<T::Word>();
        // SAFETY: inside the mapping (the maker of this has checked that all elements are, the line
        // above that this is one of them), aligned, because elements begin at a multiple of 64 and
        // lie at multiples of their length; the word is an atomic of that length, and every
        // bit pattern is a value.
        unsafe { at.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (SharedMemory, SharedMemory) {
        let owner = SharedMemory::create("buffer", 4096 * 3 + 8).expect("memory");
        let member = owner.fd().expect("its owner's");
        let member =
            SharedMemory::open("buffer", member, owner.bytes(), SHARED_BYTES_MAX).expect("memory");
        (owner, member)
    }

    #[test]
    fn owner_and_member_see_the_same_elements() {
        let (owner, member) = pair();
        owner.store(0, 1.5_f32);
        member.store(1, -2_i32);
        member.store(1536, u64::MAX);
        assert_eq!(member.load::<f32>(0).to_bits(), 1.5_f32.to_bits());
        assert_eq!(owner.load::<i32>(1), -2);
        assert_eq!(owner.load::<u64>(1536), u64::MAX);
        assert_eq!((owner.begin_generation(), member.generation()), (1, 1));
        assert!(member.fd().is_none());
    }

    #[test]
    #[should_panic(expected = "element 3074 of 3074")]
    fn no_element_is_beyond_the_end() {
        let (owner, _member) = pair();
        owner.load::<f32>(3074);
    }

    /// Memory that says it is a buffer's, with nothing of it present but its first words.
    fn sparse(bytes: u64) -> std::os::fd::OwnedFd {
        let (owner, _member) = pair();
        let mut words = [0; 16];
        rustix::io::pread(owner.fd().expect("its owner's"), &mut words, 0).expect("its words");
        let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("sparse", flags).expect("memory");
        rustix::fs::ftruncate(&fd, SHARED_DATA_AT + bytes).expect("its size");
        rustix::io::pwrite(&fd, &words, 0).expect("its words");
        rustix::fs::fcntl_add_seals(&fd, rustix::fs::SealFlags::SHRINK).expect("seals");
        fd
    }

    #[test]
    fn a_member_takes_no_memory_that_its_owner_has_not_taken() {
        use std::os::fd::AsFd;
        let fd = sparse(64 << 20);
        let blocks = || rustix::fs::fstat(&fd).expect("its state").st_blocks;
        let before = blocks();
        let opened = SharedMemory::open("buffer", fd.as_fd(), 64 << 20, SHARED_BYTES_MAX);
        assert!(matches!(opened, Err(OpenMemoryError::Sparse { .. })), "{opened:?}");
        assert_eq!(blocks(), before);
        // Nor if as much is present, but behind what it takes.
        let behind = SHARED_DATA_AT + (64 << 20);
        rustix::fs::ftruncate(&fd, 2 * behind).expect("its size");
        let flags = rustix::fs::FallocateFlags::empty();
        rustix::fs::fallocate(&fd, flags, behind, behind).expect("its pages");
        let before = blocks();
        let opened = SharedMemory::open("buffer", fd.as_fd(), 64 << 20, SHARED_BYTES_MAX);
        assert!(matches!(opened, Err(OpenMemoryError::Sparse { .. })), "{opened:?}");
        assert_eq!(blocks(), before);
    }

    #[test]
    fn a_member_takes_no_more_than_its_own_limit() {
        let (owner, _member) = pair();
        let fd = owner.fd().expect("its owner's");
        let opened = SharedMemory::open("buffer", fd, owner.bytes(), owner.bytes() - 1);
        assert!(matches!(opened, Err(OpenMemoryError::TooLarge { .. })), "{opened:?}");
        assert!(SharedMemory::open("buffer", fd, owner.bytes(), owner.bytes()).is_ok());
    }

    #[test]
    fn other_memory_is_refused() {
        let (owner, _member) = pair();
        let fd = owner.fd().expect("its owner's");
        let larger = SharedMemory::open("buffer", fd, 4 * 4096 + 1, SHARED_BYTES_MAX);
        assert!(matches!(larger, Err(OpenMemoryError::TooSmall { .. })), "{larger:?}");
        let whole = SharedMemory::open("buffer", fd, u64::MAX, SHARED_BYTES_MAX);
        assert!(matches!(whole, Err(OpenMemoryError::TooLarge { .. })), "{whole:?}");
        let words = crate::OwnWords::create("words", 8192, crate::Sharing::Open).expect("memory");
        let other = SharedMemory::open("buffer", words.fd(), 8, SHARED_BYTES_MAX);
        assert!(matches!(other, Err(OpenMemoryError::Layout { .. })), "{other:?}");
        assert!(SharedMemory::create("buffer", 0).is_err());
        assert!(SharedMemory::create("buffer", SHARED_BYTES_MAX + 1).is_err());
    }
}
