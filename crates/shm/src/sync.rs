//! The one door to atomics: std's in the product, loom's under `--cfg loom`.
//!
//! No other file of this crate names `std::sync::atomic` for memory of the protocol, so the model
//! checker runs the same source as the product.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// `std::sync::atomic::fence`; the sequentially consistent one without `mfence`, which is what the
/// compiler makes of it.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn fence(order: Ordering) {
    #[cfg(target_arch = "x86_64")]
    if order == Ordering::SeqCst {
        // A locked instruction orders all of the thread's loads and stores of ordinary memory as
        // `mfence` does (Intel SDM volume 3, 9.2.3), in half the time: it does not wait for loads
        // to retire. The Linux kernel's smp_mb() is the same instruction.
        // SAFETY: the word on top of the stack stays as it is; flags are not promised to be kept,
        // and memory counts as clobbered, so the compiler moves no access across it.
        return unsafe { std::arch::asm!("lock or dword ptr [rsp], 0") };
    }
    std::sync::atomic::fence(order);
}

/// `fence(SeqCst)` directly behind a read-modify-write of this thread's. Where that is a locked
/// instruction it is such a fence itself; only the compiler has to be kept from moving accesses
/// across it.
#[inline(always)]
pub(crate) fn fence_behind_update() {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    fence(Ordering::SeqCst);
}
