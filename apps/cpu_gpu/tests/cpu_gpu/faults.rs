//! What goes wrong without anybody dying: workers that do not answer, devices that are not there.

use crate::devices::both;
use crate::runs::{self, Case};
use crossdock_cpu_gpu::messages::cpu_gpu_interfaces::{Done, Turn};
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Publisher, Setup, Subscriber,
};

/// Takes its turns and says nothing.
struct Mute {
    turn: Subscriber<Turn>,
    _done: Publisher<Done>,
}

impl NodeType for Mute {
    const NAME: &'static str = "mute";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<Turn>("turn").publisher::<Done>("done").parameter(
            "worker",
            0,
            "as that of workers",
        )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { turn: setup.subscriber("turn")?, _done: setup.publisher("done")? })
    }
}

impl Node for Mute {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.turn.take()?;
        Ok(())
    }
}

fn package() -> Package {
    crossdock_cpu_gpu::nodes::package().with(runs::tests().node::<Mute>())
}

#[test]
fn a_run_ends_when_a_worker_does_not_answer() {
    // The first worker answers, the second does not.
    let parameters =
        [("scheduler", "power: 4, patience_ms: 50".to_owned()), ("cpu_0", "power: 4".to_owned())];
    let change = |text: String| {
        let mute = "package: cpu_gpu_tests\n    type: mute\n";
        text.replace("package: cpu_gpu\n    type: gpu_part\n", mute)
    };
    for processes in [
        &[&["gpu_0, cpu_0, scheduler, sink"][..]][..],
        &[&["gpu_0"], &["cpu_0"], &["scheduler, sink"]],
    ] {
        let case = Case {
            graph: "three.graph.yaml",
            parameters: &parameters,
            processes,
            device: "",
            model: "auto",
            package,
            change: &change,
        };
        let error = case.run().expect_err("it never answers");
        assert_eq!(error.node, "scheduler");
        let told =
            "run 0, swap 0, pass 0: workers 1 have not answered in 50 ms; look at their processes";
        assert!(error.error.contains(told), "{error}");
    }
}

#[test]
fn a_device_that_is_not_there_is_named_with_its_node_and_the_next_step() {
    if both().is_empty() {
        return;
    }
    for device in ["opencl:99", "shadow:opencl:99", "cuda:99"] {
        let parameters = [("scheduler", "power: 4".to_owned()), ("gpu_0", "power: 4".to_owned())];
        let processes: &[&[&str]] = &[&["gpu_0"], &["scheduler, sink"]];
        let error = runs::run("two.graph.yaml", &parameters, processes, device);
        let error = error.expect_err("there is none");
        assert_eq!(error.node, "gpu_0", "{error}");
        assert!(error.error.contains(device.trim_start_matches("shadow:")), "{error}");
        assert!(error.error.contains("crossdock device list"), "the next step: {error}");
    }
}
