//! `crossdock bag info`: what a bag says that it holds. Messages are not read.

use super::arguments::InfoArguments;
use super::{date, open};
use crate::output::{self, clean};
use anyhow::Result;
use crossdock_record::{BagReader, BagTopic, OfferedQos};
use crossdock_sight::bytes;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn info(arguments: &InfoArguments) -> Result<ExitCode> {
    let reader = open(&arguments.bag)?;
    if arguments.json {
        output::print_json(&as_json(&reader))?;
    } else if arguments.topic_name {
        let names = reader.topics().iter().map(|topic| clean(&topic.name) + "\n");
        output::print(&names.collect::<String>())?;
    } else {
        output::print(&as_text(&reader, arguments.verbose)?)?;
    }
    if let Some(damage) = reader.damage() {
        output::warn(&[format!("{damage}; `crossdock bag check` reads everything")]);
    }
    Ok(ExitCode::SUCCESS)
}

/// Bytes of the files.
fn size(reader: &BagReader) -> u64 {
    let sizes = reader.files().filter_map(|path| std::fs::metadata(path).ok());
    sizes.map(|metadata| metadata.len()).sum()
}

/// How the messages are serialized, as far as is known: what is not delivered says why.
fn format_of(topic: &BagTopic) -> &str {
    use crossdock_record::TopicProblem::MessageEncoding;
    let other = topic.problems.iter().find_map(|problem| match problem {
        MessageEncoding(name) => Some(name.as_str()),
        _ => None,
    });
    other.unwrap_or("cdr")
}

/// In the form of `ros2 bag info`.
fn as_text(reader: &BagReader, verbose: bool) -> Result<String> {
    let mut text = String::new();
    let name =
        |path: &Path| path.file_name().map_or(String::new(), |it| clean(&it.to_string_lossy()));
    let files: Vec<String> = reader.files().map(name).collect();
    let (start_ns, end_ns) = (reader.start_ns(), reader.end_ns());
    writeln!(text, "Files:             {}", files.join("\n                   "))?;
    writeln!(text, "Bag size:          {}", bytes(size(reader)))?;
    writeln!(text, "Storage id:        {}", reader.storage())?;
    writeln!(text, "Duration:          {}", date::seconds(end_ns.saturating_sub(start_ns)))?;
    writeln!(text, "Start:             {}", date::date(start_ns))?;
    writeln!(text, "End:               {}", date::date(end_ns))?;
    writeln!(text, "Messages:          {}", reader.message_count())?;
    let mut label = "Topic information:";
    for (topic, count) in reader.topics().iter().zip(reader.topic_counts()) {
        writeln!(
            text,
            "{label:18} Topic: {} | Type: {} | Count: {count} | Serialization Format: {}",
            clean(&topic.name),
            clean(&topic.type_name),
            clean(format_of(topic)),
        )?;
        label = "";
        let mut line = |words: String| writeln!(text, "{:21}{}", "", clean(&words));
        for problem in &topic.problems {
            line(format!("note: {problem}"))?;
        }
        if verbose {
            line(format!("Hash: {}", topic.type_hash.as_deref().unwrap_or("not recorded")))?;
            for qos in &topic.qos {
                line(format!("QoS: {}", words(qos)))?;
            }
            for row in topic.definition.iter().flat_map(|text| text.lines()) {
                line(format!("| {row}"))?;
            }
        }
    }
    Ok(text)
}

fn words(qos: &OfferedQos) -> String {
    format!("{:?} {}, {:?}, {:?}", qos.history, qos.depth, qos.reliability, qos.durability)
}

fn as_json(reader: &BagReader) -> Value {
    let topics = reader.topics().iter().zip(reader.topic_counts()).map(|(topic, count)| {
        json!({
            "name": topic.name,
            "type": topic.type_name,
            "count": count,
            "serialization_format": format_of(topic),
            "type_hash": topic.type_hash,
            "qos": topic.qos.iter().map(words).collect::<Vec<_>>(),
            "problems": topic.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    });
    json!({
        "files": reader.files().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "bytes": size(reader),
        "storage": reader.storage(),
        "start_ns": reader.start_ns(),
        "end_ns": reader.end_ns(),
        "messages": reader.message_count(),
        "topics": topics.collect::<Vec<_>>(),
        "remarks": reader.remarks(),
        "damage": reader.damage().map(ToString::to_string),
    })
}
