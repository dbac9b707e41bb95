//! `crossdock service`: services of running graphs, seen on the status tables of their processes,
//! and calls from the command line.

use crate::arguments::{CallArguments, ServiceCommand, WatchArguments};
use crate::definitions::definitions;
use crate::output;
use crate::output::{clean, near_name, say};
use crate::run::observer_options;
use crate::table::{Align, Table};
use crate::{troubles, values};
use anyhow::{Context, Result, bail};
use crossdock_comm::status_records::{client_counter, server_counter};
use crossdock_comm::{
    ClientOptions, GraphSnapshot, Observer, Participant, ParticipantOptions, PortSnapshot,
};
use crossdock_msg::{JsonOptions, ServiceSchema};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Elements of a list that are shown unless all are asked for.
const ELEMENTS_SHOWN: usize = 16;

/// Runs one of the service commands.
pub(crate) fn service(command: &ServiceCommand) -> Result<ExitCode> {
    match command {
        ServiceCommand::List { show_types, watch } => list(*show_types, watch)?,
        ServiceCommand::Type { service, watch } => print_type(service, watch)?,
        ServiceCommand::Find { service_type, watch } => print_of_type(service_type, watch)?,
        ServiceCommand::Info { service, watch } => info(service, watch)?,
        ServiceCommand::Call(arguments) => call(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Ports of one service, each with the name of its process.
#[derive(Default)]
struct Service<'a> {
    servers: Vec<(&'a str, &'a PortSnapshot)>,
    clients: Vec<(&'a str, &'a PortSnapshot)>,
}

impl Service<'_> {
    fn is_served(&self) -> bool {
        !self.servers.is_empty()
    }

    fn type_name(&self) -> &str {
        let mut ports = self.servers.iter().chain(&self.clients);
        ports.next().map_or("", |(_, port)| port.type_name.as_str())
    }
}

/// The running graphs; an error if processes run and none can be looked at.
fn look_at_some(watch: &WatchArguments) -> Result<GraphSnapshot> {
    let snapshot = look(watch)?;
    output::must_be_seen(snapshot.processes.len(), &snapshot.unreachable, watch.domain_id)?;
    Ok(snapshot)
}

fn look(watch: &WatchArguments) -> Result<GraphSnapshot> {
    let mut observer = Observer::open(observer_options(watch.domain_id, "crossdock service"))?;
    let snapshot = observer.snapshot()?;
    output::warn(&snapshot.unreachable);
    Ok(snapshot)
}

fn services(snapshot: &GraphSnapshot) -> BTreeMap<&str, Service<'_>> {
    let mut services: BTreeMap<&str, Service<'_>> = BTreeMap::new();
    for process in &snapshot.processes {
        let name = process.process.as_str();
        for port in &process.servers {
            services.entry(&port.topic).or_default().servers.push((name, port));
        }
        for port in &process.clients {
            services.entry(&port.topic).or_default().clients.push((name, port));
        }
    }
    services
}

fn list(show_types: bool, watch: &WatchArguments) -> Result<()> {
    let snapshot = look_at_some(watch)?;
    let services = services(&snapshot);
    if watch.json {
        let rows = services.iter().map(|(name, service)| {
            json!({
                "service": name,
                "type": service.type_name(),
                "servers": service.servers.len(),
                "clients": service.clients.len(),
            })
        });
        let rows: Vec<Value> = rows.collect();
        return output::print_json(&rows);
    }
    if services.is_empty() {
        say!("no service is known in domain {}", watch.domain_id);
    }
    let lines = services.iter().map(|(name, service)| match show_types {
        true => format!("{} [{}]\n", clean(name), clean(service.type_name())),
        false => format!("{}\n", clean(name)),
    });
    output::print(&lines.collect::<String>())
}

fn find<'a>(
    services: &'a BTreeMap<&str, Service<'a>>,
    name: &str,
    watch: &WatchArguments,
) -> Result<&'a Service<'a>> {
    let Some(service) = services.get(name) else {
        bail!(
            "no running graph in domain {} has the service {}; {}`crossdock service list` shows \
             those that exist, --domain-id looks elsewhere",
            watch.domain_id,
            clean(name),
            near(services, name)
        );
    };
    Ok(service)
}

/// `did you mean ... ` for a service that does not exist.
fn near(services: &BTreeMap<&str, Service<'_>>, name: &str) -> String {
    clean(&near_name(name, services.keys().copied()))
}

fn print_of_type(type_name: &str, watch: &WatchArguments) -> Result<()> {
    let snapshot = look_at_some(watch)?;
    let services = services(&snapshot);
    let of_type = services.iter().filter(|(_, service)| service.type_name() == type_name);
    let names: Vec<&str> = of_type.map(|(name, _)| *name).collect();
    if watch.json {
        return output::print_json(&names);
    }
    if names.is_empty() {
        let types: BTreeSet<&str> = services.values().map(Service::type_name).collect();
        let types = types.into_iter().map(clean).collect::<Vec<_>>().join(", ");
        let known = match types.is_empty() {
            true => "no service is known".to_owned(),
            false => format!("the types are {types}"),
        };
        bail!(
            "no service in domain {} has the type {}; {known}",
            watch.domain_id,
            clean(type_name)
        );
    }
    output::print(&names.iter().map(|name| clean(name) + "\n").collect::<String>())
}

fn print_type(name: &str, watch: &WatchArguments) -> Result<()> {
    let snapshot = look_at_some(watch)?;
    let services = services(&snapshot);
    let type_name = find(&services, name, watch)?.type_name();
    match watch.json {
        true => output::print(&format!("{}\n", json!({ "service": name, "type": type_name }))),
        false => output::print(&format!("{}\n", clean(type_name))),
    }
}

/// What clients count, in the words of the table.
const CLIENT_COUNTS: [(&str, usize); 7] = [
    ("responses", client_counter::RESPONSES),
    ("timed_out", client_counter::TIMED_OUT),
    ("cancelled", client_counter::CANCELLED),
    ("server_gone", client_counter::SERVER_GONE),
    ("unanswered", client_counter::UNANSWERED),
    ("late", client_counter::LATE),
    ("refused", client_counter::REFUSED),
];

/// What servers count.
const SERVER_COUNTS: [(&str, usize); 4] = [
    ("responses", server_counter::RESPONSES),
    ("cancelled", server_counter::CANCELLED),
    ("unanswered", server_counter::UNANSWERED),
    ("unwanted", server_counter::UNWANTED),
];

fn info(name: &str, watch: &WatchArguments) -> Result<()> {
    let snapshot = look_at_some(watch)?;
    let services = services(&snapshot);
    let service = find(&services, name, watch)?;
    if watch.json {
        let port =
            |(process, port): &(&str, &PortSnapshot), calls: &str, counts: &[(&str, usize)]| {
                let mut value = json!({ "node": port.node, "process": process });
                // The first counter counts calls or requests on either side.
                value[calls] = port.counters[client_counter::CALLS].into();
                for (word, index) in counts {
                    value[*word] = port.counters[*index].into();
                }
                value
            };
        let servers = service.servers.iter().map(|it| port(it, "requests", &SERVER_COUNTS));
        let clients = service.clients.iter().map(|it| port(it, "calls", &CLIENT_COUNTS));
        let value = json!({
            "service": name,
            "type": service.type_name(),
            "servers": servers.collect::<Vec<_>>(),
            "clients": clients.collect::<Vec<_>>(),
        });
        return output::print_json(&value);
    }
    let mut table = Table::new(&[
        ("port", Align::Left),
        ("node", Align::Left),
        ("process", Align::Left),
        ("calls", Align::Right),
        ("responses", Align::Right),
        ("others", Align::Left),
    ]);
    let ends = [
        ("server", &service.servers, &SERVER_COUNTS[..]),
        ("client", &service.clients, &CLIENT_COUNTS[..]),
    ];
    for (end, ports, counts) in ends {
        for (process, port) in ports {
            let others = counts[1..].iter().filter(|(_, index)| port.counters[*index] > 0);
            let others = others.map(|(word, index)| {
                format!("{} {}", word.replace('_', " "), port.counters[*index])
            });
            table.row([
                end.to_owned(),
                port.node.clone(),
                (*process).to_owned(),
                port.counters[client_counter::CALLS].to_string(),
                port.counters[client_counter::RESPONSES].to_string(),
                others.collect::<Vec<_>>().join(", "),
            ]);
        }
    }
    let mut notes = String::new();
    if service.servers.len() > 1 {
        notes = "\nEach client is served by the server that it met first, until that one goes.\n"
            .into();
    }
    let type_name = clean(service.type_name());
    output::print(&format!("{}: {type_name}\n\n{}{notes}", clean(name), table.text()))
}

fn call(arguments: &CallArguments) -> Result<()> {
    let CallArguments { service, watch, .. } = arguments;
    let definitions = definitions(&arguments.interfaces)?;
    let schema = ServiceSchema::from_library(definitions.library(), &arguments.service_type)
        .context("the type of the service is not known; --interfaces FOLDER brings others")?;
    let values = values::one("VALUES", arguments.values.as_bytes())?;
    let mut request = schema.request().written(&values).context("the request")?;
    // A server that is there only has to be met.
    let snapshot = look(watch)?;
    let known = services(&snapshot);
    let is_served = known.get(service.as_str()).is_some_and(Service::is_served);
    let options = ParticipantOptions::new(watch.domain_id, "crossdock service call");
    let participant = Participant::open(options)?;
    troubles::tell(&participant);
    let options = ClientOptions { node: "service_call", service, ..ClientOptions::default() };
    let client = participant.any_client(Arc::new(schema), options)?;
    let timeout = Duration::from_secs_f64(arguments.timeout);
    if !watch.json && !is_served && !client.wait_for_server(Duration::ZERO) {
        let near = near(&known, service);
        say!("waiting for a server of {} ... {}", clean(service), near.trim_end());
    }
    // Without a server the call says so, and why, if one does not fit.
    client.wait_for_server(timeout);
    request.set_now(values::now_ns());
    let response = client.call_cdr(request.cdr(), timeout)?;
    let options = match arguments.full || watch.json {
        true => JsonOptions::default(),
        false => JsonOptions::shown(ELEMENTS_SHOWN),
    };
    let schema = response.schema().response();
    let value = schema.to_json_with(response.block(), options)?;
    match watch.json {
        true => output::print(&format!("{value}\n")),
        false => output::print_json(&value),
    }
}
