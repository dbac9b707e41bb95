//! A hardware node that makes a picture of a picture, in its testbench beside its software twin.

use crate::board;
use crate::frames::{self, Answer, Fields, Limits, Random, Sent, Twin};
use crossdock_graph::{HardwareNode, HardwarePackage};
use crossdock_hardware_tests::{Design, Mutants, Report, Simulation, must};
use crossdock_test_support::workspace;
use std::path::{Path, PathBuf};

pub(crate) const TESTBENCH: &str = "../apps/autorace/hardware/picture_node_tb.cpp";

/// Pictures that come so slowly that what is made of them waits for every row.
const SLOW: [&str; 8] =
    ["--seed", "4", "--stalls", "0", "--input-stalls", "10", "--longest", "2500"];
const SLOW_PICTURES: usize = 12;

/// Pictures begin with a start, which begins all anew.
const ANEW: &str = "what begins without a start takes nothing, and the start begins it anew";

/// Changes of the kernels of pictures that change no behaviour.
pub(crate) const HARMLESS: [(&str, &str); 8] = [
    (
        "band_remap.sv: `if (rst || begins) read_valid <= 1'b0;`: `||` becomes `&&`",
        "nothing follows in a reset, which lasts, so that the stage is empty behind it anyhow",
    ),
    ("band_remap.sv: `if (rst) is_cut <= 1'b0;`: `1'b0` becomes `1'b1`", ANEW),
    ("rectify_picture.sv: `.start(start && !busy),`: `&&` becomes `||`", ANEW),
    ("resize_picture.sv: `wire        begins = start && !busy;`: `&&` becomes `||`", ANEW),
    ("mark_lanes.sv: `wire begins = start && !busy;`: `&&` becomes `||`", ANEW),
    (
        "mark_lanes.sv: `.rst(rst || begins),`: `||` becomes `&&`",
        "pixels of the picture before have left pixel_hsv long since, and row_contrast is cleared",
    ),
    ("project_picture.sv: `.start(start && !busy),`: `&&` becomes `||`", ANEW),
    (
        "projection_places.sv: `p_valid <= 1'b0;`: line 2 of 2: `p_valid <= 1'b0;` becomes `;`",
        "band_remap takes no place before a start, which is the other one that clears it",
    ),
];

/// A board with this node alone, its topics' bounds such that any limits of the node fit.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /image: { bounds: { data: 1, header.frame_id: 64, encoding: 16 } }
  /made: { bounds: { data: 16777216, header.frame_id: 64, encoding: 16 } }
nodes:
  camera: { package: ends, type: camera, outputs: { image: /image } }
  node:
    package: PACKAGE
    type: NODE
    inputs: { image: /image }
    outputs: { OUTPUT: /made }
  sink: { package: ends, type: sink, inputs: { image: /made } }
";
pub(crate) const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, sink] } ] } }
fabrics: { board: { nodes: [node] } }
topics: { /image: { mapping: gateway }, /made: { mapping: gateway } }
";

/// A node of a package in this graph, with these of its generated and library modules.
pub(crate) fn node_design(
    mut package: HardwarePackage,
    (graph, mapping): (&str, &str),
    node: &str,
    modules: &[String],
) -> Design {
    // What is made for these limits is not what is shipped.
    package.nodes.iter_mut().for_each(|it| it.built_in.clear());
    let files = board::generated(&package, graph, mapping).files;
    let found = package.nodes.iter().find(|it| it.description.node_type == node);
    let sources = found.expect("the node type").sources.iter();
    let sources = sources.map(|it| HardwareNode::file_name(it).to_owned());
    let names = modules.iter().map(|module| format!("{module}.sv")).chain(sources);
    names.fold(Design::new(node, &[]), |design, name| {
        design.with_source(&name, &files[name.as_str()])
    })
}

/// A node in a testbench that reads vectors; `ports` names its ports.
pub(crate) fn node_simulation(design: Design, testbench: &str, ports: &str) -> Simulation {
    let vectors = workspace().join("apps/autorace/hardware/vectors.hpp");
    let vectors = must(std::fs::read_to_string(vectors));
    Simulation::new(design, testbench)
        .with_file("vectors.hpp", &vectors)
        .with_file("ports.hpp", &format!("#pragma once\n{ports}"))
}

/// What a node does with frames, see [`frames::expected`].
pub(crate) type Expected = fn(&[Sent], Limits, Twin, &str) -> Vec<Answer>;

/// A node that makes a picture of a picture.
pub(crate) struct PictureNode {
    /// Its type and its output.
    pub(crate) twin: Twin,
    /// Its package file, with these limits.
    pub(crate) package: fn(Limits) -> HardwarePackage,
    pub(crate) expected: Expected,
    /// The library modules that its kernel is made of.
    pub(crate) kernels: &'static [&'static str],
    /// Its parameters, of these limits.
    pub(crate) parameters: fn(Limits) -> Vec<(&'static str, u32)>,
    /// Whether it publishes while a message comes.
    pub(crate) streams: bool,
    /// Pictures of a simulation with pictures of chance, and how one is made.
    pub(crate) pictures: usize,
    pub(crate) picture: fn(&mut Random, Limits) -> Fields,
    /// The parameters of its software twin, in YAML.
    pub(crate) told: fn(Limits) -> String,
    /// Sources that are made for these limits, in place of those that are shipped.
    pub(crate) made: fn(Limits) -> Vec<(&'static str, String)>,
}

impl PictureNode {
    /// The node with its adapters, as the generator makes them from the package file with these
    /// limits.
    pub(crate) fn design(&self, limits: Limits) -> Design {
        let (node, output) = self.twin;
        let package = (self.package)(limits);
        let graph = GRAPH.replace("NODE", node).replace("OUTPUT", output);
        let graph = graph.replace("PACKAGE", &package.name);
        let adapters = [
            format!("{node}_image_take"),
            format!("{node}_{output}_publish"),
            format!("{node}_pictures"),
        ];
        let parts = ["frame_take", "frame_publish", "picture_check", "picture_shell"];
        let parts = parts.iter().chain(self.kernels).map(|it| (*it).to_owned());
        let modules: Vec<String> = adapters.into_iter().chain(parts).collect();
        let design = node_design(package, (&graph, MAPPING), node, &modules);
        let made = (self.made)(limits).into_iter();
        let design = made.fold(design, |design, (name, text)| design.with_source(name, &text));
        let parameters = (self.parameters)(limits).into_iter();
        parameters.fold(design, |design, (name, value)| design.set(name, u64::from(value)))
    }

    pub(crate) fn simulation(&self, limits: Limits) -> Simulation {
        let (_, output) = self.twin;
        let streams = u8::from(self.streams);
        let parameter = HardwareNode::width_parameter(output);
        let mut parameters = (self.parameters)(limits).into_iter();
        let bytes = parameters.find(|(name, _)| *name == parameter).map_or(8, |(_, bits)| bits / 8);
        let ports = format!(
            "#define NODE_INPUT s_axis_image\n#define NODE_OUTPUT m_axis_{output}\n\
             #define NODE_PUBLISHER_ID {output}_publisher_id\n#define NODE_STREAMS {streams}\n\
             #define NODE_OUTPUT_BYTES {bytes}\n#define NODE_MAX_BYTES {}\n",
            limits.max_bytes
        );
        node_simulation(self.design(limits), TESTBENCH, &ports)
    }

    /// Frames of so many pictures of chance, with odd and damaged ones between them.
    pub(crate) fn chance(&self, seed: u64, count: usize, limits: Limits) -> Vec<Sent> {
        frames::chance(seed, count, limits, self.picture)
    }

    /// The file of these frames for the testbench, and how many messages are published.
    pub(crate) fn file(&self, sent: &[Sent], limits: Limits) -> (PathBuf, u64) {
        let expected = (self.expected)(sent, limits, self.twin, &(self.told)(limits));
        frames::written(sent, &expected)
    }

    pub(crate) fn run(&self, limits: Limits, vectors: &Path, options: &[&str]) -> Report {
        let vectors = vectors.to_str().expect("a path");
        must(self.simulation(limits).run(&[&["--vectors", vectors], options].concat()))
    }

    /// Good, odd and damaged frames under many stalls, few, and none.
    pub(crate) fn equals_its_twin(&self, limits: Limits) {
        let pictures = self.pictures;
        let (path, count) = self.file(&self.chance(1, pictures, limits), limits);
        assert!(count as usize > pictures * 7 / 6, "{count} pictures");
        for (seed, stalls) in [("1", "30"), ("2", "3"), ("3", "0")] {
            let report = self.run(limits, &path, &["--seed", seed, "--stalls", stalls]);
            assert_eq!(report.value("published"), count);
            assert!(report.value("dropped") as usize > pictures / 6, "{report:?}");
            assert_eq!(report.value("damaged") > 0, self.streams, "{report:?}");
        }
        let (path, count) = self.file(&self.chance(3, SLOW_PICTURES, limits), limits);
        let report = self.run(limits, &path, &SLOW);
        assert_eq!(report.value("published"), count);
    }

    /// Pictures of recordings: four, or all. Gives how many.
    pub(crate) fn equals_its_twin_on_recordings(&self, limits: Limits, sparse: bool) -> u64 {
        let mut total = 0;
        let bags: [(&str, usize); 4] = [
            ("driving/highway_a_25hz/highway_a_25hz.mcap", 60),
            ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", 100),
            ("driving/highway_drive_1hz/highway_drive_1hz.mcap", 1),
            ("driving/white_lanes_25hz/white_lanes_25hz.mcap", 1),
        ];
        for (bag, every) in bags.into_iter().take(if sparse { 2 } else { 4 }) {
            total += self.equals_its_twin_on_recording(limits, bag, sparse.then_some(every));
        }
        total
    }

    /// Pictures of this recording: two, the second one so far behind the first, or all. Gives how
    /// many.
    pub(crate) fn equals_its_twin_on_recording(
        &self,
        limits: Limits,
        bag: &str,
        two: Option<usize>,
    ) -> u64 {
        let Some(data) = crossdock_test_support::data() else { return 0 };
        let mut random = Random::new(1);
        let bag = data.join(bag);
        let all = frames::stamps(&bag);
        let stamps: Vec<i64> = match two {
            Some(every) => all.into_iter().step_by(every).take(2).collect(),
            None => all,
        };
        assert!(stamps.len() >= 2, "{}", bag.display());
        // The testbench holds the frames of a file in memory.
        for some in stamps.chunks(40) {
            let pictures = frames::recorded(&bag, some);
            let sent = pictures.iter().map(|it| frames::frame(it, &mut random));
            let (path, count) = self.file(&sent.collect::<Vec<_>>(), limits);
            assert_eq!(count, some.len() as u64);
            self.run(limits, &path, &["--seed", "1", "--stalls", "10"]);
            // Hundreds of megabytes that nobody needs again.
            if two.is_none() {
                must(std::fs::remove_file(path));
            }
        }
        stamps.len() as u64
    }

    /// Three pictures without stalls: beats of one, the latency of the first and the period.
    pub(crate) fn pace(&self, limits: Limits) -> (u64, u64, u64) {
        let mut random = Random::new(1);
        let picture = frames::Fields::picture(640, 480, vec![100; 921_600]);
        let sent: Vec<_> = (0..3).map(|_| frames::frame(&picture, &mut random)).collect();
        let (path, _) = self.file(&sent, limits);
        let report = self.run(limits, &path, &["--seed", "1", "--stalls", "0"]);
        (sent[0].beats(), report.value("latency"), report.value("period"))
    }

    /// A module of the node: the frames of chance have to notice its mutants.
    pub(crate) fn mutants<'a>(&self, module: &'a str, limits: Limits) -> Mutants<'a> {
        self.notices(Mutants::of(module), limits)
    }

    /// The frames of chance have to notice these, too.
    pub(crate) fn notices<'a>(&self, mutants: Mutants<'a>, limits: Limits) -> Mutants<'a> {
        let (path, _) = self.file(&self.chance(1, self.pictures, limits), limits);
        let vectors = path.to_str().expect("a path");
        let simulation = self.simulation(limits);
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "30"];
        let (slow, _) = self.file(&self.chance(3, SLOW_PICTURES, limits), limits);
        let slow = ["--vectors", slow.to_str().expect("a path")];
        mutants
            .simulated(simulation.clone(), &options)
            .simulated(simulation.clone(), &[&options[..], &["--resets", "1"]].concat())
            .simulated(simulation, &[&slow[..], &SLOW].concat())
    }

    /// Each fault, on the frames of chance.
    pub(crate) fn catches(&self, limits: Limits, faults: &[crossdock_hardware_tests::Mutation]) {
        let (path, _) = self.file(&self.chance(1, self.pictures, limits), limits);
        let vectors = path.to_str().expect("a path");
        for fault in faults {
            let options = ["--vectors", vectors, "--seed", "1", "--stalls", "30"];
            must(self.simulation(limits).catches(fault, &options));
        }
    }
}

/// The tests that every node of pictures has to pass, in the module that has its `NODE` and its
/// `FAULTS`. `resets`: pictures of chance around a reset; `amount`: what the long run counts.
macro_rules! common_tests {
    (
        small: $small:expr, shipped: $shipped:expr, area: $area:expr, resets: $resets:expr,
        amount: $amount:expr
    ) => {
        #[test]
        fn the_node_is_clean_under_all_warnings() {
            must(lint(&NODE.design($shipped)));
            must(lint(&NODE.design($small)));
        }

        #[test]
        fn frames_of_all_kinds_become_what_the_software_node_makes_of_them() {
            NODE.equals_its_twin($small);
        }

        #[test]
        #[ignore = "long: many resets"]
        fn after_a_reset_the_node_begins_anew() {
            let (path, _) = NODE.file(&NODE.chance(2, $resets, $small), $small);
            NODE.run($small, &path, &["--seed", "4", "--resets", "1"]);
        }

        #[test]
        fn recorded_pictures_become_what_the_software_node_makes_of_them() {
            NODE.equals_its_twin_on_recordings($shipped, true);
        }

        #[test]
        #[ignore = "long: all pictures of recordings"]
        fn all_recorded_pictures_become_what_the_software_node_makes_of_them() {
            done(NODE.equals_its_twin_on_recordings($shipped, false), $amount);
        }

        #[test]
        #[ignore = "long: a simulator for each fault"]
        fn faults_of_the_node_are_caught() {
            NODE.catches($small, &FAULTS);
        }

        #[test]
        #[ignore = "long: synthesis of a whole node"]
        fn the_node_takes_no_more_area_than_its_budget() {
            must(area_within_budget(&NODE.design($area)));
        }
    };
}
pub(crate) use common_tests;
