//! Typed publishers and loans. How a message reaches its subscribers is in `publisher_core`.

use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::rc::Rc;

use crossdock_msg::block::BlockMut;
use crossdock_msg::{Block, Extra, Message};
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Marks, MemoryMaker, RawLoan, Region};

use crate::discovery::local_ports::Audience;
use crate::discovery::participant::Participant;
use crate::discovery::port_events::PortEvents;
use crate::error::{LoanError, PortError, PublishError};
use crate::port::counters::PublisherCounters;
use crate::port::erased::PublisherHandle;
use crate::port::group::{NO_STAMP, PortGroup};
use crate::port::message_type::MessageType;
use crate::port::owner::{AnyThread, OwnThread, Owner};
use crate::port::publisher_core::{PublisherCore, PublisherPlan, Refused};
use crate::wire::qos::Qos;

/// How to create a publisher.
#[derive(Clone, Copy, Debug)]
pub struct PublisherOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The topic, absolute: `/camera/image`.
    pub topic: &'a str,
    /// What it offers.
    pub qos: Qos,
    /// Largest message in bytes that memory is planned for: the depth, and the samples of eight
    /// subscribers. It is no limit: a larger message waits while memory grows, as far as the memory
    /// goes that is planned so, and an event says so once. `None`: the first message determines the
    /// first chunks, and memory follows larger ones: up to 256 MiB, or twice what the depth, the
    /// samples of one subscriber and two more messages of the largest size need, if that is more.
    pub max_bytes: Option<usize>,
    /// The ports of the same executor, joined inside the thread.
    pub group: Option<&'a PortGroup>,
}

impl<'a> PublisherOptions<'a> {
    /// The plan of a publisher on a topic of any number of subscribers, in memory that processes
    /// share.
    pub(crate) fn plan(self, message: MessageType<'a>) -> PublisherPlan<'a> {
        let PublisherOptions { node, topic, qos, max_bytes, group } = self;
        PublisherPlan {
            node,
            topic,
            qos,
            max_bytes,
            group,
            bridge: None,
            message,
            audience: Audience::Topic,
            wake: None,
            memory: None,
        }
    }
}

/// Publishes messages of type `T` on one topic.
///
/// It belongs to the thread that created it, or is free ([`AnyThread`]): then it is `Send`, and any
/// thread may use it, one at a time. [`Publisher::loan`] and
/// [`Loan::publish`] take no lock, allocate nothing and make no system call, except to wake
/// sleepers, to wait for a slow reliable subscriber, and to grow memory.
pub struct Publisher<T: Message, O: Owner = OwnThread> {
    core: O::Of<PublisherCore>,
    message: PhantomData<fn() -> T>,
}

/// How to create a free publisher: see [`PublisherOptions`].
#[derive(Clone, Copy, Debug)]
pub struct FreePublisherOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The topic, absolute.
    pub topic: &'a str,
    /// What it offers.
    pub qos: Qos,
    /// Largest message in bytes that memory is planned for, see [`PublisherOptions`].
    pub max_bytes: Option<usize>,
}

impl<'a> FreePublisherOptions<'a> {
    pub(crate) fn plan(self, message: MessageType<'a>) -> PublisherPlan<'a> {
        let FreePublisherOptions { node, topic, qos, max_bytes } = self;
        PublisherOptions { node, topic, qos, max_bytes, group: None }.plan(message)
    }
}

impl<T: Message, O: Owner> std::fmt::Debug for Publisher<T, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Publisher").field(self.core.info()).finish()
    }
}

impl Participant {
    /// Creates a publisher. Subscribers in this process are connected before it returns, others
    /// while the caller goes on.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// [`PortError`] says which name, limit or other port of this process is in the way.
    pub fn publisher<T: Message>(
        &self,
        options: PublisherOptions<'_>,
    ) -> Result<Publisher<T>, PortError> {
        self.publisher_by(options, None)
    }

    /// As [`Participant::publisher`], for messages in memory that `memory` makes for this process
    /// alone: who subscribes in another process is refused, and told so.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn publisher_in<T: Message>(
        &self,
        options: PublisherOptions<'_>,
        memory: Box<dyn MemoryMaker>,
    ) -> Result<Publisher<T>, PortError> {
        self.publisher_by(options, Some(memory))
    }

    fn publisher_by<T: Message>(
        &self,
        options: PublisherOptions<'_>,
        memory: Option<Box<dyn MemoryMaker>>,
    ) -> Result<Publisher<T>, PortError> {
        let plan = options.plan(MessageType::of::<T>());
        let core = PublisherCore::create(self, PublisherPlan { memory, ..plan })?;
        Ok(Publisher { core, message: PhantomData })
    }

    /// As [`Participant::publisher`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn free_publisher<T: Message>(
        &self,
        options: FreePublisherOptions<'_>,
    ) -> Result<Publisher<T, AnyThread>, PortError> {
        let core = PublisherCore::create_alone(self, options.plan(MessageType::of::<T>()))?;
        Ok(Publisher { core, message: PhantomData })
    }
}

impl<T: Message, O: Owner> Publisher<T, O> {
    /// Memory for one message, built in place; `extra` is the room for its texts and sequences.
    ///
    /// Several loans may be open; dropping one gives the memory back and changes nothing.
    ///
    /// # Errors
    /// [`LoanError`] when the topic's memory is used up; it names who holds it.
    #[inline]
    pub fn loan(&self, extra: Extra) -> Result<Loan<'_, T>, LoanError> {
        let raw = self.core.loan(T::ROOT_BYTES.saturating_add(extra.total()))?;
        Ok(Loan { raw, core: &self.core, message: PhantomData })
    }

    /// Subscribers outside this thread's group that the next message reaches.
    pub fn peers(&self) -> usize {
        self.core.peers()
    }

    /// All subscribers that the next message reaches.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// What happened so far.
    pub fn counters(&self) -> PublisherCounters {
        PublisherCounters::read(&self.core)
    }

    /// For a publisher of logs: the least severe level that its node lets pass, 0 before
    /// [`Publisher::set_level`]. One relaxed load; others may set it, see
    /// [`Observer::level`](crate::Observer::level).
    #[inline]
    pub fn level(&self) -> u8 {
        self.core.level().value()
    }

    /// Makes this a publisher of logs with this level.
    pub fn set_level(&self, level: NonZeroU8) {
        self.core.level().begin(level);
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// Says that the publisher is alive, if its liveliness is [`ManualByTopic`]; each message says
    /// so, too. Of other publishers it changes nothing. Neither blocks nor allocates.
    ///
    /// [`ManualByTopic`]: crate::Liveliness::ManualByTopic
    pub fn assert_liveliness(&self) {
        self.core.assert_liveliness();
    }

    /// What happens to it: with whom it is matched, what does not fit. Does not block.
    pub fn events(&self) -> PortEvents {
        self.core.events()
    }

    /// Takes note of peers that came or went, for a publisher that is idle for long.
    pub fn settle(&self) {
        self.core.settle();
    }
}

impl<T: Message> Publisher<T> {
    /// The part that does not depend on the type, for executors.
    pub fn handle(&self) -> PublisherHandle {
        PublisherHandle::new(Rc::clone(&self.core))
    }
}

/// A message of type `T` under construction, in the memory from which subscribers will read it.
///
/// Memory visibility: nothing of it is visible to anybody before [`Loan::publish`]; all of it is
/// to each subscriber that takes the message.
pub struct Loan<'a, T: Message> {
    raw: RawLoan<'a>,
    core: &'a PublisherCore,
    message: PhantomData<fn() -> T>,
}

impl<T: Message> std::fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loan").field("topic", &self.core.topic()).finish_non_exhaustive()
    }
}

impl<'a, T: Message> Loan<'a, T> {
    /// Sets fields. May be called again to go on; all fields are zero or empty at first.
    #[inline]
    pub fn message(&mut self) -> T::Builder<'_> {
        let (memory, meta) = self.raw.parts_mut();
        T::builder(BlockMut::new(memory, &mut meta.len))
    }

    /// Stamp by which subscribers order the messages of several publishers, in ns, less than 2^64
    /// - 1. Without it: the system clock at [`Loan::publish`].
    #[inline]
    pub fn set_stamp_ns(&mut self, stamp_ns: u64) {
        self.raw.meta_mut().stamp_ns = stamp_ns;
    }

    /// Which trigger the message goes back to; carried along unread. Without it: what
    /// [`PortGroup::set_origin`] said last.
    #[inline]
    pub fn set_origin(&mut self, origin: [u64; 2]) {
        self.raw.meta_mut().origin = origin;
    }

    /// The memory object that the message is built in, for a device.
    pub fn region(&self) -> Region {
        self.raw.region()
    }

    /// The payload in the flat layout, all that was loaned, for what builds it by other means than
    /// [`Loan::message`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.raw.bytes_mut()
    }

    /// Says that what a device writes of the message stays in memory of that device: only
    /// subscribers that have its [slabs](PublisherHandle::slabs_reach_all) get it; others pass it
    /// over, counted as damaged.
    pub fn leave_on_device(&mut self) {
        self.raw.meta_mut().marks.set(Marks::AWAY);
    }

    /// The point that the message is finished at if it is [published early](Loan::publish_early)
    /// next: ask once. `None`: this was asked for a message of the same number, which was then not
    /// published, so the point may be reached at any time. Then wait for the device, and
    /// [publish](Loan::publish) the message when it is complete.
    pub fn early_point(&self) -> Option<FencePoint> {
        let value = self.core.promise()?;
        Some(FencePoint { timeline: self.core.timeline(), value })
    }

    /// Publishes the message while a device still writes part of it: subscribers may know of it,
    /// hold it and give it to a device themselves, but nobody reads it before its number is reached
    /// on the publisher's timeline. The answer is that point: the owner of the device's work moves
    /// the timeline on to it when that is done, in the order of the messages.
    ///
    /// A device that takes the message may be told at once to wait for the point. So give the
    /// device that is to reach it its work *before*, and have that signal [`Loan::early_point`].
    ///
    /// As [`Loan::publish`] otherwise. What this side sets of the message (header, sizes) must be
    /// set before; header and sizes are visible to subscribers at once.
    ///
    /// # Errors
    /// As [`Loan::publish`]. The device must be done before the loan that comes back is dropped.
    pub fn publish_early(mut self) -> Result<FencePoint, PublishError<Loan<'a, T>>> {
        self.raw.meta_mut().marks.set(Marks::EARLY);
        let core = self.core;
        self.publish()?;
        Ok(FencePoint { timeline: core.timeline(), value: core.published() })
    }

    /// Publishes the message.
    ///
    /// Blocks while a reliable subscriber is `depth` messages behind, at most for the contract's
    /// time-out.
    ///
    /// # Errors
    /// [`PublishError`] gives the message back.
    #[inline]
    pub fn publish(mut self) -> Result<(), PublishError<Loan<'a, T>>> {
        if self.raw.meta_mut().len == 0 {
            // Nobody set a field: an empty message is legal, unspecified memory is not.
            let _ = self.message();
        }
        let header_stamp = T::STAMP_OFFSET.and_then(|offset| {
            let block = Block::new(self.raw.bytes_mut());
            block.read::<i32>(offset).zip(block.read::<u32>(offset + 4))
        });
        let meta = self.raw.meta_mut();
        if meta.stamp_ns == NO_STAMP {
            meta.stamp_ns = self.core.stamp_ns();
        }
        let Loan { raw, core, message } = self;
        match core.publish(raw) {
            Ok(()) => {
                if header_stamp.is_some() {
                    core.set_header_stamp(header_stamp);
                }
                Ok(())
            }
            Err(Refused { loan: raw, reason }) => {
                Err(PublishError { loan: Loan { raw, core, message }, reason })
            }
        }
    }
}
