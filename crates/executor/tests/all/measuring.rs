//! What an executor shows of its nodes and spans to observers.

use crate::support;
use crossdock_comm::HistogramSnapshot;
use crossdock_comm::status_records::kind;
use crossdock_executor::status::{chain_counter, node_counter};
use crossdock_executor::{Remote, RunEnd, Statistics};
use crossdock_graph::{Graph, Mapping, Time};
use support::{Process, checked};

/// A record of a node or of a span as an observer sees it.
struct Seen {
    name: String,
    detail: String,
    counters: Vec<u64>,
    histogram: HistogramSnapshot,
}

/// Runs the graph on one thread for each executor and gives what an observer sees before the end.
fn observe(test: &str, graph: &str, executors: &str, statistics: Statistics) -> Vec<(u32, Seen)> {
    observe_in(Time::Wall, test, graph, executors, statistics)
}

fn observe_in(
    time: Time,
    test: &str,
    graph: &str,
    executors: &str,
    statistics: Statistics,
) -> Vec<(u32, Seen)> {
    let graph = format!("crossdock: 1\nname: {test}\n{graph}");
    let graph = Graph::from_yaml(test, graph.as_bytes()).expect("a graph");
    let mapping = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [{executors}] }} }}\n");
    let mapping = Mapping::from_yaml(test, mapping.as_bytes()).expect("a mapping");
    let mut process = Process::new(test, checked(&graph, &mapping, time));
    process.statistics = statistics;
    let mut observer = process.observer();
    let remotes: Vec<_> = process.plan.executors.iter().map(|_| Remote::new()).collect();
    let (process, remotes) = (&process, &remotes);
    let (finished, finish) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for (index, remote) in remotes.iter().enumerate() {
            let finished = finished.clone();
            scope.spawn(move || {
                let mut executor = process.executor(index, remote).expect("made");
                while let RunEnd::Finished { .. } = executor.run().expect("a good end") {
                    finished.send(()).expect("somebody waits");
                }
            });
        }
        finish.recv().expect("a node asks for the end");
        let snapshot = observer.snapshot().expect("a snapshot");
        let seen = snapshot.processes.iter().flat_map(|process| {
            // Not all records have times.
            process.others.iter().filter_map(|entity| {
                let seen = Seen {
                    name: entity.name.clone(),
                    detail: String::from_utf8(entity.detail.clone()).expect("text"),
                    counters: entity.counters.to_vec(),
                    histogram: observer.histogram(process.name, entity)?,
                };
                Some((entity.kind, seen))
            })
        });
        let seen = seen.collect();
        remotes.iter().for_each(Remote::stop);
        seen
    })
}

fn find<'a>(seen: &'a [(u32, Seen)], kind: u32, name: &str) -> &'a Seen {
    let found = seen.iter().find(|(of, seen)| *of == kind && seen.name == name);
    &found.expect("a record of this name").1
}

const CHAIN: &str = "nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 20, finish: false } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  second: { package: probe, type: relay, inputs: { in: /b }, outputs: { out: /c } }
  third: { package: probe, type: relay, inputs: { in: /c }, parameters: { finish_at: 20 } }
chains: { whole: { from: /a, to: /c }, part: { from: /b, to: /c } }
";

#[test]
fn executions_and_spans_are_counted_and_timed() {
    let one = "{ mode: chain, nodes: [source, first, second, third] }";
    let event = "{ mode: event, nodes: [source, first, second, third] }";
    let several = "{ mode: chain, nodes: [source] }, { mode: chain, nodes: [first] }, \
                   { mode: event, nodes: [second, third] }";
    for (test, executors) in [("one", one), ("event", event), ("several", several)] {
        let seen = observe(&format!("measured_{test}"), CHAIN, executors, Statistics::On);
        for node in ["source", "first", "second", "third"] {
            let record = find(&seen, kind::NODE, node);
            let executions = record.counters[node_counter::EXECUTIONS];
            // The last node asks for the end before the others have been settled.
            assert!(executions >= 19, "{test}: {node} executed {executions} times");
            assert!(record.histogram.count >= 19, "{test}: {node}");
            assert_eq!(record.counters[node_counter::NOT_TAKEN], 0);
        }
        assert_eq!(find(&seen, kind::NODE, "first").detail, "probe/relay");
        let whole = find(&seen, kind::CHAIN, "whole");
        let part = find(&seen, kind::CHAIN, "part");
        assert_eq!(whole.detail, "/a /c");
        for chain in [whole, part] {
            assert_eq!(chain.counters[chain_counter::MESSAGES], 20, "{test}: {}", chain.name);
            assert_eq!(chain.counters[chain_counter::WITHOUT_ORIGIN], 0, "{test}: {}", chain.name);
            assert_eq!(chain.histogram.count, 20, "{test}: {}", chain.name);
        }
        // A span that contains another one is never shorter.
        assert!(whole.histogram.mean_ns() >= part.histogram.mean_ns(), "{test}");
    }
}

#[test]
fn without_statistics_executions_are_still_counted() {
    let one = "{ mode: chain, nodes: [source, first, second, third] }";
    let seen = observe("uncounted", CHAIN, one, Statistics::Off);
    let record = find(&seen, kind::NODE, "first");
    assert!(record.counters[node_counter::EXECUTIONS] >= 19);
    assert_eq!(record.histogram.count, 0);
}

#[test]
fn messages_without_counterpart_and_messages_left_are_counted() {
    let graph = "nodes:
  all: { package: probe, type: source, outputs: { out: /a },
         parameters: { count: 9, burst: 9, finish: false } }
  some: { package: probe, type: source, outputs: { out: /b },
          parameters: { count: 9, burst: 9, gap: 3 } }
  join: { package: probe, type: join, inputs: { a: /a, b: /b },
          condition: { all_of: [a, b], same: stamp } }
  lazy: { package: probe, type: relay, inputs: { in: /b }, parameters: { take: false } }
topics: { /a: { qos: { depth: 16 } }, /b: { qos: { depth: 16 } } }
";
    let seen = observe(
        "unmatched",
        graph,
        "{ mode: chain, nodes: [all, some, join, lazy] }",
        Statistics::On,
    );
    let join = find(&seen, kind::NODE, "join");
    // 3 and 6; for 9 a counterpart could still come.
    assert_eq!(join.counters[node_counter::UNMATCHED], 2);
    assert_eq!(join.counters[node_counter::EXECUTIONS], 6);
    assert_eq!(find(&seen, kind::NODE, "lazy").counters[node_counter::NOT_TAKEN], 6);
}

/// A source of 50 numbers, a relay that ends the run with the last, and a source that is silent.
const SILENT: &str = "nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 50, finish: false } }
  relay: { package: probe, type: relay, inputs: { in: /a }, parameters: { finish_at: 50 } }
  silent: { package: probe, type: source, outputs: { out: /b },
            parameters: { count: 50, gap: 1, finish: false } }
";

#[test]
fn a_join_whose_counterpart_never_comes_passes_over_what_its_depth_cannot_hold() {
    let graph = format!(
        "{SILENT}  join: {{ package: probe, type: join, inputs: {{ a: /a, b: /b }},
          condition: {{ all_of: [a, b], same: stamp }} }}
"
    );
    for mode in ["chain", "event"] {
        let executor = format!("{{ mode: {mode}, nodes: [source, relay, silent, join] }}");
        let seen = observe(&format!("alone_{mode}"), &graph, &executor, Statistics::On);
        let join = find(&seen, kind::NODE, "join");
        assert_eq!(join.counters[node_counter::EXECUTIONS], 0, "{mode}");
        // Four wait, and the one that the join has looked at.
        assert_eq!(join.counters[node_counter::UNMATCHED], 50 - 4 - 1, "{mode}");
    }
}

#[test]
fn messages_that_a_guard_holds_back_are_counted_when_there_is_no_room_for_them() {
    let graph = format!(
        "{SILENT}  side: {{ package: probe, type: side, inputs: {{ in: /a, side: /b }},
          condition: {{ any_of: [in], fresh: [side] }} }}
"
    );
    for mode in ["chain", "event"] {
        let executor = format!("{{ mode: {mode}, nodes: [source, relay, silent, side] }}");
        let seen = observe(&format!("guarded_{mode}"), &graph, &executor, Statistics::On);
        let side = find(&seen, kind::NODE, "side");
        assert_eq!(side.counters[node_counter::EXECUTIONS], 0, "{mode}");
        assert_eq!(side.counters[node_counter::HELD_BACK], 50, "{mode}");
        assert_eq!(side.counters[node_counter::UNMATCHED], 50 - 4, "{mode}");
    }
}

#[test]
fn a_node_that_never_asks_for_the_latest_value_holds_nobody_up() {
    let graph = format!(
        "{SILENT}  side: {{ package: probe, type: side, inputs: {{ in: /b, side: /a }} }}\n"
    );
    let one = "{ mode: chain, nodes: [source, relay, silent, side] }";
    let event = "{ mode: event, nodes: [source, relay, silent, side] }";
    let several = "{ mode: chain, nodes: [source, relay, silent] }, { mode: chain, nodes: [side] }";
    for (test, executors) in [("one", one), ("event", event), ("several", several)] {
        let seen = observe(&format!("unasked_{test}"), &graph, executors, Statistics::On);
        assert_eq!(find(&seen, kind::NODE, "side").counters[node_counter::EXECUTIONS], 0);
        let relay = find(&seen, kind::NODE, "relay");
        assert_eq!(relay.counters[node_counter::EXECUTIONS], 50, "{test}");
    }
}

#[test]
fn executions_over_budget_are_counted_and_told_to_the_node() {
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 20, finish: false } }
  slow: { package: probe, type: guard, inputs: { in: /a }, outputs: { out: /b },
          budget_ms: 0.01, parameters: { busy_us: 11 } }
  quick: { package: probe, type: guard, inputs: { in: /a }, budget_ms: 86400000 }
  sink: { package: probe, type: relay, inputs: { in: /b }, parameters: { finish_at: 20 } }
";
    let one = "{ mode: chain, nodes: [source, slow, quick, sink] }";
    // A budget is measured even where nothing else is.
    let seen = observe("budget", graph, one, Statistics::Off);
    let slow = find(&seen, kind::NODE, "slow");
    assert_eq!(slow.counters[node_counter::OVER_BUDGET], 20);
    assert!(slow.histogram.max_ns > 10_000);
    assert_eq!(slow.counters[node_counter::RUNNING], 0);
    assert_eq!(find(&seen, kind::NODE, "quick").counters[node_counter::OVER_BUDGET], 0);
    // What it publishes when it is told leads on like everything else.
    assert!(find(&seen, kind::NODE, "sink").counters[node_counter::EXECUTIONS] >= 19);
}

#[test]
fn without_pacing_deadlines_go_by_simulated_time() {
    let graph = "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 10 } }
  old: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /old },
         parameters: { add: -2 } }
  older: { package: probe, type: relay, inputs: { in: /old }, outputs: { out: /older },
           parameters: { add: 1, finish_at: 1000 } }
  answer: { package: probe, type: relay, inputs: { in: /older }, outputs: { out: /command },
            parameters: { add: 1, finish_at: 1000 } }
chains:
  never: { from: /image, to: /command, max_latency_ms: 0.001 }
  always: { from: /image, to: /old, max_latency_ms: 1999.999 }
  just: { from: /image, to: /older, max_latency_ms: 1000 }
";
    let one = "{ mode: chain, nodes: [simulator, old, older, answer] }";
    // Time goes on only when all of them have run.
    let several = "{ mode: chain, nodes: [simulator] }, { mode: event, nodes: [answer] }, \
                   { mode: chain, nodes: [old, older] }";
    for (test, executors) in [("one", one), ("several", several)] {
        let test = format!("simulated_limit_{test}");
        let seen = observe_in(support::SIMULATED, &test, graph, executors, Statistics::On);
        let late = |name: &str| find(&seen, kind::CHAIN, name).counters[chain_counter::LATE];
        assert_eq!((late("never"), late("just")), (0, 0), "{test}");
        let always = find(&seen, kind::CHAIN, "always");
        assert_eq!(always.counters[chain_counter::MESSAGES], 10, "{test}");
        // The first is stamped before the time begins, which is no time.
        assert_eq!(late("always"), 9, "{test}");
        assert_eq!(always.counters[chain_counter::MAX_LATENCY_NS], 1_999_999_000);
    }
}
