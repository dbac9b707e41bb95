//! What a comparison found, as data for JSON and as text.

use crate::output::clean;
use crate::table::{Align, Table};
use crossdock_record::compare::{ComparedTopic, Comparison, Differs, TopicDifference};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// Characters of a value that are shown.
const SHOWN_MAX: usize = 80;

/// What a comparison found.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    /// What was compared.
    compared: [String; 2],
    equal: bool,
    /// Whether all of both could be read.
    complete: bool,
    /// The topic whose difference comes first in time.
    first: Option<String>,
    topics: Vec<TopicRow>,
    /// What could not be read or compared, sentences.
    unread: [Vec<String>; 2],
}

#[derive(Debug, Serialize)]
struct TopicRow {
    topic: String,
    messages: [u64; 2],
    differing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<FirstRow>,
}

#[derive(Debug, Serialize)]
struct FirstRow {
    /// `type`, `missing`, `stamp`, `payload` or `apart`.
    what: &'static str,
    /// Number of the message in its topic, from 1.
    message: u64,
    /// Log time in each.
    times_ns: [Option<u64>; 2],
    /// Publish time in each, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_ns: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    types: Option<[String; 2]>,
    /// Which of the two has the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_in: Option<String>,
    /// The field that differs first, and its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<[Value; 2]>,
    /// The byte of the CDR that differs first.
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<usize>,
    /// A sentence.
    text: String,
}

impl Difference {
    pub(super) fn new(compared: [String; 2], comparison: &Comparison) -> Self {
        Self {
            equal: comparison.is_equal(),
            complete: comparison.unread.iter().all(Vec::is_empty),
            first: comparison.first().map(|topic| topic.name.clone()),
            topics: comparison.topics.iter().map(|topic| row(topic, &compared)).collect(),
            unread: comparison.unread.clone(),
            compared,
        }
    }

    pub(super) fn is_equal(&self) -> bool {
        self.equal
    }

    /// Summary and first differences, with a final line break.
    pub(super) fn text(&self) -> String {
        let [left, right] = &self.compared;
        let mut table = Table::new(&[
            ("TOPIC", Align::Left),
            ("MESSAGES", Align::Right),
            ("AND", Align::Right),
            ("DIFFER", Align::Right),
            ("FIRST", Align::Right),
        ]);
        for row in &self.topics {
            let first = row.first.as_ref().map(|first| first.message.to_string());
            table.row([
                row.topic.clone(),
                row.messages[0].to_string(),
                row.messages[1].to_string(),
                row.differing.to_string(),
                first.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        let verdict = match (self.equal, self.first.is_none()) {
            (true, _) => "are the same",
            (false, true) => "are the same as far as both can be read, but incomplete",
            (false, false) => "differ",
        };
        let [left, right] = [left, right].map(|name| clean(name));
        let mut text = format!("{left} and {right} {verdict}\n\n{}", table.text());
        let mut line = |words: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "\n{}", clean(words));
        };
        let is_first = |row: &&TopicRow| Some(&row.topic) == self.first.as_ref();
        let first = self.topics.iter().find(is_first);
        if let Some(first) = first.and_then(|row| row.first.as_ref()) {
            line(&format!("first difference: {}", first.text));
        }
        for row in self.topics.iter().filter(|row| !is_first(row)) {
            if let Some(first) = &row.first {
                line(&first.text);
            }
        }
        let of_stamps = |row: &TopicRow| row.first.as_ref().is_some_and(|it| it.what == "stamp");
        if self.topics.iter().any(of_stamps) {
            line(
                "recordings that `crossdock replay` has not made differ in times: --ignore-stamps compares \
                 bytes and order only",
            );
        }
        for (name, unread) in self.compared.iter().zip(&self.unread) {
            for sentence in unread {
                line(&format!("{name}: {sentence}"));
            }
        }
        if !self.complete {
            line(
                "what an incomplete recording lacks is not compared: record again, and end the run with \
                 Ctrl-C, which completes the recording",
            );
        }
        text
    }
}

fn row(topic: &ComparedTopic, compared: &[String; 2]) -> TopicRow {
    TopicRow {
        topic: topic.name.clone(),
        messages: topic.messages,
        differing: topic.differing,
        first: topic.first.as_ref().map(|first| first_row(&topic.name, first, compared)),
    }
}

fn first_row(topic: &str, first: &TopicDifference, compared: &[String; 2]) -> FirstRow {
    let (TopicDifference { number, times_ns, what }, [left, right]) = (first, compared);
    let mut row = FirstRow {
        what: "payload",
        message: *number,
        times_ns: *times_ns,
        published_ns: None,
        types: None,
        only_in: None,
        field: None,
        values: None,
        byte: None,
        text: String::new(),
    };
    let at = match times_ns {
        [Some(one), Some(other)] if one != other => {
            format!(" (at {} and {} s)", seconds(*one), seconds(*other))
        }
        [Some(one), _] | [_, Some(one)] => format!(" (at {} s)", seconds(*one)),
        [None, None] => String::new(),
    };
    let message = format!("message {number} of {topic}{at}");
    row.text = match what {
        Differs::Type { types } => {
            row.what = "type";
            row.types = Some(types.clone());
            format!("{topic} has the type {} in {left} and {} in {right}", types[0], types[1])
        }
        Differs::Missing { only_in } => {
            row.what = "missing";
            row.only_in = compared.get(*only_in).cloned();
            format!("{message} is only in {}", compared[*only_in])
        }
        Differs::Stamp { published_ns } => {
            row.what = "stamp";
            row.published_ns = Some(*published_ns);
            let [one, other] = published_ns.map(seconds);
            format!(
                "{message} has the same bytes in both, but was published at {one} s in {left} and at \
                 {other} s in {right}"
            )
        }
        Differs::Payload(payload) => {
            row.byte = payload.byte;
            if let Some(field) = &payload.field {
                row.field = Some(field.path.clone());
                row.values = Some([field.left.clone(), field.right.clone()]);
                let [one, other] = [&field.left, &field.right].map(shown);
                let path = &field.path;
                format!("{message}: `{path}` is {one} in {left} and {other} in {right}")
            } else {
                let place =
                    payload.byte.map_or(String::new(), |byte| format!(" from byte {byte} on"));
                let why = payload.unknown.as_ref();
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                let [one, other] = payload.bytes;
                format!("{message} differs{place}: {one} and {other} bytes{why}")
            }
        }
        Differs::Apart { ahead } => {
            row.what = "apart";
            let behind = &compared[1 - *ahead];
            format!(
                "{message} is so far ahead of what {behind} has of the topic that it was not compared"
            )
        }
        _ => format!("{message} differs"),
    };
    row
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
