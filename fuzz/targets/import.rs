//! Fuzzes `graph import`: JSON of published graphs. What is imported must be a graph file that
//! reads back as the same graph and can be drawn.
#![no_main]

use crossdock_graph::{Graph, Picture};
use libfuzzer_sys::fuzz_target;

fn seeds() -> Vec<Vec<u8>> {
    let node = |name: &str, from: &[&str], to: &[&str]| serde_json::json!({"name": name, "sub": from, "pub": to});
    let documents = [
        serde_json::json!({"nodes": []}),
        serde_json::json!({"nodes": [node("camera", &[], &["image"]), node("view", &["image"], &[])]}),
        serde_json::json!({"note": "# a: b\n c", "nodes": [
            node("a", &["/x"], &["/y"]), node("b", &["/y"], &["/x"]),
            {"name": "c", "pub": ["/x", 7], "sub": null, "period_ms": 33.5, "env": true},
            {"name": "a", "note": "twice", "kind": "gpu"},
        ]}),
    ];
    documents.iter().map(|document| document.to_string().into_bytes()).collect()
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    match Graph::import_json("fuzz.json", data) {
        Ok(imported) => {
            let read = Graph::from_yaml("fuzz", imported.text.as_bytes());
            let read = read.expect("what is imported can be read");
            assert_eq!(read.without_source(), imported.graph.clone().without_source());
            let picture = Picture { graph: &imported.graph, mapping: None, descriptions: None, figures: None };
            assert!(picture.to_svg().ends_with("</svg>\n"));
        }
        Err(violations) => assert!(!violations.is_empty()),
    }
});
