//! Graph, mapping and parameters of a case: the graph files are the package's own.

use super::case::{Architecture, Case, Transport};
use crate::options::CpuGpuOptions;
use std::fmt::Write as _;
use std::num::NonZero;

/// The graph file.
pub(super) fn graph(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Native => include_str!("../../../../apps/cpu_gpu/native.graph.yaml"),
        Architecture::Two => include_str!("../../../../apps/cpu_gpu/two.graph.yaml"),
        Architecture::TwoService => {
            include_str!("../../../../apps/cpu_gpu/two_service.graph.yaml")
        }
        Architecture::Three => include_str!("../../../../apps/cpu_gpu/three.graph.yaml"),
        Architecture::Five { .. } => include_str!("../../../../apps/cpu_gpu/five.graph.yaml"),
    }
}

/// Where its nodes run.
pub(super) fn mapping(case: &Case, device: &str) -> String {
    let nodes = case.architecture.nodes();
    let executor = |nodes: &str| format!("{{ mode: event, nodes: [{nodes}] }}");
    let mut text = "crossdock: 1\nprocesses:\n".to_owned();
    // Writing to a String cannot fail, here and below.
    match case.transport {
        Transport::Serialised | Transport::Shared | Transport::None => {
            for node in nodes {
                let _ = writeln!(text, "  {node}: {{ executors: [{}] }}", executor(node));
            }
        }
        Transport::InProcess => {
            let executors: Vec<String> = nodes.iter().map(|node| executor(node)).collect();
            let _ = writeln!(text, "  all: {{ executors: [{}] }}", executors.join(", "));
        }
        Transport::Composed => {
            let _ = writeln!(text, "  all: {{ executors: [{}] }}", executor(&nodes.join(", ")));
        }
    }
    let on_device: Vec<&str> =
        nodes.iter().copied().filter(|node| node.starts_with("gpu_")).collect();
    if !on_device.is_empty() {
        let nodes = on_device.join(", ");
        let topics = shared_by(case)
            .map_or_else(String::new, |(name, model)| format!(", topics: {{ {name}: {model} }}"));
        let gpu = format!("device: \"{device}\", nodes: [{nodes}]{topics}");
        let _ = writeln!(text, "devices: {{ gpu: {{ {gpu} }} }}");
    }
    text
}

/// The topic or service by which workers hear of the array that they share, and how it gets to the
/// device, as a mapping says it; `None`: they share none.
fn shared_by(case: &Case) -> Option<(&'static str, &'static str)> {
    if matches!(case.transport, Transport::Serialised | Transport::None) {
        return None;
    }
    let name = if case.architecture == Architecture::TwoService { "/work" } else { "/turn" };
    let model = match case.model {
        "sc" => "copy",
        "um" => "managed",
        _ => "zero_copy",
    };
    Some((name, model))
}

/// What its nodes have as parameters.
pub(super) fn parameters(case: &Case, options: &CpuGpuOptions) -> String {
    let Case { benchmark, model, architecture, transport, power } = case;
    let both = format!("benchmark: {benchmark}, power: {power}");
    let CpuGpuOptions { device, runs, warm_up, .. } = options;
    let native = format!(
        "runs: {runs}, warm_up: {warm_up}, native_device: \"{device}\", native_model: {model}"
    );
    let transport = match transport {
        Transport::Serialised => "serialised",
        _ => "shared",
    };
    let mut text = "crossdock: 1\nnodes:\n".to_owned();
    for node in architecture.nodes() {
        let own = match *node {
            "native" => native.clone(),
            "scheduler" => {
                let division = architecture.division();
                format!("{native}, transport: {transport}, division: {division}")
            }
            // Of an array that is shared, the mapping says it.
            node if node.starts_with("gpu_") && shared_by(case).is_none() => {
                format!("model: {model}, transport: {transport}")
            }
            // Together as many threads as the native form and one worker alone have.
            node if node.starts_with("cpu_")
                && *architecture == (Architecture::Five { replicated: false }) =>
            {
                let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
                format!("threads: {}", (cores.min(8) / 2).max(1))
            }
            _ => String::new(),
        };
        let comma = if own.is_empty() { "" } else { ", " };
        let _ = writeln!(text, "  {node}: {{ {both}{comma}{own} }}");
    }
    text
}
