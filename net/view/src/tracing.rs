//! A trace of the seconds that come, as a file for Perfetto.

use crossdock_comm::{ObserveError, Observer, ObserverOptions};
use crossdock_trace::{Events, Trace, TraceView, perfetto};
use std::time::{Duration, Instant};

/// Between two looks at the rings: a thread may write 16384 events meanwhile and lose none.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Events of a trace, so that the view takes less than 1 GiB for it: a quarter of that for the
/// events, the rest for what Perfetto's form is made of.
const EVENTS_MAX: usize = 1_048_576;

/// A trace for Perfetto.
pub(crate) struct Recorded {
    pub(crate) bytes: Vec<u8>,
    /// What is not in it, and why: sentences.
    pub(crate) notes: Vec<String>,
}

/// Traces all processes of a domain for a while, or until it is over or the trace is full. Blocks
/// meanwhile. Processes that somebody else traces go on to be traced afterwards.
///
/// # Errors
/// [`ObserveError`]: the meeting place cannot be read. Processes that cannot be traced are left
/// out, and noted.
pub(crate) fn record(
    domain_id: u32,
    duration: Duration,
    is_over: impl Fn() -> bool,
) -> Result<Recorded, ObserveError> {
    let mut observer = Observer::open(ObserverOptions::new(domain_id, "crossdock view"))?;
    let snapshot = observer.snapshot()?;
    let mut notes = snapshot.unreachable;
    let mut views = Vec::new();
    for process in &snapshot.processes {
        match observer.trace(process.name) {
            Ok(view) => views.push(view),
            Err(error) => notes.push(error.to_string()),
        }
    }
    let before: Vec<Events> = views.iter().map(TraceView::events).collect();
    views.iter_mut().for_each(TraceView::skip);
    views.iter().zip(&before).filter(|(_, before)| !before.is_any()).for_each(|(view, _)| {
        view.trace(Events::usual());
    });
    let mut trace = Trace::with_events_max(EVENTS_MAX);
    let end = Instant::now() + duration;
    while Instant::now() < end && !trace.is_full() && !is_over() {
        std::thread::sleep(LOOK_INTERVAL);
        views.iter_mut().for_each(|view| view.read(&mut trace));
    }
    views.iter().zip(before).for_each(|(view, before)| view.trace(before));
    views.iter_mut().for_each(|view| view.read(&mut trace));
    trace.sort();
    let notes = trace.fullness().into_iter().chain(notes).collect();
    Ok(Recorded { bytes: perfetto::write(&trace), notes })
}
