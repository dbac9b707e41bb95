//! A package binary that makes a source of its hardware, by a command that its hardware package
//! file names under `set_up`.

use super::alone::{alone, read, refused};
use super::node_process::PackageError;
use crate::node::package::{Package, SetUp};
use crossdock_graph::HardwarePackage;

/// Makes the source that the first word stands for, if it is the command of a set-up.
pub(crate) fn run(package: &Package, words: &[String]) -> Option<Result<(), PackageError>> {
    let (command, words) = words.split_first()?;
    let set_up = package.find_set_up(command)?;
    Some(make(&package.program(), set_up, words))
}

/// The words behind the command.
struct Words<'a> {
    package: &'a str,
    output: &'a str,
    rules: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn read(words: &'a [String]) -> Option<Self> {
        let (mut package, mut output, mut rules) = (None, None, Vec::new());
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-o" | "--output" => output = Some(words.next()?),
                "-p" | "--param" => rules.push(words.next()?),
                file if !file.starts_with('-') && package.is_none() => package = Some(file),
                _ => return None,
            }
        }
        Some(Self { package: package?, output: output?, rules })
    }
}

fn make(program: &str, set_up: SetUp, words: &[String]) -> Result<(), PackageError> {
    let Words { package, output, rules } = Words::read(words).ok_or_else(|| {
        alone(format!("name a hardware package file and -o FILE:\n{}", set_up.usage(program)))
    })?;
    let text = read("hardware package", package)?;
    let read = HardwarePackage::from_yaml(package, &text).map_err(refused)?;
    let is_as_it_stands = rules.is_empty();
    let read = read.set_up_by(set_up.command, rules).map_err(refused)?;
    // Values that rules have given do not stand in the file.
    let place = if is_as_it_stands { format!("{package}: ") } else { String::new() };
    let source = (set_up.make)(&read).map_err(|error| alone(format!("{place}{error}")))?;
    std::fs::write(output, source)
        .map_err(|error| alone(format!("{output}: {error}; choose another file")))
}
