//! Graphs and descriptions for the targets that read files about them, and all that is done with a
//! graph that is accepted.

#[path = "../../crates/graph/tests/support/mod.rs"]
mod support;

use crossdock_graph::{
    Graph, Mapping, PackageDescriptions, Picture, RemapRule, RunOptions, Violation, check,
};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The graph file of the course.
pub const COURSE: &str = support::COURSE;

/// What the packages of the course offer.
#[must_use]
pub fn descriptions() -> &'static PackageDescriptions {
    static INTERFACES: OnceLock<PackageDescriptions> = OnceLock::new();
    INTERFACES.get_or_init(support::descriptions)
}

/// The course.
#[must_use]
pub fn course() -> &'static Graph {
    static COURSE: OnceLock<Graph> = OnceLock::new();
    COURSE.get_or_init(support::course)
}

/// A refusal says why.
///
/// # Panics
/// It does not.
pub fn is_said(violations: &[Violation]) {
    assert!(!violations.is_empty());
    assert!(violations.iter().all(|it| !it.to_string().is_empty()));
}

/// Checks, draws, writes and reads again what was accepted.
///
/// # Panics
/// What is written cannot be read as the same.
pub fn used(graph: &Graph, mapping: &Mapping) {
    let plan = check(graph, mapping, descriptions(), &RunOptions::PLAIN);
    let picture = Picture {
        graph,
        mapping: Some(mapping),
        descriptions: Some(descriptions()),
        figures: None,
    };
    assert!(picture.to_svg().ends_with("</svg>\n"));
    assert!(picture.to_dot().ends_with("}\n"));
    // A file has no words for one name that sets several parameters, as an argument of a file does
    // that is included twice.
    let names: BTreeSet<&str> = graph.arguments.iter().map(|it| it.name.as_str()).collect();
    if plan.is_ok() && names.len() == graph.arguments.len() {
        let read = Graph::from_yaml("again", graph.to_yaml().as_bytes());
        let read = read.expect("what is written can be read");
        assert_eq!(read.without_source(), graph.clone().without_source());
        let read = Mapping::from_yaml("again", mapping.to_yaml().as_bytes());
        assert_eq!(read.expect("what is written can be read").to_yaml(), mapping.to_yaml());
    }
}

/// Gives a graph other names, and uses it if it can have them.
///
/// # Panics
/// As [`used`] and [`is_said`].
pub fn renamed(graph: &Graph, rules: &[RemapRule]) {
    match graph.remapped(rules) {
        Ok((graph, _, warnings)) => {
            assert!(warnings.len() <= rules.len());
            used(&graph, &Mapping::one_chain_per_package(&graph));
        }
        Err(violations) => is_said(&violations),
    }
}
