//! The shipped graphs in every mapping, model and transport: each array is what one thread
//! computes, and what is copied is what has to be.

use crate::devices::both;
use crate::runs::{Run, file, run, run_by};
use crossdock_cpu_gpu::nodes::package;
use crossdock_cpu_gpu::{Benchmark, Swap};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use crossdock_test_support::long;

const POWER: u32 = 6;
const BYTES: u64 = 4 << POWER;
/// Runs of each case.
const RUNS: usize = 2;

/// A shipped graph: its nodes in the order in which one thread runs them, and its workers on
/// devices.
struct Architecture {
    graph: &'static str,
    nodes: &'static [&'static str],
    devices: u64,
    division: &'static str,
}

const fn architecture(
    graph: &'static str,
    nodes: &'static [&'static str],
    devices: u64,
    division: &'static str,
) -> Architecture {
    Architecture { graph, nodes, devices, division }
}

const TWO: &[&str] = &["gpu_0", "scheduler"];
const FIVE: &[&str] = &["gpu_0", "gpu_1", "cpu_0", "cpu_1", "scheduler"];
const ARCHITECTURES: [Architecture; 5] = [
    architecture("two.graph.yaml", TWO, 1, "split"),
    architecture("two_service.graph.yaml", TWO, 1, "split"),
    architecture("three.graph.yaml", &["gpu_0", "cpu_0", "scheduler"], 1, "split"),
    architecture("five.graph.yaml", FIVE, 2, "split"),
    architecture("five.graph.yaml", FIVE, 2, "replicated"),
];

/// Where nodes are: in one thread, in threads of one process, in processes.
#[derive(Clone, Copy, Debug)]
enum Placement {
    Composed,
    InProcess,
    Processes,
}

impl Architecture {
    /// What is copied in a run with `sc`: what each worker on a device claims, and what it writes
    /// back again.
    fn copied_bytes(&self, benchmark: &str) -> u64 {
        let benchmark = Benchmark::named(benchmark).expect("a benchmark");
        let (workers, passes) = match self.division {
            "split" => (self.devices as u32, 1),
            _ => (1, self.devices),
        };
        let bytes = |number| {
            let swap = Swap { number, elements: 1 << POWER };
            let shares = (0..workers).map(|worker| swap.of_device(benchmark, (worker, workers)));
            let elements = shares.map(|it| 2 * it.writes.count() + it.reads.count());
            4 * passes * elements.sum::<u64>()
        };
        (0..benchmark.swaps()).map(bytes).sum()
    }

    /// Runs it, the sink beside the scheduler.
    fn run(
        &self,
        device: &str,
        placement: Placement,
        (benchmark, model, transport): (&str, &str, &str),
    ) -> Vec<Run> {
        let both = format!("benchmark: {benchmark}, power: {POWER}");
        let parameters: Vec<(&str, String)> = (self.nodes.iter())
            .map(|node| {
                let own = match *node {
                    "scheduler" => format!(
                        "{both}, runs: {RUNS}, warm_up: 0, transport: {transport}, division: {}",
                        self.division
                    ),
                    node if node.starts_with("gpu_") && transport == "serialised" => {
                        format!("{both}, model: {model}, transport: {transport}")
                    }
                    _ => both.clone(),
                };
                (*node, own)
            })
            .collect();
        let all = format!("{}, sink", self.nodes.join(", "));
        let each: Vec<String> = (self.nodes.iter())
            .map(|node| match *node {
                "scheduler" => "scheduler, sink".to_owned(),
                node => node.to_owned(),
            })
            .collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        let apart: Vec<&[&str]> = each.chunks(1).collect();
        let model_of_buffer = match model {
            "sc" => "copy",
            "zc" => "zero_copy",
            "um" => "managed",
            _ => "auto",
        };
        let by = (device, if transport == "shared" { model_of_buffer } else { "auto" });
        let found = match placement {
            Placement::Composed => run_by(self.graph, &parameters, &[&[&all]], by),
            Placement::InProcess => run_by(self.graph, &parameters, &[&each], by),
            Placement::Processes => run_by(self.graph, &parameters, &apart, by),
        };
        let what = format!(
            "{} {} {placement:?} {benchmark} {model} {transport} {device}",
            self.graph, self.division
        );
        let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found.len(), RUNS, "{what}");
        assert!(found.iter().all(|run| run.right), "{what}: {}", found[0].fault);
        found
    }
}

/// Models and benchmarks that a case is run with: all of them in the long test run and each model
/// with one benchmark in the short one, so that both meet each architecture and placement.
fn kinds<'a>(models: &'a [&'a str], case: usize) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = models.iter().enumerate().flat_map(|(at, model)| {
        ["cache", "concurrent"].iter().enumerate().map(move |(which, it)| (at + which, *model, *it))
    });
    let chosen = move |number: usize| long() || (number + case).is_multiple_of(2);
    all.filter(move |(number, ..)| chosen(*number)).map(|(_, model, benchmark)| (model, benchmark))
}

#[test]
fn a_shared_array_is_right_everywhere_and_exists_once_in_each_memory() {
    for device in both() {
        let name = device.info().name.clone();
        let can = device.capabilities().expect("it was tried");
        let placements = [Placement::Composed, Placement::InProcess, Placement::Processes];
        let cases = ARCHITECTURES.iter().flat_map(|it| placements.map(|placement| (it, placement)));
        for (number, (architecture, placement)) in cases.enumerate() {
            let of_one = !matches!(placement, Placement::Processes);
            let models =
                [("zc", can.host_memory), ("sc", true), ("um", can.managed_concurrent && of_one)];
            let models: Vec<&str> =
                models.iter().filter(|(_, it)| *it).map(|(model, _)| *model).collect();
            for (model, benchmark) in kinds(&models, number) {
                for run in architecture.run(&name, placement, (benchmark, model, "shared")) {
                    assert_eq!(run.host_instances, 1, "one array on the host: {run:?}");
                    assert_eq!(run.native_ns, [0, 0], "none was asked for");
                    if model != "sc" {
                        assert_eq!((run.copied_bytes, run.device_instances), (0, 0), "{run:?}");
                        assert!(run.in_place, "at one address: {run:?}");
                    } else {
                        assert_eq!(run.device_instances, 1, "one array on the device: {run:?}");
                        let copied = architecture.copied_bytes(benchmark);
                        assert_eq!(run.copied_bytes, copied, "what is claimed: {run:?}");
                        assert!(!run.in_place, "{run:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_array_that_travels_is_right_and_its_copies_are_counted() {
    for device in both() {
        let name = device.info().name.clone();
        let moved = device.capabilities().expect("it was tried").managed;
        let models: &[&str] = if moved { &["sc", "zc", "um"] } else { &["sc", "zc"] };
        for (number, architecture) in ARCHITECTURES.iter().enumerate() {
            for (model, benchmark) in kinds(models, number) {
                let placements = [Placement::Processes, Placement::Composed];
                let how = (benchmark, model, "serialised");
                for run in architecture.run(&name, placements[number % 2], how) {
                    let swaps = if benchmark == "cache" { 8 } else { 10 };
                    // Into each turn, out of it, into each answer, and out of that.
                    assert!(run.copied_bytes > swaps * BYTES * 3, "{run:?}");
                    assert!(run.host_instances > 1 && !run.in_place, "{run:?}");
                }
            }
        }
    }
}

#[test]
fn native_runs_are_interleaved_with_those_of_nodes() {
    let Some(device) = both().into_iter().next() else { return };
    let name = &device.info().name;
    let own = format!(
        "benchmark: cache, power: {POWER}, runs: 2, warm_up: 1, native_device: \"{name}\", native_model: sc"
    );
    let parameters = [("scheduler", own), ("gpu_0", format!("benchmark: cache, power: {POWER}"))];
    let nodes: &[&[&str]] = &[&["gpu_0, scheduler, sink"]];
    let found = run_by("two.graph.yaml", &parameters, nodes, (name, "copy"));
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.len(), 3);
    assert!(
        found.iter().all(|run| run.right && run.native_ns.iter().all(|ns| *ns > 0)),
        "{found:?}"
    );
}

#[test]
fn models_that_a_device_cannot_run_are_refused_with_a_reason() {
    let devices = both();
    let [plain, shadow] = &devices[..] else { return };
    let refused = |graph: &str, device: &str, (model, own): (&str, &str)| {
        let parameters = [
            ("scheduler", format!("power: {POWER}")),
            ("gpu_0", format!("power: {POWER}, model: {own}")),
        ];
        let nodes: &[&[&str]] = &[&["gpu_0, scheduler, sink"]];
        let found = run_by(graph, &parameters, nodes, (device, model));
        found.expect_err("it is refused").to_string()
    };
    for graph in ["two.graph.yaml", "two_service.graph.yaml"] {
        let parameters =
            [("scheduler", format!("power: {POWER}")), ("gpu_0", format!("power: {POWER}"))];
        let apart: &[&[&str]] = &[&["gpu_0"], &["scheduler, sink"]];
        let found = run_by(graph, &parameters, apart, (&plain.info().name, "managed"));
        let error = found.expect_err("they are in two processes").to_string();
        assert!(error.contains("gpu_0") && error.contains("of one process"), "{error}");
        let error = refused(graph, &shadow.info().name, ("managed", "auto"));
        assert!(error.contains("gpu_0") && error.contains("in turns (tried)"), "{error}");
        let error = refused(graph, &shadow.info().name, ("zero_copy", "auto"));
        assert!(error.contains("shadow:opencl:0") && error.contains("say `copy`"), "{error}");
        let error = refused(graph, &plain.info().name, ("auto", "zc"));
        assert!(error.contains("gpu_0") && error.contains("the mapping says"), "{error}");
    }
}

#[test]
fn workers_of_another_array_are_told_so() {
    let Some(device) = both().into_iter().next() else { return };
    let parameters =
        [("scheduler", format!("power: {POWER}")), ("gpu_0", format!("power: {}", POWER + 1))];
    let found =
        run("two.graph.yaml", &parameters, &[&["gpu_0, scheduler, sink"]], &device.info().name);
    let error = found.expect_err("they differ").to_string();
    assert!(error.contains("64 elements") && error.contains("have 128"), "{error}");
}

#[test]
fn turns_are_known_to_hand_out_the_array() {
    let description = package().description();
    let nodes = description.packages.iter().flat_map(|package| &package.nodes);
    let outputs = nodes.flat_map(|node| &node.outputs);
    let tokens: Vec<&str> =
        outputs.filter(|output| output.tokens).map(|output| output.port.as_str()).collect();
    assert_eq!(tokens, ["turn"], "and no other output");
}

#[test]
fn the_shipped_graphs_pass_the_check_with_the_shipped_mappings() {
    let binaries = vec![package().description()];
    let interfaces = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    let graph = |name: &str| {
        let graph = Graph::from_yaml(name, file(name).as_bytes());
        graph.unwrap_or_else(|violations| panic!("{violations:#?}"))
    };
    for (placement, processes) in [("composed", 1), ("in_process", 1), ("shared", 3)] {
        let name = format!("three.{placement}.mapping.yaml");
        let mapping = Mapping::from_yaml(&name, file(&name).as_bytes());
        let mapping = mapping.unwrap_or_else(|violations| panic!("{violations:#?}"));
        let plan = check(&graph("three.graph.yaml"), &mapping, &interfaces, &RunOptions::PLAIN);
        let plan = plan.unwrap_or_else(|violations| panic!("{name}: {violations:#?}"));
        assert_eq!(plan.processes.len(), processes, "{name}");
    }
    for name in ["native", "two", "two_service", "five"] {
        let graph = graph(&format!("{name}.graph.yaml"));
        let mapping = Mapping::one_chain_per_package(&graph);
        let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN);
        assert!(plan.is_ok(), "{name}: {:#?}", plan.err());
    }
}
