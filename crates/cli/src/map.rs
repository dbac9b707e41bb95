//! `crossdock map`: from a graph and a placement of its nodes to the mapping of its topics. The
//! graph crate has the rule.

use crate::arguments::{MapArguments, Prefer};
use crate::files::Violations;
use crate::load::{read_graph, read_placement};
use crate::output;
use crate::packages::Packages;
use crate::table::{Align, Table};
use anyhow::Result;
use crossdock_graph::{
    CommunicationMapping, Crossings, Graph, Mapping, NodeStream, OpenTopics, Picture, Sides,
    TopicChoice, TopicMapping,
};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    graph: &'a str,
    #[serde(flatten)]
    mapped: &'a CommunicationMapping,
    notes: Vec<String>,
}

/// Maps the topics of a graph, writes what was asked for and prints the choices.
pub(crate) fn map(arguments: &MapArguments) -> Result<ExitCode> {
    let graph = read_graph(&arguments.graph)?;
    let placement = read_placement(&arguments.placement)?.in_graph(&graph);
    let open = match arguments.prefer {
        Prefer::Gateway => OpenTopics::Gateway,
        Prefer::Software => OpenTopics::Software,
    };
    let mapped = CommunicationMapping::new(&graph, &placement, open).map_err(Violations::from)?;
    if let Some(path) = &arguments.picture {
        draw(path, &graph, &mapped.mapping, arguments)?;
    }
    if let Some(path) = &arguments.output {
        output::write(Some(path), &mapped.mapping.to_yaml())?;
    }
    let printed = Printed { graph: &graph.name, notes: notes(&mapped), mapped: &mapped };
    let text = match arguments.json {
        true => crate::output::json(&printed)?,
        false => text(&printed),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Draws hardware subgraphs only: the processes of the mapping are its default.
fn draw(path: &Path, graph: &Graph, mapping: &Mapping, arguments: &MapArguments) -> Result<()> {
    let descriptions =
        Packages::of_graph(&arguments.package_path, graph, &arguments.graph)?.descriptions;
    let hardware = Mapping { processes: Vec::new(), ..mapping.clone() };
    let picture = Picture {
        graph,
        mapping: Some(&hardware),
        descriptions: Some(&descriptions),
        figures: None,
    };
    output::write(Some(path), &picture.to_svg())
}

fn text(printed: &Printed<'_>) -> String {
    let mapped = printed.mapped;
    let mut table = Table::new(&[
        ("topic", Align::Left),
        ("mapping", Align::Left),
        ("publishers", Align::Left),
        ("subscribers", Align::Left),
        ("if software", Align::Right),
        ("if gateway", Align::Right),
        ("crossings", Align::Right),
    ]);
    for choice in &mapped.topics {
        let as_gateway = choice.as_gateway.map(|crossings| crossings.total().to_string());
        let outside = if choice.external { " + outside" } else { "" };
        table.row([
            choice.topic.clone(),
            choice.mapping.word().to_owned(),
            sides(choice.publishers) + outside,
            sides(choice.subscribers),
            choice.as_software.total().to_string(),
            as_gateway.unwrap_or_else(|| "-".to_owned()),
            choice.crossings.total().to_string(),
        ]);
    }
    let mut sums = Table::new(&[("crossings", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for (what, crossings) in [
        ("all topics software-mapped", mapped.all_software),
        ("hardware-mapped topics, no gateways", mapped.without_gateways),
        ("as mapped", mapped.mapped),
    ] {
        let Crossings { up, down, .. } = crossings;
        let parts = format!("({up} up, {down} down)");
        sums.row([what.to_owned(), crossings.total().to_string(), parts]);
    }
    let mut text = format!("{}\n{}\n{}\n", heading(printed), table.text(), sums.text());
    for (what, mapping) in [
        ("software-mapped", TopicMapping::Software),
        ("hardware-mapped", TopicMapping::Hardware),
        ("gateway", TopicMapping::Gateway),
    ] {
        text.push_str(&format!("{what}: {}\n", names(&mapped.topics, mapping)));
    }
    for note in &printed.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn heading(printed: &Printed<'_>) -> String {
    let mapping = &printed.mapped.mapping;
    let software: usize = (mapping.processes.iter().flat_map(|process| &process.executors))
        .map(|executor| executor.nodes.len())
        .sum();
    let fabrics = mapping.fabrics.iter();
    let hardware = fabrics.map(|it| format!(", {} hardware in `{}`", it.nodes.len(), it.name));
    format!("{}: {software} nodes software{}\n", printed.graph, hardware.collect::<String>())
}

fn sides(sides: Sides) -> String {
    match sides {
        Sides { software: 0, hardware: 0, .. } => "0".to_owned(),
        Sides { software, hardware: 0, .. } => format!("{software} software"),
        Sides { software: 0, hardware, .. } => format!("{hardware} hardware"),
        Sides { software, hardware, .. } => format!("{software} software, {hardware} hardware"),
    }
}

fn names(topics: &[TopicChoice], mapping: TopicMapping) -> String {
    let names = topics.iter().filter(|choice| choice.mapping == mapping);
    let names: Vec<&str> = names.map(|choice| choice.topic.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What a user should know of single topics.
fn notes(mapped: &CommunicationMapping) -> Vec<String> {
    let mut notes = Vec::new();
    for choice in &mapped.topics {
        let TopicChoice { topic, as_software, .. } = choice;
        if let (true, Some(as_gateway)) = (choice.open, choice.as_gateway) {
            notes.push(format!(
                "{topic}: the rule leaves the choice open, as no fabric has more than one \
                 subscriber; crossings if software-mapped: {}, with a gateway: {}; --prefer decides",
                as_software.total(),
                as_gateway.total(),
            ));
        }
        let is_unread = choice.subscribers == Sides::default();
        if choice.mapping == TopicMapping::Hardware && is_unread {
            notes.push(format!(
                "{topic}: no node of the graph subscribes to it, and hardware-mapped it cannot be \
                 recorded or observed; map it to `gateway` in the mapping file if that is wanted"
            ));
        }
    }
    for topic in &mapped.mapping.topics {
        for NodeStream { node, port, .. } in &topic.stream.subscribers {
            notes.push(format!(
                "{}: the input `{port}` of `{node}` has a FIFO of a whole message (`fifo_messages: 1`), \
                 as nodes of its fabric form a cycle in which each may wait for the next for ever; \
                 in the mapping file it may stand at another input of the cycle",
                topic.name
            ));
        }
    }
    notes
}
