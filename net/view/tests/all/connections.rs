//! Connections that only wait, and viewers that take nothing, hold nothing up.

use crate::running::{Domain, IN_A_CHAIN};
use crossdock_suite::until;
use serde_json::json;
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
    let crowd: Vec<TcpStream> =
        (0..CONNECTIONS_MAX).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let one_more = answer(&address);
    assert!(!one_more.contains("200"), "{one_more}");
    until("the page is served again", || answer(&address).contains("200"));
    drop(crowd);
}

#[test]
fn a_viewer_that_takes_nothing_is_let_go() {
    let domain = Domain::new("stuck");
    let run = domain.run(&IN_A_CHAIN);
    let (_view, address) = domain.view();
    // Images inside a chain are subscribed to while somebody sees them.
    let subscribers = || domain.topic(IMAGE)["subscribers"].as_u64();
    until("the graph runs", || domain.is_published(IMAGE));
    let before = subscribers();
    let mut stuck = TcpStream::connect(&address).unwrap();
    write!(
        stuck,
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"
    )
    .unwrap();
    let mut head = [0; 12];
    stuck.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    // All that there is, again for topics that were offered late.
    until("it sees images", || {
        subscribe_to_all(&mut stuck);
        subscribers() > before
    });
    until("it has been let go", || subscribers() == before);
    run.interrupt();
    assert!(run.end().0.success());
}

/// Subscribes to every channel that there may be.
fn subscribe_to_all(viewer: &mut TcpStream) {
    let all: Vec<_> = (1..100).map(|id| json!({ "id": id, "channelId": id })).collect();
    let words = json!({ "op": "subscribe", "subscriptions": all }).to_string();
    let length = u16::try_from(words.len()).unwrap().to_be_bytes();
    // A whole text, with a mask of zeros (RFC 6455, section 5.2).
    let head = [0x81, 0x80 | 126, length[0], length[1], 0, 0, 0, 0];
    viewer.write_all(&[&head, words.as_bytes()].concat()).unwrap();
}
