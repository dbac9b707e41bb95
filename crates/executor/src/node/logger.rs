//! What a node tells people: lines with a level, published on `/rosout` as in ROS 2.

use std::cell::Cell;
use std::fmt::{self, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossdock_comm::{Participant, PortError, Publisher, PublisherOptions, Qos};
use crossdock_graph::{LogLevel, logger_name};
use crossdock_msg::types::rcl_interfaces::Log as LogMessage;
use crossdock_msg::{Extra, stamp_of};

use crate::clock::{SECOND_NS, monotonic_ns, real_ns};
use crate::node::shown::Shown;

/// The topic of all logs, as in ROS 2.
pub(crate) const TOPIC: &str = "/rosout";

/// The longest line in bytes; what is beyond is cut off, and the line ends in `...`.
const LINE_BYTES_MAX: usize = 1024;

/// Lines of a node that may wait for a slow reader; a further one takes the place of the oldest.
const DEPTH: usize = 64;

/// The largest message: a line, the names of a node, a file and a module.
const MESSAGE_BYTES_MAX: usize = LINE_BYTES_MAX + 1024;

/// Logs the lines of one node: with [`log_debug!`](crate::log_debug),
/// [`log_info!`](crate::log_info), [`log_warn!`](crate::log_warn), [`log_error!`](crate::log_error)
/// and [`log_fatal!`](crate::log_fatal).
///
/// A line below the level costs one load and one comparison; its arguments are not evaluated.
/// Others may set the level while the node runs (`crossdock node log-level`). Any other line is
/// formatted on the stack (at most 1024 bytes) and published: it never blocks and allocates
/// nothing. Control characters in it become U+FFFD, but for ends of lines and tabs: not every
/// reader of `/rosout` keeps them from its terminal. A line that finds no memory is counted, and
/// the next one says so. Clones are the same logger; it belongs to the thread of the node's
/// executor.
///
/// ```no_run
/// use crossdock_executor::{Log, Logger, log_info, log_warn};
/// use std::time::Duration;
///
/// fn tell(logger: &Logger, voltage: f64) {
///     log_info!(logger, "the battery has {voltage:.1} V");
///     if voltage < 11.0 {
///         log_warn!(logger.throttle(Duration::from_secs(1)), "the battery is low");
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Logger {
    state: Rc<LoggerState>,
}

#[derive(Debug)]
struct LoggerState {
    publisher: Publisher<LogMessage>,
    name: String,
    /// Lines that found no memory since the last one that did.
    lost: Cell<u64>,
}

/// Something that lines are logged to: a [`Logger`], or one that lets only some lines pass.
pub trait Log {
    /// Whether a line of this level is to be logged now. One that answers yes has counted it.
    fn passes(&self, level: LogLevel, site: &LogSite) -> bool;

    /// Logs a line that has passed.
    fn write(&self, level: LogLevel, site: &LogSite, line: fmt::Arguments<'_>);
}

/// A place in the source that logs: made by the macros.
#[derive(Debug)]
pub struct LogSite {
    file: &'static str,
    line: u32,
    module: &'static str,
    /// When a line of this place passed a [`Throttled`] or [`Once`] last, by the monotonic clock;
    /// 0: never.
    passed_ns: AtomicU64,
}

impl LogSite {
    /// The place with this file, line and module.
    #[must_use]
    pub const fn new(file: &'static str, line: u32, module: &'static str) -> Self {
        Self { file, line, module, passed_ns: AtomicU64::new(0) }
    }
}

/// A logger that lets a line of each place pass once in a period.
#[derive(Clone, Copy, Debug)]
pub struct Throttled<'a> {
    logger: &'a Logger,
    period_ns: u64,
}

/// A logger that lets a line of each place pass once.
#[derive(Clone, Copy, Debug)]
pub struct Once<'a> {
    logger: &'a Logger,
}

impl Logger {
    pub(crate) fn new(
        participant: &Participant,
        node: &str,
        level: LogLevel,
    ) -> Result<Self, PortError> {
        let publisher = participant.publisher(PublisherOptions {
            node,
            topic: TOPIC,
            qos: Qos::best_effort(DEPTH),
            max_bytes: Some(MESSAGE_BYTES_MAX),
            group: None,
        })?;
        let lost = Cell::new(0);
        let name = logger_name(node);
        let logger = Self { state: Rc::new(LoggerState { publisher, name, lost }) };
        logger.set_level(level);
        Ok(logger)
    }

    /// The level: less severe lines are not logged.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        LogLevel::of_number(self.state.publisher.level())
    }

    /// Sets the level.
    pub fn set_level(&self, level: LogLevel) {
        self.state.publisher.set_level(level.number());
    }

    /// This logger, for lines that may be logged at most once in `period`. Each place in the source
    /// counts by itself, for all nodes of the process together, as in ROS 2.
    #[must_use]
    pub fn throttle(&self, period: Duration) -> Throttled<'_> {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Throttled { logger: self, period_ns }
    }

    /// This logger, for a line that is logged only once in the life of the process.
    #[must_use]
    pub fn once(&self) -> Once<'_> {
        Once { logger: self }
    }

    fn publish(&self, level: LogLevel, site: &LogSite, line: &str) -> Result<(), Lost> {
        let state = &*self.state;
        let extra = Extra::none().text(state.name.len()).text(line.len());
        let extra = extra.text(site.file.len()).text(site.module.len());
        let mut loan = state.publisher.loan(extra).map_err(|_| Lost)?;
        let mut message = loan.message();
        let (sec, nanosec) = stamp_of(real_ns());
        message.stamp().set_sec(sec);
        message.stamp().set_nanosec(nanosec);
        message.set_level(level as u8);
        message.set_name(&state.name).map_err(|_| Lost)?;
        message.set_msg(line).map_err(|_| Lost)?;
        message.set_file(site.file).map_err(|_| Lost)?;
        message.set_function(site.module).map_err(|_| Lost)?;
        message.set_line(site.line);
        loan.publish().map_err(|_| Lost)?;
        Ok(())
    }
}

/// A line found no memory, or is longer than a message may be.
struct Lost;

impl Log for Logger {
    #[inline]
    fn passes(&self, level: LogLevel, _: &LogSite) -> bool {
        level as u8 >= self.state.publisher.level()
    }

    #[cold]
    fn write(&self, level: LogLevel, site: &LogSite, line: fmt::Arguments<'_>) {
        let mut text = Line::default();
        let lost = self.state.lost.get();
        // A line that is too long is cut off, which is no error.
        let _ = match lost {
            0 => Ok(()),
            1 => text.write_str("(1 line before was lost) "),
            lost => write!(text, "({lost} lines before were lost) "),
        };
        let _ = write!(text, "{}", Shown::without_margin(line));
        self.state.lost.set(match self.publish(level, site, text.text()) {
            Ok(()) => 0,
            Err(Lost) => lost + 1,
        });
    }
}

impl<L: Log> Log for &L {
    #[inline]
    fn passes(&self, level: LogLevel, site: &LogSite) -> bool {
        (**self).passes(level, site)
    }

    fn write(&self, level: LogLevel, site: &LogSite, line: fmt::Arguments<'_>) {
        (**self).write(level, site, line);
    }
}

impl Log for Throttled<'_> {
    fn passes(&self, level: LogLevel, site: &LogSite) -> bool {
        // 0 is kept for never.
        let now_ns = monotonic_ns().max(1);
        let is_due =
            |passed_ns| passed_ns == 0 || now_ns.saturating_sub(passed_ns) >= self.period_ns;
        let due = |passed_ns| is_due(passed_ns).then_some(now_ns);
        // A counter of its own, which orders nothing.
        self.logger.passes(level, site)
            && site.passed_ns.fetch_update(Relaxed, Relaxed, due).is_ok()
    }

    fn write(&self, level: LogLevel, site: &LogSite, line: fmt::Arguments<'_>) {
        self.logger.write(level, site, line);
    }
}

impl Log for Once<'_> {
    fn passes(&self, level: LogLevel, site: &LogSite) -> bool {
        self.logger.passes(level, site) && site.passed_ns.swap(SECOND_NS, Relaxed) == 0
    }

    fn write(&self, level: LogLevel, site: &LogSite, line: fmt::Arguments<'_>) {
        self.logger.write(level, site, line);
    }
}

/// A line on the stack.
struct Line {
    bytes: [u8; LINE_BYTES_MAX],
    length: usize,
    is_cut: bool,
}

/// What a line ends in that was cut off.
const CUT: &str = "...";

impl Default for Line {
    fn default() -> Self {
        Self { bytes: [0; LINE_BYTES_MAX], length: 0, is_cut: false }
    }
}

impl Line {
    fn text(&self) -> &str {
        // Only whole characters are written.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn append(&mut self, text: &str) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_cut {
            return Err(fmt::Error);
        }
        let room = LINE_BYTES_MAX - CUT.len() - self.length;
        if text.len() <= room {
            self.append(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.append(&text[..end]);
        self.append(CUT);
        self.is_cut = true;
        Err(fmt::Error)
    }
}

/// Logs a line of a level: `log_line!(Info, logger, "{} messages", count)`.
#[macro_export]
macro_rules! log_line {
    ($level:ident, $logger:expr, $($line:tt)+) => {{
        static SITE: $crate::LogSite = $crate::LogSite::new(file!(), line!(), module_path!());
        let logger = &$logger;
        if $crate::Log::passes(logger, $crate::LogLevel::$level, &SITE) {
            $crate::Log::write(logger, $crate::LogLevel::$level, &SITE, format_args!($($line)+));
        }
    }};
}

/// Logs a line for those who look for a fault; see [`Logger`].
#[macro_export]
macro_rules! log_debug {
    ($logger:expr, $($line:tt)+) => { $crate::log_line!(Debug, $logger, $($line)+) };
}

/// Logs a line that a user may want to know; see [`Logger`].
#[macro_export]
macro_rules! log_info {
    ($logger:expr, $($line:tt)+) => { $crate::log_line!(Info, $logger, $($line)+) };
}

/// Logs that something is odd, and that the node goes on; see [`Logger`].
#[macro_export]
macro_rules! log_warn {
    ($logger:expr, $($line:tt)+) => { $crate::log_line!(Warn, $logger, $($line)+) };
}

/// Logs that the node could not do something; see [`Logger`].
#[macro_export]
macro_rules! log_error {
    ($logger:expr, $($line:tt)+) => { $crate::log_line!(Error, $logger, $($line)+) };
}

/// Logs that the node cannot go on; see [`Logger`].
#[macro_export]
macro_rules! log_fatal {
    ($logger:expr, $($line:tt)+) => { $crate::log_line!(Fatal, $logger, $($line)+) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut line = Line::default();
        let long = "ä".repeat(LINE_BYTES_MAX);
        assert!(write!(line, "{long}").is_err());
        assert!(line.text().ends_with("ä...") && line.text().len() <= LINE_BYTES_MAX);
        assert!(line.write_str("more").is_err());
        assert!(line.text().ends_with("ä..."));
        let mut exact = Line::default();
        let fits = "x".repeat(LINE_BYTES_MAX - CUT.len());
        assert!(write!(exact, "{fits}").is_ok() && exact.text() == fits);
        // A character that is replaced by a longer one has no other room.
        let mut replaced = Line::default();
        assert!(write!(replaced, "{}", Shown::without_margin("\u{7}".repeat(1000))).is_err());
        assert!(
            replaced.text().ends_with("\u{fffd}...") && replaced.text().len() <= LINE_BYTES_MAX
        );
    }
}
