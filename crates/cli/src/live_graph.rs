//! `crossdock graph --live`: the graph that runs now, with its rates, as the status tables tell it.
//!
//! Drawn by what draws graph files. It must not subscribe to anything.

use crate::arguments::GraphArguments;
use crate::graph::write_picture;
use crate::output;
use anyhow::{Result, bail};
use crossdock_sight::{Running, Sight};
use std::time::Duration;

/// Draws the running graphs of a domain as one.
pub(crate) fn draw(arguments: &GraphArguments) -> Result<()> {
    let mut sight = Sight::open(arguments.domain_id, "crossdock graph")?;
    let before = sight.read()?;
    output::warn(&before.graph.unreachable);
    let (seen, unreachable) = (before.graph.processes.len(), &before.graph.unreachable);
    output::must_be_seen(seen, unreachable, arguments.domain_id)?;
    if seen == 0 {
        bail!(output::nothing_runs(arguments.domain_id));
    }
    std::thread::sleep(Duration::from_secs_f64(arguments.interval));
    let now = sight.read()?;
    let running = Running::of(&now, &before, arguments.domain_id);
    if arguments.json {
        let value = serde_json::json!({ "graph": running.graph, "mapping": running.mapping });
        let text = crate::output::json(&value)?;
        return output::write(arguments.output.as_deref(), &text);
    }
    write_picture(&running.picture(), arguments)
}
