//! The package binary: its nodes for the launcher, one node by itself, and a command for people.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command prints")]

use crossdock_graph::HardwarePackage;
use crossdock_image_pipeline::nodes::package;
use crossdock_image_pipeline::rectify_setup::rectify_setup_of;
use std::process::ExitCode;

const USAGE: &str = "\
usage: crossdock-image-pipeline rectify-setup PACKAGE.hardware.yaml -o FILE.sv

rectify-setup  writes what rectification in hardware is made with, from the calibration that is named
               under `built_in` of a hardware package file
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["rectify-setup", package, "-o", output] => setup(package, output),
        ["rectify-setup", ..] => {
            Err(format!("name a hardware package file and -o FILE\n\n{USAGE}"))
        }
        ["-h" | "--help" | "help", ..] => {
            println!("{USAGE}");
            nodes(vec!["--help".to_owned()])
        }
        _ => nodes(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crossdock-image-pipeline: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs nodes for the launcher, or one node by itself.
fn nodes(words: Vec<String>) -> Result<(), String> {
    package().main_with(words).map_err(|error| error.to_string())
}

/// Writes what a module is made with.
fn setup(package: &str, output: &str) -> Result<(), String> {
    let text =
        std::fs::read(package).map_err(|error| format!("{package}: {error}; check the path"))?;
    let read = HardwarePackage::from_yaml(package, &text)
        .map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let setup = rectify_setup_of(&read).map_err(|error| format!("{package}: {error}"))?;
    std::fs::write(output, setup).map_err(|error| format!("{output}: {error}; choose another file"))
}
