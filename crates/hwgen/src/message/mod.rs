//! A message type as its adapters see it: the tree of its fields with their bounds, and the program
//! that walks them along the payload.

mod cpp;
mod publish;
mod take;

pub(crate) use cpp::HLS;
pub(crate) use take::range;

use crate::layout::{ElementCount, PayloadLayout};
use crate::network::TopicNetwork;
use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, Layout};
use std::collections::BTreeMap;

/// Nested loops that the hardware has counters for.
const DEPTH_MAX: usize = 8;
/// Operations of a program: what `pc` counts.
const OPS_MAX: usize = 8191;
/// Bits of an array that is a port of its own; longer ones come as a stream.
const ARRAY_BITS_MAX: u64 = 4096;
/// Bytes of a text or sequence that is a port of its own; longer ones come as a stream.
const SEQUENCE_BYTES_MAX: u64 = 64;

/// A message type with bounds, and its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageShape {
    /// Its fields.
    pub root: Structure,
    /// What moves along the payload; `None`: more nested loops or more operations than the hardware
    /// has room for.
    pub program: Option<Vec<Operation>>,
    /// Number of fields in the layout's table.
    pub fields: usize,
}

/// A message, nested or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Full name of its type.
    pub type_name: String,
    /// Where it begins in the payload: the next multiple of this.
    pub alignment: u32,
    /// All of them have one length, padding at the end included.
    pub fixed: bool,
    /// Fields in order.
    pub members: Vec<Member>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name in its message.
    pub name: String,
    /// Names from the root on, joined by dots; `[]` for elements.
    pub path: String,
    /// Position in the layout's table; nested messages have none.
    pub field: Option<usize>,
    /// What it holds.
    pub content: Content,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A number.
    Number(Primitive),
    /// An array of so many numbers.
    Numbers(Primitive, u32),
    /// A sequence of numbers, a text or a wide text, of at most so many elements.
    Sequence(Unit, u32),
    /// A message.
    Struct(Structure),
    /// An array of so many messages or texts.
    Array(Box<Content>, u32),
    /// A sequence of at most so many messages or texts.
    Records(Box<Content>, u32),
}

/// Element of a sequence that lies in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a text.
    Text,
    /// UTF-16 units of a wide text.
    WideText,
    /// Numbers.
    Number(Primitive),
}

impl Unit {
    /// Size in bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Text => 1,
            Self::WideText => 2,
            Self::Number(primitive) => primitive.bytes(),
        }
    }
}

/// One operation of `frame_take` and `frame_publish`; see there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Inside a loop: handed on in the stream of items.
    pub item: bool,
    /// What to do.
    pub kind: Kind,
    /// Logarithm of a size in bytes, or depth of a loop.
    pub log: u32,
    /// Position in the layout's table.
    pub field: usize,
    /// Where loops go.
    pub target: usize,
    /// Elements, at most or exactly.
    pub count: u32,
    /// Path of the field, for people.
    pub path: String,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, so many.
    Number = 0,
    /// Length and data.
    Sequence = 1,
    /// Padding.
    Align = 2,
    /// Length and a loop.
    Loop = 3,
    /// A loop of so many turns.
    Array = 4,
    /// End of a loop.
    Next = 5,
    /// End of the message.
    End = 6,
}

/// The file `message_<topic>.hpp`.
pub(crate) fn header(topic: &TopicNetwork) -> String {
    cpp::header(&topic.message(), &topic.name, topic.layout.payload_bytes_max, &topic.shape)
}

/// The adapters of a topic for both directions, by name; none if hardware has no room for the
/// program.
pub(crate) fn modules(topic: &TopicNetwork) -> Vec<(String, String)> {
    let of = format!("topic {}", topic.name);
    let adapters = [true, false].into_iter().filter_map(|publishes| {
        let name = adapter_name(&topic.message(), publishes);
        let text = adapter(&name, &of, topic.width, &topic.shape, publishes)?;
        Some((name, text))
    });
    adapters.collect()
}

/// The name of the adapter that publishes or takes these messages.
pub(crate) fn adapter_name(message: &str, publishes: bool) -> String {
    format!("{message}_{}", if publishes { "publish" } else { "take" })
}

/// The module that publishes or takes the messages of a topic or port, `of`; `None`: hardware has
/// no room for the program.
pub(crate) fn adapter(
    name: &str,
    of: &str,
    width: u32,
    shape: &MessageShape,
    publishes: bool,
) -> Option<String> {
    let program = shape.program.as_deref()?;
    Some(match publishes {
        true => publish::publish(name, of, width, shape, program),
        false => take::take(name, of, width, shape, program),
    })
}

impl MessageShape {
    /// The shape of a type, with the bounds that its payload's layout has settled.
    #[must_use]
    pub fn new(layout: &Layout, payload: &PayloadLayout) -> Self {
        let known = payload.fields.iter().enumerate();
        let known = known.map(|(index, field)| (field.path.as_str(), index)).collect();
        let builder = Builder { layout, payload, known, fixed: layout.fixed_structs() };
        let root = builder.structure(0, "");
        let mut compiler = Compiler { ops: Vec::new(), offset: Some(0), fits: true };
        compiler.structure(&root, 0);
        compiler.push(Kind::End, 0, 0, 0, "");
        let fits = compiler.fits && compiler.ops.len() <= OPS_MAX;
        Self { root, program: fits.then_some(compiler.ops), fields: payload.fields.len() }
    }

    /// Fields outside loops in the order of the payload.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Member> {
        fn collect<'a>(structure: &'a Structure, found: &mut Vec<&'a Member>) {
            for member in &structure.members {
                match &member.content {
                    Content::Struct(inner) => collect(inner, found),
                    Content::Array(..) | Content::Records(..) => {}
                    _ => found.push(member),
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        found
    }

    /// Whether there are values inside loops.
    #[must_use]
    pub fn has_items(&self) -> bool {
        self.program.iter().flatten().any(|op| op.item && op.is_asked())
    }

    /// Whether the payload's length follows from the lengths of fields outside loops.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let mut ops = self.program.iter().flatten();
        ops.all(|op| op.kind != Kind::Loop && !(op.item && op.kind == Kind::Sequence))
    }
}

impl Operation {
    /// Whether it hands on or asks for values.
    fn is_asked(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Sequence | Kind::Loop)
    }

    /// The word that the hardware reads.
    #[must_use]
    pub fn word(&self) -> u64 {
        u64::from(self.item) << 63
            | (self.kind as u64) << 60
            | u64::from(self.log) << 57
            | (self.field as u64) << 45
            | (self.target as u64) << 32
            | u64::from(self.count)
    }
}

/// How a field outside loops is joined to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A port of so many elements of so many bits, the first from bit 0 on.
    Values {
        /// Bits of an element.
        bits: u32,
        /// Elements.
        count: u32,
    },
    /// A port with room for all elements, and one for the length.
    Bounded {
        /// Bits of an element.
        bits: u32,
        /// Most elements.
        bound: u32,
    },
    /// A stream of so many elements of so many bits, one per beat.
    ValueStream {
        /// Bits of an element.
        bits: u32,
        /// Elements.
        count: u32,
    },
    /// A stream of full beats, and a port for the length.
    DataStream {
        /// Bits of an element.
        bits: u32,
        /// Most elements.
        bound: u32,
    },
}

impl Member {
    /// Name of its ports.
    #[must_use]
    pub fn port_name(&self) -> String {
        format!("field_{}", self.path.replace('.', "__"))
    }

    /// How it is joined to a node; nothing for messages and what is inside loops.
    #[must_use]
    pub fn port(&self) -> Option<Port> {
        match self.content {
            Content::Number(primitive) => {
                Some(Port::Values { bits: 8 * primitive.bytes(), count: 1 })
            }
            Content::Numbers(primitive, count) => {
                let bits = 8 * primitive.bytes();
                Some(match u64::from(bits) * u64::from(count) <= ARRAY_BITS_MAX {
                    true => Port::Values { bits, count },
                    false => Port::ValueStream { bits, count },
                })
            }
            Content::Sequence(unit, bound) => {
                let bits = 8 * unit.bytes();
                let bytes = u64::from(unit.bytes()) * u64::from(bound);
                Some(match bytes <= SEQUENCE_BYTES_MAX && bound > 0 {
                    true => Port::Bounded { bits, bound },
                    false => Port::DataStream { bits, bound },
                })
            }
            _ => None,
        }
    }
}

struct Builder<'a> {
    layout: &'a Layout,
    payload: &'a PayloadLayout,
    known: BTreeMap<&'a str, usize>,
    fixed: Vec<bool>,
}

impl Builder<'_> {
    fn structure(&self, index: usize, path: &str) -> Structure {
        let structure = &self.layout.structs[index];
        let members = structure.fields.iter().map(|field| {
            let path = match path {
                "" => field.name.clone(),
                _ => format!("{path}.{}", field.name),
            };
            let content = match (field.shape, field.element) {
                (Shape::One, element) => self.element(element, &path),
                (Shape::Array(count), ElementLayout::Primitive(primitive)) => {
                    Content::Numbers(primitive, count)
                }
                (Shape::Array(count), element) => {
                    Content::Array(Box::new(self.element(element, &format!("{path}[]"))), count)
                }
                (Shape::Sequence { .. }, ElementLayout::Primitive(primitive)) => {
                    Content::Sequence(Unit::Number(primitive), self.bound(&path))
                }
                (Shape::Sequence { .. }, element) => {
                    let element = Box::new(self.element(element, &format!("{path}[]")));
                    Content::Records(element, self.bound(&path))
                }
            };
            let field_number = self.known.get(path.as_str()).copied();
            Member { name: field.name.clone(), path, field: field_number, content }
        });
        Structure {
            type_name: structure.type_name.clone(),
            alignment: if self.fixed[index] { structure.alignment } else { 8 },
            fixed: self.fixed[index],
            members: members.collect(),
        }
    }

    fn element(&self, element: ElementLayout, path: &str) -> Content {
        match element {
            ElementLayout::Primitive(primitive) => Content::Number(primitive),
            ElementLayout::Struct(index) => Content::Struct(self.structure(index, path)),
            ElementLayout::Text { .. } => Content::Sequence(Unit::Text, self.bound(path)),
            ElementLayout::WideText { .. } => Content::Sequence(Unit::WideText, self.bound(path)),
        }
    }

    fn bound(&self, path: &str) -> u32 {
        let field = self.known.get(path).map(|index| self.payload.fields[*index].count);
        match field {
            // Bounds came as 32 bits.
            Some(ElementCount::Bounded(bound)) => bound as u32,
            _ => 0,
        }
    }
}

struct Compiler {
    ops: Vec<Operation>,
    /// Bytes behind a multiple of 8, where that is known.
    offset: Option<u32>,
    fits: bool,
}

impl Compiler {
    fn push(&mut self, kind: Kind, log: u32, field: usize, count: u32, path: &str) {
        let (item, target) = (false, 0);
        // Programs that are too long are given up in the end; they need not fill the memory.
        if self.ops.len() <= OPS_MAX {
            let path = path.to_owned();
            self.ops.push(Operation { item, kind, log, field, target, count, path });
        }
    }

    fn align(&mut self, alignment: u32) {
        match self.offset {
            Some(offset) if offset.is_multiple_of(alignment) => {}
            offset => {
                self.push(Kind::Align, alignment.trailing_zeros(), 0, 0, "");
                self.offset = match (offset, alignment) {
                    (_, 8) => Some(0),
                    (Some(offset), _) => Some(offset.next_multiple_of(alignment) % 8),
                    _ => None,
                };
            }
        }
    }

    fn structure(&mut self, structure: &Structure, depth: usize) {
        self.align(structure.alignment);
        for member in &structure.members {
            self.content(member, &member.content, depth);
        }
        if structure.fixed {
            self.align(structure.alignment);
        }
    }

    fn content(&mut self, member: &Member, content: &Content, depth: usize) {
        let field = member.field.unwrap_or(0);
        match content {
            Content::Number(primitive) => self.numbers(*primitive, 1, field, &member.path),
            Content::Numbers(primitive, count) => {
                self.numbers(*primitive, *count, field, &member.path);
            }
            Content::Sequence(unit, bound) => {
                let log = unit.bytes().trailing_zeros();
                self.push(Kind::Sequence, log, field, *bound, &member.path);
                self.offset = None;
            }
            Content::Struct(inner) => self.structure(inner, depth),
            Content::Array(element, count) => {
                self.repeat(Kind::Array, member, element, *count, depth);
            }
            Content::Records(element, bound) => {
                self.repeat(Kind::Loop, member, element, *bound, depth);
            }
        }
    }

    fn numbers(&mut self, primitive: Primitive, count: u32, field: usize, path: &str) {
        let bytes = primitive.bytes();
        self.push(Kind::Number, bytes.trailing_zeros(), field, count, path);
        self.offset = match (self.offset, bytes) {
            (_, 8) => Some(0),
            (Some(offset), _) => {
                let behind = u64::from(offset.next_multiple_of(bytes));
                Some(((behind + u64::from(bytes) * u64::from(count)) % 8) as u32)
            }
            _ => None,
        };
    }

    fn repeat(&mut self, kind: Kind, member: &Member, element: &Content, count: u32, depth: usize) {
        if depth >= DEPTH_MAX {
            self.fits = false;
            return;
        }
        let start = self.ops.len();
        self.push(kind, depth as u32, member.field.unwrap_or(0), count, &member.path);
        // The length of a sequence is asked for outside, but comes with its items.
        if let Some(op) = self.ops.get_mut(start) {
            op.item = true;
        }
        self.offset = None;
        let body = self.ops.len();
        match element {
            Content::Struct(structure) => self.structure(structure, depth + 1),
            text => {
                self.align(8);
                let path = format!("{}[]", member.path);
                let inner = Member {
                    name: String::new(),
                    path,
                    // Texts that are elements stand in the table behind their array or sequence.
                    field: member.field.map(|field| field + 1),
                    content: text.clone(),
                };
                self.content(&inner, text, depth + 1);
            }
        }
        self.ops.iter_mut().skip(body).for_each(|op| op.item = true);
        self.push(Kind::Next, depth as u32, 0, 0, &member.path);
        let behind = self.ops.len();
        for (index, target) in [(start, behind), (behind - 1, body)] {
            if let Some(op) = self.ops.get_mut(index) {
                op.target = target;
            }
        }
        self.offset = None;
    }
}
