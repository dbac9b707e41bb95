//! The thread of one executor in a process of nodes: makes the executor, runs it and reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crossdock_comm::Participant;
use crossdock_graph::{ExecutorPlan, OnFailure, ProcessPlan, Realtime};

use crate::node::package::Package;
use crate::process::event::ProcessEvent;
use crate::process::notices::{Notice, Notices};
use crate::process::realtime;
use crate::run::executor::Executor;
use crate::run::options::ExecutorOptions;
use crate::run::outcome::{RunEnd, RunError};
use crate::run::panics;
use crate::run::remote::Remote;
use crate::status::Statistics;

/// How long the connections of a process may take to stand once its nodes do: every other process
/// of the run has to come up meanwhile.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// What all executors of a process use.
pub(super) struct ProcessParts {
    pub(super) package: Package,
    pub(super) plan: ProcessPlan,
    pub(super) participant: Participant,
}

/// What the thread of one executor needs.
pub(super) struct ExecutorThread {
    pub(super) index: usize,
    pub(super) process: Arc<ProcessParts>,
    pub(super) notices: Arc<Notices>,
    pub(super) remote: Remote,
    /// A message lets the nodes begin behind this simulated time, ns; the end of the channel ends
    /// the thread.
    pub(super) started: Receiver<u64>,
}

impl ExecutorThread {
    pub(super) fn main(self) {
        // The executor catches panics while nodes are made or run; these are panics while nodes are
        // dropped.
        let ended = catch_unwind(AssertUnwindSafe(|| self.execute())).unwrap_or_else(|panic| {
            let error = format!(
                "a node of executor `{}` panicked while it was dropped{}: {}",
                self.plan().name,
                panics::place(),
                panics::text(&*panic)
            );
            Err(RunError { node: String::new(), error })
        });
        if let Err(RunError { node, error }) = ended {
            let policy = OnFailure::StopRun;
            self.report_failure(ProcessEvent::Failed { node, error, policy });
        }
        self.notices.give(self.index, Notice::Ended);
    }

    fn report(&self, event: ProcessEvent) {
        self.notices.give(self.index, Notice::Event(event));
    }

    /// Reports a failure, and its backtrace if it was a panic.
    fn report_failure(&self, failure: ProcessEvent) {
        self.report(failure);
        if let Some(backtrace) = panics::backtrace() {
            self.notices.give(self.index, Notice::Backtrace(Box::new(backtrace)));
        }
    }

    fn plan(&self) -> &ExecutorPlan {
        &self.process.plan.executors[self.index]
    }

    /// Claims what the mapping asks for and the computer may refuse.
    fn claim(&self, claim: fn(&ExecutorPlan) -> Result<(), String>) -> Result<(), RunError> {
        match (claim(self.plan()), self.process.plan.realtime) {
            (Err(error), Realtime::Required) => Err(RunError { node: String::new(), error }),
            (Err(text), Realtime::Preferred) => {
                self.report(ProcessEvent::Warning(text));
                Ok(())
            }
            (Ok(()), _) => Ok(()),
        }
    }

    fn execute(&self) -> Result<(), RunError> {
        panics::enter();
        // Before the nodes are made, so that their memory is near their CPUs.
        self.claim(realtime::bind)?;
        let mut executor = Executor::new(ExecutorOptions {
            participant: &self.process.participant,
            package: &self.process.package,
            plan: self.plan(),
            time: self.process.plan.time,
            duration_ns: self.process.plan.duration_ns,
            chains: &self.process.plan.chains,
            statistics: Statistics::On,
            remote: self.remote.clone(),
        })?;
        let connected = executor.connect(CONNECT_TIMEOUT);
        for text in std::mem::take(&mut executor.warnings) {
            self.report(ProcessEvent::Warning(text));
        }
        connected?;
        // After the nodes were made: making them may take long, and must not hold others up.
        self.claim(realtime::prioritise)?;
        self.report(ProcessEvent::Ready);
        let Ok(made_ns) = self.started.recv() else { return Ok(()) };
        executor.go_on_behind(made_ns);
        loop {
            match executor.run() {
                Ok(RunEnd::Stopped) => break,
                Ok(RunEnd::AtRest) => self.report(ProcessEvent::AtRest),
                Ok(RunEnd::Finished { reason }) => {
                    self.report(ProcessEvent::Finished { reason });
                }
                Ok(RunEnd::NodeDropped(RunError { node, error })) => {
                    self.report_failure(ProcessEvent::NodeDropped { node, error });
                }
                Err(failed) => {
                    let policy = executor.on_failure(&failed);
                    let RunError { node, error } = failed;
                    self.report_failure(ProcessEvent::Failed { node, error, policy });
                    break;
                }
            }
        }
        // Publishers elsewhere do not wait until the process ends.
        executor.leave();
        // The counters stay readable until the launcher has looked at them and stops the process.
        let _ = self.started.recv();
        Ok(())
    }
}
