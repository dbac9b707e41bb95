//! `crossdock bag`: looks at bags, plays, records, converts, cuts, checks and mends them.

pub(crate) mod arguments;
mod bar;
mod check;
mod copy;
mod date;
mod info;
mod play;
mod record;
mod watched;

use crate::output;
use crate::output::clean;
use anyhow::{Context, Result};
use arguments::{BagCommand, ReindexArguments};
use bar::Bar;
use crossdock_record::{BagReader, OfferedQos, ReaderOptions, qos_overrides};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Runs one of the bag commands.
pub(crate) fn bag(command: &BagCommand) -> Result<ExitCode> {
    match command {
        BagCommand::Info(arguments) => info::info(arguments),
        BagCommand::Play(arguments) => play::play(arguments),
        BagCommand::Record(arguments) => record::record(arguments),
        BagCommand::Convert(arguments) => copy::convert(arguments),
        BagCommand::Cut(arguments) => copy::cut(arguments),
        BagCommand::Check(arguments) => check::check(arguments),
        BagCommand::Reindex(arguments) => reindex(arguments),
    }
}

fn reindex(arguments: &ReindexArguments) -> Result<ExitCode> {
    let done = with_bar(|options| crossdock_record::reindex_with(&arguments.folder, options))?;
    output::warn(&done.damage);
    let (path, files) = (done.metadata.display(), done.files);
    let plural = if files == 1 { "" } else { "s" };
    output::print(&format!("{path}: {files} file{plural}, {} messages\n", done.messages))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a bag, with a warning for what is odd about it.
fn open(path: &Path) -> Result<BagReader> {
    let reader = with_bar(|options| BagReader::open_with(path, options))?;
    output::warn(reader.remarks());
    Ok(reader)
}

thread_local! {
    /// The bar of the bag that is being opened on this thread.
    static OPENING: RefCell<Option<Bar>> = const { RefCell::new(None) };
}

/// Opens a bag with a bar for files that have to be looked through.
fn with_bar<T>(open: impl FnOnce(ReaderOptions) -> T) -> T {
    fn tell(done_bytes: u64, bytes: u64) {
        OPENING.with_borrow_mut(|bar| {
            bar.get_or_insert_with(Bar::begin).at(done_bytes >> 10, bytes >> 10, "KiB");
        });
    }
    let opened = open(ReaderOptions { on_opening: Some(tell), ..ReaderOptions::default() });
    // Its line ends with it.
    drop(OPENING.take());
    opened
}

/// Reads a file with the quality of service of topics.
fn overrides(path: Option<&Path>) -> Result<BTreeMap<String, OfferedQos>> {
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let bytes = crate::files::read_bounded(path)?;
    let text = String::from_utf8_lossy(&bytes);
    qos_overrides(&text).with_context(|| clean(&path.display().to_string()))
}
