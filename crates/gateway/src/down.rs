//! From a topic into the fabric: which messages are under way, and where their bytes lie.

use crate::last::Last;
use crate::node::BoardAccess;
use crate::record::gateway_counter;
use crossdock_comm::{AnySample, AnySubscriber, Entity};
use crossdock_executor::Tracing;
use crossdock_fabric::{Outgoing, Status, WORDS};
use crossdock_msg::frame::{FramePlan, GatherError, Segment, SegmentSource};
use crossdock_shm::Region;
use crossdock_trace::{GatewayTrace, Way};

/// Messages under way at the same time, if there is room for their words.
const UNDER_WAY_MAX: usize = 4;
/// Words in front of a message's segments.
const WORDS_BEFORE: usize = 2;
/// Sequences from this length on are read where they lie; a word of the gateway pays off.
const IN_PLACE_BYTES_MIN: usize = 256;

/// One gateway's way down.
pub(crate) struct Down {
    subscriber: AnySubscriber,
    tracing: Tracing,
    trace: GatewayTrace,
    number: u32,
    in_place_min: usize,
    /// Of the scratch memory: where its first place begins, and how long a place is.
    scratch_at: usize,
    scratch_bytes: usize,
    /// What is under way, by place.
    places: [Option<UnderWay>; UNDER_WAY_MAX],
    words: usize,
    sequence: u32,
    /// Taken, but there is no room for it yet.
    next: Option<AnySample>,
    small: Vec<u8>,
    segments: Vec<Segment>,
    outgoing: Vec<(usize, u32)>,
    last: Last,
}

/// Keeps the message until hardware has read it.
struct UnderWay {
    sample: AnySample,
    region: Region,
    payload_bytes: usize,
    words: usize,
}

impl Down {
    /// Takes its share of the scratch memory, whose length so far is `scratch`.
    pub(crate) fn new(
        (subscriber, tracing, trace): (AnySubscriber, Tracing, GatewayTrace),
        number: u32,
        (plan, last): (&FramePlan, Last),
        scratch: &mut usize,
    ) -> Self {
        let mut in_place_min = IN_PLACE_BYTES_MIN;
        // Bounded: with nothing left in place there is one segment.
        while plan.segments_max(in_place_min) > WORDS - WORDS_BEFORE {
            in_place_min = in_place_min.saturating_mul(4);
        }
        let scratch_bytes = plan.scratch_bytes_max(in_place_min).next_multiple_of(64);
        let scratch_at = *scratch;
        *scratch += scratch_bytes * UNDER_WAY_MAX;
        Self {
            subscriber,
            tracing,
            trace,
            number,
            in_place_min,
            scratch_at,
            scratch_bytes,
            places: [const { None }; UNDER_WAY_MAX],
            words: 0,
            sequence: 0,
            next: None,
            small: vec![0; scratch_bytes],
            segments: Vec::with_capacity(plan.segments_max(in_place_min)),
            outgoing: Vec::with_capacity(WORDS),
            last,
        }
    }

    /// What hardware was given last.
    pub(crate) fn last(&self) -> &Last {
        &self.last
    }

    /// Whether messages wait that the board has not been given.
    pub(crate) fn has_more(&self) -> bool {
        self.next.is_some() || self.subscriber.handle().is_ready()
    }

    /// Sends what is there, as far as there is room for it. What is damaged is counted.
    ///
    /// # Errors
    /// A message is longer than the bounds of its topic: a node in software would have got it.
    pub(crate) fn send(
        &mut self,
        plan: &FramePlan,
        access: &mut BoardAccess,
        entity: &Entity,
    ) -> Result<(), GatherError> {
        // At most one round per place and refused message; a publisher that sends nothing but those
        // is heard again in the next poll.
        for _ in 0..2 * UNDER_WAY_MAX {
            let Some(place) = self.places.iter().position(Option::is_none) else { return Ok(()) };
            if self.next.is_none() {
                self.next = match self.subscriber.take() {
                    Ok(sample) => sample,
                    Err(_) => {
                        // What is wrong with its publisher is counted at the subscriber.
                        entity.add(gateway_counter::DOWN_REFUSED, 1);
                        None
                    }
                };
            }
            let Some(sample) = self.next.take() else { return Ok(()) };
            match self.give(place, sample, plan, access, entity) {
                Given::Yes => {}
                Given::Refused(error) => {
                    entity.add(gateway_counter::DOWN_REFUSED, 1);
                    if let Some(error @ GatherError::OverBound { .. }) = error {
                        return Err(error);
                    }
                }
                Given::NoRoom(sample) => {
                    self.next = Some(sample);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn give(
        &mut self,
        place: usize,
        sample: AnySample,
        plan: &FramePlan,
        access: &mut BoardAccess,
        entity: &Entity,
    ) -> Given {
        let Some(region) = sample.region() else { return Given::Refused(None) };
        let (small, segments) = (&mut self.small, &mut self.segments);
        let gathered = plan.gather(sample.block(), self.in_place_min, small, segments);
        let payload_bytes = match gathered {
            Ok(payload_bytes) => payload_bytes,
            Err(error) => return Given::Refused(Some(error)),
        };
        let words = WORDS_BEFORE + self.segments.len();
        if self.words + words > WORDS {
            return Given::NoRoom(sample);
        }
        if !access.windows.enter(&region) {
            return Given::NoRoom(sample);
        }
        let at = self.scratch_at + place * self.scratch_bytes;
        let of_scratch = self.segments.iter().filter(|it| it.source == SegmentSource::Scratch);
        let small_bytes = of_scratch.map(|it| it.offset + it.bytes).max().unwrap_or(0);
        // Fits: the scratch memory was made for it.
        access.scratch.write(at, &self.small[..small_bytes]);
        let scratch = access.scratch.region().address() + at;
        let block = sample.block().as_ptr() as usize;
        let places = self.segments.iter();
        self.outgoing.clear();
        self.outgoing.extend(places.map(|it| (it.address(block, scratch), it.bytes as u32)));
        if self.in_place_min > IN_PLACE_BYTES_MIN {
            entity.add(gateway_counter::DOWN_COPIED, small_bytes as u64);
        }
        access.windows.show(&mut access.board);
        let origin = self.tracing.origin(sample.origin(), sample.stamp_ns());
        access.origins.note(sample.stamp_ns(), origin);
        let outgoing = Outgoing {
            tag: place as u16,
            sequence: self.sequence,
            stamp_ns: sample.stamp_ns(),
            payload_bytes: payload_bytes as u32,
            segments: &self.outgoing,
        };
        self.trace.message(Way::Down, || block, payload_bytes);
        access.board.send(self.number, &outgoing);
        self.last.note(sample.block(), sample.stamp_ns());
        access.unread = true;
        self.sequence = self.sequence.wrapping_add(1);
        self.words += words;
        self.places[place] = Some(UnderWay { sample, region, payload_bytes, words });
        Given::Yes
    }

    /// Hardware has read a message. False: none of this number is under way.
    pub(crate) fn sent(
        &mut self,
        tag: u16,
        status: Status,
        access: &mut BoardAccess,
        entity: &Entity,
    ) -> bool {
        let place = self.places.get_mut(usize::from(tag));
        let Some(UnderWay { sample, region, payload_bytes, words }) = place.and_then(Option::take)
        else {
            return false;
        };
        access.windows.leave(&region);
        self.trace.fabric_message(Way::Down, access.board.now_ps() / 1000);
        self.words -= words;
        drop(sample);
        if status.is_good() {
            entity.add(gateway_counter::DOWN, 1);
            entity.add(gateway_counter::DOWN_BYTES, payload_bytes as u64);
        } else {
            entity.add(gateway_counter::DOWN_REFUSED, 1);
        }
        true
    }

    /// Messages that hardware has not yet read to their end.
    pub(crate) fn under_way(&self) -> usize {
        self.places.iter().flatten().count() + usize::from(self.next.is_some())
    }

    /// The board is at rest: all that was taken has had its effect, or waits for messages on other
    /// topics, and what there is no room for with it.
    pub(crate) fn settle(&self) {
        let (input, places) = (self.subscriber.handle(), &self.places);
        if self.next.is_none() && places.iter().any(Option::is_none) {
            return input.mark_processed();
        }
        // First: who waits for all that was published to be worked off has to be told of the next
        // message, too.
        input.arm_to_gather();
        input.mark_waiting();
    }

    /// Publishers that it is connected to.
    pub(crate) fn matched(&self) -> usize {
        self.subscriber.matched()
    }
}

/// What became of a message that was to be given to hardware.
enum Given {
    Yes,
    /// It cannot be given.
    Refused(Option<GatherError>),
    /// Later.
    NoRoom(AnySample),
}
