//! The barrier before the start: every connection that the plan expects of an executor's ports.
//! It must not know how connections are made.

use std::thread;
use std::time::{Duration, Instant};

use crossdock_comm::{InputHandle, OutputHandle};
use crossdock_graph::NodePlan;

use crate::executor::{Remote, RunError};

/// Time between two looks at the connections. Only before the start.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// What the ports of an executor are to be connected to.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    expected: Vec<Expected>,
}

#[derive(Debug)]
struct Expected {
    node: String,
    port: String,
    topic: String,
    handle: Handle,
    count: usize,
}

#[derive(Debug)]
enum Handle {
    Input(InputHandle),
    Output(OutputHandle),
}

impl Connections {
    /// Adds the ports of a node; the handles are beside those of the plan.
    pub(crate) fn add(
        &mut self,
        plan: &NodePlan,
        inputs: &[InputHandle],
        outputs: &[OutputHandle],
    ) {
        let expected =
            |port: &str, topic: &str, routes: crossdock_graph::Routes, handle| Expected {
                node: plan.name.clone(),
                port: port.to_owned(),
                topic: topic.to_owned(),
                handle,
                count: routes.in_thread as usize + routes.ring as usize,
            };
        for (input, handle) in plan.inputs.iter().zip(inputs) {
            let handle = Handle::Input(handle.clone());
            self.expected.push(expected(&input.port, &input.topic, input.routes, handle));
        }
        for (output, handle) in plan.outputs.iter().zip(outputs) {
            let handle = Handle::Output(handle.clone());
            self.expected.push(expected(&output.port, &output.topic, output.routes, handle));
        }
    }

    /// Waits until all stand, at most `timeout`, or until the executor is stopped.
    pub(crate) fn wait(&self, timeout: Duration, remote: &Remote) -> Result<(), RunError> {
        let deadline = Instant::now() + timeout;
        loop {
            let Some(missing) = self.expected.iter().find(|expected| !expected.stands()) else {
                return Ok(());
            };
            if remote.is_stopped() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(missing.error(timeout));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Expected {
    fn matched(&self) -> usize {
        match &self.handle {
            Handle::Input(input) => input.matched(),
            Handle::Output(output) => output.matched(),
        }
    }

    fn stands(&self) -> bool {
        self.matched() >= self.count
    }

    fn error(&self, timeout: Duration) -> RunError {
        let (kind, others) = match self.handle {
            Handle::Input(_) => ("input", "publishers"),
            Handle::Output(_) => ("output", "subscribers"),
        };
        let Self { node, port, topic, count, .. } = self;
        let error = format!(
            "{kind} `{port}` on topic {topic} has {} of its {count} {others} after {} s; look at \
             what the processes that hold the others report",
            self.matched(),
            timeout.as_secs()
        );
        RunError { node: node.clone(), error }
    }
}
