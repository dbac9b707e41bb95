//! Claims of parts of memory that several processes write: who may touch what, settled without a
//! lock, by announcing first and looking around then.
//!
//! An entry is eight words, and the caller says whether two of them are in conflict.
//!
//! # State
//!
//! A table has places; each has a *state* word and an *entry*. The state says what the place is
//! (free, being taken, read, write), whose member it is, how often the place was taken, and two
//! flags. The table lies in memory that every member can write. Beside it each member's process has
//! a *mark* for each place, in memory of its own that all its threads share ([`Member`]).
//!
//! - **C1 take.** The taker sets its process's mark of a free place (who finds it set looks for
//!   another place), then takes the place by CAS, free to taken (Release, with the Acquire of C7;
//!   the fence of C3 makes what its former holder did visible). Its words are the taker's alone
//!   until C5. Where the CAS fails the mark is taken off.
//! - **C2 announce.** Release fence, the entry's words Relaxed, CAS from taken to read or write
//!   (Release).
//! - **C3 look.** SeqCst fence, then every other place: its state (Acquire), its words Relaxed,
//!   Acquire fence, its state again. If it is another claim by now, the first is over, and the new
//!   one was announced behind the fence: its taker sees ours. Two claims are in conflict when one
//!   of them writes and their entries say so.
//! - **C4 withdraw.** On conflict the claim is released as in C5. Of two that are announced at
//!   once, both may be refused, never both be granted.
//! - **C5 release.** CAS from the claim's own state to free (Release), on any thread. If it fails,
//!   somebody who thought the holder dead has ended the claim. Either way the mark is taken off
//!   then (Release, with the Acquire of C7).
//! - **C6 ending.** The holder flags a claim whose end will come by itself, from a device: who is
//!   in its way may wait.
//! - **C7 abandon.** The owner of the memory, which is a member, flags the claims of those that are
//!   gone, of numbers that nobody has, and of its own number if its process has no mark (state
//!   Acquire, then the mark, Acquire); those not announced yet it frees. They stay in the way of
//!   others until the owner accepts that what they held is in no known state (C8): then they are
//!   free.
//!
//! # Why it holds
//!
//! Announce and look are a store-buffering pair: each of two takers stores its state, fences, loads
//! the other's. One fence is first, and the taker that fences second sees the other's claim. That a
//! claim is seen to be over (Acquire in C3, or its fence behind C1) makes all that its holder did
//! visible (Release in C5), also to who sees only what became of the place later: states change by
//! read-modify-write only.
//!
//! A place that a thread of the owner's has is marked: who sees its state (C1 releases it) sees the
//! mark, or that it is off again; then the state has changed before that (C5), and the CAS of C7
//! fails.
//!
//! A member that breaks the rules can spoil the contents of the memory that it may write anyway,
//! and keep others from it as long as it lives: what it writes into the table counts as its own or
//! another living member's claim, or is nobody's (C7). Nobody makes an address of what stands here;
//! loops are bounded by the number of places.

use super::weaken::{self, fence_unless, order_unless, spot};
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence_behind_update};

/// Places of one table: two for each of 32 nodes.
pub const CLAIMS_MAX: usize = if cfg!(loom) { 2 } else { 64 };
/// Words of one entry.
pub const ENTRY_WORDS: usize = if cfg!(loom) { 1 } else { 8 };

const KIND: u64 = 0b11;
const FREE: u64 = 0;
const TAKEN: u64 = 1;
const READ: u64 = 2;
const WRITE: u64 = 3;
/// C6.
const ENDING: u64 = 1 << 2;
/// C7.
const ABANDONED: u64 = 1 << 3;
const FLAGS: u64 = ENDING | ABANDONED;
const MEMBER_AT: u32 = 16;
const ROUND_AT: u32 = 32;
const ROUND: u64 = !0 << ROUND_AT;

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// Others may read the same.
    Read,
    /// Nobody else may touch it.
    Write,
}

/// What one entry says.
pub type Entry = [u64; ENTRY_WORDS];

/// A member as its own process has it: its number, and marks of the places that its claims have.
/// One for all threads of the process, in memory that no other one can write.
#[derive(Debug)]
pub struct Member {
    number: u16,
    marks: [AtomicBool; CLAIMS_MAX],
}

impl Member {
    /// One that holds nothing yet.
    pub fn new(number: u16) -> Self {
        Member { number, marks: std::array::from_fn(|_| AtomicBool::new(false)) }
    }

    /// What it is called in its claims.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// A claim that is held. Belongs to who announced it.
#[derive(Debug)]
pub struct Ticket {
    place: usize,
    state: u64,
}

/// A claim of somebody's, as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it is for.
    pub kind: ClaimKind,
    /// Whose it is.
    pub member: u16,
    /// Its end will come by itself.
    pub ending: bool,
    /// Its holder has died, or never was a member.
    pub abandoned: bool,
    /// What it says.
    pub entry: Entry,
}

/// Why a claim was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefused {
    /// All places are taken.
    Full,
    /// This one is in the way.
    Conflict(Seen),
    /// The owner of the memory has ended it at once: it counts this member among the dead.
    Ended,
}

/// See the head of this file.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ClaimTable {
    states: [AtomicU64; CLAIMS_MAX],
    entries: [EntryWords; CLAIMS_MAX],
}

#[repr(C, align(64))]
#[derive(Debug)]
struct EntryWords([AtomicU64; ENTRY_WORDS]);

impl Default for ClaimTable {
    fn default() -> Self {
        let entry = |_| EntryWords(std::array::from_fn(|_| AtomicU64::new(0)));
        ClaimTable {
            states: std::array::from_fn(|_| AtomicU64::new(0)),
            entries: std::array::from_fn(entry),
        }
    }
}

impl ClaimTable {
    /// C1 to C4. `conflicts` compares an entry with `entry`; it is not asked of two that only read.
    ///
    /// # Errors
    /// [`ClaimRefused`]; nothing is held then.
    pub fn claim(
        &self,
        member: &Member,
        kind: ClaimKind,
        entry: &Entry,
        conflicts: impl Fn(&Entry) -> bool,
    ) -> Result<Ticket, ClaimRefused> {
        let ticket = self.announce(member, kind, entry)?;
        if !weaken::is(spot::CLAIM_FENCE) {
            // Behind the CAS of C2.
            fence_behind_update();
        }
        let others = (0..CLAIMS_MAX).filter(|place| *place != ticket.place);
        for seen in others.filter_map(|place| self.look(place)) {
            let one_writes = kind == ClaimKind::Write || seen.kind == ClaimKind::Write;
            if one_writes && conflicts(&seen.entry) {
                self.release(member, &ticket);
                return Err(ClaimRefused::Conflict(seen));
            }
        }
        Ok(ticket)
    }

    /// C1 and C2.
    fn announce(
        &self,
        member: &Member,
        kind: ClaimKind,
        entry: &Entry,
    ) -> Result<Ticket, ClaimRefused> {
        let number = u64::from(member.number) << MEMBER_AT;
        let take = |(place, word): (usize, &AtomicU64)| {
            let free = word.load(Ordering::Relaxed);
            let mark = &member.marks[place];
            if free & KIND != FREE || mark.swap(true, Ordering::Relaxed) {
                return None;
            }
            let taken = (free & ROUND).wrapping_add(1 << ROUND_AT) | number | TAKEN;
            let release = order_unless(spot::CLAIM_TAKE, Ordering::Release);
            // What its former holder did is over for us behind the fence of C3, which acquires,
            // too.
            if word.compare_exchange(free, taken, release, Ordering::Relaxed).is_err() {
                mark.store(false, Ordering::Release);
                return None;
            }
            Some((place, taken))
        };
        let taken = self.states.iter().enumerate().find_map(take);
        let (place, taken) = taken.ok_or(ClaimRefused::Full)?;
        fence_unless(spot::CLAIM_ENTRY, Ordering::Release);
        for (word, value) in self.entries[place].0.iter().zip(entry) {
            word.store(*value, Ordering::Relaxed);
        }
        let kind = match kind {
            ClaimKind::Read => READ,
            ClaimKind::Write => WRITE,
        };
        let state = taken & !KIND | kind;
        let announced =
            self.states[place].compare_exchange(taken, state, Ordering::Release, Ordering::Relaxed);
        if announced.is_err() {
            member.marks[place].store(false, Ordering::Release);
            return Err(ClaimRefused::Ended);
        }
        Ok(Ticket { place, state })
    }

    /// C3 for one place.
    fn look(&self, place: usize) -> Option<Seen> {
        let acquire = order_unless(spot::CLAIM_LOOK, Ordering::Acquire);
        let first = self.states[place].load(acquire);
        if first & KIND < READ {
            return None;
        }
        let words = &self.entries[place].0;
        let entry = std::array::from_fn(|word| words[word].load(Ordering::Relaxed));
        fence_unless(spot::CLAIM_WORDS, Ordering::Acquire);
        let now = self.states[place].load(acquire);
        if (now ^ first) & !FLAGS != 0 {
            return None;
        }
        Some(Seen {
            kind: if first & KIND == WRITE { ClaimKind::Write } else { ClaimKind::Read },
            member: (first >> MEMBER_AT) as u16,
            ending: now & ENDING != 0,
            abandoned: now & ABANDONED != 0,
            entry,
        })
    }

    /// C5. Once for each ticket, by the member that has claimed it.
    pub fn release(&self, member: &Member, ticket: &Ticket) {
        let free = ticket.state & ROUND;
        let release = order_unless(spot::CLAIM_RELEASE, Ordering::Release);
        let _ = self.states[ticket.place].compare_exchange(
            ticket.state,
            free,
            release,
            Ordering::Relaxed,
        );
        member.marks[ticket.place].store(false, Ordering::Release);
    }

    /// C6. False: the claim has been ended by the owner of the memory.
    pub fn note_ending(&self, ticket: &mut Ticket) -> bool {
        let ending = ticket.state | ENDING;
        let noted = self.states[ticket.place].compare_exchange(
            ticket.state,
            ending,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if noted.is_ok() {
            ticket.state = ending;
        }
        noted.is_ok()
    }

    /// Is the claim still what its holder thinks? One load.
    pub fn is_held(&self, ticket: &Ticket) -> bool {
        self.states[ticket.place].load(Ordering::Relaxed) == ticket.state
    }

    /// C7, by the owner `own`: flags the claims that carry its number and are not its own, and
    /// those of numbers for which `is_gone` holds; how many are new. A member that lives and goes
    /// on meanwhile may keep some.
    pub fn abandon(&self, own: &Member, is_gone: impl Fn(u16) -> bool) -> usize {
        let flag = |(word, mark): &(&AtomicU64, &AtomicBool)| {
            let state = word.load(Ordering::Acquire);
            let (next, counts) = match state & KIND {
                FREE => return false,
                // One that is said to be abandoned, too: nobody else would free it.
                TAKEN => (state & ROUND, false),
                _ if state & ABANDONED != 0 => return false,
                _ => (state | ABANDONED, true),
            };
            let number = (state >> MEMBER_AT) as u16;
            let is_nobodys = match number == own.number {
                true => !mark.load(Ordering::Acquire),
                false => is_gone(number),
            };
            if !is_nobodys {
                return false;
            }
            // AcqRel: between what the holder did and the next claim.
            let done = word.compare_exchange(state, next, Ordering::AcqRel, Ordering::Relaxed);
            done.is_ok() && counts
        };
        self.states.iter().zip(&own.marks).filter(flag).count()
    }

    /// C8: frees the abandoned claims of members for which `accepts` holds, and tells each.
    pub fn accept(&self, accepts: impl Fn(u16) -> bool, mut tell: impl FnMut(Seen)) {
        for (place, word) in self.states.iter().enumerate() {
            let state = word.load(Ordering::Acquire);
            let Some(seen) = self.look(place) else { continue };
            if !seen.abandoned || state & ABANDONED == 0 || !accepts(seen.member) {
                continue;
            }
            let free = state & ROUND;
            if word.compare_exchange(state, free, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                tell(seen);
            }
        }
    }

    /// All claims that are announced, as they are seen one after the other.
    pub fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        (0..CLAIMS_MAX).filter_map(|place| self.look(place))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const OWNER: u16 = 0;

    /// An element of its own for each number.
    fn entry(element: u64) -> Entry {
        let mut entry = [0; ENTRY_WORDS];
        entry[0] = element;
        entry
    }

    fn claim(
        table: &ClaimTable,
        member: &Member,
        kind: ClaimKind,
        element: u64,
    ) -> Result<Ticket, ClaimRefused> {
        table.claim(member, kind, &entry(element), |other| other[0] == element)
    }

    #[test]
    fn places_are_used_again_and_all_of_them_can_be_had() {
        let (table, member) = (ClaimTable::default(), Member::new(3));
        for round in 0..3 {
            let tickets: Vec<_> = (0..CLAIMS_MAX as u64)
                .map(|element| claim(&table, &member, ClaimKind::Write, element))
                .collect::<Result<_, _>>()
                .unwrap_or_else(|refused| panic!("round {round}: {refused:?}"));
            assert_eq!(table.seen().count(), CLAIMS_MAX);
            let refused = claim(&table, &member, ClaimKind::Read, 1000).unwrap_err();
            assert_eq!(refused, ClaimRefused::Full);
            tickets.iter().for_each(|ticket| table.release(&member, ticket));
            assert_eq!(table.seen().count(), 0);
        }
    }

    #[test]
    fn a_claim_is_refused_by_who_is_in_its_way_until_that_one_is_over() {
        let (table, one, other) = (ClaimTable::default(), Member::new(1), Member::new(2));
        let (read, write) = (ClaimKind::Read, ClaimKind::Write);
        let mut first = claim(&table, &one, read, 7).unwrap();
        let second = claim(&table, &other, read, 7).unwrap();
        assert!(claim(&table, &other, write, 8).is_ok(), "another element");
        table.release(&other, &second);
        assert!(!table.is_held(&second) && table.is_held(&first));
        assert!(table.note_ending(&mut first) && table.is_held(&first));
        let seen = Seen { kind: read, member: 1, ending: true, abandoned: false, entry: entry(7) };
        let refused = claim(&table, &other, write, 7).unwrap_err();
        assert_eq!(refused, ClaimRefused::Conflict(seen));
        table.release(&one, &first);
        claim(&table, &other, write, 7).unwrap();
        let refused = claim(&table, &one, read, 7).unwrap_err();
        assert!(matches!(refused, ClaimRefused::Conflict(Seen { kind: ClaimKind::Write, .. })));
    }

    #[test]
    fn what_the_dead_have_claimed_is_in_the_way_until_the_owner_accepts_it() {
        let table = ClaimTable::default();
        let (owner, dead, alive) = (Member::new(OWNER), Member::new(1), Member::new(2));
        let mut left = claim(&table, &dead, ClaimKind::Write, 7).unwrap();
        let _own = claim(&table, &owner, ClaimKind::Write, 8).unwrap();
        let _others = claim(&table, &alive, ClaimKind::Write, 9).unwrap();
        let is_gone = |number| number == 1;
        assert_eq!((table.abandon(&owner, is_gone), table.abandon(&owner, is_gone)), (1, 0));
        assert!(!table.note_ending(&mut left) && !table.is_held(&left));
        let refused = claim(&table, &alive, ClaimKind::Read, 7).unwrap_err();
        let in_the_way = |refused: &ClaimRefused| match refused {
            ClaimRefused::Conflict(seen) => (seen.member, seen.abandoned),
            other => panic!("{other:?}"),
        };
        assert_eq!(in_the_way(&refused), (1, true));
        table.accept(|number| number != 1, |seen| panic!("{seen:?} was accepted"));
        let mut told = vec![];
        table.accept(is_gone, |seen| told.push(seen.member));
        assert_eq!(told, [1]);
        claim(&table, &alive, ClaimKind::Write, 7).unwrap();
        assert_eq!(table.seen().count(), 3);
    }

    #[test]
    fn a_place_that_a_dead_member_took_and_did_not_announce_is_free_again() {
        let (table, owner) = (ClaimTable::default(), Member::new(OWNER));
        let taken = |member: u64| 5 << ROUND_AT | member << MEMBER_AT | TAKEN;
        // The second is said to be abandoned by somebody who may not; the third lives.
        let places = [taken(1), taken(1) | ABANDONED, taken(2)];
        for (word, state) in table.states.iter().zip(places) {
            word.store(state, Ordering::Relaxed);
        }
        assert_eq!(table.abandon(&owner, |number| number == 1), 0, "none of them is a claim");
        let states: Vec<_> = table.states.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        assert_eq!(states[..4], [5 << ROUND_AT, 5 << ROUND_AT, places[2], 0]);
        let one = Member::new(3);
        let claims = std::iter::from_fn(|| claim(&table, &one, ClaimKind::Read, 7).ok());
        assert_eq!(claims.count(), CLAIMS_MAX - 1);
    }

    #[test]
    fn a_claim_in_the_owners_name_that_none_of_its_threads_has_is_nobodys() {
        let (table, owner) = (ClaimTable::default(), Member::new(OWNER));
        let impostor = Member::new(OWNER);
        let own = claim(&table, &owner, ClaimKind::Read, 7).unwrap();
        claim(&table, &impostor, ClaimKind::Read, 7).unwrap();
        assert_eq!(table.abandon(&owner, |_| false), 1);
        assert!(table.is_held(&own));
        let abandoned: Vec<_> = table.seen().map(|seen| seen.abandoned).collect();
        assert_eq!(abandoned, [false, true]);
    }
}
