//! The `crossdock` command: runs, checks, draws and watches computation graphs.
//!
//! The only crate that prints, in `output`. This file maps words to functions and errors to exit
//! codes: 0 for success, 1 for a failed run or check, 2 for a command line that cannot be
//! understood.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod bag;
mod bench;
mod beside;
mod check;
mod definitions;
mod device;
#[cfg(test)]
mod documented_tests;
mod files;
mod generate;
mod graph;
mod hardware;
mod interface;
mod live_graph;
mod load;
mod map;
mod msg;
mod net;
mod new;
mod node;
mod output;
mod packages;
mod replay;
mod ros;
mod ros_words;
mod run;
mod scratch;
mod service;
mod summary;
mod table;
mod top;
mod topic;
mod trace;
mod troubles;
mod values;
mod view;
mod yaml;

use arguments::{Cli, Command};
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches};
use crossdock_graph::{Argument, Graph, RosArgumentError, RosArguments};
use files::Violations;
use load::Settings;
use output::{clean, say};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // A file that would grow beyond the limit (`ulimit -f`) is an error of who writes it, which
    // names the file; without a handler the signal ends the process.
    let signal = rustix::process::Signal::XFSZ.as_raw();
    if let Err(error) = signal_hook::flag::register(signal, Arc::default()) {
        say!("crossdock: SIGXFSZ cannot be handled: {error}");
    }
    // Words that are no text are for the parser to refuse.
    let texts = std::env::args_os().map_while(|word| word.into_string().ok());
    let words: Vec<String> = texts.collect();
    let (ros, words) = match ros_arguments(words) {
        Ok(taken) => taken,
        Err(error) => {
            say!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let graph = named_graph(words.iter().skip(1).cloned());
    let known = graph.as_ref().and_then(|graph| graph.as_ref().ok());
    let graph_arguments = known.map_or(&[][..], |graph| graph.arguments.as_slice());
    let command = command_with(graph_arguments);
    let is_text = std::env::args_os().all(|word| word.to_str().is_some());
    let matches = match is_text {
        true => command.try_get_matches_from(words),
        false => command.try_get_matches(),
    };
    let matches = match (matches, &graph) {
        (Ok(matches), _) => matches,
        // An option may be unknown only because the graph that would declare it cannot be read.
        (Err(error), Some(Err(violations))) if error.use_stderr() => {
            output::say_lines(&violations.to_string());
            return ExitCode::FAILURE;
        }
        (Err(error), _) => return refuse(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let settings = Settings { arguments: set_arguments(&matches, graph_arguments), ros };
    for word in &settings.ros.without_effect {
        say!("warning: --ros-args: {word} has no effect here");
    }
    let done = match &cli.command {
        Command::Run(arguments) => run::run(arguments, &settings),
        Command::Join(arguments) => run::join(arguments, &settings),
        Command::Replay(arguments) => replay::replay(arguments, &settings),
        Command::Check(arguments) => check::check(arguments, &settings),
        Command::Graph(arguments) => graph::graph(arguments, &settings.ros),
        Command::Map(arguments) => map::map(arguments),
        Command::Gen(command) => generate::generate_files(command),
        Command::Topic(command) => topic::topic(command),
        Command::Node(command) => node::node(command),
        Command::Top(arguments) => top::top(arguments),
        Command::View(arguments) => view::view(arguments),
        Command::Net(arguments) => net::net(arguments),
        Command::Bag(command) => bag::bag(command),
        Command::Trace(command) => trace::trace(command),
        Command::Service(command) => service::service(command),
        Command::Interface(command) => interface::interface(command),
        Command::Msg(command) => msg::msg(command),
        Command::Device(command) => device::device(command),
        Command::Bench(command) => bench::bench(command),
        Command::New(arguments) => new::new(arguments),
        Command::Ros(command) => ros::ros(command),
        Command::Completions { shell } => completions(*shell),
        Command::Host => host_fabric(),
    };
    done.unwrap_or_else(|error| report(&error, wants_json(&cli.command)))
}

/// Commands that take words behind `--ros-args`.
const WITH_ROS_ARGUMENTS: [&str; 5] = ["run", "join", "replay", "check", "graph"];

/// What stands behind `--ros-args`, and the other words. Commands that have nothing to do with a
/// graph file keep all of them, for the parser to refuse.
fn ros_arguments(words: Vec<String>) -> Result<(RosArguments, Vec<String>), RosArgumentError> {
    match words.get(1) {
        Some(command) if WITH_ROS_ARGUMENTS.contains(&command.as_str()) => {
            RosArguments::taken_from(words)
        }
        _ => Ok((RosArguments::default(), words)),
    }
}

/// Prints what the parser says: help on standard output, an error on standard error. The text may
/// repeat words of the command line and of a graph file, so control characters are taken out.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() {
        // A wrong value of a known option has nothing to do with the words of ROS 2.
        let is_value = error.kind() == clap::error::ErrorKind::ValueValidation;
        let words = std::env::args().skip(1);
        match ros_words::sentence(words).filter(|_| !is_value) {
            // What clap finds similar leads elsewhere.
            Some(sentence) => {
                let first = text.lines().next().unwrap_or_default();
                output::say_lines(&format!("{first}\n\n{sentence}"));
            }
            None => output::say_lines(text.trim_end()),
        }
    } else {
        // Nobody is left to hear that it could not be printed.
        output::print_result(&text).unwrap_or_default();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints what a shell loads to complete words and options.
fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "crossdock", &mut text);
    output::print_result(&String::from_utf8(text)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Hosts a fabric for `crossdock run`, as a package binary hosts nodes.
fn host_fabric() -> anyhow::Result<ExitCode> {
    crossdock_gateway::package().main()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints an error on standard error; violations as JSON on standard output where that was asked.
fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    match error.downcast_ref::<Violations>() {
        // Nobody is left to hear that it could not be printed.
        Some(violations) if json => output::print_json(&violations.json()).unwrap_or_default(),
        Some(violations) => output::say_lines(&violations.to_string()),
        None if output::is_closed(error) => {}
        None => say!("error: {}", output::sentence(error)),
    }
    ExitCode::FAILURE
}

fn wants_json(command: &Command) -> bool {
    match command {
        Command::Run(arguments) => arguments.json,
        Command::Join(arguments) => arguments.run.json,
        Command::Replay(arguments) => arguments.json,
        Command::Check(arguments) => arguments.json,
        Command::Graph(arguments) => arguments.json,
        Command::Map(arguments) => arguments.json,
        Command::Gen(_) | Command::Topic(_) | Command::Node(_) | Command::Service(_) => false,
        Command::Trace(_) | Command::Top(_) | Command::Bench(_) | Command::Device(_) => false,
        Command::New(_) | Command::Ros(_) | Command::Completions { .. } | Command::Host => false,
        Command::Interface(_) | Command::Msg(_) | Command::Bag(_) => false,
        Command::View(_) | Command::Net(_) => false,
    }
}

/// Commands that run graphs, which may declare options of their own.
const RUNNING: [&str; 3] = ["run", "join", "replay"];

/// The graph of `crossdock run GRAPH`, read ahead of the command line because it may declare
/// options of its own.
fn named_graph(mut words: impl Iterator<Item = String>) -> Option<Result<Graph, Violations>> {
    let command = words.next().filter(|word| RUNNING.contains(&word.as_str()))?;
    let run = Cli::command().find_subcommand(&command).cloned()?;
    let takes_value = |word: &str| {
        let long = word.strip_prefix("--")?;
        let known = run.get_arguments().find(|known| known.get_long() == Some(long))?;
        known.get_action().takes_values().then_some(())
    };
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            if takes_value(&word).is_some() {
                words.next();
            }
            continue;
        }
        // The value of an option of the graph may stand before it. Recordings are not opened.
        let path = Path::new(&word);
        // A pipe can be read once, and the command needs it.
        if path.extension().is_some_and(|it| it == "yaml" || it == "yml")
            && path.is_file()
            && let Ok(text) = files::read_bounded(path)
        {
            return Some(load::graph_of(path, &text).map_err(Violations::from));
        }
    }
    None
}

/// The command line with the options that a graph declares.
fn command_with(graph_arguments: &[Argument]) -> clap::Command {
    RUNNING.iter().fold(Cli::command(), |command, name| {
        command.mut_subcommand(name, |run| with_graph(run, graph_arguments))
    })
}

/// Options that every command gets beside its own.
const ADDED: [&str; 2] = ["help", "version"];

/// What a graph's option is called among the command's own options, whose names it may share.
fn argument_id(argument: &Argument) -> String {
    format!("graph argument {}", argument.name)
}

/// `run` with the options that the graph declares.
fn with_graph(run: clap::Command, arguments: &[Argument]) -> clap::Command {
    arguments.iter().fold(run, |run, argument| {
        let is_own = run.get_arguments().any(|known| known.get_long() == Some(&argument.name));
        if is_own || ADDED.contains(&argument.name.as_str()) {
            // The command's own options win; the parameter can be set with --params.
            return run;
        }
        let help = match argument.doc.as_str() {
            "" => format!("sets parameter `{}` of node `{}`", argument.parameter, argument.node),
            doc => doc.to_owned(),
        };
        run.arg(
            Arg::new(argument_id(argument))
                .long(argument.name.clone())
                .value_name("VALUE")
                .help(clean(&help))
                .help_heading("Arguments of the graph")
                .allow_hyphen_values(true),
        )
    })
}

/// The options of the graph that were given, as text.
fn set_arguments(matches: &ArgMatches, arguments: &[Argument]) -> Vec<(String, String)> {
    let Some((_, matches)) = matches.subcommand().filter(|(name, _)| RUNNING.contains(name)) else {
        return Vec::new();
    };
    let given = arguments.iter().filter_map(|argument| {
        let text = matches.try_get_one::<String>(&argument_id(argument)).ok().flatten()?;
        Some((argument.name.clone(), text.clone()))
    });
    given.collect()
}
