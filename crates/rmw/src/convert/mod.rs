//! Messages between the memory of a ROS program and the flat layout.
//!
//! A [`Plan`] is made once per type and language. Sending takes two passes over the message: one
//! sums what the flat message needs ([`Plan::flat_bytes`]), one writes it into a loan
//! ([`Plan::write`]). Taking is one pass, which keeps the memory that the message has
//! ([`Plan::take`]).

mod memory;
mod plan;
mod send;
mod take;

use crossdock_msg::{FlatError, Schema};
use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::shared::Function;
use crate::introspection::{Found, Language, TypeError};
pub(crate) use memory::{Place, PlaceMut};
use plan::Program;

/// How messages of one type and language are converted. Immutable; may be shared between threads.
#[derive(Debug)]
pub struct Plan {
    schema: Arc<Schema>,
    language: Language,
    /// The root's program is the first.
    programs: Vec<Program>,
    is_plain: bool,
    init: Function,
    fini: Function,
}

/// Why a message could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The flat message has less room than the message needs.
    #[error(
        "the message needs {wanted} bytes in the flat layout, but has room for {room}: another thread changed it while \
         it was published; let one thread publish a message at a time"
    )]
    Room {
        /// Bytes that it needs.
        wanted: usize,
        /// Bytes that there are.
        room: usize,
    },
    /// A sequence or text is longer than its type or the flat layout allows.
    #[error(
        "a field of the message has {length} elements, but its type allows {bound}: shorten it"
    )]
    OverBound {
        /// Elements that it has.
        length: usize,
        /// Elements that it may have.
        bound: usize,
    },
    /// A sequence or text of the message says that it has elements, but points nowhere.
    #[error(
        "a field of the message has {length} elements and no memory: initialise the message before it is used"
    )]
    NoData {
        /// Elements that it claims.
        length: usize,
    },
    /// The flat message is damaged.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// There is no memory for a field.
    #[error("there is not enough memory for the message")]
    NoMemory,
    /// A function of the type support has thrown an exception.
    #[error(
        "a function of the message's type support has thrown an exception: the message is not complete"
    )]
    Threw,
}

impl Plan {
    /// Plans the conversion of a type. Allocates.
    ///
    /// # Errors
    ///
    /// The type has no schema, or its description contradicts the schema.
    pub fn of(found: &Found) -> Result<Self, TypeError> {
        let schema = crate::schema::schema_of(found)?;
        let programs = plan::programs(found, schema.layout())?;
        let is_plain = plan::is_plain(&found.root, schema.layout());
        let (init, fini) = (found.root.init, found.root.fini);
        Ok(Self {
            schema: Arc::new(schema),
            language: found.language,
            programs,
            is_plain,
            init,
            fini,
        })
    }

    /// The type's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The type's schema, to be shared with ports.
    pub fn shared_schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The language of the messages.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Whether the ROS program's struct is the flat message, byte for byte, so that it may be lent.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether a message has bools outside its sequences.
    pub fn has_bools(&self) -> bool {
        let mut steps = self.programs.iter().flat_map(|program| &program.steps);
        steps.any(|step| matches!(step, plan::Step::Bools { .. }))
    }

    /// Size of the ROS program's struct in bytes.
    pub fn message_bytes(&self) -> usize {
        self.programs[0].ros_bytes
    }

    /// Bytes that the message takes in the flat layout, root struct included. Does not allocate.
    ///
    /// # Errors
    ///
    /// A field is longer than its type allows.
    ///
    /// # Safety
    ///
    /// `message` is an initialised message of the plan's type and language that nobody writes
    /// meanwhile.
    pub unsafe fn flat_bytes(&self, message: *const c_void) -> Result<usize, ConvertError> {
        // SAFETY: as the caller says.
        unsafe { send::measure(self, Place::of(message)) }
    }

    /// Writes the message into `memory`, whose first byte lies at a multiple of 64, and gives the
    /// bytes used: as many as [`Plan::flat_bytes`] has said. Does not allocate. Bytes of padding
    /// are not taken from the message.
    ///
    /// # Errors
    ///
    /// A field is longer than its type allows, or `memory` is too small.
    ///
    /// # Safety
    ///
    /// As for [`Plan::flat_bytes`].
    pub unsafe fn write(
        &self,
        message: *const c_void,
        memory: &mut [u8],
    ) -> Result<usize, ConvertError> {
        // SAFETY: as the caller says.
        unsafe { send::write(self, Place::of(message), memory) }
    }

    /// Sets every field of a message from a flat one. Texts and sequences keep their memory if it
    /// is large enough; else the message's own allocator gives more. After an error the message is
    /// valid, and partly set.
    ///
    /// # Errors
    ///
    /// The flat message is damaged, or there is not enough memory.
    ///
    /// # Safety
    ///
    /// `message` is an initialised message of the plan's type and language that nobody else uses
    /// meanwhile.
    pub unsafe fn take(
        &self,
        block: crossdock_msg::Block<'_>,
        message: *mut c_void,
    ) -> Result<(), ConvertError> {
        // SAFETY: as the caller says.
        unsafe { take::take(self, block, PlaceMut::of(message)) }
    }

    /// Initialises a message as its program would: with the definition's default values.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    ///
    /// # Safety
    ///
    /// `message` has room for [`Plan::message_bytes`] bytes, aligned to 16, and is not initialised.
    pub unsafe fn init(&self, message: *mut c_void) -> Result<(), ConvertError> {
        // SAFETY: as the caller says; the function is the type's.
        unsafe { memory::init(self.init, message) }
    }

    /// Frees what a message holds.
    ///
    /// # Errors
    ///
    /// The function of the type support has thrown.
    ///
    /// # Safety
    ///
    /// `message` is initialised; it is not used afterwards.
    pub unsafe fn fini(&self, message: *mut c_void) -> Result<(), ConvertError> {
        // SAFETY: as the caller says; the function is the type's.
        unsafe { memory::fini(self.fini, message) }
    }
}
