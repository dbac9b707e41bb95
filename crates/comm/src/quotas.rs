//! What strangers may use of this process: connections, ports, pairs, memory, frames that wait.
//!
//! What one of them uses up is its own and its user's, so that nobody else goes short. Processes of
//! our own user and trusted processes have only the limits of the whole process.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::{
    AddSegmentError, Allowance, Budget, ConnectError, CreateMemoryError, OpenMemoryError, Standing,
    TRUST_BY_NAME,
};

use crate::wire::limit::Limit;

/// Processes that a participant is connected to, whosever they are.
pub(crate) const PEERS_MAX: usize = 4096;
/// Processes of one user that are connected at a time.
pub(crate) const PROCESSES_OF_USER_MAX: usize = 32;
/// Processes of all strangers.
pub(crate) const PROCESSES_MAX: usize = 256;
/// Connections of one user that have not said what for, or do not read the answer. A process has
/// one at a time, if it is not slow or hostile.
pub(crate) const VISITS_OF_USER_MAX: usize = 32;
/// The same of all strangers: fewer than may be without a hello, so that they displace none of
/// ours.
pub(crate) const VISITS_MAX: usize = 48;
/// Publishers that one process advertises.
pub(crate) const PUBLISHERS_MAX: usize = 512;
/// Pairs with one process, in each direction.
pub(crate) const PAIRS_MAX: usize = 512;
/// Pairs with one process at one publisher of ours.
pub(crate) const PAIRS_OF_PUBLISHER_MAX: usize = 8;
/// Places of one process's status table that are read for a view of the graph.
pub(crate) const RECORDS_MAX: usize = 2048;
/// Frames that wait for one process.
pub(crate) const QUEUED_FRAMES_MAX: usize = 4096;
/// The longest message of a stranger.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// Memory of ours for copies of one user's messages.
const COPIED_BYTES_MAX: u64 = 1 << 30;
/// Address space for these copies: a 128th of what a process has. What the rings of a stranger's
/// publishers take has a limit in their descriptors, because only their heads and slots are mapped.
const COPIES_ADDRESS_BYTES_MAX: u64 = 1 << 40;
/// Descriptors of ours that keep the memory of one user's publishers: an eighth of the usual limit
/// of a process.
const DESCRIPTORS_OF_USER_MAX: u64 = 128;
/// Descriptors of ours that keep the memory of all strangers' publishers.
const DESCRIPTORS_MAX: u64 = 256;

/// What one user's processes may use of this one.
#[derive(Debug)]
pub(crate) struct UserBudgets {
    /// Bytes of the copies of their messages.
    pub(crate) copies: Arc<Budget>,
    /// Bytes of address space of these.
    pub(crate) addresses: Arc<Budget>,
    /// What the memory of their publishers takes.
    pub(crate) memory: Allowance,
}

impl UserBudgets {
    /// Is anything of it in use?
    fn is_used(&self) -> bool {
        let UserBudgets { copies, addresses, memory: Allowance { descriptors } } = self;
        [copies, addresses, descriptors].into_iter().any(|budget| Arc::strong_count(budget) > 1)
    }
}

/// How much budgets have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetLimits {
    /// Bytes of the copies of one user's messages.
    pub(crate) copied_bytes: u64,
    /// Bytes of address space of these.
    pub(crate) address_bytes: u64,
    /// Descriptors for the memory of one user's publishers, and of all strangers'.
    pub(crate) descriptors_of_user: u64,
    pub(crate) descriptors: u64,
}

/// What has been used by each user's processes.
#[derive(Debug)]
pub(crate) struct Budgets {
    users: BTreeMap<u32, UserBudgets>,
    descriptors: Arc<Budget>,
    limits: BudgetLimits,
}

impl Default for Budgets {
    fn default() -> Self {
        let [descriptors_of_user, descriptors] = match hold(Standing::Stranger) {
            true => [DESCRIPTORS_OF_USER_MAX, DESCRIPTORS_MAX],
            false => [u64::MAX; 2],
        };
        Budgets::new(BudgetLimits {
            copied_bytes: COPIED_BYTES_MAX,
            address_bytes: COPIES_ADDRESS_BYTES_MAX,
            descriptors_of_user,
            descriptors,
        })
    }
}

impl Budgets {
    /// Nothing is used.
    pub(crate) fn new(limits: BudgetLimits) -> Self {
        let descriptors = Arc::new(Budget::new(limits.descriptors));
        Budgets { users: BTreeMap::new(), descriptors, limits }
    }

    /// What this user's processes may use.
    pub(crate) fn of_user(&mut self, uid: u32) -> &UserBudgets {
        // Bounded: users who have nothing here are forgotten.
        if self.users.len() >= PROCESSES_MAX {
            self.users.retain(|_, budgets| budgets.is_used());
        }
        let limits = self.limits;
        self.users.entry(uid).or_insert_with(|| {
            let descriptors = Budget::within(limits.descriptors_of_user, &self.descriptors);
            UserBudgets {
                copies: Arc::new(Budget::new(limits.copied_bytes)),
                addresses: Arc::new(Budget::new(limits.address_bytes)),
                memory: Allowance { descriptors: Arc::new(descriptors) },
            }
        })
    }
}

/// Do quotas hold for processes of this standing?
pub(crate) fn hold(standing: Standing) -> bool {
    standing.is_stranger() && !faults::is(fault::NO_QUOTAS)
}

/// Which limit one more process of a stranger exceeds. `connected`: users of the strangers'
/// processes that are.
pub(crate) fn refuses_process(uid: u32, connected: impl Iterator<Item = u32>) -> Option<Limit> {
    match count(uid, connected)? {
        (PROCESSES_OF_USER_MAX.., _) => Some(Limit::ProcessesOfUser),
        (_, PROCESSES_MAX..) => Some(Limit::Processes),
        _ => None,
    }
}

/// The same of one more connection that is no process's, or not yet.
pub(crate) fn refuses_visit(uid: u32, connected: impl Iterator<Item = u32>) -> Option<Limit> {
    match count(uid, connected)? {
        (VISITS_OF_USER_MAX.., _) => Some(Limit::VisitsOfUser),
        (_, VISITS_MAX..) => Some(Limit::Visits),
        _ => None,
    }
}

/// How many are of a user, and all of them.
fn count(uid: u32, connected: impl Iterator<Item = u32>) -> Option<(usize, usize)> {
    let add = |(of_user, all), other| (of_user + usize::from(other == uid), all + 1);
    hold(Standing::Stranger).then(|| connected.fold((0, 0), add))
}

/// Why we refuse a process of this user, and what to do.
pub(crate) fn refusal(limit: Limit, uid: u32) -> String {
    match limit {
        Limit::ProcessesOfUser => format!(
            "user {uid} has {PROCESSES_OF_USER_MAX} processes here already, as many as a user may who is \
             not trusted by name; end some of them, or trust the user ({TRUST_BY_NAME})"
        ),
        Limit::Processes => format!(
            "{PROCESSES_MAX} processes of users who are not trusted by name are connected already; end some \
             of them, or trust their users ({TRUST_BY_NAME})"
        ),
        Limit::VisitsOfUser => format!(
            "user {uid} has {VISITS_OF_USER_MAX} connections here that say nothing or do not read, as many \
             as a user may who is not trusted by name; end or continue their processes"
        ),
        Limit::Visits => format!(
            "{VISITS_MAX} connections of users who are not trusted by name say nothing or do not read; end \
             or continue their processes"
        ),
        Limit::Peers => format!("{PEERS_MAX} processes are connected already; end some of them"),
        Limit::Publishers => format!(
            "it advertises more than {PUBLISHERS_MAX} publishers, as many as a process may whose user is not \
             trusted by name; have fewer in one process, or trust user {uid} ({TRUST_BY_NAME})"
        ),
        Limit::Descriptors => format!(
            "the memory of user {uid}'s publishers takes more than the {DESCRIPTORS_OF_USER_MAX} descriptors \
             here that a user may have who is not trusted by name ({DESCRIPTORS_MAX} for all such users); \
             end some of them, or trust the user ({TRUST_BY_NAME})"
        ),
        Limit::Addresses => format!(
            "copies of user {uid}'s messages take more than the {COPIES_ADDRESS_BYTES_MAX} bytes of address \
             space here that a user may have who is not trusted by name; end some of its publishers, or \
             trust the user ({TRUST_BY_NAME})"
        ),
    }
}

/// Why one more connection with a process of this user is refused, and what to do.
pub(crate) fn refusal_of_pair(uid: u32) -> String {
    format!(
        "its process has {PAIRS_MAX} connections here, as many as a process may whose user is not trusted by \
         name; have fewer ports in one process, or trust user {uid} ({TRUST_BY_NAME})"
    )
}

/// Why a process of user `uid` refuses this one, and what to do.
pub(crate) fn refusal_of_ours(limit: Limit, uid: u32) -> String {
    let trust = format!("have user {uid} trust this user ({TRUST_BY_NAME})");
    let again = "it is tried again";
    match limit {
        Limit::ProcessesOfUser => format!(
            "this user has {PROCESSES_OF_USER_MAX} processes there already, as many as a user may who is \
             not trusted by name; {again}: end some of them, or {trust}"
        ),
        Limit::Processes => format!(
            "{PROCESSES_MAX} processes of users who are not trusted by name are connected there already; \
             {again}: end some of them, or {trust}"
        ),
        Limit::VisitsOfUser => format!(
            "this user has {VISITS_OF_USER_MAX} connections there that say nothing or do not read; {again}: \
             end or continue (`kill -CONT`) their processes, or {trust}"
        ),
        Limit::Visits => format!(
            "{VISITS_MAX} connections of users who are not trusted by name say nothing there or do not \
             read; {again}: end or continue (`kill -CONT`) their processes, or {trust}"
        ),
        Limit::Peers => {
            format!("{PEERS_MAX} processes are connected there already; {again}: end some of them")
        }
        Limit::Publishers => format!(
            "this process has more than {PUBLISHERS_MAX} publishers, as many as a process may whose user is \
             not trusted by name; have fewer in one process, or {trust}"
        ),
        Limit::Descriptors => format!(
            "the memory of this user's publishers takes more than the {DESCRIPTORS_OF_USER_MAX} descriptors \
             there that a user may have who is not trusted by name ({DESCRIPTORS_MAX} for all such users); \
             have fewer publishers, or {trust}"
        ),
        Limit::Addresses => format!(
            "copies of this user's messages take more than the {COPIES_ADDRESS_BYTES_MAX} bytes of address \
             space there that a user may have who is not trusted by name; have fewer publishers, or {trust}"
        ),
    }
}

/// The limit that a publisher's user has used up, if that is what an error says: the publisher is
/// not at fault then.
pub(crate) fn exceeded(error: &(dyn Error + 'static)) -> Option<Limit> {
    let of_segment = error.downcast_ref().and_then(|it: &AddSegmentError| match it {
        AddSegmentError::Memory(memory) => Some(memory),
        _ => None,
    });
    let of_ring = error.downcast_ref().and_then(|it: &ConnectError| match it {
        ConnectError::Memory(memory) => Some(memory),
        _ => None,
    });
    let is_copies = matches!(error.downcast_ref(), Some(CreateMemoryError::BeyondBudget { .. }));
    match of_ring.or(of_segment) {
        Some(OpenMemoryError::BeyondBudget { .. }) => Some(Limit::Descriptors),
        _ => is_copies.then_some(Limit::Addresses),
    }
}

/// What is told when messages could not be copied.
pub(crate) fn lost_text(topic: &str) -> String {
    format!(
        "messages on `{topic}` of a process that is not trusted could not be copied and are lost: each may be \
         {} MiB long, all of its user's together have a limit, too, and what a device still writes cannot be \
         read; trust its user by name ({TRUST_BY_NAME})",
        MESSAGE_BYTES_MAX >> 20
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crossdock_shm::Copies;

    /// Takes one of a budget for as long as the result lives. `None`: it is used up. Only what
    /// budgets are for takes of them, so this is memory for copies, whatever the budget counts.
    fn take(budget: &Arc<Budget>) -> Option<Copies> {
        let boundless = Arc::new(Budget::new(u64::MAX));
        Copies::create("test", 1, ONE, &boundless, budget).ok()
    }

    /// What `take` takes.
    const ONE: u64 = 4096;

    #[test]
    fn what_one_user_uses_up_of_anything_is_missed_by_no_other_one_until_all_have_too_much() {
        let mut budgets = Budgets::new(BudgetLimits {
            copied_bytes: 2 * ONE,
            address_bytes: 3 * ONE,
            descriptors_of_user: 2 * ONE,
            descriptors: 3 * ONE,
        });
        let mut taken = |uid: u32| {
            let UserBudgets { copies, addresses, memory } = budgets.of_user(uid);
            [copies, addresses, &memory.descriptors]
                .map(|budget| std::iter::from_fn(|| take(budget)).collect::<Vec<_>>())
        };
        let users = [1001, 1002, 1003].map(&mut taken);
        let counts = users.each_ref().map(|of_user| of_user.each_ref().map(Vec::len));
        assert_eq!(counts, [[2, 3, 2], [2, 3, 1], [2, 3, 0]]);
        // What a user gives back is there again, for all where all have one limit.
        drop(users);
        assert_eq!(taken(1003).map(|kept| kept.len()), [2, 3, 2]);
    }

    #[test]
    fn budgets_have_the_limits_that_the_documents_say() {
        let mut budgets = Budgets::default();
        let UserBudgets { copies, addresses, memory } = budgets.of_user(1001);
        let of_user = [copies, addresses, &memory.descriptors].map(|budget| budget.limit());
        assert_eq!(of_user, [1 << 30, 1 << 40, 128]);
        assert_eq!(budgets.descriptors.limit(), 256);
    }

    #[test]
    fn copies_of_one_users_messages_share_a_limit_and_those_of_others_have_their_own() {
        let mut budgets = Budgets::default();
        let one = budgets.of_user(1001).copies.clone();
        let other = budgets.of_user(1003).memory.clone();
        assert!(Arc::ptr_eq(&one, &budgets.of_user(1001).copies));
        assert!(!Arc::ptr_eq(&one, &budgets.of_user(1002).copies));
        // Users who come and go leave nothing; one who has something left finds it again.
        for uid in 2000..3000 {
            budgets.of_user(uid);
            assert!(budgets.users.len() <= PROCESSES_MAX);
        }
        assert!(Arc::ptr_eq(&one, &budgets.of_user(1001).copies));
        assert!(Arc::ptr_eq(&other.descriptors, &budgets.of_user(1003).memory.descriptors));
    }

    #[test]
    fn a_user_and_all_users_have_as_many_processes_and_visits_as_is_said() {
        let of = |uid: u32, count: usize| std::iter::repeat_n(uid, count);
        // Others do not count for a user, and all of them together count.
        let few = [of(1, PROCESSES_OF_USER_MAX - 1), of(2, PROCESSES_MAX - 1)];
        assert_eq!(few.map(|few| refuses_process(1, few)), [None; 2]);
        let user = refuses_process(1, of(1, PROCESSES_OF_USER_MAX)).expect("a limit");
        let all = refuses_process(1, of(2, PROCESSES_MAX)).expect("a limit");
        assert_eq!([user, all], [Limit::ProcessesOfUser, Limit::Processes]);
        assert!(refusal(user, 1).starts_with("user 1 has 32 processes here already"));
        assert!(refusal(all, 1).starts_with("256 processes of users"));
        let few = [of(1, VISITS_OF_USER_MAX - 1), of(2, VISITS_MAX - 1)];
        assert_eq!(few.map(|few| refuses_visit(1, few)), [None; 2]);
        let user = refuses_visit(1, of(1, VISITS_OF_USER_MAX)).expect("a limit");
        let all = refuses_visit(1, of(2, VISITS_MAX)).expect("a limit");
        assert_eq!([user, all], [Limit::VisitsOfUser, Limit::Visits]);
    }
}
