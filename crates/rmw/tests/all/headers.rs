//! The tables of sizes and offsets against real headers: a probe in C prints what a compiler makes
//! of them.
//!
//! Debian carries the headers of rosidl and rcutils, as in Humble. `make rmw-abi ROS=PREFIX` names
//! an installation of ROS 2 in `CROSSDOCK_ROS` and its distribution by the crate's feature; then
//! rmw's own headers are there, too.

use crossdock_test_support::skip;
use rmw_crossdock::abi::{DISTRIBUTION, Layout, current, humble, shared, symbols};
use std::path::Path;
use std::process::Command;

const HEADERS: [&str; 13] = [
    "rcutils/types/string_array.h",
    "rcutils/types/uint8_array.h",
    "rosidl_runtime_c/string.h",
    "rosidl_runtime_c/u16string.h",
    "rosidl_runtime_c/service_type_support_struct.h",
    "rosidl_typesupport_introspection_c/field_types.h",
    "rosidl_typesupport_introspection_c/message_introspection.h",
    "rosidl_typesupport_introspection_c/service_introspection.h",
    "rmw/event.h",
    "rmw/names_and_types.h",
    "rmw/message_sequence.h",
    "rmw/network_flow_endpoint_array.h",
    "rmw/topic_endpoint_info_array.h",
];

/// What a probe is to print: `name value`, `name bytes` and `name.field offset`.
struct Table {
    layouts: Vec<Layout>,
    constants: Vec<(&'static str, i64)>,
}

fn lines(table: &Table) -> String {
    let mut text = String::new();
    for (name, value) in &table.constants {
        text.push_str(&format!("{name} {value}\n"));
    }
    let layouts = &table.layouts;
    for layout in layouts {
        text.push_str(&format!("{} {}\n", layout.name, layout.bytes));
        for (field, offset) in layout.fields {
            text.push_str(&format!("{}.{} {offset}\n", layout.name, in_c(field)));
        }
    }
    text
}

/// `impl` is a word of Rust.
fn in_c(field: &str) -> &str {
    if field == "impl_" { "impl" } else { field }
}

/// The probe: includes what there is, and prints every size and offset of the tables.
fn probe(table: &Table, headers: &[&str]) -> String {
    let mut text = String::from("#include <stddef.h>\n#include <stdio.h>\n");
    headers.iter().for_each(|header| text.push_str(&format!("#include \"{header}\"\n")));
    text.push_str("int main(void)\n{\n");
    for (name, _) in &table.constants {
        let prefix = "rosidl_typesupport_introspection_c__";
        let prefix = if name.starts_with("ROS_TYPE_") { prefix } else { "" };
        text.push_str(&format!("  printf(\"{name} %d\\n\", (int){prefix}{name});\n"));
    }
    for Layout { name, fields, .. } in &table.layouts {
        text.push_str(&format!("  printf(\"{name} %zu\\n\", sizeof({name}));\n"));
        for field in fields.iter().map(|(field, _)| in_c(field)) {
            let offset = format!("offsetof({name}, {field})");
            text.push_str(&format!("  printf(\"{name}.{field} %zu\\n\", {offset});\n"));
        }
    }
    text.push_str("  return 0;\n}\n");
    text
}

/// Compiles and runs the probe with headers below `include`, each package in a folder of its own.
fn printed(include: &Path, table: &Table, headers: &[&str], of: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) =
        (folder.join(format!("probe-{of}.c")), folder.join(format!("probe-{of}")));
    std::fs::write(&source, probe(table, headers)).unwrap();
    let mut command = Command::new("cc");
    command.arg("-w").arg(&source).arg("-o").arg(&program).arg("-I").arg(include);
    for entry in std::fs::read_dir(include).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && ["rmw", "rcutils", "rosidl"].iter().any(|it| name.starts_with(it)) {
            command.arg("-I").arg(path);
        }
    }
    let compiled = command.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(program).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sizes_offsets_and_constants_are_those_of_debians_headers() {
    let include = Path::new("/usr/include");
    if !include.join("rosidl_typesupport_introspection_c").exists() {
        return skip("Debian's headers of rosidl are not installed: run `make packages`");
    }
    let all = humble::LAYOUTS.iter().chain(shared::LAYOUTS);
    // Debian has no rmw, and no hash of types: its rosidl is Humble's.
    let is_here = |it: &&Layout| !it.name.starts_with("rmw_") && it.name != "rosidl_type_hash_t";
    let layouts: Vec<_> = all.filter(is_here).copied().collect();
    assert!(layouts.len() > 8);
    let table = Table { layouts, constants: shared::MEMBER_TYPES.to_vec() };
    assert_eq!(printed(include, &table, &HEADERS[..8], "debian"), lines(&table));
}

#[test]
#[ignore = "needs an installation of ROS 2: make rmw-abi ROS=PREFIX"]
fn sizes_offsets_and_constants_are_those_of_the_installation_that_is_named() {
    let Some(prefix) = std::env::var_os("CROSSDOCK_ROS") else {
        return skip("no installation of ROS 2 is named: `make rmw-abi ROS=PREFIX` names one");
    };
    let constants = [shared::RESULTS, shared::MEMBER_TYPES, shared::POLICIES, current::EVENTS];
    let mut table = Table { layouts: shared::LAYOUTS.to_vec(), constants: constants.concat() };
    if DISTRIBUTION == "humble" {
        let later = ["rmw_discovery_options_t", "rmw_matched_status_t", "rosidl_type_hash_t"];
        table.layouts.retain(|it| !later.contains(&it.name));
    } else {
        table.constants.extend_from_slice(shared::POLICIES_FROM_JAZZY);
    }
    table.layouts.extend_from_slice(current::LAYOUTS);
    let mut headers = HEADERS.to_vec();
    if DISTRIBUTION == "lyrical" {
        headers.push("rmw/service_endpoint_info.h");
    }
    let printed = printed(&Path::new(&prefix).join("include"), &table, &headers, "named");
    assert_eq!(printed, lines(&table), "{DISTRIBUTION}");
}

#[test]
fn every_function_is_named_once() {
    let all = [symbols::ALL, symbols::UP_TO_JAZZY, symbols::FROM_JAZZY, symbols::FROM_LYRICAL];
    let mut names: Vec<_> = all.iter().flat_map(|names| names.iter()).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.iter().all(|name| name.starts_with("rmw_")));
}
