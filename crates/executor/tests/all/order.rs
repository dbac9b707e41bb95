//! In which order nodes run: chains, fan-out, joins, events, timers, lockstep.

use crate::support;
use std::time::{Duration, Instant};

use crossdock_executor::{Remote, RunEnd};
use crossdock_graph::{Pacing, Time};
use crossdock_msg::Extra;
use support::{Prepared, SIMULATED, run, take_log};

const WALL: Time = Time::Wall;

#[test]
fn a_chain_runs_each_node_once_for_each_message() {
    let log = run(
        "chain",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 3 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  second: { package: probe, type: relay, inputs: { in: /b }, parameters: { take: true } }
",
        "chain",
        WALL,
    );
    let expected = ["first:1", "second:1", "first:2", "second:2", "first:3", "second:3"];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn several_messages_of_one_execution_go_through_the_chain_one_after_the_other() {
    let log = run(
        "burst",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 2, burst: 2 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
           parameters: { copies: 2 } }
  second: { package: probe, type: relay, inputs: { in: /b } }
",
        "chain",
        WALL,
    );
    let expected = ["first:1", "second:1", "second:1", "first:2", "second:2", "second:2"];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn no_queue_inside_a_chain_grows_beyond_what_one_execution_published() {
    let log = run(
        "growth",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 4, burst: 4 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
           parameters: { copies: 4 } }
  second: { package: probe, type: relay, inputs: { in: /b }, outputs: { out: /c },
            parameters: { copies: 4 } }
  third: { package: probe, type: relay, inputs: { in: /c } }
",
        "chain",
        WALL,
    );
    // The queues hold 4 messages; 16 of one number and 64 in all go through them.
    let log = log.expect("a good end");
    assert_eq!(log.len(), 4 + 16 + 64);
    assert_eq!(log[..6], ["first:1", "second:1", "third:1", "third:1", "third:1", "third:1"]);
    assert_eq!(log[6], "second:1");
}

#[test]
fn events_wait_for_room_in_the_queues_of_their_successors() {
    let log = run(
        "room",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 8, burst: 8 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
           parameters: { copies: 2 } }
  second: { package: probe, type: relay, inputs: { in: /b } }
topics: { /a: { qos: { depth: 8 } } }
",
        "event",
        WALL,
    );
    let log = log.expect("a good end");
    assert_eq!(log.len(), 8 + 16);
    // Two messages at once, four fit: the third execution waits for the first two messages.
    assert_eq!(log[..5], ["first:1", "first:2", "second:1", "second:1", "first:3"]);
}

#[test]
fn fan_out_runs_the_successors_in_graph_order() {
    let log = run(
        "fan_out",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 2, burst: 2 } }
  one: { package: probe, type: relay, inputs: { in: /a } }
  two: { package: probe, type: relay, inputs: { in: /a } }
  three: { package: probe, type: relay, inputs: { in: /a } }
",
        "chain",
        WALL,
    );
    assert_eq!(
        log.expect("a good end"),
        ["one:1", "two:1", "three:1", "one:2", "two:2", "three:2"]
    );
}

#[test]
fn a_diamond_joins_the_messages_of_one_stamp() {
    let log = run(
        "diamond",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 2 } }
  left: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  right: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /c } }
  join: { package: probe, type: join, inputs: { a: /b, b: /c },
          condition: { all_of: [a, b], same: stamp } }
",
        "chain",
        WALL,
    );
    let expected = [
        "left:1",
        "right:1",
        "join:Some(1.0)+Some(1.0)",
        "left:2",
        "right:2",
        "join:Some(2.0)+Some(2.0)",
    ];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn a_join_skips_messages_without_counterpart() {
    for mode in ["chain", "event"] {
        let log = run(
            &format!("gaps_{mode}"),
            "nodes:
  odd: { package: probe, type: source, outputs: { out: /a },
         parameters: { count: 9, burst: 9, gap: 2, finish: false } }
  third: { package: probe, type: source, outputs: { out: /b },
           parameters: { count: 9, burst: 9, gap: 3 } }
  join: { package: probe, type: join, inputs: { a: /a, b: /b },
          condition: { all_of: [a, b], same: stamp } }
topics: { /a: { qos: { depth: 16 } }, /b: { qos: { depth: 16 } } }
",
            mode,
            WALL,
        );
        let expected =
            ["join:Some(1.0)+Some(1.0)", "join:Some(5.0)+Some(5.0)", "join:Some(7.0)+Some(7.0)"];
        assert_eq!(log.expect("a good end"), expected, "{mode}");
    }
}

#[test]
fn a_non_triggering_input_runs_nothing_and_gives_its_latest_message() {
    let log = run(
        "latest",
        "nodes:
  fast: { package: probe, type: source, outputs: { out: /fast },
          parameters: { count: 2, burst: 2 } }
  slow: { package: probe, type: relay, inputs: { in: /fast }, outputs: { out: /slow },
          parameters: { add: 10 } }
  side: { package: probe, type: side, inputs: { in: /slow, side: /fast } }
",
        "chain",
        WALL,
    );
    let expected = ["slow:1", "side:11/Some(2.0)", "slow:2", "side:12/None"];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn a_message_that_the_node_does_not_take_is_gone() {
    // Whether or not there is more to an execution than itself.
    for (test, limit) in [("not_taken", ""), ("not_taken_limit", ", budget_ms: 86400000")] {
        let graph = format!(
            "nodes:
  source: {{ package: probe, type: source, outputs: {{ out: /a }}, parameters: {{ count: 2, burst: 2 }} }}
  lazy: {{ package: probe, type: relay, inputs: {{ in: /a }}, parameters: {{ take: false }}{limit} }}
"
        );
        let log = run(test, &graph, "chain", WALL);
        assert_eq!(log.expect("a good end"), ["lazy:not taken", "lazy:not taken"], "{test}");
    }
}

#[test]
fn events_run_in_the_order_in_which_messages_were_published() {
    let log = run(
        "events",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 2, burst: 2 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  second: { package: probe, type: relay, inputs: { in: /b } }
  other: { package: probe, type: relay, inputs: { in: /a } }
",
        "event",
        WALL,
    );
    // Both numbers were published before anything that follows from the first.
    let expected = ["first:1", "other:1", "first:2", "other:2", "second:1", "second:2"];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn of_events_of_one_time_the_first_in_graph_order_is_first() {
    let graph = "nodes:
  first: { package: probe, type: relay, inputs: { in: /a } }
  second: { package: probe, type: relay, inputs: { in: /b }, parameters: { finish_at: 1 } }
topics: { /a: { external: true }, /b: { external: true } }
";
    let run = Prepared::new("one_time", graph, "event", WALL);
    let (a, b) = (run.publisher("/a"), run.publisher("/b"));
    let log = run.finish_after(&[&a, &b], || {
        for publisher in [&b, &a] {
            let mut loan = publisher.loan(Extra::none()).expect("a loan");
            loan.message().point().set_x(1.0);
            loan.set_stamp_ns(7_000_000_000);
            loan.publish().expect("published");
        }
    });
    assert_eq!(log.expect("a good end"), ["first:1", "second:1"]);
}

#[test]
fn timers_of_simulated_time_fire_at_the_times_at_which_they_are_due() {
    let graph = "nodes:
  clockwork: { package: probe, type: clockwork, inputs: { in: /seconds },
               outputs: { clock: /clock },
               parameters: { finish_at: 13 } }
  ticker: { package: probe, type: ticker }
topics: { /seconds: { external: true } }
";
    for mode in ["chain", "event"] {
        let run = Prepared::new(&format!("ticks_{mode}"), graph, mode, SIMULATED);
        let seconds = run.publisher("/seconds");
        let log = run.finish_after(&[&seconds], || {
            for x in [10.0, 12.5, 13.0] {
                support::nodes::publish(&seconds, x).expect("published");
            }
        });
        let expected = [
            "ticker:timer `fast` at 10400 ms",
            "ticker:timer `fast` at 10800 ms",
            "ticker:timer `slow` at 11000 ms",
            "ticker:timer `fast` at 11200 ms",
            "ticker:timer `fast` at 11600 ms",
            "ticker:timer `fast` at 12000 ms",
            "ticker:timer `slow` at 12000 ms",
            "ticker:timer `fast` at 12400 ms",
        ];
        assert_eq!(log.expect("a good end"), expected, "{mode}");
    }
}

#[test]
fn lockstep_releases_the_simulator_when_its_command_has_arrived() {
    for mode in ["chain", "event"] {
        let log = run(
            &format!("lockstep_{mode}"),
            "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image },
               lockstep: { timer: step, command: command } }
  first: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /lane } }
  second: { package: probe, type: relay, inputs: { in: /lane }, outputs: { out: /command } }
",
            mode,
            SIMULATED,
        );
        let expected = [
            "simulator:1 after None",
            "first:1",
            "second:1",
            "simulator:2 after Some(1.0)",
            "first:2",
            "second:2",
            "simulator:3 after Some(2.0)",
            "first:3",
            "second:3",
            "simulator:4 after Some(3.0)",
        ];
        assert_eq!(log.expect("a good end"), expected, "{mode}");
    }
}

#[test]
fn a_command_that_answers_an_older_message_releases_no_lockstep() {
    let log = run(
        "late_answer",
        "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 2 } }
  late: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command },
          parameters: { add: -1 } }
  driver: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
",
        "event",
        SIMULATED,
    );
    let expected = [
        "simulator:1 after None",
        "late:1",
        "driver:1",
        "simulator:2 after Some(1.0)",
        "late:2",
        "driver:2",
        "simulator:3 after Some(2.0)",
    ];
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn a_lockstep_makes_the_time_of_all_timers() {
    for mode in ["chain", "event"] {
        let log = run(
            &format!("made_time_{mode}"),
            "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 2 } }
  driver: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
  ticker: { package: probe, type: ticker }
",
            mode,
            SIMULATED,
        );
        let ticks = [
            "ticker:timer `fast` at 1400 ms",
            "ticker:timer `fast` at 1800 ms",
            "ticker:timer `slow` at 2000 ms",
        ];
        let begin = ["simulator:1 after None", "driver:1", "simulator:2 after Some(1.0)"];
        let end = ["simulator:3 after Some(2.0)"];
        // A chain goes to its end first; among events, timers that are due do.
        let middle = match mode {
            "chain" => [&["driver:2"][..], &ticks[..]].concat(),
            _ => [&ticks[..], &["driver:2"][..]].concat(),
        };
        let expected = [&begin[..], &middle[..], &end[..]].concat();
        assert_eq!(log.expect("a good end"), expected, "{mode}");
    }
}

#[test]
fn a_lockstep_is_no_faster_than_the_user_wants_it_to_be() {
    let graph = "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 4 } }
  driver: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
";
    // Simulated seconds of 10 ms.
    let paced = Time::Simulated { pacing: Pacing::AtMost(100.0) };
    for mode in ["chain", "event"] {
        let begin = Instant::now();
        let log = run(&format!("paced_{mode}"), graph, mode, paced);
        assert_eq!(log.expect("a good end").len(), 5 + 4, "{mode}");
        // Five releases, and the first of them may make up for one period.
        assert!(begin.elapsed() >= Duration::from_millis(30), "{mode}: {:?}", begin.elapsed());
    }
}

#[test]
fn timers_that_are_always_due_starve_no_message() {
    let graph = "nodes:
  timer: { package: probe, type: witness, timers: { step: { rate_hz: 1000000 } } }
  relay: { package: probe, type: relay, inputs: { in: /a }, parameters: { finish_at: 3 } }
topics: { /a: { external: true } }
";
    for mode in ["chain", "event"] {
        let run = Prepared::new(&format!("starve_{mode}"), graph, mode, WALL);
        let outside = run.publisher("/a");
        let log = run.finish_after(&[&outside], || {
            for x in [1.0, 2.0, 3.0] {
                support::nodes::publish(&outside, x).expect("published");
            }
        });
        let log = log.expect("a good end");
        assert_eq!(log, ["relay:1", "relay:2", "relay:3"], "{mode}");
    }
}

#[test]
fn an_error_names_node_input_and_stamp_and_ends_the_run() {
    let error = run(
        "failing",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 9 } }
  faulty: { package: probe, type: faulty, inputs: { in: /a }, parameters: { at: 2 } }
",
        "chain",
        WALL,
    )
    .expect_err("a failure");
    assert_eq!(error.node, "faulty");
    assert!(error.error.contains("message on input `in` that was published at "), "{error}");
    assert!(error.error.ends_with("it failed: does not like Some(2.0)"), "{error}");
    take_log();
}

#[test]
fn a_panic_is_contained_and_reported_like_an_error() {
    let error = run(
        "panicking",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 9 } }
  faulty: { package: probe, type: faulty, inputs: { in: /a }, parameters: { panics: true } }
",
        "event",
        WALL,
    )
    .expect_err("a failure");
    assert_eq!(error.node, "faulty");
    assert!(error.error.ends_with("it panicked: cannot bear Some(1.0)"), "{error}");
}

#[test]
fn a_chain_keeps_its_order_when_a_node_is_taken_out() {
    take_log();
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 2, burst: 2 } }
  faulty: { package: probe, type: faulty, inputs: { in: /a }, on_failure: drop_node }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
           parameters: { copies: 2 } }
  left: { package: probe, type: relay, inputs: { in: /b } }
  right: { package: probe, type: relay, inputs: { in: /b } }
";
    let prepared = Prepared::new("taken_out", graph, "chain", WALL);
    let mut executor = prepared.process().executor(0, &Remote::new()).expect("made");
    let dropped = executor.run();
    assert!(matches!(&dropped, Ok(RunEnd::NodeDropped(error)) if error.node == "faulty"));
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    let expected = ["first:1", "left:1", "right:1", "left:1", "right:1"];
    let again = ["first:2", "left:2", "right:2", "left:2", "right:2"];
    assert_eq!(take_log(), [expected, again].concat());
}

#[test]
fn what_is_in_flight_is_done_before_the_run_ends() {
    let log = run(
        "finish",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 1000, burst: 3 } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
           parameters: { finish_at: 1 } }
  second: { package: probe, type: relay, inputs: { in: /b } }
",
        "chain",
        WALL,
    );
    let expected = ["first:1", "second:1", "first:2", "second:2", "first:3", "second:3"];
    assert_eq!(log.expect("a good end"), expected);
}
