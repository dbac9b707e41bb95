//! `crossdock bag`: looks at bags, plays, records, converts, cuts, checks and mends them.

pub(crate) mod arguments;
mod bar;
mod check;
mod copy;
mod date;
mod info;
mod keys;
mod play;
mod record;
mod remote;
mod watched;

use crate::arguments::DefinitionArguments;
use crate::definitions::definitions;
use crate::output;
use crate::output::clean;
use anyhow::{Context, Result, bail};
use arguments::{BagCommand, ReindexArguments};
use bar::Bar;
use crossdock_comm::{Event, Participant};
use crossdock_record::{
    BagReader, OfferedQos, OpenBagError, OpeningProgress, ReaderOptions, qos_overrides,
    reindex_telling,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs one of the bag commands.
pub(crate) fn bag(command: &BagCommand) -> Result<ExitCode> {
    if matches!(command, BagCommand::Play(_) | BagCommand::Record(_)) {
        raise_descriptor_limit();
    }
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

/// Each topic of a player takes a descriptor, and so does each publisher that is recorded. Many
/// systems let a process have 1024 unless it asks for more.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Without it, the command goes on with what there is, and says when that is used up.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn reindex(arguments: &ReindexArguments) -> Result<ExitCode> {
    let done = with_bar(|progress| reindex_telling(&arguments.folder, progress))?;
    output::warn(&done.damage);
    let (path, files) = (done.metadata.display(), done.files);
    let plural = if files == 1 { "" } else { "s" };
    output::print(&format!("{path}: {files} file{plural}, {} messages\n", done.messages))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a bag, with a warning for what is odd about it.
fn open(path: &Path) -> Result<BagReader> {
    let reader = open_silently(path)?;
    output::warn(reader.remarks());
    Ok(reader)
}

/// Opens a bag, with definitions that it lacks from elsewhere.
fn open_defined(path: &Path, interfaces: &DefinitionArguments) -> Result<BagReader> {
    let mut reader = open_silently(path)?;
    define(&mut reader, &interfaces.interfaces)?;
    output::warn(reader.remarks());
    Ok(reader)
}

/// Opens bags as one, in the order of their times.
fn open_joined<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
    interfaces: &DefinitionArguments,
) -> Result<BagReader> {
    let readers = paths.map(|path| open_defined(path, interfaces)).collect::<Result<Vec<_>>>()?;
    if readers.is_empty() {
        bail!("name a bag: an .mcap or .db3 file, or a rosbag2 folder");
    }
    Ok(BagReader::join(readers))
}

/// Looks elsewhere for definitions that a bag lacks.
pub(crate) fn define(reader: &mut BagReader, folders: &[PathBuf]) -> Result<()> {
    if !folders.is_empty() || reader.lacks_definitions() {
        reader.define(definitions(folders)?.library());
    }
    Ok(())
}

/// Opens a bag without a word about what is odd.
fn open_silently(path: &Path) -> Result<BagReader, OpenBagError> {
    with_bar(|progress| BagReader::open_telling(path, ReaderOptions::default(), progress))
}

/// Opens a bag with a bar for files that have to be looked through.
fn with_bar<T>(open: impl FnOnce(OpeningProgress<'_>) -> T) -> T {
    let bar = RefCell::new(Bar::begin());
    open(&|done_bytes, bytes| bar.borrow_mut().at_bytes(done_bytes, bytes))
}

/// What keeps ports of this process from those of others, since the last call.
fn troubles(participant: &Participant) -> Vec<String> {
    let (events, _) = participant.take_events();
    events.iter().filter(|event| event.is_trouble()).map(Event::to_string).collect()
}

/// Reads a file with the quality of service of topics.
fn overrides(path: Option<&Path>) -> Result<BTreeMap<String, OfferedQos>> {
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let bytes = crate::files::read_bounded(path)?;
    let text = String::from_utf8_lossy(&bytes);
    qos_overrides(&text).with_context(|| clean(&path.display().to_string()))
}
