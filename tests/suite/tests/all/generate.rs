//! `crossdock gen hw` as a user meets it: files in a folder, the same every time, own message
//! types, and errors with position.

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
        assert!(told.contains("/cmd_vel: 2 publishers, 1 subscriber, 64 bits, 9 beats"), "{told}");
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
fn a_link_in_the_folder_of_generated_files_is_replaced_and_not_written_through() {
    let run = Run::new("gen_links");
    let types = run.file("own_msgs");
    std::fs::create_dir_all(types.join("msg")).expect("a folder");
    std::fs::write(types.join("msg/Pair.msg"), "float64 a\nuint8 b\n").expect("written");
    let types = types.to_str().expect("UTF-8");
    let outside = run.file("outside");
    std::fs::write(&outside, "mine").expect("written");
    for (out, words) in [
        ("hardware", &["hw", GRAPH, "--mapping", MAPPING][..]),
        ("types", &["--lang", "sv", types]),
    ] {
        let folder = run.file(out);
        let made = || {
            let command = [&["gen"], words, &["-o", folder.to_str().expect("UTF-8")]].concat();
            let output = run.output(&command);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            files(&folder)
        };
        let first = made();
        let name = first.keys().next().expect("a file");
        let linked = folder.join(name);
        std::fs::remove_file(&linked).expect("removed");
        // What an interrupted command has left may be a link as well.
        for link in [linked, folder.join(format!("{name}.unfinished"))] {
            std::os::unix::fs::symlink(&outside, link).expect("a link");
        }
        assert_eq!(made(), first);
        assert_eq!(std::fs::read_to_string(&outside).expect("it"), "mine");
    }
}

#[test]
fn a_board_whose_nodes_are_too_large_for_a_part_is_warned_of_before_anything_runs() {
    let run = Run::new("gen_hw_large");
    let graph = "apps/autorace/course.graph.yaml";
    let mapping = "apps/autorace/course.board.mapping.yaml";
    let check = |mapping: &str| {
        let checked = run.output(&["check", graph, "--mapping", mapping]);
        let told = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(checked.status.success(), "{told}");
        told
    };
    assert_eq!(check(mapping), "", "there are parts with room for it");
    let folder = run.file("board");
    let folder = folder.to_str().expect("UTF-8");
    let made = run.output(&["gen", "hw", graph, "--mapping", mapping, "-o", folder]);
    let told = String::from_utf8_lossy(&made.stdout);
    let is_warning = |line: &&str| line.starts_with("warning: network `network_board` and its ");
    let warning = told.lines().find(is_warning).unwrap_or_else(|| panic!("{told}"));
    let small =
        "parts have: LFE5UM-85F (boards with an ECP5-85) has 208 blocks; shorten its FIFOs, ";
    assert!(warning.contains(small), "{warning}");
    let text = std::fs::read_to_string(workspace().join(mapping)).expect("the mapping");
    let blurred = "/camera/image_blurred: { mapping: hardware";
    assert!(text.contains(blurred), "{text}");
    let fifo = "subscribers: { planner: { image: { fifo_messages: 8 } } }";
    let large = run.file("large.mapping.yaml");
    std::fs::write(&large, text.replace(blurred, &format!("{blurred}, {fifo}"))).expect("written");
    let told = check(large.to_str().expect("UTF-8"));
    let warning = told.lines().find(is_warning).unwrap_or_else(|| panic!("{told}"));
    assert!(warning.contains("XCZU7EV (ZCU104) has 624 blocks and 96 of UltraRAM"), "{warning}");
    // The other parts have UltraRAM for the picture of compensation.
    let report = &files(Path::new(folder))["report.md"];
    let [ultra_scale, ecp5] = ["yes, with ", "no |"].map(|fits| report.matches(fits).count());
    assert_eq!((ultra_scale, ecp5), (2, 1), "{report}");
}

#[test]
fn parameters_of_the_command_line_are_those_of_the_modules() {
    let run = Run::new("gen_hw_parameters");
    let (graph, mapping) =
        ("apps/autorace/course.graph.yaml", "apps/autorace/course.hardware.mapping.yaml");
    let folder = run.file("board");
    let folder = folder.to_str().expect("UTF-8");
    let command = ["gen", "hw", graph, "--mapping", mapping, "-o", folder];
    let given = |value: &str| {
        let made = run.output(&[&command[..], &["-p", value]].concat());
        (made.status.success(), String::from_utf8_lossy(&made.stderr).into_owned())
    };
    assert!(given("blur.max_width:=320").0);
    let board = &files(Path::new(folder))["board_board.sv"];
    assert!(board.contains(".MAX_WIDTH(320)"), "{board}");
    let (is_made, told) = given("blur.width:=320");
    assert!(!is_made && told.contains("has no parameter `width`"), "{told}");
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
    assert!(told.contains("/x: 1 publisher, 1 subscriber, 64 bits, 5 beats"), "{told}");
}

const PICTURES: &str = "crates/fabric/tests/pictures/pictures.hardware.yaml";

/// A graph with a node type of the package `pictures` in a fabric, in a folder of its own with what
/// is beside it.
struct Board {
    run: Run,
}

impl Board {
    fn new(test: &str) -> Self {
        let board = Self { run: Run::new(test) };
        board.write(
            "g.yaml",
            "crossdock: 1\nname: g\ntopics:\n  /in: { external: true, bounds: { header.frame_id: 32, encoding: 16, \
             data: 40000 } }\n  /out: { bounds: { header.frame_id: 32, encoding: 16, data: 40000 } }\nnodes:\n  \
             n: { package: pictures, type: invert, inputs: { image: /in }, outputs: { inverted: /out } }\n",
        );
        board.write(
            "m.yaml",
            "crossdock: 1\nprocesses: {}\nfabrics: { board: { nodes: [n] } }\n\
             topics: { /in: { mapping: gateway }, /out: { mapping: gateway } }\n",
        );
        board
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.run.file(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, text).expect("a file");
    }

    /// Puts the package of the tests of boards into a folder, changed.
    fn package(&self, folder: &str, change: impl Fn(String) -> String) {
        let from = workspace().join(PICTURES);
        let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
        self.write(&format!("{folder}/pictures.hardware.yaml"), &change(read(&from)));
        for source in ["rtl/invert_picture.sv", "rtl/invert_bytes.sv"] {
            let text = read(&from.parent().expect("its folder").join(source));
            self.write(&format!("{folder}/{source}"), &text);
        }
    }

    fn generate(&self, more: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let [graph, mapping, out] = ["g.yaml", "m.yaml", "out"].map(|name| self.run.file(name));
        let [graph, mapping, folder] =
            [&graph, &mapping, &out].map(|path| path.to_str().expect("UTF-8"));
        let command = [&["gen", "hw", graph, "--mapping", mapping, "-o", folder], more].concat();
        // No `ghdl` anywhere, whatever is installed.
        let output = self.run.crossdock(&command).env("PATH", self.run.file("nothing")).output();
        let output = output.expect("crossdock starts");
        match output.status.success() {
            true => Ok(files(&out)),
            false => Err(String::from_utf8(output.stderr).expect("UTF-8")),
        }
    }
}

#[test]
fn nodes_with_a_hardware_package_are_part_of_the_board() {
    let board = Board::new("gen_hw_nodes");
    // Types of topics are nowhere else: without a package there is no network.
    assert!(board.generate(&[]).unwrap_err().contains("nothing says its message type"));
    board.package("hardware", |text| text);
    let found = board.generate(&[]).expect("files");
    let instance = "  invert_picture #(\n    .MASK(255),\n    .PAUSE_CYCLES(0)\n  ) u_node__n (";
    assert!(found["board_board.sv"].contains(instance), "{}", found["board_board.sv"]);
    for name in found["board.f"].lines().chain(found["nodes.f"].lines()) {
        assert!(found.contains_key(name), "{name} is listed and not there");
    }
    assert!(found["board.f"].lines().any(|name| name == "axis_reg.sv"), "{}", found["board.f"]);
    // A folder of packages comes before what is beside the graph.
    board.package("packages", |text| text.replace("mask: 255", "mask: 254"));
    let packages = board.run.file("packages");
    let packages = packages.to_str().expect("UTF-8");
    let found = board.generate(&["--package-path", packages]).expect("files");
    assert!(found["board_board.sv"].contains(".MASK(254)"));
}

#[test]
fn hardware_packages_that_cannot_be_used_are_refused_with_what_to_do() {
    let board = Board::new("gen_hw_refused");
    let refused = |from: &str, to: &str| {
        board.package("hardware", |text| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        board.generate(&[]).unwrap_err()
    };
    let file = board.run.file("hardware/pictures.hardware.yaml").display().to_string();
    let errors = refused("rtl/invert_bytes.sv", "rtl/no.sv");
    let missing = board.run.file("hardware/rtl/no.sv").display().to_string();
    let says = format!("{file}:8:38: the source {missing} cannot be read: ");
    assert!(errors.starts_with(&says) && errors.contains("relative to this file"), "{errors}");
    // Neither is waited for, nor read without end.
    let source = |name: &str| board.run.file(&format!("hardware/rtl/{name}"));
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, source("pipe.sv"), fifo, mode, 0).expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", source("zeros.sv")).expect("a link");
    for (name, what) in [("pipe.sv", "pipe"), ("zeros.sv", "device")] {
        let errors = refused("rtl/invert_bytes.sv", &format!("rtl/{name}"));
        let says = format!("{name} cannot be read: it is a {what}, no file");
        assert!(errors.contains(&says), "{errors}");
    }
    let errors = refused("package: pictures", "package: picture");
    let says = format!("{file}:3:10: the file is named after package `pictures`, not `picture`; ");
    assert!(errors.starts_with(&says), "{errors}");
    let errors = refused("nodes:", "knots:");
    assert!(errors.contains("a hardware package file needs the key `nodes`"), "{errors}");
    board.write("hardware/rtl/bytes.vhd", "entity invert_bytes is\nend entity;\n");
    let errors = refused("rtl/invert_bytes.sv", "rtl/bytes.vhd");
    assert_eq!(
        errors,
        format!(
            "{file}:8:38: rtl/bytes.vhd is VHDL, which GHDL turns into Verilog, and there is no command \
             `ghdl`; install it (Debian, Ubuntu: `sudo apt-get install ghdl`), or write the node in \
             SystemVerilog\n"
        )
    );
    board.write("hardware/rtl/bytes.vhd", "entity other is\nend entity;\n");
    let errors = refused("rtl/invert_bytes.sv", "rtl/bytes.vhd");
    assert!(errors.contains("rtl/bytes.vhd has no entity `invert_picture`"), "{errors}");
}
