//! Which memory of the host this process has registered with drivers.
//!
//! A driver refuses to register an address twice. But two devices may use the memory of one topic,
//! a publisher and a subscriber of one process share one mapping of it, and a timeline may lie in
//! memory that is registered anyway. So registrations are counted here:
//! 1. An entry is a range with the number of its users. A range inside an entry uses that entry.
//! 2. A user keeps the memory mapped as long as its [`Pinned`] lives, and drops that only when no
//!    device works on the memory any more.
//! 3. The last user takes the entry away and unregisters the range.
//! 4. Registering and unregistering take milliseconds and wait for devices. So the lock is not held
//!    meanwhile: the entry *moves*, and only a user of a part of the same range waits for that.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the mapping of a range allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// Reading and writing.
    ReadWrite,
    /// At least reading.
    Read,
}

/// How a range is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinning {
    /// Its pages are pinned for writing: a read-only mapping is refused.
    ToWrite,
    /// The device only reads it.
    ToRead,
}

/// Why a range was not registered; `E` is the driver's error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<E> {
    /// Part of it is registered already, by this process.
    Overlap(E),
    /// The mapping is read-only, and the device takes none such.
    ReadOnly(E),
    /// Anything else.
    Other(E),
}

impl<E> Refused<E> {
    /// The driver's error.
    pub(crate) fn error(self) -> E {
        let (Refused::Overlap(error) | Refused::ReadOnly(error) | Refused::Other(error)) = self;
        error
    }
}

/// A driver that registers memory.
pub(crate) trait Registrar: Clone + Debug + Send + 'static {
    /// Of the driver.
    type Error;

    /// Registers a range.
    ///
    /// # Safety
    /// The range is mapped until [`Registrar::unregister`] returns.
    unsafe fn register(
        &self,
        start: usize,
        bytes: usize,
        how: Pinning,
    ) -> Result<(), Refused<Self::Error>>;

    /// Gives a range back that [`Registrar::register`] took.
    ///
    /// # Safety
    /// No work of a device uses it any more.
    unsafe fn unregister(&self, start: usize);
}

/// A range that is registered (1).
#[derive(Debug)]
struct Entry<R> {
    /// Tells entries apart: one that comes may have the start of one that goes.
    number: u64,
    start: usize,
    bytes: usize,
    /// 0: it moves (4).
    users: usize,
    /// Who registered it.
    registrar: R,
}

impl<R> Entry<R> {
    fn end(&self) -> usize {
        self.start + self.bytes
    }
}

/// All that the devices of one driver have registered in this process.
#[derive(Debug)]
pub(crate) struct Table<R: 'static> {
    entries: Mutex<Vec<Entry<R>>>,
    numbers: AtomicU64,
    /// An entry does not move any more.
    moved: Condvar,
}

impl<R: Registrar> Table<R> {
    pub(crate) const fn new() -> Self {
        Self { entries: Mutex::new(Vec::new()), numbers: AtomicU64::new(0), moved: Condvar::new() }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry<R>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a range, or uses what is registered. Pins its pages: takes time in proportion,
    /// tenths of a millisecond for each MiB. `takes_read_only` says that the device can have memory
    /// that it only reads.
    ///
    /// # Safety
    /// Rule 2.
    pub(crate) unsafe fn pin(
        &'static self,
        registrar: &R,
        (start, bytes): (usize, usize),
        mapped: Mapped,
        takes_read_only: bool,
    ) -> Result<Pinned<R>, Refused<R::Error>> {
        let end = start + bytes;
        let mut entries = self.entries();
        // Ends: an entry moves once for its first user and once after its last.
        loop {
            let around = entries.iter_mut().find(|it| it.start <= start && end <= it.end());
            if let Some(entry) = around.filter(|it| it.users > 0) {
                entry.users += 1;
                return Ok(Pinned { table: self, number: entry.number, start: entry.start });
            }
            let moves = |it: &Entry<R>| it.users == 0 && it.start < end && start < it.end();
            if !entries.iter().any(moves) {
                break;
            }
            entries = self.moved.wait(entries).unwrap_or_else(PoisonError::into_inner);
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        entries.push(Entry { number, start, bytes, users: 0, registrar: registrar.clone() });
        drop(entries);
        // To be written first, whatever is asked for: the range may be a publisher's own, which it
        // writes elsewhere in this process, and it cannot be registered a second time for that.
        // SAFETY: mapped, as the caller promises.
        let mut done = unsafe { registrar.register(start, bytes, Pinning::ToWrite) };
        let is_refused = matches!(done, Err(Refused::ReadOnly(_) | Refused::Other(_)));
        if is_refused && mapped == Mapped::Read && takes_read_only {
            // SAFETY: as above.
            done = unsafe { registrar.register(start, bytes, Pinning::ToRead) };
        }
        let mut entries = self.entries();
        let place = entries.iter().position(|it| it.number == number);
        let Some(place) = place else { unreachable!("only this thread takes it away") };
        match done {
            Ok(()) => entries[place].users = 1,
            Err(_) => _ = entries.swap_remove(place),
        }
        drop(entries);
        self.moved.notify_all();
        match done {
            Ok(()) => Ok(Pinned { table: self, number, start }),
            Err(Refused::Other(error)) if mapped == Mapped::Read && !takes_read_only => {
                Err(Refused::ReadOnly(error))
            }
            Err(refused) => Err(refused),
        }
    }
}

/// A user of registered memory (2). `Send + Sync`.
#[derive(Debug)]
pub(crate) struct Pinned<R: Registrar> {
    table: &'static Table<R>,
    /// Of the entry.
    number: u64,
    start: usize,
}

impl<R: Registrar> Pinned<R> {
    /// The start of what was registered, which this range lies in.
    pub(crate) fn start(&self) -> usize {
        self.start
    }
}

impl<R: Registrar> Drop for Pinned<R> {
    fn drop(&mut self) {
        let mut entries = self.table.entries();
        let mine = entries.iter_mut().find(|it| it.number == self.number);
        let Some(entry) = mine else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let registrar = entry.registrar.clone();
        drop(entries);
        // SAFETY: registered by `pin` (1), used by nobody any more (2); it moves, so nobody else
        // does this.
        unsafe { registrar.unregister(self.start) };
        let mut entries = self.table.entries();
        entries.retain(|it| it.number != self.number);
        drop(entries);
        self.table.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Where it says that it has begun, and waits for the word to go on.
    type Gate = (Sender<()>, Receiver<()>);

    /// Notes what it is asked for, and refuses as drivers do. The first unregistration of `SLOW`
    /// waits for a word.
    #[derive(Clone, Debug)]
    struct Notes {
        calls: Arc<Mutex<Vec<String>>>,
        taken: Arc<Mutex<Vec<(usize, usize)>>>,
        read_only: bool,
        gate: Arc<Mutex<Option<Gate>>>,
    }

    const SLOW: usize = 0x10_0000;

    impl Notes {
        fn new(read_only: bool) -> Self {
            let (calls, taken) = (Arc::default(), Arc::default());
            Self { calls, taken, read_only, gate: Arc::default() }
        }

        fn calls(&self) -> Vec<String> {
            std::mem::take(&mut self.calls.lock().expect("no panic"))
        }
    }

    impl Registrar for Notes {
        type Error = &'static str;

        unsafe fn register(
            &self,
            start: usize,
            bytes: usize,
            how: Pinning,
        ) -> Result<(), Refused<&'static str>> {
            self.calls.lock().expect("no panic").push(format!("{how:?} {start:x}+{bytes:x}"));
            let mut taken = self.taken.lock().expect("no panic");
            if taken.iter().any(|(at, long)| *at < start + bytes && start < at + long) {
                return Err(Refused::Overlap("712"));
            }
            if self.read_only && how == Pinning::ToWrite {
                return Err(Refused::Other("1"));
            }
            taken.push((start, bytes));
            Ok(())
        }

        unsafe fn unregister(&self, start: usize) {
            // Once: it is not held while this waits.
            let gate = match start {
                SLOW => self.gate.lock().expect("no panic").take(),
                _ => None,
            };
            if let Some((begun, go)) = gate {
                begun.send(()).expect("the test waits");
                go.recv().expect("the test says so");
            }
            self.calls.lock().expect("no panic").push(format!("give back {start:x}"));
            self.taken.lock().expect("no panic").retain(|(at, _)| *at != start);
        }
    }

    fn table() -> &'static Table<Notes> {
        Box::leak(Box::new(Table::new()))
    }

    fn pin(
        table: &'static Table<Notes>,
        notes: &Notes,
        range: (usize, usize),
        mapped: Mapped,
        takes_read_only: bool,
    ) -> Result<Pinned<Notes>, Refused<&'static str>> {
        // SAFETY: `Notes` touches no memory.
        unsafe { table.pin(notes, range, mapped, takes_read_only) }
    }

    #[test]
    fn a_range_inside_a_registered_one_uses_that_and_the_last_user_gives_it_back() {
        let (table, notes) = (table(), Notes::new(false));
        let whole = pin(table, &notes, (0x1000, 0x4000), Mapped::ReadWrite, false).expect("free");
        let inside = pin(table, &notes, (0x2000, 0x1000), Mapped::Read, false).expect("inside");
        assert_eq!((inside.start(), notes.calls()), (0x1000, vec!["ToWrite 1000+4000".to_owned()]));
        drop(whole);
        assert_eq!(notes.calls(), [""; 0]);
        drop(inside);
        assert_eq!(notes.calls(), ["give back 1000"]);
    }

    #[test]
    fn a_range_around_a_registered_one_is_refused_as_an_overlap_until_that_is_gone() {
        let (table, notes) = (table(), Notes::new(false));
        let word = pin(table, &notes, (0x1000, 0x1000), Mapped::ReadWrite, false).expect("free");
        let pool = || pin(table, &notes, (0x1000, 0x8000), Mapped::ReadWrite, false);
        assert_eq!(pool().expect_err("the word is there"), Refused::Overlap("712"));
        drop(word);
        drop(pool().expect("the word is gone"));
    }

    #[test]
    fn a_read_only_mapping_is_registered_to_be_read_or_refused_as_such() {
        let (table, notes) = (table(), Notes::new(true));
        let range = (0x1000, 0x1000);
        let refused = pin(table, &notes, range, Mapped::Read, false).expect_err("read-only");
        assert_eq!(refused, Refused::ReadOnly("1"));
        drop(pin(table, &notes, range, Mapped::Read, true).expect("the device takes it"));
        let tried =
            ["ToWrite 1000+1000", "ToWrite 1000+1000", "ToRead 1000+1000", "give back 1000"];
        assert_eq!(notes.calls(), tried);
        // What is to be written is never registered to be read only.
        let refused = pin(table, &notes, range, Mapped::ReadWrite, true).expect_err("read-only");
        assert_eq!(refused, Refused::Other("1"));
    }

    #[test]
    fn others_register_while_a_range_is_given_back_and_only_who_wants_that_waits() {
        let (table, notes) = (table(), Notes::new(false));
        let (begun, at_it) = channel();
        let (go, may_go) = channel();
        *notes.gate.lock().expect("no panic") = Some((begun, may_go));
        let slow = pin(table, &notes, (SLOW, 0x1000), Mapped::ReadWrite, false).expect("free");
        std::thread::scope(|scope| {
            scope.spawn(|| drop(slow));
            at_it.recv().expect("it gives the range back");
            // This returns at once, or never.
            let other = pin(table, &notes, (0x1000, 0x1000), Mapped::ReadWrite, false);
            drop(other.expect("another range"));
            let again =
                scope.spawn(|| pin(table, &notes, (SLOW, 0x1000), Mapped::ReadWrite, false));
            go.send(()).expect("it waits");
            drop(again.join().expect("no panic").expect("free again"));
        });
    }
}
