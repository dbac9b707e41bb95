//! Connections that only wait, and viewers that take nothing, hold nothing up.

use crate::running::{Domain, IN_A_CHAIN};
use crossdock_suite::until;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const IMAGE: &str = "/camera/image_raw";

/// As many as a view serves at once.
const CONNECTIONS_MAX: usize = 128;

/// The first line that the page answers to a new connection, or nothing.
fn answer(address: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    let mut answer = String::new();
    // Who refuses may have gone before it is asked.
    let _ = write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let _ = stream.read_to_string(&mut answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn connections_that_ask_for_nothing_make_room() {
    let domain = Domain::new("crowd");
    let (_view, address) = domain.view();
    let connect = || TcpStream::connect(&address).unwrap();
    let mut crowd: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
    // The connection that showed that the view listens may end after others have come: its place
    // is taken then.
    until("one more is refused", || {
        let is_refused = !answer(&address).contains("200");
        if !is_refused {
            crowd.push(connect());
        }
        is_refused
    });
    assert!(crowd.len() <= CONNECTIONS_MAX + 1, "{} connections", crowd.len());
    until("the page is served again", || answer(&address).contains("200"));
    drop(crowd);
}

#[test]
fn viewers_that_take_nothing_are_let_go_and_little_waits_for_them() {
    let domain = Domain::new("stuck");
    let run = domain.run(&IN_A_CHAIN);
    let (view, address) = domain.view();
    // Images inside a chain are subscribed to while somebody sees them.
    let subscribers = || domain.topic(IMAGE)["subscribers"].as_u64();
    until("the graph runs", || domain.is_published(IMAGE));
    let before = subscribers();
    let mut stuck: Vec<TcpStream> = (0..8).map(|_| viewer(&address)).collect();
    // All that there is, again for topics that were offered late.
    until("they see images", || {
        stuck.iter_mut().for_each(subscribe_to_all);
        subscribers() > before
    });
    until("they have been let go", || subscribers() == before);
    let most_kib = most_memory_kib(view.id());
    assert!(most_kib < 300 << 10, "16 MiB for each, and a little: {most_kib} KiB");
    run.interrupt();
    assert!(run.end().0.success());
}

/// A connection with Foxglove's protocol.
fn viewer(address: &str) -> TcpStream {
    let mut viewer = TcpStream::connect(address).unwrap();
    write!(
        viewer,
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"
    )
    .unwrap();
    let mut head = [0; 12];
    viewer.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    viewer
}

#[test]
fn a_seventeenth_viewer_is_refused_until_another_one_has_gone() {
    let domain = Domain::new("many");
    let (_view, address) = domain.view();
    let mut viewers: Vec<TcpStream> = (0..16).map(|_| viewer(&address)).collect();
    let ask = || {
        let mut one_more = TcpStream::connect(&address).unwrap();
        write!(
            one_more,
            "GET /live HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut head = [0; 12];
        one_more.read_exact(&mut head).unwrap();
        String::from_utf8_lossy(&head).into_owned()
    };
    assert_eq!(ask(), "HTTP/1.1 503");
    drop(viewers.pop());
    until("there is room", || ask() == "HTTP/1.1 101");
}

/// The most memory that a process has had.
fn most_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Subscribes to every channel that there may be.
fn subscribe_to_all(viewer: &mut TcpStream) {
    let all: Vec<_> = (1..100).map(|id| json!({ "id": id, "channelId": id })).collect();
    say(viewer, &json!({ "op": "subscribe", "subscriptions": all })).unwrap();
}

/// Says a word of between 126 and 65 535 bytes.
fn say(viewer: &mut TcpStream, word: &Value) -> std::io::Result<()> {
    let words = word.to_string();
    let length = u16::try_from(words.len()).unwrap().to_be_bytes();
    // A whole text, with a mask of zeros (RFC 6455, section 5.2).
    let head = [0x81, 0x80 | 126, length[0], length[1], 0, 0, 0, 0];
    viewer.write_all(&[&head, words.as_bytes()].concat())
}

#[test]
fn a_viewer_that_follows_too_many_parameters_is_told_and_let_go() {
    let domain = Domain::new("followers");
    let (view, address) = domain.view();
    let follow = |viewer: &mut TcpStream, number: usize| {
        let name = |n: usize| format!("/a_node.parameter_{number}_{n}");
        let names: Vec<String> = (0..1000).map(name).collect();
        say(viewer, &json!({ "op": "subscribeParameterUpdates", "parameterNames": names }))
    };
    let mut greedy = viewer(&address);
    let mut speaking = greedy.try_clone().unwrap();
    // It says more than there is room for, without an end.
    let speaks = std::thread::spawn(move || {
        (0..10_000).take_while(|number| follow(&mut speaking, *number).is_ok()).count()
    });
    let mut heard = Vec::new();
    // It ends as the connection does.
    let _ = greedy.read_to_end(&mut heard);
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains("follow fewer"), "{heard}");
    assert!(speaks.join().unwrap() < 10_000);
    let most_kib = most_memory_kib(view.id());
    assert!(most_kib < 100 << 10, "{most_kib} KiB");
    until("others can follow parameters again", || {
        let mut modest = viewer(&address);
        follow(&mut modest, 0).unwrap();
        modest.write_all(b"\x89\x84\0\0\0\0ping").unwrap();
        let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = modest.read(&mut bytes) {
            heard.extend_from_slice(&bytes[..count]);
            if heard.windows(6).any(|it| it == b"\x8a\x04ping") {
                return true;
            }
        }
        false
    });
}

#[test]
fn a_viewer_that_calls_often_at_once_is_answered_each_time() {
    const CALLS: usize = 3000;
    let domain = Domain::new("burst");
    let (_view, address) = domain.view();
    let mut calls = viewer(&address);
    // A call of a service that nobody has, encoded in 3 letters.
    let call = [&[2], &7_u32.to_le_bytes()[..], &[9; 4], &3_u32.to_le_bytes(), b"cdr"].concat();
    let frame = [&[0x82, 0x80 | call.len() as u8, 0, 0, 0, 0], &call[..]].concat();
    let mut says = calls.try_clone().unwrap();
    let speaks = std::thread::spawn(move || says.write_all(&frame.repeat(CALLS)).unwrap());
    let (mut heard, mut bytes) = (Vec::new(), [0; 1 << 16]);
    let answers = |heard: &[u8]| String::from_utf8_lossy(heard).matches("Unknown service").count();
    while answers(&heard) < CALLS {
        let count = calls.read(&mut bytes).unwrap();
        assert!(count > 0, "it was let go: {}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&bytes[..count]);
    }
    speaks.join().unwrap();
}
