//! Fuzzes what the hosts of a run say to each other: words from anybody on the network, as JSON and
//! as a host would say them, between what a host does by itself.
#![no_main]

#[path = "../../crates/cli/src/run/agreement.rs"]
#[allow(dead_code, reason = "the command uses the rest")]
mod agreement;

/// What `agreement` uses of the command's output.
mod output {
    /// As the command does it: no text of another host reaches people otherwise.
    pub(crate) fn clean(text: &str) -> String {
        text.replace(char::is_control, "\u{fffd}")
    }
}

use agreement::{Agreement, Identity, LastWord, Phase, Word};
use crossdock_fuzz::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The longest sentence about another host: its own words are cut to 500 characters.
const SENTENCE_CHARS_MAX: usize = 1200;
/// As `agreement` keeps of them.
const STRANGERS_MAX: usize = 8;

/// Names that words have: of this host, of those that its mapping names, of another one.
const HOSTS: [&str; 5] = ["a", "b", "c", "d", "b\u{1b}[31m\n"];
const PHASES: [&str; 5] = ["here", "starting", "ready", "running", "ended"];
const HASH: &str = "0123";

fn host(name: &str, life: u64) -> Identity {
    let (graph, host) = ("g".to_owned(), name.to_owned());
    Identity { graph, host, life, graph_hash: HASH.to_owned(), mapping_hash: HASH.to_owned() }
}

/// A word as a host says it that may be wrong.
fn word(input: &mut Input<'_>) -> Value {
    let (name, phase) = (input.u8(), input.u8());
    let strange = input.u8();
    let differs = |bit: u8, text: &str| match strange >> bit & 1 {
        0 => text.to_owned(),
        _ => format!("{text}\u{1b}[2J"),
    };
    let lives = input.u8();
    let with = match lives >> 6 {
        0 => json!({}),
        _ => json!({ "a": lives & 3, "b": lives >> 2 & 3 }),
    };
    json!({
        "protocol": 1 + (strange >> 3 & 1),
        "graph": differs(0, "g"),
        "host": HOSTS[usize::from(name) % HOSTS.len()],
        "life": lives >> 4 & 3,
        "graph_hash": differs(1, HASH),
        "mapping_hash": differs(2, HASH),
        "phase": PHASES[usize::from(phase) % PHASES.len()],
        "with": with,
        "end": match strange >> 4 & 3 {
            0 | 1 => Value::Null,
            failed => json!({ "failed": failed == 2, "reason": differs(6, "the end\n") }),
        },
    })
}

fn seeds() -> Vec<Vec<u8>> {
    let said = json!({
        "protocol": 1, "graph": "g", "host": "b", "life": 1, "graph_hash": HASH,
        "mapping_hash": HASH, "phase": "running", "with": { "a": 1, "c": 2 },
        "end": { "failed": true, "reason": "\u{1b}[31mover" },
    });
    let said = said.to_string();
    let raw = [&[0][..], &(said.len() as u16).to_le_bytes(), said.as_bytes()].concat();
    // Two hosts that come, are ready, run, and end.
    let say = |host: u8, phase: u8, ends: u8| vec![1, host, phase, ends << 4, 0x50 | 5];
    let both = |phase: u8, ends: u8| [say(1, phase, ends), say(2, phase, ends)].concat();
    let run = [both(0, 0), vec![2], both(1, 0), vec![3, 2], both(2, 0), vec![2], both(3, 0)];
    let ended = [run.concat(), both(4, 2), vec![5]].concat();
    vec![raw, run.concat(), ended, [both(0, 0), vec![2, 4, 255, 6, 0, 4, 255]].concat()]
}

fn is_told(sentence: &str) {
    assert!(sentence.chars().count() <= SENTENCE_CHARS_MAX, "{sentence}");
    assert!(!sentence.contains(char::is_control), "{sentence:?}");
}

/// What a host looks at behind everything that it hears.
fn look(desk: &mut Agreement, now: Instant) {
    let before = phase(desk.word());
    let heard = desk.heard_instead();
    assert!(heard.chars().count() <= STRANGERS_MAX * SENTENCE_CHARS_MAX);
    assert!(!heard.contains(char::is_control), "{heard:?}");
    if let Some(end) = desk.end(now) {
        is_told(&end.reason);
    }
    let missing = desk.missing(now).len();
    assert!(missing <= desk.others().count() && desk.not_ready().len() <= 2);
    std::hint::black_box((desk.silence(), desk.has_met(), desk.is_heard_out(now)));
    // What it says is a word that others understand.
    let said = serde_json::to_string(desk.word()).expect("a word");
    assert_eq!(&serde_json::from_str::<Word>(&said).expect("a word"), desk.word());
    assert_eq!(phase(desk.word()), before);
}

fn phase(word: &Word) -> Phase {
    let said = serde_json::to_value(word).expect("a word");
    serde_json::from_value(said["phase"].clone()).expect("a phase")
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let mut now = Instant::now();
    let mut desk = Agreement::new(host(HOSTS[0], 1), HOSTS[1..3].iter().map(|it| (*it).to_owned()));
    let mut last = Phase::Here;
    while !input.is_empty() {
        match input.u8() % 7 {
            0 => {
                let length = usize::from(input.u16());
                desk.hear(&String::from_utf8_lossy(input.take(length)), now);
            }
            1 => desk.hear(&word(&mut input).to_string(), now),
            2 => {
                let met = desk.meet(now);
                if let Err(fault) = &met {
                    is_told(fault);
                } else if desk.may_run() {
                    assert!(met.is_ok_and(|met| met) && desk.has_met());
                    assert!(phase(desk.word()) != Phase::Running || desk.not_ready().is_empty());
                }
            }
            3 => {
                // As the command does it, which has met the others then.
                if desk.meet(now).is_ok_and(|met| met) {
                    desk.be_ready();
                }
            }
            4 => now += Duration::from_millis(u64::from(input.u8()) * 100),
            5 => desk.leave(LastWord { failed: false, reason: "done".to_owned() }),
            _ => {
                let seen = input.u8();
                let there = HOSTS.into_iter().zip(0..).filter(|(_, bit)| seen >> bit & 1 == 1);
                let there: Vec<&str> = there.map(|(name, _)| name).collect();
                desk.see(|name| there.contains(&name), now);
            }
        }
        look(&mut desk, now);
        assert!(phase(desk.word()) >= last, "a host goes back");
        last = phase(desk.word());
    }
});
