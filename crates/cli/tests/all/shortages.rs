//! What is said when the computer or the user gives a command too little: of which thing, and the
//! next step.

use crate::place::Place;
use crate::runs::probe;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

/// Two processes, so that the launcher needs many descriptors.
const TWO: &str = "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  relay: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
";

/// With fewer descriptors the shell that starts the nodes of this test has too few itself.
const LEAST: u32 = 14;

#[test]
fn a_run_with_too_few_descriptors_says_for_what_and_how_to_get_more() {
    let place = probe::Place::new("few", "");
    let mapping = place.mapping(&[("first", "source", ""), ("second", "relay", "")]);
    let mut failed = 0;
    for limit in LEAST..40 {
        let own = place.run(TWO, &["--duration", "0.01", "--mapping", &mapping]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -Sn {limit} && exec \"$@\""), "sh"]);
        command.arg(own.get_program()).args(own.get_args()).stdin(Stdio::null());
        let variables = own.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains("Too many open files") {
            continue;
        }
        failed += 1;
        assert!(!said.contains("error: Too many open files"), "{limit}: of what? {said}");
        assert!(said.contains("limit"), "{limit}: no next step: {said}");
        assert!(!said.contains("check that it exists"), "{limit}: a wrong next step: {said}");
    }
    assert!(failed > 10, "{failed} runs had too few descriptors");
}

#[test]
fn a_full_disk_behind_standard_output_is_named_so() {
    let place = Place::new("full");
    let full = File::options().write(true).open("/dev/full").expect("a device");
    let mut command = place.command(&["completions", "bash"]);
    let output = command.stdout(full).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: standard output cannot be written; make room"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_rendezvous_that_is_another_folder_in_each_working_folder_is_refused() {
    let place = Place::new("relative");
    for words in [&["node", "list"][..], &["topic", "list"]] {
        let mut command = place.command(words);
        let output = command.env("CROSSDOCK_RENDEZVOUS", "meet").output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("folder meet is relative"), "{words:?}: {said}");
        assert!(said.contains("CROSSDOCK_RENDEZVOUS"), "{words:?}: {said}");
        assert!(!place.path("meet").exists(), "{words:?}");
    }
}

/// What a command says on standard error that gets this text through a pipe.
fn with_pipe(place: &Place, words: &[&str], text: &str) -> (Option<i32>, String) {
    let mut command = place.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("crossdock starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    // A command that refuses the pipe does not read it.
    let _ = pipe.write_all(text.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn graphs_come_through_pipes_and_files_with_messages_do_not() {
    let place = Place::new("pipes");
    let graph = "crossdock: 1\nname: g\nnodes:\n  n: { package: nowhere, type: t, outputs: \
                 { o: /o } }\n";
    // The ending has commands that run graphs look for options in it before.
    std::os::unix::fs::symlink("/dev/stdin", place.path("g.yaml")).expect("a link");
    for command in ["check", "run"] {
        let (code, said) = with_pipe(&place, &[command, "g.yaml"], graph);
        assert_eq!(code, Some(1), "{command}: {said}");
        assert!(said.contains("nowhere"), "{command}: the graph is read once: {said}");
    }
    let (code, said) = with_pipe(&place, &["msg", "decode", "--vectors", "/dev/stdin"], "");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is a pipe, no file"), "{said}");
}
