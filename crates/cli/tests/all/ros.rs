//! `crossdock ros`: the variables it prints make a shell find the plug-in, and what keeps processes
//! from each other is said. The plug-ins are libraries of this test that hold nothing: the command
//! looks at what is loaded, not at what that does.

use crate::place::Place;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A library without content, under this name.
fn library(place: &Place, folder: &str, name: &str) -> PathBuf {
    let folder = place.folder().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    let compiler = Command::new("cc")
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"])
        .arg(&file)
        .status();
    assert!(compiler.expect("a compiler").success());
    file
}

/// A process, ended when dropped.
struct Node(Child);

impl Node {
    /// One that has loaded a library, when it is made.
    fn with(place: &Place, library: &PathBuf, domain: &str) -> Self {
        let mut child = Command::new("cat")
            .env("LD_PRELOAD", library)
            .env("ROS_DOMAIN_ID", domain)
            .env("XDG_RUNTIME_DIR", place.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        // It answers, so it has loaded all its libraries.
        let (input, output) = (child.stdin.as_mut(), child.stdout.as_mut());
        std::io::Write::write_all(input.expect("its input"), b"x").expect("it listens");
        std::io::Read::read_exact(output.expect("its output"), &mut [0]).expect("it answers");
        Self(child)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_shell_that_takes_the_variables_has_no_problem() {
    let place = Place::new("ros-env");
    let plugin = library(&place, "it's/lib", "librmw_crossdock.so");
    let folder = plugin.parent().expect("a folder").to_str().expect("text");
    let arguments = ["--distro", "jazzy", "--plugin", folder];
    let said = place.said(&[&["ros", "env"], &arguments[..]].concat());
    // As a user has it: the variables go to the shell, which starts the next command.
    let mut shell = Command::new("sh");
    shell.args(["-c", "eval \"$0\"; exec \"$@\"", &said, env!("CARGO_BIN_EXE_crossdock")]);
    shell.args([&["ros", "check", "--json"], &arguments[..]].concat());
    shell.env("XDG_RUNTIME_DIR", place.folder()).env_remove("ROS_DOMAIN_ID");
    shell.env("LD_LIBRARY_PATH", "/nowhere");
    let output = shell.output().expect("a shell");
    let said = String::from_utf8(output.stdout).expect("text");
    let findings: Vec<serde_json::Value> = serde_json::from_str(&said).expect("JSON");
    let is_of_shell = |found: &&serde_json::Value| {
        let found = found["found"].as_str().expect("a text");
        !found.starts_with("process ") && !found.starts_with("user ")
    };
    let problems: Vec<_> =
        findings.iter().filter(is_of_shell).filter(|it| it["is_problem"] == true).collect();
    assert!(problems.is_empty(), "{said}");
    assert!(said.contains("LD_LIBRARY_PATH has its folder"), "{said}");
}

#[test]
fn a_shell_without_the_variables_is_told_what_to_do() {
    let place = Place::new("ros-unset");
    let plugin = library(&place, "lib", "librmw_crossdock.so");
    let folder = plugin.parent().expect("a folder").to_str().expect("text");
    let mut command = place.command(&["ros", "check", "--distro", "jazzy", "--plugin", folder]);
    command.env_remove("RMW_IMPLEMENTATION").env_remove("LD_LIBRARY_PATH");
    let output = command.output().expect("crossdock starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("problem  RMW_IMPLEMENTATION is not set\n         -> eval "), "{said}");
    assert!(said.contains("LD_LIBRARY_PATH has no folder with librmw_crossdock.so"), "{said}");
    let refused = place.refused(&["ros", "env", "--distro", "foxy"]);
    assert!(refused.contains("no plug-in for ROS 2 `foxy`"), "{refused}");
    let refused = place.refused(&["ros", "env", "--distro", "jazzy", "--plugin", "/nowhere"]);
    assert!(refused.contains("`make rmw`"), "{refused}");
}

#[test]
fn processes_with_another_plug_in_or_domain_are_named_with_the_next_step() {
    let place = Place::new("ros-nodes");
    let ours = library(&place, "lib", "librmw_crossdock.so");
    let other = library(&place, "other", "librmw_cyclonedds_cpp.so");
    let nodes = [(&ours, "0"), (&ours, "7"), (&other, "0")];
    let nodes = nodes.map(|(library, domain)| Node::with(&place, library, domain));
    let folder = ours.parent().expect("a folder").to_str().expect("text");
    // The place of both is there.
    let participant = place.participant("somebody");
    let output = place.crossdock(&["ros", "check", "--distro", "jazzy", "--plugin", folder]);
    drop(participant);
    let said = String::from_utf8(output.stdout).expect("text");
    let line = |pid: u32, what: &str| {
        let found = format!("process {pid} (cat) uses {what}");
        let mut lines = said.lines().skip_while(|line| !line.contains(&found));
        (lines.next().unwrap_or_default().to_owned(), lines.next().unwrap_or_default().to_owned())
    };
    let pids = nodes.each_ref().map(|node| node.0.id());
    let (good, _) = line(pids[0], "rmw_crossdock, domain 0");
    assert!(good.starts_with("good     "), "{said}");
    let (apart, next) = line(pids[1], "rmw_crossdock, domain 7");
    assert!(apart.starts_with("note     "), "{said}");
    assert!(next.contains("this shell has domain 0"), "{said}");
    let (_, next) = line(pids[2], "rmw_cyclonedds_cpp, domain 0");
    assert!(next.contains("start it again with RMW_IMPLEMENTATION=rmw_crossdock"), "{said}");
}

#[test]
fn a_plug_in_is_not_built_without_an_installation_or_sources() {
    let place = Place::new("ros-build");
    let here = place.folder().to_str().expect("text");
    let refused = place.refused(&["ros", "build", "--distro", "jazzy", "--ros", here]);
    assert!(refused.contains("source an installation of ROS 2 jazzy"), "{refused}");
    let header = place.folder().join("include/rmw/rmw/rmw.h");
    std::fs::create_dir_all(header.parent().expect("a folder")).expect("folders");
    std::fs::write(header, "").expect("a header");
    let options = ["--distro", "jazzy", "--ros", here, "--crossdock", here];
    let refused = place.refused(&[&["ros", "build"], &options[..]].concat());
    assert!(refused.contains("no sources of Crossdock lie there"), "{refused}");
}
