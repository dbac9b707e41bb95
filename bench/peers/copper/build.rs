//! Writes the configurations of the chains: a copper application is one at compile time.

use std::fmt::Write as _;

/// Nodes of the chains, and the module with the tasks of each message size.
const CHAINS: [usize; 2] = [2, 10];
const SIZES: [&str; 2] = ["small", "large"];

fn main() {
    cu29_build::setup();
    println!("cargo::rerun-if-changed=build.rs");
    std::fs::create_dir_all("generated").expect("room for the configurations");
    for nodes in CHAINS {
        for size in SIZES {
            let (mut tasks, mut joints) = (String::new(), String::new());
            for node in 0..nodes {
                let kind = match node {
                    0 => "Source",
                    node if node == nodes - 1 => "Last",
                    _ => "Relay",
                };
                // Writing into a string cannot fail.
                let _ =
                    writeln!(tasks, "    (id: \"node{node}\", type: \"crate::{size}::{kind}\"),");
                if node > 0 {
                    let from = node - 1;
                    let _ = writeln!(
                        joints,
                        "    (src: \"node{from}\", dst: \"node{node}\", \
                         msg: \"crate::{size}::Message\"),"
                    );
                }
            }
            // Nothing is recorded: neither do the others.
            let text = format!(
                "(\n  logging: (enable_task_logging: false, enable_keyframe_logging: false),\n  \
                 tasks: [\n{tasks}  ],\n  cnx: [\n{joints}  ],\n)\n"
            );
            let file = format!("generated/{size}{nodes}.ron");
            if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
                std::fs::write(&file, text).expect("room for a configuration");
            }
        }
    }
}
