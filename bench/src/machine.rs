//! The machine: its topology (which processors are which), pinning, and what identifies it in a
//! result.

use crate::Failure;
use crate::failure::While;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Where the two sides of a case run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cores {
    /// All threads of both processes on one processor.
    Same,
    /// Each process on a physical core of its own.
    Different,
    /// Each process on one hardware thread of one physical core.
    Siblings,
}

/// The processors that this run may use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Machine {
    /// As the kernel calls it.
    pub processor: String,
    /// `uname`.
    pub kernel: String,
    /// All processors that this process may use.
    pub allowed: Vec<usize>,
    /// Two of them on different physical cores.
    pub different: Option<[usize; 2]>,
    /// Two of them on one physical core.
    pub siblings: Option<[usize; 2]>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// True: the processor says that it runs under a hypervisor.
    pub virtual_machine: bool,
    /// What the kernel reads the time from.
    pub clock_source: String,
    /// One reading of the monotonic clock; a sample of one round trip holds one.
    pub clock_read_ns: f64,
    /// Runnable tasks averaged over the last minute, before the run.
    pub load_before: f64,
}

impl Machine {
    /// Reads /sys and /proc.
    pub fn read() -> Result<Self, Failure> {
        let set = sched_getaffinity(None).during("reading the processors that may be used")?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
        let groups: Vec<BTreeSet<usize>> =
            allowed.iter().map(|&cpu| thread_siblings(cpu)).collect();
        let (different, siblings) = choose(&allowed, &groups);
        let info = std::fs::read_to_string("/proc/cpuinfo").during("reading /proc/cpuinfo")?;
        let kernel = rustix::system::uname();
        let text = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
        Ok(Self {
            processor: cpuinfo(&info, "model name").unwrap_or("unknown").to_owned(),
            kernel: format!("{} {}", text(kernel.release()), text(kernel.machine())),
            allowed,
            different,
            siblings,
            memory_bytes: rustix::system::sysinfo().totalram as u64
                * u64::from(rustix::system::sysinfo().mem_unit),
            virtual_machine: cpuinfo(&info, "flags")
                .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            clock_source: line_of(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .unwrap_or_else(|| "unknown".to_owned()),
            clock_read_ns: clock_read_ns(),
            load_before: line_of("/proc/loadavg")
                .and_then(|line| line.split(' ').next()?.parse().ok())
                .unwrap_or(f64::NAN),
        })
    }

    /// The processors of the first and the second process, or why there are none.
    pub fn placement(&self, cores: Cores) -> Result<[usize; 2], String> {
        let first = self.allowed.first().copied();
        match cores {
            Cores::Same => first.map(|cpu| [cpu, cpu]).ok_or("no processor".to_owned()),
            Cores::Different => self.different.ok_or_else(|| {
                format!("only one physical core may be used (processors {:?})", self.allowed)
            }),
            Cores::Siblings => self.siblings.ok_or_else(|| {
                let of = &self.allowed;
                format!("no two of the processors {of:?} are hardware threads of one core")
            }),
        }
    }
}

/// Two processors on different cores and two on one core, the first ones that there are.
fn choose(
    allowed: &[usize],
    groups: &[BTreeSet<usize>],
) -> (Option<[usize; 2]>, Option<[usize; 2]>) {
    let pair = |together: bool| {
        let first = *allowed.first()?;
        let other =
            allowed.iter().find(|&&cpu| cpu != first && groups[0].contains(&cpu) == together);
        other.map(|&cpu| [first, cpu])
    };
    (pair(false), pair(true))
}

/// The hardware threads of the core that `cpu` belongs to, itself included.
fn thread_siblings(cpu: usize) -> BTreeSet<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    line_of(&path).map_or_else(|| BTreeSet::from([cpu]), |list| parse_list(&list))
}

/// "0-2,5" is 0, 1, 2 and 5.
fn parse_list(list: &str) -> BTreeSet<usize> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

/// Pins all threads that this process starts from now on. Call it before the first.
pub fn pin(cpu: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).during(&format!("pinning to processor {cpu}"))
}

fn clock_read_ns() -> f64 {
    const READINGS: u32 = 100_000;
    let start = Instant::now();
    for _ in 0..READINGS {
        black_box(Instant::now());
    }
    start.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

fn cpuinfo<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let line = info.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn line_of(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_and_different_cores_are_told_apart() {
        let groups = ["0,2", "1,3", "0,2", "1,3"].map(parse_list);
        assert_eq!(choose(&[0, 1, 2, 3], &groups), (Some([0, 1]), Some([0, 2])));
        assert_eq!(choose(&[0, 2], &[parse_list("0,2"), parse_list("0,2")]).0, None);
        assert_eq!(choose(&[5], &[parse_list("5")]), (None, None));
    }

    #[test]
    fn a_list_of_processors_may_hold_ranges() {
        assert_eq!(parse_list("0-2,5"), BTreeSet::from([0, 1, 2, 5]));
    }
}
