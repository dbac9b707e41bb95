//! The shape of the house: dependencies point downwards only, between crates and between the rooms
//! of one crate; library crates neither print nor hold unsafe code where none belongs.

mod modules;

use crossdock_test_support::workspace;
use modules::Modules;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate may depend on. A new crate takes its place here before it builds.
const ALLOWED: &[(&str, &[&str])] = &[
    ("msg", &[]),
    ("graph", &["msg"]),
    ("shm", &[]),
    ("trace", &["shm"]),
    ("comm", &["msg", "shm", "trace"]),
    ("rmw", &["msg", "shm", "trace", "comm"]),
    ("executor", &["msg", "graph", "comm", "trace"]),
    ("record", &["msg", "comm", "executor"]),
    ("sight", &["msg", "graph", "comm", "executor"]),
    ("hwgen", &["msg", "graph"]),
    ("device", &["shm"]),
    ("offload", &["msg", "graph", "shm", "trace", "comm", "executor", "device"]),
    ("rectify", &["device"]),
    ("fabric", &["msg", "hwgen", "shm"]),
    ("gateway", &["msg", "shm", "trace", "comm", "executor", "fabric"]),
    ("experiments", &["msg", "graph", "hwgen", "fabric", "device", "offload", "trace", "comm"]),
    (
        "cli",
        &[
            "msg",
            "graph",
            "hwgen",
            "fabric",
            "gateway",
            "device",
            "offload",
            "trace",
            "comm",
            "executor",
            "record",
            "sight",
            "experiments",
        ],
    ),
    ("autorace", &["msg", "graph", "device", "rectify", "comm", "executor", "offload", "record"]),
    ("image-pipeline", &["msg", "graph", "device", "rectify", "comm", "executor", "offload"]),
    ("cpu-gpu", &["msg", "graph", "shm", "device", "comm", "executor", "offload"]),
    ("frames", &["msg", "graph", "shm", "device", "comm", "executor", "offload"]),
    ("reference-system", &["msg", "graph", "comm", "executor", "record"]),
    ("test-support", &[]),
    ("suite", &["test-support"]),
    ("hardware-tests", &["test-support", "fabric"]),
];

/// Crates that hold unsafe code (`msg` in its one module `block`, `fabric` in `loaded`, `device` in
/// its drivers and where it calls them, `offload` where it has a device copy, `rmw` where it
/// touches what ROS programs own, those with kernels where they launch them).
const UNSAFE: &[&str] = &[
    "msg",
    "shm",
    "fabric",
    "device",
    "offload",
    "rmw",
    "rectify",
    "autorace",
    "image-pipeline",
    "cpu-gpu",
    "frames",
];
/// In these crates only these files or folders may hold it.
const UNSAFE_PLACE: &[(&str, &str)] = &[
    ("fabric", "src/loaded.rs"),
    ("offload", "src/memories.rs"),
    ("offload", "src/managed.rs"),
    ("offload", "src/elements.rs"),
    ("rmw", "src/api"),
    ("rmw", "src/convert"),
    ("rmw", "src/error_state.rs"),
    ("rmw", "src/introspection.rs"),
    ("rmw", "src/shim.rs"),
    ("rectify", "src/gpu.rs"),
    ("autorace", "src/gpu"),
    ("image-pipeline", "src/gpu"),
    ("cpu-gpu", "src/gpu"),
    ("frames", "src/gpu"),
];

/// A room, and all that it imports.
type Room = (&'static str, &'static [&'static str]);

/// Which rooms (the modules right below a crate's root) may import which. A crate that is listed
/// has all its rooms listed, each with all that it imports.
const WALLS: &[(&str, &[Room])] = &[("comm", COMM), ("executor", EXECUTOR)];

const COMM: &[Room] = &[
    ("patience", &[]),
    ("quotas", &["wire"]),
    ("wire", &[]),
    ("error", &["wire"]),
    ("device", &[]),
    ("buffer", &["wire"]),
    ("discovery", &["patience", "quotas", "wire", "error", "device", "buffer"]),
    ("port", &["quotas", "wire", "error", "device", "buffer", "discovery"]),
    ("service", &["wire", "error", "device", "discovery", "port"]),
    ("step", &["wire", "error", "discovery", "port"]),
    ("observe", &["patience", "quotas", "wire"]),
];

const EXECUTOR: &[Room] = &[
    ("clock", &[]),
    ("finish", &[]),
    ("origin", &[]),
    ("status", &[]),
    ("steady", &["clock"]),
    ("node", &["clock", "finish", "origin"]),
    ("release", &["clock", "node", "origin", "steady"]),
    ("run", &["clock", "finish", "node", "origin", "release", "status", "steady"]),
    ("process", &["node", "run", "status"]),
];

/// Files of the product that make something in the folder for temporary files. What they make is
/// new and nobody else's.
const TEMPORARY: &[&str] =
    &["crates/cli/src/scratch.rs", "crates/record/src/source.rs", "bench/src/scope.rs"];

/// Columns that a comment has at most, and lines that a function of the product has at most.
const COMMENT_COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;

/// Modules of one crate that import each other in a circle, at most.
const CIRCLE_MAX: usize = 5;

struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<String>,
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ours = |name: &str| name.strip_prefix("crossdock-").map(str::to_owned);
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| Package {
            name: ours(&text(&package["name"])).expect("every package is named crossdock-*"),
            folder: Path::new(&text(&package["manifest_path"])).parent().expect("folder").into(),
            dependencies: (package["dependencies"].as_array().expect("dependencies").iter())
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| ours(&text(&dependency["name"])))
                .collect(),
        })
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.map(|entry| entry.expect("entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => rust_files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The files of a folder that are not unit tests.
fn product_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = rust_files(folder);
    files.retain(|path| !path.to_string_lossy().ends_with("tests.rs"));
    files
}

/// The first line and the length in lines of each function, as rustfmt lays functions out.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let words = ["const", "unsafe", "async", "extern", "\"C\""];
    let begins = |code: &str| {
        code.split_once("fn ").is_some_and(|(before, _)| {
            before.split_whitespace().all(|word| word.starts_with("pub") || words.contains(&word))
        })
    };
    let length = |at: usize| {
        let code = lines[at].trim_start();
        let signature = lines[at..].iter().find(|line| line.ends_with(['{', '}', ';', '\\']))?;
        let end = format!("{}}}", &lines[at][..lines[at].len() - code.len()]);
        let is_function = begins(code) && signature.ends_with('{');
        is_function.then(|| lines[at..].iter().position(|line| *line == end))?.map(|last| last + 1)
    };
    (0..lines.len()).filter_map(|at| Some((at + 1, length(at)?))).collect()
}

/// The product part of a source file: without comments and without its unit tests.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (text.lines().enumerate())
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number + 1, line))
}

#[test]
fn dependencies_point_downwards_only() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for package in packages() {
        let may = allowed.get(package.name.as_str());
        let may = may.unwrap_or_else(|| panic!("{} has no place in ALLOWED", package.name));
        for dependency in &package.dependencies {
            assert!(
                may.contains(&dependency.as_str()),
                "{} depends on {dependency}; it may depend on {may:?} only",
                package.name
            );
        }
    }
}

#[test]
fn only_one_file_of_the_command_prints() {
    let printing = ["println!", "eprintln!", "print!(", "eprint!(", "dbg!("];
    let folders = ["crates", "apps"].map(|folder| workspace().join(folder));
    let output = folders[0].join("cli/src/output.rs");
    let is_product = |package: &Package| folders.iter().any(|it| package.folder.starts_with(it));
    let crates = packages().into_iter().filter(is_product);
    for package in crates {
        for file in product_files(&package.folder.join("src")) {
            if file == output {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("source");
            for (number, line) in product_lines(&text) {
                let found = printing.iter().find(|call| line.contains(**call));
                assert!(found.is_none(), "{}:{number} prints: {line}", file.display());
            }
        }
    }
}

#[test]
fn only_few_files_make_something_where_everybody_may() {
    let beside = ["bench/src", "net/view/src", "net/wire/src", "net/zenoh/src"];
    let beside = beside.map(|it| workspace().join(it));
    let folders = packages().into_iter().map(|package| package.folder.join("src"));
    let allowed: Vec<PathBuf> = TEMPORARY.iter().map(|file| workspace().join(file)).collect();
    let mut wrong = Vec::new();
    for file in folders.chain(beside).flat_map(|folder| product_files(&folder)) {
        let text = std::fs::read_to_string(&file).expect("source");
        let mut calls = product_lines(&text).filter(|(_, line)| line.contains("temp_dir"));
        match (calls.next(), allowed.contains(&file)) {
            (Some((number, _)), false) => wrong.push(format!("{}:{number}", file.display())),
            (None, true) => wrong.push(format!("{}: it needs no place here", file.display())),
            _ => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "in the folder for temporary files others make files, too; take `Scratch`:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn packages_of_python_are_installed_by_their_checksums_alone() {
    let scripts = std::fs::read_dir(workspace().join("scripts")).expect("scripts");
    let scripts = scripts.map(|entry| entry.expect("an entry").path()).filter(|it| it.is_file());
    let makefiles = ["Makefile", "bench/peers/Makefile"].map(|it| workspace().join(it));
    let (mut installing, mut wrong) = (Vec::new(), Vec::new());
    for file in scripts.chain(makefiles) {
        let text = std::fs::read_to_string(&file).expect("text").replace("\\\n", " ");
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let calls = lines.filter(|line| line.contains("/pip") && line.contains(" install "));
        for call in calls {
            installing.push(file.file_name().expect("a file").to_owned());
            wrong
                .extend((!call.contains(" --require-hashes ")).then(|| file.display().to_string()));
        }
    }
    installing.sort();
    assert_eq!(installing, ["Makefile", "hardware-tools"], "the calls are found");
    assert!(wrong.is_empty(), "ask pip for --require-hashes:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_lives_in_the_crates_that_exist_to_hold_it() {
    for package in packages().iter().filter(|package| !UNSAFE.contains(&package.name.as_str())) {
        let roots = ["src/lib.rs", "src/main.rs", "lib.rs"].map(|root| package.folder.join(root));
        for root in roots.iter().filter(|root| root.exists()) {
            let text = std::fs::read_to_string(root).expect("source");
            let forbids = text.contains("#![forbid(unsafe_code)]");
            assert!(forbids, "{} does not forbid unsafe code", root.display());
        }
    }
}

#[test]
fn unsafe_code_lives_in_few_places_of_the_crates_that_need_little_of_it() {
    for (name, _) in UNSAFE_PLACE {
        let package = packages().into_iter().find(|package| package.name == *name);
        let folder = package.unwrap_or_else(|| panic!("no crate {name}")).folder;
        for file in product_files(&folder.join("src")) {
            let text = std::fs::read_to_string(&file).expect("source");
            let holds = product_lines(&text).any(|(_, line)| {
                line.contains("unsafe {")
                    || line.contains("unsafe impl")
                    || line.contains("allow(unsafe_code)")
            });
            let mut places = UNSAFE_PLACE.iter().filter(|(of, _)| of == name);
            let may = places.any(|(_, place)| file.starts_with(folder.join(place)))
                || file == folder.join("src/lib.rs");
            assert!(may || !holds, "{} holds unsafe code", file.display());
        }
        let root = std::fs::read_to_string(folder.join("src/lib.rs")).expect("source");
        assert!(root.contains("#![deny(unsafe_code)]"), "{name} does not deny unsafe code");
    }
}

#[test]
fn source_files_fit_the_limits_of_the_style() {
    for package in packages() {
        let folders = ["src", "tests", "examples"].map(|folder| package.folder.join(folder));
        for file in folders.iter().flat_map(|folder| rust_files(folder)) {
            let text = std::fs::read_to_string(&file).expect("source");
            // Generated types are one file per package, however many types that package has.
            let generated = text.starts_with("// Generated");
            let lines = text.lines().count();
            assert!(generated || lines <= 800, "{}: {lines} lines, split it", file.display());
            assert!(
                text.starts_with("//"),
                "{}: the head comment says what the file is for",
                file.display()
            );
        }
    }
}

#[test]
fn comments_fit_the_columns_of_the_style() {
    let parts = |folder: &Path| ["src", "tests", "examples"].map(|part| folder.join(part));
    let mut folders: Vec<PathBuf> =
        packages().iter().flat_map(|package| parts(&package.folder)).collect();
    folders.extend(
        [
            "bench/src",
            "fuzz/src",
            "fuzz/targets",
            "net/peers/tests",
            "net/view/src",
            "net/view/tests",
            "net/wire/src",
            "net/zenoh/src",
            "net/zenoh/tests",
        ]
        .map(|it| workspace().join(it)),
    );
    let mut wrong = Vec::new();
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let text = std::fs::read_to_string(&file).expect("source");
        if text.starts_with("// Generated") {
            continue;
        }
        // A line of a text goes on with a backslash.
        let is_comment = |line: &str| line.trim_start().starts_with("//") && !line.ends_with('\\');
        let is_long = |line: &str| is_comment(line) && line.chars().count() > COMMENT_COLUMNS_MAX;
        let long = text.lines().enumerate().filter(|(_, line)| is_long(line));
        wrong.extend(long.map(|(at, _)| format!("{}:{}", file.display(), at + 1)));
    }
    assert!(
        wrong.is_empty(),
        "comments with more than {COMMENT_COLUMNS_MAX} columns, wrap them:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn functions_of_the_product_fit_the_lines_of_the_style() {
    let mut wrong = Vec::new();
    let beside = ["bench/src", "net/view/src", "net/wire/src", "net/zenoh/src"];
    let beside = beside.map(|it| workspace().join(it));
    let folders = packages().into_iter().map(|package| package.folder.join("src"));
    for file in folders.chain(beside).flat_map(|folder| product_files(&folder)) {
        let text = std::fs::read_to_string(&file).expect("source");
        let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let functions = functions(product).into_iter();
        let long = functions.filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
        wrong.extend(long.map(|(at, lines)| format!("{}:{at}: {lines} lines", file.display())));
    }
    assert!(
        wrong.is_empty(),
        "functions with more than {FUNCTION_LINES_MAX} lines, split them:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn functions_are_found_with_their_lengths() {
    let text = "pub(crate) const fn a(\n    b: u8,\n) {\n}\n\ntrait T {\n    fn c();\n\n    \
                fn d() {\n        e()\n    }\n}\nconst F: &str = \"\\\n    fn g() {{\\n\\\n\";\n";
    assert_eq!(functions(text), [(1, 4), (9, 3)]);
}

fn modules_of(package: &Package) -> Modules {
    let src = package.folder.join("src");
    Modules::read(&src, &product_files(&src))
}

#[test]
fn heads_of_files_forbid_nothing_that_no_table_here_checks() {
    let mut wrong = Vec::new();
    for file in packages().iter().flat_map(|package| rust_files(&package.folder)) {
        let text = std::fs::read_to_string(&file).expect("source");
        let head = text.lines().take_while(|line| line.starts_with("//!"));
        let words = head.flat_map(|line| line.trim_start_matches("//!").split_whitespace());
        let words: Vec<&str> = words.collect();
        if words.join(" ").to_lowercase().contains("must not know") {
            wrong.push(file.display().to_string());
        }
    }
    assert!(wrong.is_empty(), "put walls into the tables of this file:\n{}", wrong.join("\n"));
}

#[test]
fn rooms_of_a_crate_import_only_what_their_walls_allow() {
    for (name, walls) in WALLS {
        let package = packages().into_iter().find(|package| package.name == *name);
        let modules = modules_of(&package.unwrap_or_else(|| panic!("no crate {name}")));
        let listed = walls.iter().map(|(room, _)| *room).collect();
        assert_eq!(modules.rooms(), listed, "{name}: all its rooms are in WALLS");
        for (room, may) in *walls {
            let mut used = BTreeSet::new();
            for (module, other) in modules.imports_of_room(room) {
                let allowed = may.contains(&other[0].as_str());
                let (module, other_path) = (module.join("::"), other.join("::"));
                assert!(
                    allowed,
                    "{name}: {module} imports {other_path}; {room} may import {may:?}"
                );
                used.insert(other[0].as_str());
            }
            assert_eq!(
                used,
                may.iter().copied().collect(),
                "{name}: {room} needs no more walls open"
            );
        }
    }
}

#[test]
fn modules_of_a_crate_import_each_other_in_small_circles_at_most() {
    let mut wrong = Vec::new();
    for package in packages() {
        let circle = modules_of(&package).largest_circle();
        let (name, size) = (&package.name, circle.len());
        if size > CIRCLE_MAX {
            wrong.push(format!("{name}: {size} modules import each other: {circle:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_found_in_braces_behind_super_and_behind_reexports() {
    let modules = modules::read_text(&[
        ("lib.rs", "mod a; mod b; pub use b::inner::Thing;"),
        ("a.rs", "use crate::{Thing, other::{self}};"),
        ("b/mod.rs", "pub(crate) mod inner; mod next; // crate::a"),
        ("b/inner.rs", "use super::next::{First, Second};"),
        ("b/next.rs", "fn f() { crate::a::g() }\n#[cfg(test)]\nmod tests { use crate::c; }"),
        ("c.rs", "use crate::a;"),
        ("other.rs", ""),
    ]);
    assert_eq!(modules.largest_circle(), ["a", "b::inner", "b::next"]);
    let of_a: Vec<_> = modules.imports_of_room("a").map(|(_, other)| other.join("::")).collect();
    assert_eq!(of_a, ["b::inner", "other"]);
    assert!(modules.rooms().contains("c"));
}
