//! Panics on executors' threads: their place and backtrace are kept, and printed by another thread.
//!
//! Printing a backtrace takes seconds in a program with much debug information. Nothing on the
//! thread would take messages all that time: publishers elsewhere would run out of patience and
//! fail because of a node that has nothing to do with them.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::panic;

thread_local! {
    /// Whether this is the thread of an executor.
    static IS_EXECUTOR: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// Where a panic began.
struct Caught {
    place: Option<String>,
    backtrace: Option<Backtrace>,
}

/// Lets the panics of executors' threads be kept; all others are printed as before. Once per
/// process.
pub(crate) fn keep() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_EXECUTOR.get() {
            return print(info);
        }
        // Only finds the frames; their names cost when somebody prints them.
        let backtrace = Backtrace::capture();
        let captured = backtrace.status() == BacktraceStatus::Captured;
        let backtrace = captured.then_some(backtrace);
        let place = info.location().map(ToString::to_string);
        LAST.with_borrow_mut(|last| *last = Some(Caught { place, backtrace }));
    }));
}

/// The calling thread is an executor's from now on.
pub(crate) fn enter() {
    IS_EXECUTOR.set(true);
}

/// ` at` the place where the last panic of this thread began, if that is known.
pub(crate) fn place() -> String {
    LAST.with_borrow(|last| {
        let place = last.as_ref().and_then(|last| last.place.as_ref());
        place.map(|place| format!(" at {place}")).unwrap_or_default()
    })
}

/// How the last panic of this thread came about, once, if the environment asks for that
/// (`RUST_BACKTRACE`).
pub(crate) fn backtrace() -> Option<Backtrace> {
    LAST.with_borrow_mut(Option::take).and_then(|last| last.backtrace)
}

/// The text of a panic, if it has one.
pub(crate) fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}
