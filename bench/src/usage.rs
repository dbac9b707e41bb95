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

    /// What process `root` and all that go back to it have used up to now. What has ended is not
    /// seen any more.
    pub fn of_tree(root: u32) -> Result<Self, Failure> {
        let mut parents = vec![];
        for entry in std::fs::read_dir("/proc").during("listing the processes")? {
            let name = entry.during("listing the processes")?.file_name();
            let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // A process may end meanwhile.
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else {
                continue;
            };
            parents.extend(parent(&stat).map(|parent| (process, parent)));
        }
        let mut tree = vec![root];
        let mut at = 0;
        while let Some(&process) = tree.get(at) {
            tree.extend(parents.iter().filter(|(_, parent)| *parent == process).map(|(id, _)| *id));
            at += 1;
        }
        let mut total = Self::default();
        for process in tree {
            // A thread may end while they are read; one that has ended altogether is not there.
            let used = ProcessUsage::of(process).or_else(|_| ProcessUsage::of(process));
            let used = used.unwrap_or_default();
            let context_switches = used.context_switches();
            total = total.plus(Self { cpu_ns: used.cpu_ns, context_switches });
        }
        Ok(total)
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

/// What a process has used, all its threads together, as another one sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessUsage {
    /// User and system time.
    pub cpu_ns: u64,
    /// Context switches because a thread slept.
    pub voluntary: u64,
    /// Context switches because the kernel ran somebody else.
    pub involuntary: u64,
}

impl ProcessUsage {
    /// Of the process with this id, since it started.
    pub fn of(process: u32) -> Result<Self, Failure> {
        let mut used = Self::default();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.during("listing a process's threads")? {
            let task = task.during("listing a process's threads")?.path();
            let read = |name| std::fs::read_to_string(task.join(name)).during("reading a thread");
            let (time, status) = (read("schedstat")?, read("status")?);
            let cpu_ns = time.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            used.cpu_ns += cpu_ns.during("reading schedstat")?;
            let involuntary = count(&status, "nonvoluntary_ctxt_switches:");
            used.involuntary += involuntary;
            used.voluntary += switches(&status) - involuntary;
        }
        Ok(used)
    }

    /// Of both kinds.
    pub fn context_switches(self) -> u64 {
        self.voluntary + self.involuntary
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }
}

fn count(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// The field behind the name, which may hold anything, and the state.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
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
        assert_eq!(count(status, "nonvoluntary_ctxt_switches:"), 30);
        assert!(Usage::now().expect("/proc").cpu_ns > 0);
        assert!(ProcessUsage::of(std::process::id()).expect("/proc").cpu_ns > 0);
    }

    #[test]
    fn what_goes_back_to_a_process_counts_as_its_own() {
        assert_eq!(parent("42 (a (b) c) S 7 42"), Some(7));
        let own = Usage::of_tree(std::process::id()).expect("/proc");
        assert!(own.cpu_ns > 0 && own.context_switches > 0);
        assert_eq!(Usage::of_tree(u32::MAX).expect("/proc"), Usage::default(), "there is none");
    }
}
