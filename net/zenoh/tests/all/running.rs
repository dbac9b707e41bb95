//! The product's own graph and commands on two computers: two folders in which processes meet. The
//! binaries are those that `make net-test` builds, or those in the folder that `CROSSDOCK_BINARIES`
//! names.

use crate::foreign::Foreign;
use crate::graphs::{LIMIT, free_place, until};
use crate::services::{foreign_server, sum_cdr};
use crossdock_suite::Running;
use crossdock_test_support::workspace;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use zenoh::Wait as _;

/// A computer: a scratch folder with a rendezvous of its own.
pub(crate) struct Computer {
    pub(crate) folder: PathBuf,
    /// The process whose network it has; `None`: the test's.
    pub(crate) network_of: Option<u32>,
}

impl Computer {
    pub(crate) fn new(name: &str) -> Self {
        let folder = format!("crossdock-net-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, network_of: None }
    }

    /// `crossdock ARGUMENTS`.
    pub(crate) fn crossdock(&self, arguments: &[&str]) -> Command {
        let named = std::env::var_os("CROSSDOCK_BINARIES").map(PathBuf::from);
        let binaries = named.unwrap_or_else(|| workspace().join("target/debug"));
        let crossdock = binaries.join("crossdock");
        let mut command = match self.network_of {
            None => Command::new(crossdock),
            Some(process) => {
                let mut command = Command::new("nsenter");
                command.args(["--net", "--target", &process.to_string(), "--"]).arg(crossdock);
                command
            }
        };
        command
            .args(arguments)
            .current_dir(workspace())
            .env("XDG_RUNTIME_DIR", &self.folder)
            .env(
                "CROSSDOCK_PACKAGE_PATH",
                Path::new(env!("CARGO_BIN_EXE_crossdock-net")).parent().unwrap(),
            )
            .env_remove("ROS_DOMAIN_ID")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.crossdock(arguments).output().unwrap().stdout).unwrap()
    }
}

impl Drop for Computer {
    fn drop(&mut self) {
        // A folder that cannot be removed is no reason to fail a test that has passed.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_drive_is_seen_and_heard_on_another_computer() {
    let (vehicle, desk, place) = (Computer::new("vehicle"), Computer::new("desk"), free_place());
    let mapping = "apps/autorace/course.processes.mapping.yaml";
    let graph = "apps/autorace/course.graph.yaml";
    let run = Running::spawn(vehicle.crossdock(&["run", graph, "--mapping", mapping]));
    let router = ["net", "--router", "--listen", &place];
    let (router, mut said) = Running::with_errors(vehicle.crossdock(&router));
    let interfaces = "apps/autorace/interfaces";
    let client = ["net", "--connect", &place, "--interfaces", interfaces];
    let _client = Running::spawn(desk.crossdock(&client));
    until("nodes of the vehicle are seen at the desk", || {
        let nodes = desk.output(&["node", "list"]);
        nodes.contains("planner") && nodes.contains("simulator")
    });
    until("its topics are seen", || desk.output(&["topic", "list"]).contains("/lane"));
    until("it is said that nobody has subscribed yet", || {
        let mut measured = desk.crossdock(&["topic", "hz", "/lane", "--count", "1"]);
        let measured = measured.stderr(Stdio::piped()).output().unwrap();
        String::from_utf8_lossy(&measured.stderr).contains("note: /lane comes over the network")
    });
    let echo = desk.output(&["topic", "echo", "/lane", "--once", "--timeout", "20"]);
    assert!(!echo.is_empty());
    run.interrupt();
    drop(run.end());
    until("they are gone when the drive is over", || {
        !desk.output(&["node", "list"]).contains("planner")
    });
    router.interrupt();
    let mut closing = String::new();
    said.read_to_string(&mut closing).unwrap();
    assert!(closing.contains("\nto the network: "), "{closing}");
    assert!(!closing.contains("\nto the network: 0 messages"), "{closing}");
    assert!(closing.contains("\nlost: "), "{closing}");
}

#[test]
fn a_far_service_is_called_from_the_command_line_and_its_death_is_said() {
    let (desk, place) = (Computer::new("caller"), free_place());
    let _router = Running::spawn(desk.crossdock(&["net", "--router", "--listen", &place]));
    let address = place.trim_start_matches("tcp/").to_owned();
    until("the router listens", || std::net::TcpStream::connect(&address).is_ok());
    let foreign = Foreign::join(&place);
    let (server, _, queries) = foreign_server(&foreign);
    let far = std::thread::spawn(move || {
        let query = queries.recv_timeout(LIMIT).unwrap();
        let said = query.attachment().unwrap().clone();
        let reply = query.reply(query.key_expr().clone(), sum_cdr(3)).attachment(said);
        reply.wait().unwrap();
        drop(query);
        // The next one is never answered.
        let kept = queries.recv_timeout(LIMIT).unwrap();
        drop(server);
        foreign.session.close().wait().unwrap();
        drop(kept);
    });
    until("it is listed", || {
        let services = desk.output(&["service", "list", "-t"]);
        services.contains("/add_two_ints [example_interfaces/srv/AddTwoInts]")
    });
    let call = ["service", "call", "/add_two_ints", "example_interfaces/srv/AddTwoInts"];
    let call = [&call[..], &["{a: 1, b: 2}"]].concat();
    assert!(desk.output(&call).contains("\"sum\": 3"));
    let failed = desk.crossdock(&call).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && said.contains("went away before it answered"), "{said}");
    far.join().unwrap();
}

#[test]
fn what_is_wrong_is_said() {
    let (desk, place) = (Computer::new("wrong"), free_place());
    let (taken, _errors) =
        Running::with_errors(desk.crossdock(&["net", "--router", "--listen", &place]));
    let address = place.trim_start_matches("tcp/").to_owned();
    until("the router listens", || std::net::TcpStream::connect(&address).is_ok());
    let second =
        desk.crossdock(&["net", "--router", "--listen", &place]).stderr(Stdio::piped()).output();
    let second = second.unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("cannot listen"), "{said}");
    let none =
        desk.crossdock(&["net", "--listen", "nowhere", "--router"]).stderr(Stdio::piped()).output();
    let said = String::from_utf8_lossy(&none.unwrap().stderr).into_owned();
    assert!(said.contains("nowhere"), "{said}");
    assert!(!taken.has_ended());
    for bytes in [0, -1] {
        let mut node = Command::new(env!("CARGO_BIN_EXE_crossdock-net"));
        node.args(["--ros-args", "-p", &format!("max_bytes:={bytes}")]);
        let output = node.env("XDG_RUNTIME_DIR", &desk.folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let wanted = format!("`max_bytes` is {bytes}, and a message has at least one byte");
        assert!(!output.status.success() && said.contains(&wanted), "{said}");
    }
}
