//! `crossdock check`: everything that `run` checks, and nothing started.

use crate::arguments::CheckArguments;
use crate::load::{Wishes, load};
use crate::output;
use anyhow::Result;
use std::process::ExitCode;

/// Checks a graph and says in a line that it is in order.
pub(crate) fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let wishes = Wishes { input: arguments.input.as_deref(), ..Wishes::default() };
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
        "{}: {nodes} nodes in {} processes{in_hardware}, {} topics; no violation found\n",
        plan.graph,
        plan.processes.len(),
        plan.topics.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}
