//! The page in a browser: elements, pixels, live change, and who is kept out.

use crate::python;
use crate::running::{Domain, IN_A_CHAIN, ON_RINGS};
use crossdock_suite::{Running, until};
use crossdock_test_support::workspace;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// Where Debian and Ubuntu put it.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// How soon the page is to be seen, ms: a promise, not a measurement of this machine.
const FIRST_PAINT_MS_MAX: f64 = 10_000.0;

/// The browser; without one the test is skipped by name.
pub(crate) fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        crossdock_test_support::skip("there is no Chromium; `make net-test` installs it");
    }
    found
}

/// The status and the rest of the answer to a request.
fn ask(address: &str, request: &str, headers: &[&str]) -> (u16, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let text = format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    socket.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer}")), answer)
}

#[test]
fn a_browser_sees_the_graph_and_its_messages_live() {
    let domain = Domain::new("browser");
    let Some(browser) = browser() else { return };
    let run = domain.run(&ON_RINGS);
    let (_view, address) = domain.view();
    let screenshot = std::env::var("CROSSDOCK_SCREENSHOT")
        .unwrap_or_else(|_| domain.file("page.png").display().to_string());
    let Some(seen) = python::run("browser.py", &[browser, &address, &screenshot]) else { return };
    assert_eq!(seen["complaints"], json!([]));
    assert!(
        seen["first_paint_ms"].as_f64() < Some(FIRST_PAINT_MS_MAX),
        "{}",
        seen["first_paint_ms"]
    );
    let has = |list: &str, wanted: &str| seen[list].to_string().contains(&format!("\"{wanted}\""));
    for topic in ["/camera/image_raw", "/lane", "/cmd_vel", "/odom"] {
        assert!(has("topics", topic), "{}", seen["topics"]);
    }
    for node in ["simulator", "planner", "control"] {
        assert!(has("nodes", node), "{}", seen["nodes"]);
        assert!(seen["picture"].as_str().unwrap().contains(node), "{}", seen["picture"]);
    }
    let processor = |row: &Value| row[0] == "simulator" && row[1].as_str().unwrap().ends_with('%');
    assert!(seen["processes"].as_array().unwrap().iter().any(processor), "{}", seen["processes"]);
    for image in ["image", "later_image"] {
        let image = &seen[image];
        assert_eq!((&image["width"], &image["height"]), (&json!(640), &json!(480)));
        assert!(image["colours"].as_u64() > Some(50), "{image}");
    }
    assert_ne!(seen["image"]["sum"], seen["later_image"]["sum"], "the picture moves");
    assert!(seen["text"]["header.stamp.sec"].is_string(), "{}", seen["text"]);
    assert!(seen["plot"]["drawn"].as_u64() > Some(10), "{}", seen["plot"]);
    assert!(seen["trace_bytes"].as_u64() > Some(10_000), "{}", seen["trace_bytes"]);
    run.interrupt();
    assert!(run.end().0.success());
}

#[test]
fn the_page_is_for_this_computer_alone() {
    let domain = Domain::new("origins");
    let (_view, address) = domain.view();
    let host = format!("Host: {address}");
    let (status, answer) = ask(&address, "GET /", &[&host]);
    assert_eq!(status, 200);
    assert!(answer.contains("frame-ancestors 'none'") && answer.contains("/view.js"), "{answer}");
    // A name that a stranger's name service resolves to us.
    assert_eq!(ask(&address, "GET /", &["Host: evil.example"]).0, 403);
    let stranger = "Origin: https://evil.example";
    assert_eq!(ask(&address, "POST /trace", &[&host, stranger]).0, 403);
    let upgrade = [
        &host,
        stranger,
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    assert_eq!(ask(&address, "GET /live", &upgrade).0, 403);
    assert_eq!(ask(&address, "GET /no_such", &[&host]).0, 404);
}

#[test]
fn the_commands_of_the_page_on_watching_show_the_graph_and_end_with_it() {
    let page = workspace().join("docs/how-to").join("watch-a-graph.md");
    let page = std::fs::read_to_string(page).unwrap();
    let commands = page.lines().filter_map(|line| line.strip_prefix("crossdock "));
    let commands: Vec<Vec<&str>> = commands.map(|line| line.split(' ').collect()).collect();
    assert_eq!(commands.iter().map(|words| words[0]).collect::<Vec<_>>(), ["run", "view"]);
    let address = format!("127.0.0.1:{}", port_of_the_page(&page));
    let domain = Domain::new("page");
    for words in commands {
        let command = Running::spawn(domain.crossdock(&words));
        until("the page is served", || TcpStream::connect(&address).is_ok());
        let (status, _) = ask(&address, "GET /", &[&format!("Host: {address}")]);
        assert_eq!(status, 200, "{words:?}");
        command.interrupt();
        let (status, printed) = command.end();
        assert!(status.success(), "{words:?}: {status}, {printed}");
        assert!(TcpStream::connect(&address).is_err(), "{words:?}: it ends with its command");
    }
    // Nor does the view outlive a run that is killed, as this drop does.
    let run = Running::spawn(domain.crossdock(&["run", IN_A_CHAIN[0], "--view"]));
    until("the page is served", || TcpStream::connect(&address).is_ok());
    drop(run);
    until("the view has ended", || TcpStream::connect(&address).is_err());
}

/// The port that the page names for Foxglove.
fn port_of_the_page(page: &str) -> u16 {
    let (_, behind) = page.split_once("ws://localhost:").unwrap();
    behind.split('`').next().unwrap().parse().unwrap()
}
