//! Who may use a port: one thread, or any, one at a time. The port's type says which.
//!
//! Ports of one executor share their thread: handles and links between them are counted without
//! atomics (`Rc`), so none of them may leave it. A *free* port has neither group nor executor, and
//! nothing else shares it: it may be moved, and put behind a lock.

use std::ops::Deref;
use std::rc::Rc;

mod sealed {
    pub trait Sealed {}
}

/// Who may use a port: [`OwnThread`] or [`AnyThread`].
pub trait Owner: sealed::Sealed + 'static {
    /// How the port keeps what it is made of.
    #[doc(hidden)]
    type Of<C>: Deref<Target = C> + From<C>;
}

/// The thread that made the port, as all ports of executors: neither `Send` nor `Sync`.
#[derive(Clone, Copy, Debug)]
pub struct OwnThread;

/// Any thread, one at a time: the port is `Send`. It belongs to no group and no executor.
#[derive(Clone, Copy, Debug)]
pub struct AnyThread;

impl sealed::Sealed for OwnThread {}
impl sealed::Sealed for AnyThread {}

impl Owner for OwnThread {
    type Of<C> = Rc<C>;
}

impl Owner for AnyThread {
    type Of<C> = Box<C>;
}
