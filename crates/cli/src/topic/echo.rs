//! `crossdock topic echo`: messages as JSON or as indented text.
//!
//! Messages on a ring are copied from outside and the publisher never knows; what was overtaken
//! meanwhile is reported. The messages of a chain are in no ring: showing them takes a subscriber,
//! which makes their publisher write them to its ring, and that is said. With a quality of service,
//! echo subscribes too, and shows what such a subscriber gets.

use super::taken::Taken;
use super::{is_far, look, look_again, must_exist, open, print_json, publishers};
use crate::arguments::EchoArguments;
use crate::output;
use crate::output::{clean, say};
use crate::yaml;
use anyhow::{Result, bail};
use crossdock_comm::{
    Echo, EchoBuffer, GraphSnapshot, ObserveError, Observer, PortSnapshot, ProcessSnapshot, Qos,
};
use crossdock_msg::{Block, FieldError, JsonOptions, Schema};
use crossdock_sight::sum;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at rings on which nothing was new: short for a person, long for a processor.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Between two looks for the first publisher.
const WAIT_INTERVAL: Duration = Duration::from_millis(100);

/// Looks without news until the processes are looked for again: about a second.
const LOOKS_PER_REFRESH: u32 = 200;

/// Publishers of other types that are told of.
const LEFT_OUT_MAX: usize = 8;

/// A publisher and its process.
type Publishing<'a> = (&'a ProcessSnapshot, &'a PortSnapshot);

/// What to show.
struct Wishes<'a> {
    topic: &'a str,
    message_type: Option<&'a str>,
    count: Option<u64>,
    /// When it ends.
    end: Option<Instant>,
    field: Option<&'a str>,
    options: JsonOptions,
    /// Whether to say which message it is.
    info: bool,
    /// Whether to say that messages were not shown.
    losses: bool,
    form: Form,
}

/// How messages are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Indented,
    /// JSON, a message a line.
    Json,
    /// Values with commas between them, a message a line.
    Commas,
}

impl<'a> Wishes<'a> {
    fn of(arguments: &'a EchoArguments) -> Self {
        let options = match arguments.full {
            true => JsonOptions::default(),
            false => JsonOptions::shown(arguments.truncate_length),
        };
        let (arrays, texts) = (!arguments.no_arr, !arguments.no_str);
        Self {
            topic: &arguments.topic,
            message_type: arguments.message_type.as_deref(),
            count: if arguments.once { Some(1) } else { arguments.count },
            end: arguments
                .timeout
                .and_then(|it| Instant::now().checked_add(Duration::try_from_secs_f64(it).ok()?)),
            field: arguments.field.as_deref(),
            options: JsonOptions { arrays, texts, ..options },
            info: arguments.include_message_info,
            losses: !arguments.no_lost_messages,
            form: match (arguments.watch.json, arguments.csv) {
                (true, _) => Form::Json,
                (false, true) => Form::Commas,
                (false, false) => Form::Indented,
            },
        }
    }

    /// The publishers of the topic that have the type that is wanted, if one is, and the others.
    fn publishers<'b>(
        &self,
        snapshot: &'b GraphSnapshot,
    ) -> (Vec<Publishing<'b>>, Vec<Publishing<'b>>)
    where
        'a: 'b,
    {
        let is_wanted = |(_, port): &Publishing<'_>| {
            port.type_name.is_empty() || self.message_type.is_none_or(|it| it == port.type_name)
        };
        publishers(snapshot, self.topic).partition(is_wanted)
    }

    /// Whether there is something to show or to refuse. A stranger with another type is neither.
    fn is_published(&self, observer: &Observer, snapshot: &GraphSnapshot) -> bool {
        let (wanted, others) = self.publishers(snapshot);
        let is_own = |(process, _): &Publishing<'_>| observer.stranger(process.name).is_none();
        !wanted.is_empty() || others.iter().any(is_own)
    }

    fn show(&self, schema: &Schema, block: Block<'_>, stamp_ns: u64, seq: u64) -> Result<()> {
        let message = match self.field {
            None => schema.to_json_with(block, self.options).map_err(FieldError::from),
            Some(field) => schema.field_json(block, field, self.options),
        };
        let message = match message {
            // One publisher's nonsense; others go on.
            Err(FieldError::Flat(damage)) => {
                let topic = self.topic;
                output::warn([&format!("message {seq} of {topic} is not shown: {damage}")]);
                return Ok(());
            }
            message => message?,
        };
        let mut text = String::new();
        match self.form {
            Form::Json => {
                let line = json!({ "seq": seq, "stamp_ns": stamp_ns, "message": message });
                return print_json(&line);
            }
            Form::Commas => {
                let mut cells = if self.info {
                    vec![seq.to_string(), stamp_ns.to_string()]
                } else {
                    Vec::new()
                };
                push_cells(&message, &mut cells);
                return output::print(&(cells.join(",") + "\n"));
            }
            Form::Indented => {}
        }
        if self.info {
            text.push_str(&format!("# message {seq}, published at {stamp_ns} ns\n"));
        }
        text.push_str(&yaml::text(&message));
        output::print(&(text + "---\n"))
    }

    /// Says that messages were overtaken before they could be shown.
    fn tell_missed(&self, count: u64) {
        if self.losses {
            say!("note: {count} messages came faster than they were shown");
        }
    }

    fn is_done(&self, shown: u64) -> bool {
        self.count.is_some_and(|count| shown >= count)
            || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// Prints the messages of a topic until enough were shown or Ctrl-C.
pub(super) fn echo(arguments: &EchoArguments) -> Result<()> {
    let (wishes, watch) = (&Wishes::of(arguments), &arguments.watch);
    let mut observer = open(watch)?;
    let mut snapshot = look(&mut observer)?;
    match wishes.message_type {
        None => must_exist(&snapshot, wishes.topic, watch.domain_id)?,
        Some(_) if wishes.is_published(&observer, &snapshot) => {}
        Some(_) => match first_publisher(wishes, &mut observer)? {
            Some(with_publisher) => snapshot = with_publisher,
            None => return Ok(()),
        },
    }
    let (wanted, others) = wishes.publishers(&snapshot);
    if let (Some(expected), Some((_, other))) = (wishes.message_type, others.first()) {
        if wanted.is_empty() {
            let other = clean(&other.type_name);
            bail!("{} has the type {other}, not {expected}", wishes.topic);
        }
        tell_left_out(wishes.topic, &observer, &others);
    }
    if arguments.qos.is_given() {
        let offers: Vec<Qos> = wanted.iter().map(|(_, port)| port.qos).collect();
        // What a subscriber of this quality of service gets.
        let requested = arguments.qos.requested(&offers);
        let schema = schema(wishes, &observer, &wanted)?;
        return show_all(
            wishes,
            &Taken::with_qos((wishes.topic, schema), "echo", requested, watch)?,
        );
    }
    match attach(&mut observer, &wanted) {
        Ok(echoes) if !echoes.is_empty() => from_rings(wishes, &mut observer, echoes),
        Ok(_) => bail!("nobody publishes {} at the moment", wishes.topic),
        Err(ObserveError::InsideChain { .. }) => {
            let why = match is_far(&snapshot, wishes.topic) {
                true => {
                    "comes over the network, which carries it while somebody here subscribes; this \
                     echo does"
                }
                false => {
                    "has no subscriber outside its executor; this echo subscribes, so the \
                     publisher writes each message to its ring until the echo ends"
                }
            };
            say!("note: {} {why}", wishes.topic);
            let schema = schema(wishes, &observer, &wanted)?;
            show_all(wishes, &Taken::start((wishes.topic, schema), "echo", watch)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says which publishers have another type than the one that is shown.
fn tell_left_out(topic: &str, observer: &Observer, others: &[Publishing<'_>]) {
    let user = |process: &ProcessSnapshot| match observer.stranger(process.name) {
        Some(uid) => format!(" of user {uid}"),
        None => String::new(),
    };
    let told = others.iter().take(LEFT_OUT_MAX).map(|(process, port)| {
        let (node, type_name) = (&port.node, &port.type_name);
        clean(&format!("{type_name} of node {node}, process {}{}", process.process, user(process)))
    });
    let mut told = told.collect::<Vec<_>>().join("; ");
    if others.len() > LEFT_OUT_MAX {
        told.push_str(&format!("; and {} more", others.len() - LEFT_OUT_MAX));
    }
    say!("note: {} has publishers of other types, which are not shown: {told}", clean(topic));
}

/// The type that a subscriber takes: that of the first publisher, strangers last. `None`: it takes
/// what it meets, because nobody says which type is wanted or what it is.
fn schema(
    wishes: &Wishes<'_>,
    observer: &Observer,
    wanted: &[Publishing<'_>],
) -> Result<Option<Arc<Schema>>> {
    let is_stranger = |it: &&Publishing<'_>| observer.stranger(it.0.name).is_some();
    let Some((process, port)) = wanted.iter().min_by_key(is_stranger) else { return Ok(None) };
    match observer.schema(process.name, port) {
        Ok(schema) => Ok(Some(schema)),
        Err(_) if wishes.message_type.is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits until somebody publishes the topic: who names its type, as for ROS 2, need not start after
/// the publisher. `None`: nobody has in the time that the user gave.
fn first_publisher(wishes: &Wishes<'_>, observer: &mut Observer) -> Result<Option<GraphSnapshot>> {
    let topic = wishes.topic;
    say!("note: nobody publishes {} yet; Ctrl-C ends the wait for a publisher", clean(topic));
    let mut told = BTreeSet::new();
    while !wishes.is_done(0) {
        std::thread::sleep(WAIT_INTERVAL);
        let snapshot = look_again(observer, &mut told)?;
        if wishes.is_published(observer, &snapshot) {
            return Ok(Some(snapshot));
        }
    }
    Ok(None)
}

fn attach(observer: &mut Observer, wanted: &[Publishing<'_>]) -> Result<Vec<Echo>, ObserveError> {
    let (mut echoes, mut failed) = (Vec::new(), Vec::new());
    for (process, port) in wanted {
        match observer.echo(process.name, port) {
            Ok(echo) => echoes.push(echo),
            Err(error @ ObserveError::InsideChain { .. }) => return Err(error),
            Err(error) => failed.push(error),
        }
    }
    let last = if echoes.is_empty() { failed.pop() } else { None };
    output::warn(&failed.iter().map(ToString::to_string).collect::<Vec<_>>());
    last.map_or(Ok(echoes), Err)
}

fn from_rings(wishes: &Wishes<'_>, observer: &mut Observer, mut echoes: Vec<Echo>) -> Result<()> {
    let mut shown = 0;
    let mut missed = 0u64;
    // Of publishers that are passed over.
    let mut missed_before = 0;
    let mut silent_looks = 0;
    let mut buffer = EchoBuffer::default();
    let mut told = BTreeSet::new();
    loop {
        let mut news = false;
        let mut damaged = Vec::new();
        for (place, echo) in echoes.iter_mut().enumerate() {
            let schema = std::sync::Arc::clone(echo.schema());
            match echo.copy_next(&mut buffer) {
                Ok(Some(message)) => {
                    wishes.show(&schema, message.block, message.stamp_ns, message.seq)?;
                    news = true;
                    shown += 1;
                    if wishes.is_done(shown) {
                        return Ok(());
                    }
                }
                Ok(None) => {}
                Err(error) if error.is_final() => damaged.push((place, error)),
                // Its process has died or is stopped, or the message cannot be copied: others go
                // on.
                Err(error) => {
                    say!("note: {}", clean(&error.to_string()));
                    missed = missed.saturating_add(1);
                }
            }
        }
        for (place, error) in damaged.into_iter().rev() {
            missed_before = sum([missed_before, echoes.remove(place).missed()].into_iter());
            if echoes.is_empty() {
                return Err(error.into());
            }
            output::warn([&error.to_string()]);
        }
        let now_missed = sum(echoes.iter().map(Echo::missed).chain([missed_before]));
        if now_missed > missed {
            wishes.tell_missed(now_missed - missed);
            missed = now_missed;
        }
        if news {
            silent_looks = 0;
            continue;
        }
        if wishes.is_done(shown) {
            return Ok(());
        }
        std::thread::sleep(LOOK_INTERVAL);
        silent_looks += 1;
        if silent_looks % LOOKS_PER_REFRESH == 0 {
            let snapshot = look_again(observer, &mut told)?;
            if publishers(&snapshot, wishes.topic).next().is_none() {
                say!("note: the last publisher of {} has gone", wishes.topic);
                return Ok(());
            }
        }
    }
}

fn show_all(wishes: &Wishes<'_>, taken: &Taken) -> Result<()> {
    let mut shown = 0;
    let mut lost = 0;
    while !wishes.is_done(shown) {
        if let Some(sample) = taken.next(wishes.end)? {
            wishes.show(sample.schema(), sample.block(), sample.stamp_ns(), sample.seq())?;
            shown += 1;
        }
        if taken.lost() > lost {
            wishes.tell_missed(taken.lost() - lost);
            lost = taken.lost();
        }
    }
    Ok(())
}

/// The values of a message in their order. A text with a comma or a quotation mark stands in such
/// marks.
fn push_cells(value: &Value, cells: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| push_cells(value, cells)),
        Value::Array(elements) => elements.iter().for_each(|value| push_cells(value, cells)),
        Value::String(text) => {
            let text = clean(text);
            let is_plain = !text.contains([',', '"']);
            cells.push(if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) });
        }
        other => cells.push(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_line_of_values() {
        let message = json!({ "a": 1, "b": { "c": [true, 2.5], "d": "x, \"y\"" }, "e": "z" });
        let mut cells = Vec::new();
        push_cells(&message, &mut cells);
        assert_eq!(cells.join(","), "1,true,2.5,\"x, \"\"y\"\"\",z");
    }
}
