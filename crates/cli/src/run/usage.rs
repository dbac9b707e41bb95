//! What the processes of a run use between its start and its end.

use super::fleet::Life;
use crossdock_sight::ProcessUse;
use std::collections::BTreeMap;

/// What processes had used when the run began.
#[derive(Default)]
pub(super) struct Usage {
    before: BTreeMap<u32, ProcessUse>,
    /// Processor time of earlier lives, by process, ns.
    earlier_ns: BTreeMap<String, u64>,
}

/// What a process has used, all its threads together.
pub(super) struct Used {
    pub(super) processor_ns: u64,
    pub(super) context_switches: u64,
    pub(super) resident_bytes: u64,
}

impl Usage {
    /// The run begins now for these processes.
    pub(super) fn begin(pids: &[u32]) -> Self {
        let read = |pid: &u32| Some((*pid, ProcessUse::read(*pid)?));
        Self { before: pids.iter().filter_map(read).collect(), earlier_ns: BTreeMap::new() }
    }

    /// A life of a process is over, in which it has used so much; another one follows.
    pub(super) fn note_life(&mut self, life: Life) {
        let before = self.before.get(&life.pid).map(ProcessUse::total).unwrap_or_default();
        let used_ns = life.processor_ns.saturating_sub(before.processor_ns);
        *self.earlier_ns.entry(life.name).or_default() += used_ns;
    }

    /// What a process that is there has used since: its processor time in all its lives; context
    /// switches of this life only, which nobody knows of one that is over.
    pub(super) fn of(&self, name: &str, pid: u32) -> Option<Used> {
        let now = ProcessUse::read(pid)?;
        let before = self.before.get(&pid).map(ProcessUse::total).unwrap_or_default();
        let total = now.total();
        Some(Used {
            processor_ns: total
                .processor_ns
                .saturating_sub(before.processor_ns)
                .saturating_add(self.earlier_ns.get(name).copied().unwrap_or(0)),
            context_switches: total.switches.saturating_sub(before.switches),
            resident_bytes: now.resident_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_process_is_that_of_all_its_lives() {
        const SECOND_NS: u64 = 1_000_000_000;
        let own = std::process::id();
        let mut usage = Usage::begin(&[own]);
        // The first life began before the run: what it had used by then does not count.
        let before_ns = usage.before[&own].total().processor_ns;
        let mut lives = |name: &str, lives: &[(u32, u64)]| {
            for (pid, processor_ns) in lives.iter().copied() {
                usage.note_life(Life { name: name.to_owned(), pid, processor_ns });
            }
        };
        lives("camera", &[(own, before_ns + 300 * SECOND_NS), (0, 500 * SECOND_NS)]);
        lives("lidar", &[(0, 4000 * SECOND_NS)]);
        let used_s = |name: &str| usage.of(name, own).expect("we run").processor_ns / SECOND_NS;
        // This process is the last life of each, and has hardly done anything since.
        assert!((800..900).contains(&used_s("camera")), "{} s, not 800", used_s("camera"));
        assert!((4000..4100).contains(&used_s("lidar")), "{} s, not 4000", used_s("lidar"));
        assert!(used_s("never started again") < 100);
    }
}
