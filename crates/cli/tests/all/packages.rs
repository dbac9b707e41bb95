//! Which package binaries the command executes, and what becomes of what they print.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with package binaries and a graph, removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new(test: &str) -> Self {
        let name = format!("packages-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("room");
        path
    }

    /// A binary that leaves a mark beside it when it is executed, and is no package.
    fn binary(&self, name: &str, more: &str) {
        let mark = self.0.join(format!("{name}.ran"));
        let path = self.file(name, &format!("#!/bin/sh\n: > {}\n{more}\n", mark.display()));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, executable).expect("our own file");
    }

    fn ran(&self, name: &str) -> bool {
        self.0.join(format!("{name}.ran")).exists()
    }

    fn graph(&self, package: &str) -> PathBuf {
        let nodes =
            format!("nodes:\n  n: {{ package: {package}, type: t, outputs: {{ o: /o }} }}\n");
        self.file("g.graph.yaml", &format!("crossdock: 1\nname: g\n{nodes}"))
    }

    fn crossdock(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(arguments).arg("--package-path").arg(&self.0);
        command.env("XDG_RUNTIME_DIR", &self.0).env_remove("CROSSDOCK_PACKAGE_PATH");
        command.output().expect("crossdock starts")
    }
}

#[test]
fn only_binaries_of_packages_that_the_graph_names_are_executed() {
    let place = Place::new("named");
    for name in ["crossdock-other", "crossdock-night-drive", "crossdock-evil"] {
        place.binary(name, "exit 1");
    }
    let graph = place.graph("night_drive");
    for command in ["check", "graph"] {
        place.crossdock(&[command, graph.to_str().expect("UTF-8")]);
        // Cargo's packages have `-` where ROS's have `_`.
        assert!(place.ran("crossdock-night-drive"), "{command}");
        assert!(!place.ran("crossdock-other") && !place.ran("crossdock-evil"), "{command}");
    }
}

#[test]
fn what_a_package_prints_spoils_neither_json_nor_the_terminal() {
    let place = Place::new("noisy");
    let words = "echo '{ \"not\": JSON'\nprintf 'no \\033[31mlibrary\\n' >&2\nexit 1";
    place.binary("crossdock-noisy", words);
    let graph = place.graph("noisy");
    let output = place.crossdock(&["check", graph.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("it printed: no") && remarks.contains("library"), "{remarks}");
    assert!(!remarks.contains("not\\\""), "{remarks}");
    let output = place.crossdock(&["check", graph.to_str().expect("UTF-8")]);
    assert!(place.ran("crossdock-noisy") && !output.stderr.contains(&0x1b));
}

#[test]
fn a_reader_that_has_gone_ends_a_command_as_usual() {
    let place = Place::new("gone");
    let graph = place.graph("nobody");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
    command.arg("check").arg(graph).stderr(writer.try_clone().expect("a descriptor"));
    let status = command.stdout(writer).status().expect("crossdock starts");
    // 101 would be a panic.
    assert_eq!(status.code(), Some(1));
}

#[test]
fn arguments_of_a_graph_may_have_the_names_of_options() {
    let place = Place::new("arguments");
    let names = ["help", "version", "graph", "json", "speed"];
    let arguments: String = (names.iter())
        .map(|name| format!("  {name}: {{ node: n, parameter: {name}, doc: \"\\e[31m\" }}\n"))
        .collect();
    let graph = std::fs::read_to_string(place.graph("nobody")).expect("a graph");
    let graph = place.file("a.graph.yaml", &format!("{graph}arguments:\n{arguments}"));
    let graph = graph.to_str().expect("UTF-8");
    let help = place.crossdock(&["run", graph, "--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).expect("text");
    assert!(text.contains("--speed <VALUE>") && text.contains("--graph <VALUE>"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let output = place.crossdock(&["run", graph, "--speed", "3"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
}

#[test]
fn an_empty_domain_id_is_the_default_one() {
    let place = Place::new("domain");
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
    command.args(["topic", "list", "--json"]).env("XDG_RUNTIME_DIR", &place.0);
    let output = command.env("ROS_DOMAIN_ID", "").output().expect("crossdock starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "[]");
}

#[test]
fn recordings_and_endless_files_are_not_read_into_memory_to_find_out_what_they_are() {
    let place = Place::new("endless");
    // As long as a disk; without holes it would not fit.
    let recording = place.0.join("long.mcap");
    let file = std::fs::File::create(&recording).expect("a file");
    file.set_len(1 << 42).expect("a file system that has holes");
    let graph = place.0.join("endless.yaml");
    std::os::unix::fs::symlink("/dev/zero", &graph).expect("a link");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let limited = |arguments: &[&str]| {
        // In KiB of address space: a thread's stack or two, the libraries, and the limit of a file.
        let limit = "ulimit -v 2000000; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limit, env!("CARGO_BIN_EXE_crossdock")]).args(arguments);
        command.env("XDG_RUNTIME_DIR", &place.0).output().expect("crossdock starts")
    };
    let compared = limited(&["replay", "--compare", &text(&recording), &text(&recording)]);
    let errors = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert!(errors.contains("is neither an MCAP nor a SQLite file"), "{errors}");
    for command in ["check", "run"] {
        let refused = limited(&[command, &text(&graph)]);
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(errors.contains("more than 67108864 bytes"), "{command}: {errors}");
    }
}
