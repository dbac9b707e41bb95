//! The page in a browser: elements, pixels, live change, and who is kept out.

use crate::python;
use crate::running::{Domain, IN_A_CHAIN, ON_RINGS};
use crossdock_comm::{Participant, ParticipantOptions, Publisher, PublisherOptions, Qos};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_suite::{Running, until};
use crossdock_test_support::workspace;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

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
    // As the message has its fields.
    let fields = seen["text"].as_object().unwrap().keys().map(String::as_str);
    let first = ["header.stamp.sec", "header.stamp.nanosec", "header.frame_id"];
    assert!(fields.take(3).eq(first), "{}", seen["text"]);
    assert!(seen["plot"]["drawn"].as_u64() > Some(10), "{}", seen["plot"]);
    assert!(seen["trace_bytes"].as_u64() > Some(10_000), "{}", seen["trace_bytes"]);
    run.interrupt();
    assert!(run.end().0.success());
}

/// Two pixels in an encoding that the course does not have.
struct Picture {
    topic: &'static str,
    encoding: &'static str,
    is_big: bool,
    /// A row, and what is seen of it: red, green, blue and alpha of each pixel.
    row: &'static [u8],
    seen: [u8; 8],
}

const GREY: [u8; 8] = [18, 18, 18, 255, 254, 254, 254, 255];
const COLOURS: [u8; 8] = [1, 2, 3, 255, 10, 20, 30, 255];

#[rustfmt::skip]
const PICTURES: [Picture; 4] = [
    Picture { topic: "/big", encoding: "mono16", is_big: true, row: &[18, 52, 254, 220], seen: GREY },
    Picture { topic: "/little", encoding: "mono16", is_big: false, row: &[52, 18, 220, 254], seen: GREY },
    Picture { topic: "/padded", encoding: "bgr8", is_big: false, row: &[3, 2, 1, 30, 20, 10, 9, 9], seen: COLOURS },
    Picture { topic: "/alpha", encoding: "bgra8", is_big: false, row: &[3, 2, 1, 255, 30, 20, 10, 255], seen: COLOURS },
];

#[test]
fn a_browser_sees_pictures_of_other_encodings_pixel_by_pixel() {
    let domain = Domain::new("encodings");
    let Some(browser) = browser() else { return };
    let (_view, address) = domain.view();
    let options = ParticipantOptions {
        rendezvous: domain.rendezvous(),
        ..ParticipantOptions::new(0, "cameras")
    };
    let participant = Participant::open(options).unwrap();
    let publishers = PICTURES.map(|Picture { topic, .. }| {
        let (node, qos) = ("camera", Qos::best_effort(4));
        let options = PublisherOptions { node, topic, qos, max_bytes: Some(4096), group: None };
        participant.publisher::<Image>(options).unwrap()
    });
    let mut arguments = vec![browser, &address, "--pixels"];
    arguments.extend(PICTURES.map(|picture| picture.topic));
    let seen = std::thread::scope(|scope| {
        let looks = scope.spawn(|| python::run("browser.py", &arguments));
        while !looks.is_finished() {
            for (publisher, picture) in publishers.iter().zip(PICTURES) {
                show(publisher, &picture);
            }
            // As a camera does: the page asks for the next one when it has drawn one.
            std::thread::sleep(Duration::from_millis(50));
        }
        looks.join().unwrap()
    });
    let Some(seen) = seen else { return };
    for Picture { topic, seen: pixels, .. } in PICTURES {
        assert_eq!(seen[topic], json!(pixels), "{topic}");
    }
}

fn show(publisher: &Publisher<Image>, picture: &Picture) {
    let Picture { encoding, is_big, row, .. } = *picture;
    let mut loan = publisher.loan(Extra::none().text(8).bytes(row.len())).unwrap();
    let mut image = loan.message();
    image.set_height(1);
    image.set_width(2);
    image.set_encoding(encoding).unwrap();
    image.set_is_bigendian(u8::from(is_big));
    image.set_step(row.len() as u32);
    image.data_uninit(row.len()).unwrap().copy_from_slice(row);
    loan.publish().map_err(|refused| refused.reason).unwrap();
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
