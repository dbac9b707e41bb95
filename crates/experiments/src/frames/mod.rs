//! `crossdock bench frames`: frames that a device draws and shows, from node to node: how many per
//! second, and how long each is on its way. How they are drawn is in the package, `apps/frames`.

mod page;
mod peer;
mod row;

use crate::caller::{Caller, GraphRun};
use crate::conditions::Conditions;
use crate::options::FramesOptions;
use crate::report::{Report, Shown};
use anyhow::{Context, Result, ensure};
use crossdock_device::Device;
use row::{Case, Figures, Row};

const NAME: &str = "frames";
const GRAPH: &str = include_str!("../../../../apps/frames/frames.graph.yaml");
const TOPIC: &str = "/figures";

/// Runs the experiment. Each row is shown when it is found.
///
/// # Errors
/// The device cannot be used, or a run fails.
pub fn frames(options: &FramesOptions, caller: &mut dyn Caller) -> Result<Report> {
    let device = Device::open(&options.device)?;
    let (info, capabilities) = (device.info().clone(), device.capabilities()?);
    // Its context is not needed meanwhile.
    drop(device);
    let conditions = Conditions::now(&info, capabilities);
    let mut rows = Vec::new();
    for case in cases(options) {
        let row = run(case, options, caller).with_context(|| case.to_string())?;
        caller.show(&page::terminal(&row))?;
        rows.push(row);
    }
    let page = page::page(&rows, &conditions, options);
    let wrong = rows.iter().filter(|row| row.figures.wrong > 0).map(|row| {
        format!(
            "{}: a frame is not what a processor draws; `crossdock device test {}`",
            row.case, info.name
        )
    });
    let wrong = wrong.collect();
    let shown = Shown::Lines(String::new());
    Ok(Report::of(NAME, &rows, &conditions.facts(), page, shown).with_faults(wrong))
}

/// All that are asked for.
fn cases(options: &FramesOptions) -> Vec<Case> {
    let FramesOptions { resolution, model, .. } = options;
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

fn run(case: Case, options: &FramesOptions, caller: &mut dyn Caller) -> Result<Row> {
    let run = GraphRun {
        graph: GRAPH,
        mapping: &mapping(case, options),
        parameters: &parameters(case, options),
        topic: TOPIC,
    };
    let mut outcome = caller.run(&run)?;
    let found: Vec<Figures> = outcome.read()?;
    let [figures] = &found[..] else {
        let found = found.len();
        anyhow::bail!("{found} sets of figures were recorded, not one");
    };
    ensure!(figures.took_ns > 0, "the frames took no time");
    let rows = outcome.summary["devices"].as_array().into_iter().flatten();
    let copied_bytes = rows.filter_map(|row| row["copied_bytes"].as_u64()).sum();
    let transport = options.transport.clone();
    Ok(Row { case, transport, figures: figures.clone(), copied_bytes })
}

fn mapping(case: Case, options: &FramesOptions) -> String {
    let processes = match options.transport.as_str() {
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
        options.device, case.model
    )
}

fn parameters(case: Case, options: &FramesOptions) -> String {
    let (Case { size, drawn, .. }, FramesOptions { frames, warm_up, ahead, .. }) = (case, options);
    // The last one, after all that count.
    let compared = warm_up + frames + 1;
    format!(
        "crossdock: 1\nnodes:\n  renderer: {{ width: {}, height: {}, frames: {frames}, warm_up: {warm_up}, ahead: {ahead}, \
         drawn: {drawn} }}\n  display: {{ drawn: {drawn}, compared: {compared} }}\n",
        size.width, size.height
    )
}
