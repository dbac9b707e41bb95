//! The description of a trace in TSDL: written from the classes of events, and read back if
//! Crossdock has written it.

use super::PROCNAME_BYTES;
use crate::model::Class;
use crate::schema::FieldType;
use std::fmt::Write;

/// What stands before the events, with the UUID and the offset of the clock to be put in. Shaped as
/// LTTng-UST's: its readers look for `tracer_name`, the prefix `_` and these very contexts. The
/// header of events is a variant, because a plain field `timestamp` there would hide the one of
/// `ros2:rmw_publish`.
const FRONT: &str = r#"/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;

trace {
	major = 1;
	minor = 8;
	uuid = "UUID";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
	};
};

env {
	domain = "ust";
	tracer_name = "lttng-ust";
	tracer_major = 2;
	tracer_minor = 13;
	tracer_buffering_scheme = "uid";
	architecture_bit_width = 64;
	crossdock_version = "VERSION";
};

clock {
	name = "monotonic";
	uuid = "UUID";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = OFFSET;
};

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := uint64_clock_monotonic_t;

struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
};

struct event_header {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct {
			uint64_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);

stream {
	id = 0;
	event.header := struct event_header;
	packet.context := struct packet_context;
	event.context := struct {
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _vpid;
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _vtid;
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _procname[PROCNAME];
	};
};
"#;

/// The type of a field, up to its name, and what follows the name.
fn type_text(kind: FieldType) -> (&'static str, &'static str) {
    match kind {
        FieldType::Handle => {
            ("integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; }", "")
        }
        FieldType::U64 => {
            ("integer { size = 64; align = 8; signed = 0; encoding = none; base = 10; }", "")
        }
        FieldType::I64 => {
            ("integer { size = 64; align = 8; signed = 1; encoding = none; base = 10; }", "")
        }
        FieldType::I32 => {
            ("integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; }", "")
        }
        FieldType::U32 => {
            ("integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; }", "")
        }
        FieldType::F64 => {
            ("floating_point { exp_dig = 11; mant_dig = 53; byte_order = le; align = 8; }", "")
        }
        FieldType::Text => ("string { encoding = UTF8; }", ""),
        FieldType::Gid => {
            ("integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; }", "[16]")
        }
    }
}

const TYPES: [FieldType; 8] = [
    FieldType::Handle,
    FieldType::U64,
    FieldType::I64,
    FieldType::I32,
    FieldType::U32,
    FieldType::F64,
    FieldType::Text,
    FieldType::Gid,
];

/// The whole description.
pub(super) fn write(uuid: [u8; 16], epoch_offset_ns: i64, classes: &[Class]) -> String {
    let mut text = FRONT
        .replace("UUID", &uuid_text(uuid))
        .replace("OFFSET", &epoch_offset_ns.to_string())
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("PROCNAME", &PROCNAME_BYTES.to_string());
    for (id, class) in classes.iter().enumerate() {
        let _ = write!(
            text,
            "\nevent {{\n\tname = \"{}\";\n\tid = {id};\n\tstream_id = 0;\n\tloglevel = 13;\n\
             \tfields := struct {{\n",
            class.full_name(),
        );
        for (name, kind) in &class.fields {
            let (before, behind) = type_text(*kind);
            let _ = writeln!(text, "\t\t{before} _{name}{behind};");
        }
        text.push_str("\t};\n};\n");
    }
    text
}

fn uuid_text(uuid: [u8; 16]) -> String {
    let mut text = String::new();
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What a description says of its trace.
pub(super) struct Described {
    pub(super) epoch_offset_ns: i64,
    /// By id.
    pub(super) classes: Vec<Class>,
}

/// Reads a description that [`write`] wrote; anything else is told by the line where it differs.
pub(super) fn read(text: &str) -> Result<Described, String> {
    let wrong = |number: usize, line: &str| format!("line {}: `{}`", number + 1, line.trim());
    let front_lines = FRONT.lines().count();
    let mut epoch_offset_ns = None;
    for (number, (line, expected)) in text.lines().zip(FRONT.lines()).enumerate() {
        let (before, _) = split_placeholder(expected);
        if !line.starts_with(before) {
            return Err(wrong(number, line));
        }
        if expected.contains("OFFSET") {
            let value = line[before.len()..].trim_end_matches(';').parse::<i64>();
            epoch_offset_ns = Some(value.map_err(|_| wrong(number, line))?);
        }
    }
    let epoch_offset_ns = epoch_offset_ns.ok_or("it ends before the clock")?;
    let mut classes = Vec::new();
    let mut class: Option<Class> = None;
    for (number, line) in text.lines().enumerate().skip(front_lines) {
        let line_of = line.trim();
        if let Some(name) = between(line_of, "name = \"", "\";") {
            let (provider, name) = name.split_once(':').ok_or_else(|| wrong(number, line))?;
            let (provider, name) = (provider.to_owned(), name.to_owned());
            class = Some(Class { provider, name, fields: Vec::new() });
        } else if let Some(id) = between(line_of, "id = ", ";") {
            if id.parse() != Ok(classes.len()) {
                return Err(wrong(number, line));
            }
        } else if line == "};" {
            classes.push(class.take().ok_or_else(|| wrong(number, line))?);
        } else if line.starts_with("\t\t") {
            let field = TYPES.iter().find_map(|kind| {
                let (before, behind) = type_text(*kind);
                let name = between(line_of, before, ";")?.strip_suffix(behind)?;
                Some((name.trim().strip_prefix('_')?.to_owned(), *kind))
            });
            let field = field.ok_or_else(|| wrong(number, line))?;
            class.as_mut().ok_or_else(|| wrong(number, line))?.fields.push(field);
        }
    }
    Ok(Described { epoch_offset_ns, classes })
}

/// A line of [`FRONT`] before what is put in.
fn split_placeholder(line: &str) -> (&str, &str) {
    let marks = ["UUID", "OFFSET", "VERSION", "PROCNAME"];
    marks.iter().find_map(|mark| line.split_once(mark)).unwrap_or((line, ""))
}

fn between<'a>(line: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.strip_suffix(behind)
}
