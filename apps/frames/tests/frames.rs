//! The kernel against the processor, and the shipped graph. Needs an OpenCL driver (PoCL).
#![allow(missing_docs)]

#[path = "../../../tests/support/on_device.rs"]
mod on_device;

use crossdock_device::DeviceError;
use crossdock_frames::gpu::Renderer;
use crossdock_frames::nodes::package;
use crossdock_frames::{Scene, Size};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use on_device::{both, equal, run};
use std::path::Path;

#[test]
fn frames_on_a_device_equal_the_processors_bit_by_bit() {
    for device in both() {
        let mut renderer = Renderer::new(&device).expect("kernels");
        for (width, height) in [(640, 360), (61, 43), (1, 1), (3, 200), (1000, 2)] {
            let size = Size::new(width, height).expect("sides");
            for seconds in [0.0, 0.7, 3.1, 12.9, 60.0] {
                let scene = Scene::at(size, seconds);
                let mut expected = vec![0; size.bytes()];
                scene.draw(&mut expected);
                // As long as puts the output at a multiple of four bytes.
                let found = run(&device, &[0; 6], size.bytes(), |stream, _, to| {
                    // SAFETY: it lives until the stream has been acquired from, and nobody looks
                    // until then.
                    unsafe { renderer.launch(stream, &scene, to) }
                });
                equal(&format!("{width} x {height} at {seconds} s"), &found, &expected);
            }
        }
    }
}

#[test]
fn a_span_that_is_shorter_than_a_frame_is_refused() {
    let Some(device) = both().into_iter().next() else { return };
    let size = Size::new(5, 4).expect("sides");
    let (mut renderer, scene) = (Renderer::new(&device).expect("kernels"), Scene::at(size, 0.0));
    let memory = device.allocate(80).expect("memory");
    let mut stream = device.stream().expect("a stream");
    let short = memory.span(0, 79).expect("a span");
    // SAFETY: refused.
    let refused = unsafe { renderer.launch(&mut stream, &scene, short) };
    assert!(matches!(refused, Err(DeviceError::OutOfRange { .. })), "{refused:?}");
}

#[test]
fn the_graph_passes_the_check_with_every_mapping() {
    let file = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::fs::read(path).expect("the file is shipped")
    };
    let name = "frames.graph.yaml";
    let graph = Graph::from_yaml(name, &file(name));
    let graph = graph.unwrap_or_else(|violations| panic!("{violations:#?}"));
    let interfaces = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    for (placement, processes) in [("composed", 1), ("processes", 2)] {
        let name = format!("frames.{placement}.mapping.yaml");
        let mapping = Mapping::from_yaml(&name, &file(&name));
        let mapping = mapping.unwrap_or_else(|violations| panic!("{violations:#?}"));
        let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN);
        let plan = plan.unwrap_or_else(|violations| panic!("{name}: {violations:#?}"));
        assert_eq!(plan.processes.len(), processes, "{name}");
    }
}
