//! `crossdock bag check`: reads every message of a bag and decodes it, and says what is wrong.

use super::arguments::CheckArguments;
use super::bar::Bar;
use crate::output;
use crate::table::{Align, Table};
use anyhow::Result;
use crossdock_msg::{FlatBuffer, Schema};
use crossdock_record::BagReader;
use serde::Serialize;
use std::process::ExitCode;

/// What is wrong with a bag.
#[derive(Debug, Serialize)]
struct Findings {
    ok: bool,
    messages: u64,
    topics: Vec<TopicFindings>,
    /// What could not be read, a sentence.
    damage: Option<String>,
    /// What is odd and does no harm.
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TopicFindings {
    topic: String,
    #[serde(rename = "type")]
    type_name: String,
    messages: u64,
    /// Messages that do not fit their definition.
    wrong: u64,
    /// The first of them, or why none can be judged.
    error: Option<String>,
}

pub(super) fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let mut reader = super::open_silently(&arguments.bag)?;
    super::define(&mut reader, &arguments.definitions.interfaces)?;
    let findings = examine(&reader);
    let text = if arguments.json { output::json(&findings)? } else { text(&findings) };
    output::print_result(&text)?;
    Ok(if findings.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn examine(reader: &BagReader) -> Findings {
    let (mut schemas, mut topics) = (Vec::new(), Vec::new());
    for topic in reader.topics() {
        let schema = topic.schema();
        topics.push(TopicFindings {
            topic: topic.name.clone(),
            type_name: topic.type_name.clone(),
            messages: 0,
            wrong: 0,
            error: schema.as_ref().err().map(ToString::to_string),
        });
        schemas.push(schema.ok());
    }
    let (total, mut bar) = (reader.message_count(), Bar::begin());
    let mut memory = FlatBuffer::with_bytes(0);
    let (mut messages, mut count, mut damage) = (reader.messages(), 0, None);
    while let Some(message) = messages.next_message() {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                damage = Some(error.to_string());
                continue;
            }
        };
        bar.step(None, total, message.log_time_ns);
        count += 1;
        let findings = &mut topics[message.topic];
        findings.messages += 1;
        let Some(schema) = &schemas[message.topic] else { continue };
        if let Err(error) = decode(schema, message.data, &mut memory) {
            findings.wrong += 1;
            let (number, time_ns) = (message.number, message.log_time_ns);
            findings.error.get_or_insert_with(|| {
                format!("message {number}, recorded at {time_ns} ns: {error}")
            });
        }
    }
    let fine = topics.iter().all(|topic| topic.error.is_none());
    let remarks = reader.remarks().to_vec();
    Findings { ok: fine && damage.is_none(), messages: count, topics, damage, remarks }
}

/// Decodes a message into memory that is used again.
fn decode(schema: &Schema, cdr: &[u8], memory: &mut FlatBuffer) -> Result<()> {
    let bytes = schema.flat_bytes_of_cdr(cdr)?;
    if memory.as_slice().len() < bytes {
        *memory = FlatBuffer::with_bytes(bytes);
    }
    schema.decode_cdr(cdr, memory.as_mut_slice())?;
    Ok(())
}

fn text(findings: &Findings) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let columns = [("topic", left), ("type", left), ("messages", right), ("wrong", right)];
    let mut table = Table::new(&columns);
    for topic in &findings.topics {
        let counts = [topic.messages, topic.wrong].map(|count| count.to_string());
        let [messages, wrong] = counts;
        table.row([topic.topic.clone(), topic.type_name.clone(), messages, wrong]);
    }
    let mut text = table.text();
    let errors = findings
        .topics
        .iter()
        .filter_map(|topic| topic.error.as_ref().map(|error| format!("{}: {error}", topic.topic)));
    for line in findings.remarks.iter().map(|it| format!("note: {it}")).chain(errors) {
        text.push_str(&format!("{}\n", output::clean(&line)));
    }
    if let Some(damage) = &findings.damage {
        text.push_str(&format!("damaged: {}\n", output::clean(damage)));
    }
    text + if findings.ok { "everything can be read\n" } else { "not everything can be read\n" }
}
