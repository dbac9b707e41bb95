//! How long a process may stand still before its run suffers, if nobody has said anything about it.

use std::time::Duration;

use crate::runs::flows;
use crate::runs::probe::{Place, Running, send, stop};
use rustix::process::Signal;

/// No word of quality of service.
const TWO: &str = "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  relay: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
";

/// As long as in a debugger, or where the computer is busy; longer than patience once was.
const STANDS: Duration = Duration::from_secs(3);

#[test]
fn a_process_may_stand_still_for_three_seconds_by_default_and_the_run_loses_nothing() {
    let place = Place::new("patience", "");
    let mapping = place.mapping(&[("first", "source", ""), ("second", "relay", "")]);
    let run = Running::start(place.run(TWO, &["--json", "--mapping", &mapping]));
    flows(&place, "/b");
    let second = run.nodes()[1];
    // What a topic keeps is full after some hundredths of a second: the source waits for the rest.
    stop(second);
    std::thread::sleep(STANDS);
    send(second, Signal::CONT);
    // A run that has suffered has ended by itself by now, or is about to.
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "it has suffered: {} {}", ended.output, ended.errors);
    let summary = ended.summary();
    let topics = summary["topics"].as_array().expect("topics");
    let counts: Vec<_> = topics.iter().map(|topic| topic["messages"].as_u64()).collect();
    assert_eq!(counts.len(), 2, "{summary}");
    assert!(counts[0] > Some(0) && counts[0] == counts[1], "each is handed on: {summary}");
    for topic in topics {
        let losses = topic["losses"].as_object().expect("losses");
        assert!(losses.values().all(|count| count == 0), "{topic}");
    }
}
