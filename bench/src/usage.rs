//! What this process has used, all its threads together: processor time and context switches.

use crate::Failure;
use crate::failure::While;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Used since the process started, or between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time of all threads.
    pub cpu_ns: u64,
    /// Voluntary and involuntary, of all threads.
    pub context_switches: u64,
}

impl Usage {
    /// What has been used up to now.
    pub fn now() -> Result<Self, Failure> {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let cpu_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        let tasks = std::fs::read_dir("/proc/self/task").during("listing the threads")?;
        let mut context_switches = 0;
        for task in tasks {
            let status = task.during("listing the threads")?.path().join("status");
            let text = std::fs::read_to_string(&status).during("reading a thread's status")?;
            context_switches += switches(&text);
        }
        Ok(Self { cpu_ns, context_switches })
    }

    /// What was used between `earlier` and this.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            context_switches: self.context_switches + other.context_switches,
        }
    }
}

fn switches(status: &str) -> u64 {
    let values = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
    values.filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voluntary_and_involuntary_switches_are_added() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t30\n";
        assert_eq!(switches(status), 42);
        assert!(Usage::now().expect("/proc").cpu_ns > 0);
    }
}
