//! Fuzzes what sets parameters as ROS 2 does: its parameter files, rules of a command line, and the
//! words of a command line. What is accepted is set in a graph.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::graphs::{course, descriptions, is_said, renamed, used};
use crossdock_graph::{Mapping, ParameterArgument, RosArguments, RosParameters, Violation};
use libfuzzer_sys::fuzz_target;

/// Which reader the first byte chooses.
const FILE: u8 = 0;
const RULE: u8 = 1;
const WORDS: u8 = 2;
const KINDS: u8 = 3;

fn seeds() -> Vec<Vec<u8>> {
    let wild = "/**:\n  ros__parameters:\n    use_sim_time: yes\n/*/blur:\n  \
                ros__parameters: {a: {b: {c: 1.5}}, d: [1, 2], e: [a, b]}\n";
    let texts = [
        (FILE, "features:\n  ros__parameters:\n    share: 0.5\n"),
        (FILE, wild),
        (
            FILE,
            "left:\n  lane:\n    ros__parameters: {on: On, off: n, text: \"\\e[31m\", hex: 0x10}\n",
        ),
        (FILE, "a: &x {ros__parameters: {b: .inf}}\nc: *x\n"),
        (FILE, "a: 3\nros__parameters: {}\n\"\\e[31m\\n\": {ros__parameters: 3}\n"),
        (FILE, "# nothing\n"),
        (RULE, "share:=0.5"),
        (RULE, "features:share:=[1, 2]"),
        (RULE, "/front/features:a.b:='#'"),
        (RULE, "a:=# nothing"),
        (
            WORDS,
            "a\n--ros-args\n-p\nshare:=0.5\n-r\nimage:=/other\n--log-level\nlane:=debug\n--\nb",
        ),
        (WORDS, "--ros-args\n--params-file\na.yaml\n--remap\n__ns:=/left\n-e\n/enclave"),
        (WORDS, "--ros-args\n--log-level\nfatal\n--disable-stdout-logs\n-r\n__node:=x"),
    ];
    texts.iter().map(|(kind, text)| [&[*kind], text.as_bytes()].concat()).collect()
}

fn set(read: Result<RosParameters, Vec<Violation>>) {
    match read {
        Ok(parameters) => {
            let (graph, unused) = course().with_ros_parameters(&[parameters], descriptions());
            unused.iter().for_each(|it| assert!(!it.to_string().is_empty()));
            used(&graph, &Mapping::one_chain_per_package(&graph));
        }
        Err(violations) => is_said(&violations),
    }
}

fn obeyed(text: &str) {
    let words = text.lines().map(str::to_owned);
    match RosArguments::taken_from(words) {
        Ok((ros, rest)) => {
            assert!(rest.iter().all(|word| word != "--ros-args"));
            for argument in &ros.parameters {
                // Files are the fuzzer's with the other kind.
                if let ParameterArgument::Rule(rule) = argument {
                    set(RosParameters::from_rule(rule));
                }
            }
            renamed(course(), &ros.remaps);
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.contains(char::is_control), "{said:?}");
        }
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let kind = input.u8() % KINDS;
    let bytes = input.rest();
    let text = String::from_utf8_lossy(bytes);
    match kind {
        FILE => set(RosParameters::from_yaml("fuzz", bytes)),
        RULE => set(RosParameters::from_rule(&text)),
        _ => obeyed(&text),
    }
});
