//! Native runs as a node of their own: what nodes are measured against, without any.

use super::settings::{Settings, count};
use crate::benchmark::Model;
use crate::energy::Meter;
use crate::messages::cpu_gpu_interfaces::Run;
use crate::native::{Form, Native};
use crate::reference::computed;
use crossdock_device::Device;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Publisher, Setup};
use crossdock_msg::Extra;
use std::time::Duration;

/// When the first run begins.
const BEGIN_PERIOD: Duration = Duration::from_millis(200);

/// Runs a benchmark natively, in both forms, and publishes what each run has taken; then it ends
/// the run of the graph.
#[derive(Debug)]
pub struct NativeRuns {
    settings: Settings,
    native: Vec<Native>,
    meter: Meter,
    run: Publisher<Run>,
    expected: Vec<u32>,
    warm_up: u32,
    runs: u32,
    next: u32,
}

/// The parameters of nodes that make native runs.
pub(super) fn declare_native(interface: NodeDescription) -> NodeDescription {
    Settings::declare(interface)
        .parameter("runs", 30, "runs that count")
        .parameter("warm_up", 5, "runs before them")
        .parameter("native_device", "", "device of the native runs; empty: there are none")
        .parameter("native_model", "zc", "sc, um or zc")
}

/// Both forms of native runs; none, where no device is named.
pub(super) fn natives(setup: &Setup<'_>, settings: Settings) -> Result<Vec<Native>, NodeError> {
    let name: String = setup.parameter("native_device")?;
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let model: String = setup.parameter("native_model")?;
    let model = Model::named(&model).ok_or_else(|| {
        NodeError::new(format!("native_model is `{model}`, but must be sc, um or zc"))
    })?;
    let device = Device::open(&name)?;
    let Settings { benchmark, power } = settings;
    let native = |form| Ok(Native::new(&device, benchmark, power, (model, form))?);
    Form::ALL.into_iter().map(native).collect()
}

impl NodeType for NativeRuns {
    const NAME: &'static str = "native_runs";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new()
            .doc("Runs a benchmark without other nodes, as the paper's programs do, and as well as can be.")
            .publisher::<Run>("run")
            .timer("begin", BEGIN_PERIOD);
        declare_native(interface)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let settings = Settings::read(setup)?;
        let native = natives(setup, settings)?;
        if native.is_empty() {
            return Err(NodeError::new("native_device names no device: name the one to run on"));
        }
        Ok(Self {
            settings,
            native,
            meter: Meter::open(),
            run: setup.publisher("run")?,
            expected: computed(settings.benchmark, settings.elements(), 1),
            warm_up: count(setup, "warm_up")?,
            runs: count(setup, "runs")?,
            next: 0,
        })
    }
}

impl Node for NativeRuns {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if self.next == self.warm_up + self.runs {
            return Ok(());
        }
        let [paper, best] = &mut self.native[..] else { return Ok(()) };
        let paper = paper.run(&self.expected)?;
        let (begin_ns, begin_uj) = (crossdock_shm::clock::monotonic_ns(), self.meter.read_uj());
        let best = best.run(&self.expected)?;
        let energy_uj = self.meter.since_uj(begin_uj).unwrap_or(0);
        let outcome = paper.outcome.and(best.outcome);
        let fault = outcome.map_or_else(|wrong| wrong.to_string(), |()| String::new());
        let [paper_ns, best_ns] = [paper.took, best.took].map(|took| took.as_nanos() as u64);
        let mut loan = self.run.loan(Extra::none().text(fault.len()))?;
        let mut message = loan.message();
        message.set_number(self.next);
        message.set_warm_up(self.next < self.warm_up);
        message.set_swaps(self.settings.benchmark.swaps());
        message.set_begin_ns(begin_ns);
        message.set_took_ns(best_ns);
        message.set_native_paper_ns(paper_ns);
        message.set_native_best_ns(best_ns);
        message.set_energy_uj(energy_uj);
        message.set_right(outcome.is_ok());
        message.set_fault(&fault)?;
        message.set_copied_bytes(best.copied_bytes);
        message.set_host_instances(1);
        message.set_device_instances(u32::from(best.copied_bytes > 0));
        message.set_in_place(best.copied_bytes == 0);
        loan.publish()?;
        self.next += 1;
        match self.next == self.warm_up + self.runs {
            true => context.finish("all runs are done"),
            false => context.poll_again(),
        }
        Ok(())
    }
}
