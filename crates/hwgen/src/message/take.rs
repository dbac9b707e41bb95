//! The module that takes the messages of one topic or port apart, as SystemVerilog: the program,
//! registers for small fields, streams for large ones. All that moves along the payload is in
//! `frame_take`.

use super::{MessageShape, Operation, Port};
use std::fmt::Write as _;

/// A module under construction, for both directions.
pub(super) struct Module {
    pub(super) ports: Vec<String>,
    pub(super) body: String,
}

impl Module {
    pub(super) fn new() -> Self {
        Self { ports: Vec::new(), body: String::new() }
    }

    pub(super) fn port(&mut self, direction: &str, range: &str, name: &str) {
        let space = if range.is_empty() { "" } else { " " };
        self.ports.push(format!("  {direction} {range}{space}{name}"));
    }

    pub(super) fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// The program, as a table that `pc` selects from.
    pub(super) fn program(&mut self, program: &[Operation]) {
        self.line("  logic [63:0] op;");
        self.line("  always_comb begin");
        self.line("    case (pc)");
        for (pc, op) in program.iter().enumerate() {
            let (item, kind, log) = (u8::from(op.item), op.kind as u8, op.log);
            let (field, target, count) = (op.field, op.target, op.count);
            let comment = if op.path.is_empty() { String::new() } else { format!(" {}", op.path) };
            let kind_name = format!("{:?}", op.kind).to_lowercase();
            self.line(&format!(
                "      13'd{pc}: op = {{1'd{item}, 3'd{kind}, 3'd{log}, 12'd{field}, 13'd{target}, \
                 32'd{count}}};  // {kind_name}{comment}"
            ));
        }
        self.line("      default: op = {1'd0, 3'd6, 60'd0};");
        self.line("    endcase");
        self.line("  end\n");
    }

    pub(super) fn text(self, comment: &str, name: &str, width: u32) -> String {
        format!(
            "{comment}`default_nettype none\n\nmodule {name} #(\n  parameter int unsigned WIDTH = \
             {width}\n) (\n{}\n);\n\n{}endmodule\n\n`default_nettype wire\n",
            self.ports.join(",\n"),
            self.body
        )
    }
}

/// `[7:0]`.
pub(crate) fn range(bits: u64) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0]", bits - 1) }
}

/// Ports that every module has: direction, range, name.
const PORTS: [(&str, &str, &str); 16] = [
    ("input  wire", "", "clk"),
    ("input  wire", "", "rst"),
    ("input  wire", "[WIDTH-1:0]", "s_axis_tdata"),
    ("input  wire", "[WIDTH/8-1:0]", "s_axis_tkeep"),
    ("input  wire", "", "s_axis_tlast"),
    ("input  wire", "", "s_axis_tuser"),
    ("input  wire", "", "s_axis_tvalid"),
    ("output wire", "", "s_axis_tready"),
    ("output wire", "", "valid"),
    ("input  wire", "", "ready"),
    ("output wire", "", "failed"),
    ("output wire", "[2:0]", "fault"),
    ("output wire", "[15:0]", "header_publisher_id"),
    ("output wire", "[31:0]", "header_payload_bytes"),
    ("output wire", "[31:0]", "header_sequence"),
    ("output wire", "[63:0]", "header_stamp"),
];

/// The module of this name for the messages of a topic or port, `of`.
pub(super) fn take(
    name: &str,
    of: &str,
    width: u32,
    shape: &MessageShape,
    program: &[Operation],
) -> String {
    let type_name = shape.root.type_name.as_str();
    let mut module = Module::new();
    for (direction, range, port) in PORTS {
        module.port(direction, range, port);
    }
    module.port("output logic", &range(shape.fields as u64), "parsed");
    signals(&mut module);
    module.program(program);

    let (mut registers, mut ready) = (String::new(), String::new());
    let mut parsed = vec![false; shape.fields];
    for member in shape.leaves() {
        let (Some(port), Some(field)) = (member.port(), member.field) else { continue };
        let name = member.port_name();
        parsed[field] = matches!(port, Port::Values { .. } | Port::Bounded { .. });
        match port {
            Port::Values { bits, count } => {
                values(&mut module, &mut registers, &name, field, bits, count);
            }
            Port::Bounded { bits, bound } => {
                bounded(&mut module, &mut registers, &name, field, bits, bound);
            }
            Port::ValueStream { count, .. } => {
                stream(&mut module, &name);
                module
                    .line(&format!("  assign {name}__tvalid = top && event_field == 12'd{field};"));
                module.line(&format!("  assign {name}__tlast = event_index == 32'd{};", count - 1));
                let _ = writeln!(ready, "      12'd{field}: event_ready = {name}__tready;");
            }
            Port::DataStream { .. } => {
                module.port("output logic", "[31:0]", &format!("{name}__length"));
                stream(&mut module, &name);
                module.line(&format!(
                    "  assign {name}__tvalid = top && event_sequence && event_field == 12'd{field};"
                ));
                module.line(&format!("  assign {name}__tlast = event_last;"));
                let _ = writeln!(
                    registers,
                    "        12'd{field}: if (event_length) {name}__length <= event_data[31:0];"
                );
                let _ = writeln!(
                    ready,
                    "      12'd{field}: event_ready = event_length || {name}__tready;"
                );
            }
        }
    }
    if shape.has_items() {
        items(&mut module);
    }
    choose_ready(&mut module, &ready, shape.has_items());
    small_fields(&mut module, &registers, &parsed);
    instance(&mut module);
    module.text(&comment(of, type_name), name, width)
}

/// Small fields in registers, and the bits that say which of them stand.
fn small_fields(module: &mut Module, registers: &str, parsed: &[bool]) {
    module.line("  always_ff @(posedge clk) begin");
    module.line("    if (begins) parsed <= '0;");
    module.line("    if (event_valid && event_ready && !event_item) begin");
    if !registers.is_empty() {
        module.line("      case (event_field)");
        module.body.push_str(registers);
        module.line("        default: ;");
        module.line("      endcase");
    }
    let mask: String = parsed.iter().rev().map(|it| if *it { '1' } else { '0' }).collect();
    let fields = parsed.len();
    module.line("      if (event_ends)");
    module.line(&format!(
        "        parsed <= parsed | ({fields}'d1 << event_field) & {fields}'b{mask};"
    ));
    module.line("    end");
    module.line("    if (rst) parsed <= '0;");
    module.line("  end\n");
}

fn comment(of: &str, type_name: &str) -> String {
    format!(
        "// Takes messages of {of}, {type_name}, from its stream.\n\
         //\n\
         // Fields        Small ones are registers that hold from the moment when their bit of `parsed`\n\
         //               (position as in layouts.md) is set to the next message. Large ones are streams,\n\
         //               which have to be taken, as they pass: tkeep counts bytes in every beat, tindex\n\
         //               is the element in byte 0; tuser: the frame ended before them. Fields inside\n\
         //               arrays and sequences of messages or texts come as `items`, value by value in the\n\
         //               order of the payload: tfield is the position in layouts.md, tkind 0 a number, 1\n\
         //               a length, 2 data, toffset the byte in the payload.\n\
         // Messages      `valid`: a whole right message; all of it stands until `ready`. Non-blocking:\n\
         //               look at `valid` once; blocking: wait for it. `failed`, `fault`, latency and\n\
         //               throughput: see frame_take.\n\
         // Generated by crossdock gen hw.\n"
    )
}

/// The signals between `frame_take` and everything else.
fn signals(module: &mut Module) {
    for line in [
        "  wire [12:0] pc;",
        "  wire event_valid;",
        "  logic event_ready;",
        "  wire event_item;",
        "  wire event_length;",
        "  wire event_sequence;",
        "  wire [11:0] event_field;",
        "  wire [31:0] event_index;",
        "  wire [31:0] event_offset;",
        "  wire [WIDTH-1:0] event_data;",
        "  wire [$clog2(WIDTH/8):0] event_bytes;",
        "  wire event_last;",
        "  wire event_user;",
        "  wire begins;",
        "  wire top = event_valid && !event_item;",
        "  wire [WIDTH/8-1:0] keep = ~({WIDTH/8{1'b1}} << event_bytes);",
        "",
    ] {
        module.line(line);
    }
}

fn values(
    module: &mut Module,
    registers: &mut String,
    name: &str,
    field: usize,
    bits: u32,
    count: u32,
) {
    module.port("output logic", &range(u64::from(bits) * u64::from(count)), name);
    let last = bits - 1;
    let _ = match count {
        1 => writeln!(registers, "        12'd{field}: {name} <= event_data[{last}:0];"),
        _ => writeln!(
            registers,
            "        12'd{field}: {name}[event_index*{bits} +: {bits}] <= event_data[{last}:0];"
        ),
    };
}

/// Whole beats are written, so that the register behind the port may be longer than it. Data come
/// in full beats: the division says that they lie at multiples of them, without which the choice of
/// a place costs a shifter.
fn bounded(
    module: &mut Module,
    registers: &mut String,
    name: &str,
    field: usize,
    bits: u32,
    bound: u32,
) {
    let all = bits * bound;
    module.port("output logic", "[31:0]", &format!("{name}__length"));
    module.port("output wire", &range(u64::from(all)), name);
    module.line(&format!(
        "  localparam int unsigned {name}__BITS = ({all} + WIDTH - 1) / WIDTH * WIDTH;"
    ));
    module.line(&format!("  logic [{name}__BITS-1:0] {name}__register;"));
    module.line(&format!("  assign {name} = {name}__register[{}:0];", all - 1));
    let _ = write!(
        registers,
        "        12'd{field}: begin\n          if (event_length) begin\n            {name}__length <= \
         event_data[31:0];\n            {name}__register <= '0;\n          end else if (!event_user) \
         begin\n            {name}__register[event_index / (WIDTH/{bits}) * WIDTH +: WIDTH] <= \
         event_data;\n          end\n        end\n"
    );
    module.line(&format!(
        "  if ({name}__BITS > {all}) begin : g_{name}\n    wire unused = &{{1'b0, \
         {name}__register[{name}__BITS-1:{all}]}};\n  end"
    ));
}

fn stream(module: &mut Module, name: &str) {
    for (direction, range, signal) in [
        ("output wire", "[WIDTH-1:0]", "tdata"),
        ("output wire", "[WIDTH/8-1:0]", "tkeep"),
        ("output wire", "[31:0]", "tindex"),
        ("output wire", "", "tlast"),
        ("output wire", "", "tuser"),
        ("output wire", "", "tvalid"),
        ("input  wire", "", "tready"),
    ] {
        module.port(direction, range, &format!("{name}__{signal}"));
    }
    module.line(&format!("  assign {name}__tdata = event_data;"));
    module.line(&format!("  assign {name}__tkeep = keep;"));
    module.line(&format!("  assign {name}__tindex = event_index;"));
    module.line(&format!("  assign {name}__tuser = event_user;"));
}

fn items(module: &mut Module) {
    for (direction, range, signal, value) in [
        ("output wire", "[11:0]", "tfield", "event_field"),
        ("output wire", "[1:0]", "tkind", "{event_sequence, event_length}"),
        ("output wire", "[31:0]", "tindex", "event_index"),
        ("output wire", "[31:0]", "toffset", "event_offset"),
        ("output wire", "[WIDTH-1:0]", "tdata", "event_data"),
        ("output wire", "[WIDTH/8-1:0]", "tkeep", "keep"),
        ("output wire", "", "tlast", "event_last"),
        ("output wire", "", "tuser", "event_user"),
        ("output wire", "", "tvalid", "event_valid && event_item"),
    ] {
        module.port(direction, range, &format!("items_{signal}"));
        module.line(&format!("  assign items_{signal} = {value};"));
    }
    module.port("input  wire", "", "items_tready");
}

/// Everything but streams is taken at once.
fn choose_ready(module: &mut Module, ready: &str, has_items: bool) {
    module.line("\n  always_comb begin");
    module.line("    event_ready = 1'b1;");
    if !ready.is_empty() {
        module.line("    case (event_field)");
        module.body.push_str(ready);
        module.line("      default: ;");
        module.line("    endcase");
    }
    if has_items {
        module.line("    if (event_item) event_ready = items_tready;");
    }
    module.line("  end\n");
    module.line(
        "  // The last of a field: only a length that is not 0 has something behind it, and arrays",
    );
    module.line("  // have more numbers.");
    module.line("  wire event_ends = event_length ? event_data[31:0] == '0");
    module.line("                  : event_sequence ? event_last && !event_user : event_index + 32'd1 == op[31:0];");
    module.line("  wire unused = &{1'b0, event_data, event_offset, event_user, keep, top};\n");
}

fn instance(module: &mut Module) {
    module.line("  frame_take #(\n    .WIDTH(WIDTH)\n  ) walk (");
    let ports = [
        "clk",
        "rst",
        "s_axis_tdata",
        "s_axis_tkeep",
        "s_axis_tlast",
        "s_axis_tuser",
        "s_axis_tvalid",
        "s_axis_tready",
        "pc",
        "op",
        "event_valid",
        "event_ready",
        "event_item",
        "event_length",
        "event_sequence",
        "event_field",
        "event_index",
        "event_offset",
        "event_data",
        "event_bytes",
        "event_last",
        "event_user",
        "header_publisher_id",
        "header_payload_bytes",
        "header_sequence",
        "header_stamp",
        "begins",
        "valid",
        "ready",
        "failed",
        "fault",
    ];
    let ports: Vec<String> = ports.iter().map(|port| format!("    .{port}({port})")).collect();
    module.line(&ports.join(",\n"));
    module.line("  );\n");
}
