//! Streams, and how the ends of their work come to be known.
//!
//! An end is known in two ways. Where the device can, it stores the value to the timeline's word
//! itself, in the stream's order: spinning threads and other devices see it at once. But a store
//! wakes nobody, and a device that fails stores nothing. So each end is an event, too, and each
//! stream has a *watcher*, a thread that waits for its events in order:
//! 1. An event that is over: the watcher moves the timeline on, if the device has not, and wakes
//!    sleepers.
//! 2. An event that ends in an error: after an illegal address, say, the context is of no use, and
//!    every call gives that error. The watcher poisons the timeline of this end and, since their
//!    events end in the same error, of all that follow. Nobody waits for ever.
//! 3. A call that puts an end into the stream and fails: `device.rs` poisons its timeline.
//! 4. Work that waits for another stream of this process waits for that stream's event: the driver
//!    knows this order, and the other stream's memory need not be seen.
//! 5. The process dies: the watcher with it. Peers that know of its death poison its timelines; a
//!    store of its device may still come, which rule 4 of `timeline.rs` is for.
//!
//! Host functions in the stream (`cuLaunchHostFunc`) would do 1, but not 2: they are not called
//! after an error, so that something else had to watch for errors anyway; and work that follows in
//! the stream waits until they have returned. The older callbacks, which are called after an error,
//! are to be removed from CUDA. Waiting for an event costs the stream nothing.
//!
//! A stream that waits for a timeline goes on when bit 62 is set, but a late store of a device may
//! take that bit away before the waiting device looks. The watcher has the wait among its events:
//! as long as it is not over it looks at the timeline as a host does, and poisons again what is
//! poisoned.
//!
//! A kernel that is observed has an event before and after it, which know their times; the watcher
//! tells them when an event after both is over.

use super::clock::{Base, TimedEvent};
use super::context::Context;
use super::failure;
use super::table::Code;
use super::words::Word;
use crate::clock::Observed;
use crate::driver::Ending;
use crate::error::DeviceError;
use crossdock_shm::timeline::FencePoint;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream, CUstream_flags};
use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How a device stores values to timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// It does not.
    None,
    /// The lower half, in a device that has no stores of 64 bits: the upper one stays 0, or poison.
    /// A wait for the lower half would not see poison, so such a device does not wait for words.
    Halves,
    /// All of the word.
    Words,
}

/// The streams of one device that are open, for those that wait for each other.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Vec<Weak<StreamQueue>>>);

impl Streams {
    fn all(&self) -> Vec<Arc<StreamQueue>> {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    fn add(&self, stream: &Arc<StreamQueue>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(stream));
    }
}

/// How long the watcher looks before it sleeps: about what an interrupt and a wake-up take.
const SPIN: Duration = Duration::from_micros(50);

/// Ends and waits of one stream that are not over at most: many times the messages that the ports
/// of a node hold.
const PENDING_MAX: usize = 4096;
/// Room that is made ahead: a stream allocates nothing while no more are pending.
const PENDING_USUAL: usize = 64;
/// How long a poisoned timeline may keep a device waiting.
const LOOK: Duration = Duration::from_millis(20);
/// After a poison the device is looked at sooner at first: mostly it goes on at once.
const FIRST_LOOK: Duration = Duration::from_micros(100);

/// What the watcher does when an event is over.
#[derive(Debug)]
enum Kind {
    /// Tells it; the device has stored the value already, or not.
    End { ending: Ending, stored: bool },
    /// Nothing: a wait of the stream for this point is over.
    Wait(FencePoint),
    /// Tells when a kernel ran.
    Ran(Box<Ran>),
}

/// A kernel that is observed, between two events.
#[derive(Debug)]
struct Ran {
    observed: Observed,
    base: Arc<Base>,
    begin: TimedEvent,
    end: TimedEvent,
}

/// An event in the stream.
#[derive(Debug)]
struct Pending {
    /// `CUevent`.
    event: usize,
    kind: Kind,
    /// What the device uses until the event is over.
    _word: Option<Arc<Word>>,
}

#[derive(Debug)]
struct Queue {
    pending: VecDeque<Pending>,
    /// Events that are not in use.
    spare: Vec<usize>,
    closed: bool,
}

#[derive(Debug)]
pub(super) struct StreamQueue {
    context: Arc<Context>,
    queue: Mutex<Queue>,
    more: Condvar,
}

impl StreamQueue {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream and its watcher. Dropping it waits for its work.
#[derive(Debug)]
pub(super) struct Stream {
    /// `CUstream`.
    raw: usize,
    shared: Arc<StreamQueue>,
    watcher: Option<JoinHandle<()>>,
}

impl Stream {
    pub(super) fn open(context: &Arc<Context>, streams: &Streams) -> Result<Self, DeviceError> {
        let doing = "opening a stream";
        let _here = context.enter()?;
        let mut raw: CUstream = ptr::null_mut();
        // Not ordered with the work that a node's own CUDA code puts into the default stream.
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a place for a handle.
        let code = unsafe { (context.api.call.cuStreamCreate)(&mut raw, flags) };
        context.done(doing, code)?;
        let queue = Queue {
            pending: VecDeque::with_capacity(PENDING_USUAL),
            spare: Vec::with_capacity(PENDING_USUAL),
            closed: false,
        };
        let shared = StreamQueue {
            context: Arc::clone(context),
            queue: Mutex::new(queue),
            more: Condvar::new(),
        };
        let mut stream = Self { raw: raw as usize, shared: Arc::new(shared), watcher: None };
        streams.add(&stream.shared);
        let shared = Arc::clone(&stream.shared);
        let watcher = std::thread::Builder::new().name("crossdock-cuda".to_owned());
        let watcher = watcher.spawn(move || watch(&shared));
        stream.watcher = Some(watcher.map_err(|error| context.refused(doing, error.to_string()))?);
        Ok(stream)
    }

    pub(super) fn raw(&self) -> CUstream {
        self.raw as CUstream
    }

    /// Waits for all its work.
    pub(super) fn finish(&self) -> Result<(), DeviceError> {
        let context = &self.shared.context;
        let _here = context.enter()?;
        // SAFETY: open.
        let code = unsafe { (context.api.call.cuStreamSynchronize)(self.raw()) };
        context.done("waiting for a stream", code)
    }

    /// Tells the timeline when all is over that stands in the stream. With a word the device stores
    /// the value itself.
    pub(super) fn signal(
        &self,
        ending: Ending,
        word: Option<Arc<Word>>,
        stores: Stores,
    ) -> Result<(), DeviceError> {
        let doing = "signalling the end of work";
        let context = &self.shared.context;
        let _here = context.enter()?;
        let mut stored = false;
        if let Some(word) = &word
            && let Some(code) = self.store(word, ending.point().value, stores)
            // The watcher moves it on if the device cannot after all.
            && code != failure::NOT_SUPPORTED
        {
            context.done(doing, code)?;
            stored = true;
        }
        self.put(doing, Kind::End { ending, stored }, word)
    }

    /// Has the device store a value; `None`: it cannot. The context is entered.
    fn store(&self, word: &Word, value: u64, stores: Stores) -> Option<Code> {
        let call = &self.shared.context.api.call;
        // As the host keeps it, below the poison.
        let value = value.min(crossdock_shm::timeline::POISON - 1);
        match stores {
            Stores::None => None,
            Stores::Words => {
                let write = call.cuStreamWriteValue64_v2?;
                // SAFETY: open; the word is registered and kept until the event that follows is
                // over. The default (0) makes visible what the work has written before the value.
                Some(unsafe { write(self.raw(), word.on_device, value, 0) })
            }
            Stores::Halves => {
                let (half, write) = (u32::try_from(value).ok()?, call.cuStreamWriteValue32_v2?);
                // SAFETY: as above; the lower half comes first on every machine that this runs on.
                Some(unsafe { write(self.raw(), word.on_device, half, 0) })
            }
        }
    }

    /// Lets what follows in this stream wait for the work that is to reach a point, where a stream
    /// of this device has it; false: none has. The driver knows that order, and nothing is looked
    /// at in memory.
    pub(super) fn follow(
        &self,
        streams: &Streams,
        point: &FencePoint,
    ) -> Result<bool, DeviceError> {
        let context = &self.shared.context;
        for other in streams.all() {
            // Held: the event is not used for other work meanwhile.
            let queue = other.queue();
            let is_it = |it: &&Pending| match &it.kind {
                Kind::End { ending, .. } => reaches(ending.point(), point),
                Kind::Wait(_) | Kind::Ran(_) => false,
            };
            let Some(pending) = queue.pending.iter().find(is_it) else { continue };
            if Arc::ptr_eq(&other, &self.shared) {
                return Ok(true);
            }
            let _here = context.enter()?;
            // SAFETY: open, and an event of this context that stands in a stream; the flags must
            // be 0.
            let code = unsafe {
                (context.api.call.cuStreamWaitEvent)(self.raw(), pending.event as CUevent, 0)
            };
            context.done("waiting for another stream", code)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Lets what follows in the stream wait for a point.
    pub(super) fn wait(&self, point: &FencePoint, word: Arc<Word>) -> Result<(), DeviceError> {
        let context = &self.shared.context;
        let none = || {
            let (device, why) = (context.name.clone(), "its driver has no such call".to_owned());
            DeviceError::CannotWait { device, why }
        };
        let wait = context.api.call.cuStreamWaitValue64_v2.ok_or_else(none)?;
        let _here = context.enter()?;
        // SAFETY: open; the word is registered and kept until the event below is over. The flags
        // (0): until the signed difference of word and value is not negative.
        let code = unsafe { wait(self.raw(), word.on_device, point.value, 0) };
        if code == failure::NOT_SUPPORTED {
            return Err(none());
        }
        context.done("waiting for the work of others", code)?;
        self.put("waiting for the work of others", Kind::Wait(point.clone()), Some(word))
    }

    /// Notes the time when the device comes to this place.
    pub(super) fn note_time(&self) -> Result<TimedEvent, DeviceError> {
        let context = &self.shared.context;
        let _here = context.enter()?;
        let event = TimedEvent::new(context)?;
        // SAFETY: open, of this context.
        unsafe { event.record(self.raw()) }?;
        Ok(event)
    }

    /// Tells when a kernel ran that was launched after `begin`, just now.
    pub(super) fn observe(
        &self,
        observed: Observed,
        base: Arc<Base>,
        begin: TimedEvent,
    ) -> Result<(), DeviceError> {
        let ran = Ran { observed, base, begin, end: self.note_time()? };
        let _here = self.shared.context.enter()?;
        self.put("noting the time of a kernel", Kind::Ran(Box::new(ran)), None)
    }

    /// Puts an event into the stream. The context is entered.
    fn put(
        &self,
        doing: &'static str,
        kind: Kind,
        word: Option<Arc<Word>>,
    ) -> Result<(), DeviceError> {
        let context = &self.shared.context;
        let mut queue = self.shared.queue();
        let recorded = match queue.pending.len() {
            PENDING_MAX.. => {
                let why = format!("{PENDING_MAX} of them are not over yet; wait for some");
                Err(context.refused(doing, why))
            }
            _ => self.record(doing, &mut queue.spare),
        };
        let event = match recorded {
            Ok(event) => event,
            Err(error) => {
                drop(queue);
                // The device may use the word until its work is over, and nothing tells when.
                if word.is_some() {
                    context.settle();
                }
                return Err(error);
            }
        };
        queue.pending.push_back(Pending { event, kind, _word: word });
        drop(queue);
        self.shared.more.notify_one();
        Ok(())
    }

    fn record(&self, doing: &'static str, spare: &mut Vec<usize>) -> Result<usize, DeviceError> {
        let context = &self.shared.context;
        let event = match spare.pop() {
            Some(event) => event,
            None => {
                let mut made: CUevent = ptr::null_mut();
                // Who waits for it sleeps.
                let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32
                    | CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
                // SAFETY: a place for a handle.
                let code = unsafe { (context.api.call.cuEventCreate)(&mut made, flags) };
                context.done(doing, code)?;
                made as usize
            }
        };
        // SAFETY: both of this context, and the event is in no use.
        let code = unsafe { (context.api.call.cuEventRecord)(event as CUevent, self.raw()) };
        context.done(doing, code).inspect_err(|_| spare.push(event))?;
        Ok(event)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // What fails now was told by the calls before, and is told to the timelines by the watcher.
        let _ = self.finish();
        self.shared.queue().closed = true;
        self.shared.more.notify_one();
        if let Some(watcher) = self.watcher.take() {
            // It does not panic; if it did, nothing would be left to do.
            let _ = watcher.join();
        }
        let context = &self.shared.context;
        let Ok(_here) = context.enter() else { return };
        for event in self.shared.queue().spare.drain(..) {
            // SAFETY: made by this stream and in no use: the watcher has seen all ends.
            let _ = unsafe { (context.api.call.cuEventDestroy_v2)(event as CUevent) };
        }
        // SAFETY: open, its work over, and nobody else has it.
        let _ = unsafe { (context.api.call.cuStreamDestroy_v2)(self.raw()) };
    }
}

/// Rules 1 and 2, until the stream is closed and nothing is pending.
fn watch(shared: &StreamQueue) {
    // Fails only after the context has: then no event is waited for, and all ends are poisoned.
    let here = shared.context.enter();
    let mut over: Option<(usize, Option<Arc<Word>>)> = None;
    loop {
        let mut queue = shared.queue();
        if let Some((event, word)) = over.take() {
            queue.spare.push(event);
            // The timeline may be unmapped by this: not under the lock.
            drop(queue);
            drop(word);
            queue = shared.queue();
        }
        // It stays in the queue meanwhile, so that other streams find it.
        let (event, what) = loop {
            match queue.pending.front() {
                Some(next) => break (next.event, Awaited::of(&next.kind)),
                None if queue.closed => return,
                None => {
                    queue = shared.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(queue);
        let code = match (&here, what) {
            (Err(_), _) => None,
            (Ok(_), Awaited::Work(stored)) => Some(ended(shared, event, stored.as_ref())),
            (Ok(_), Awaited::Point(point)) => Some(waited(shared, event, &point)),
        };
        let next = shared.queue().pending.pop_front();
        let Some(Pending { event, kind, _word: word }) = next else { return };
        tell(kind, code == Some(Code::SUCCESS));
        over = Some((event, word));
    }
}

/// What the end of an event means for the timeline.
fn tell(kind: Kind, well: bool) {
    match (kind, well) {
        (Kind::End { ending, stored }, true) => {
            let timeline = ending.point().timeline.clone();
            // Also if the device has stored: then it moves nothing.
            ending.reached();
            if stored {
                timeline.wake();
            }
        }
        (Kind::End { ending, .. }, false) => ending.failed(),
        (Kind::Ran(ran), true) => {
            let Ran { observed, base, begin, end } = *ran;
            // Both are over, and the context is entered: it fails only if the device is lost.
            if let Ok(times) = base.times(&begin, &end) {
                observed.ran(times);
            }
        }
        // The timeline is another's; and there is nothing to tell.
        (Kind::Wait(_), _) | (Kind::Ran(_), false) => {}
    }
}

/// Does the work that reaches `end` reach `point`, too?
fn reaches(end: &FencePoint, point: &FencePoint) -> bool {
    end.timeline.value_address() == point.timeline.value_address() && end.value >= point.value
}

/// What the watcher waits for.
enum Awaited {
    /// Work of the stream, and the point that the device stores then, if it does.
    Work(Option<FencePoint>),
    /// A wait of the stream for this point.
    Point(FencePoint),
}

impl Awaited {
    fn of(kind: &Kind) -> Self {
        match kind {
            Kind::End { ending, stored } => Self::Work(stored.then(|| ending.point().clone())),
            Kind::Ran(_) => Self::Work(None),
            Kind::Wait(point) => Self::Point(point.clone()),
        }
    }
}

/// Waits until an event is over, or cannot be any more. Looks for a moment before it sleeps, at
/// what the device stores first, because asking the driver takes its lock.
fn ended(shared: &StreamQueue, event: usize, stored: Option<&FencePoint>) -> Code {
    let started = Instant::now();
    while started.elapsed() < SPIN {
        if stored.is_some_and(|point| point.is_reached() == Ok(false)) {
            std::hint::spin_loop();
            continue;
        }
        // SAFETY: recorded, and destroyed only after this thread.
        let code = unsafe { (shared.context.api.call.cuEventQuery)(event as CUevent) };
        if code != failure::NOT_READY {
            return code;
        }
        std::hint::spin_loop();
    }
    // SAFETY: as above.
    unsafe { (shared.context.api.call.cuEventSynchronize)(event as CUevent) }
}

/// As [`ended`], for a wait of the stream: see the head of this file.
fn waited(shared: &StreamQueue, event: usize, point: &FencePoint) -> Code {
    let mut pause = FIRST_LOOK;
    // Bounded by the timeline: it is reached, poisoned, or its process dies and it is poisoned.
    loop {
        // SAFETY: recorded, and destroyed only after this thread.
        let code = unsafe { (shared.context.api.call.cuEventQuery)(event as CUevent) };
        if code != failure::NOT_READY {
            return code;
        }
        match point.sleep(LOOK) {
            Ok(true) => return ended(shared, event, None),
            Ok(false) => {}
            Err(_) => {
                point.timeline.poison();
                // Work before the wait may take its time.
                std::thread::sleep(pause);
                pause = (pause * 2).min(LOOK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_shm::timeline::{Poisoned, Timeline};

    #[test]
    fn work_reaches_the_points_of_its_own_timeline_up_to_its_value() {
        let [one, other] = ["one", "other"].map(|name| Timeline::create(name).expect("memory"));
        let point = |timeline: &Timeline, value| FencePoint { timeline: timeline.clone(), value };
        let end = point(&one, 5);
        assert!(reaches(&end, &point(&one, 5)) && reaches(&end, &point(&one, 3)));
        assert!(!reaches(&end, &point(&one, 6)) && !reaches(&end, &point(&other, 5)));
    }

    #[test]
    fn an_end_that_comes_well_moves_its_timeline_and_one_that_fails_poisons_it() {
        let timeline = Timeline::create("ends").expect("memory");
        let point = |value| FencePoint { timeline: timeline.clone(), value };
        let end =
            |value, stored| Kind::End { ending: Ending::new(point(value), Box::new(())), stored };
        tell(end(1, false), true);
        assert_eq!(timeline.value(), Ok(1));
        tell(Kind::Wait(point(5)), false);
        assert_eq!(timeline.value(), Ok(1));
        tell(end(2, true), false);
        assert_eq!(point(2).is_reached(), Err(Poisoned { value: 1 }));
        // Those that follow end in the same error; none of them brings the timeline back.
        tell(end(3, false), true);
        assert_eq!(point(3).is_reached(), Err(Poisoned { value: 1 }));
        assert_eq!(point(1).is_reached(), Ok(true));
    }
}
