//! `crossdock bench frames`: frames that a device draws and shows, from node to node: how many per second, and how long each
//! is on its way. It must not know how they are drawn: that is the package's, `apps/frames`.

mod page;
mod peer;
mod row;

use super::conditions::Conditions;
use super::graph_run::GraphRun;
use super::{Report, Results};
use crate::bench::arguments::FramesArguments;
use crate::output::{self, say};
use anyhow::{Context, Result, ensure};
use crossdock_device::Device;
use row::{Case, Figures, Row};
use std::process::ExitCode;

const NAME: &str = "frames";
const GRAPH: &str = include_str!("../../../../../apps/frames/frames.graph.yaml");
const TOPIC: &str = "/figures";

/// Runs the experiment, writes its files and tells whether frames were right.
pub(crate) fn frames(arguments: &FramesArguments) -> Result<ExitCode> {
    let results = Results::of(NAME, &arguments.out)?;
    let device = Device::open(&arguments.device)?;
    let (info, capabilities) = (device.info().clone(), device.capabilities()?);
    // Its context is not needed meanwhile.
    drop(device);
    let conditions = Conditions::now(&info, capabilities);
    let mut rows = Vec::new();
    for case in cases(arguments) {
        let row = run(case, arguments).with_context(|| case.to_string())?;
        output::print(&page::terminal(&row))?;
        rows.push(row);
    }
    let page = page::page(&rows, &conditions, arguments);
    Report { rows: &rows, facts: conditions.facts(), page }.write(&results)?;
    let mut code = ExitCode::SUCCESS;
    for row in rows.iter().filter(|row| row.figures.wrong > 0) {
        say!(
            "error: {}: a frame is not what a processor draws; `crossdock device test {}`",
            row.case,
            info.name
        );
        code = ExitCode::FAILURE;
    }
    Ok(code)
}

/// All that are asked for.
fn cases(arguments: &FramesArguments) -> Vec<Case> {
    let FramesArguments { resolution, model, .. } = arguments;
    let chosen = |word: &str, said: &[String]| said.is_empty() || said.iter().any(|it| it == word);
    let models = match model.is_empty() {
        true => vec!["device", "copy"],
        false => {
            let known = ["device", "copy", "zero_copy"].into_iter();
            known.filter(|it| chosen(it, model)).collect()
        }
    };
    let mut cases = Vec::new();
    for size in peer::SIZES.into_iter().filter(|size| chosen(size.word, resolution)) {
        for model in &models {
            cases.extend([true, false].map(|drawn| Case { size, model, drawn }));
        }
    }
    cases
}

fn run(case: Case, arguments: &FramesArguments) -> Result<Row> {
    let run = GraphRun {
        graph: GRAPH,
        mapping: &mapping(case, arguments),
        parameters: &parameters(case, arguments),
        topic: TOPIC,
    };
    let outcome = run.outcome::<Figures>()?;
    let [figures] = &outcome.messages[..] else {
        let found = outcome.messages.len();
        anyhow::bail!("{found} sets of figures were recorded, not one");
    };
    ensure!(figures.took_ns > 0, "the frames took no time");
    let rows = outcome.summary["devices"].as_array().into_iter().flatten();
    let copied_bytes = rows.filter_map(|row| row["copied_bytes"].as_u64()).sum();
    let transport = arguments.transport.clone();
    Ok(Row { case, transport, figures: figures.clone(), copied_bytes })
}

fn mapping(case: Case, arguments: &FramesArguments) -> String {
    let processes = match arguments.transport.as_str() {
        "composed" => "  all: { executors: [{ mode: event, nodes: [renderer, display] }] }\n",
        "in-process" => {
            "  all: { executors: [{ mode: event, nodes: [renderer] }, { mode: event, nodes: [display] }] }\n"
        }
        _ => {
            "  renderer: { executors: [{ mode: event, nodes: [renderer] }] }\n  \
             display: { executors: [{ mode: event, nodes: [display] }] }\n"
        }
    };
    format!(
        "crossdock: 1\nprocesses:\n{processes}devices:\n  gpu: {{ device: \"{}\", nodes: [renderer, display], topics: {{ \
         /frame: {} }} }}\n",
        arguments.device, case.model
    )
}

fn parameters(case: Case, arguments: &FramesArguments) -> String {
    let (Case { size, drawn, .. }, FramesArguments { frames, warm_up, ahead, .. }) =
        (case, arguments);
    // The last one, after all that count.
    let compared = warm_up + frames + 1;
    format!(
        "crossdock: 1\nnodes:\n  renderer: {{ width: {}, height: {}, frames: {frames}, warm_up: {warm_up}, ahead: {ahead}, \
         drawn: {drawn} }}\n  display: {{ drawn: {drawn}, compared: {compared} }}\n",
        size.width, size.height
    )
}
