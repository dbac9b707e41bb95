//! Hints that bring cache lines near before they are needed. They change nothing that a program can
//! see, and an address that is not mapped is no fault.

use std::ptr::NonNull;

/// Lines of a message that are fetched early: the flat layout's root, and most small messages
/// whole.
const LINES: usize = 4;

const LINE_BYTES: usize = 64;

#[inline(always)]
fn each_line(start: NonNull<u8>, bytes: usize, hint: impl Fn(*mut u8)) {
    for line in 0..LINES.min(bytes.div_ceil(LINE_BYTES)) {
        hint(start.as_ptr().wrapping_add(line * LINE_BYTES));
    }
}

/// The first lines of `bytes` bytes will be read: all at once, so that a reader that finds in the
/// first where to look in the second waits only once.
#[inline(always)]
pub(crate) fn to_read(start: NonNull<u8>, bytes: usize) {
    each_line(start, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; never a fault.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line,
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

/// The first lines of `bytes` bytes will be written: takes them out of other processors' caches
/// now, so that stores to them do not wait for one after the other.
#[inline(always)]
pub(crate) fn to_write(start: NonNull<u8>, bytes: usize) {
    each_line(start, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; never a fault, and nothing on processors that do not know it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) line,
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("prfm pstl1keep, [{}]", in(reg) line,
                options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}
