//! The image pipeline as a user runs it on recordings: every pixel that is recorded is within 1
//! level of the truth, in every mapping, and wherever the calibration comes from.

use super::{is_device_there, nothing_is_lost, text};
use crossdock_suite::Run;
use crossdock_test_support::data;
use std::collections::BTreeMap;
use std::path::Path;

const GRAPH: &str = "apps/image_pipeline/pipeline.graph.yaml";

/// Payloads of every topic of a recording, in order: a few pictures.
fn payloads(path: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let bytes = std::fs::read(path).expect("the recording");
    let mut topics: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let message = message.expect("a message");
        topics.entry(message.channel.topic.clone()).or_default().push(message.data.into_owned());
    }
    topics
}

/// Width, height and bytes of a PNG.
fn png(path: &Path) -> (u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("picture is readable"));
    let mut reader = png::Decoder::new(file).read_info().expect("picture is PNG");
    let mut data = vec![0; reader.output_buffer_size().expect("a bounded picture")];
    let info = reader.next_frame(&mut data).expect("picture is whole");
    data.truncate(info.buffer_size());
    (info.width, info.height, data)
}

/// Width, height, encoding and bytes of a sensor_msgs/Image in CDR whose frame is `camera`.
fn image(cdr: &[u8]) -> (u32, u32, String, Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(cdr[at..at + 4].try_into().expect("four bytes"));
    let (height, width, length) = (word(24), word(28), word(32) as usize);
    let encoding = String::from_utf8_lossy(&cdr[36..36 + length - 1]).into_owned();
    // is_bigendian, then step and the number of bytes, aligned behind CDR's four bytes.
    let step = (36 + length + 1).next_multiple_of(4);
    (width, height, encoding, cdr[step + 8..step + 8 + word(step + 4) as usize].to_vec())
}

fn compare(cdr: &[u8], truth: &Path) {
    let (width, height, encoding, mut found) = image(cdr);
    let (truth_width, truth_height, expected) = png(truth);
    assert_eq!((width, height), (truth_width, truth_height), "{}", truth.display());
    if encoding == "bgr8" {
        found.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
    }
    assert_eq!(found.len(), expected.len(), "{}", truth.display());
    let worst = found.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(worst <= Some(1), "{}: {worst:?}", truth.display());
}

#[test]
fn recorded_pictures_are_rectified_and_resized_alike_in_all_mappings() {
    let Some(folder) = data().map(|data| data.join("calibration")) else { return };
    let run = Run::new("image_pipeline");
    let record = |graph: &str, bag: &str, mapping: &[&str], name: &str| {
        let (bag, out) = (folder.join(bag), run.file(name));
        let words = ["run", graph, "--input", text(&bag), "--rate", "max", "--json"];
        let record = ["--record", text(&out)];
        let summary = run.json(&[&words[..], mapping, &record].concat());
        assert_eq!(summary["ok"], true, "{summary:#}");
        nothing_is_lost(&summary);
        payloads(&out)
    };
    let truth = |name: &str, what: &str| folder.join(format!("rectify_resize/{name}_{what}.png"));
    let compare = |topic: &[Vec<u8>], names: &[&str], what: &str| {
        topic.iter().zip(names).for_each(|(cdr, name)| compare(cdr, &truth(name, what)));
    };

    let bag = "opencv_left_mono8_mcap";
    let mapping = |name: &str| format!("apps/image_pipeline/pipeline.{name}.mapping.yaml");
    let chain = record(GRAPH, bag, &["--mapping", &mapping("chain")], "chain.mcap");
    let apart = record(GRAPH, bag, &["--mapping", &mapping("processes")], "processes.mcap");
    let device = is_device_there(&run)
        .then(|| record(GRAPH, bag, &["--mapping", &mapping("device")], "device.mcap"));
    let of = |topic: &str| chain[topic].as_slice();
    let names = ["left01", "left02", "left03", "left04"];
    compare(of("/camera/image_rect"), &names, "rect");
    compare(of("/resize/image_raw"), &names, "rect_resized");
    let infos = of("/resize/camera_info");
    let sides = |cdr: &[u8]| [cdr[24..28].to_vec(), cdr[28..32].to_vec()];
    let half = [240_u32, 320].map(|side| side.to_le_bytes().to_vec());
    assert!(infos.iter().all(|info| sides(info) == half));
    for topic in ["/camera/image_rect", "/resize/image_raw", "/resize/camera_info"] {
        assert_eq!((of(topic).len(), of(topic) == apart[topic]), (9, true), "{topic}");
        assert!(device.as_ref().is_none_or(|device| of(topic) == device[topic]), "{topic}");
    }

    // The calibration from a file, without the camera's own.
    let calibration = folder.join("opencv_left_640x480.yaml");
    let graph = run.file("file.graph.yaml");
    let lines = format!(
        "crossdock: 1
name: file
topics:
  /camera/image_raw: {{ type: sensor_msgs/msg/Image, external: true }}
nodes:
  rectify:
    package: image_pipeline
    type: rectify
    inputs: {{ image: /camera/image_raw }}
    outputs: {{ image_rect: /camera/image_rect }}
    parameters: {{ calibration: \"{}\" }}
",
        text(&calibration)
    );
    std::fs::write(&graph, lines).expect("a file");
    let alone = record(text(&graph), bag, &[], "file.mcap");
    assert!(alone["/camera/image_rect"] == of("/camera/image_rect"));

    let large = record(GRAPH, "udacity_raw_1280x720_mcap", &[], "large.mcap");
    let names = ["udacity_01", "udacity_09"];
    assert_eq!(large["/resize/image_raw"].len(), 2);
    compare(&large["/camera/image_rect"], &names, "rect");
    compare(&large["/resize/image_raw"], &names, "rect_resized");
}

#[test]
#[ignore = "long: three boards of the image pipeline"]
fn boards_give_the_images_of_software() {
    let run = Run::new("image_pipeline_boards");
    let record = |graph: &str, mapping: &str| {
        let [graph, mapping] = [format!("{graph}.graph"), format!("{mapping}.mapping")]
            .map(|name| format!("apps/image_pipeline/{name}.yaml"));
        let out = run.file("images.mcap");
        let words = ["run", &graph, "--mapping", &mapping, "--rate", "max", "--duration", "0.2"];
        let summary = run.json(&[&words[..], &["--json", "--record", text(&out)]].concat());
        assert_eq!(summary["ok"], true, "{summary:#}");
        nothing_is_lost(&summary);
        let images = payloads(&out);
        std::fs::remove_file(&out).expect("the recording");
        images
    };
    let software = record("camera", "camera.chain");
    let resized = "/resize/image_raw";
    assert_eq!(software[resized].len(), 6);
    assert_eq!(record("camera", "camera.topics"), software);
    // Nobody outside the board sees what is between the nodes.
    for (graph, mapping) in [("camera", "camera.streamed"), ("fused", "fused.board")] {
        let board = record(graph, mapping);
        assert_eq!(board[resized], software[resized], "{mapping}");
        assert!(!board.contains_key("/camera/image_rect"), "{mapping}");
    }
}
