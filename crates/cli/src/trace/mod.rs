//! `crossdock trace`: what happens in running graphs, switched, recorded, summed up and converted.
//!
//! The traced processes do nothing for it after the attach.

pub(crate) mod arguments;
pub(crate) mod recording;
mod show;

use crate::output::{self, clean, say};
use crate::run::observer_options;
use anyhow::{Context, Result, bail};
use arguments::{ConvertArguments, StartArguments, StopArguments, TraceCommand, WhoseArguments};
use crossdock_comm::Observer;
use crossdock_trace::{Events, Trace, ctf, perfetto};
use recording::{Attached, Recorded, Recording};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs one of the trace commands.
pub(crate) fn trace(command: &TraceCommand) -> Result<ExitCode> {
    match command {
        TraceCommand::Start(arguments) => start(arguments)?,
        TraceCommand::Stop(arguments) => stop(arguments)?,
        TraceCommand::Show(arguments) => show::show(arguments)?,
        TraceCommand::Convert(arguments) => convert(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The events that a user names; all but the unusual ones where none is named.
pub(crate) fn events(names: &[String]) -> Result<Events> {
    if names.is_empty() {
        return Ok(Events::usual());
    }
    Ok(Events::named(names.iter().map(String::as_str))?)
}

/// Attaches to the processes that are meant, and warns of others.
fn attach(whose: &WhoseArguments) -> Result<Attached> {
    let mut observer = Observer::open(observer_options(whose.domain_id, "crossdock trace"))?;
    let named = |name: &String| whose.process.is_empty() || whose.process.contains(name);
    let attached = Attached::to(&mut observer, |process| named(&process.process))?;
    output::warn(&attached.unreachable);
    if attached.views.is_empty() {
        // Of a process that does not answer, not even the name is known.
        if !attached.unreachable.is_empty() {
            bail!(
                "nothing in domain {} can be traced; the warnings say why of each process",
                whose.domain_id
            );
        }
        let whose_name = match whose.process.as_slice() {
            [] => String::new(),
            names => format!(" called {}", names.join(" or ")),
        };
        bail!(
            "no process{whose_name} runs in domain {}; start a graph with `crossdock run`, \
             --domain-id looks elsewhere",
            whose.domain_id
        );
    }
    Ok(attached)
}

/// Reads a trace from its folder, and says what of it is missing.
pub(crate) fn read(folder: &Path) -> Result<Trace> {
    let read = ctf::read(folder)?;
    output::warn(&read.damage.iter().map(ToString::to_string).collect::<Vec<_>>());
    Ok(read.trace)
}

fn start(arguments: &StartArguments) -> Result<()> {
    let events = events(&arguments.events).context("--events")?;
    let attached = attach(&arguments.whose)?;
    let processes: Vec<String> =
        attached.views.iter().map(|view| view.process().to_owned()).collect();
    let Some(folder) = &arguments.output else {
        attached.trace(events);
        if arguments.whose.json {
            return output::print(&format!("{}\n", json!({ "traced": processes })));
        }
        return output::print(&format!(
            "tracing {}; `crossdock trace show` looks, `crossdock trace stop` ends it\n",
            clean(&processes.join(", "))
        ));
    };
    let wake = crate::run::Wake::new(crate::run::Suspension::Allowed)?;
    let recording = Recording::start(attached, events, folder)?;
    say!("tracing {} to {}; Ctrl-C ends it", clean(&processes.join(", ")), folder.display());
    let duration = arguments.duration.map(Duration::from_secs_f64);
    wake.wait(std::iter::empty(), duration.map(|duration| Instant::now() + duration))?;
    report(&recording.finish()?, arguments.whose.json)
}

fn stop(arguments: &StopArguments) -> Result<()> {
    let mut attached = attach(&arguments.whose)?;
    attached.trace(Events::none());
    if let Some(folder) = &arguments.output {
        return report(&recording::write_kept(&mut attached, folder)?, arguments.whose.json);
    }
    let processes: Vec<&str> = attached.views.iter().map(|view| view.process()).collect();
    if arguments.whose.json {
        return output::print(&format!("{}\n", json!({ "stopped": processes })));
    }
    output::print(&format!("tracing of {} has ended\n", clean(&processes.join(", "))))
}

fn report(recorded: &Recorded, json: bool) -> Result<()> {
    output::warn(&recorded.notes);
    if json {
        let Recorded { folder, events, lost, .. } = recorded;
        let folder = folder.to_string_lossy();
        let value = json!({ "trace": folder, "events": events, "lost": lost });
        return output::print(&format!("{value}\n"));
    }
    output::print(&format!("{}\n", recorded.sentence()))
}

fn convert(arguments: &ConvertArguments) -> Result<()> {
    let trace = read(&arguments.trace)?;
    std::fs::write(&arguments.output, perfetto::write(&trace))
        .with_context(|| format!("{} cannot be written", arguments.output.display()))?;
    output::print(&format!(
        "{} events; open {} at ui.perfetto.dev\n",
        trace.events.len(),
        arguments.output.display()
    ))
}
