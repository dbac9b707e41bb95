//! `crossdock topic pub`: messages that people write in YAML, published at a rate.

use crate::arguments::PublishArguments;
use crate::definitions::definitions;
use crate::output;
use crate::output::{clean, say};
use crate::{files, troubles, values};
use anyhow::{Context, Result, bail};
use crossdock_comm::{AnyPublisher, Participant, ParticipantOptions, PortEvent, PublisherOptions};
use crossdock_msg::definition::TypeName;
use crossdock_msg::resolve::Library;
use crossdock_msg::{Block, FlatBuffer, JsonOptions, Schema, WrittenMessage};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Elements of a list that are printed, unless JSON is asked for.
const ELEMENTS_SHOWN: usize = 16;

/// Publishes messages until enough were published, the file ends, or Ctrl-C.
pub(super) fn publish(arguments: &PublishArguments) -> Result<()> {
    let definitions = definitions(&arguments.interfaces)?;
    must_be_message(&arguments.message_type, definitions.library())?;
    let schema = Schema::from_library(definitions.library(), &arguments.message_type)
        .map_err(|error| anyhow::anyhow!("{}", definitions.why(&error)))
        .with_context(|| {
            let near = definitions.near(&arguments.message_type);
            format!("the type of the message is not known; {near}--interfaces FOLDER brings others")
        })?;
    let schema = Arc::new(schema);
    let mut messages = messages(arguments, &schema)?;
    let count = match (arguments.once, arguments.times) {
        (true, _) => Some(1),
        (false, 0) => None,
        (false, times) => Some(times),
    };
    let wanted = arguments.wait_matching_subscriptions.unwrap_or(usize::from(count.is_some()));
    if wanted == 0 && arguments.max_wait_time_secs.is_some() {
        bail!(
            "--max-wait-time-secs needs something to wait for: --wait-matching-subscriptions, \
             --once or --times"
        );
    }
    let publishing = Publishing::start(arguments, schema)?;
    publishing.wait_for_subscribers(wanted, arguments.max_wait_time_secs)?;
    if !arguments.watch.json {
        output::print("publisher: beginning loop\n")?;
    }
    let file_end = arguments.yaml_file.is_some().then_some(messages.len() as u64);
    let count = [count, file_end].into_iter().flatten().min();
    let period = Duration::try_from_secs_f64(1.0 / arguments.rate).unwrap_or(Duration::MAX);
    let mut due = Instant::now();
    // A message of a file is published once, one that was typed again and again.
    let mut place = 0;
    let mut published = 0;
    while count.is_none_or(|count| published < count) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let message = &mut messages[place];
        published += 1;
        publishing.publish(published, message)?;
        place = (place + 1) % messages.len();
        due = next_due(due, period, Instant::now());
    }
    std::thread::sleep(Duration::from_secs_f64(arguments.keep_alive));
    Ok(())
}

/// Fails for the types of services and actions, which are no messages themselves.
fn must_be_message(type_name: &str, library: &Library) -> Result<()> {
    let Some(name) = TypeName::parse(type_name) else { return Ok(()) };
    if library.services().any(|service| service.type_name == name) {
        bail!("{name} is a service, not a message; `crossdock service call` calls one");
    }
    if library.actions().any(|action| action.type_name == name) {
        bail!(
            "{name} is an action, not a message; its topics have types of their own, such as \
             {name}_FeedbackMessage"
        );
    }
    Ok(())
}

/// When a timer is due again that was due at `due`: a period later, or, if that has passed, after
/// the periods that have passed.
fn next_due(due: Instant, period: Duration, now: Instant) -> Instant {
    let late = now.saturating_duration_since(due);
    let passed = late.as_nanos() / period.as_nanos().max(1);
    let periods = u32::try_from(passed + 1).unwrap_or(u32::MAX);
    // Beyond the clock's end it is never due.
    let far = now + Duration::from_secs(1 << 32);
    due.checked_add(period.saturating_mul(periods)).map_or(far, |due| due.min(far))
}

/// What is to be published, in CDR.
fn messages(arguments: &PublishArguments, schema: &Schema) -> Result<Vec<WrittenMessage>> {
    if let Some(path) = &arguments.yaml_file {
        let text = files::read(path, "file with messages")?;
        let name = path.display().to_string();
        let values = values::all(&name, &text)?;
        if values.is_empty() {
            bail!(
                "{} holds no message: write one a document, with `---` between them",
                clean(&name)
            );
        }
        let written = values.iter().enumerate().map(|(index, value)| {
            let written = schema.written(value);
            written.with_context(|| format!("message {} of {}", index + 1, clean(&name)))
        });
        return written.collect();
    }
    let value: Value = if arguments.stdin {
        let mut text = Vec::new();
        let limit = crossdock_graph::limits::MESSAGES_BYTES_MAX as u64 + 1;
        std::io::stdin().take(limit).read_to_end(&mut text).context("standard input")?;
        values::one("standard input", &text)?
    } else {
        values::one("VALUES", arguments.values.as_bytes())?
    };
    Ok(vec![schema.written(&value).context("the message")?])
}

/// The publisher.
struct Publishing<'a> {
    arguments: &'a PublishArguments,
    publisher: AnyPublisher,
    /// Hears that a subscriber came or went.
    matched: Receiver<()>,
}

impl<'a> Publishing<'a> {
    fn start(arguments: &'a PublishArguments, schema: Arc<Schema>) -> Result<Self> {
        let options = ParticipantOptions::new(arguments.watch.domain_id, "crossdock topic pub");
        let participant = Participant::open(options)?;
        troubles::tell(&participant);
        let publisher = participant.any_publisher(
            schema,
            PublisherOptions {
                node: &arguments.node_name,
                topic: &arguments.topic,
                qos: arguments.qos.offered(),
                max_bytes: None,
                group: None,
            },
        )?;
        let (sender, matched) = channel();
        publisher.events().set_prompt_callback(PortEvent::Matched, move |_| {
            // Nobody listens any more when the command ends.
            let _ = sender.send(());
        });
        Ok(Self { arguments, publisher, matched })
    }

    fn wait_for_subscribers(&self, wanted: usize, patience: Option<f64>) -> Result<()> {
        let topic = clean(&self.arguments.topic);
        let begin = Instant::now();
        let deadline = patience.map(|seconds| begin + Duration::from_secs_f64(seconds));
        // Without a deadline it looks again at times, for nothing else ends the wait.
        let next = || deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(60));
        let mut told = false;
        while self.publisher.matched() < wanted {
            if !std::mem::replace(&mut told, true) && !self.arguments.watch.json {
                say!("waiting for at least {wanted} matching subscription(s) of {topic} ...");
            }
            let left = next().saturating_duration_since(Instant::now());
            if self.matched.recv_timeout(left).is_err()
                && deadline.is_some_and(|deadline| Instant::now() >= deadline)
                && self.publisher.matched() < wanted
            {
                bail!(
                    "{topic} has {} of the {wanted} subscribers that were waited for; \
                     --wait-matching-subscriptions sets their number, `crossdock topic info {topic}` \
                     shows the values of other types",
                    self.publisher.matched()
                );
            }
        }
        Ok(())
    }

    fn publish(&self, number: u64, message: &mut WrittenMessage) -> Result<()> {
        let stamp_ns = values::now_ns();
        message.set_now(stamp_ns);
        self.publisher.publish_cdr(message.cdr(), stamp_ns, [0; 2])?;
        let every = self.arguments.print;
        if every != 0 && number.is_multiple_of(every) {
            self.print(number, stamp_ns, message)?;
        }
        Ok(())
    }

    fn print(&self, number: u64, stamp_ns: u64, message: &WrittenMessage) -> Result<()> {
        let is_json = self.arguments.watch.json;
        let schema = self.publisher.schema();
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(message.cdr())?);
        schema.decode_cdr(message.cdr(), flat.as_mut_slice())?;
        let options = match is_json {
            true => JsonOptions::default(),
            false => JsonOptions::shown(ELEMENTS_SHOWN),
        };
        let value = schema.to_json_with(Block::new(flat.as_slice()), options)?;
        if is_json {
            let line = json!({ "seq": number, "stamp_ns": stamp_ns, "message": value });
            return super::print_json(&line);
        }
        let type_name = clean(schema.type_name());
        output::print(&format!("publishing #{number}: {type_name} {}\n", clean(&value.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_publication_does_not_move_those_after_it() {
        let start = Instant::now();
        let ms = |count| Duration::from_millis(count);
        let due = |now| next_due(start, ms(10), start + now) - start;
        assert_eq!(due(ms(0)), ms(10));
        assert_eq!(due(ms(9)), ms(10));
        assert_eq!(due(ms(25)), ms(30), "what was missed is not made up for");
        assert!(next_due(start, Duration::MAX, start) > start + Duration::from_secs(1 << 31));
    }
}
