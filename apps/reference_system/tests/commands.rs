//! The package binary's commands for people: how they end where nobody can read them.

use std::fs::File;
use std::process::Command;

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock-reference-system"));
    command.args(words);
    command
}

#[test]
fn a_reader_that_has_gone_ends_commands_as_usual() {
    let calibrate = ["calibrate", "--limit", "1", "--json"];
    let none: [&str; 2] = ["report", "no-recording.mcap"];
    let expected =
        [(&["help"][..], 0), (&calibrate[..3], 0), (&calibrate, 0), (&none, 1), (&["no-node"], 1)];
    for (words, code) in expected {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = command(words);
        command.stderr(writer.try_clone().expect("a descriptor")).stdout(writer);
        let ended = command.status().expect("it starts");
        // 101 would be a panic.
        assert_eq!(ended.code(), Some(code), "{words:?}");
    }
}

#[test]
fn what_finds_no_room_is_an_error_with_its_reason() {
    let full = File::options().write(true).open("/dev/full").expect("a disk without room");
    let ended = command(&["calibrate", "--limit", "1"]).stdout(full).output().expect("it starts");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{errors}");
    let told = "crossdock-reference-system: standard output cannot be written: ";
    assert!(errors.starts_with(told), "{errors}");
}
