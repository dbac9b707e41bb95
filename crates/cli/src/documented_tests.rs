//! The commands that the documentation shows are commands that `crossdock` understands.

use crate::{command_with, named_graph, ros_arguments};
use clap::error::ErrorKind;
use crossdock_test_support::workspace;
use std::path::{Path, PathBuf};

/// A command line of a page. A part of one may stand in a sentence, such as `crossdock trace`.
struct Shown {
    page: PathBuf,
    words: Vec<String>,
    is_whole: bool,
}

fn pages() -> Vec<PathBuf> {
    let root = workspace();
    let mut folders = vec![root.join("docs"), root.join("apps"), root.join("hw")];
    let mut pages = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    pages.extend(["bench", "fuzz"].map(|it| root.join(it).join("README.md")));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.ends_with("docs/results") {
                // Tables, whose rows begin with the names of systems.
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The words of each command of a line, as a shell divides them.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote) = (String::new(), None);
    for letter in line.chars() {
        match (letter, quote) {
            (it, Some(open)) if it == open => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            (it, Some(_)) => word.push(it),
            ('#', None) if word.is_empty() => break,
            (' ' | '|' | '&' | ';' | '>' | '<', None) => {
                let words = commands.last_mut().expect("a command");
                words.extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()));
                if letter != ' ' {
                    commands.push(Vec::new());
                }
            }
            (it, None) => word.push(it),
        }
    }
    let words = commands.last_mut().expect("a command");
    words.extend(Some(word).filter(|it| !it.is_empty()));
    commands
}

/// The arguments of those commands of a line that are `crossdock`.
fn ours(line: &str) -> impl Iterator<Item = Vec<String>> {
    let line = line.trim().trim_start_matches("$ ").to_owned();
    commands(&line).into_iter().filter_map(|words| {
        let (program, rest) = words.split_first()?;
        let is_ours = program.rsplit('/').next() == Some("crossdock");
        // The head of a text that is hashed, in the page on the flat layout.
        let is_text = rest.starts_with(&["flat".to_owned(), "layout".to_owned()]);
        (is_ours && !is_text).then(|| rest.to_vec())
    })
}

fn shown() -> Vec<Shown> {
    let mut shown = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for (at, part) in text.split("```").enumerate() {
            let mut add = |words, is_whole| {
                shown.push(Shown { page: page.clone(), words, is_whole });
            };
            if at % 2 == 1 {
                let text = part.replace("\\\n", " ");
                text.lines().flat_map(ours).for_each(|words| add(words, true));
                continue;
            }
            let blocks = part.replace("\\\n", " ");
            let blocks = blocks.lines().filter(|line| line.starts_with("    "));
            blocks.flat_map(ours).for_each(|words| add(words, true));
            let spans = part.split('`').skip(1).step_by(2);
            let spans = spans.map(|span| span.replace('\n', " "));
            for span in spans.filter(|span| span.starts_with("crossdock ")) {
                ours(&span).for_each(|words| add(words, false));
            }
        }
    }
    shown
}

/// Why the words are no command, if they are none.
fn fault(Shown { words, is_whole, .. }: &Shown) -> Option<String> {
    let root = workspace();
    // `crossdock run --record` in a sentence.
    let lacks_a_value = words.last().is_some_and(|word| word.starts_with("--"));
    // Graphs of the repository may declare options of their own.
    let in_clone = |word: &String| match root.join(word) {
        path if word.starts_with("apps/") && path.exists() => path.display().to_string(),
        _ => word.clone(),
    };
    let words: Vec<String> = words.iter().map(in_clone).collect();
    let graph = named_graph(words.iter().cloned()).and_then(Result::ok);
    let arguments = graph.as_ref().map_or(&[][..], |graph| &graph.arguments);
    let command = std::iter::once("crossdock".to_owned()).chain(words).collect();
    let command = match ros_arguments(command) {
        Ok((_, words)) => words,
        Err(error) => return Some(error.to_string()),
    };
    let error = command_with(arguments).try_get_matches_from(command).err()?;
    let is_part = match error.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        ErrorKind::InvalidValue => lacks_a_value,
        _ => false,
    };
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!is_help && (*is_whole || !is_part)).then(|| error.to_string())
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    let shown = shown();
    assert!(shown.len() > 100, "{} commands were found", shown.len());
    let name = |page: &Path| page.strip_prefix(workspace()).unwrap_or(page).display().to_string();
    let faults = shown.iter().filter_map(|it| {
        let (page, line) = (name(&it.page), it.words.join(" "));
        fault(it).map(|fault| format!("{page}: crossdock {line}\n    {fault}"))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_are_found_between_those_of_others() {
    let line = "$ a/crossdock run 'x y' --rate max | less && crossdock top  # crossdock gone";
    let found: Vec<Vec<String>> = ours(line).collect();
    assert_eq!(found, [vec!["run", "x y", "--rate", "max"], vec!["top"]]);
}
