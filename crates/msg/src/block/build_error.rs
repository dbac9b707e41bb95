//! Why a field of a message under construction could not be set.
//!
//! It knows types by their names and definitions alone, so that conversions can report it, too.

use crate::layout::Layout;
use std::fmt;

/// Why a field could not be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The block has no room for the field.
    #[error(
        "{field} needs {wanted} bytes, but {free} of the block's {block_bytes} are left: reserve \
         more with Extra"
    )]
    Overflow {
        /// The field.
        field: FieldPlace,
        /// Bytes that the field needs, alignment included.
        wanted: usize,
        /// Bytes that are left.
        free: usize,
        /// Bytes of the whole block.
        block_bytes: usize,
    },
    /// The field is longer than a reference can say or its type allows.
    #[error(
        "{field} was given {length} elements, but holds at most {bound}: shorten it, or use a \
         definition with a larger bound"
    )]
    OverBound {
        /// The field.
        field: FieldPlace,
        /// Elements given.
        length: usize,
        /// Elements that the field holds at most.
        bound: usize,
    },
}

/// A field in a message under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// Byte position of the field's reference in the block.
    pub at: usize,
    /// The struct that it is a field of; `None`: an element of a sequence or array.
    owner: Option<Owner>,
}

/// Where a field's name can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    type_name: &'static str,
    definition: &'static str,
    /// Byte offset of the field in the struct.
    offset: usize,
}

impl Owner {
    /// The field's name. Reads the definition, as errors are rare and shown once.
    fn name(&self) -> Option<String> {
        let layout = Layout::of_text(self.type_name, self.definition)?;
        let fields = &layout.root().fields;
        let field = fields.iter().find(|field| field.offset as usize == self.offset)?;
        Some(field.name.clone())
    }
}

impl fmt::Display for FieldPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner.and_then(|owner| Some((owner.name()?, owner.type_name))) {
            Some((name, of)) => write!(formatter, "field `{name}` of {of}"),
            None => write!(formatter, "the element at byte {}", self.at),
        }
    }
}

impl FieldPlace {
    /// An element of a sequence or array, whose reference lies at byte `at` of the block.
    pub(super) const fn element(at: usize) -> Self {
        Self { at, owner: None }
    }
}

impl BuildError {
    /// The same error of the field at byte `offset` of a struct of this type.
    pub(super) fn in_struct(
        mut self,
        type_name: &'static str,
        definition: &'static str,
        offset: usize,
    ) -> Self {
        let (Self::Overflow { field, .. } | Self::OverBound { field, .. }) = &mut self;
        field.owner = Some(Owner { type_name, definition, offset });
        self
    }
}
