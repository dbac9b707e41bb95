//! `crossdock check`: everything that `run` checks, and nothing started.

use crate::arguments::CheckArguments;
use crate::load::{OnHost, Settings, Wishes, load};
use crate::output::{self, counted, say};
use anyhow::{Context, Result};
use crossdock_device::{Device, Mps};
use crossdock_graph::{ExecutorMode, ExecutorPlan, Otherwise, Plan, ProcessPlan};
use crossdock_offload::{UPLOADED, choose, choose_for_buffers, upload_reason};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// Checks a graph and says in a line that it is in order.
pub(crate) fn check(arguments: &CheckArguments, settings: &Settings) -> Result<ExitCode> {
    let without: Option<&[String]> = arguments.replay.then_some(&[]);
    let (input, settings) = (arguments.input.as_deref(), settings.clone());
    let host = arguments.host.as_deref().map_or(OnHost::All, OnHost::Named);
    let wishes = Wishes { input, without, settings, host, ..Wishes::default() };
    let loaded = load(&arguments.files, &wishes)?;
    crate::run::check_fabrics(&loaded)?;
    let plan = &loaded.plan;
    output::warn(&loaded.about_bag);
    for warning in &plan.warnings {
        say!("warning: {warning}");
    }
    let done = match loaded.incomplete {
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    };
    let on_devices = on_devices(plan)?;
    for warning in in_turns(&on_devices) {
        say!("warning: {warning}");
    }
    if arguments.json {
        let mut json = serde_json::to_value(plan)?;
        if !on_devices.is_empty() {
            json["devices"] = serde_json::to_value(&on_devices)?;
        }
        output::print_json(&json)?;
        return Ok(done);
    }
    let nodes = plan.processes.iter().flat_map(ProcessPlan::nodes).count();
    let hardware: usize = plan.fabrics.iter().map(|fabric| fabric.nodes.len()).sum();
    let in_hardware = match hardware {
        0 => String::new(),
        hardware => format!(", {hardware} in hardware"),
    };
    output::print(&format!(
        "{}: {} in {}{in_hardware}, {}; no violation found\n",
        plan.graph,
        counted(nodes as u64, "node", "nodes"),
        counted(plan.processes.len() as u64, "process", "processes"),
        counted(plan.topics.len() as u64, "topic", "topics"),
    ))?;
    for (mapped, process) in loaded.mapping.processes.iter().zip(&plan.processes) {
        if mapped.executors.iter().any(|executor| executor.mode == ExecutorMode::Graph) {
            output::print(&threads(process))?;
        }
    }
    for OnDevice { device, node, topic, model, reason, .. } in on_devices {
        let topic = topic.map_or_else(String::new, |topic| format!(", {topic} {model}"));
        let on = if model == UPLOADED { "to" } else { "on" };
        output::print(&format!("  {node} {on} {device}{topic}: {reason}\n"))?;
    }
    Ok(done)
}

/// A node on a device, or one that brings messages to it, and one of its topics.
#[derive(Serialize)]
struct OnDevice {
    device: String,
    node: String,
    /// `None`: the device cannot be used, and the node computes on the processor.
    topic: Option<String>,
    /// How its messages get to the device.
    model: &'static str,
    reason: String,
    process: String,
    /// How processes share the device, where that is known.
    #[serde(skip)]
    mps: Option<Mps>,
}

/// A sentence for each device on which processes of the graph take turns although they need not.
fn in_turns(nodes: &[OnDevice]) -> Vec<String> {
    let mut users: BTreeMap<&str, (&Mps, BTreeSet<&str>)> = BTreeMap::new();
    for node in nodes {
        let Some(mps) = node.mps.as_ref().filter(|mps| !mps.in_use) else { continue };
        let (_, processes) = users.entry(&node.device).or_insert((mps, BTreeSet::new()));
        processes.insert(&node.process);
    }
    let several = users.into_iter().filter(|(_, (_, processes))| processes.len() > 1);
    let sentence = |(device, (mps, processes)): (&str, (&Mps, BTreeSet<&str>))| {
        let processes = processes.into_iter().collect::<Vec<_>>().join(", ");
        format!(
            "processes {processes} take turns on {device}, because MPS is not in use ({}); put their \
             nodes into one process, or start it: `nvidia-cuda-mps-control -d`",
            mps.why
        )
    };
    several.map(sentence).collect()
}

/// What becomes of the nodes on devices here: the devices are tried, as the run will do.
fn on_devices(plan: &Plan) -> Result<Vec<OnDevice>> {
    let nodes = plan.processes.iter();
    let nodes = nodes.flat_map(|process| process.nodes().map(|node| (&process.name, node)));
    let mut found = Vec::new();
    for (process, node) in nodes {
        // That the device cannot be used is told of the nodes that read there.
        found.extend(node.uploads.iter().filter_map(|wanted| {
            let device = Device::open(&wanted.device).ok()?;
            let reason = upload_reason(wanted, device.info(), device.capabilities().ok()?)?;
            let device = wanted.device.clone();
            let (node, topic) = (node.name.clone(), Some(wanted.topic.clone()));
            let process = process.clone();
            Some(OnDevice { device, node, topic, model: UPLOADED, reason, process, mps: None })
        }));
        let Some(wanted) = &node.device else { continue };
        let of = |topic: Option<&String>, model, reason: String, mps: Option<&Mps>| OnDevice {
            device: wanted.device.clone(),
            node: node.name.clone(),
            topic: topic.cloned(),
            model,
            reason,
            process: process.clone(),
            mps: mps.cloned(),
        };
        let tried = Device::open(&wanted.device)
            .and_then(|device| device.capabilities().map(|can| (device, can)));
        let (device, can) = match tried {
            Ok(tried) => tried,
            Err(error) if wanted.otherwise == Otherwise::Cpu => {
                found.push(of(None, "", format!("it computes on the processor: {error}"), None));
                continue;
            }
            Err(error) => {
                return Err(error).with_context(|| {
                    format!(
                        "node `{}` cannot use its device; correct the mapping, or let it compute \
                         on the processor (`otherwise: cpu`)",
                        node.name
                    )
                });
            }
        };
        for (topic, asked) in &wanted.topics {
            let choose = if asked.tokens { choose_for_buffers } else { choose };
            let choice = choose(topic, *asked, device.info(), can)
                .with_context(|| format!("node `{}`", node.name))?;
            let (way, reason) = (choice.way.word(), choice.reason.to_owned());
            found.push(of(Some(topic), way, reason, device.info().mps.as_ref()));
        }
    }
    Ok(found)
}

/// The nodes of each thread: in graph mode the mapping does not say.
fn threads(process: &ProcessPlan) -> String {
    let thread = |executor: &ExecutorPlan| {
        let nodes: Vec<&str> = executor.nodes.iter().map(|node| node.name.as_str()).collect();
        format!("  thread {}: {}\n", executor.name, nodes.join(", "))
    };
    process.executors.iter().map(thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(process: &str, device: &str, in_use: Option<bool>) -> OnDevice {
        OnDevice {
            device: device.to_owned(),
            node: "blur".to_owned(),
            topic: Some("/image".to_owned()),
            model: "copy",
            reason: String::new(),
            process: process.to_owned(),
            mps: in_use.map(|in_use| Mps { in_use, why: "no daemon".to_owned() }),
        }
    }

    #[test]
    fn processes_that_take_turns_on_a_device_are_named_once() {
        let (one, other) = (|mps| node("eyes", "cuda:0", mps), |mps| node("plan", "cuda:0", mps));
        let warnings = in_turns(&[one(Some(false)), other(Some(false)), other(Some(false))]);
        assert_eq!(warnings.len(), 1);
        let told = ["processes eyes, plan take turns on cuda:0", "(no daemon)", "control -d"];
        assert!(told.iter().all(|part| warnings[0].contains(part)), "{warnings:?}");
        // One process, or two devices, or MPS, or a device that it is no question of.
        assert!(in_turns(&[one(Some(false)), one(Some(false))]).is_empty());
        assert!(in_turns(&[one(Some(false)), node("plan", "cuda:1", Some(false))]).is_empty());
        assert!(in_turns(&[one(Some(true)), other(Some(true))]).is_empty());
        assert!(in_turns(&[one(None), other(None)]).is_empty());
    }
}
