//! Fuzzes graph, mapping, parameter, placement, calibration and hardware package files, and all
//! that is done with a graph that is accepted: check, plan, pictures, writing.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::graphs::{COURSE, course, descriptions, used};
use crossdock_graph::{
    Graph, HardwarePackage, Mapping, PackageDescriptions, ParameterOverrides, Placement,
    RunOptions, check,
};
use crossdock_image_pipeline::calibration::{Calibration, Projection};
use libfuzzer_sys::fuzz_target;

const GRAPH: u8 = 0;
const MAPPING: u8 = 1;
const PARAMETERS: u8 = 2;
const HARDWARE: u8 = 3;
const PLACEMENT: u8 = 4;
const PLACEMENT_JSON: u8 = 5;
const CALIBRATION: u8 = 6;
const KINDS: u8 = 7;

const CAMERA: &str = "image_width: 640\nimage_height: 480\ndistortion_model: plumb_bob\n\
    camera_matrix: {rows: 3, cols: 3, data: [500.0, 0, 320, 0, 500, 240, 0, 0, 1]}\n\
    distortion_coefficients: {rows: 1, cols: 5, data: [-0.1, 0.01, 0, 0, 0]}\n\
    rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}\n\
    projection_matrix: {rows: 3, cols: 4, data: [500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0]}\n";

fn seeds() -> Vec<Vec<u8>> {
    let course = course();
    let chain = Mapping::one_chain_per_package(course).to_yaml();
    let processes = Mapping::one_process_per_node(course).to_yaml();
    let texts: [(u8, &str); 13] = [
        (GRAPH, COURSE),
        (GRAPH, include_str!("../../apps/autorace/course.graph.yaml")),
        (GRAPH, "crossdock: 1\nname: a\nnodes:\n  n: {type: autorace/features}\n"),
        (MAPPING, &chain),
        (MAPPING, &processes),
        (MAPPING, include_str!("../../apps/autorace/course.processes.mapping.yaml")),
        (HARDWARE, include_str!("../../crates/fabric/tests/pictures/pictures.hardware.yaml")),
        (PLACEMENT, "crossdock: 1\nfabrics:\n  board:\n    nodes: [compensation, blur]\n"),
        (
            PLACEMENT_JSON,
            "{\"nodes\": [{\"name\": \"a\", \"mapping\": \"hw\"}, {\"name\": \"b\", \"mapping\": \"sw\"}]}",
        ),
        (CALIBRATION, CAMERA),
        (PARAMETERS, include_str!("../../apps/autorace/params/autorace.yaml")),
        (PARAMETERS, include_str!("../../apps/autorace/params/highway.yaml")),
        (PARAMETERS, "features:\n  ros__parameters:\n    a: [1, 2]\n    b: &x .inf\n    c: *x\n"),
    ];
    texts.iter().map(|(kind, text)| [&[*kind], text.as_bytes()].concat()).collect()
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    match input.u8() % KINDS {
        GRAPH => match Graph::from_yaml("fuzz", input.rest()) {
            Ok(graph) => {
                used(&graph, &Mapping::one_chain_per_package(&graph));
                used(&graph, &Mapping::one_process_per_node(&graph));
            }
            Err(violations) => assert!(!violations.is_empty()),
        },
        MAPPING => match Mapping::from_yaml("fuzz", input.rest()) {
            Ok(mapping) => used(course(), &mapping),
            Err(violations) => assert!(!violations.is_empty()),
        },
        HARDWARE => match HardwarePackage::from_yaml("fuzz", input.rest()) {
            Ok(package) => {
                let hardware = vec![package];
                let descriptions = PackageDescriptions { hardware, ..descriptions().clone() };
                let mapping = Mapping::one_chain_per_package(course());
                if let Err(violations) = check(course(), &mapping, &descriptions, &RunOptions::PLAIN) {
                    assert!(!violations.is_empty());
                }
            }
            Err(violations) => assert!(!violations.is_empty()),
        },
        PLACEMENT | PLACEMENT_JSON => {
            let is_json = data.first().is_some_and(|kind| kind % KINDS == PLACEMENT_JSON);
            let read = if is_json { Placement::from_json } else { Placement::from_yaml };
            if let Err(violations) = read("fuzz", input.rest()) {
                assert!(!violations.is_empty());
            }
        }
        CALIBRATION => {
            let text = String::from_utf8_lossy(input.rest());
            for projection in [Projection::CameraInfo, Projection::CameraMatrix] {
                // The message names the fault.
                if let Err(error) = Calibration::from_yaml("fuzz".as_ref(), &text, projection) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        _ => match ParameterOverrides::from_yaml("fuzz", input.rest()) {
            Ok(overrides) => {
                if let Ok(graph) = course().with_parameters(&overrides) {
                    used(&graph, &Mapping::one_chain_per_package(&graph));
                }
            }
            Err(violations) => assert!(!violations.is_empty()),
        },
    }
});
