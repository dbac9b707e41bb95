//! What a graph says of failures against what its mapping says of restarts.

use super::{Check, Seat};
use crate::policy::OnFailure;
use crate::violation::ViolationKind;

impl Check<'_> {
    /// A node that wants its process started again needs a process that is.
    pub(super) fn policies(&mut self, seats: &[Option<Seat>]) {
        let graph = self.graph;
        for (node, seat) in graph.nodes.iter().zip(seats) {
            let Some(seat) = seat else { continue };
            let process = &self.mapping.processes[seat.process];
            let wanted = node.on_failure == Some(OnFailure::RestartProcess);
            if !wanted || process.restart.is_possible() {
                continue;
            }
            let name = &process.name;
            let message = format!(
                "`on_failure: restart_process`, but the mapping never starts process `{name}` again"
            );
            let advice = format!(
                "write `restart: on_failure` under process `{name}` of the mapping file, or \
                 `on_failure: stop_run` or `drop_node`"
            );
            let path = ["nodes", node.name.as_str(), "on_failure"];
            let found = self.fault(ViolationKind::Restart, &path, message, advice);
            self.note(found.for_node(&node.name));
        }
    }
}
