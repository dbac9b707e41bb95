//! Fuzzes what our own code reads of the view's viewers, before the libraries that speak HTTP,
//! WebSocket and Foxglove's protocol do: the heads of frames, and the headers that say who asks.
#![no_main]

#[path = "../../net/view/src/gate.rs"]
#[allow(dead_code, reason = "the view uses the rest")]
mod gate;
#[path = "../../net/view/src/words.rs"]
#[allow(dead_code, reason = "the view uses the rest")]
mod words;

use crossdock_fuzz::Input;
use gate::{Asked, Gate};
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use words::Words;

/// Which reader the first byte chooses.
const FRAMES: u8 = 0;
const HEADERS: u8 = 1;
const NAMES: u8 = 2;
const KINDS: u8 = 3;

/// Longest word of a viewer, as the view says.
const WORD_BYTES_MAX: u64 = 4 << 20;
/// The longest reason: what a viewer says is cut.
const REASON_BYTES_MAX: usize = 1000;

const OWN_HOST: &str = "car.lan";
const OWN_ORIGIN: &str = "https://car.lan:8080";

fn seeds() -> Vec<Vec<u8>> {
    let frame = |first: u8, length: &[u8], body: usize| {
        [&[first][..], length, &[1, 2, 3, 4], &vec![7; body]].concat()
    };
    let frames = [
        frame(0x81, &[0x85], 5),
        frame(0x89, &[0x80], 0),
        frame(0x82, &[0xfe, 1, 0], 256),
        [frame(1, &[0x83], 3), frame(0x89, &[0x81], 1), frame(0x80, &[0x82], 2)].concat(),
        [frame(1, &[0xff, 0, 0, 0, 0, 0, 0x40, 0, 0], 0), vec![0; 64]].concat(),
        [1, 0xff].into_iter().chain([255; 12]).collect(),
        vec![0x81, 0x05, 1, 2, 3, 4, 5, 0x88, 0],
    ];
    let texts = [
        (HEADERS, "localhost:8080\nhttp://localhost:8080"),
        (HEADERS, "127.0.0.1:80\nhttps://app.foxglove.dev"),
        (HEADERS, "[::1]:80\nfile://"),
        (HEADERS, "CAR.lan:80\nhttps://Car.lan:8080"),
        (HEADERS, "evil.example\nhttp://evil.example"),
        (NAMES, "car.lan/\nhttp://car.lan:80/"),
        (NAMES, "\u{1b}[31m\nhttp://a b"),
    ];
    let frames = frames.map(|bytes| (FRAMES, bytes));
    let texts = texts.map(|(kind, text)| (kind, text.as_bytes().to_vec()));
    frames
        .into_iter()
        .chain(texts)
        .map(|(kind, bytes)| [&[kind], bytes.as_slice()].concat())
        .collect()
}

/// What RFC 6455 says of these frames, read at once: words that begin, pings, and whether a word is
/// too long.
fn expected(mut bytes: &[u8]) -> (usize, usize, bool) {
    let (mut said, mut pings, mut word) = (0, 0, 0_u64);
    while let [first, second, rest @ ..] = bytes {
        let (length, rest) = match (second & 0x7f, rest) {
            (126, [a, b, rest @ ..]) => (u64::from(u16::from_be_bytes([*a, *b])), rest),
            (127, rest) if rest.len() >= 8 => {
                let (length, rest) = rest.split_at(8);
                (u64::from_be_bytes(std::array::from_fn(|at| length[at])), rest)
            }
            (126 | 127, _) => break,
            (length, rest) => (length.into(), rest),
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let Some(body) = rest.get(mask..) else { break };
        match first & 0x0f {
            0 => word = word.saturating_add(length),
            1..8 => (said, word) = (said + 1, length),
            opcode => pings += usize::from(opcode == 9),
        }
        if word > WORD_BYTES_MAX {
            return (said, pings, true);
        }
        bytes = body.get(usize::try_from(length).expect("64 bits")..).unwrap_or_default();
    }
    (said, pings, false)
}

/// However the bytes come in pieces, they say the same.
fn frames(mut input: Input<'_>) {
    let piece = 1 + usize::from(input.u8() % 32);
    let bytes = input.rest();
    let mut words = Words::default();
    let seen = bytes.chunks(piece).try_for_each(|it| words.see(it));
    let counts = words.take_counts();
    assert_eq!((counts.0, counts.1, seen.is_err()), expected(bytes), "pieces of {piece}");
    assert_eq!(words.take_counts(), (0, 0));
}

fn is_short(reason: &gate::GateError) {
    let reason = reason.to_string();
    assert!(reason.len() <= REASON_BYTES_MAX, "{reason}");
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

/// Nobody is let in but by an address or a known name, and no page but ours and known ones.
fn headers(text: &str) {
    let gate = Gate::new(vec![OWN_HOST.to_owned()], vec![OWN_ORIGIN.to_owned()]).expect("names");
    let (host, origin) = match text.split_once('\n') {
        Some((host, origin)) => (host, Some(origin)),
        None => (text, None),
    };
    for asked in [Asked::Page, Asked::Foxglove] {
        if let Err(error) = gate.admit(asked, Some(host), origin) {
            is_short(&error);
            continue;
        }
        let name = host.to_ascii_lowercase();
        let is_known = |known: &&str| {
            name.strip_prefix(*known).is_some_and(|port| port.is_empty() || port.starts_with(':'))
        };
        let bare = name.rsplit_once(':').map_or(name.as_str(), |(name, _)| name);
        let is_address =
            [bare, &name].iter().any(|it| it.trim_matches(['[', ']']).parse::<IpAddr>().is_ok());
        assert!(is_address || ["localhost", OWN_HOST].iter().any(is_known), "{host:?}");
        let Some(origin) = origin.map(str::to_ascii_lowercase) else { continue };
        let is_viewer = ["https://app.foxglove.dev", "file://", OWN_ORIGIN].contains(&&*origin);
        let is_own = origin == format!("http://{name}");
        assert!(is_own || is_viewer && asked == Asked::Foxglove, "{origin:?}");
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let kind = input.u8() % KINDS;
    if kind == FRAMES {
        return frames(input);
    }
    let text = String::from_utf8_lossy(input.rest());
    if kind == HEADERS {
        return headers(&text);
    }
    let (host, origin) = text.split_once('\n').unwrap_or((&text, ""));
    if let Err(error) = Gate::new(vec![host.to_owned()], vec![origin.to_owned()]) {
        is_short(&error);
    }
});
