//! One message of every publisher of a topic to all its subscribers, compared byte by byte.

use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Library, Model, Port, Sink, Source};

/// The ports of one topic in a network.
pub(crate) struct Ports {
    /// Publishers: index and publisher id.
    pub(crate) publishers: Vec<(u32, u16)>,
    /// Subscribers: index.
    pub(crate) subscribers: Vec<u32>,
    clock: usize,
}

impl Ports {
    /// The ports of this topic.
    pub(crate) fn of(library: &Library, topic: &str) -> Result<Self> {
        let ports = || library.ports().iter().zip(0_u32..).filter(|(port, _)| port.topic == topic);
        let of =
            |publishes| ports().filter(move |(port, _): &(&Port, u32)| port.publishes == publishes);
        let first = ports().next().with_context(|| format!("the network has no topic {topic}"))?;
        Ok(Self {
            publishers: of(true).map(|(port, index)| (index, port.publisher_id)).collect(),
            subscribers: of(false).map(|(_, index)| index).collect(),
            clock: first.0.clock,
        })
    }
}

/// Memory for what arrives, kept from transfer to transfer.
#[derive(Default)]
pub(crate) struct Buffers(Vec<Vec<u8>>);

/// Sends these frames, one per publisher, all offered at once, and waits for all subscribers.
/// Returns the cycles from then until the last subscriber has taken the last beat.
///
/// # Errors
/// A subscriber did not get every message once and whole, or nothing came for far longer than it
/// can take.
pub(crate) fn transfer(
    model: &mut Model,
    ports: &Ports,
    frames: &[Vec<u8>],
    buffers: &mut Buffers,
    periods_ps: &[u64],
) -> Result<u64> {
    let bytes_max = frames.iter().map(Vec::len).max().unwrap_or(0);
    buffers.0.resize_with(ports.subscribers.len(), Vec::new);
    buffers.0.iter_mut().for_each(|buffer| buffer.resize(bytes_max, 0));
    let period_ps = periods_ps[ports.clock];
    let begin_ps = model.now_ps();
    // A byte a cycle is an eighth of the slowest network's pace.
    let all_bytes: usize = frames.iter().map(Vec::len).sum();
    let until_ps = begin_ps + (all_bytes as u64 + 1000) * period_ps;
    let publishers = ports.publishers.iter().zip(frames);
    let mut sources: Vec<Source<'_>> =
        publishers.map(|((index, _), frame)| Source::new(*index, frame)).collect();
    let mut arrived = vec![vec![false; frames.len()]; ports.subscribers.len()];
    let mut end_ps = begin_ps;
    for _ in frames {
        let indexes = ports.subscribers.iter();
        let mut sinks: Vec<Sink<'_>> =
            indexes.zip(&mut buffers.0).map(|(index, buffer)| Sink::new(*index, buffer)).collect();
        while sinks.iter().any(|sink| sink.done_ps().is_none()) {
            ensure!(model.now_ps() < until_ps, "messages did not arrive by {until_ps} ps");
            model.run(&mut sources, &mut sinks, until_ps)?;
        }
        let got: Vec<(u64, bool)> =
            sinks.iter().map(|sink| (sink.received(), sink.is_damaged())).collect();
        end_ps = sinks.iter().filter_map(Sink::done_ps).max().unwrap_or(end_ps);
        for (subscriber, (bytes, damaged)) in got.into_iter().enumerate() {
            let data = &buffers.0[subscriber];
            let whole = bytes <= data.len() as u64 && !damaged;
            let data = &data[..data.len().min(bytes as usize)];
            let arrived = &mut arrived[subscriber];
            let mut missing = (0..frames.len()).filter(|index| !arrived[*index]);
            let found = missing.find(|index| whole && frames[*index] == data);
            let found = found.with_context(|| {
                format!("subscriber {subscriber} got {bytes} bytes that nobody sent so")
            })?;
            arrived[found] = true;
        }
    }
    Ok((end_ps - begin_ps) / period_ps)
}
