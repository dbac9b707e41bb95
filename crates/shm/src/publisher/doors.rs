//! Who is woken by a message: the armed words of a publisher and the bells behind their bits.
//!
//! Nothing that a peer can write decides more here than whether somebody is woken.

use super::PublisherCounters;
use super::peers::WakeTarget;
use crate::futex;
use crate::memory::MapRef;
use crate::protocol::fired;
use crate::sync::AtomicU64;
use crate::tables::{PairView, PeerBell};
use std::sync::Arc;

/// Sleepers of one process that the publisher wakes itself; beyond, they wake one another. Below it
/// the detour costs a sleeper more than it saves the publisher (1.3 us per futex wake).
const WAKE_DIRECT: usize = 4;
/// Sleepers that the publisher wakes when the others are relayed.
const WAKE_ROOTS: usize = 2;

#[derive(Debug)]
struct Target {
    peer: u32,
    ready_line: u16,
    input: u16,
    index: u16,
    bell: PeerBell,
}

/// One armed word: up to 64 triggered subscribers of one peer process.
#[derive(Debug)]
struct Door {
    pair: Arc<PairView>,
    line: u16,
    word: u16,
    targets: [Option<Target>; 64],
}

/// Who was asleep when it was rung for: a door and a bit of it.
#[derive(Clone, Copy, Debug)]
struct Sleeper {
    door: usize,
    bit: usize,
}

/// All armed words of one publisher.
#[derive(Debug, Default)]
pub(super) struct Doors {
    /// What each publish looks at, close together.
    words: Vec<MapRef<AtomicU64>>,
    doors: Vec<Door>,
    /// Room for one publish: doors that fired, sleepers of one process.
    fired: Vec<(usize, u64)>,
    sleepers: Vec<Sleeper>,
    relayed: Vec<u16>,
}

impl Doors {
    pub(super) fn add(&mut self, peer: u32, wake: WakeTarget) {
        let WakeTarget { pair, bell, armed_line, armed_bit, ready_line, input, index } = wake;
        let word = armed_bit / 64;
        let target = Target { peer, ready_line, input, index, bell };
        let bit = usize::from(armed_bit % 64);
        let known = self.doors.iter_mut().find(|door| {
            Arc::ptr_eq(&door.pair, &pair.0) && door.line == armed_line && door.word == word
        });
        if let Some(door) = known {
            door.targets[bit] = Some(target);
            return;
        }
        let Some(armed) = pair.0.armed_word(armed_line, word) else { return };
        let mut targets: [Option<Target>; 64] = std::array::from_fn(|_| None);
        targets[bit] = Some(target);
        // Doors of one process stand side by side, so that its sleepers are woken together.
        let same = self.doors.iter().position(|door| Arc::ptr_eq(&door.pair, &pair.0));
        let place = same.unwrap_or(self.doors.len());
        self.words.insert(place, armed);
        self.doors.insert(place, Door { pair: pair.0, line: armed_line, word, targets });
        self.fired.reserve(self.doors.len());
        self.sleepers.reserve(self.doors.len() * 64);
        self.relayed.reserve(self.doors.len() * 64);
    }

    pub(super) fn remove(&mut self, peer: u32) {
        for door in &mut self.doors {
            for target in &mut door.targets {
                if target.as_ref().is_some_and(|target| target.peer == peer) {
                    *target = None;
                }
            }
        }
        let mut place = 0;
        while place < self.doors.len() {
            if self.doors[place].targets.iter().any(Option::is_some) {
                place += 1;
            } else {
                self.doors.remove(place);
                self.words.remove(place);
            }
        }
    }

    /// Rule P6, behind the fence: rings for every subscriber that has armed.
    #[inline(always)]
    pub(super) fn ring(&mut self, counters: &mut PublisherCounters) {
        for (place, word) in self.words.iter().enumerate() {
            let bits = fired(word);
            if bits != 0 {
                self.fired.push((place, bits));
            }
        }
        if !self.fired.is_empty() {
            self.ring_fired(counters);
        }
    }

    /// Rings for a peer that has not armed: the publisher waits for it, and it may sleep because it
    /// waits for something else. One that does not sleep looks once more than it has to.
    #[cold]
    pub(super) fn ring_for(&mut self, peer: u32, counters: &mut PublisherCounters) {
        let is_it = |target: &Option<Target>| target.as_ref().is_some_and(|it| it.peer == peer);
        let Doors { doors, sleepers, .. } = self;
        for (place, door) in doors.iter().enumerate() {
            let Some(bit) = door.targets.iter().position(is_it) else { continue };
            sleepers.clear();
            door.ring(place, 1 << bit, sleepers);
            wake(doors, sleepers, counters);
        }
    }

    #[cold]
    #[inline(never)]
    fn ring_fired(&mut self, counters: &mut PublisherCounters) {
        let Doors { doors, fired, sleepers, relayed, .. } = self;
        let mut from = 0;
        // Each round serves the doors of one process.
        while let Some((first, _)) = fired.get(from) {
            let pair = &doors[*first].pair;
            let same = |(place, _): &&(usize, u64)| Arc::ptr_eq(&doors[*place].pair, pair);
            let count = fired[from..].iter().take_while(same).count();
            sleepers.clear();
            for (place, bits) in &fired[from..from + count] {
                doors[*place].ring(*place, *bits, sleepers);
            }
            if sleepers.len() > WAKE_DIRECT {
                // Rule B4: all are asked for before the first one is woken.
                relayed.clear();
                relayed.extend(sleepers.iter().filter_map(|it| Some(it.target(doors)?.index)));
                pair.relay.ask(relayed);
            }
            wake(doors, sleepers, counters);
            from += count;
        }
        fired.clear();
    }
}

impl Door {
    /// Rings for every bit and notes who sleeps.
    fn ring(&self, door: usize, mut bits: u64, sleepers: &mut Vec<Sleeper>) {
        // At most 64 steps.
        while bits != 0 {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let Some(target) = &self.targets[bit] else { continue };
            let line = self.pair.ready.get(usize::from(target.ready_line));
            let Some(line) = line else { continue };
            if target.bell.bell().ring_for(line, target.input) {
                sleepers.push(Sleeper { door, bit });
            }
        }
    }
}

impl Sleeper {
    fn target(self, doors: &[Door]) -> Option<&Target> {
        doors.get(self.door)?.targets[self.bit].as_ref()
    }
}

/// Wakes the sleepers of one process, or those that wake the others.
fn wake(doors: &[Door], sleepers: &[Sleeper], counters: &mut PublisherCounters) {
    let roots = if sleepers.len() > WAKE_DIRECT { WAKE_ROOTS } else { sleepers.len() };
    let mut woken = 0;
    for target in sleepers.iter().filter_map(|sleeper| sleeper.target(doors)) {
        if woken == roots {
            break;
        }
        // A sleeper that is not in the kernel yet will find that the word has changed.
        if futex::wake_one(&target.bell.bell().word) {
            woken += 1;
        }
    }
    counters.wakes += woken as u64;
    counters.relayed += (sleepers.len() - roots) as u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doorbell::{Doorbell, DoorbellOptions};
    use crate::sync::Ordering;
    use crate::tables::{ArmedLease, BellMemory, PairMemory, PeerPair};

    #[test]
    fn the_sleepers_behind_many_words_are_all_asked_for_in_the_room_that_there_is() {
        const SLEEPERS: u32 = 5 * 64;
        let bells = BellMemory::new("bells");
        let doorbell = Doorbell::create(&bells, DoorbellOptions::default()).expect("a bell");
        let pair = PairMemory::create("pair").expect("memory");
        let joined = doorbell.control().join(&pair).expect("a line");
        let bell = || PeerBell::open("bell", bells.fd(joined.bell).expect("its own"));
        let (bell, view) = (bell().expect("a mapping"), PeerPair::open("pair", pair.fd()));
        let view = view.expect("a mapping");
        let mut doors = Doors::default();
        let arm = |peer: u32| {
            let lease = pair.allocate_armed(1).expect("a bit");
            let (armed_line, armed_bit) = lease.place();
            let (pair, bell) = (view.clone(), bell.clone());
            let (ready_line, input, index) = (joined.ready_line, peer as u16, joined.bell);
            doors.add(
                peer,
                WakeTarget { pair, bell, armed_line, armed_bit, ready_line, input, index },
            );
            let (word, bit) = lease.word();
            word.fetch_or(bit, Ordering::Relaxed);
            lease
        };
        let _leases: Vec<ArmedLease> = (0..SLEEPERS).map(arm).collect();
        // Its executor sleeps, and one bell is as good as many.
        let asleep = bell.bell().announce(bell.bell().before_look());
        assert!(asleep.is_some());
        let room = |doors: &Doors| {
            let Doors { fired, sleepers, relayed, .. } = doors;
            [fired.capacity(), sleepers.capacity(), relayed.capacity()]
        };
        let (before, mut counters) = (room(&doors), PublisherCounters::default());
        doors.ring(&mut counters);
        assert_eq!(room(&doors), before, "nothing is allocated");
        assert_eq!(counters.relayed, u64::from(SLEEPERS) - WAKE_ROOTS as u64);
        let mut rung = Vec::new();
        doorbell.drain(|input| rung.push(input));
        assert_eq!(rung, (0..SLEEPERS as u16).collect::<Vec<_>>());
    }
}
