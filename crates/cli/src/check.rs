//! `crossdock check`: everything that `run` checks, and nothing started.

use crate::arguments::CheckArguments;
use crate::load::{Wishes, load};
use crate::output;
use anyhow::Result;
use crossdock_graph::{ExecutorMode, ExecutorPlan, ProcessPlan};
use std::process::ExitCode;

/// Checks a graph and says in a line that it is in order.
pub(crate) fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let without: Option<&[String]> = arguments.replay.then_some(&[]);
    let wishes = Wishes { input: arguments.input.as_deref(), without, ..Wishes::default() };
    let loaded = load(&arguments.files, &wishes)?;
    let plan = &loaded.plan;
    for warning in &plan.warnings {
        eprintln!("warning: {warning}");
    }
    if arguments.json {
        output::print(&(serde_json::to_string_pretty(plan)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let nodes: usize = (plan.processes.iter().flat_map(|process| &process.executors))
        .map(|executor| executor.nodes.len())
        .sum();
    let hardware: usize = plan.fabrics.iter().map(|fabric| fabric.nodes.len()).sum();
    let in_hardware = match hardware {
        0 => String::new(),
        hardware => format!(", {hardware} in hardware"),
    };
    output::print(&format!(
        "{}: {} in {}{in_hardware}, {}; no violation found\n",
        plan.graph,
        counted(nodes, "node", "nodes"),
        counted(plan.processes.len(), "process", "processes"),
        counted(plan.topics.len(), "topic", "topics"),
    ))?;
    for (mapped, process) in loaded.mapping.processes.iter().zip(&plan.processes) {
        if mapped.executors.iter().any(|executor| executor.mode == ExecutorMode::Graph) {
            output::print(&threads(process))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The nodes of each thread: in graph mode the mapping does not say.
fn threads(process: &ProcessPlan) -> String {
    let thread = |executor: &ExecutorPlan| {
        let nodes: Vec<&str> = executor.nodes.iter().map(|node| node.name.as_str()).collect();
        format!("  thread {}: {}\n", executor.name, nodes.join(", "))
    };
    process.executors.iter().map(thread).collect()
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
