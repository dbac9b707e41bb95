//! What the testbench has to know of a message's ports: both adapters as one module, and the ports
//! by kind.

use crossdock_hwgen::message::{MessageShape, Port};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Verilator has names of its own for ports with double underscores.
fn plain(name: &str) -> String {
    name.replace("__", "_X_")
}

/// A module with the ports of both adapters, prefixed by `t_` and `p_`.
pub(crate) fn both(name: &str, files: &BTreeMap<String, String>) -> String {
    let (mut ports, mut body) = (Vec::new(), String::new());
    for (direction, prefix) in [("take", "t"), ("publish", "p")] {
        let module = &files[&format!("message_t_{direction}.sv")];
        let (_, module) = module.split_once(") (\n").expect("its ports");
        let (list, _) = module.split_once("\n);").expect("their end");
        let mut connections = Vec::new();
        for port in list.lines().map(|line| line.trim_end_matches(',')) {
            let port_name = port.rsplit(' ').next().expect("a name");
            if port_name != "clk" && port_name != "rst" {
                let outer = plain(port_name);
                let from = format!(" {port_name}");
                let renamed = port.replacen(&from, &format!(" {prefix}_{outer}"), 1);
                ports.push(renamed.replace("output logic", "output wire"));
                connections.push(format!(".{port_name}({prefix}_{outer})"));
            }
        }
        let _ = writeln!(
            body,
            "  message_t_{direction} #(.WIDTH(WIDTH)) {direction} (.clk(clk), .rst(rst), {});",
            connections.join(", ")
        );
    }
    format!(
        "`default_nettype none\nmodule {name} #(parameter int unsigned WIDTH = 64) (\n  input wire clk,\n  \
         input wire rst,\n{}\n);\n{body}endmodule\n`default_nettype wire\n",
        ports.join(",\n")
    )
}

/// The ports by kind, as lists for a macro.
pub(crate) fn ports(shape: &MessageShape) -> String {
    let mut lists = [String::new(), String::new(), String::new(), String::new()];
    for member in shape.leaves() {
        let (Some(port), Some(field)) = (member.port(), member.field) else { continue };
        let name = plain(&member.port_name());
        let (list, rest) = match port {
            Port::Values { bits, count } => (0, format!("{bits}, {count}")),
            Port::Bounded { bits, bound } => (1, format!("{bits}, {bound}u")),
            Port::ValueStream { bits, count } => (2, format!("{bits}, {count}")),
            Port::DataStream { bits, .. } => (3, format!("{bits}")),
        };
        let _ = write!(lists[list], " X({field}, {name}, {rest})");
    }
    let can_fail = !shape.is_measured() || !lists[1].is_empty() || !lists[3].is_empty();
    let [values, bounded, value_streams, data_streams] = lists;
    format!(
        "#define VALUES(X){values}\n#define BOUNDED(X){bounded}\n#define VALUE_STREAMS(X){value_streams}\n\
         #define DATA_STREAMS(X){data_streams}\n#define HAS_ITEMS {}\n#define MEASURED {}\n\
         #define CAN_FAIL {}\n",
        u8::from(shape.has_items()),
        u8::from(shape.is_measured()),
        u8::from(can_fail)
    )
}
