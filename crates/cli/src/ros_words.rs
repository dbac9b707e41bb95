//! What to do instead of a command of `ros2` that Crossdock does not have.

const CHECKS: &str = "`crossdock check GRAPH` checks a graph, `crossdock ros check` the surroundings of ROS 2's \
      nodes, `crossdock top` shows running graphs, `crossdock device list` shows devices";

/// Words after `ros2`, and where the same is done here.
const WORDS: [(&[&str], &str); 20] = [
    (
        &["launch"],
        "a graph file and a mapping file take the place of a launch file: \
      `crossdock run GRAPH --mapping FILE`",
    ),
    (
        &["bag", "burst"],
        "`crossdock bag play BAG --start-paused` plays single messages with the right arrow key",
    ),
    (&["bag", "list"], "bags are read in MCAP and SQLite files, and written in MCAP files"),
    (
        &["bag", "convert"],
        "`crossdock bag convert BAG... -o OUT` takes options where `ros2 bag convert` takes a file \
      with options",
    ),
    (
        &["bag", "record"],
        "bags are written in MCAP: --storage sqlite3, --custom-data and --storage-config-file are not \
      taken",
    ),
    (
        &["bag", "play"],
        "`crossdock bag play BAG...` takes bags of any storage, and --clock publishes at each message, \
      too: --storage-config-file is not taken",
    ),
    (
        &["topic", "pub"],
        "`crossdock topic pub TOPIC TYPE VALUES` publishes with the time of this computer: \
      --use-sim-time and --spin-time are not taken",
    ),
    (
        &["param"],
        "parameters are set before a run: in the graph file, with `--params FILE`, with \
      `-p NODE.PARAMETER:=VALUE`, or as an argument that the graph file declares; \
      `crossdock check GRAPH --json` prints them all",
    ),
    (
        &["interface"],
        "`crossdock interface list`, `packages`, `package PACKAGE`, `show TYPE`, `proto TYPE` and \
      `hash TYPE` show definitions",
    ),
    (&["pkg", "create"], "`crossdock new FOLDER` makes a package"),
    (
        &["pkg"],
        "packages are binaries `crossdock-<package>`, beside this command or in folders of \
      CROSSDOCK_PACKAGE_PATH",
    ),
    (
        &["service", "echo"],
        "`crossdock topic echo SERVICE/_service_event` shows the calls of a service that tells them, \
      `crossdock service info SERVICE` counts the calls of all",
    ),
    (&["action"], "there are topics and services here, but no actions"),
    (&["daemon"], "there is no daemon: commands read the running processes themselves"),
    (&["doctor"], CHECKS),
    (&["wtf"], CHECKS),
    (
        &["lifecycle"],
        "nodes here have no life cycle: `crossdock run` makes all nodes of a graph, then starts them",
    ),
    (
        &["component"],
        "nodes are not loaded into running processes: the mapping file says which nodes share a \
      process",
    ),
    (
        &["multicast"],
        "nothing here uses multicast: `crossdock net` joins other computers by the places that it is told",
    ),
    (&["security"], "docs/security.md says who may talk to whom"),
];

/// The sentence for a command line that begins with words of `ros2`.
pub(crate) fn sentence(words: impl Iterator<Item = String>) -> Option<&'static str> {
    let given: Vec<String> = words.take(2).collect();
    let begins =
        |words: &[&str]| words.iter().zip(&given).filter(|(a, b)| a == b).count() == words.len();
    WORDS.iter().find(|(words, _)| begins(words)).map(|(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn the_longest_words_of_ros_2_are_answered_first() {
        let of = |line: &str| sentence(line.split(' ').map(str::to_owned));
        assert!(of("bag burst x").unwrap().contains("--start-paused"));
        assert_eq!(of("bag info x"), None);
        assert!(of("topic pub /x").unwrap().contains("--use-sim-time"));
        assert_eq!(of("topic"), None);
        assert_eq!(of("topic list"), None);
    }
}
