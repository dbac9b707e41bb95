//! `crossdock graph`: pictures of graphs, and graph files from JSON.

use crate::arguments::{GraphArguments, GraphCommand, ImportArguments, PictureFormat};
use crate::files::Violations;
use crate::live_graph;
use crate::load::{read_graph, read_mapping, remapped};
use crate::output::{self, say};
use crate::packages::Packages;
use anyhow::{Result, bail};
use crossdock_graph::{Graph, ImportOptions, Picture, RosArguments};
use std::path::Path;
use std::process::ExitCode;

/// Draws or imports.
pub(crate) fn graph(arguments: &GraphArguments, ros: &RosArguments) -> Result<ExitCode> {
    match (&arguments.command, &arguments.graph) {
        (Some(GraphCommand::Import(import)), _) => import_json(import)?,
        (None, Some(graph)) => draw_picture(graph, arguments, ros)?,
        (None, None) if arguments.live => live_graph::draw(arguments)?,
        (None, None) => bail!("name a graph file, or `import` and a JSON file"),
    }
    Ok(ExitCode::SUCCESS)
}

fn draw_picture(file: &Path, arguments: &GraphArguments, ros: &RosArguments) -> Result<()> {
    let graph = read_graph(file)?;
    let mapping = arguments.mapping.as_deref();
    let mapping = mapping.map(read_mapping).transpose()?.map(|it| it.in_graph(&graph));
    let (graph, renamed, warnings) = remapped(&graph, &mapping.clone().unwrap_or_default(), ros)?;
    let mapping = mapping.map(|_| renamed);
    for warning in warnings {
        say!("warning: {warning}");
    }
    let output = arguments.output.as_deref();
    if arguments.json {
        let value = serde_json::json!({ "graph": graph, "mapping": mapping });
        return output::write(output, &output::json(&value)?);
    }
    // Which inputs trigger is the packages' to say where the graph does not; a graph whose packages
    // are not built can still be drawn.
    let descriptions = Packages::of_graph(&arguments.package_path, &graph, file)?.descriptions;
    let (mapping, descriptions) = (mapping.as_ref(), Some(&descriptions));
    write_picture(&Picture { graph: &graph, mapping, descriptions, figures: None }, arguments)
}

/// Writes a picture to where and in the form that the arguments say.
pub(crate) fn write_picture(picture: &Picture<'_>, arguments: &GraphArguments) -> Result<()> {
    let output = arguments.output.as_deref();
    let by_ending = match output.and_then(|path| path.extension()?.to_str()) {
        Some("svg") => PictureFormat::Svg,
        _ => PictureFormat::Dot,
    };
    let text = match arguments.format.unwrap_or(by_ending) {
        PictureFormat::Svg => picture.to_svg(),
        PictureFormat::Dot => picture.to_dot(),
    };
    output::write(output, &text)
}

fn import_json(arguments: &ImportArguments) -> Result<()> {
    let path = arguments.file.display();
    let bytes = crate::files::read(&arguments.file, "computation graph")?;
    let options = ImportOptions {
        package: arguments.package.clone(),
        conditions: arguments.condition.iter().cloned().collect(),
    };
    let imported = Graph::import_json_with(&path.to_string(), &bytes, &options);
    let imported = imported.map_err(Violations::from)?;
    output::write(arguments.output.as_deref(), &imported.text)
}
