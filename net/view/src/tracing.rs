//! A trace of the seconds that come, as a file for Perfetto.

use crossdock_comm::{ObserveError, Observer, ObserverOptions};
use crossdock_trace::{Events, Trace, TraceView, perfetto};
use std::time::{Duration, Instant};

/// Between two looks at the rings: a thread may write 16384 events meanwhile and lose none.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Traces all processes of a domain for a while, or until it is over. Blocks meanwhile. Processes
/// that somebody else traces go on to be traced afterwards.
///
/// # Errors
/// [`ObserveError`]: the meeting place cannot be read. Processes without a trace are left out.
pub(crate) fn record(
    domain_id: u32,
    duration: Duration,
    is_over: impl Fn() -> bool,
) -> Result<Vec<u8>, ObserveError> {
    let mut observer = Observer::open(ObserverOptions::new(domain_id, "crossdock view"))?;
    let snapshot = observer.snapshot()?;
    let views = snapshot.processes.iter().filter_map(|it| observer.trace(it.name).ok());
    let mut views: Vec<TraceView> = views.collect();
    let before: Vec<Events> = views.iter().map(TraceView::events).collect();
    views.iter_mut().for_each(TraceView::skip);
    views.iter().zip(&before).filter(|(_, before)| !before.is_any()).for_each(|(view, _)| {
        view.trace(Events::usual());
    });
    let mut trace = Trace::new();
    let end = Instant::now() + duration;
    while Instant::now() < end && !is_over() {
        std::thread::sleep(LOOK_INTERVAL);
        views.iter_mut().for_each(|view| view.read(&mut trace));
    }
    views.iter().zip(before).for_each(|(view, before)| view.trace(before));
    views.iter_mut().for_each(|view| view.read(&mut trace));
    trace.sort();
    Ok(perfetto::write(&trace))
}
