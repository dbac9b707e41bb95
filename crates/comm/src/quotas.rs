//! What strangers may use of this process: connections, ports, pairs, memory, frames that wait.
//!
//! What one of them uses up is its own and its user's, so that nobody else goes short. Processes of
//! our own user and trusted processes have only the limits of the whole process.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::{Allowance, Budget};

/// Processes of one user that are connected at a time.
pub(crate) const PROCESSES_OF_USER_MAX: usize = 32;
/// Processes of all strangers.
pub(crate) const PROCESSES_MAX: usize = 256;
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

/// What has been used by each user's processes.
#[derive(Debug)]
pub(crate) struct Budgets {
    users: BTreeMap<u32, UserBudgets>,
    descriptors: Arc<Budget>,
}

impl Default for Budgets {
    fn default() -> Self {
        let descriptors = Arc::new(Budget::new(DESCRIPTORS_MAX));
        Budgets { users: BTreeMap::new(), descriptors }
    }
}

impl Budgets {
    /// What this user's processes may use.
    pub(crate) fn of_user(&mut self, uid: u32) -> &UserBudgets {
        // Bounded: users who have nothing here are forgotten.
        if self.users.len() >= PROCESSES_MAX {
            self.users.retain(|_, budgets| budgets.is_used());
        }
        self.users.entry(uid).or_insert_with(|| {
            let descriptors = Budget::within(DESCRIPTORS_OF_USER_MAX, &self.descriptors);
            UserBudgets {
                copies: Arc::new(Budget::new(COPIED_BYTES_MAX)),
                addresses: Arc::new(Budget::new(COPIES_ADDRESS_BYTES_MAX)),
                memory: Allowance { descriptors: Arc::new(descriptors) },
            }
        })
    }
}

/// Why one more process of a stranger is not let in. `connected`: users of the strangers' processes
/// that are.
pub(crate) fn refuses_process(uid: u32, connected: impl Iterator<Item = u32>) -> Option<String> {
    if faults::is(fault::NO_QUOTAS) {
        return None;
    }
    let (mut all, mut of_user) = (0, 0);
    connected.for_each(|other| {
        all += 1;
        of_user += usize::from(other == uid);
    });
    match (of_user, all) {
        (PROCESSES_OF_USER_MAX.., _) => Some(format!(
            "user {uid} has {PROCESSES_OF_USER_MAX} processes here already, as many as a user may who is \
             not trusted by name; end some of them, or trust the user (`trust` in the mapping)"
        )),
        (_, PROCESSES_MAX..) => Some(format!(
            "{PROCESSES_MAX} processes of users who are not trusted by name are connected already; end some \
             of them, or trust their users (`trust` in the mapping)"
        )),
        _ => None,
    }
}

/// What is told when messages could not be copied.
pub(crate) fn lost_text(topic: &str) -> String {
    format!(
        "messages on `{topic}` of a process that is not trusted could not be copied and are lost: each may be \
         {} MiB long, all of its user's together have a limit, too, and what a device still writes cannot be \
         read; trust its user by name (`trust` in the mapping)",
        MESSAGE_BYTES_MAX >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_user_and_all_users_have_as_many_processes_as_is_said() {
        let of = |uid: u32, count: usize| std::iter::repeat_n(uid, count);
        assert_eq!(refuses_process(1, of(1, PROCESSES_OF_USER_MAX - 1)), None);
        let user = refuses_process(1, of(1, PROCESSES_OF_USER_MAX)).expect("a reason");
        assert!(user.starts_with("user 1 has 32 processes here already"), "{user}");
        // Others do not count for a user, and all of them together count.
        assert_eq!(refuses_process(1, of(2, PROCESSES_MAX - 1)), None);
        let all = refuses_process(1, of(2, PROCESSES_MAX)).expect("a reason");
        assert!(all.starts_with("256 processes of users"), "{all}");
    }
}
