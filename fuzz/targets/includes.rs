//! Fuzzes graph files that include others: up to four files that name each other, in circles too.
//! What is accepted is checked, drawn, written and read again, and gets other names.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::graphs::{COURSE, is_said, renamed, used};
use crossdock_graph::{Graph, IncludedFile, Mapping, RosArguments, limits};
use libfuzzer_sys::fuzz_target;

/// The files of an input, by name. The first one is read, the others are there to be included.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// An input: the words of a command line, one a line, and the files, each behind its length.
fn input(words: &str, files: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in [&[words], files].concat() {
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let camera = "crossdock: 1\nname: camera\nnodes:\n  n: {type: autorace/features}\n";
    let whole = "crossdock: 1\nname: whole\ninclude:\n  - file: b\n    namespace: front\n    \
                 remaps: {image: /camera/image}\n    parameters: {n: {share: 2.5}}\n  - file: b\n";
    let chain = |next: &str| format!("crossdock: 1\nname: x\ninclude: [{{file: {next}}}]\n");
    let twice = |next: &str| {
        let file = format!("{{file: {next}, namespace: n}}, {{file: {next}, namespace: m}}");
        format!("crossdock: 1\nname: x\ninclude: [{file}]\n")
    };
    let (b, c, d) = (chain("b"), chain("c"), chain("d"));
    let of_course = "crossdock: 1\nname: x\ninclude: [{file: b, namespace: left}, \
                     {file: b, namespace: right}]\n";
    let rename = "-r\n__ns:=/left\n-r\n/front/n:__node:=echo\n-r\nimage:=/other\n-r\n~/a:=b";
    vec![
        input("", &[&b, camera]),
        input(rename, &[whole, camera]),
        input(rename, &[of_course, COURSE]),
        input("", &[&b, &c, &d, camera]),
        // A circle, and files that double.
        input("", &[&b, &c, &chain("a")]),
        input("", &[&twice("b"), &twice("c"), &twice("d"), camera]),
        input("-r\nrosservice://a:=b\n-r\n/**/n:=c", &[COURSE]),
    ]
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let mut piece = || {
        let length = usize::from(input.u16());
        input.take(length)
    };
    let words = String::from_utf8_lossy(piece()).into_owned();
    let files = NAMES.map(|name| (name, piece()));
    let mut opened = 0;
    let mut open = |_: &str, name: &str| {
        opened += 1;
        let known = files.iter().find(|file| file.0 == name);
        let (name, text) = known.ok_or("there is no such file")?;
        Ok(IncludedFile { name: (*name).to_owned(), text: text.to_vec() })
    };
    let read = Graph::read(files[0].0, files[0].1, &mut open);
    assert!(opened <= limits::INCLUDES_MAX, "{opened} files");
    match read {
        Ok((graph, unknown)) => {
            assert!(graph.nodes.len() <= limits::NODES_MAX);
            if unknown.is_empty() {
                used(&graph, &Mapping::one_chain_per_package(&graph));
            }
            let words = std::iter::once("--ros-args").chain(words.lines()).map(str::to_owned);
            if let Ok((ros, _)) = RosArguments::taken_from(words) {
                renamed(&graph, &ros.remaps);
            }
        }
        Err(violations) => is_said(&violations),
    }
});
