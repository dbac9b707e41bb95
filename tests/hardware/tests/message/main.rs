//! Adapters of messages: what Rust encodes, the generated modules and the generated C++ struct take
//! and publish, value by value and byte by byte; what is no message is refused by all of them.
#![allow(missing_docs)]

#[path = "../../../../crates/msg/tests/common/random.rs"]
#[allow(dead_code, reason = "only messages are made here")]
mod random;
#[path = "../../../../crates/msg/tests/common/types.rs"]
#[allow(clippy::unwrap_used, reason = "tests")]
mod types;
mod values;
mod vectors;
mod walk;

use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hardware_tests::{Design, Report, Simulation, lint, must, on_all_cores};
use crossdock_hwgen::{Generated, Request, generate};
use crossdock_msg::Schema;
use crossdock_msg::definition::parse_message;
use crossdock_msg::frame::{FramePlan, FramePlanError};
use crossdock_msg::resolve::Library;
use crossdock_test_support::seed;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use random::Lengths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TESTBENCH: &str = "testbench/message/message_tb.cpp";

/// A type with bounds and the width of its topic.
#[derive(Clone)]
struct Case {
    /// Tells cases apart.
    name: String,
    schema: Schema,
    bounds: BTreeMap<String, u32>,
    width: u32,
}

impl Case {
    /// Unbounded fields have room for `bound` elements.
    fn new(schema: Schema, bound: u32, width: u32) -> Self {
        let bounds = match FramePlan::new(&schema, &BTreeMap::new()) {
            Err(FramePlanError::Unbounded { fields, .. }) => {
                fields.into_iter().map(|field| (field, bound)).collect()
            }
            _ => BTreeMap::new(),
        };
        let name = schema.type_name().rsplit('/').next().unwrap_or_default().to_lowercase();
        Self { name, schema, bounds, width }
    }

    fn shipped(name: &str, bound: u32, width: u32) -> Self {
        Self::new(must(Schema::shipped(name)), bound, width)
    }

    fn text(name: &str, text: &str, width: u32) -> Self {
        let schema = must(Schema::parse("test_msgs/msg/Case", text));
        Self { name: name.to_owned(), ..Self::new(schema, 6, width) }
    }

    fn bounded(mut self, field: &str, bound: u32) -> Self {
        self.bounds.insert(field.to_owned(), bound);
        self
    }

    /// All files that `crossdock gen hw` writes for one topic `/t` of this type.
    fn generated(&self) -> Generated {
        let bounds = self.bounds.iter().map(|(field, bound)| format!("{field}: {bound}"));
        let bounds = bounds.collect::<Vec<_>>().join(", ");
        let bounds = if bounds.is_empty() { bounds } else { format!(", bounds: {{ {bounds} }}") };
        let graph = format!(
            "crossdock: 1\nname: one\ntopics:\n  /t: {{ type: {}{bounds} }}\nnodes:\n  a: {{ package: \
             p, type: a, outputs: {{ t: /t }} }}\n  b: {{ package: p, type: b, inputs: {{ t: /t }} }}\n",
            self.schema.type_name()
        );
        let mapping = format!(
            "crossdock: 1\nprocesses: {{}}\nfabrics: {{ board: {{ nodes: [a, b] }} }}\ntopics:\n  /t: {{ \
             mapping: hardware, width: {} }}\n",
            self.width
        );
        let shown = |all: Vec<crossdock_graph::Violation>| {
            all.iter().map(|it| it.to_string() + "\n").collect::<String>() + &graph
        };
        let request = Request {
            graph: &must(Graph::from_yaml("graph", graph.as_bytes()).map_err(shown)),
            mapping: &must(Mapping::from_yaml("mapping", mapping.as_bytes()).map_err(shown)),
            descriptions: &PackageDescriptions::default(),
            fabric: "board",
            types: &|_| Ok(self.schema.clone()),
            implementations: &[],
        };
        must(generate(&request).map_err(shown))
    }

    /// Both adapters in one module; the name tells cases apart.
    fn design(&self, generated: &Generated) -> Design {
        let top = format!("message_both_{}", self.name);
        let sources = generated.files["messages.f"].lines();
        let design = sources.fold(Design::new(&top, &[]), |design, source| {
            design.with_source(source, &generated.files[source])
        });
        let both = values::both(&top, &generated.files);
        design.with_source(&format!("{top}.sv"), &both).set("WIDTH", u64::from(self.width))
    }

    fn simulation(&self, lengths: Lengths, messages: u64) -> Simulation {
        let generated = self.generated();
        let shape = &generated.network.topics[0].shape;
        Simulation::new(self.design(&generated), TESTBENCH)
            .with_file("crossdock_hls.hpp", &generated.files["crossdock_hls.hpp"])
            .with_file("message_t.hpp", &generated.files["message_t.hpp"])
            .with_file("ports.hpp", &values::ports(shape))
            .with_file("vectors.hpp", &vectors::vectors(self, shape, lengths, messages))
    }

    /// Lints, and holds all three against each other.
    fn holds(&self) -> Report {
        let generated = self.generated();
        for direction in ["take", "publish"] {
            let module = format!("message_t_{direction}");
            must(lint(&self.design(&generated).with_top(&module).set("WIDTH", self.width.into())));
        }
        must(self.simulation(Lengths::UpTo(40), 12).run(&["--seed", "1"]))
    }
}

/// Messages in messages in messages, with everything that the order of payloads knows.
const NESTED: &str = "uint8 first\nstring<=9 text\nA[<=3] a\nB[2] b\nuint16[3] few\nA[2] more\nuint8 last\n===\n\
                      MSG: test_msgs/A\nB[<=2] b\nuint8 x\nwstring<=5[<=2] names\nD d\nfloat64[<=3] y\n===\n\
                      MSG: test_msgs/B\nuint8 a\nfloat32 c\nuint16 d\nbool e\n===\n\
                      MSG: test_msgs/D\nstring<=4[2] texts\nint64 z\n";

/// Arrays and sequences of all sizes, outside loops.
const FLAT: &str = "bool on\nuint8[5] five\nfloat64[70] many\nuint16[] wide\nwstring units\n\
                    int32[] numbers\nuint8[] odd\nuint64 last\nE e\nuint8 end\n===\n\
                    MSG: test_msgs/E\nuint8 a\nfloat64 b\nuint8 c\n";

fn flat(width: u32) -> Case {
    let bounds = [("wide", 40), ("units", 20), ("numbers", 500), ("odd", 3)];
    let case = Case::text("flat", FLAT, width);
    bounds.into_iter().fold(case, |case, (field, bound)| case.bounded(field, bound))
}

#[test]
fn an_image_of_any_size_passes_both_adapters_and_the_struct() {
    Case::shipped("sensor_msgs/msg/Image", 16, 128).bounded("data", 1000).holds();
}

#[test]
fn a_point_cloud_with_its_fields_passes() {
    Case::shipped("sensor_msgs/msg/PointCloud2", 6, 64).holds();
}

#[test]
fn a_twist_which_has_one_length_passes() {
    Case::shipped("geometry_msgs/msg/TwistStamped", 6, 256).holds();
}

#[test]
fn nested_messages_and_texts_pass_at_the_largest_width() {
    Case::text("nested", NESTED, 512).holds();
}

#[test]
fn arrays_and_sequences_of_all_sizes_pass() {
    flat(64).holds();
}

#[test]
fn an_images_data_pass_at_one_beat_per_cycle() {
    for width in [64, 512] {
        let case = Case::shipped("sensor_msgs/msg/Image", 16, width).bounded("data", 16_384);
        let report = must(case.simulation(Lengths::Longest(16), 2).run(&["--seed", "1"]));
        let payload = case.generated().network.topics[0].layout.payload_bytes_max;
        let beats = (24 + payload).div_ceil(u64::from(width) / 8);
        // One cycle per field and header word besides, in one run or two.
        for (name, besides) in [("take_cycles", 40), ("publish_cycles", 60)] {
            let cycles = report.value(name);
            assert!(cycles <= beats + besides, "{name} {cycles} for {beats} beats of {width} bits");
        }
    }
}

#[test]
fn the_header_is_clean_under_all_warnings() {
    let folder = crossdock_test_support::workspace().join("target/hw/message_headers");
    std::fs::create_dir_all(&folder).expect("a folder below target/hw");
    let mut main = String::from("#include <cstdio>\n");
    for (name, case) in [
        ("image", Case::shipped("sensor_msgs/msg/Image", 16, 64)),
        ("nested", Case::text("nested", NESTED, 64)),
        ("flat", flat(64)),
    ] {
        let files = case.generated().files;
        std::fs::write(folder.join("crossdock_hls.hpp"), &files["crossdock_hls.hpp"])
            .expect("file");
        let header = files["message_t.hpp"].replace("message_t", &format!("message_{name}"));
        std::fs::write(folder.join(format!("{name}.hpp")), header).expect("a file");
        main += &format!("#include \"{name}.hpp\"\n");
    }
    main += include_str!("two_threads.cpp");
    std::fs::write(folder.join("main.cpp"), main).expect("a file");
    let run = |command: &mut std::process::Command| {
        let output = command.current_dir(&folder).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"];
    let mut compiler = std::process::Command::new("g++");
    run(compiler
        .args(["-std=c++17", "-O1", "-pthread"])
        .args(warnings)
        .args(["main.cpp", "-o", "main"]));
    run(&mut std::process::Command::new(folder.join("main")));
}

/// The first so many types of the same random sequence, each at a width of its own.
fn random_types(count: usize) -> impl Iterator<Item = Case> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |index| {
        let tree = types::types().new_tree(&mut runner).expect("a type");
        let mut case = Case::new(types::schema(&tree.current()), 9, [512, 128, 64, 256][index % 4]);
        case.name = format!("random{index}");
        case
    })
}

#[test]
fn a_random_type_passes() {
    random_types(1).for_each(|case| drop(case.holds()));
}

#[test]
#[ignore = "long: 40 random types"]
fn forty_random_types_pass() {
    on_all_cores(random_types(40).collect(), |case| drop(case.holds()));
}

/// `.msg` files below a folder.
fn definitions(folder: &Path, library: &mut Library) {
    let entries = std::fs::read_dir(folder).expect("a folder of the corpus");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            definitions(&path, library);
        } else if path.extension().is_some_and(|it| it == "msg") {
            let package = path.ancestors().nth(2).and_then(Path::file_name).expect("a package");
            let name = path.file_stem().expect("a name").to_string_lossy();
            let name =
                crossdock_msg::definition::TypeName::message(&package.to_string_lossy(), &name);
            let text = std::fs::read_to_string(&path).expect("a definition");
            library.add(must(parse_message(&name, "corpus", &text)));
        }
    }
}

#[test]
#[ignore = "long: every type of the corpus, each at one width, another one each time"]
fn the_types_of_the_corpus_pass() {
    let Some(data) = crossdock_test_support::data() else { return };
    let mut library = Library::new();
    definitions(&data.join("interfaces"), &mut library);
    let names: Vec<String> = library.iter().map(|it| it.type_name.to_string()).collect();
    let mut widths = [64, 128, 256, 512];
    widths.rotate_left((seed() % 4) as usize);
    on_all_cores(names.into_iter().zip(widths.into_iter().cycle()).collect(), |(name, width)| {
        println!("{name} at {width} bit");
        Case::new(must(Schema::from_library(&library, &name)), 5, width).holds();
    });
}
