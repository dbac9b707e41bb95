//! What a board may reach of host memory: a region in each window, as long as a message in it is
//! under way.

use crossdock_fabric::{Board, WINDOWS};
use crossdock_shm::Region;

/// The regions that are open.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    open: Vec<Window>,
    changed: bool,
}

#[derive(Debug)]
struct Window {
    region: Region,
    /// Messages under way in it.
    users: usize,
}

impl Windows {
    fn find(&mut self, region: &Region) -> Option<&mut Window> {
        self.open.iter_mut().find(|window| {
            window.region.address() == region.address()
                && window.region.is_writable() == region.is_writable()
        })
    }

    /// Opens a region for one more message; false: all windows are in use, try again when a message
    /// has arrived.
    pub(crate) fn enter(&mut self, region: &Region) -> bool {
        if let Some(window) = self.find(region) {
            window.users += 1;
            return true;
        }
        let new = Window { region: region.clone(), users: 1 };
        let free = self.open.iter().position(|window| window.users == 0);
        match free {
            _ if self.open.len() < WINDOWS => self.open.push(new),
            Some(place) => self.open[place] = new,
            None => return false,
        }
        self.changed = true;
        true
    }

    /// A message in a region is no longer under way. The region stays open for the next one.
    pub(crate) fn leave(&mut self, region: &Region) {
        if let Some(window) = self.find(region) {
            window.users = window.users.saturating_sub(1);
        }
    }

    /// Lets go of regions that nothing is under way in: who they belong to may be gone.
    pub(crate) fn forget(&mut self) {
        let before = self.open.len();
        self.open.retain(|window| window.users > 0);
        self.changed |= self.open.len() < before;
    }

    /// Tells the board what has changed. To be called before it is told of messages.
    pub(crate) fn show(&mut self, board: &mut Board) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let regions: Vec<Region> = self.open.iter().map(|it| it.region.clone()).collect();
        // Never more than there are windows.
        board.reach(&regions);
    }
}
