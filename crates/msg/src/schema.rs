//! A message type that is known only at run time: from a recording, a handshake or a file.

#![forbid(unsafe_code)]

use crate::block::{Block, FlatError};
use crate::cdr::{self, CdrBuffer, CdrError, CdrSize, CdrSlices, Plan};
use crate::definition::{DefinitionError, TypeName, merged_text, parse_merged, parse_merged_idl};
use crate::derived;
use crate::difference::{self, FieldDifference};
use crate::field::{self, FieldError};
use crate::hash::{LayoutHash, TypeHash};
use crate::json::{Conversion, JsonOptions};
use crate::layout::{Layout, LayoutError};
use crate::message::Message;
use crate::resolve::{Library, ResolveError, Resolved};
use crate::rihs::type_hash;
use crate::value::{Defaults, ValueError, WrittenMessage, cdr_of};
use crate::walk;

/// A resolved message type with its hashes, its flat layout and its codec.
///
/// Immutable; may be shared between threads. Making one allocates; reading, validating and
/// converting a message does not, except for growth of an output and for JSON.
#[derive(Clone, Debug)]
pub struct Schema {
    type_name: String,
    definition: String,
    type_hash: TypeHash,
    layout_hash: LayoutHash,
    layout: Layout,
    plan: Plan,
    defaults: Defaults,
}

/// Why a type could not be made from its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The type's name has another form.
    #[error("`{text}` is not a message type's name: write it like sensor_msgs/msg/Image")]
    Name {
        /// The name as given.
        text: String,
    },
    /// The service's name has another form.
    #[error("`{text}` is not a service type's name: write it like std_srvs/srv/SetBool")]
    ServiceName {
        /// The name as given.
        text: String,
    },
    /// The type's definition is not shipped with this crate.
    #[error(
        "the definition of {type_name} is neither given nor shipped: name the folder of its package \
         by --interfaces, source its workspace, or use a recording that carries definitions"
    )]
    NotShipped {
        /// The type.
        type_name: String,
    },
    /// The type is none of a service's events.
    #[error(
        "{type_name} is not the type of a service's events as ROS 2 derives it from the service: \
         such types are called like std_srvs/srv/SetBool_Event"
    )]
    NotEvents {
        /// The type.
        type_name: String,
    },
    /// A member of a type that is given by its members.
    #[error(
        "`{member}` of {type_name} is not a member that a `.msg` text can have: check its name and \
         its type"
    )]
    Member {
        /// The type.
        type_name: String,
        /// The member.
        member: String,
    },
    /// The text breaks the syntax.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A type is not known or contains itself.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The type has no flat layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl Schema {
    /// Makes a type from its merged `ros2msg` text, as recordings and handshakes carry it. A type
    /// that ROS 2 derives from a service or an action is also made from the text of the service or
    /// action, as recordings of ROS 2 carry it.
    ///
    /// # Errors
    ///
    /// The name or text is wrong, a used type is missing, or the type has no flat layout.
    pub fn parse(type_name: &str, text: &str) -> Result<Self, SchemaError> {
        let name = parse_name(type_name)?;
        if let Some(library) = derived::library_of(&name, text)? {
            let resolved = library.resolve(&name)?;
            return Self::with_text(&resolved, merged_text(&resolved.definitions));
        }
        let mut library = Library::new();
        parse_merged(&name, text)?.into_iter().for_each(|definition| library.add(definition));
        Self::with_text(&library.resolve(&name)?, text.to_owned())
    }

    /// Makes a type from its merged text in IDL (`ros2idl`), as recordings carry the types that no
    /// `.msg` file defines. [`Schema::definition`] has the other form.
    ///
    /// # Errors
    ///
    /// As [`Schema::parse`].
    pub fn parse_idl(type_name: &str, text: &str) -> Result<Self, SchemaError> {
        let name = parse_name(type_name)?;
        let mut library = Library::new();
        library.add_idl(parse_merged_idl(&name, text)?);
        Self::from_library(&library, type_name)
    }

    /// Makes a type from a library of definitions.
    ///
    /// # Errors
    ///
    /// A used type is missing, or the type has no flat layout.
    pub fn from_library(library: &Library, type_name: &str) -> Result<Self, SchemaError> {
        let resolved = library.resolve(&parse_name(type_name)?)?;
        let text = merged_text(&resolved.definitions);
        Self::with_text(&resolved, text)
    }

    /// Makes a shipped type from its name: for recordings that carry no definitions.
    ///
    /// # Errors
    ///
    /// The type is not shipped.
    pub fn shipped(type_name: &str) -> Result<Self, SchemaError> {
        let name = parse_name(type_name)?.to_string();
        match crate::types::ALL.iter().find(|(shipped, _)| *shipped == name) {
            Some((_, text)) => Self::parse(&name, text),
            None => Err(SchemaError::NotShipped { type_name: name }),
        }
    }

    /// The run-time form of a generated type.
    ///
    /// # Errors
    ///
    /// None for types that the generator wrote.
    pub fn of<M: Message>() -> Result<Self, SchemaError> {
        Self::parse(M::TYPE_NAME, M::DEFINITION)
    }

    fn with_text(resolved: &Resolved, definition: String) -> Result<Self, SchemaError> {
        let layout = Layout::of(resolved)?;
        let plan = Plan::of(&layout)?;
        Ok(Self {
            type_name: resolved.root().type_name.to_string(),
            definition,
            type_hash: type_hash(resolved),
            layout_hash: layout.hash(),
            layout,
            plan,
            defaults: Defaults::of(resolved),
        })
    }

    /// Full name, such as `sensor_msgs/msg/Image`.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The merged text of the definition.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// RIHS01 type hash.
    pub fn type_hash(&self) -> TypeHash {
        self.type_hash
    }

    /// Hash of the flat layout.
    pub fn layout_hash(&self) -> LayoutHash {
        self.layout_hash
    }

    /// Offsets of all fields.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The steps of its codec.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Size of the root struct in bytes.
    pub fn root_bytes(&self) -> usize {
        self.layout.root().bytes as usize
    }

    /// Byte offset of `header.stamp` when the first field is a `std_msgs/msg/Header`.
    pub fn stamp_offset(&self) -> Option<usize> {
        self.layout.stamp_offset()
    }

    /// Bytes that [`Schema::decode_cdr`] needs for this input.
    ///
    /// Allocates only for input that is not XCDR1 little endian, and for errors.
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged, or neither XCDR1 nor XCDR2. The error names the field.
    pub fn flat_bytes_of_cdr(&self, bytes: &[u8]) -> Result<usize, CdrError> {
        cdr::flat_bytes(&self.plan, bytes).or_else(|error| {
            let rewritten = cdr::rewritten_or(&self.layout, bytes, error)?;
            cdr::flat_bytes(&self.plan, &rewritten)
        })
    }

    /// Decodes CDR into the flat layout and gives the bytes used. Padding is not written.
    ///
    /// XCDR1 little endian, as ROS 2 writes it, is decoded in one pass without allocation.
    /// Big-endian input and XCDR2 are rewritten first.
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged, or neither XCDR1 nor XCDR2, or `memory` is too small. The
    /// error names the field.
    pub fn decode_cdr(&self, bytes: &[u8], memory: &mut [u8]) -> Result<usize, CdrError> {
        cdr::decode(&self.plan, bytes, memory).or_else(|error| {
            let rewritten = cdr::rewritten_or(&self.layout, bytes, error)?;
            cdr::decode(&self.plan, &rewritten, memory)
        })
    }

    /// Length of the message as CDR, header included.
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    pub fn cdr_bytes(&self, block: Block<'_>) -> Result<usize, FlatError> {
        let mut size = CdrSize::start(block.len());
        cdr::encode(&self.plan, block, &mut size)?;
        Ok(size.total_bytes())
    }

    /// Encodes a flat message as CDR, replacing the contents of `out`.
    ///
    /// # Errors
    ///
    /// The message's references are damaged; `out` then holds a part of the message.
    pub fn encode_cdr(&self, block: Block<'_>, out: &mut Vec<u8>) -> Result<(), FlatError> {
        let mut buffer = CdrBuffer::from(std::mem::take(out));
        buffer.start(block.len());
        let result = cdr::encode(&self.plan, block, &mut buffer);
        *out = buffer.into_vec();
        result
    }

    /// Encodes a flat message as pieces: a head, and large arrays left where they are.
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    pub fn encode_cdr_slices<'a>(
        &self,
        block: Block<'a>,
        out: &mut CdrSlices<'_, 'a>,
    ) -> Result<(), FlatError> {
        out.start(block.len());
        cdr::encode(&self.plan, block, out)
    }

    /// The CDR encoding of a message that somebody wrote as JSON: fields that are left out have the
    /// defaults of the definition, or are 0, false or empty. Allocates.
    ///
    /// # Errors
    ///
    /// A field that the type does not have, or a value that does not fit its field: a text with the
    /// character 0, a finite number that a float32 does not hold.
    pub fn cdr_of_json(&self, value: &serde_json::Value) -> Result<Vec<u8>, ValueError> {
        Ok(cdr_of(&self.layout, &self.defaults, value, false)?.into_cdr())
    }

    /// The same for a message that people type to publish it: as in ROS 2, `now` in the place of a
    /// `builtin_interfaces/Time` stands for the time of each publication, and `auto` in the place
    /// of a `std_msgs/Header` for a header with that time and no frame. A number is taken for a
    /// text, a whole number with a point for one without, and 1, 0 and the words of YAML 1.1 for a
    /// flag.
    ///
    /// # Errors
    ///
    /// As [`Schema::cdr_of_json`].
    pub fn written(&self, value: &serde_json::Value) -> Result<WrittenMessage, ValueError> {
        cdr_of(&self.layout, &self.defaults, value, true)
    }

    /// One field of a message as JSON, by its path, such as `pose.position.x` or `ranges[3]`.
    /// Reads nothing else of the message.
    ///
    /// # Errors
    ///
    /// The path leads nowhere, or the message's references are damaged.
    pub fn field_json(
        &self,
        block: Block<'_>,
        path: &str,
        options: JsonOptions,
    ) -> Result<serde_json::Value, FieldError> {
        field::read(&self.layout, block, path, options)
    }

    /// Checks a whole message: an early diagnosis at a process boundary. It does not make later
    /// reads safe (they check for themselves), because the publisher can still write.
    ///
    /// # Errors
    ///
    /// The first rule of the flat layout that is broken, with the path of the field.
    pub fn validate(&self, block: Block<'_>) -> Result<(), FlatError> {
        walk::validate(&self.layout, block)
    }

    /// Where two flat messages of the type differ first; `None` if they are the same in every
    /// field, bit by bit. Allocates for the difference only.
    ///
    /// # Errors
    ///
    /// One of them is damaged up to where they differ.
    pub fn first_difference(
        &self,
        left: Block<'_>,
        right: Block<'_>,
    ) -> Result<Option<FieldDifference>, FlatError> {
        difference::first_difference(self.layout(), left, right)
    }

    /// The message as JSON, whole up to [`JSON_BYTES_MAX`](crate::JSON_BYTES_MAX).
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    pub fn to_json(&self, block: Block<'_>) -> Result<serde_json::Value, FlatError> {
        self.to_json_with(block, JsonOptions::default())
    }

    /// The message as JSON with what is too long cut.
    ///
    /// # Errors
    ///
    /// The message's references are damaged, or it is too long to be `exact`.
    pub fn to_json_with(
        &self,
        block: Block<'_>,
        options: JsonOptions,
    ) -> Result<serde_json::Value, FlatError> {
        Conversion::new(&self.layout, block, options)?.message()
    }
}

fn parse_name(text: &str) -> Result<TypeName, SchemaError> {
    TypeName::parse(text).ok_or_else(|| SchemaError::Name { text: text.to_owned() })
}
