//! No name of a node, topic, clock or port makes a module declare an identifier twice. The names to
//! try come from a generated board: whatever makes two of its identifiers meet.

use crate::nodes::Files;
use crate::support;
use crossdock_hwgen::Generated;
use crossdock_test_support::{sample, seed};
use std::collections::{BTreeMap, BTreeSet};
use support::{DRIVE, DRIVE_MAPPING, generated};

/// Stands in the files below for a name that is tried.
const NAMES: [&str; 9] = ["nqa", "nqb", "nqc", "tqa", "tqb", "tqc", "cqa", "cqb", "pqa"];
/// What a node `mqm` and a port `mqp` beside them are called stays as it is.
const GRAPH: &str = "\
crossdock: 1
name: g
topics:
  /tqa: { type: std_msgs/msg/UInt64, external: true }
  /tqb: { type: std_msgs/msg/UInt64 }
  /tqc: { type: std_msgs/msg/UInt64 }
nodes:
  camera: { package: p, type: camera, outputs: { out: /tqc } }
  show: { package: p, type: show, inputs: { in: /tqb } }
  nqa: { package: p, type: worker, inputs: { mqp: /tqa }, outputs: { pqa: /tqb } }
  nqb: { package: p, type: worker, inputs: { mqp: /tqc }, outputs: { pqa: /tqb } }
  nqc: { package: p, type: meter, inputs: { mqp: /tqb } }
  mqm: { package: p, type: edge, inputs: { mqp: /tqb } }
";
const MAPPING: &str = "\
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, show] } ] } }
fabrics: { board: { nodes: [nqa, nqb, nqc, mqm] } }
topics:
  /tqa: { mapping: gateway, probe: true }
  /tqb:
    mapping: gateway
    probe: true
    watchdog_cycles: 100
    runtime_enable: true
    publishers: { nqa: { pqa: { probe: true } }, nqb: { pqa: { probe: true } } }
    subscribers:
      nqc: { mqp: { clock: cqa, probe: true } }
      mqm: { mqp: { clock: cqb, probe: true, keep_last: 1 } }
";
const PACKAGE: &str = "\
crossdock: 1
package: p
nodes:
  worker:
    module: core
    drops: true
    refuses: [is empty]
    sources: [rtl/core.sv]
    inputs: { mqp: { type: std_msgs/msg/UInt64 } }
    outputs: { pqa: { type: std_msgs/msg/UInt64 } }
  meter:
    module: core
    drops: true
    sources: [rtl/core.sv]
    inputs: { mqp: { type: std_msgs/msg/UInt64 } }
";

/// The board with other names in the place of [`NAMES`].
fn board(names: &BTreeMap<&str, String>) -> Result<Generated, Vec<String>> {
    let [graph, mapping, package] = [GRAPH, MAPPING, PACKAGE].map(|text| {
        // All at once: a name may hold one that it stands for.
        let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        let words = words.map(|word| {
            let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
            let (word, rest) = word.split_at(end);
            format!("{}{rest}", names.get(word).map_or(word, String::as_str))
        });
        words.collect::<String>()
    });
    let source = "module core (input wire clk);\nendmodule\n".to_owned();
    Files { graph, mapping, package, source, set_up: Vec::new() }.generated()
}

/// The identifiers that each module or package declares, in order.
fn declared(generated: &Generated) -> Vec<(String, Vec<String>)> {
    const KINDS: [&str; 5] = ["wire", "logic", "reg", "int", "unsigned"];
    let made = |name: &&String| {
        let beginnings = ["network_", "board_", "hmt_", "direct_", "layout_"];
        beginnings.iter().any(|it| name.starts_with(it)) && (name.ends_with("v"))
    };
    let mut modules = Vec::new();
    for file in generated.files.keys().filter(made) {
        let mut found = Vec::new();
        let mut module = String::new();
        for line in generated.files[file].lines() {
            let line = line.split("//").next().unwrap_or_default();
            let words: Vec<&str> =
                line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let is_word = |word: &&&str| !word.starts_with(|c: char| c.is_ascii_digit());
            match words.as_slice() {
                ["module" | "package", name, ..] => (*name).clone_into(&mut module),
                // An instance, with or without parameters.
                [name] if line.ends_with(" (") && line.starts_with("  )") => {
                    found.push((*name).to_owned());
                }
                [_, name] if line.ends_with(" (") => found.push((*name).to_owned()),
                [kind, ..]
                    if [&KINDS[..], &["input", "output", "localparam"]].concat().contains(kind) =>
                {
                    let range = line.rfind("] ").filter(|_| !line.contains('=')).map(|at| at + 2);
                    let rest = &line[range.unwrap_or(0)..];
                    let rest = rest.split(['=', ';', ',']).next().unwrap_or_default();
                    let name = rest.split_whitespace().rfind(|it| is_word(&it));
                    found.extend(name.filter(|it| !KINDS.contains(it)).map(str::to_owned));
                }
                _ => {}
            }
        }
        assert!(!module.is_empty() && !found.is_empty(), "{file}");
        modules.push((module, found));
    }
    modules
}

/// What is declared more than once.
fn faults_of_modules(generated: &Generated) -> Vec<String> {
    let mut faults = Vec::new();
    let mut modules = BTreeSet::new();
    for (module, names) in declared(generated) {
        let mut seen = BTreeSet::new();
        let twice = names.iter().filter(|name| !seen.insert(*name));
        faults.extend(twice.map(|name| format!("{module} declares {name} twice")));
        if !modules.insert(module.clone()) {
            faults.push(format!("{module} is defined twice"));
        }
    }
    let mut seen = BTreeSet::new();
    let twice = generated.registers.iter().filter(|it| !seen.insert(&it.name));
    faults.extend(twice.map(|it| format!("the register {} is there twice", it.name)));
    faults
}

/// The same, and what cannot be joined to a model in C++.
fn faults(generated: &Generated) -> Vec<String> {
    let mut faults = faults_of_modules(generated);
    let wrapper = &generated.files["wrapper.cpp"];
    let tables = [wrapper, &generated.files["board.cpp"]].map(|text| {
        let used =
            text.lines().filter(|line| line.contains("&model.") || line.contains("(model, "));
        used.filter(|line| line.contains("__")).map(str::to_owned).collect::<Vec<_>>()
    });
    faults.extend(tables.concat().into_iter().map(|line| format!("{line} is encoded in C++")));
    faults
}

/// An identifier as text around one of the names.
#[derive(Clone, Copy)]
struct Form<'a> {
    name: Option<&'static str>,
    before: &'a str,
    after: &'a str,
}

fn forms(identifier: &str) -> Vec<Form<'_>> {
    let of_names = NAMES.into_iter().filter_map(|name| {
        let (before, after) = identifier.split_once(name)?;
        Some(Form { name: Some(name), before, after })
    });
    let of_names: Vec<_> = of_names.collect();
    match of_names.as_slice() {
        [] => vec![Form { name: None, before: identifier, after: "" }],
        _ => of_names,
    }
}

/// Names that make two forms one identifier, if there are any.
fn meeting(a: Form<'_>, b: Form<'_>) -> Option<BTreeMap<&'static str, String>> {
    let name = a.name?;
    let Some(other) = b.name else {
        let middle = b.before.strip_prefix(a.before)?.strip_suffix(a.after)?;
        return Some([(name, middle.to_owned())].into());
    };
    if name == other {
        return None;
    }
    let (x, y) = match (a.before.strip_prefix(b.before), b.before.strip_prefix(a.before)) {
        (Some(more), _) => ("", more),
        (_, Some(more)) => (more, ""),
        _ => return None,
    };
    let (x_end, y_end) = match (a.after.strip_suffix(b.after), b.after.strip_suffix(a.after)) {
        (Some(more), _) => ("", more),
        (_, Some(more)) => (more, ""),
        _ => return None,
    };
    Some([(name, format!("{x}q{x_end}")), (other, format!("{y}q{y_end}"))].into())
}

#[test]
fn no_names_make_a_module_declare_an_identifier_twice() {
    let plain = board(&BTreeMap::new()).unwrap();
    assert_eq!(faults(&plain), [""; 0]);
    let mut tried = BTreeSet::new();
    for (_, identifiers) in declared(&plain) {
        let forms: Vec<Form<'_>> = identifiers.iter().flat_map(|it| forms(it)).collect();
        for a in &forms {
            tried.extend(forms.iter().filter_map(|b| meeting(*a, *b)));
        }
    }
    let (mut found, mut refused) = (Vec::new(), 0);
    for names in &tried {
        match board(names) {
            Ok(generated) => {
                let faults = faults(&generated);
                found.extend(faults.into_iter().map(|fault| format!("{names:?}: {fault}")));
            }
            Err(violations) => {
                let says = [" in hardware", " is no valid ROS name: ", " is here twice"];
                let is_named = |it: &String| says.iter().any(|says| it.contains(says));
                assert!(violations.iter().any(is_named), "{names:?}: {violations:#?}");
                refused += 1;
            }
        }
    }
    println!("{} sets of names, {refused} refused", tried.len());
    assert!(found.is_empty(), "{} faults: {found:#?}", found.len());
    assert!(refused > 0 && tried.len() > 20, "the forms are not those of the board");
}

#[test]
fn what_the_generator_declares_is_a_name_like_any_other() {
    let plain = board(&BTreeMap::new()).unwrap();
    let all = declared(&plain).into_iter().flat_map(|(_, names)| names);
    // What stands behind an underscore is the end of an identifier that is made of a name.
    let parts = |name: String| -> Vec<String> {
        let ends = name.match_indices('_').map(|(at, _)| name[at + 1..].to_owned());
        ends.chain([name.clone()]).collect()
    };
    let of_streams = |name: &String| name.contains("_axis_") || name.contains("axi_");
    let all: BTreeSet<String> = all.filter(|name| !of_streams(name)).flat_map(parts).collect();
    let is_tried = |name: &String| {
        let first = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_token = first && !name.contains("__") && !name.ends_with('_');
        is_token && !NAMES.iter().any(|it| name.contains(it)) && name != "mqm"
    };
    let all: Vec<String> = all.into_iter().filter(is_tried).collect();
    let (mut tried, mut found) = (0, Vec::new());
    for name in sample(all, 40, seed()) {
        for role in ["nqa", "tqb", "cqa"] {
            let names = [(role, name.clone())].into();
            let generated = board(&names).unwrap_or_else(|it| panic!("{names:?}: {it:#?}"));
            found.extend(faults(&generated).into_iter().map(|it| format!("{names:?}: {it}")));
            tried += 1;
        }
    }
    assert_eq!(tried, 120);
    assert!(found.is_empty(), "{} faults: {found:#?}", found.len());
}

#[test]
fn registers_and_constants_of_ports_keep_apart_whatever_nodes_and_ports_are_called() {
    // `a.b_set` and the register that sets the probe of `a.b`.
    let graph = DRIVE.replace("stop: { package", "control_command: { package").replace(
        "red: /light/red }, outputs: { command: /cmd_vel }",
        "red: /light/red }, outputs: { set: /cmd_vel }",
    );
    let probed = "watchdog_cycles: 65536, publishers: { control: { command: { probe: true } }, \
                  control_command: { set: { probe: true } } } }";
    let mapping = DRIVE_MAPPING
        .replace("control, stop]", "control, control_command]")
        .replace("watchdog_cycles: 65536 }", probed);
    let made = generated(&graph, &mapping).unwrap();
    let names = made.registers.iter().map(|it| it.name.as_str());
    let probes: Vec<&str> = names.filter(|name| name.contains("cmd_vel.probe_")).collect();
    let control = "cmd_vel.probe_s_axis_control_command";
    let all = ["_count", "_set_count", "_set", "_set_set"].map(|end| format!("{control}{end}"));
    assert_eq!(probes, all);
    assert_eq!(faults_of_modules(&made), [""; 0]);
    // The beginning of a stream's signals may be the name of a node.
    let graph = DRIVE.replace("stop: { package", "s_axis_control: { package");
    let mapping = DRIVE_MAPPING.replace("control, stop]", "control, s_axis_control]");
    let layout = &generated(&graph, &mapping).unwrap().files["layout_cmd_vel.sv"];
    for constant in ["PUBLISHER__control_command__ID", "PUBLISHER__s_axis_control_command__ID"] {
        assert!(layout.contains(&format!(" {constant} = ")), "{layout}");
    }
}

#[test]
fn a_port_or_clock_with_an_underscore_at_its_end_is_refused() {
    // Verilator calls the port otherwise in C++, where two underscores follow one another.
    let reserved = "in hardware, and tools keep double underscores for themselves; rename";
    let refused = |name: &'static str, to: &str| -> String {
        let violations = board(&[(name, to.to_owned())].into()).unwrap_err();
        violations.first().cloned().unwrap_or_default()
    };
    assert_eq!(
        refused("cqa", "q_"),
        format!("m.yaml:13:14: the clock `q_` becomes `q__clk` {reserved} the clock")
    );
    assert!(refused("cqa", "_").contains("the clock `_` becomes `__clk` in hardware"));
    assert_eq!(
        refused("pqa", "q_"),
        format!(
            "g.yaml:10:74: node `nqa`, topic `/tqb`: `nqa.q_` becomes `s_axis_nqa_q_` {reserved} node, port \
             or topic"
        )
    );
    assert!(board(&[("cqa", "_q".to_owned()), ("pqa", "_".to_owned())].into()).is_err());
    assert_eq!(faults(&board(&[("cqa", "_q".to_owned())].into()).unwrap()), [""; 0]);
}

#[test]
fn topics_in_host_memory_whose_messages_would_have_one_name_are_refused() {
    let graph =
        DRIVE.replace("/light/red", "/cam/era").replace("/light/green", "/cam_era").replace(
            "/cam_era: { type: std_msgs/msg/UInt8 }",
            "/cam_era: { type: std_msgs/msg/UInt64 }",
        );
    let topics = DRIVE_MAPPING.find("topics:").unwrap();
    let violations = generated(&graph, &DRIVE_MAPPING[..topics]).unwrap_err();
    assert_eq!(
        violations,
        [
            "g.yaml:10:3: topic `/cam_era`: its messages become `message_cam_era` in hardware, as those on \
             `/cam/era` do; rename one of them"
        ]
    );
}
