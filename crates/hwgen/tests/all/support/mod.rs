//! Graphs and mappings that several tests use.

#![allow(dead_code, clippy::unwrap_used)]

use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hwgen::{Generated, Request, generate};
use crossdock_msg::Schema;

/// The driving graph with its cycle of topics, and software on two topics.
pub(crate) const DRIVE: &str = include_str!("../../data/drive.graph.yaml");
pub(crate) const DRIVE_MAPPING: &str = include_str!("../../data/drive.mapping.yaml");

/// The network of fabric `board`, or what is wrong, one line each.
pub(crate) fn generated(graph: &str, mapping: &str) -> Result<Generated, Vec<String>> {
    let lines = |violations: Vec<crossdock_graph::Violation>| -> Vec<String> {
        violations.iter().map(ToString::to_string).collect()
    };
    let graph = Graph::from_yaml("g.yaml", graph.as_bytes()).map_err(lines)?;
    let mapping = Mapping::from_yaml("m.yaml", mapping.as_bytes()).map_err(lines)?;
    let request = Request {
        graph: &graph,
        mapping: &mapping,
        descriptions: &PackageDescriptions::default(),
        fabric: "board",
        types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
        implementations: &[],
    };
    generate(&request).map_err(lines)
}
