//! Handles of ports that C has, by the node that they were made for.
//!
//! A node outlives its ports, and a program that destroys it first can give none of them back any
//! more: rclpy leaves a service behind with every node. They end with the node, so that they are
//! gone from the graph, and do not keep the process in the domain.
//!
//! Nothing here looks at what an address stands for.

use crate::bell::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Ends what the handle at an address stands for, and leaves the handle.
pub(crate) type End = unsafe fn(usize);

/// A handle, by its address.
struct Owned {
    /// The address of what the node stands for.
    node: usize,
    end: End,
}

/// The handles of a context.
#[derive(Default)]
pub(crate) struct Handles {
    by_address: Mutex<HashMap<usize, Owned>>,
}

impl Handles {
    /// C has a handle now. Allocates.
    pub(crate) fn add(&self, node: usize, handle: usize, end: End) {
        lock(&self.by_address).insert(handle, Owned { node, end });
    }

    /// C has given it back.
    pub(crate) fn remove(&self, handle: usize) {
        lock(&self.by_address).remove(&handle);
    }

    /// The handles of a node, which are C's alone from now on. Allocates if there are any.
    pub(crate) fn take_all_of(&self, node: usize) -> Vec<(usize, End)> {
        let mut handles = lock(&self.by_address);
        handles.extract_if(|_, owned| owned.node == node).map(|(at, it)| (at, it.end)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_gives_up_what_was_not_destroyed_before() {
        let handles = Handles::default();
        for (node, handle) in [(1, 10), (1, 11), (2, 20)] {
            handles.add(node, handle, |_| ());
        }
        handles.remove(10);
        let left = |node| -> Vec<_> {
            handles.take_all_of(node).into_iter().map(|(handle, _)| handle).collect()
        };
        assert_eq!((left(1), left(1), left(2)), (vec![11], vec![], vec![20]));
    }
}
