//! Runs that play a recording of before definitions were recorded, with a type that is not shipped.

use super::probe::{Place, Running};
use crossdock_test_support::skip;
use std::path::Path;
use std::process::Command;

/// Makes a bag as rosbag2 of ROS 2 Humble does: in SQLite, without definitions. Its topic `/thing`
/// has 20 messages of `block/msg/Thing`, of which the second number counts.
const MAKE: &str = r"
import sqlite3, struct, sys
run = sqlite3.connect(sys.argv[1], isolation_level=None).execute
run('CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,'
    'serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)')
run('CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,'
    'timestamp INTEGER NOT NULL, data BLOB NOT NULL)')
run('INSERT INTO topics VALUES (1, ?, ?, ?, ?)', ('/thing', 'block/msg/Thing', 'cdr', ''))
for number in range(20):
    data = bytes([0, 1, 0, 0]) + struct.pack('<BxxxIBxH', 7, number, 0, 0)
    run('INSERT INTO messages VALUES (NULL, 1, ?, ?)', (number * 1_000_000, data))
";

const GRAPH: &str = "nodes:\n  teller: { package: probe, type: teller, inputs: { in: /thing } }\n";

#[test]
fn a_bag_without_definitions_is_played_with_those_of_named_folders_or_of_the_environment() {
    let place = Place::new("old-bag", "");
    let bag = place.text("old.db3");
    match Command::new("python3").args(["-c", MAKE, &bag]).output() {
        Err(_) => return skip("python3 is not installed"),
        Ok(made) => assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr)),
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../msg/tests/user/interfaces");
    let folder = folder.canonicalize().expect("the definitions").display().to_string();
    let with = |arguments: &[&str], workspace: Option<&str>| {
        let words = [&["--input", &bag, "--rate", "max"], arguments].concat();
        let mut command = place.run(GRAPH, &words);
        command.env_remove("AMENT_PREFIX_PATH").current_dir(place.file(""));
        if let Some(prefix) = workspace {
            command.env("AMENT_PREFIX_PATH", prefix);
        }
        Running::start(command).end()
    };
    // The run is refused, with the topic and what helps.
    let ended = with(&[], None);
    assert_ne!(ended.code, Some(0), "{}", ended.output);
    for part in ["/thing", "block/msg/Thing", "--interfaces"] {
        assert!(ended.errors.contains(part), "{part}: {}", ended.errors);
    }
    // A sourced workspace, with its index of interfaces.
    let prefix = place.file("install");
    let index = prefix.join("share/ament_index/resource_index/rosidl_interfaces");
    std::fs::create_dir_all(&index).expect("a folder");
    std::fs::create_dir_all(prefix.join("share/block")).expect("a folder");
    std::fs::write(index.join("block"), "msg/Thing.msg\n").expect("a file");
    std::os::unix::fs::symlink(format!("{folder}/block/msg"), prefix.join("share/block/msg"))
        .expect("a link");
    let prefix = prefix.display().to_string();
    for (arguments, workspace) in
        [(&["--interfaces", &folder][..], None), (&[][..], Some(prefix.as_str()))]
    {
        let ended = with(arguments, workspace);
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        let taken: Vec<&str> =
            ended.output.lines().filter(|line| line.starts_with("taken: ")).collect();
        let expected: Vec<String> = (0..20).map(|number| format!("taken: 7 {number}")).collect();
        assert_eq!(taken, expected, "{}", ended.output);
    }
    // And the definition is in what is recorded of it.
    let recorded = place.text("recorded.mcap");
    let ended = with(&["--interfaces", &folder, "--record", &recorded, "--topics", "/thing"], None);
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let reader = crossdock_record::BagReader::open(&recorded).expect("a bag");
    assert_eq!((reader.message_count(), reader.topics()[0].name.as_str()), (20, "/thing"));
    assert!(reader.topics()[0].definition.is_some() && !reader.lacks_definitions());
}
