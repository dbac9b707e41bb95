//! How an executor sleeps on one word, and how publishers wake it.
//!
//! It must not make a system call: the caller waits and wakes where these functions say so.

use super::weaken::{is, spot};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Ready words of one executor and one peer process.
pub const READY_WORDS: usize = if cfg!(loom) { 1 } else { 8 };

/// Inputs that one executor tells apart; more of them share bits.
pub const READY_BITS: usize = READY_WORDS * 64;

/// The word that an executor sleeps on: 128 bytes, read-modify-write by the executor and its direct
/// peers.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Bell {
    /// Bit 0: asleep. +2 for each ring.
    pub word: AtomicU32,
    reserved: [u32; 31],
}

/// Which inputs rang: 64 bytes per executor and peer process, private to that pair of processes.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ReadyLine {
    /// One bit per input of the executor; a hint, shared beyond `READY_BITS` inputs.
    pub ready: [AtomicU64; READY_WORDS],
}

/// A wake-up that says nothing of inputs: private memory of one process, set by any of its threads,
/// taken by the executor.
#[derive(Debug)]
pub struct Nudge {
    pending: AtomicU32,
}

/// Which sleepers of one process still have to be woken: 64 bytes per pair of processes.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct RelayLine {
    /// One bit per bell of the process.
    pub pending: [AtomicU64; READY_WORDS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bell>() == 128 && size_of::<ReadyLine>() == 64);
#[cfg(not(loom))]
const _: () = assert!(size_of::<RelayLine>() == 64);

impl Default for Bell {
    fn default() -> Self {
        Bell { word: AtomicU32::new(0), reserved: [0; 31] }
    }
}

impl Default for Nudge {
    fn default() -> Self {
        Nudge { pending: AtomicU32::new(0) }
    }
}

impl Default for ReadyLine {
    fn default() -> Self {
        ReadyLine { ready: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Default for RelayLine {
    fn default() -> Self {
        RelayLine { pending: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl ReadyLine {
    /// Rule B1, first half: `input` has something.
    #[inline]
    pub fn mark(&self, input: u16) {
        let input = usize::from(input) % READY_BITS;
        // AcqRel pairs with the swap in `drain`: the message comes before the bit.
        self.ready[input / 64].fetch_or(1 << (input % 64), Ordering::AcqRel);
    }

    /// Rule B3: takes the inputs that rang since the last call.
    #[inline]
    pub fn drain(&self, mut each: impl FnMut(u16)) {
        for (index, word) in self.ready.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // AcqRel pairs with `mark`.
            let mut bits = word.swap(0, Ordering::AcqRel);
            while bits != 0 {
                each((index * 64) as u16 + bits.trailing_zeros() as u16);
                bits &= bits - 1;
            }
        }
    }

    /// Did any input ring since the last `drain`?
    #[inline]
    pub fn any(&self) -> bool {
        // Acquire pairs with `mark`.
        self.ready.iter().any(|word| word.load(Ordering::Acquire) != 0)
    }
}

impl Nudge {
    /// Rule B6: is there one, and it is over.
    #[inline]
    pub fn take(&self) -> bool {
        // Acquire pairs with `ring_nudge`: what the waker wrote before is seen.
        self.pending.load(Ordering::Relaxed) != 0 && self.pending.swap(0, Ordering::Acquire) != 0
    }
}

impl Bell {
    /// Rule B1, second half: true if the executor sleeps and a futex wake is needed.
    #[inline]
    pub fn ring(&self) -> bool {
        // AcqRel pairs with `announce`: either it fails because the word changed, or this sees bit
        // 0.
        self.word.fetch_add(2, Ordering::AcqRel) & 1 != 0
    }

    /// Marks `input` and rings: rule B1 as a whole.
    #[inline]
    pub fn ring_for(&self, line: &ReadyLine, input: u16) -> bool {
        if is(spot::BELL_ORDER) {
            let asleep = self.ring();
            line.mark(input);
            return asleep;
        }
        line.mark(input);
        self.ring()
    }

    /// Rule B6: wakes the executor without an input; true if a futex wake is needed.
    #[inline]
    pub fn ring_nudge(&self, nudge: &Nudge) -> bool {
        if is(spot::NUDGE_ORDER) {
            let asleep = self.ring();
            nudge.pending.store(1, Ordering::Release);
            return asleep;
        }
        // Release pairs with `Nudge::take`.
        nudge.pending.store(1, Ordering::Release);
        self.ring()
    }

    /// Rule B2, first step: the word before the executor looks at its ready lines for the last
    /// time.
    #[inline]
    pub fn before_look(&self) -> u32 {
        // Acquire pairs with `ring`: bits set before that ring are seen by the look that follows.
        self.word.load(Ordering::Acquire) & !1
    }

    /// Rule B2, last step: announces sleep if nobody rang since `before_look`. `Some(value)`: wait
    /// on the word while it has this value.
    #[inline]
    pub fn announce(&self, before: u32) -> Option<u32> {
        // AcqRel pairs with `ring`.
        self.word
            .compare_exchange(before, before | 1, Ordering::AcqRel, Ordering::Acquire)
            .ok()
            .map(|before| before | 1)
    }

    /// The executor is awake again.
    #[inline]
    pub fn awake(&self) {
        self.word.fetch_and(!1, Ordering::AcqRel);
    }
}

impl RelayLine {
    /// Rule B4: asks the first executor that wakes to wake `bells`, too. One read-modify-write per
    /// word.
    pub fn ask(&self, bells: &[u16]) {
        let mut bits = [0; READY_WORDS];
        for bell in bells {
            let bell = usize::from(*bell) % READY_BITS;
            bits[bell / 64] |= 1u64 << (bell % 64);
        }
        for (word, bits) in self.pending.iter().zip(bits) {
            if bits != 0 {
                // AcqRel pairs with `claim`.
                word.fetch_or(bits, Ordering::AcqRel);
            }
        }
    }

    /// Rule B5: one sleeper that the caller shall wake. At most as many steps as there are bits.
    pub fn claim(&self) -> Option<u16> {
        for (index, word) in self.pending.iter().enumerate() {
            // It fails only if another one was faster.
            for _ in 0..u64::BITS {
                let bits = word.load(Ordering::Acquire);
                if bits == 0 {
                    break;
                }
                let bit = bits & bits.wrapping_neg();
                // AcqRel pairs with `ask` and with the claims of others.
                if word.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                    return Some((index * 64) as u16 + bit.trailing_zeros() as u16);
                }
            }
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn of_executors_that_look_at_once_exactly_one_wakes_each_sleeper() {
        let (line, ready) = (RelayLine::default(), AtomicU32::new(0));
        let sleepers: Vec<u16> = (0..READY_BITS as u16).collect();
        let executor = || {
            let both = (ready.fetch_add(1, Ordering::AcqRel) | 1) + 1;
            while ready.load(Ordering::Acquire) < both {
                std::thread::yield_now();
            }
            std::iter::from_fn(|| line.claim()).collect::<Vec<u16>>()
        };
        for _ in 0..50 {
            line.ask(&sleepers);
            let mut woken = std::thread::scope(|scope| {
                let other = scope.spawn(executor);
                let mut woken = executor();
                woken.extend(other.join().unwrap());
                woken
            });
            woken.sort_unstable();
            assert_eq!(woken, sleepers);
        }
    }
}
