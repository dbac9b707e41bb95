//! Waits until a graph has processed all published messages, for playing at maximum rate.

use crossdock_comm::status_records::{Triggering, counter};
use crossdock_comm::step::STEP_TOPIC;
use crossdock_comm::{
    GraphSnapshot, ObserveError, Observer, ObserverOptions, ProcessSnapshot, Quiescence, RunId,
};
use std::sync::Arc;
use std::time::Duration;

/// How long is waited before commands are looked at again.
const SLICE: Duration = Duration::from_millis(200);

/// Watches the processes of a graph.
pub(crate) struct Drain {
    quiescence: Quiescence,
    observer: ObserverOptions,
    pub(crate) timeout: Duration,
}

impl Drain {
    /// Of the processes of a run, if the player belongs to one: nobody waits for who looks on, nor
    /// for strangers.
    pub(crate) fn open(
        observer: ObserverOptions,
        timeout: Duration,
        run: Option<RunId>,
    ) -> Result<Drain, Box<ObserveError>> {
        let mut quiescence = Quiescence::open(observer.clone())?;
        if let Some(run) = run {
            quiescence = quiescence.of_run(run);
        }
        Ok(Drain { quiescence, observer, timeout })
    }

    /// Looks for processes that came since.
    pub(crate) fn refresh(&mut self) -> Result<(), Box<ObserveError>> {
        // Processes that cannot be watched have nothing to do with the graph.
        self.quiescence.refresh()?;
        Ok(())
    }

    /// Waits a bounded time; true when nothing is left to do.
    pub(crate) fn wait_slice(&mut self) -> bool {
        self.quiescence.wait(SLICE.min(self.timeout))
    }

    /// Who has not finished, as a sentence fragment for people.
    pub(crate) fn who_waits(&self) -> String {
        let snapshot = Observer::open(self.observer.clone()).and_then(|mut o| o.snapshot());
        match snapshot {
            Ok(graph) => self
                .unfinished(&graph)
                .unwrap_or_else(|| "messages keep coming although none are played".to_owned()),
            Err(error) => format!("and who still works cannot be seen: {error}"),
        }
    }

    /// The first subscriber that is behind or still at work.
    fn unfinished(&self, graph: &GraphSnapshot) -> Option<String> {
        let waited_for = |process: &&Arc<ProcessSnapshot>| self.quiescence.waits_for(process.name);
        let mut processes = graph.processes.iter().filter(waited_for);
        processes.find_map(|process| unfinished_in(process, graph))
    }
}

fn unfinished_in(process: &ProcessSnapshot, graph: &GraphSnapshot) -> Option<String> {
    process.connections.iter().find_map(|connection| {
        let detail = &connection.detail;
        if detail.triggering == Triggering::No {
            return None;
        }
        let port = process.subscribers.iter().find(|port| port.port == detail.subscriber)?;
        let stepped = port.topic == STEP_TOPIC;
        let kind = if stepped { "executor" } else { "node" };
        let who = format!("{kind} `{}` in process `{}`", port.node, process.process);
        let publishing =
            graph.processes.iter().find(|other| other.name == detail.publisher_process);
        let publisher = publishing.and_then(|other| {
            other.publishers.iter().find(|publisher| publisher.port == detail.publisher)
        });
        let published = publisher.map_or(0, |publisher| publisher.counters[counter::MESSAGES]);
        if stepped {
            let (taken, processed) =
                (port.counters[counter::MESSAGES], port.counters[counter::PROCESSED]);
            let busy = connection.position < published || taken != processed;
            return busy.then(|| format!("{who} is still at work"));
        }
        if connection.position < published {
            let waiting = match published - connection.position {
                1 => "a message".to_owned(),
                count => format!("{count} messages"),
            };
            return Some(format!("{who} has not taken {waiting} of {}", port.topic));
        }
        let (taken, processed) =
            (port.counters[counter::MESSAGES], port.counters[counter::PROCESSED]);
        (taken != processed)
            .then(|| format!("{who} is still at work on a message of {}", port.topic))
    })
}
