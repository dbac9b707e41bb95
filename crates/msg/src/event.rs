//! Events of services: the messages by which ROS 2 lets others watch the calls of a service. An
//! event is written around a request or a response as it lies in memory, and a request is read out
//! of a recorded event.

#![forbid(unsafe_code)]

use crate::block::{
    Block, BlockMut, FlatBuffer, FlatError, REFERENCE_BYTES, Reference, array_alignment,
};
use crate::cdr::{self, CdrError, CdrReader, Op, Plan};
use crate::definition::{ServiceDefinition, TypeName, parse_merged};
use crate::message::Message;
use crate::resolve::Library;
use crate::schema::{Schema, SchemaError};
use crate::service::ServiceSchema;
use crate::stamp::stamp_of;
use crate::types::service_msgs::ServiceEventInfo;

/// What the name of the type of a service's events has behind that of the service.
const SUFFIX: &str = "_Event";

/// What has happened to a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A client has sent a request.
    RequestSent,
    /// A server has taken a request.
    RequestReceived,
    /// A server has sent a response.
    ResponseSent,
    /// A client has taken a response.
    ResponseReceived,
}

impl EventKind {
    const ALL: [(u8, EventKind); 4] = [
        (ServiceEventInfo::REQUEST_SENT, EventKind::RequestSent),
        (ServiceEventInfo::REQUEST_RECEIVED, EventKind::RequestReceived),
        (ServiceEventInfo::RESPONSE_SENT, EventKind::ResponseSent),
        (ServiceEventInfo::RESPONSE_RECEIVED, EventKind::ResponseReceived),
    ];

    /// Its number in ROS 2's `service_msgs/msg/ServiceEventInfo`.
    pub fn number(self) -> u8 {
        Self::ALL[self as usize].0
    }

    /// The kind of this number; `None` if ROS 2 has none.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }

    /// Which part of the service the event is about.
    fn part(self) -> usize {
        match self {
            Self::RequestSent | Self::RequestReceived => 0,
            Self::ResponseSent | Self::ResponseReceived => 1,
        }
    }
}

/// What an event says beside the request or the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHead {
    /// What has happened.
    pub kind: EventKind,
    /// When, in ns.
    pub stamp_ns: u64,
    /// The client.
    pub client_gid: [u8; 16],
    /// Which of the client's requests.
    pub sequence_number: u64,
}

impl EventHead {
    fn write(&self, memory: &mut [u8]) {
        let mut used = 0;
        let mut info = ServiceEventInfo::builder(BlockMut::new(memory, &mut used));
        info.set_event_type(self.kind.number());
        let (seconds, nanoseconds) = stamp_of(self.stamp_ns);
        info.stamp().set_sec(seconds);
        info.stamp().set_nanosec(nanoseconds);
        info.set_client_gid(&self.client_gid);
        info.set_sequence_number(self.sequence_number.cast_signed());
    }
}

/// The type of a service's events, with the types of what they hold.
///
/// Immutable; may be shared between threads. Making one allocates.
#[derive(Clone, Debug)]
pub struct EventSchema {
    events: Schema,
    /// Request and response: the type, and where an event's root refers to it.
    parts: [(Schema, usize); 2],
}

impl EventSchema {
    /// The events of a service.
    ///
    /// # Errors
    ///
    /// None for services that have a [`ServiceSchema`].
    pub fn of(service: &ServiceSchema) -> Result<Self, SchemaError> {
        let texts = [service.request(), service.response()].map(Schema::definition);
        Self::of_definitions(service.type_name(), texts)
    }

    /// The same, from the service's name and the merged texts of its request and its response.
    ///
    /// # Errors
    ///
    /// The name is none of a service, or a text breaks the syntax.
    pub fn of_definitions(service: &str, texts: [&str; 2]) -> Result<Self, SchemaError> {
        let wrong = || SchemaError::ServiceName { text: service.to_owned() };
        let name = TypeName::parse_service(service).ok_or_else(wrong)?;
        let mut library = Library::new();
        let mut part = |name: TypeName, text: &str| -> Result<_, SchemaError> {
            let definitions = parse_merged(&name, text)?;
            let own = definitions.iter().find(|it| it.type_name == name).cloned();
            definitions.into_iter().for_each(|it| library.add(it));
            own.ok_or_else(wrong)
        };
        let (request, response) =
            (part(name.request(), texts[0])?, part(name.response(), texts[1])?);
        let file = name.to_string();
        library.add_service(ServiceDefinition { type_name: name.clone(), file, request, response });
        let schema = |name: TypeName| Schema::from_library(&library, &name.to_string());
        let events = schema(name.event())?;
        let fields = &events.layout().root().fields;
        // `info`, `request` and `response`, as `ServiceDefinition::event` derives them.
        let places = [fields[1].offset as usize, fields[2].offset as usize];
        let parts = [(schema(name.request())?, places[0]), (schema(name.response())?, places[1])];
        Ok(Self { events, parts })
    }

    /// The type of the events.
    pub fn schema(&self) -> &Schema {
        &self.events
    }

    /// Bytes of an event in the flat layout, without contents or with contents of this length.
    pub fn bytes(&self, contents: Option<usize>) -> usize {
        let root = self.events.root_bytes();
        contents.map_or(root, |bytes| start_of(root, bytes).saturating_add(bytes))
    }

    /// Writes an event into `memory`, which starts at a multiple of 64 and is
    /// [`EventSchema::bytes`] long, and gives the bytes used. `contents`: the request or the
    /// response in the flat layout, as the kind says; it is copied once.
    ///
    /// Allocates for errors only.
    ///
    /// # Errors
    ///
    /// The contents are no message of their type; or the memory is too small.
    pub fn write(
        &self,
        head: &EventHead,
        contents: Option<Block<'_>>,
        memory: &mut [u8],
    ) -> Result<usize, FlatError> {
        let bytes = self.bytes(contents.map(Block::len));
        let block_bytes = memory.len();
        let Some(memory) = memory.get_mut(..bytes) else {
            return Err(FlatError::TooShort { block_bytes, root_bytes: bytes });
        };
        let root = self.events.root_bytes();
        memory[..root].fill(0);
        head.write(memory);
        let Some(contents) = contents else { return Ok(bytes) };
        let (schema, at) = &self.parts[head.kind.part()];
        let start = start_of(root, contents.len());
        let (before, copy) = memory.split_at_mut(start);
        copy.copy_from_slice(contents.as_bytes());
        // What is checked and moved is the copy, which nobody else can write.
        schema.validate(Block::new(copy))?;
        let left = copy.len();
        Relocation { plan: schema.plan(), memory: copy, by: start as u64, left }.run(0, 0)?;
        before[*at..at + 8].copy_from_slice(&(start as u64).to_le_bytes());
        before[at + 8..at + REFERENCE_BYTES].copy_from_slice(&ONE.to_le_bytes());
        Ok(bytes)
    }

    /// What an encoded event says, and its request: `request` then holds it in the flat layout, or
    /// nothing if the event has none (those of responses, and those that were published without
    /// contents). Allocates if `request` has to grow, and for input that is not XCDR1 little
    /// endian.
    ///
    /// # Errors
    ///
    /// The input is damaged, or no event of this type.
    pub fn request_of_cdr(
        &self,
        cdr: &[u8],
        request: &mut FlatBuffer,
    ) -> Result<Option<EventKind>, CdrError> {
        self.events.flat_bytes_of_cdr(cdr)?;
        self.read_request(cdr, request).or_else(|error| {
            let rewritten = cdr::rewritten_or(self.events.layout(), cdr, error)?;
            self.read_request(&rewritten, request)
        })
    }

    fn read_request(
        &self,
        cdr: &[u8],
        request: &mut FlatBuffer,
    ) -> Result<Option<EventKind>, CdrError> {
        let mut input = CdrReader::new(cdr)?;
        let kind = EventKind::of_number(input.run(1, 1)?[0]);
        // Stamp and client, and the number behind them.
        input.run(24, 4)?;
        input.run(8, 8)?;
        let count = input.length(1)?;
        input.check_bound(count, 1)?;
        request.resize(0);
        if count == 1 {
            let plan = self.parts[0].0.plan();
            request.resize(cdr::flat_bytes_at(plan, &mut input.clone())?);
            cdr::decode_at(plan, &mut input, request.as_mut_slice())?;
        }
        Ok(kind)
    }
}

impl ServiceSchema {
    /// The service whose events have this type, as recordings carry it.
    ///
    /// # Errors
    ///
    /// The type is none of events as ROS 2 derives them.
    pub fn of_events(events: &Schema) -> Result<Self, SchemaError> {
        let other = || SchemaError::NotEvents { type_name: events.type_name().to_owned() };
        let service = events.type_name().strip_suffix(SUFFIX).ok_or_else(other)?;
        let name = TypeName::parse_service(service).ok_or_else(other)?;
        let mut library = Library::new();
        let definitions = parse_merged(&name.event(), events.definition())?;
        let part = |name: TypeName| {
            definitions.iter().find(|it| it.type_name == name).cloned().ok_or_else(other)
        };
        let (request, response) = (part(name.request())?, part(name.response())?);
        definitions.iter().for_each(|it| library.add(it.clone()));
        let file = events.type_name().to_owned();
        library.add_service(ServiceDefinition { type_name: name, file, request, response });
        let service = Self::from_library(&library, service)?;
        match EventSchema::of(&service)?.schema().type_hash() == events.type_hash() {
            true => Ok(service),
            false => Err(other()),
        }
    }
}

/// Length and capacity of a sequence with one element.
const ONE: u64 = 1 | 1 << 32;

/// Where contents of this length lie in an event: so that what they hold is aligned as before.
fn start_of(root: usize, contents: usize) -> usize {
    root.next_multiple_of(array_alignment(contents))
}

/// Moves all references of a message by a distance. The message was validated.
struct Relocation<'a> {
    plan: &'a Plan,
    memory: &'a mut [u8],
    by: u64,
    /// Bytes of elements that may still be visited: elements that lie on each other would be moved
    /// twice, and then lead anywhere.
    left: usize,
}

impl Relocation<'_> {
    /// Moves the references of the struct at byte `base`. Nesting is bounded by `resolve`, the sum
    /// of all elements by `left`.
    fn run(&mut self, program: usize, base: usize) -> Result<(), FlatError> {
        let plan = self.plan;
        for op in &plan.programs[program].ops {
            match *op {
                Op::Run { .. } => {}
                Op::Text { at, .. } | Op::WideText { at, .. } | Op::Array { at, .. } => {
                    self.shift(base + at as usize)?;
                }
                Op::Sequence { at, program, .. } => {
                    let element = &plan.programs[program];
                    let (first, count) = self.shift(base + at as usize)?;
                    let count = if element.whole.is_some() { 0 } else { count };
                    for index in 0..count {
                        self.spend(element.stride)?;
                        self.run(program, first.saturating_add(index * element.stride))?;
                    }
                }
                Op::Repeat { at, count, program } => {
                    let stride = plan.programs[program].stride;
                    for index in 0..count as usize {
                        self.run(program, base + at as usize + index * stride)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves the reference at byte `at`, and gives what it has named.
    fn shift(&mut self, at: usize) -> Result<(usize, usize), FlatError> {
        let Reference { offset, length, .. } = Block::new(self.memory).reference(at)?;
        if length == 0 {
            return Ok((0, 0));
        }
        let moved = offset.saturating_add(self.by);
        // `reference` has read there.
        self.memory[at..at + 8].copy_from_slice(&moved.to_le_bytes());
        Ok((usize::try_from(offset).unwrap_or(usize::MAX), length as usize))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), FlatError> {
        let overlap = FlatError::Overlap { block_bytes: self.memory.len() };
        self.left = self.left.checked_sub(bytes).ok_or(overlap)?;
        Ok(())
    }
}
