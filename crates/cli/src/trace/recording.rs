//! Tracing of running processes: attached once, then by shared memory alone, from one place for
//! `crossdock trace` and `crossdock run`.

use anyhow::Result;
use crossdock_comm::{Observer, ProcessSnapshot};
use crossdock_trace::ctf::{TraceWriter, WriteTraceError};
use crossdock_trace::{Events, Trace, TraceView};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the rings: a thread may write 16384 events meanwhile and lose none.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Looks until what does not fill a packet is written all the same: a quarter of a second.
const LOOKS_PER_FLUSH: u32 = 25;

/// Processes whose traces are open.
pub(crate) struct Attached {
    pub(crate) views: Vec<TraceView>,
    /// Why others are not, sentences.
    pub(crate) unreachable: Vec<String>,
}

impl Attached {
    /// Asks each process that is wanted for its trace, which wakes its control thread once.
    pub(crate) fn to(
        observer: &mut Observer,
        wanted: impl Fn(&ProcessSnapshot) -> bool,
    ) -> Result<Self> {
        let snapshot = observer.snapshot()?;
        let mut unreachable = snapshot.unreachable;
        let mut views = Vec::new();
        for process in snapshot.processes.iter().filter(|process| wanted(process)) {
            match observer.trace(process.name) {
                Ok(view) => views.push(view),
                Err(error) => unreachable.push(error.to_string()),
            }
        }
        Ok(Self { views, unreachable })
    }

    /// Says what is traced from now on.
    pub(crate) fn trace(&self, events: Events) {
        self.views.iter().for_each(|view| view.trace(events));
    }

    /// Passes over what was recorded before.
    pub(crate) fn skip(&mut self) {
        self.views.iter_mut().for_each(TraceView::skip);
    }

    /// Reads what there is that was not read yet.
    pub(crate) fn read(&mut self, trace: &mut Trace) {
        self.views.iter_mut().for_each(|view| view.read(trace));
    }

    /// What found no room in the processes, sentences.
    fn shortages(&self) -> Vec<String> {
        let short = self.views.iter().filter(|view| view.shortage() != (0, 0));
        let sentence = |view: &TraceView| {
            let (threads, definitions) = view.shortage();
            format!(
                "process `{}` has more than its trace has room for: {threads} threads without a \
                 ring, {definitions} names of nodes, ports or callbacks",
                view.process()
            )
        };
        short.map(sentence).collect()
    }
}

/// What was written.
pub(crate) struct Recorded {
    pub(crate) folder: PathBuf,
    pub(crate) events: usize,
    pub(crate) lost: u64,
    pub(crate) notes: Vec<String>,
}

impl Recorded {
    /// A sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { folder, events, lost, .. } = self;
        let folder = folder.display();
        let lost = match lost {
            0 => "none lost".to_owned(),
            lost => format!("{lost} lost"),
        };
        format!("trace: {events} events, {lost}; see `crossdock trace show {folder}`")
    }
}

/// Writes what the rings hold, all of it at once. They may be written again.
pub(crate) fn write_kept(attached: &mut Attached, folder: &Path) -> Result<Recorded> {
    let mut trace = Trace::new();
    attached.views.iter_mut().for_each(TraceView::rewind);
    attached.read(&mut trace);
    trace.sort();
    let mut writer = TraceWriter::create(folder, &trace)?;
    writer.append(&trace)?;
    writer.finish()?;
    let notes = trace.fullness().into_iter().chain(attached.shortages()).collect();
    let (folder, events, lost) = (folder.to_owned(), trace.events.len(), trace.discarded());
    Ok(Recorded { folder, events, lost, notes })
}

/// A recording under way, on a thread of its own.
pub(crate) struct Recording {
    stop: Sender<()>,
    thread: JoinHandle<Result<Recorded, WriteTraceError>>,
}

impl Recording {
    /// Begins with what happens from now on.
    pub(crate) fn start(mut attached: Attached, events: Events, folder: &Path) -> Result<Self> {
        let trace = Trace::new();
        let writer = TraceWriter::create(folder, &trace)?;
        attached.skip();
        attached.trace(events);
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("trace".to_owned()).spawn(move || {
            let mut work = Work { attached, trace, writer, events: 0 };
            let mut looks = 0;
            while stopped.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                work.look()?;
                looks += 1;
                if looks % LOOKS_PER_FLUSH == 0 {
                    work.writer.flush()?;
                }
            }
            work.finish()
        })?;
        Ok(Self { stop, thread })
    }

    /// Switches tracing off and writes the rest.
    pub(crate) fn finish(self) -> Result<Recorded> {
        // A thread that has ended for an error needs no word.
        let _ = self.stop.send(());
        let recorded = self.thread.join();
        Ok(recorded
            .map_err(|_| anyhow::anyhow!("the thread that records the trace panicked"))??)
    }
}

struct Work {
    attached: Attached,
    trace: Trace,
    writer: TraceWriter,
    events: usize,
}

impl Work {
    fn look(&mut self) -> Result<(), WriteTraceError> {
        self.attached.read(&mut self.trace);
        self.events += self.trace.events.len();
        self.writer.append(&self.trace)?;
        self.trace.events.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Recorded, WriteTraceError> {
        self.attached.trace(Events::none());
        self.look()?;
        let folder = self.writer.folder().to_owned();
        self.writer.finish()?;
        let (lost, notes) = (self.trace.discarded(), self.attached.shortages());
        Ok(Recorded { folder, events: self.events, lost, notes })
    }
}
