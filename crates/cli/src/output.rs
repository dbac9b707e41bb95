//! Everything that the command prints: the only file that writes to standard output and error.
//!
//! Names, texts and errors come from files and from other processes. Whatever is in them, no
//! control character but the end of a line and the tab reaches a terminal. A terminal or reader
//! that has gone ends nothing but the printing.

use anyhow::{Context, Result, bail};
use crossdock_executor::shortage;
use crossdock_fabric::Progress;
use crossdock_msg::drives_terminal;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints a line on standard error, as `eprintln!` does; see [`say_line`].
macro_rules! say {
    ($($words:tt)*) => { $crate::output::say_line(&format!($($words)*)) };
}
pub(crate) use say;

/// Before the second and every other line of what is said as one: what somebody else has written
/// never begins a line.
const MARGIN: &str = "    ";

/// Prints to standard output, without what would drive a terminal.
///
/// # Errors
/// Standard output cannot be written; [`is_closed`] tells a reader that has gone.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(clean_lines(text).as_bytes()).and_then(|()| output.flush());
    written.context("standard output cannot be written; make room there, or send it elsewhere")
}

/// A number with its noun: `1 topic`, `2 topics`.
pub(crate) fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// Prints what a run has come to. That its reader or terminal has gone meanwhile does not change
/// it.
///
/// # Errors
/// Standard output cannot be written for another reason.
pub(crate) fn print_result(text: &str) -> Result<()> {
    print(text).or_else(|error| if is_closed(&error) { Ok(()) } else { Err(error) })
}

/// Prints a value as JSON on standard output, in lines.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print(&json(value)?)
}

/// A value as JSON, in lines, the last one ended. It has no control characters but the ends of
/// lines.
///
/// # Errors
/// The value cannot be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(value)?) + "\n")
}

/// A value as JSON in one line, which is ended.
///
/// # Errors
/// As [`json`].
pub(crate) fn json_line(value: &impl Serialize) -> Result<String> {
    Ok(escaped(&serde_json::to_string(value)?) + "\n")
}

/// Escapes what JSON allows in texts and terminals obey. Outside of texts JSON has none of it.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match !drives_terminal(c) || c == '\n' {
            true => text.push(c),
            // All of them have codes of four digits.
            false => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
        }
    }
    text
}

/// Prints a line on standard error, without what would drive a terminal. Text that has several
/// lines, such as a compiler's words, goes on with a margin. That it cannot be printed is no reason
/// to end a run.
pub(crate) fn say_line(words: &str) {
    say_lines(&with_margin(words));
}

/// Prints lines on standard error as they are, without what would drive a terminal. What strangers
/// have written in them must be [`clean`].
pub(crate) fn say_lines(words: &str) {
    let lines = format!("{}\n", clean_lines(words));
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}

/// Text whose second and every other line has a margin: what is in it begins no line of ours.
pub(crate) fn with_margin(words: &str) -> Cow<'_, str> {
    match words.contains('\n') {
        true => Cow::Owned(words.replace('\n', &format!("\n{MARGIN}"))),
        false => Cow::Borrowed(words),
    }
}

/// Writes over the line of a terminal on standard error, which is not ended: [`end_line`] does.
pub(crate) fn say_over(words: &str) {
    let line = format!("\r{}\x1b[K", clean(words));
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Ends the line of [`say_over`].
pub(crate) fn end_line() {
    let _ = std::io::stderr().lock().write_all(b"\n");
}

/// One of this process's outputs, for what nodes print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

impl Stream {
    /// Writes what another program has printed as it is. Blocks while a terminal stands still; that
    /// nobody reads it any more is no error.
    pub(crate) fn write(self, bytes: &[u8]) {
        let _ = match self {
            Self::Output => {
                let mut output = std::io::stdout().lock();
                output.write_all(bytes).and_then(|()| output.flush())
            }
            Self::Error => std::io::stderr().lock().write_all(bytes),
        };
    }
}

/// Warns on standard error, a line for each reason.
pub(crate) fn warn<'a>(reasons: impl IntoIterator<Item = &'a String>) {
    for reason in reasons {
        say!("warning: {}", clean(reason));
    }
}

/// A name or a sentence on one line, without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if drives_terminal(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same for text of several lines, which may have tabs.
fn clean_lines(text: &str) -> Cow<'_, str> {
    let is_fine = |c: char| !drives_terminal(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_fine) {
        return Cow::Borrowed(text);
    }
    let fine = text.chars().map(|c| if is_fine(c) { c } else { char::REPLACEMENT_CHARACTER });
    Cow::Owned(fine.collect())
}

/// What to do where no process answers.
pub(crate) fn nothing_runs(domain_id: u32) -> String {
    format!(
        "no graph is running in domain {domain_id}; `crossdock run` starts one, --domain-id looks \
         elsewhere"
    )
}

/// Fails if processes run and none of them could be looked at: nobody knows then what there is.
///
/// # Errors
/// See above; [`warn`] has said why of each process.
pub(crate) fn must_be_seen(seen: usize, unreachable: &[String], domain_id: u32) -> Result<()> {
    if seen == 0 && !unreachable.is_empty() {
        bail!(
            "no process in domain {domain_id} can be looked at, so it is not known what runs there; \
             the warnings say why"
        );
    }
    Ok(())
}

/// Writes to a file, or to standard output where none is named.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<()> {
    match path {
        None => print(text),
        Some(path) => std::fs::write(path, text).map_err(|error| unwritable(path, &error)),
    }
}

/// Writes a file of this name into a folder of generated files. What is there is replaced and not
/// written to: a link there leads to a file that nobody has named.
pub(crate) fn write_in(folder: &Path, name: impl AsRef<Path>, text: &str) -> Result<()> {
    let path = folder.join(name);
    let mut unfinished = path.clone().into_os_string();
    unfinished.push(".unfinished");
    let replaced = || {
        // One that was interrupted may have left it.
        match std::fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(&unfinished)?.write_all(text.as_bytes())?;
        std::fs::rename(&unfinished, &path)
    };
    replaced().map_err(|error| {
        let _ = std::fs::remove_file(&unfinished);
        unwritable(&path, &error)
    })
}

/// Fails when a file cannot be written that is to be written only after long work. A file that is
/// there stays as it is; one that is not there is not left behind.
pub(crate) fn must_be_writable(path: &Path) -> Result<()> {
    let new = OpenOptions::new().write(true).create_new(true).open(path);
    match new {
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Err(error) => Err(error),
    }
    .map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "make its folder first",
        ErrorKind::IsADirectory => "it is a folder; name a file in it",
        ErrorKind::StorageFull => "free some space or name a file on another disk",
        _ => "name a file in a folder that you may write in",
    };
    anyhow::anyhow!("{} cannot be written: {error}; {advice}", path.display())
}

/// An error with its causes as one sentence. Causes that the text before them tells already are not
/// told again.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    match shortage_in(&text) {
        Some(advice) => format!("{text}; {advice}"),
        None => text,
    }
}

/// The next step after an error that says that the system has no more of something, and not yet
/// what to do. Most errors have what the system said in their text alone.
fn shortage_in(text: &str) -> Option<&'static str> {
    let (_, number) = text.split_once("(os error ")?;
    let number = number.split_once(')')?.0.parse().ok()?;
    let error = std::io::Error::from_raw_os_error(number);
    // Other things can be unavailable for a while, too.
    let is_start = text.contains("start") || text.contains("thread");
    let means_it = error.kind() != ErrorKind::WouldBlock || is_start;
    shortage(&error).filter(|_| means_it && !text.contains("limit"))
}

/// Whether the error is only that the reader of our output has gone
/// (`crossdock topic echo | head`), or the terminal.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let Some(error) = error.downcast_ref::<std::io::Error>() else { return false };
    let gone = rustix::io::Errno::IO.raw_os_error();
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(gone)
}

/// `did you mean ...? ` for a name that nobody has, if a known name is near, or has it behind a
/// namespace; else nothing.
pub(crate) fn near_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let last = format!("/{}", name.trim_start_matches('/'));
    if let Some(whole) = known.iter().find(|whole| whole.ends_with(&last)) {
        return format!("did you mean `{whole}`? ");
    }
    match crossdock_graph::did_you_mean(name, known) {
        near if near.is_empty() => near,
        near => near + " ",
    }
}

/// Tells on standard error what takes long.
pub(crate) fn tell(progress: Progress<'_>) {
    match progress {
        Progress::Building { what, seconds, folder } => {
            let time = about(seconds);
            say!(
                "making {what} (once, {time} if the computer does nothing else; kept in {})",
                folder.display()
            );
        }
        Progress::Waiting { what } => {
            say!("waiting for another process that makes {what} or its neighbour");
        }
        Progress::Damaged { what } => say!("what is kept of {what} is damaged"),
        Progress::Built { what, took } => say!("made {what} in {:.0} s", took.as_secs_f64()),
    }
}

/// A time that nobody knows exactly.
fn about(seconds: u32) -> String {
    match seconds {
        0..55 => format!("about {} s", ((seconds + 5) / 10).max(1) * 10),
        55..75 => "about a minute".to_owned(),
        // Half minutes.
        _ => format!("about {} minutes", f64::from((seconds + 15) / 30) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_nobody_knows_exactly_are_told_in_few_digits() {
        for (seconds, told) in [
            (0, "about 10 s"),
            (15, "about 20 s"),
            (54, "about 50 s"),
            (55, "about a minute"),
            (75, "about 1.5 minutes"),
            (115, "about 2 minutes"),
        ] {
            assert_eq!(about(seconds), told, "{seconds}");
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = std::io::Error::from(ErrorKind::PermissionDenied);
        let told = format!("a.mcap cannot be created: {cause}");
        let error = anyhow::Error::new(cause).context(told.clone()).context("--record a.mcap");
        assert_eq!(sentence(&error), format!("--record a.mcap: {told}"));
    }

    #[test]
    fn a_name_without_its_namespace_is_known() {
        let known = ["/front/lamp", "/lamps", "camera"];
        for (name, told) in [
            ("lamp", "did you mean `/front/lamp`? "),
            ("/lamp", "did you mean `/front/lamp`? "),
            ("camra", "did you mean `camera`? "),
            ("planner", ""),
        ] {
            assert_eq!(near_name(name, known), told);
        }
    }

    /// Every character that is not plain text, and some that are.
    fn all_characters() -> String {
        let codes = (0..=0x2ff).chain(0x600..=0x6ff).chain(0x2000..=0x20ff).chain([0x1f600]);
        codes.filter_map(char::from_u32).collect()
    }

    #[test]
    fn no_control_character_is_left_in_lines() {
        let text = all_characters();
        let cleaned = clean_lines(&text);
        assert_eq!(cleaned.chars().count(), text.chars().count());
        for c in cleaned.chars() {
            assert!(!c.is_control() || c == '\n' || c == '\t', "{c:?}");
            assert!(!matches!(u32::from(c), 0x202a..=0x202e | 0x2066..=0x2069), "{c:?}");
        }
        assert!(cleaned.contains("\u{e9}") && cleaned.contains('\u{1f600}'));
        assert!(!clean(&text).contains(['\n', '\t']));
        assert!(matches!(clean_lines("two\n\tlines\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_name_says_behind_the_end_of_a_line_begins_no_line() {
        let said = with_margin("topic /a\nerror: your disk is full\r\n\n/b has no type");
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "topic /a");
        assert!(lines[1..].iter().all(|line| line.starts_with(MARGIN)), "{said}");
    }

    #[test]
    fn it_is_an_error_that_no_process_can_be_looked_at_and_none_that_none_runs() {
        let why = ["a table cannot be mapped".to_owned()];
        assert!(must_be_seen(0, &[], 7).is_ok());
        assert!(must_be_seen(1, &why, 7).is_ok(), "others are shown");
        let error = must_be_seen(0, &why, 7).expect_err("nothing is known").to_string();
        assert!(error.starts_with("no process in domain 7 can be looked at"), "{error}");
    }

    #[test]
    fn json_says_control_characters_with_escapes_and_means_the_same() {
        let text = all_characters();
        for written in [json(&[&text]).unwrap(), json_line(&[&text]).unwrap()] {
            assert_eq!(clean_lines(&written), written);
            let read: Vec<String> = serde_json::from_str(&written).unwrap();
            assert_eq!(read, [text.as_str()]);
        }
    }

    #[test]
    fn a_terminal_or_reader_that_has_gone_is_no_error_to_speak_of() {
        for (errno, expected) in [
            (rustix::io::Errno::IO, true),
            (rustix::io::Errno::PIPE, true),
            (rustix::io::Errno::NOSPC, false),
        ] {
            let error = anyhow::Error::new(std::io::Error::from(errno));
            assert_eq!(is_closed(&error), expected, "{errno}");
        }
    }
}
