//! The package binary's commands for people.

use std::path::Path;
use std::process::Command;

/// What `report` of this recording says and does not like.
fn said_of_report(recording: &Path, more: &[&str], output: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock-autorace"));
    command.arg("report").arg(recording).args(more).arg("-o").arg(output);
    let ran = command.output().expect("it starts");
    assert!(!ran.status.success());
    String::from_utf8(ran.stderr).expect("text")
}

#[test]
fn nothing_that_a_graph_file_or_a_recording_says_drives_the_terminal_of_report() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-evil");
    let (graph, bag) = (folder.join("evil.graph.yaml"), folder.join("bag"));
    std::fs::create_dir_all(&bag).expect("made");
    std::fs::write(&graph, "crossdock: 1\nname: a\n\"\\e[31mevil\\nsecond line\\x9b2J\": 3\n")
        .expect("written");
    let metadata = "rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: mcap\n  \
                    relative_file_paths: [\"\\e[31mevil\\nsecond line\\x9b2J.mcap\"]\n";
    std::fs::write(bag.join("metadata.yaml"), metadata).expect("written");
    let graph = graph.to_str().expect("text");
    for more in [&["--graph", graph][..], &[]] {
        let said = said_of_report(&bag, more, &folder.join("out"));
        assert!(said.starts_with("crossdock-autorace: ") && said.contains("evil"), "{said:?}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
        assert!(!said.contains("\nsecond line"), "{said:?}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_commands_as_usual() {
    for (words, code) in [(&["help"][..], 0), (&["score"], 1), (&["no-node"], 1)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock-autorace"));
        command.args(words).stderr(writer.try_clone().expect("a descriptor")).stdout(writer);
        let ended = command.status().expect("it starts");
        // 101 would be a panic.
        assert_eq!(ended.code(), Some(code), "{words:?}");
    }
}
