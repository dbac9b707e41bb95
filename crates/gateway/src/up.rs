//! From the fabric to a topic: memory that is lent to hardware, and what lies in it when it comes
//! back.

use crate::node::BoardAccess;
use crate::record::gateway_counter;
use crossdock_comm::{AnyLoan, AnyPublisher, Entity, ParkedLoan};
use crossdock_fabric::Status;
use crossdock_msg::frame::{FramePlan, HEADER_BYTES};
use crossdock_shm::Region;
use crossdock_trace::{GatewayTrace, Way};
use std::collections::VecDeque;

/// Loans that hardware has at the same time: while one message comes in, the one before is
/// published, and the next already has a place.
const LENT: usize = 3;

/// One gateway's way up.
pub(crate) struct Up {
    publisher: AnyPublisher,
    trace: GatewayTrace,
    number: u32,
    chunk_bytes: usize,
    front_bytes: usize,
    behind_bytes: usize,
    /// What hardware has, by place.
    lent: [Option<Lent>; LENT],
    /// Messages in the order in which they came, for which a reliable subscriber has no room yet.
    waiting: VecDeque<Waiting>,
}

struct Lent {
    loan: ParkedLoan,
    region: Region,
}

struct Waiting {
    loan: ParkedLoan,
    bytes: usize,
    payload_bytes: usize,
    origin: [u64; 2],
}

impl Up {
    pub(crate) fn new(
        (publisher, trace): (AnyPublisher, GatewayTrace),
        number: u32,
        plan: &FramePlan,
    ) -> Self {
        Self {
            publisher,
            trace,
            number,
            chunk_bytes: plan.chunk_bytes_max(),
            front_bytes: plan.front_bytes(),
            behind_bytes: plan.behind_bytes_max(),
            lent: [const { None }; LENT],
            waiting: VecDeque::with_capacity(LENT),
        }
    }

    /// Lends hardware as much memory as it may have. A publisher without free memory lends later:
    /// its subscribers hold it all, and its own counters say so.
    pub(crate) fn lend(&mut self, access: &mut BoardAccess) {
        for place in 0..LENT {
            // What waits for a subscriber is memory that hardware would only fill for the queue.
            if self.lent[place].is_some() || self.held() >= LENT {
                continue;
            }
            let Ok(mut loan) = self.publisher.loan(self.chunk_bytes) else { return };
            let region = loan.region();
            if !access.windows.enter(&region) {
                return;
            }
            access.windows.show(&mut access.board);
            let memory = loan.bytes_mut();
            let at = memory.as_ptr() as usize + self.front_bytes;
            let room = memory.len().saturating_sub(self.front_bytes + self.behind_bytes);
            access.board.lend(self.number, place as u16, at, room as u32);
            access.unread = true;
            self.lent[place] = Some(Lent { loan: loan.park(), region });
        }
    }

    fn held(&self) -> usize {
        self.lent.iter().flatten().count() + self.waiting.len()
    }

    /// A message of so many bytes, header included, lies in memory that was lent. False: none of
    /// this number was.
    pub(crate) fn arrived(
        &mut self,
        (tag, bytes, status): (u16, u32, Status),
        plan: &FramePlan,
        access: &mut BoardAccess,
        entity: &Entity,
    ) -> bool {
        let place = self.lent.get_mut(usize::from(tag));
        let Some(Lent { loan, region }) = place.and_then(Option::take) else { return false };
        access.windows.leave(&region);
        self.trace.fabric_message(Way::Up, access.board.now_ps() / 1000);
        let Ok(mut loan) = self.publisher.resume(loan) else { return false };
        let adopted = plan.adopt(loan.bytes_mut(), self.front_bytes, bytes as usize);
        match adopted {
            Ok(adopted) if status.is_good() => {
                let payload_bytes = (bytes as usize).saturating_sub(HEADER_BYTES);
                let origin = access.origins.of(adopted.header.stamp_ns);
                let loan = loan.park();
                let bytes = adopted.block_bytes;
                self.waiting.push_back(Waiting { loan, bytes, payload_bytes, origin });
            }
            // Dropped, its memory is free for the next one.
            _ => entity.add(gateway_counter::UP_REFUSED, 1),
        }
        true
    }

    /// Publishes what has come: without `wait` as far as subscribers have room, with it the first
    /// one at the price of blocking for as long as the quality of service says.
    pub(crate) fn publish(&mut self, mut wait: bool, entity: &Entity) {
        // At most as many rounds as messages wait.
        while let Some(waiting) = self.waiting.pop_front() {
            if !wait && !self.publisher.has_room() {
                self.waiting.push_front(waiting);
                return;
            }
            wait = false;
            let Waiting { loan, bytes, payload_bytes, origin } = waiting;
            let Ok(mut loan) = self.publisher.resume(loan) else { return };
            let at = || loan.bytes_mut().as_ptr().addr();
            self.trace.message(Way::Up, at, payload_bytes);
            if publish(loan, bytes, origin) {
                entity.add(gateway_counter::UP, 1);
                entity.add(gateway_counter::UP_BYTES, payload_bytes as u64);
            } else {
                entity.add(gateway_counter::UP_TIMED_OUT, 1);
            }
        }
    }

    /// Whether hardware has no memory to write to, because nobody takes what it has written.
    pub(crate) fn is_stuck(&self) -> bool {
        self.waiting.len() >= LENT
    }

    /// Whether messages wait for subscribers.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether hardware has less memory than it should.
    pub(crate) fn is_short(&self) -> bool {
        self.held() < LENT
    }
}

fn publish(mut loan: AnyLoan<'_>, bytes: usize, origin: [u64; 2]) -> bool {
    loan.set_len(bytes);
    loan.set_origin(origin);
    loan.publish().is_ok()
}
