//! `crossdock gen`: message types in a language, and files that follow from a graph and its
//! mapping. The generator crates make them.

use crate::arguments::{GenArguments, GenCommand, HardwareArguments, Lang};
use crate::definitions::definitions;
use crate::hardware::{FabricFiles, generate_fabric};
use crate::load::{interfaces, read_graph, read_mapping, with_parameters};
use crate::output;
use crate::packages::Packages;
use anyhow::{Context, Result, bail};
use crossdock_graph::Mapping;
use crossdock_hwgen::Generated;
use crossdock_msg::Schema;
use crossdock_msg::generate::{Generator, Language};
use std::path::Path;
use std::process::ExitCode;

/// Generates what the command names.
pub(crate) fn generate_files(arguments: &GenArguments) -> Result<ExitCode> {
    match (&arguments.command, arguments.lang, &arguments.output) {
        (Some(GenCommand::Hw(hardware)), ..) => self::hardware(hardware),
        (None, Some(lang), Some(folder)) => types(arguments, lang, folder),
        // The parser asks for both.
        (None, ..) => bail!("--lang LANGUAGE and -o FOLDER are needed"),
    }
}

/// Writes the types of packages in a language.
fn types(arguments: &GenArguments, lang: Lang, folder: &Path) -> Result<ExitCode> {
    let known = definitions(&arguments.interfaces)?;
    let mut generator = Generator::with_library(known.library().clone());
    for package in &arguments.packages {
        generator.add_folder(package)?;
    }
    let language = match lang {
        Lang::Rust => Language::Rust,
        Lang::C | Lang::Cpp => Language::C,
        Lang::Python => Language::Python,
        Lang::Sv => Language::SystemVerilog,
    };
    let files = generator.files(language)?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    for file in &files {
        output::write_in(folder, &file.path, &file.text)?;
    }
    output::print(&format!("{}: {} files\n", folder.display(), files.len()))?;
    Ok(ExitCode::SUCCESS)
}

fn hardware(arguments: &HardwareArguments) -> Result<ExitCode> {
    let graph = with_parameters(read_graph(&arguments.graph)?, &arguments.parameters)?;
    let mapping = read_mapping(&arguments.mapping)?.in_graph(&graph);
    let fabric = fabric(&mapping, arguments)?;
    let packages = Packages::of_graph(&arguments.package_path, &graph, &arguments.graph)?;
    let definitions = definitions(&interfaces(&arguments.interfaces, &arguments.graph, &graph))?;
    let types = |name: &str| {
        let schema = Schema::from_library(definitions.library(), name);
        schema.map_err(|error| error.to_string())
    };
    let generated = generate_fabric(&FabricFiles {
        graph: &graph,
        mapping: &mapping,
        packages: &packages,
        fabric: &fabric,
        types: &types,
    })?;
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    for (name, text) in &generated.files {
        output::write_in(folder, name, text)?;
    }
    output::print(&told(&generated, folder))?;
    Ok(ExitCode::SUCCESS)
}

/// The fabric that was named, or the only one.
fn fabric(mapping: &Mapping, arguments: &HardwareArguments) -> Result<String> {
    let names: Vec<&str> = mapping.fabrics.iter().map(|fabric| fabric.name.as_str()).collect();
    match (&arguments.fabric, names.as_slice()) {
        (Some(name), _) => Ok(name.clone()),
        (None, [only]) => Ok((*only).to_owned()),
        (None, []) => bail!(
            "{} has no fabric: place nodes under `fabrics`, or let `crossdock map` do it",
            arguments.mapping.display()
        ),
        (None, several) => bail!(
            "{} has the fabrics {}: choose one by --fabric",
            arguments.mapping.display(),
            several.join(", ")
        ),
    }
}

fn told(generated: &Generated, folder: &Path) -> String {
    let network = &generated.network;
    let mut text = String::new();
    for topic in &network.topics {
        text.push_str(&format!(
            "{}: {}, {}, {} bits, {} beats for the longest message\n",
            topic.shown(),
            output::counted(topic.publishers.len() as u64, "publisher", "publishers"),
            output::counted(topic.subscribers.len() as u64, "subscriber", "subscribers"),
            topic.width,
            topic.beats_max(topic.width)
        ));
    }
    for topic in &network.software_topics {
        let each = "each port with a stream and a gateway of its own";
        text.push_str(&format!("{topic}: software-mapped, {each}\n"));
    }
    for node in &network.nodes {
        text.push_str(&format!("{}: module `{}`, part of the board\n", node.name, node.module));
    }
    for warning in &generated.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    let files = generated.files.len();
    text.push_str(&format!("{}: {files} files, see report.md\n", folder.display()));
    text
}
