//! The protocol between one publisher and its subscribers, and between publishers and sleeping
//! executors.
//!
//! Everything here is plain atomics: no system call, no shared memory of its own, no topic. The
//! very same source runs under the model checker (`tests/model`), which also proves that each
//! ordering is needed: `weaken` lists the spots that a run can leave out.
//!
//! # State and who writes it
//!
//! | structure | lies in | written by |
//! |---|---|---|
//! | `Head`, `Slot` | the publisher's ring, sealed | the publisher's thread |
//! | `Conn` | the subscribing process's connections, sealed | the subscriber's thread; S5 any |
//! | `ArmedLine`, `ReadyLine`, `RelayLine` | memory of one pair of processes | both processes |
//! | `Bell` | the subscribing process's bells | that process and its direct peers |
//! | `Nudge` | private memory of one process | its threads set, one thread takes |
//! | `Inbox` | private memory of one process | control threads push, one thread empties |
//! | `ClaimTable` | memory that several processes write | all of them; rules there |
//! | `OverwriteRing` | a process's flight recorder, sealed | one thread; rules there |
//! | pool of chunks | private memory | the publisher's thread |
//!
//! What more than one process writes is changed by read-modify-write only.
//!
//! Sequence numbers are 63 bit, start at 1 and never wrap (292 years at one message per ns); 0
//! means none. The message s lives in slot s mod slots. Its slot says `s` (it is there), `s | GONE`
//! (it was evicted) or an older number. With D the depth in force, the ring holds at most the
//! messages head-D..=head, and slots > D. D is the contract's depth, or what the deepest peer asks
//! for as far as the pool holds it: never less than the contract's.
//!
//! A subscriber writes nothing that a publisher must believe: a cursor that lies makes the
//! publisher wait (at most its timeout) or not, a hold word that lies keeps at most `holds` chunks.
//! A publisher that lies is found out by S2 and by the check of each descriptor. Lines that both
//! sides write are hints: a lie costs a spurious or a lost wake-up of that pair, never data.
//!
//! # A message's way: publisher
//!
//! - **P1 attach.** The control thread pushes the peer into the inbox, passes a SeqCst fence, reads
//!   the number of the last message and replies with `joined` = that + 1. The publisher looks into
//!   the inbox behind its own SeqCst fences (P6, P7). So either the publisher knows the peer before
//!   it does anything more, or the peer's thread, behind the reply, sees all that stood before the
//!   publisher's fence. From P7: no chunk is reused under a peer that a scan did not count. From
//!   P6: no peer that armed is left asleep, and a reliable peer loses nothing from `joined` on.
//! - **P2 open.** While nobody is connected from outside the ring is not written; numbers go on.
//!   For the first peer the ring is opened empty behind the last number: `opened`, then head, then
//!   tail, then every slot is marked GONE with its latest number, so a subscriber that waits for a
//!   number in between finds its way by S2. What nobody could read (before `opened` or before
//!   `joined`) is not lost.
//! - **P3 room.** A reliable publisher compares its cached minimum of the cursors with s-D, reads
//!   the cursors again only if that is not enough, and waits (P8) only if they really are behind. A
//!   peer that has not started counts as `joined`. Peers may come and go during the wait, and with
//!   the last one the ring is closed: whether it is written is decided behind the wait.
//! - **P4 evict.** Only `publish` evicts (every o <= s-D, once s is there and its sleepers are
//!   woken: it writes lines that readers share, which would keep them from s), closing the ring
//!   (all), and `loan`, in two cases. It trims what all cursors have passed: large chunks beyond
//!   the history, small ones beyond the contract's depth. And if memory is short it gives up what
//!   is kept beyond the contract's depth, but for what a reliable peer wants. tail = o+1, then
//!   `slot[o]` = o | GONE, both Release; the chunk is retired under the number o, which it was
//!   published with and which is kept with it. Within the contract's depth `loan` evicts nothing
//!   that a reader could still want, so several loans may be open and an abandoned one changes
//!   nothing.
//! - **P5 publish.** Release fence, fields Relaxed, slot = s Release, head = s Release.
//! - **P6 doors.** SeqCst fence, inbox, then one Relaxed load per armed word; if it is not 0, swap
//!   it and ring (B1).
//! - **P7 scan.** SeqCst fence, inbox, then every hold word of every peer, Acquire. What was
//!   evicted before the fence and is named by no hold word is free. Small chunks are scanned for
//!   when many are retired, large ones at each loan.
//! - **P8 wait.** waiting = o (the number that a cursor must pass), SeqCst fence, cursors again; if
//!   one is still behind, sleep on the low half of that very cursor, which only its subscriber
//!   changes. No word is shared for it, and each wait concerns one peer.
//!
//! # A message's way: subscriber
//!
//! - **S1 peek.** `slot[n]`, Acquire: equal to n: ready; a smaller number: empty; else it was
//!   lapped (S2).
//! - **S2 lapped.** n goes on to tail. tail <= n, head - tail >= slots, tail > head + 1: the
//!   publisher is corrupt.
//! - **S3 take.** A hold word that is 0 (Acquire: the sample that used it may have been dropped on
//!   another thread); hold = n Release; SeqCst fence; fields Relaxed; Acquire fence; `slot[n]`
//!   again, Acquire: still n, and the message is held. Otherwise hold = 0 and S2.
//! - **S4 cursor.** cursor = n+1 Release. A reliable subscriber then passes a SeqCst fence and
//!   reads `waiting`: if it has just passed that number it wakes the publisher. Keep last and
//!   skipping move n and the cursor alike.
//! - **S5 drop.** hold = 0 Release, on any thread.
//! - **S6 arm.** armed |= bit, SeqCst fence, head Acquire: if it is at least n, do not sleep.
//!
//! # Messages that a device still writes
//!
//! - **E1 early.** A message whose descriptor says *early* may be taken and held like any other,
//!   and is finished when the first word of `Head::finished` has come to its number (Acquire; moved
//!   on with SeqCst by the thread that hears of the work's end, or by the device, in the order of
//!   the numbers). P7 counts early messages beyond that number as held.
//!   docs/decisions/0009-early-messages.md has the choice.
//! - **E2 uploaded.** The same for messages whose descriptor says *uploaded*, and `Head::uploaded`:
//!   they are complete, and a device copies them. docs/decisions/0012-uploads.md has the choice.
//!
//! # Sleeping
//!
//! - **B1 ring.** ready |= input in the executor's line of this pair, then word += 2. If bit 0 was
//!   set, FUTEX_WAKE.
//! - **B2 sleep.** Drain, arm all inputs (S6), w = word without bit 0, look at all ready lines and
//!   the inbox, CAS w to w | 1, FUTEX_WAIT while the word is w | 1, clear bit 0.
//! - **B3 drain.** Each ready word that is not 0 is swapped for 0. Bits are hints: inputs may share
//!   them.
//! - **B4 ask.** More than a handful of sleepers in one process: the publisher sets all their bits
//!   in the relay line, then wakes the first two that really sleep.
//! - **B5 relay.** An executor that returns from FUTEX_WAIT claims bits of the relay line until it
//!   has woken two, or none is left.
//! - **B6 nudge.** A thread of the same process that has something to say without an input sets the
//!   executor's nudge, then word += 2 as in B1. B2 takes the nudge when it looks at the ready lines
//!   and goes on awake if there was one; an executor that returns from FUTEX_WAIT takes it, too. So
//!   a nudge ends the sleep that is under way, or the next one that would begin.
//!
//! # Why it holds
//!
//! **Hold and evict are a store-buffering pair.** The subscriber stores its hold, fences, reads the
//! slot; the publisher stores GONE, fences, reads the hold. One of the two fences is first. If the
//! subscriber's, the scan sees the hold. If the publisher's, the second look sees GONE. So a chunk
//! is never freed under a sample. The hold's Release makes a scan that sees the *new* number also
//! see that the word's former sample is over, and S3's Acquire search extends this to samples
//! dropped on other threads.
//!
//! **A descriptor is not torn.** A reader that saw one new field sees, through the pair of Release
//! fence (P5) and Acquire fence (S3), the GONE mark that stood before it, or something newer: its
//! second look fails.
//!
//! **No wake-up is lost.** Publish / arm is the same store-buffering pair (P6, S6). Between the
//! executor's last look and its sleep, a ring changes the word, so that the CAS or FUTEX_WAIT
//! fails; after it, the ring sees bit 0. Blocked publisher and cursor likewise (P8, S4). A relayed
//! sleeper is woken because the bits stood before the first successful FUTEX_WAKE, whose sleeper
//! looks at them after it has returned, and each one woken does the same (B4, B5). A nudge is a
//! ready bit that no input has (B6).
//!
//! **One futex word, many writers.** An executor can sleep on one word only (waiting on several
//! needs Linux 5.16 and 0.22 us a word), and a thread that wakes it must change that word first. So
//! the word, alone, is shared with all direct peers; ready, armed and relay lines are private to
//! each pair. A direct peer that scribbles on the word, or moves the sleeper away with
//! FUTEX_REQUEUE, for which it needs no more than sight of the word, can delay a wake-up by
//! another; it cannot undo it: the bit stays in a line that it cannot reach and is found at the
//! next look. `DoorbellControl::expose` bounds the time to that look where peers of other users are
//! admitted. docs/decisions/0001-doorbell-memory.md has the choice.
//!
//! **Everything is bounded.** Loops over peer memory: 64 looks per call, one step per bit of a
//! swapped word, one per bell. Waits: the publisher's timeout, the executor's timers.

mod armed;
mod bell;
mod claims;
mod conn;
mod inbox;
mod overwrite;
mod ring;
pub mod weaken;

pub use armed::{ARMED_WORDS, ArmedLine, fired};
pub use bell::{Bell, Nudge, READY_BITS, READY_WORDS, ReadyLine, RelayLine};
pub use claims::{
    CLAIMS_MAX, ClaimKind, ClaimRefused, ClaimTable, ENTRY_WORDS, Entry, Member, Seen, Ticket,
};
pub use conn::{Conn, HOLDS_MAX};
pub use inbox::Inbox;
pub use overwrite::{OverwriteRing, RECORD_WORDS};
pub use ring::{Corruption, FIELDS, GONE, Head, Peek, Ring, Slot, TIMELINE_WORDS};
