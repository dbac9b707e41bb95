//! Node types that exist in hardware: what their files say, and how they are held against software
//! and the mapping.

use crate::support;
use crossdock_graph::{
    BinaryDescription, Graph, HardwarePackage, Mapping, NodeArea, NodeTypeDescription,
    NodeUltraRam, PackageDescription, PackageDescriptions, ParameterValue, Plan, RunOptions,
    Violation, check, check_fabrics,
};
use std::collections::BTreeMap;
use support::{IMAGE, LANE, input, node_type, output, parameter};

const GRAPH: &str = "\
crossdock: 1
name: g
nodes:
  camera: { package: p, type: camera, outputs: { image: /a } }
  invert:
    package: p
    type: invert
    inputs: { image: /a }
    outputs: { inverted: /b }
    parameters: { mask: 3 }
  show: { package: p, type: show, inputs: { image: /b } }
";
const PACKAGE: &str = "\
crossdock: 1
package: p
nodes:
  invert:
    sources: [invert.sv]
    parameters: { mask: 255 }
    inputs: { image: { type: sensor_msgs/msg/Image, bounds: { data: 9 } } }
    outputs: { inverted: { type: sensor_msgs/msg/Image } }
";

fn in_fabric() -> Mapping {
    let text = "crossdock: 1\nprocesses: { a: { executors: [ { mode: chain, nodes: [camera, show] } ] } }\n\
                fabrics: { board: { nodes: [invert] } }\n\
                topics: { /a: { mapping: gateway }, /b: { mapping: gateway } }\n";
    Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap()
}

fn in_process() -> Mapping {
    Mapping::one_chain_per_package(&Graph::from_yaml("g.yaml", GRAPH.as_bytes()).unwrap())
}

/// What exists: camera and screen in software, and what is given.
fn descriptions(
    software: Option<NodeTypeDescription>,
    hardware: Option<&str>,
) -> PackageDescriptions {
    let camera = node_type("camera", vec![], vec![output("image", IMAGE)], vec![]);
    let show = node_type("show", vec![input("image", IMAGE, true)], vec![], vec![]);
    let nodes = [camera, show].into_iter().chain(software).collect();
    let package = PackageDescription { name: "p".into(), nodes };
    let binary = BinaryDescription { binary: "crossdock-p".into(), packages: vec![package] };
    let read = |text: &str| HardwarePackage::from_yaml("p.hardware.yaml", text.as_bytes()).unwrap();
    PackageDescriptions {
        binaries: vec![binary],
        hardware: hardware.map(read).into_iter().collect(),
    }
}

fn invert(parameters: Vec<crossdock_graph::ParameterDescription>) -> NodeTypeDescription {
    let (inputs, outputs) = (vec![input("image", IMAGE, true)], vec![output("inverted", IMAGE)]);
    node_type("invert", inputs, outputs, parameters)
}

fn checked(mapping: &Mapping, descriptions: &PackageDescriptions) -> Result<Plan, Vec<String>> {
    checked_graph(GRAPH, mapping, descriptions)
}

fn checked_graph(
    graph: &str,
    mapping: &Mapping,
    all: &PackageDescriptions,
) -> Result<Plan, Vec<String>> {
    let graph = Graph::from_yaml("g.yaml", graph.as_bytes()).unwrap();
    let plan = check(&graph, mapping, all, &RunOptions::PLAIN);
    plan.map_err(|violations| violations.iter().map(Violation::to_string).collect())
}

#[test]
fn a_file_is_read_with_its_defaults() {
    let package = HardwarePackage::from_yaml("p", PACKAGE.as_bytes()).unwrap();
    let node = package.node_type("invert").unwrap();
    assert_eq!((package.name.as_str(), node.module.as_str(), node.width), ("p", "invert", 64));
    assert_eq!(node.sources, ["invert.sv"]);
    assert_eq!(node.description.parameter("mask").unwrap().default, ParameterValue::Integer(255));
    assert!(node.description.input("image").unwrap().trigger);
    assert_eq!(node.bounds(false, "image").unwrap()["data"], 9);
    assert!(node.bounds(true, "inverted").unwrap().is_empty());
    assert!(node.bounds(true, "image").is_none());
    assert!(package.node_type("other").is_none());
}

/// The only thing that is wrong with a package file in which `to` stands in place of `from`.
fn refused_in(file: &str, from: &str, to: &str) -> String {
    assert!(file.contains(from), "{from}");
    let text = file.replacen(from, to, 1);
    let violations = HardwarePackage::from_yaml("p.yaml", text.as_bytes()).unwrap_err();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations[0].to_string()
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_line_and_advice() {
    let refused = |from: &str, to: &str| refused_in(PACKAGE, from, to);
    assert_eq!(
        refused("[invert.sv]", "[/home/invert.sv, a.sv]"),
        "p.yaml:5:15: the source `/home/invert.sv` is no relative path; name a file relative to this \
         one, like `node/threshold.sv`"
    );
    // A package is what lies in its folder, and compilers take what begins with `-` for an option.
    for (source, fault) in [
        ("../invert.sv", "leaves the folder of the package with `..`"),
        ("a/../../invert.sv", "leaves the folder of the package with `..`"),
        ("--exec=x.vhd", "contains '='"),
        ("-x/invert.vhd", "has a part that begins with `-`"),
        ("a/-o.sv", "has a part that begins with `-`"),
    ] {
        let told = refused("[invert.sv]", &format!("[{source}, a.sv]"));
        assert!(
            told.starts_with(&format!("p.yaml:5:15: the source `{source}` {fault};")),
            "{told}"
        );
    }
    assert!(refused("[invert.sv]", "[../invert.sv]").contains(" leaves the folder "));
    assert_eq!(
        refused("[invert.sv]", "[invert.sv]\n    drops: true\n    refuses: [\"too\\tlong\"]"),
        "p.yaml:7:15: a reason is more than a line of text; write it in one line, without tabs"
    );
    assert_eq!(
        refused("[invert.sv]", "[a/b.sv, c/b.sv]"),
        "p.yaml:5:23: `c/b.sv` and `a/b.sv` have one file name; the generated files lie in one folder: \
         rename one of them"
    );
    assert_eq!(
        refused("[invert.sv]", "[invert.svh]"),
        "p.yaml:5:14: there is no source to compile; name the files with the node's module; they end \
         in `.sv`, `.v`, `.vhd` and `.vhdl`"
    );
    assert_eq!(
        refused("mask: 255", "mask: 1.5"),
        "p.yaml:6:25: parameter `mask` of a module must be an integer; write a whole number, scaled if \
         need be (per myriad, 1/256)"
    );
    assert_eq!(
        refused("mask: 255", "mask: 5000000000"),
        "p.yaml:6:25: parameter `mask` must be -2147483648 to 2147483647; choose a value in between: \
         parameters of modules have 32 bits"
    );
    assert_eq!(
        refused("parameters:", "refuses: pictures\n    parameters:"),
        "p.yaml:6:14: a node that refuses messages drops them; write `drops: true` beside `refuses`, and \
         give the module both outputs"
    );
    assert_eq!(
        refused("parameters:", "made_from: [camera]\n    parameters:"),
        "p.yaml:6:17: `camera` is under `made_from`, and `built_in` names no file `camera`; write the name \
         of a file, or a value under `built_in` that is one"
    );
    assert_eq!(
        refused("parameters:", "sized_by: [masks]\n    parameters:"),
        "p.yaml:6:16: `masks` is under `sized_by`, and no parameter; did you mean `mask`?"
    );
    assert_eq!(
        refused("mask: 255", "mask: 255, Mask: 1"),
        "p.yaml:6:30: `Mask` becomes `MASK` in the module, as `mask` does; rename one of them"
    );
    assert_eq!(
        refused("type: sensor_msgs/msg/Image }", "type: Image }"),
        "p.yaml:8:34: the message type `Image` is no valid ROS name: it is not of the form \
         `package/msg/Type`; write it like `sensor_msgs/msg/Image`"
    );
}

#[test]
fn a_parameter_has_values_within_its_range() {
    let range = "mask: { default: 255, from_value: -1, to_value: 255, step: 4 }";
    let text = PACKAGE.replace("mask: 255", range);
    let package = HardwarePackage::from_yaml("p", text.as_bytes()).unwrap();
    let node = package.node_type("invert").unwrap();
    assert_eq!(node.description.parameter("mask").unwrap().default, ParameterValue::Integer(255));
    let all = descriptions(Some(invert(vec![])), Some(&text));
    for (mask, is_one) in [("3", true), ("-1", true), ("255", true)].into_iter().chain([
        ("4", false),
        ("-5", false),
        ("259", false),
    ]) {
        let graph = GRAPH.replace("mask: 3", &format!("mask: {mask}"));
        let checked = checked_graph(&graph, &in_fabric(), &all);
        assert_eq!(checked.is_ok(), is_one, "{mask}: {checked:#?}");
        if let Err(violations) = checked {
            assert_eq!(
                violations,
                [
                    "g.yaml:10:25: node `invert`: parameter `mask` of `invert` in hardware must be -1 to \
                  255 in steps of 4; choose such a value, or keep the node in a process"
                ]
            );
            // The software has its own range.
            let software = invert(vec![parameter("mask", 1_i64)]);
            let all = descriptions(Some(software), Some(&text));
            assert!(checked_graph(&graph, &in_process(), &all).is_ok());
        }
    }
    let wrong = text.replace("default: 255", "default: 254");
    let violations = HardwarePackage::from_yaml("p.yaml", wrong.as_bytes()).unwrap_err();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(
        violations[0].to_string(),
        "p.yaml:6:25: the default of `mask` must be -1 to 255 in steps of 4, and it is 254; correct the \
         default, or the range"
    );
    assert_eq!(
        refused_in(PACKAGE, "mask: 255", "mask: { default: 7, from_value: 9, to_value: 5 }"),
        "p.yaml:6:25: no value of `mask` is 9 to 5; correct `from_value` or `to_value`"
    );
    assert_eq!(
        refused_in(PACKAGE, "mask: 255", "mask: { default: 255, step: 4 }"),
        "p.yaml:6:47: the steps of `mask` begin nowhere; `step` counts from `from_value`: write it, too"
    );
}

#[test]
fn a_module_may_have_a_parameter_of_the_node_in_another_unit() {
    let scaled =
        "mask_per_mille: { default: 255, from_value: 0, to_value: 500, of: mask, times: 1000 }";
    let text = PACKAGE.replace("mask: 255", scaled);
    let package = HardwarePackage::from_yaml("p", text.as_bytes()).unwrap();
    let node = package.node_type("invert").unwrap();
    assert_eq!(node.description.parameter("mask").unwrap().default, ParameterValue::Double(0.255));
    assert_eq!(node.module_parameter("mask"), "MASK_PER_MILLE");
    for (value, module) in [(0.4996, Some(500)), (-0.0015, Some(-2)), (1e300, None)] {
        assert_eq!(node.module_value("mask", &ParameterValue::Double(value)), module, "{value}");
    }
    assert_eq!(node.module_value("mask", &ParameterValue::Integer(2)), Some(2000));
    assert_eq!(node.module_value("mask", &ParameterValue::Bool(true)), None);
    let software = Some(invert(vec![parameter("mask", 0.5)]));
    let all = descriptions(software, Some(&text));
    for (mask, is_one) in
        [("0.3", true), ("0", true), ("0.5006", false), ("1e20", false), ("-0.0001", false)]
    {
        let graph = GRAPH.replace("mask: 3", &format!("mask: {mask}"));
        let checked = checked_graph(&graph, &in_fabric(), &all);
        assert_eq!(checked.is_ok(), is_one, "{mask}: {checked:#?}");
        if let Err(violations) = checked {
            assert_eq!(
                violations,
                [
                    "g.yaml:10:25: node `invert`: parameter `mask` times 1000 of `invert` in hardware must \
                  be 0 to 500; choose such a value, or keep the node in a process"
                ]
            );
        }
    }
    // The module's own name is none of the node.
    let graph = GRAPH.replace("mask: 3", "mask_per_mille: 3");
    let violations = checked_graph(&graph, &in_fabric(), &all).unwrap_err();
    assert!(violations[0].contains("has no parameter `mask_per_mille`"), "{violations:#?}");
}

#[test]
fn the_widths_of_a_port_are_read_and_are_parameters_of_their_own() {
    let text = PACKAGE.replace("Image } }", "Image, widths: [128, 64] } }");
    let package = HardwarePackage::from_yaml("p", text.as_bytes()).unwrap();
    let node = package.node_type("invert").unwrap();
    assert_eq!(node.widths(true, "inverted"), Some(&[128, 64][..]));
    assert_eq!(node.widths(false, "image"), None);
    assert_eq!(
        (node.default_width(true, "inverted"), node.default_width(false, "image")),
        (128, 64)
    );
    let refused = |from: &str, to: &str| refused_in(&text, from, to);
    assert_eq!(
        refused("[128, 64]", "[96]"),
        "p.yaml:8:66: a width must be 64, 128, 256 or 512 bits, not 96; choose one of these"
    );
    assert_eq!(
        refused("[128, 64]", "[64, 64]"),
        "p.yaml:8:70: 64 stands twice in `widths`; remove one of them"
    );
    assert_eq!(
        refused("[128, 64]", "[]"),
        "p.yaml:8:65: there is no width to choose from; name some, like `[64, 128]`, or remove `widths`"
    );
    assert_eq!(
        refused("mask: 255", "inverted_bits: 255"),
        "p.yaml:4:3: the width of `inverted` becomes `INVERTED_BITS` in the module, as parameter \
         `inverted_bits` does; rename the port, or the other one"
    );
}

#[test]
fn what_a_node_takes_of_a_part_is_read_and_checked() {
    let plain = HardwarePackage::from_yaml("p", PACKAGE.as_bytes()).unwrap();
    assert_eq!(plain.node_type("invert").unwrap().area, None);
    let text = PACKAGE.replace(
        "    parameters:",
        "    area: { lut: 9, ff: 8, bram18: 7, dsp: 6, in_uram: { bram18: 5, uram: 4 } }\n    parameters:",
    );
    let package = HardwarePackage::from_yaml("p", text.as_bytes()).unwrap();
    let in_uram = Some(NodeUltraRam { bram18: 5, uram: 4 });
    let area = NodeArea { lut: 9, ff: 8, bram18: 7, dsp: 6, in_uram };
    assert_eq!(package.node_type("invert").unwrap().area, Some(area));
    let refused = |from: &str, to: &str| refused_in(&text, from, to);
    assert_eq!(
        refused("ff: 8", "ff: -8"),
        "p.yaml:6:25: `ff` of an area must be 0 to 100000000; choose a value in between"
    );
    assert_eq!(
        refused("dsp: 6", "dsp: six"),
        "p.yaml:6:44: `dsp` of an area must be an integer, not text; write a whole number"
    );
    assert_eq!(
        refused(" dsp: 6,", ""),
        "p.yaml:6:11: the area of a node type needs the key `dsp`; add `dsp: ...`"
    );
    assert_eq!(
        refused("uram: 4", "uram: 0"),
        "p.yaml:6:75: `uram` of an area must be 1 to 100000000; choose a value in between"
    );
    assert_eq!(
        refused("bram18: 5", "bram18: 8"),
        "p.yaml:6:56: 8 blocks of `invert` may lie in UltraRAM, more than the 7 that it takes; \
         `in_uram.bram18` is a part of `bram18`: correct one of them"
    );
    let text = text.replace("bram18: 7", "bram18: 73");
    assert_eq!(
        refused_in(&text, "bram18: 5", "bram18: 73"),
        "p.yaml:6:57: 73 blocks of `invert` may lie in UltraRAM, more than the 72 that 4 of \
         UltraRAM can hold; correct `bram18` or `uram` of `in_uram`"
    );
    let full = text.replace("bram18: 5", "bram18: 72");
    HardwarePackage::from_yaml("p", full.as_bytes()).unwrap();
}

#[test]
fn a_node_type_that_is_hardware_only_has_an_interface_in_a_fabric() {
    let all = descriptions(None, Some(PACKAGE));
    let plan = checked(&in_fabric(), &all).unwrap();
    assert_eq!(plan.fabrics[0].nodes, ["invert"]);
    assert_eq!(plan.topics[1].message_type.as_deref(), Some(IMAGE));
    assert_eq!(plan.warnings, []);
    let wrong = GRAPH.replace("image: /a }\n", "picture: /a }\n");
    assert_eq!(
        checked_graph(&wrong, &in_fabric(), &all).unwrap_err(),
        [
            "g.yaml:5:3: node `invert`: input `image` (sensor_msgs/msg/Image) is not connected; add \
             `image: /topic` under `inputs`",
            "g.yaml:8:24: node `invert`: `invert` has no input `picture`; its inputs are: `image`",
        ]
    );
    let wrong = GRAPH.replace("mask: 3", "mask: 3.5");
    let violations = checked_graph(&wrong, &in_fabric(), &all).unwrap_err();
    assert_eq!(
        violations,
        [
            "g.yaml:10:25: node `invert`: parameter `mask` must be of type integer, not double; write a \
          value of type integer"
        ]
    );
}

#[test]
fn a_node_in_a_process_needs_software() {
    let violations = checked(&in_process(), &descriptions(None, Some(PACKAGE))).unwrap_err();
    assert_eq!(
        violations,
        ["g.yaml:7:11: node `invert`: `invert` of package `p` exists in hardware only \
          (p.hardware.yaml), and the mapping places the node in a process; place it in a fabric, or put \
          a `crossdock-p` that has it on the package path"]
    );
    let software = Some(invert(vec![parameter("mask", 1_i64)]));
    assert!(checked(&in_process(), &descriptions(software, Some(PACKAGE))).is_ok());
}

#[test]
fn a_node_in_a_fabric_needs_no_hardware_to_be_checked() {
    let software = invert(vec![parameter("mask", 1_i64)]);
    assert!(checked(&in_fabric(), &descriptions(Some(software), None)).is_ok());
    let violations = checked(&in_fabric(), &descriptions(None, None)).unwrap_err();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    let says = "package `p` has no node type `invert`";
    assert!(violations[0].contains(says), "{violations:#?}");
    // The network generator asks only what is known.
    let graph = Graph::from_yaml("g.yaml", GRAPH.as_bytes()).unwrap();
    assert_eq!(check_fabrics(&graph, &in_fabric(), &PackageDescriptions::default()), Ok(()));
    let wrong = Graph::from_yaml("g.yaml", GRAPH.replace("image: /a }\n", "x: /a }\n").as_bytes());
    let found = check_fabrics(&wrong.unwrap(), &in_fabric(), &descriptions(None, Some(PACKAGE)));
    assert_eq!(found.unwrap_err().len(), 2);
}

#[test]
fn what_exists_twice_has_the_same_ports_and_types() {
    let mut software = invert(vec![parameter("mask", 1_i64)]);
    software.inputs.push(input("other", LANE, false));
    software.outputs[0].message_type = LANE.into();
    // What a graph may leave unconnected need not be in hardware.
    software.inputs.push(input("unless", LANE, false));
    software.inputs[2].optional = true;
    let graph = GRAPH.replace("/b", "/c");
    for mapping in [in_process(), in_fabric()] {
        let all = descriptions(Some(software.clone()), Some(PACKAGE));
        let violations = checked_graph(&graph, &mapping, &all).unwrap_err();
        let of_package: Vec<&String> =
            violations.iter().filter(|it| it.starts_with("p.hardware.yaml")).collect();
        assert_eq!(
            of_package,
            [
                "p.hardware.yaml:4:3: input `other` of `invert` is in software, not in hardware; make \
                 the inputs of `invert` the same here and in `crossdock-p`, which has `image`, `other` \
                 and `unless`",
                "p.hardware.yaml:8:34: output `inverted` of `invert` is of type \
                 `sensor_msgs/msg/Image` in hardware and of type `autorace_msgs/msg/Lane` in software; \
                 make the outputs of `invert` the same here and in `crossdock-p`, which has `inverted`",
            ],
            "{violations:#?}"
        );
    }
}

#[test]
fn a_node_in_a_fabric_has_the_values_that_its_module_was_made_with() {
    let file = PACKAGE.replace("parameters:", "built_in: { size: [1, 2.5] }\n    parameters:");
    assert_ne!(file, PACKAGE);
    let size = parameter("size", ParameterValue::DoubleArray(vec![0.0, 0.0]));
    let all = descriptions(Some(invert(vec![size])), Some(&file));
    let with = |value: &str| GRAPH.replace("mask: 3", &format!("mask: 3, size: {value}"));
    assert_eq!(checked_graph(&with("[1.0, 2.5]"), &in_fabric(), &all).unwrap().warnings, []);
    // The node in software may have any value.
    assert_eq!(checked_graph(&with("[1, 2]"), &in_process(), &all).unwrap().warnings.len(), 1);
    for (graph, how) in
        [(with("[1, 2]"), "is another"), (GRAPH.to_owned(), "is by default another")]
    {
        let violations = checked_graph(&graph, &in_fabric(), &all).unwrap_err();
        assert_eq!(violations.len(), 1, "{violations:#?}");
        let told = format!("parameter `size` {how} value than `invert` in hardware was made with");
        assert!(violations[0].contains(&told), "{violations:#?}");
    }
}

#[test]
fn sources_that_are_set_up_are_made_for_other_values_than_those_built_in() {
    let file = PACKAGE.replace(
        "parameters:",
        "built_in: { size: [1, 2.5], name: x }\n    set_up: { invert.sv: invert-setup }\n    \
         parameters:",
    );
    let size = parameter("size", ParameterValue::DoubleArray(vec![0.0, 0.0]));
    let name = parameter("name", ParameterValue::String("x".into()));
    let all = descriptions(Some(invert(vec![size, name])), Some(&file));
    let with = |value: &str| GRAPH.replace("mask: 3", &format!("mask: 3, size: {value}"));
    assert_eq!(checked_graph(&with("[1, 2]"), &in_fabric(), &all).unwrap().warnings, []);
    let violations = checked_graph(&with("wide"), &in_fabric(), &all).unwrap_err();
    assert!(violations[0].contains("must be of type"), "{violations:#?}");

    let package = HardwarePackage::from_yaml("p.yaml", file.as_bytes()).unwrap();
    let size = |numbers: &[f64]| {
        BTreeMap::from([("size".to_owned(), ParameterValue::DoubleArray(numbers.to_vec()))])
    };
    let node = package.node_type("invert").unwrap();
    assert!(node.made_with_others(&size(&[1.0, 2.5])).is_empty());
    assert_eq!(node.made_with_others(&size(&[1.0, 2.0])), ["size"]);

    let set_up = |command: &str, rules: &[&str]| {
        let made = package.clone().set_up_by(command, rules.iter().copied());
        made.map_err(|refused| refused[0].to_string())
    };
    let values = ["[0.1, -0.0]", "[1e-300, 2.5e300]"];
    for value in values {
        let made = set_up("invert-setup", &[&format!("size:={value}")]).unwrap();
        // What it was told reads back as it was written.
        let made = &made.node_type("invert").unwrap().built_in;
        assert_eq!(made["size"].to_yaml(), value);
        assert_eq!(made["name"], ParameterValue::String("x".into()));
    }
    assert_eq!(
        set_up("invert-setup", &["sise:=3"]).unwrap_err(),
        "p.yaml:2:10: `invert-setup` knows no value `sise`; did you mean `size`?"
    );
    assert_eq!(
        set_up("blur-setup", &[]).unwrap_err(),
        "p.yaml:2:10: no node type of `p` is set up by `blur-setup`; name the package's own file, which \
         has the command under `set_up`"
    );
    assert!(set_up("invert-setup", &["size"]).is_err());

    let refused = |from: &str, to: &str| refused_in(&file, from, to);
    assert_eq!(
        refused("{ invert.sv: ", "{ other.sv: "),
        "p.yaml:7:15: `other.sv` is under `set_up`, and no source in Verilog of `invert`; name it as it \
         stands under `sources`"
    );
    assert_eq!(
        refused("invert-setup", "-x"),
        "p.yaml:7:26: `-x` is no command of a package binary; name one in small letters, digits and `-`, \
         like `lane-setup`"
    );
}

#[test]
fn what_only_executors_see_to_is_warned_of_where_the_node_is_hardware() {
    let graph = GRAPH.replace(
        "inputs: { image: /a }\n    outputs: { inverted",
        "inputs: { image: { topic: /a, max_age_ms: 5 } }\n    budget_ms: 1\n    \
         condition: { any_of: [image], newest_not_older_than_ms: { image: 5 } }\n    \
         outputs: { inverted",
    );
    let all = descriptions(Some(invert(vec![])), Some(PACKAGE));
    let plan = checked_graph(&graph, &in_fabric(), &all).unwrap();
    let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
    let keys = ["`condition`", "`budget_ms`", "`max_age_ms`"];
    assert_eq!(warnings.len(), keys.len(), "{warnings:#?}");
    for (warning, key) in warnings.iter().zip(keys) {
        assert!(warning.contains(key) && warning.contains("`invert` is hardware"), "{warning}");
    }
    // Unless the module says that it sees to it.
    let condition = "condition: { any_of: [image], newest_not_older_than_ms: { image: 5 } }";
    let file = PACKAGE.replace("parameters:", &format!("{condition}\n    parameters:"));
    let seen_to = descriptions(Some(invert(vec![])), Some(&file));
    assert_eq!(checked_graph(&graph, &in_fabric(), &seen_to).unwrap().warnings.len(), 2);
    let in_software = descriptions(Some(invert(vec![parameter("mask", 3)])), None);
    assert_eq!(checked_graph(&graph, &in_process(), &in_software).unwrap().warnings, []);
}

#[test]
fn a_node_in_a_fabric_has_the_condition_that_its_module_sees_to() {
    let port = "image: { type: sensor_msgs/msg/Image, bounds: { data: 9 } }";
    let other = port.replace("image:", "other:");
    let file = PACKAGE.replace(port, &format!("{port}, {other}")).replace(
        "parameters:",
        "condition: { all_of: [image, other], same: stamp }\n    parameters:",
    );
    let all = descriptions(None, Some(&file));
    let with = |condition: &str| {
        let inputs = format!("inputs: {{ image: /a, other: /c }}\n    {condition}");
        let graph = GRAPH.replace("inputs: { image: /a }", &inputs);
        graph.replace("{ image: /a } }", "{ image: /a, other: /c } }")
    };
    let checked = |condition: &str| {
        let graph = Graph::from_yaml("g.yaml", with(condition).as_bytes()).unwrap();
        let text = "crossdock: 1\nprocesses: {}\nfabrics: { board: { nodes: [invert] } }\n\
                    topics: { /a: { mapping: gateway }, /b: { mapping: gateway }, /c: { mapping: gateway } }\n";
        let mapping = Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap();
        let found = check_fabrics(&graph, &mapping, &all);
        found.map_err(|all| all.iter().map(Violation::to_string).collect::<Vec<_>>())
    };
    // In any order.
    assert_eq!(checked("condition: { all_of: [other, image], same: stamp }"), Ok(()));
    for (condition, how) in [("", "no"), ("condition: { all_of: [image, other] }", "another")] {
        let violations = checked(condition).unwrap_err();
        let said = format!(
            "node `invert`: it has {how} condition, but `invert` in hardware sees to `{{ all_of: [image, \
             other], same: stamp }}`; write this condition, or map the node to a process"
        );
        assert!(violations.len() == 1 && violations[0].ends_with(&said), "{violations:#?}");
    }
}

#[test]
fn a_node_in_a_fabric_triggers_and_reads_as_its_module_does() {
    let port = "image: { type: sensor_msgs/msg/Image, bounds: { data: 9 } }";
    let other = port.replace("image:", "other:").replace("bounds", "trigger: false, bounds");
    let file = PACKAGE.replace(port, &format!("{port}, {other}"));
    let mut software = invert(vec![parameter("mask", 3)]);
    software.inputs.push(input("other", IMAGE, false));
    let both = descriptions(Some(software.clone()), Some(&file));
    let found = |image: &str, other: &str, mapping: &Mapping, all: &PackageDescriptions| {
        let inputs = format!(
            "inputs:\n      image: {{ topic: /a{image} }}\n      other: {{ topic: /a{other} }}"
        );
        let graph = GRAPH.replacen("inputs: { image: /a }", &inputs, 1);
        checked_graph(&graph, mapping, all).map_or_else(|all| all, |_| Vec::new())
    };
    let to_process = "or map the node to a process";
    let faults = [
        (
            (", trigger: false", ""),
            "g.yaml:9:23: node `invert`: input `image` does not trigger, but `invert` in hardware \
             runs for its messages; set `trigger: true`",
        ),
        (
            ("", ", trigger: true"),
            "g.yaml:10:23: node `invert`: input `other` triggers, but `invert` in hardware does not \
             run for its messages; set `trigger: false`",
        ),
        (
            ("", ", read: since_last"),
            "g.yaml:10:23: node `invert`: `invert` in hardware takes the messages on `other` in its \
             own way, and `read` does not change that; take `read` away",
        ),
    ];
    for ((image, other), said) in faults {
        assert_eq!(found(image, other, &in_fabric(), &both), [format!("{said}, {to_process}")]);
        let software = descriptions(Some(software.clone()), None);
        assert_eq!(found(image, other, &in_process(), &software), [""; 0]);
    }
    // The same as the node type.
    for other in ["", ", trigger: false", ", trigger: false, read: latest"] {
        assert_eq!(found(", trigger: true", other, &in_fabric(), &both), [""; 0]);
    }
}

#[test]
fn a_parameter_that_hardware_does_not_have_is_refused_unless_it_changes_nothing() {
    let graph = GRAPH.replace("mask: 3", "mask: 3, clip: 0.5");
    let all = descriptions(Some(invert(vec![parameter("clip", 1.0)])), Some(PACKAGE));
    assert_eq!(
        checked_graph(&graph, &in_fabric(), &all).unwrap_err(),
        ["g.yaml:10:34: node `invert`: parameter `clip` would have no effect: `invert` has it in \
             software, and the node is hardware; its parameters in hardware are: `mask`"]
    );
    // What hardware is made with is what software does without being told.
    let default = graph.replace("clip: 0.5", "clip: 1.0");
    assert_eq!(checked_graph(&default, &in_fabric(), &all).unwrap().warnings, []);
    let plan = checked_graph(&graph, &in_process(), &all).unwrap();
    assert_eq!(plan.warnings.len(), 1);
    assert!(plan.warnings[0].message.contains("has it in hardware, and the node is software"));
    let unknown = graph.replace("clip: 0.5", "clap: 0.5");
    let violations = checked_graph(&unknown, &in_fabric(), &all).unwrap_err();
    assert_eq!(violations.len(), 1);
    assert!(violations[0].contains("`invert` has no parameter `clap`"), "{violations:#?}");
}
