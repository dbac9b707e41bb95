//! The pages of the documentation, followed to the letter.

use crossdock_suite::{Run, Running, binaries, build_beside_tests, until};
use crossdock_test_support::{skip, workspace};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A fenced block of a page: its language, the file that the text before it names, its content.
struct Block {
    language: String,
    file: Option<String>,
    content: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut parts = page.split("```");
    // Text and blocks alternate.
    while let (Some(text), Some(block)) = (parts.next(), parts.next()) {
        let (language, content) = block.split_once('\n').expect("a block has lines");
        let paragraph = text.trim_end().rsplit("\n\n").next().unwrap_or("");
        let file = paragraph.split('`').skip(1).step_by(2).last().filter(|it| it.contains('.'));
        blocks.push(Block {
            language: language.to_owned(),
            file: file.map(str::to_owned),
            content: content.to_owned(),
        });
    }
    blocks
}

/// One command of a page, to be run in `folder`; the product is the one under test.
fn shell(command: &str, folder: &Path, run: &Run) -> Command {
    shell_of("sh", command, folder, run)
}

/// The same for a shell of this name.
fn shell_of(name: &str, command: &str, folder: &Path, run: &Run) -> Command {
    let built = binaries().display().to_string();
    let release = built.ends_with("release");
    let command = command
        .replace("../crossdock/target/release", "target/release")
        .replace("target/release", &built)
        .replace(" --release", if release { " --release" } else { "" });
    let path = std::env::var("PATH").expect("a path");
    let mut shell = Command::new(name);
    shell
        .args(["-c", &command])
        .current_dir(folder)
        .env("PATH", format!("{built}:{path}"))
        .env_remove("ROS_DOMAIN_ID")
        .env("XDG_RUNTIME_DIR", run.runtime())
        .env("CROSSDOCK_TOOLS", workspace().join("target/tools"))
        .env("CROSSDOCK_CACHE", workspace().join("target/hw/cache"));
    build_beside_tests(&mut shell);
    shell
}

/// Runs one command of a page to its end, and gives what it said.
fn follow(command: &str, folder: &Path, run: &Run) -> String {
    end(command, shell(command, folder, run))
}

/// Runs a shell with a command of a page to its end, and gives what it said.
fn end(command: &str, mut shell: Command) -> String {
    let output = shell.output().expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "`{command}`: {}\n{said}{errors}", output.status);
    said
}

#[test]
fn a_user_without_root_is_told_one_line_that_installs_what_is_missing() {
    use std::os::unix::fs::PermissionsExt;
    let run = Run::new("packages");
    let tools = run.file("bin");
    std::fs::create_dir_all(&tools).expect("a folder");
    // A machine that lacks one package, and a user who may not install any.
    let stubs = [
        ("id", "echo 1000"),
        ("sudo", "exit 1"),
        ("apt-get", "echo apt-get was called; exit 1"),
        ("dpkg-query", "for it; do :; done; [ \"$it\" != missing ] && echo install ok installed"),
    ];
    for (name, script) in stubs {
        let file = tools.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("rights");
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("a path"));
    let make = |packages: &str| {
        let packages = format!("TEST_PACKAGES={packages}");
        Command::new("make")
            .args(["--silent", "packages", &packages])
            .current_dir(workspace())
            .env("PATH", &path)
            // Not as a part of the `make` that runs this test.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .output()
            .expect("make runs")
    };
    let output = make("there missing there_too");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = errors.lines().filter(|line| line.contains("apt-get")).collect();
    let wanted =
        "    sudo apt-get update && sudo apt-get install -y --no-install-recommends missing";
    assert_eq!(lines, [wanted], "{errors}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(make("there there_too").status.success());
}

/// Follows a page of `docs/how-to` in a folder `pilot` beside the clone: writes its files and runs
/// its commands. Gives what the last command said.
fn follow_page(page: &str, folder: &Path, run: &Run) -> String {
    std::fs::create_dir_all(folder).expect("an empty folder");
    std::os::unix::fs::symlink(workspace(), run.file("crossdock")).expect("the clone beside it");
    follow_blocks(page, folder, run)
}

/// Starts a graph that runs until Ctrl-C, and gives it once all its nodes are there: none runs
/// before.
fn begin(command: &str, folder: &Path, run: &Run) -> Running {
    let mut shell = shell(&format!("exec {command}"), folder, run);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let running = Running::spawn(shell);
    until("a running graph", || {
        assert!(!running.has_ended(), "`{command}` has ended");
        let topics = run.output(&["topic", "list", "--json"]).stdout;
        let topics = serde_json::from_slice::<serde_json::Value>(&topics).unwrap_or_default();
        let mut topics = topics.as_array().into_iter().flatten();
        topics.any(|topic| topic["messages"].as_u64() > Some(0))
    });
    running
}

/// Follows a page in a folder that is there. Gives what the last command said that has ended; a
/// graph that runs until Ctrl-C ends with the page, and is the last.
fn follow_blocks(page: &str, folder: &Path, run: &Run) -> String {
    follow_blocks_with(page, folder, run, None)
}

/// The same with the blocks that need ROS 2, each in one shell, if it is given a place for what
/// each of them said.
fn follow_blocks_with(
    page: &str,
    folder: &Path,
    run: &Run,
    mut of_ros: Option<&mut Vec<String>>,
) -> String {
    let page = workspace().join("docs/how-to").join(page);
    let page = std::fs::read_to_string(page).expect("the page");
    let mut said = String::new();
    let mut running: Option<Running> = None;
    for block in blocks(&page) {
        let content = block.content.replace("\\\n", " ");
        match (block.language.as_str(), block.file) {
            ("sh", _) => {
                for command in content.lines() {
                    said = follow(command, folder, run);
                }
            }
            ("sh keeps-running", _) => {
                assert!(running.is_none(), "a page has one graph that goes on");
                running = Some(begin(content.trim(), folder, run));
            }
            ("sh ros", _) => {
                if let Some(of_ros) = &mut of_ros {
                    let shell = shell_of("bash", &format!("set -e\n{content}"), folder, run);
                    of_ros.push(end(&content, shell));
                }
            }
            // Commands with what they print.
            ("console", _) => {
                for command in content.lines().filter_map(|line| line.strip_prefix("$ ")) {
                    said = follow(command, folder, run);
                    assert!(!said.is_empty(), "`{command}` says nothing");
                }
            }
            (_, Some(file)) => {
                let file = folder.join(file);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                // One place for all pages: cargo compiles the crates of another place again.
                let crates = workspace().join("crates").display().to_string();
                let content = block.content.replace("../crossdock/crates", &crates);
                std::fs::write(file, content).expect("a file");
            }
            // What is shown only.
            (_, None) => {}
        }
    }
    if let Some(running) = running {
        running.interrupt();
        let (status, table) = running.end();
        assert!(status.success(), "{table}");
        said = table;
    }
    said
}

/// A folder that looks like the clone, for pages whose commands are run there: what they write is
/// not written into the sources.
fn clone(run: &Run) -> PathBuf {
    let folder = run.file("clone");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["apps", "crates", "docs", "hw", "scripts", "target"] {
        let there = workspace().join(name);
        std::os::unix::fs::symlink(there, folder.join(name)).expect("a link");
    }
    folder
}

/// Follows a page that makes a package in `folder`, with the versions that were built already.
fn follow_package_page(page: &str, folder: &Path, run: &Run) -> String {
    std::fs::create_dir_all(folder).expect("an empty folder");
    let lock = workspace().join("Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).expect("the versions that were built already");
    follow_page(page, folder, run)
}

/// A figure of the closing table: the column of the row that starts with `name`.
fn figure(said: &str, name: &str, column: usize) -> u64 {
    let row = said.lines().find(|line| line.split_whitespace().next() == Some(name));
    let row = row.unwrap_or_else(|| panic!("no row of {name}: {said}"));
    let cell = row.split_whitespace().nth(column).expect("a column");
    cell.parse().unwrap_or_else(|_| panic!("no number in column {column}: {row}"))
}

#[test]
fn the_first_node_runs_when_its_page_is_followed() {
    let run = Run::new("first_node");
    let said = follow_package_page("first-node.md", &run.file("pilot"), &run);
    assert_eq!(figure(&said, "simulator", 2), 150, "{said}");
    assert_eq!(figure(&said, "pilot", 2), 150, "{said}");
    // The page on messages goes on with the package.
    let said = follow_blocks("messages.md", &run.file("pilot"), &run);
    assert!(figure(&said, "reporter", 2) > 0, "{said}");
    // And so does the page on logs.
    follow_blocks("logs.md", &run.file("pilot"), &run);
    let logs = messages(&run.file("pilot/logs.mcap"), "/rosout");
    let says = |words: &str| logs.iter().any(|it| contains(it, words));
    assert!(says("the battery has 12.") && says("the battery is low") && !says("a look at"));
}

fn contains(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|part| part == words.as_bytes())
}

/// The messages of a topic of a recording.
fn messages(recording: &Path, topic: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(recording).expect("a recording");
    let all = mcap::MessageStream::new(&bytes).expect("MCAP").map(|it| it.expect("a message"));
    all.filter(|it| it.channel.topic == topic).map(|it| it.data.into_owned()).collect()
}

#[test]
fn a_running_graph_is_seen_when_its_page_is_followed() {
    let run = Run::new("look_inside_page");
    let folder = clone(&run);
    let said = follow_blocks("look-inside.md", &folder, &run);
    assert!(figure(&said, "control", 2) > 0, "{said}");
    let picture = std::fs::read_to_string(folder.join("now.svg")).expect("a picture");
    assert!(picture.contains("<svg") && picture.contains("compensation"));
}

#[test]
fn a_trace_is_recorded_and_compared_when_its_page_is_followed() {
    let run = Run::new("tracing_page");
    let folder = clone(&run);
    follow_blocks("tracing.md", &folder, &run);
    for made in ["out/drive.svg", "out/drive.perfetto-trace", "out/last/metadata"] {
        let bytes = std::fs::metadata(folder.join(made)).map(|it| it.len());
        assert!(bytes.as_ref().is_ok_and(|bytes| *bytes > 1000), "{made}: {bytes:?}");
    }
}

#[test]
fn a_process_that_was_killed_comes_back_when_the_page_on_failures_is_followed() {
    let run = Run::new("real_time_page");
    let said = follow_page("real-time.md", &run.file("limits"), &run);
    assert!(figure(&said, "compensation", 2) > 0, "{said}");
    assert!(said.contains("process drive, started again"), "{said}");
}

#[test]
#[ignore = "long: builds what device nodes are made of"]
fn a_kernel_gives_the_same_bits_when_the_page_on_device_nodes_is_followed() {
    let run = Run::new("device_nodes_page");
    let said = follow_package_page("device-nodes.md", &run.file("inverter"), &run);
    assert!(said.starts_with("processor.mcap and device.mcap are the same"), "{said}");
}

#[test]
fn experiments_are_tried_when_their_pages_are_followed() {
    let run = Run::new("experiments_pages");
    let folder = clone(&run);
    for (page, made) in [
        ("cpu-gpu.md", "out/bench/cpu-gpu"),
        ("hardware-experiments.md", "out/bench/execution-modes"),
    ] {
        follow_blocks(page, &folder, &run);
        let files = std::fs::read_dir(folder.join(made)).expect("results").count();
        assert!(files >= 3, "{made} holds {files} files");
    }
}

#[test]
fn bags_are_cut_interfaces_are_shown_and_time_is_set_when_their_pages_are_followed() {
    let run = Run::new("bags_pages");
    let folder = clone(&run);
    assert_eq!(follow_blocks("bags.md", &folder, &run).trim(), "small: 30 messages");
    let said = follow_blocks("interfaces.md", &folder, &run);
    assert!(said.contains("std_srvs/srv/SetBool_Request"), "{said}");
    let said = follow_blocks("time.md", &folder, &run);
    assert!(said.contains("no violation found"), "{said}");
}

#[test]
fn a_graph_is_seen_when_the_page_for_users_of_ros_2_is_followed() {
    let run = Run::new("from_ros2_page");
    let said = follow_blocks("from-ros2.md", &clone(&run), &run);
    assert!(figure(&said, "control", 2) > 0, "{said}");
}

#[test]
#[ignore = "needs a sourced installation of ROS 2: make ros-test"]
fn nodes_of_ros_2_use_crossdock_when_their_page_is_followed() {
    if std::env::var_os("ROS_DISTRO").is_none() {
        return skip("no ROS 2 is sourced");
    }
    let run = Run::new("from_ros2_page_with_ros");
    let mut of_ros = Vec::new();
    // The plug-in goes where `crossdock ros build` puts it: into the sources.
    follow_blocks_with("from-ros2.md", workspace(), &run, Some(&mut of_ros));
    assert!(of_ros[0].contains("Hello World"), "{of_ros:?}");
    for seen in ["/compensation", "/lane"] {
        assert!(of_ros[1].lines().any(|line| line == seen), "{of_ros:?}");
    }
}

#[test]
fn every_how_to_page_is_followed_by_a_test() {
    let tests = [file!(), "net/view/tests/all/browser.rs"].map(|file| workspace().join(file));
    let tests = tests.map(|file| std::fs::read_to_string(file).expect("a file of tests")).concat();
    let pages = std::fs::read_dir(workspace().join("docs/how-to")).expect("a folder");
    let names = pages.map(|page| page.expect("a page").file_name().into_string().expect("UTF-8"));
    let lacking: Vec<String> =
        names.filter(|name| !tests.contains(&format!("\"{name}\""))).collect();
    assert!(lacking.is_empty(), "no test follows {lacking:?}");
}

#[test]
fn a_lamp_is_switched_when_the_page_on_services_is_followed() {
    let run = Run::new("services_page");
    let said = follow_package_page("services.md", &run.file("lamps"), &run);
    assert!(
        said.contains("/lamp/switch/_service_event | Type: std_srvs/srv/SetBool_Event"),
        "{said}"
    );
    let events = messages(&run.file("lamps/evening.mcap"), "/lamp/switch/_service_event");
    // Behind the header stands which of the four ends of a call this is. Requests and responses
    // are left out by the client and told by the server.
    let of = |end: u8| events.iter().filter(move |event| event[4] == end).map(Vec::len);
    let [sent, received, answered, heard] = [0, 1, 2, 3].map(|end| of(end).collect::<Vec<_>>());
    assert!(!received.is_empty() && received.len() == answered.len(), "{events:?}");
    assert!(!sent.is_empty() && sent.len() >= heard.len() && !heard.is_empty(), "{events:?}");
    assert!(received.iter().min() > sent.iter().max(), "{events:?}");
    assert!(answered.iter().min() > heard.iter().max(), "{events:?}");
}

#[test]
fn nodes_run_when_their_conditions_hold_and_the_page_on_conditions_is_followed() {
    let run = Run::new("conditions_page");
    let said = follow_package_page("conditions.md", &run.file("fusion"), &run);
    for node in ["stereo", "colours", "planner", "control", "watchdog", "alarm"] {
        assert!(figure(&said, node, 2) > 0, "{node}: {said}");
    }
    // Pairs of 15 Hz, at most as many sets as the lidar has clouds, fewer alarms than paths.
    assert!(figure(&said, "stereo", 2) > figure(&said, "colours", 2), "{said}");
    assert!(figure(&said, "alarm", 2) < figure(&said, "planner", 2), "{said}");
}

#[test]
fn a_run_is_repeated_when_its_page_is_followed() {
    let run = Run::new("replay_page");
    let folder = run.file("pilot");
    let said = follow_page("replay.md", &folder, &run);
    // Every command before it ended with 0, so that both comparisons found no difference.
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("first.mcap and second.mcap differ"), "{said}");
    let first = said.lines().find(|line| line.starts_with("first difference: "));
    let first = first.unwrap_or_else(|| panic!("{said}"));
    // All of a frame is one step: of its topics the first by name.
    assert!(first.contains("message 1 of /camera/image_compensated"), "{said}");
    assert!(first.contains("`data["), "{said}");
    assert_eq!(said.lines().last(), Some("the two differ"));
}

#[test]
fn nodes_have_other_names_when_the_page_on_names_is_followed() {
    let run = Run::new("names_page");
    let said = follow_page("names.md", &run.file("robot"), &run);
    let plan: serde_json::Value = serde_json::from_str(&said).expect("a plan");
    let nodes = plan["processes"][0]["executors"][0]["nodes"].as_array().expect("nodes");
    let names: Vec<_> = nodes.iter().filter_map(|node| node["name"].as_str()).collect();
    for name in ["/front/blur", "/front/compensation", "/rear/blur", "planner"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let topics = plan["topics"].as_array().expect("topics");
    assert!(topics.iter().any(|topic| topic["name"] == "/cam"), "{said}");
    runs_by_itself(&run);
}

/// The node that the page runs without a graph is there, and ends by Ctrl-C.
fn runs_by_itself(run: &Run) {
    let page = std::fs::read_to_string(workspace().join("docs/how-to/names.md")).expect("a page");
    let command = page.lines().find(|line| line.starts_with("crossdock-autorace "));
    let command = command.expect("a node by itself");
    let mut shell = shell(&format!("exec {command}"), &run.file("robot"), run);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running::spawn(shell);
    until("the node", || {
        assert!(!running.has_ended(), "`{command}` has ended");
        let nodes = run.output(&["node", "list"]).stdout;
        String::from_utf8_lossy(&nodes).contains("/front/image_compensation")
    });
    running.interrupt();
    assert!(running.end().0.success());
    let help = follow("crossdock-autorace --help", &run.file("robot"), run);
    for words in ["crossdock-autorace score", "gaussian_blur"] {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn a_device_gives_the_same_bits_when_its_page_is_followed() {
    let run = Run::new("devices_page");
    let said = follow_page("devices.md", &run.file("pilot"), &run);
    assert!(said.starts_with("processor.mcap and device.mcap are the same"), "{said}");
}

#[test]
fn the_first_hardware_node_runs_when_its_page_is_followed() {
    let run = Run::new("first_hardware_node");
    let folder = run.file("pilot");
    follow_page("first-hardware-node.md", &folder, &run);
    // A picture's bytes are the last field of its message.
    let yellow = |picture: &Vec<u8>| {
        let pixels = picture[picture.len() - 640 * 480 * 3..].chunks(3);
        pixels.filter(|pixel| is_yellow(pixel)).count() as u32
    };
    let expected: Vec<u32> =
        messages(&folder.join("pictures.mcap"), "/camera/snapshot").iter().map(yellow).collect();
    assert!(expected.len() > 2 && expected.iter().any(|count| *count > 0), "{expected:?}");
    let number =
        |message: &Vec<u8>| message[4..].try_into().map(u32::from_le_bytes).expect("4 bytes");
    let counted: Vec<u32> =
        messages(&folder.join("counts.mcap"), "/yellow").iter().map(number).collect();
    assert_eq!(counted, expected);
}

/// What the page calls yellow: hue 15 to 36 in steps of two degrees, saturation 75 and value 100 at
/// least, in the fixed point of the head of `apps/autorace/src/hsv.rs`.
fn is_yellow(pixel: &[u8]) -> bool {
    let [r, g, b] = [0, 1, 2].map(|at| i32::from(pixel[at]));
    let value = r.max(g).max(b);
    let spread = value - r.min(g).min(b);
    // In twelve bits behind the point, rounded half to even.
    let over =
        |scale: f64, by: i32| (scale * 4096.0 / f64::from(by.max(1))).round_ties_even() as i32;
    let rounded = |product: i32| (product + 2048) >> 12;
    let turn = match value {
        value if value == r => g - b,
        value if value == g => b - r + 2 * spread,
        _ => r - g + 4 * spread,
    };
    let hue = rounded(turn * over(30.0, spread)).rem_euclid(180);
    let saturation = rounded(spread * over(255.0, value));
    (15..=36).contains(&hue) && saturation >= 75 && value >= 100
}

/// Every page of the site: those beside the code, and all of `docs`.
pub(crate) fn pages() -> Vec<PathBuf> {
    let root = workspace();
    let at_root = ["README.md", "ARCHITECTURE.md", "STYLE.md"];
    let mut found: Vec<PathBuf> = at_root.map(|it| root.join(it)).into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    let apps = std::fs::read_dir(root.join("apps")).expect("a folder");
    found.extend(apps.map(|it| it.expect("an entry").path().join("README.md")));
    found.extend(["hw", "bench", "bench/ros", "fuzz"].map(|it| root.join(it).join("README.md")));
    found
}

/// A page without its fenced blocks.
fn prose(page: &Path) -> String {
    let text = std::fs::read_to_string(page).expect("a page");
    text.split("```").step_by(2).collect()
}

/// The places that links to a page may name: its headings, as they are written in addresses.
fn places(page: &Path) -> BTreeSet<String> {
    let word = |it: char| match it {
        ' ' => Some('-'),
        it if it.is_alphanumeric() || it == '-' || it == '_' => Some(it),
        _ => None,
    };
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|line| line.chars().filter_map(word).collect())
        .collect()
}

/// What the links of a page name, but for addresses on the web.
fn links(page: &Path) -> Vec<String> {
    let text = prose(page);
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).filter(|link| !link.starts_with("http")).collect()
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_to_a_heading_in_it() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&page) {
            let (file, place) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().expect("a folder");
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let is_there = file.exists() && (place.is_empty() || places(&file).contains(place));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_summary_of_the_site_names_every_page() {
    let summary = workspace().join("docs/SUMMARY.md");
    let folder = workspace().join("docs");
    let canonical = |path: PathBuf| path.canonicalize().expect("a file");
    let named: BTreeSet<PathBuf> =
        links(&summary).iter().map(|link| canonical(folder.join(link))).collect();
    // The script that builds the site lists what is in these folders by itself.
    let listed = ["decisions", "results"].map(|it| folder.join(it));
    let is_listed = |page: &PathBuf| listed.iter().any(|it| page.starts_with(it));
    let lacking: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|page| *page != summary && !is_listed(page))
        .filter(|page| !named.contains(&canonical(page.clone())))
        .collect();
    assert!(lacking.is_empty(), "docs/SUMMARY.md lacks {lacking:#?}");
}

/// Words that make readers stumble, and what stands before them where they do not: STYLE.md.
const STUMBLES: [(&str, &[&str]); 4] = [
    ("whoever", &[]),
    ("of which", &["each ", "one ", "both ", "none "]),
    ("of whom", &["each ", "one ", "both ", "none "]),
    ("/// that of", &[]),
];

fn stumbles(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    let found = STUMBLES.iter().find(|(words, after)| {
        line.match_indices(words).any(|(at, _)| {
            let before = &line[..at];
            !after.iter().any(|good| before.ends_with(good))
        })
    });
    found.map(|(words, _)| *words)
}

/// What makes readers of pages stumble beside these.
const PAGE_STUMBLES: [&str; 5] = ["that of", "those of", "that which", "whatever", "of those that"];

/// The first of the words that stands on the line by itself.
fn page_stumbles(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    let is_letter = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    PAGE_STUMBLES.into_iter().find(|words| {
        line.match_indices(words).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + words.len()..]);
            !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
        })
    })
}

/// The sources of the product, where comments and messages are read.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn pages_and_sources_avoid_the_words_that_the_style_names() {
    let root = workspace();
    // The page that names the words.
    let mut files: Vec<PathBuf> =
        pages().into_iter().filter(|page| !page.ends_with("STYLE.md")).collect();
    for folder in ["crates", "apps", "bench/src"] {
        sources(&root.join(folder), &mut files);
    }
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a file");
        let is_page = file.extension().is_some_and(|it| it == "md");
        let found = |line| stumbles(line).or_else(|| page_stumbles(line).filter(|_| is_page));
        let lines = text.lines().enumerate().filter_map(|(at, line)| Some((at, found(line)?)));
        wrong.extend(lines.map(|(at, it)| format!("{}:{}: {it}", file.display(), at + 1)));
    }
    assert!(wrong.is_empty(), "say it plainly:\n{}", wrong.join("\n"));
    assert_eq!(stumbles("two, one of which waits"), None);
    assert_eq!(stumbles("a topic of which nothing comes"), Some("of which"));
    assert_eq!(page_stumbles("its time is that of `/clock`"), Some("that of"));
    assert_eq!(page_stumbles("so that often nothing comes"), None);
}
