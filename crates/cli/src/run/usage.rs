//! What the processes of a run use between its start and its end. It must not know graphs.

use crate::sight::ProcessUse;
use std::collections::BTreeMap;

/// What processes had used when the run began.
#[derive(Default)]
pub(super) struct Usage {
    before: BTreeMap<u32, ProcessUse>,
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
        Self { before: pids.iter().filter_map(read).collect() }
    }

    /// What a process that is there has used since: one that has been started meanwhile, since its
    /// own start.
    pub(super) fn of(&self, pid: u32) -> Option<Used> {
        let now = ProcessUse::read(pid)?;
        let before = self.before.get(&pid).map(ProcessUse::total).unwrap_or_default();
        let total = now.total();
        Some(Used {
            processor_ns: total.processor_ns.saturating_sub(before.processor_ns),
            context_switches: total.switches.saturating_sub(before.switches),
            resident_bytes: now.resident_bytes,
        })
    }
}
