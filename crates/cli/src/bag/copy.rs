//! `crossdock bag convert` and `cut`: messages of bags into a new bag, bit by bit as they are.

use super::arguments::{
    ChunkCompression, CompressionMode, ConvertArguments, CutArguments, FormArguments,
    OutputArguments, StoragePreset, TopicFilter,
};
use super::bar::{Bar, Part, ns};
use super::{date, open_defined, open_joined, watched};
use crate::output::{self, clean, counted, say};
use anyhow::{Context, Result, bail};
use crossdock_record::{
    BagReader, BagTopic, BagWriter, Compression, TopicDescription, WriterOptions, WrittenTopic,
};
use std::collections::BTreeSet;
use std::io::IoSlice;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(super) fn convert(arguments: &ConvertArguments) -> Result<ExitCode> {
    let reader = open_joined(arguments.input.paths(), &arguments.definitions)?;
    copy(&reader, &arguments.filter, (0, u64::MAX), &arguments.output)
}

pub(super) fn cut(arguments: &CutArguments) -> Result<ExitCode> {
    let reader = open_defined(&arguments.bag, &arguments.definitions)?;
    let start_ns = reader.start_ns().saturating_add(ns(arguments.start));
    let end = arguments.end.or(arguments.duration.map(|duration| arguments.start + duration));
    let end_ns = end.map_or(u64::MAX, |end| reader.start_ns().saturating_add(ns(end)));
    if end_ns < start_ns {
        bail!("--end lies before --start: nothing would be left");
    }
    copy(&reader, &arguments.filter, (start_ns, end_ns), &arguments.output)
}

/// Says that no message lies in a part of a bag, which may have been meant otherwise.
pub(super) fn warn_of_nothing((start_ns, end_ns): (u64, u64)) {
    let seconds = date::seconds(end_ns.saturating_sub(start_ns));
    output::warn(&[format!(
        "no message that was asked for lies in this part; the bag goes from 0 to {seconds} ({})",
        date::date(end_ns)
    )]);
}

/// How the new bag is written.
pub(super) fn writer_options(form: &FormArguments, output: &Path) -> Result<WriterOptions> {
    let split_bytes = Some(form.max_bag_size).filter(|bytes| *bytes > 0);
    let split_duration = Some(form.max_bag_duration).filter(|seconds| *seconds > 0.0);
    let splits = split_bytes.is_some() || split_duration.is_some();
    if splits && output.extension().is_some_and(|ending| ending == "mcap") {
        bail!(
            "{} is one file, which --max-bag-size and --max-bag-duration cannot split; give a name \
             without .mcap for a folder",
            clean(&output.display().to_string())
        );
    }
    use {ChunkCompression as Chunks, CompressionMode as Mode, StoragePreset as Preset};
    let chunks = match (form.compression, form.storage_preset_profile) {
        (Some(chunks), _) => chunks,
        (None, Some(Preset::None | Preset::Fastwrite)) => Chunks::None,
        (None, Some(Preset::ZstdFast | Preset::ZstdSmall) | None) => Chunks::Zstd,
    };
    let compression = match (form.compression_mode, chunks) {
        (Some(Mode::File), _) => Compression::Files,
        (Some(Mode::Message), _) => Compression::Messages,
        (Some(Mode::None) | None, Chunks::None) => Compression::None,
        (Some(Mode::None) | None, Chunks::Lz4) => Compression::Lz4,
        (Some(Mode::None) | None, Chunks::Zstd) => Compression::Zstd,
    };
    Ok(WriterOptions {
        split_bytes,
        split_duration: split_duration.map(|seconds| Duration::from_nanos(ns(seconds))),
        ..WriterOptions::new(compression)
    })
}

/// Copies the chosen messages of these times.
fn copy(
    reader: &BagReader,
    filter: &TopicFilter,
    (start_ns, end_ns): (u64, u64),
    output: &OutputArguments,
) -> Result<ExitCode> {
    must_have(reader, filter)?;
    let path = &output.output;
    if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
        bail!(
            "{} is no name for a bag; what `ros2 bag convert` reads from such a file is given on the \
             command line, as in `crossdock bag convert old -o new --compression-mode file`",
            clean(&path.display().to_string())
        );
    }
    let mut writer = BagWriter::create(path, writer_options(&output.form, path)?)?;
    let topics = reader.topics().iter().map(|topic| add(&mut writer, topic, filter));
    let topics = topics.collect::<Result<Vec<_>>>()?;
    let chosen = reader.topics().iter().filter(|topic| filter.chooses(&topic.name)).count();
    let left_out = (chosen - topics.iter().flatten().count()) as u64;
    let (total, part) = (reader.message_count(), Part::of(reader, start_ns, end_ns));
    let (mut messages, mut bar) = (reader.messages_from(start_ns), Bar::begin());
    let mut damaged = false;
    while let Some(message) = messages.next_message() {
        let message = match message {
            Ok(message) => message,
            // Comes when all was read.
            Err(error) => {
                bar.end();
                say!("warning: {}", clean(&error.to_string()));
                damaged = true;
                continue;
            }
        };
        if message.log_time_ns > end_ns {
            break;
        }
        bar.step(part, total, message.log_time_ns);
        if let Some(topic) = topics[message.topic] {
            let slices = [IoSlice::new(message.data)];
            writer.write(topic, message.log_time_ns, message.publish_time_ns, &slices)?;
        }
    }
    bar.end();
    let saved = writer.finish()?;
    if part.is_some() && saved.messages == 0 {
        warn_of_nothing((reader.start_ns(), reader.end_ns()));
    }
    let without = match left_out {
        0 => String::new(),
        topics => format!(", without those of {}", counted(topics, "topic", "topics")),
    };
    let messages = counted(saved.messages, "message", "messages");
    let line = format!("{}: {messages}{without}\n", path.display());
    output::print(&clean_line(&line))?;
    let is_whole = !damaged && left_out == 0;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn clean_line(line: &str) -> String {
    clean(line.trim_end()) + "\n"
}

/// Fails when a topic that is named is not in the bag.
pub(super) fn must_have(reader: &BagReader, filter: &TopicFilter) -> Result<()> {
    let topics = || reader.topics().iter();
    for named in &filter.topics {
        if !topics().any(|topic| topic.name == *named) {
            let known: Vec<&str> = topics().map(|topic| topic.name.as_str()).collect();
            bail!("the bag has no topic {}; it has: {}", clean(named), clean(&known.join(", ")));
        }
    }
    let (services, actions) = (&filter.services, &filter.actions);
    let must_watch = |what, wanted: &[String], of: fn(&str) -> Option<&str>| -> Result<()> {
        let known: BTreeSet<&str> = topics().filter_map(|topic| of(&topic.name)).collect();
        match wanted.iter().find(|name| !known.contains(name.as_str())) {
            None => Ok(()),
            Some(name) if known.is_empty() => {
                bail!("the bag has no events of {what} {}, and of no other", clean(name))
            }
            Some(name) => {
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                bail!("the bag has no events of {what} {}; it has: {}", clean(name), clean(&known))
            }
        }
    };
    must_watch("service", services, watched::service_of)?;
    must_watch("action", actions, watched::action_of)
}

/// Adds a topic to the new bag, if it is chosen and its messages are delivered.
fn add(
    writer: &mut BagWriter,
    topic: &BagTopic,
    filter: &TopicFilter,
) -> Result<Option<WrittenTopic>> {
    if !filter.chooses(&topic.name) {
        return Ok(None);
    }
    if !topic.is_delivered() {
        let problem = topic.problems.first().map(ToString::to_string).unwrap_or_default();
        output::warn(&[format!("topic {} is left out: {problem}", topic.name)]);
        return Ok(None);
    }
    // The definition of a type that is shipped stands in for one that was not recorded.
    let schema = topic.schema().ok();
    let definition =
        topic.definition.clone().or_else(|| Some(schema.as_ref()?.definition().to_owned()));
    let hash = topic.type_hash.clone().or_else(|| Some(schema.as_ref()?.type_hash().to_string()));
    let description = TopicDescription {
        name: topic.name.clone(),
        type_name: topic.type_name.clone(),
        definition: definition.unwrap_or_default(),
        type_hash: hash.unwrap_or_default(),
        qos: topic.qos.clone(),
    };
    writer.add_topic(description).map(Some).with_context(|| format!("topic {}", clean(&topic.name)))
}
