//! Model checking of waiting: every order of the steps of waiting threads, ringing ports and guard
//! conditions, up to a preemption bound.
//!
//! The bell is a lock and a flag per sleeper, so a lost wake-up is a model without end, which loom
//! reports as a deadlock. The lead has a negative control: threads that do not pass it on must get
//! stuck.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p crossdock-rmw --test model`, with a target
//! folder of its own.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "tests")]

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use rmw_crossdock::waiting::{Bell, EntityId, Kind, Waiting};
use std::process::Command;
use std::time::Instant;

const PREEMPTIONS: usize = 3;
/// Tells the other process what it is.
const CONTROL: &str = "CROSSDOCK_MODEL_CONTROL";

/// A bell of three ports.
#[derive(Default)]
struct Ports {
    state: Mutex<Ringing>,
    rung: Condvar,
}

#[derive(Default)]
struct Ringing {
    /// Messages that nobody has taken, by entity.
    messages: [u32; 3],
    rang: Vec<EntityId>,
    is_nudged: bool,
    sleepers: u32,
}

impl Ports {
    fn publish(&self, to: EntityId) {
        let mut state = self.state.lock().unwrap();
        state.messages[to.0 as usize] += 1;
        state.rang.push(to);
        drop(state);
        self.rung.notify_one();
    }

    fn take(&self, from: EntityId) {
        let mut state = self.state.lock().unwrap();
        assert!(state.messages[from.0 as usize] > 0, "a port that fired has a message");
        state.messages[from.0 as usize] -= 1;
    }
}

impl Bell for Ports {
    /// Time passes at once.
    fn sleep(&self, deadline: Option<Instant>, rang: &mut Vec<EntityId>) {
        let mut state = self.state.lock().unwrap();
        assert_eq!(state.sleepers, 0, "one thread leads");
        state.sleepers += 1;
        while state.rang.is_empty() && !state.is_nudged && deadline.is_none() {
            state = self.rung.wait(state).unwrap();
        }
        state.sleepers -= 1;
        state.is_nudged = false;
        rang.append(&mut state.rang);
    }

    fn drain(&self, rang: &mut Vec<EntityId>) {
        let mut state = self.state.lock().unwrap();
        assert_eq!(state.sleepers, 0, "nobody drains what a leader sleeps on");
        rang.append(&mut state.rang);
    }

    fn nudge(&self) {
        self.state.lock().unwrap().is_nudged = true;
        self.rung.notify_one();
    }

    fn has_something(&self, entity: EntityId) -> bool {
        self.state.lock().unwrap().messages[entity.0 as usize] > 0
    }
}

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_permutations = None;
    builder.max_duration = None;
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = runs.clone();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    crossdock_test_support::done(runs, "executions");
}

/// A thread that waits for one entity, once; it takes what a port has.
fn waiter(
    waiting: &Arc<Waiting<Ports>>,
    id: EntityId,
    kind: Kind,
    times: u32,
) -> thread::JoinHandle<()> {
    let waiting = waiting.clone();
    let set = waiting.add_set();
    thread::spawn(move || {
        for _ in 0..times {
            let mut fired = Vec::new();
            waiting.wait(set, &[id], None, &mut fired).unwrap();
            assert_eq!(fired, [id]);
            if kind == Kind::Port {
                waiting.bell().take(id);
            }
        }
        waiting.remove_set(set).unwrap();
    })
}

fn join<const N: usize>(threads: [thread::JoinHandle<()>; N]) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn every_thread_gets_what_rings_for_it_whoever_leads() {
    explore(PREEMPTIONS, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let ports = [waiting.add(Kind::Port), waiting.add(Kind::Port)];
        let threads = ports.map(|port| waiter(&waiting, port, Kind::Port, 1));
        ports.iter().for_each(|port| waiting.bell().publish(*port));
        join(threads);
    });
}

#[test]
fn one_thread_gets_message_after_message() {
    explore(PREEMPTIONS, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let port = waiting.add(Kind::Port);
        let thread = waiter(&waiting, port, Kind::Port, 2);
        waiting.bell().publish(port);
        waiting.bell().publish(port);
        thread.join().unwrap();
    });
}

#[test]
fn a_trigger_is_not_lost_and_reported_once() {
    explore(PREEMPTIONS, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let guard = waiting.add(Kind::Guard);
        let thread = waiter(&waiting, guard, Kind::Guard, 1);
        waiting.trigger(guard);
        thread.join().unwrap();
        let (set, mut fired) = (waiting.add_set(), Vec::new());
        waiting.wait(set, &[guard], Some(Instant::now()), &mut fired).unwrap();
        assert_eq!(fired, []);
    });
}

#[test]
fn a_look_sees_what_came_before_whoever_leads() {
    explore(PREEMPTIONS, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let ports = [waiting.add(Kind::Port), waiting.add(Kind::Port)];
        let set = waiting.add_set();
        let look = || {
            let mut fired = Vec::new();
            waiting.wait(set, &[ports[1]], Some(Instant::now()), &mut fired).unwrap();
            fired
        };
        assert_eq!(look(), []);
        let other = waiter(&waiting, ports[0], Kind::Port, 1);
        waiting.bell().publish(ports[1]);
        assert_eq!(look(), [ports[1]]);
        waiting.bell().publish(ports[0]);
        other.join().unwrap();
    });
}

/// One thread leaves by its guard condition; afterwards a message comes for the other.
fn leaving(waiting: Waiting<Ports>) {
    let waiting = Arc::new(waiting);
    let (port, guard) = (waiting.add(Kind::Port), waiting.add(Kind::Guard));
    let leaves = waiter(&waiting, guard, Kind::Guard, 1);
    let stays = waiter(&waiting, port, Kind::Port, 1);
    waiting.trigger(guard);
    leaves.join().unwrap();
    waiting.bell().publish(port);
    stays.join().unwrap();
}

#[test]
fn a_thread_that_leaves_passes_the_lead_on() {
    explore(PREEMPTIONS, || leaving(Waiting::new(Ports::default())));
}

/// Loom reports a deadlock by a panic inside of what it drops, which ends the process: so another
/// process runs it.
#[test]
fn a_lead_that_is_not_passed_on_is_found() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_other_process"]).env(CONTROL, "1").env("RUST_BACKTRACE", "0");
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(!output.status.success() && said.contains("deadlock"), "{said}");
}

#[test]
fn the_other_process() {
    if std::env::var_os(CONTROL).is_some() {
        explore(PREEMPTIONS, || leaving(Waiting::new(Ports::default()).without_passing_on()));
    }
}

#[test]
fn three_threads_pass_the_lead_from_one_to_the_next() {
    explore(2, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let ids = [waiting.add(Kind::Port), waiting.add(Kind::Port), waiting.add(Kind::Guard)];
        let kinds = [Kind::Port, Kind::Port, Kind::Guard];
        let threads = [0, 1, 2].map(|at| waiter(&waiting, ids[at], kinds[at], 1));
        waiting.bell().publish(ids[0]);
        waiting.trigger(ids[2]);
        waiting.bell().publish(ids[1]);
        join(threads);
    });
}

#[test]
fn two_threads_may_wait_for_one_port() {
    explore(PREEMPTIONS, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let port = waiting.add(Kind::Port);
        let threads = [0, 1].map(|_| {
            let waiting = waiting.clone();
            let set = waiting.add_set();
            thread::spawn(move || {
                // It stays ready: nobody takes the message.
                let mut fired = Vec::new();
                waiting.wait(set, &[port], None, &mut fired).unwrap();
                assert_eq!(fired, [port]);
            })
        });
        waiting.bell().publish(port);
        join(threads);
    });
}

#[test]
fn no_wait_outlasts_the_end() {
    explore(2, || {
        let waiting = Arc::new(Waiting::new(Ports::default()));
        let threads = [0, 1].map(|_| {
            let waiting = waiting.clone();
            let (guard, set) = (waiting.add(Kind::Guard), waiting.add_set());
            thread::spawn(move || {
                let mut fired = Vec::new();
                waiting.wait(set, &[guard], None, &mut fired).unwrap();
                assert_eq!(fired, []);
            })
        });
        waiting.end();
        join(threads);
    });
}
