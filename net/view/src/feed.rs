//! The messages of one topic, read while somebody looks at it.
//!
//! Messages on rings are copied from outside, and their publishers never know. The messages of a
//! chain are in no ring, and what a transient-local publisher has kept is handed to subscribers
//! only: both take a subscriber, for which nobody waits.

use crossdock_comm::status_records::Carrier;
use crossdock_comm::{
    AnySubscriber, AnyThread, BackPressure, Echo, EchoBuffer, EchoError, FreeSubscriberOptions,
    GraphSnapshot, ObserveError, Observer, Participant, PeerName, PortError, PortSnapshot, Qos,
};
use crossdock_msg::{Block, Schema};

/// Messages of one publisher that are taken in one turn: others wait their turn meanwhile.
const TURN_MAX: usize = 64;

/// Messages that may wait for a subscriber of ours between two turns.
const DEPTH: usize = 64;

/// A message that was read.
#[derive(Clone, Copy)]
pub(crate) struct Arrived<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) block: Block<'a>,
    /// When it was published, ns, in the time of the run.
    pub(crate) stamp_ns: u64,
}

/// One publisher of a topic, as a look at the graph has found it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) process: PeerName,
    pub(crate) port: PortSnapshot,
    /// Whether it writes its messages to its ring.
    pub(crate) is_on_ring: bool,
}

impl Source {
    fn key(&self) -> (PeerName, u64) {
        (self.process, self.port.port)
    }

    /// Whether its messages can be read without its knowledge.
    fn is_plain(&self) -> bool {
        self.is_on_ring && !self.port.qos.is_transient_local()
    }
}

/// How the messages of a topic are read.
pub(crate) enum Feed {
    /// From the rings of its publishers.
    Rings(Rings),
    /// As a subscriber.
    Subscriber(AnySubscriber<AnyThread>),
}

/// The rings of a topic.
#[derive(Default)]
pub(crate) struct Rings {
    echoes: Vec<((PeerName, u64), Echo)>,
    /// For the messages of all of them.
    buffer: EchoBuffer,
}

/// A feed could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error(transparent)]
    Port(#[from] PortError),
}

/// What feeds are opened with.
pub(crate) struct Opener<'a> {
    pub(crate) participant: &'a Participant,
    pub(crate) observer: &'a mut Observer,
    /// The node to which our subscribers belong.
    pub(crate) node: &'a str,
}

impl Feed {
    /// Begins to read a topic, from its next message on; if all its publishers are transient
    /// local, with what they have kept. Blocks for at most a second for each process that does not
    /// answer.
    pub(crate) fn open(
        topic: &str,
        sources: &[Source],
        opener: &mut Opener<'_>,
    ) -> Result<Self, FeedError> {
        if sources.iter().all(Source::is_plain) {
            let mut feed = Feed::Rings(Rings::default());
            feed.follow(sources, opener)?;
            return Ok(feed);
        }
        let mut qos = Qos::best_effort(DEPTH);
        if sources.iter().all(|source| source.port.qos.is_transient_local()) {
            qos = qos.transient_local();
        }
        // Nothing rings: the watcher looks when it wants to.
        let (node, back_pressure, doorbell) = (opener.node, BackPressure::Never, None);
        let options = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
        Ok(Feed::Subscriber(opener.participant.free_any_subscriber(None, options)?))
    }

    /// Follows publishers that came and went. A subscriber does that by itself. Gives whether the
    /// feed still fits: rings on which nothing is written any more have to be opened anew.
    pub(crate) fn follow(
        &mut self,
        sources: &[Source],
        opener: &mut Opener<'_>,
    ) -> Result<bool, FeedError> {
        let Feed::Rings(Rings { echoes: rings, .. }) = self else { return Ok(true) };
        if !sources.iter().all(Source::is_plain) {
            return Ok(false);
        }
        rings.retain(|(key, _)| sources.iter().any(|source| source.key() == *key));
        for source in sources {
            if rings.iter().all(|(key, _)| *key != source.key()) {
                let echo = opener.observer.echo(source.process, &source.port)?;
                rings.push((source.key(), echo));
            }
        }
        Ok(true)
    }

    /// Whether the publishers do something for it: each writes a descriptor to its ring.
    pub(crate) fn is_subscriber(&self) -> bool {
        matches!(self, Feed::Subscriber(_))
    }

    /// Hands on what is new.
    pub(crate) fn pump(&mut self, each: &mut dyn FnMut(Arrived<'_>)) {
        match self {
            // A damaged ring is left: nothing more can be read there.
            Feed::Rings(Rings { echoes, buffer }) => {
                echoes.retain_mut(|(_, echo)| pump_ring(echo, buffer, each));
            }
            Feed::Subscriber(subscriber) => {
                for _ in 0..TURN_MAX {
                    match subscriber.take() {
                        Ok(Some(sample)) => each(Arrived {
                            schema: sample.schema(),
                            block: sample.block(),
                            stamp_ns: sample.stamp_ns(),
                        }),
                        Ok(None) => return,
                        // A publisher that contradicts itself is cut off by its connection.
                        Err(_) => {}
                    }
                }
            }
        }
    }
}

/// Gives whether the ring can be read on.
fn pump_ring(echo: &mut Echo, buffer: &mut EchoBuffer, each: &mut dyn FnMut(Arrived<'_>)) -> bool {
    let schema = std::sync::Arc::clone(echo.schema());
    for _ in 0..TURN_MAX {
        match echo.copy_next(buffer) {
            Ok(Some(message)) => {
                each(Arrived { schema: &schema, block: message.block, stamp_ns: message.stamp_ns })
            }
            Ok(None) => return true,
            // Its process has died or is stopped; the message counts as missed.
            Err(EchoError::Memory { .. }) => return true,
            Err(error) if error.is_final() => return false,
            // Too long, or there is no memory: missed alone.
            Err(_) => {}
        }
    }
    true
}

/// Publishers to whose rings somebody listens, beside the subscribers of `own_node` in the process
/// `own`: those are ours and go when we no longer look.
pub(crate) fn on_rings(
    snapshot: &GraphSnapshot,
    own: PeerName,
    own_node: &str,
) -> std::collections::BTreeSet<(PeerName, u64)> {
    let listened = snapshot.processes.iter().flat_map(|process| {
        let is_ours = |port: u64| {
            process.name == own
                && process.subscribers.iter().any(|it| it.port == port && it.node == own_node)
        };
        process.connections.iter().filter_map(move |connection| {
            let detail = &connection.detail;
            let counts = detail.carrier == Carrier::Ring && !is_ours(detail.subscriber);
            counts.then_some((detail.publisher_process, detail.publisher))
        })
    });
    listened.collect()
}
