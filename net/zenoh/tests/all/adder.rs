//! A node that serves a service, and clients that call it.

use crate::graphs::Place;
use crossdock_comm::{CallError, Client, ClientOptions, Participant, Server, ServerOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const SERVICE: &str = "/add_two_ints";

/// A node that adds, on a thread of its own.
pub(crate) struct Adder {
    is_over: Arc<AtomicBool>,
    /// Requests that it has taken.
    taken: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// What the adder does with a request.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    Answers,
    Drops,
    Keeps,
}

impl Adder {
    pub(crate) fn start(place: &Place, manner: Manner) -> Self {
        let options = place.options("adder");
        let (is_over, taken) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let (over, count) = (Arc::clone(&is_over), Arc::clone(&taken));
        let thread = std::thread::spawn(move || {
            let participant = Participant::open(options).unwrap();
            let options =
                ServerOptions { node: "adder", service: SERVICE, ..ServerOptions::default() };
            let server: Server<AddTwoInts> = participant.server(options).unwrap();
            let mut kept = Vec::new();
            while !over.load(Ordering::Relaxed) {
                server.wait(Duration::from_millis(20)).unwrap();
                while let Some(request) = server.take().unwrap() {
                    count.fetch_add(1, Ordering::Relaxed);
                    match manner {
                        Manner::Drops => continue,
                        Manner::Keeps => {
                            kept.push(request.into_ticket());
                            continue;
                        }
                        Manner::Answers => {}
                    }
                    let sum = request.message().a() + request.message().b();
                    let mut response = request.loan(Extra::none()).unwrap();
                    response.message().set_sum(sum);
                    response.send().map_err(|refused| refused.reason).unwrap();
                }
            }
        });
        Self { is_over, taken, thread: Some(thread) }
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Drop for Adder {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

pub(crate) fn caller_of(participant: &Participant, service: &str) -> Client<AddTwoInts> {
    let options = ClientOptions { node: "caller", service, ..ClientOptions::default() };
    participant.client(options).unwrap()
}

pub(crate) fn add(
    client: &Client<AddTwoInts>,
    a: i64,
    b: i64,
    timeout: Duration,
) -> Result<i64, CallError> {
    let mut request = client.loan(Extra::none()).unwrap();
    request.message().set_a(a);
    request.message().set_b(b);
    request.call(timeout).map(|response| response.message().sum())
}
