//! Conditions of a node whose messages come from outside its executor: which of them wake it, and
//! which it is shown.

use std::time::Duration;

use crossdock_comm::status_records::kind;
use crossdock_comm::{Participant, Publisher, PublisherOptions, Qos};
use crossdock_executor::status::node_counter;
use crossdock_executor::{Remote, RunEnd};
use crossdock_graph::Time;
use crossdock_msg::types::geometry_msgs::PointStamped;

use super::{process, publish};
use crate::support::{self, Process, Stop, asleep, take_log, this_thread};

/// A publisher outside all executors.
fn outside(participant: &Participant, topic: &str) -> Publisher<PointStamped> {
    outside_of(participant, topic, 4)
}

/// One that keeps so many messages.
fn outside_of(participant: &Participant, topic: &str, depth: usize) -> Publisher<PointStamped> {
    let options = PublisherOptions {
        node: "outside",
        topic,
        qos: Qos::best_effort(depth),
        max_bytes: None,
        group: None,
    };
    participant.publisher(options).expect("a publisher")
}

/// Publishers outside an executor, and the thread on which it sleeps meanwhile.
struct Beside {
    thread: i32,
    participant: Participant,
    a: Publisher<PointStamped>,
    b: Publisher<PointStamped>,
    c: Publisher<PointStamped>,
}

impl Beside {
    /// How often the executor has slept so far, when it sleeps, and how often it was woken.
    fn rest(&self) -> (u64, u64) {
        (asleep(self.thread), self.wakes())
    }

    fn wakes(&self) -> u64 {
        [&self.a, &self.b, &self.c].map(|it| it.counters().wakes).iter().sum()
    }
}

/// The process of an observer with this condition, all of whose topics come from outside.
fn alone(test: &str, condition: &str, depth: usize) -> Process {
    let input = |topic: &str| {
        format!("{{ topic: {topic}, qos: {{ reliability: best_effort, depth: {depth} }} }}")
    };
    let graph = format!(
        "topics: {{ /a: {{ external: true }}, /b: {{ external: true }} }}
nodes:
  o: {{ package: probe, type: observer, inputs: {{ a: {}, b: {}, side: {} }}, {condition} }}
",
        input("/a"),
        input("/b"),
        input("/c")
    );
    process(test, &graph, "{ mode: chain, nodes: [o] }", Time::Wall)
}

/// Publishers outside a process on the topics of its observer, which they have found.
fn around(process: &Process, depth: usize) -> [Publisher<PointStamped>; 3] {
    let topics = ["/a", "/b", "/c"];
    let publishers = topics.map(|topic| outside_of(&process.participant, topic, depth));
    let met = || publishers.iter().all(|publisher| publisher.matched() > 0);
    assert!(process.participant.wait_until(Duration::from_secs(60), met));
    publishers
}

/// What an observer with this condition says while publishers of such a depth publish.
fn said_beside(
    test: &str,
    condition: &str,
    depth: usize,
    publish: impl FnOnce(&Beside),
) -> Vec<String> {
    let process = &alone(test, condition, depth);
    let remote = &Remote::new();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let executor = scope.spawn(move || {
            let thread = this_thread();
            let mut executor = process.executor(0, remote).expect("an executor");
            tell.send(thread).expect("somebody listens");
            assert_eq!(executor.run(), Ok(RunEnd::Stopped));
            take_log()
        });
        let stop = Stop(remote);
        let thread = told.recv().expect("a thread");
        let [a, b, c] = around(process, depth);
        publish(&Beside { thread, participant: process.participant.clone(), a, b, c });
        asleep(thread);
        drop(stop);
        executor.join().expect("a log")
    })
}

#[test]
fn a_condition_that_does_not_hold_wakes_nobody() {
    let conditions = [
        ("rest_all", "all_of: [a, b]"),
        ("rest_same", "all_of: [a, b], same: stamp"),
        ("rest_fresh", "fresh: [a, b]"),
        ("rest_approximate", "all_of: [a, b], approximate_time: {}"),
        ("rest_guarded", "all_of: [a, b], newest_not_older_than_ms: { side: 60000 }"),
    ];
    // Whichever of the two inputs comes first.
    let cases = conditions.iter().flat_map(|case| [(case, false), (case, true)]);
    for ((test, condition), b_first) in cases {
        let test = &format!("{test}_{b_first}");
        said_beside(test, &format!("condition: {{ {condition} }}"), 4, |beside| {
            let Beside { a, b, c, .. } = beside;
            let (first, other) = if b_first { (b, a) } else { (a, b) };
            // From the first message on it is the other input that is waited for.
            publish(first, 1.0, 0).expect("published");
            let before = beside.rest();
            for x in 1..=100 {
                publish(first, f64::from(x), 0).expect("published");
                publish(c, f64::from(x), 0).expect("published");
            }
            assert_eq!(beside.rest(), before, "{test}");
            publish(other, 1.0, 0).expect("published");
            assert_eq!(beside.wakes(), before.1 + 1, "{test}");
        });
    }
}

#[test]
fn a_set_that_could_still_become_better_waits_for_the_input_that_could_bring_that() {
    let condition = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0 } }";
    let said = said_beside("better", condition, 4, |beside| {
        let Beside { a, b, .. } = beside;
        publish(a, 1.0, 10).expect("published");
        publish(b, 1.0, 13).expect("published");
        // A message on `a` at 13 would be closer to the one on `b`; nothing on `b` can be.
        let before = beside.rest();
        publish(b, 2.0, 40).expect("published");
        assert_eq!(beside.rest(), before);
        publish(a, 2.0, 13).expect("published");
        assert_eq!(beside.wakes(), before.1 + 1);
    });
    assert_eq!(said, ["o:a2 b1 []"]);
}

#[test]
fn a_stamp_for_which_others_had_to_go_does_not_cost_the_next_one_its_counterpart() {
    let said = said_beside("next", "condition: { all_of: [a, b], same: stamp }", 4, |beside| {
        let published = |to: &Publisher<PointStamped>, stamps: &[u32]| {
            for x in stamps {
                publish(to, (*x).into(), (*x).into()).expect("published");
            }
            beside.rest();
        };
        let Beside { a, b, .. } = beside;
        // Three have no counterpart: with one more, a stamp from the future would be known.
        published(a, &[4, 5]);
        published(b, &[1, 2, 3, 4]);
        // Now there is no room behind 5, and again one has no counterpart.
        published(a, &[6, 7, 8, 9]);
        published(b, &[4]);
        published(b, &[5]);
    });
    assert_eq!(said, ["o:a4 b4 []", "o:a5 b5 []"]);
}

#[test]
fn a_node_that_keeps_nearly_all_samples_that_it_may_is_shown_the_newest_messages() {
    // A subscriber holds 15 samples.
    let condition = "condition: { all_of: [a, b], newest_not_older_than_ms: { side: 3600000 } },
       parameters: { keeps: 14, reads_side: false }";
    let said = said_beside("keeps", condition, 40, |beside| {
        let Beside { a, b, c, .. } = beside;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        publish(c, 1.0, now.expect("after 1970").as_millis() as u64).expect("published");
        for x in 1..=14 {
            publish(a, f64::from(x), 0).expect("published");
            publish(b, f64::from(x), 0).expect("published");
            beside.rest();
        }
        // Nobody looks at them before the other input has a message, too.
        for x in 15..=54 {
            publish(a, f64::from(x), 0).expect("published");
        }
        publish(b, 15.0, 0).expect("published");
    });
    let mut expected: Vec<String> = (1..=14).map(|x| format!("o:a{x} b{x}")).collect();
    expected.push("o:a54 b15".to_owned());
    assert_eq!(said, expected);
}

#[test]
fn a_node_that_keeps_all_samples_that_it_may_ends_the_run_with_the_reason() {
    let condition = "condition: { all_of: [a, b], same: stamp }, parameters: { keeps: 100 }";
    let process = alone("keeps_all", condition, 40);
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let [a, b, _c] = around(&process, 40);
    for x in 1..=16_u32 {
        publish(&a, f64::from(x), x.into()).expect("published");
        publish(&b, f64::from(x), x.into()).expect("published");
    }
    let error = executor.run().expect_err("the last pair cannot be looked at");
    assert_eq!(error.node, "o");
    assert!(error.error.contains("it cannot go on: subscriber `o in process"), "{error}");
    assert!(error.error.contains("already keeps all 15 samples it may"), "{error}");
}

#[test]
fn in_simulated_time_the_age_of_a_message_counts_from_its_stamp_to_the_nanosecond() {
    let input = |topic: &str| format!("{{ topic: {topic}, qos: {{ reliability: best_effort }} }}");
    let graph = format!(
        "topics: {{ /s: {{ external: true }}, /a: {{ external: true }}, /c: {{ external: true }} }}
nodes:
  clockwork: {{ package: probe, type: clockwork, inputs: {{ in: {} }}, outputs: {{ clock: /clock }},
               parameters: {{ finish_at: 13 }} }}
  o: {{ package: probe, type: observer, inputs: {{ a: {}, side: {} }},
       condition: {{ any_of: [a], newest_not_older_than_ms: {{ side: 250 }} }} }}
",
        input("/s"),
        input("/a"),
        input("/c")
    );
    for (stamp_ms, expected) in [(12_250, &["o:a1 [1]"][..]), (12_249, &[])] {
        let executor = "{ mode: chain, nodes: [clockwork, o] }";
        let process = process(&format!("age_{stamp_ms}"), &graph, executor, support::SIMULATED);
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        let [seconds, a, c] = ["/s", "/a", "/c"].map(|topic| outside(&process.participant, topic));
        let met = || [&seconds, &a, &c].iter().all(|it| it.matched() > 0);
        assert!(process.participant.wait_until(Duration::from_secs(60), met));
        // The inputs take turns: the one of `o` has its own at 12.5 s.
        for (publisher, x) in [(&c, 1.0), (&seconds, 12.5), (&seconds, 13.0), (&a, 1.0)] {
            publish(publisher, x, stamp_ms).expect("published");
        }
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
        assert_eq!(take_log(), expected, "{stamp_ms}");
    }
}

#[test]
fn what_a_timer_leaves_of_a_set_is_counted() {
    let input = |topic: &str| format!("{{ topic: {topic}, qos: {{ reliability: best_effort }} }}");
    let graph = format!(
        "topics: {{ /s: {{ external: true }}, /a: {{ external: true }}, /b: {{ external: true }} }}
nodes:
  clockwork: {{ package: probe, type: clockwork, inputs: {{ in: {} }}, outputs: {{ clock: /clock }} }}
  o: {{ package: probe, type: observer, inputs: {{ a: {}, b: {} }},
       timers: {{ tick: {{ period_ms: 1000 }} }}, parameters: {{ greedy: true, finish_at: 1 }},
       condition: {{ all_of: [a, b], approximate_time: {{}} }} }}
",
        input("/s"),
        input("/a"),
        input("/b")
    );
    let executor = "{ mode: event, nodes: [clockwork, o] }";
    let process = process("part", &graph, executor, support::SIMULATED);
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let [seconds, a, b] = ["/s", "/a", "/b"].map(|topic| outside(&process.participant, topic));
    let met = || [&seconds, &a, &b].iter().all(|it| it.matched() > 0);
    assert!(process.participant.wait_until(Duration::from_secs(60), met));
    // Time goes on before the set has its turn, whose messages are the later ones.
    let messages = [(&seconds, 10.0, 0), (&seconds, 12.0, 0), (&a, 1.0, 10), (&b, 1.0, 11)];
    for (publisher, x, stamp_ms) in messages.into_iter().chain([(&a, 2.0, 20)]) {
        publish(publisher, x, stamp_ms).expect("published");
    }
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    assert_eq!(take_log(), ["o:a1 a2 tick"]);
    let mut observer = process.observer();
    let seen = observer.snapshot().expect("a snapshot").processes;
    let mut records = seen.iter().flat_map(|it| &it.others);
    let node = records.find(|it| it.kind == kind::NODE && it.name == "o").expect("its record");
    assert_eq!(node.counters[node_counter::UNMATCHED], 1, "the message on `b`");
}

#[test]
fn what_one_look_at_the_messages_leaves_is_looked_at_by_the_next() {
    let conditions = [
        ("leaves_approximate", "all_of: [a, b], approximate_time: { age_penalty: 0 }"),
        ("leaves_same", "all_of: [a, b], same: stamp"),
    ];
    for (test, condition) in conditions {
        let said = said_beside(test, &format!("condition: {{ {condition} }}"), 4, |beside| {
            // More publishers than one look is made for, each with all that it keeps.
            let participant = &beside.participant;
            let publishers: Vec<_> = (0..8).map(|_| outside(participant, "/a")).collect();
            let met = || publishers.iter().all(|publisher| publisher.matched() > 0);
            assert!(participant.wait_until(Duration::from_secs(60), met));
            for x in 1..=32_u32 {
                let publisher = &publishers[(x as usize - 1) / 4];
                publish(publisher, x.into(), x.into()).expect("published");
            }
            publish(&beside.b, 1.0, 32).expect("published");
        });
        assert_eq!(said, ["o:a32 b1 []"], "{test}");
    }
}

#[test]
fn messages_that_have_waited_for_their_executor_are_joined_in_the_order_of_publication() {
    let condition = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0 } },
       parameters: { finish_at: 7 }";
    let process = alone("waited", condition, 4);
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    // Two keep together more than an input lets wait for a counterpart.
    let publishers = [(); 2].map(|()| around(&process, 4));
    for x in 1..=8_u32 {
        let [a, b, _c] = &publishers[(x as usize - 1) / 4];
        publish(a, f64::from(x), (10 * x).into()).expect("published");
        publish(b, f64::from(x), (10 * x + 1).into()).expect("published");
    }
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    // A set is complete when the next message on `a` has come.
    assert_eq!(take_log(), (1..=7).map(|x| format!("o:a{x} b{x} []")).collect::<Vec<_>>());
}
