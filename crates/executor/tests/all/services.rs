//! Nodes that call each other: in one executor, in one node, across threads; and what ends a call
//! that is not answered.

use crate::support;
use std::time::Duration;

use crossdock_comm::{Qos, SubscriberOptions};
use crossdock_executor::{
    CallError, Client, Context, Node, NodeDescription, NodeError, NodeType, Package, Publisher,
    Remote, Request, RunEnd, Server, Setup, Trigger,
};
use crossdock_graph::{
    Graph, Mapping, PackageDescriptions, RunOptions, Time, Violation, ViolationKind, check,
};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_msg::types::sensor_msgs::srv::SetCameraInfo;
use support::{Process, SIMULATED, checked_with, log, take_log};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(600);

/// Calls again with each response what the last one said plus one, until it has enough.
struct Asker {
    client: Client<AddTwoInts>,
    calls: i64,
    at_once: i64,
    ignores: i64,
    patience: Duration,
}

impl NodeType for Asker {
    const NAME: &'static str = "asker";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .client::<AddTwoInts>("adder")
            .timer("begin", Duration::from_millis(1))
            .parameter("calls", 3, "calls until the run ends")
            .parameter("at_once", 1, "calls that it begins with")
            .parameter("ignores", 0, "responses that it does not take, and calls with 10 instead")
            .parameter("patience_ms", 600_000, "time-out of a call")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let patience_ms: i64 = setup.parameter("patience_ms")?;
        Ok(Self {
            client: setup.client("adder")?,
            calls: setup.parameter("calls")?,
            at_once: setup.parameter("at_once")?,
            ignores: setup.parameter("ignores")?,
            patience: Duration::from_millis(patience_ms as u64),
        })
    }
}

impl Asker {
    fn ask(&self, a: i64) -> Result<(), NodeError> {
        let mut request = self.client.loan(Extra::none())?;
        request.message().set_a(a);
        request.message().set_b(1);
        request.send(self.patience).map_err(|refused| refused.reason)?;
        Ok(())
    }
}

impl Node for Asker {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match context.trigger() {
            Trigger::Timer(_) if self.client.under_way() == 0 && self.calls > 0 => {
                log(format!("{}: asks", context.node()));
                for _ in 0..self.at_once {
                    self.ask(0)?;
                }
            }
            Trigger::Response(_) if self.ignores > 0 => {
                self.ignores -= 1;
                log(format!("{}: ignores", context.node()));
                self.ask(10)?;
            }
            Trigger::Response(port) => {
                assert_eq!(port, "adder");
                let outcome = self.client.take()?.expect("it is why the node runs");
                self.calls -= 1;
                match outcome.result {
                    Ok(response) => {
                        let sum = response.message().sum();
                        log(format!("{}: {sum}", context.node()));
                        if self.calls > 0 {
                            self.ask(sum)?;
                        }
                    }
                    Err(CallError::TimedOut { .. }) => {
                        log(format!("{}: timed out", context.node()))
                    }
                    Err(CallError::Unanswered { .. }) => {
                        log(format!("{}: not answered", context.node()));
                    }
                    Err(error) => return Err(error.into()),
                }
                if self.calls == 0 {
                    context.finish("enough");
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Adds; or keeps the requests; or does not even take them. Ends the run after `requests` of them.
struct Adder {
    server: Server<AddTwoInts>,
    mood: String,
    kept: Vec<Request<AddTwoInts>>,
    requests: i64,
}

impl NodeType for Adder {
    const NAME: &'static str = "adder";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .server::<AddTwoInts>("add")
            .parameter("mood", "answers", "what becomes of requests")
            .parameter("requests", 0, "requests until the run ends; 0: it goes on")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (mood, requests) = (setup.parameter("mood")?, setup.parameter("requests")?);
        Ok(Self { server: setup.server("add")?, mood, kept: Vec::new(), requests })
    }
}

impl Node for Adder {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::Request("add"));
        match self.mood.as_str() {
            "ignores" => return Ok(()),
            "fails" => return Err(NodeError::new("it does not like to add")),
            _ => {}
        }
        let request = self.server.take()?.expect("it is why the node runs");
        log(format!("{}: {} + {}", context.node(), request.message().a(), request.message().b()));
        self.requests -= 1;
        if self.requests == 0 {
            context.finish("enough");
        }
        if self.mood == "keeps" {
            self.kept.push(request);
            return Ok(());
        }
        let mut response = request.loan(Extra::none())?;
        response.message().set_sum(request.message().a() + request.message().b());
        response.send()?;
        Ok(())
    }
}

/// Says which of its optional ports it has, and which of its messages may be large.
struct Loose {
    client: Option<Client<SetCameraInfo>>,
    server: Option<Server<SetCameraInfo>>,
    out: Option<Publisher<PointStamped>>,
    has_asked: bool,
}

impl NodeType for Loose {
    const NAME: &'static str = "loose";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .client::<SetCameraInfo>("ask")
            .optional()
            .server::<SetCameraInfo>("serve")
            .optional()
            .publisher::<PointStamped>("out")
            .optional()
            .timer("begin", Duration::from_millis(1))
            .parameter("leaves", "nothing", "a port that it does not open")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let leaves: String = setup.parameter("leaves")?;
        let client = if leaves == "ask" { None } else { setup.optional_client("ask")? };
        let server = if leaves == "serve" { None } else { setup.optional_server("serve")? };
        let out = setup.optional_publisher("out")?;
        log(format!("{} {} {}", client.is_some(), server.is_some(), out.is_some()));
        Ok(Self { client, server, out, has_asked: false })
    }
}

impl Node for Loose {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let large = Extra::none().bytes(50_000_000);
        let ports = (&self.client, &self.server, &self.out);
        let (Some(client), Some(server), Some(out)) = ports else {
            context.finish("there is nothing to do");
            return Ok(());
        };
        match context.trigger() {
            Trigger::Timer(_) if !self.has_asked => {
                self.has_asked = true;
                log(format!("message {}", out.loan(large).is_ok()));
                log(format!("request {}", client.loan(large).is_ok()));
                let request = client.loan(Extra::none())?;
                request.send(NEVER).map_err(|refused| refused.reason)?;
            }
            Trigger::Request(_) => {
                let request = server.take()?.expect("it is why the node runs");
                log(format!("response {}", request.loan(large).is_ok()));
                context.finish("all is said");
            }
            _ => {}
        }
        Ok(())
    }
}

fn package() -> Package {
    Package::new("callers").node::<Asker>().node::<Adder>().node::<Loose>()
}

fn graph(asker: &str, adder: &str) -> Graph {
    let text = format!(
        "crossdock: 1\nname: calling\nnodes:\n  asker: {{ package: callers, type: asker, clients: {{ \
         adder: /add }}, parameters: {{ {asker} }} }}\n  adder: {{ package: callers, type: adder, \
         servers: {{ add: /add }}, parameters: {{ {adder} }} }}\n"
    );
    Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph")
}

fn in_one_executor(mode: &str) -> Mapping {
    let executor = format!("{{ mode: {mode}, nodes: [asker, adder] }}");
    let text = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [ {executor} ] }} }}\n");
    Mapping::from_yaml("test.mapping.yaml", text.as_bytes()).expect("a mapping")
}

fn run_alone(test: &str, mode: &str, asker: &str, adder: &str) -> Vec<String> {
    take_log();
    let plan = checked_with(&package(), &graph(asker, adder), &in_one_executor(mode), Time::Wall);
    let process = Process::with_package(test, plan, package());
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
    take_log()
}

#[test]
fn client_and_server_of_one_executor_call_without_waiting_for_each_other() {
    for mode in ["chain", "event"] {
        let log = run_alone(&format!("calls-{mode}"), mode, "calls: 3", "");
        let wanted = [
            "asker: asks",
            "adder: 0 + 1",
            "asker: 1",
            "adder: 1 + 1",
            "asker: 2",
            "adder: 2 + 1",
            "asker: 3",
        ];
        assert_eq!(log, wanted, "{mode}");
    }
}

#[test]
fn an_end_of_a_service_tells_what_the_graph_lets_it_tell() {
    take_log();
    let text = "crossdock: 1\nname: calling\nnodes:\n  asker: { package: callers, type: asker, \
                clients: { adder: { service: /add, introspection: metadata } }, parameters: { \
                calls: 2 } }\n  adder: { package: callers, type: adder, servers: { add: { \
                service: /add, introspection: contents } } }\n";
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let plan = checked_with(&package(), &graph, &in_one_executor("chain"), Time::Wall);
    let process = Process::with_package("calls-told", plan, package());
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let topic = "/add/_service_event";
    let options = SubscriberOptions {
        node: "ear",
        topic,
        qos: Qos::best_effort(64),
        doorbell: None,
        group: None,
    };
    let listener = process.participant.any_subscriber(options).expect("a subscriber");
    assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
    let mut heard = Vec::new();
    while let Some(event) = listener.take().expect("no error") {
        let said = event.schema().to_json(event.block()).expect("a message");
        let contents = ["request", "response"].map(|part| said[part].to_string());
        heard.push((said["info"]["event_type"].as_u64().expect("a number"), contents));
    }
    heard.sort();
    let kinds: Vec<u64> = heard.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [0, 0, 1, 1, 2, 2, 3, 3]);
    let of_server = [("[{\"a\":0,\"b\":1}]", "[]"), ("[{\"a\":1,\"b\":1}]", "[]")];
    assert_eq!(heard[0].1, ["[]", "[]"], "the client tells no contents");
    for ((_, told), (request, response)) in heard[2..4].iter().zip(of_server) {
        assert_eq!(told, &[request, response]);
    }
    assert_eq!(heard[4].1, ["[]", "[{\"sum\":1}]"]);
    take_log();
}

#[test]
fn a_client_has_as_many_calls_under_way_as_the_graph_says() {
    take_log();
    let text = "crossdock: 1\nname: calling\nnodes:\n  asker: { package: callers, type: asker, \
                clients: { adder: { service: /add, depth: 2 } }, parameters: { at_once: 3 } }\n  \
                adder: { package: callers, type: adder, servers: { add: /add } }\n";
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let plan = checked_with(&package(), &graph, &in_one_executor("chain"), Time::Wall);
    let process = Process::with_package("calls-depth", plan, package());
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let error = executor.run().expect_err("the third call finds no place");
    assert_eq!(error.node, "asker");
    assert!(error.error.contains("2 calls"), "{error}");
    take_log();
}

#[test]
fn a_call_that_nobody_answers_times_out_by_the_executors_own_timers() {
    let log = run_alone("call-time-out", "chain", "calls: 1, patience_ms: 5", "mood: keeps");
    assert_eq!(log, ["asker: asks", "adder: 0 + 1", "asker: timed out"]);
}

#[test]
fn a_request_that_its_node_does_not_take_is_dropped_and_the_client_told() {
    let log = run_alone("call-ignored", "chain", "calls: 1", "mood: ignores");
    assert_eq!(log, ["asker: asks", "asker: not answered"]);
}

#[test]
fn a_response_that_its_node_does_not_take_is_gone() {
    let log = run_alone("response-ignored", "chain", "calls: 1, ignores: 1", "");
    let wanted = ["asker: asks", "adder: 0 + 1", "asker: ignores", "adder: 10 + 1", "asker: 11"];
    assert_eq!(log, wanted);
}

#[test]
fn executors_of_two_threads_call_each_other_and_sleep_in_between() {
    take_log();
    let process = apart("calls-between");
    let remote = Remote::new();
    std::thread::scope(|scope| {
        let (process, of_server) = (&process, remote.clone());
        let server = scope.spawn(move || {
            let mut executor = process.executor(1, &of_server).expect("an executor");
            assert_eq!(executor.run().expect("a run"), RunEnd::Stopped);
            take_log().len()
        });
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
        let log = take_log();
        assert_eq!((log.len(), log.last().map(String::as_str)), (51, Some("asker: 50")));
        remote.stop();
        assert_eq!(server.join().expect("no panic"), 50);
    });
    assert!(NEVER > Duration::ZERO);
}

#[test]
fn servers_of_one_executor_take_turns() {
    take_log();
    let pair = |name: &str, more: &str| {
        format!(
            "  asker_{name}: {{ package: callers, type: asker, clients: {{ adder: /{name} }},
           parameters: {{ calls: 100, at_once: 2 }} }}
  {name}: {{ package: callers, type: adder, servers: {{ add: /{name} }}{more} }}
"
        )
    };
    let two = pair("two", ", parameters: { requests: 2 }");
    let text = format!("crossdock: 1\nname: turns\nnodes:\n{}{two}", pair("one", ""));
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let process = Process::with_package("turns", plan, package());
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
    let mut log = take_log();
    log.retain(|line| !line.starts_with("asker"));
    assert_eq!(log, ["one: 0 + 1", "two: 0 + 1", "one: 0 + 1", "two: 0 + 1"]);
}

/// A process whose client and server are in executors of their own.
fn apart(test: &str) -> Process {
    let mapping = "crossdock: 1\nprocesses: { main: { executors: [ { mode: chain, nodes: [asker] }, \
                   { mode: event, nodes: [adder] } ] } }\n";
    let mapping = Mapping::from_yaml("test.mapping.yaml", mapping.as_bytes()).expect("a mapping");
    let plan = checked_with(&package(), &graph("calls: 50", ""), &mapping, Time::Wall);
    Process::with_package(test, plan, package())
}

#[test]
fn missing_ends_of_services_are_named() {
    let process = apart("calls-missing");
    let error = |index| {
        let made = process.executor_within(index, &Remote::new(), Duration::from_millis(50));
        made.expect_err("nobody runs the other executor").to_string()
    };
    let client = error(0);
    let sentence = "node `asker`: client `adder` has no server of /add after 0 s; ";
    assert!(client.starts_with(sentence), "{client}");
    let server = error(1);
    let sentence = "node `adder`: server `add` of /add is connected to 0 of 1 clients after 0 s; ";
    assert!(server.starts_with(sentence), "{server}");
}

#[test]
fn observers_see_which_node_an_end_of_a_service_belongs_to() {
    let plan = checked_with(&package(), &graph("", ""), &in_one_executor("chain"), Time::Wall);
    let process = Process::with_package("calls-seen", plan, package());
    let _executor = process.executor(0, &Remote::new()).expect("an executor");
    let mut observer = process.observer();
    let seen = observer.snapshot().expect("a snapshot").processes;
    let clients: Vec<_> =
        seen.iter().flat_map(|it| &it.clients).map(|it| it.node.as_str()).collect();
    let servers: Vec<_> =
        seen.iter().flat_map(|it| &it.servers).map(|it| it.node.as_str()).collect();
    assert_eq!((clients, servers), (vec!["asker"], vec!["adder"]));
}

fn violations(graph: &str) -> Vec<Violation> {
    let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    let descriptions = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time: SIMULATED, ..RunOptions::PLAIN };
    check(&graph, &mapping, &descriptions, &options).expect_err("violations")
}

#[test]
fn a_graph_in_which_services_do_not_fit_is_refused_with_the_place() {
    let head = "crossdock: 1\nname: calling\n";
    let asker = "  asker: { package: callers, type: asker, clients: { adder: /add } }\n";
    let adder = |name: &str| {
        format!("  {name}: {{ package: callers, type: adder, servers: {{ add: /add }} }}\n")
    };
    let one = |graph: String, kind: ViolationKind, text: &str| {
        let found = violations(&graph);
        let violation =
            found.iter().find(|it| it.kind == kind).unwrap_or_else(|| panic!("{found:?}"));
        let whole = violation.to_string();
        assert!(whole.contains(text) && violation.place.is_some(), "{whole}");
    };
    let unserved = format!("{head}nodes:\n{asker}");
    one(unserved, ViolationKind::NoServer, "external: true");
    let twice = format!("{head}nodes:\n{asker}{}{}", adder("adder"), adder("other"));
    one(twice, ViolationKind::ServedTwice, "node `adder`");
    let external =
        format!("{head}services: {{ /add: {{ external: true }} }}\nnodes:\n{}", adder("adder"));
    one(external, ViolationKind::ServedTwice, "external");
    let typed = format!(
        "{head}services: {{ /add: {{ type: std_srvs/srv/SetBool }} }}\nnodes:\n{asker}{}",
        adder("adder")
    );
    one(typed, ViolationKind::TypeClash, "std_srvs/srv/SetBool");
    let unknown = format!("{head}nodes:\n{}", asker.replace("adder: /add", "added: /add"));
    one(unknown.clone(), ViolationKind::UnknownPort, "adder");
    one(unknown, ViolationKind::UnconnectedPort, "example_interfaces/srv/AddTwoInts");
    // External services need no server, and a graph with services reads back as it is written.
    let text = format!(
        "{head}services:\n  /add: {{ external: true, max_request_bytes: 64 }}\nnodes:\n  asker: {{ \
         package: callers, type: asker, clients: {{ adder: {{ service: /add, depth: 2 }} }} }}\n"
    );
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let again = Graph::from_yaml("again", graph.to_yaml().as_bytes()).expect("a graph");
    assert_eq!(again.without_source(), graph.without_source());
    let mapping = Mapping::one_process_per_node(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let client = &plan.processes[0].executors[0].nodes[0].clients[0];
    assert_eq!((client.depth, client.max_request_bytes, client.expected), (2, Some(64), false));
}

/// A process with a loose node, whose ports and parameters are these.
fn loose(test: &str, head: &str, ports: &str) -> Process {
    take_log();
    let text = format!(
        "crossdock: 1\nname: loose\n{head}nodes:\n  loose: {{ package: callers, type: loose{ports} }}\n"
    );
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    Process::with_package(test, plan, package())
}

const ALL_PORTS: &str =
    ", clients: { ask: /info }, servers: { serve: /info }, outputs: { out: /t }";

#[test]
fn messages_requests_and_responses_are_as_large_as_the_graph_lets_them_be() {
    let limits = "topics: { /t: { max_bytes: 50000 } }
services: { /info: { max_request_bytes: 50000, max_response_bytes: 50000 } }
";
    for (test, head, is_large) in [("large", "", true), ("limited", limits, false)] {
        let process = loose(test, head, ALL_PORTS);
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
        let said = ["message", "request", "response"].map(|what| format!("{what} {is_large}"));
        assert_eq!(take_log()[1..], said, "{test}");
    }
}

#[test]
fn optional_ports_that_the_graph_connects_are_there_and_have_to_be_opened() {
    let process = loose("none", "", "");
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    assert!(matches!(executor.run().expect("a run"), RunEnd::Finished { .. }));
    assert_eq!(take_log(), ["false false false"]);
    let process = loose("connected", "", ALL_PORTS);
    process.executor(0, &Remote::new()).expect("an executor");
    assert_eq!(take_log(), ["true true true"]);
    for port in ["ask", "serve"] {
        let ports = format!("{ALL_PORTS}, parameters: {{ leaves: {port} }}");
        let process = loose(port, "", &ports);
        let error = process.executor(0, &Remote::new()).expect_err("it is not opened").to_string();
        assert!(error.contains(&format!("declares port `{port}` and does not open it")), "{error}");
    }
    take_log();
}

#[test]
fn a_server_whose_node_is_taken_out_takes_no_other_with_it() {
    take_log();
    let asker = |name: &str| {
        format!(
            "  asker_{name}: {{ package: callers, type: asker, clients: {{ adder: /{name} }},
           parameters: {{ calls: 20, patience_ms: 10000 }}, on_failure: drop_node }}\n"
        )
    };
    let adder = |name: &str, mood: &str| {
        format!(
            "  {name}: {{ package: callers, type: adder, servers: {{ add: /{name} }},
           parameters: {{ mood: {mood} }}, on_failure: drop_node }}\n"
        )
    };
    let (well, bad) = (adder("well", "answers"), adder("bad", "fails"));
    let text = format!(
        "crossdock: 1\nname: dropped\nnodes:\n{}{}{bad}{well}",
        asker("bad"),
        asker("well")
    );
    let graph = Graph::from_yaml("test.graph.yaml", text.as_bytes()).expect("a graph");
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let process = Process::with_package("server-dropped", plan, package());
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let mut dropped = Vec::new();
    while let RunEnd::NodeDropped(error) = executor.run().expect("a run") {
        dropped.push(error.node);
    }
    assert_eq!(dropped.first().map(String::as_str), Some("bad"));
    let mut log = take_log();
    log.retain(|line| line.starts_with("asker_well"));
    let sums = (1..=20).map(|sum| format!("asker_well: {sum}"));
    let expected: Vec<_> = std::iter::once("asker_well: asks".to_owned()).chain(sums).collect();
    assert_eq!(log, expected);
}
