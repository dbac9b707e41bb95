//! Under which conditions an experiment with a device ran.

use crossdock_device::{Capabilities, DeviceInfo, Kind};
use serde_json::{Value, json};

/// What holds for all rows.
#[derive(Debug)]
pub(crate) struct Conditions {
    pub(crate) info: DeviceInfo,
    pub(crate) capabilities: Capabilities,
    pub(crate) date: String,
    pub(crate) processor: String,
    pub(crate) kernel: String,
    pub(crate) load: String,
}

impl Conditions {
    /// The conditions of now.
    pub(crate) fn now(info: &DeviceInfo, capabilities: Capabilities) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cpu = read("/proc/cpuinfo");
        let model =
            cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
        Self {
            info: info.clone(),
            capabilities,
            date: crate::date::now(),
            processor: format!("{}, {cores} cores", model.unwrap_or("unknown").trim()),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
        }
    }

    /// Whether the device is something else than the host's processor.
    pub(crate) fn about_gpus(&self) -> bool {
        self.info.kind != Kind::Cpu
    }

    /// For the JSON file.
    pub(crate) fn facts(&self) -> Value {
        json!({
            "device": self.info, "capabilities": self.capabilities, "date": self.date,
            "processor": self.processor, "kernel": self.kernel, "load_before": self.load,
            "about_gpus": self.about_gpus(),
        })
    }

    /// For the page: device, date and computer, and that nothing is about GPUs where it is not.
    pub(crate) fn sentence(&self) -> String {
        let Self { info, date, processor, kernel, load, .. } = self;
        let mut text = format!(
            "On `{}` ({}, driver {}), {date}. Processor: {processor}; Linux {kernel}; load before: {load}. Crossdock {}.",
            info.name,
            info.model,
            info.driver,
            env!("CARGO_PKG_VERSION")
        );
        if !self.about_gpus() {
            text.push_str(
                "\n\n**Nothing on this page is about GPUs.** The device is the processor itself, driven as a device: its \
                 kernels and the nodes share the cores. What holds are the results, and what is copied.",
            );
        }
        text
    }
}
