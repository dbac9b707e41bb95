//! `crossdock gen hw` as a user meets it: files in a folder, the same every time, own message types,
//! and errors with position.
#![allow(missing_docs)]

use crossdock_suite::Run;
use crossdock_test_support::workspace;
use std::collections::BTreeMap;
use std::path::Path;

const GRAPH: &str = "crates/hwgen/tests/data/drive.graph.yaml";
const MAPPING: &str = "crates/hwgen/tests/data/drive.mapping.yaml";

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry"));
    let text = |path: &Path| std::fs::read_to_string(path).expect("a text file");
    entries.map(|it| (it.file_name().to_string_lossy().into_owned(), text(&it.path()))).collect()
}

#[test]
fn a_network_is_written_whole_and_the_same_every_time() {
    let run = Run::new("gen_hw");
    let golden = files(&workspace().join("crates/hwgen/tests/golden"));
    let mut found = Vec::new();
    for name in ["first", "second/below"] {
        let folder = run.file(name);
        let folder = folder.to_str().expect("UTF-8");
        let output = run.output(&["gen", "hw", GRAPH, "--mapping", MAPPING, "-o", folder]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(told.contains("/cmd_vel: 2 publishers, 1 subscribers, 64 bits, 9 beats"), "{told}");
        found.push(files(Path::new(folder)));
    }
    assert_eq!(found[0], found[1]);
    for (name, text) in golden {
        assert!(found[0][&name] == text, "{name} is not as in the golden files");
    }
    for source in found[0]["sources.f"].lines() {
        assert!(found[0].contains_key(source), "{source} is listed and not there");
    }
}

#[test]
fn own_message_types_are_found_and_a_missing_one_is_named_with_its_line() {
    let run = Run::new("gen_hw_types");
    let write = |name: &str, text: &str| {
        let file = run.file(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, text).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    let graph = write(
        "g.yaml",
        "crossdock: 1\nname: g\ntopics:\n  /x: { type: own_msgs/msg/Pair }\nnodes:\n  \
         a: { package: p, type: a, outputs: { x: /x } }\n  b: { package: p, type: b, inputs: { x: /x } }\n",
    );
    let mapping = write(
        "m.yaml",
        "crossdock: 1\nprocesses: {}\nfabrics: { board: { nodes: [a, b] } }\n\
         topics: { /x: { mapping: hardware } }\n",
    );
    write("types/own_msgs/msg/Pair.msg", "float64 a\nuint8 b\n");
    let out = run.file("out").to_str().expect("UTF-8").to_owned();
    let types = run.file("types").to_str().expect("UTF-8").to_owned();
    let command = ["gen", "hw", &graph, "--mapping", &mapping, "-o", &out];
    let refused = run.output(&command);
    let errors = String::from_utf8(refused.stderr).expect("UTF-8");
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors.contains("g.yaml:4:3: topic `/x`: the type own_msgs/msg/Pair"), "{errors}");
    assert!(errors.contains("`--interfaces`"), "{errors}");
    let output = run.output(&[&command[..], &["--interfaces", &types]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(told.contains("/x: 1 publishers, 1 subscribers, 64 bits, 5 beats"), "{told}");
}
