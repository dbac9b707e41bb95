//! What keeps a board off the memory of a host that has died, and makes it fit for the next one:
//! the lease, the stop of the port of host memory, and the resets of all clocks. Only wires and
//! instances of library modules.

use crate::board::{ADDRESS_WIDTH, FIXED, axi, pairs};
use crate::library::{LibraryModule, Parameter};
use crate::names::within;
use crate::network::{Clock, Network};
use crate::verilog::Body;

/// Cycles that a reset of another clock lasts at least, and cycles of a level that comes back.
const RESET_CYCLES: u64 = 4;
const LEVEL_CYCLES: u64 = 2;
/// Bursts under way in each direction: more than the translation lets through.
const OUTSTANDING: u64 = 64;

/// The wire with the reset of all that works for a host: all but what serves the registers.
pub(crate) fn reset(clock: &Clock) -> String {
    clock.name.as_ref().map_or("rst_host".to_owned(), |name| within("rst_host", name))
}

/// The outputs that say so to what is outside.
pub(crate) fn ports(body: &mut Body, network: &Network) {
    for clock in &network.clocks {
        body.port("output", None, &clock.restart());
    }
}

/// The wires with the resets, and those between the lease and its neighbours.
pub(crate) fn wires(body: &mut Body, network: &Network) {
    for clock in &network.clocks {
        let (reset, rst, restart) = (reset(clock), clock.rst(), clock.restart());
        body.line(&format!("  wire {reset} = {rst} || {restart};"));
    }
    let others = network.clocks.len() as u32 - 1;
    for (bits, name) in [
        (Some(64), "port_read_data"),
        (None, "stop"),
        (None, "stopped"),
        (None, "restart_busy"),
        (None, "restart_others"),
        (Some(others.max(1)), "restart_seen"),
    ] {
        body.wire(bits, name);
    }
}

/// The lease, and the way of a restart to the other clocks and back.
pub(crate) fn lease(body: &mut Body, network: &Network) {
    let mut connections = pairs(&[
        "clk",
        "rst",
        "register_address",
        "register_write",
        "register_write_data",
        "port_read_data",
        "register_read_data",
        "stop",
        "stopped",
        "restart",
        "restart_others",
    ]);
    let to = |port: &str, to: &str| (port.to_owned(), to.to_owned());
    connections.extend([to("busy", "restart_busy"), to("others", "restart_seen")]);
    let others: Vec<&Clock> = network.clocks.iter().filter(|clock| clock.name.is_some()).collect();
    let parameters = [("CLOCKS", Parameter::Number(others.len() as u64))];
    body.instance(LibraryModule::HostLease, "u_lease", &parameters, &connections);
    let mut crossing = |name: String, cycles: u64, connections: [(&str, String); 3]| {
        let connections = connections.map(|(port, to)| (port.to_owned(), to));
        let parameters = [("HOLD", Parameter::Number(cycles))];
        body.instance(LibraryModule::ResetSync, &name, &parameters, &connections);
    };
    for (number, clock) in others.iter().enumerate() {
        let (clk, restart) = (clock.clk(), clock.restart());
        let instance = |what| within(what, clock.name.as_deref().unwrap_or_default());
        crossing(
            instance("u_restart"),
            RESET_CYCLES,
            [("clk", clk), ("request", "restart_others".to_owned()), ("rst", restart.clone())],
        );
        crossing(
            instance("u_restart_seen"),
            LEVEL_CYCLES,
            [
                ("clk", "clk".to_owned()),
                ("request", restart),
                ("rst", format!("restart_seen[{number}]")),
            ],
        );
    }
    if others.is_empty() {
        body.line("  assign restart_seen = 1'b0;\n  wire restart_unused = restart_others;\n");
    }
}

/// The wires between what lets bursts through and the stop: signals of a port of host memory.
pub(crate) fn allowed_wires(body: &mut Body, width: u32) {
    for (signal, bits, _) in axi(width) {
        if !FIXED.contains(&signal) {
            body.wire(bits, &format!("allowed_{signal}"));
        }
    }
}

/// The last thing before the board's port of host memory.
pub(crate) fn stop(body: &mut Body, width: u32, clk: &str) {
    let mut connections = vec![("clk".to_owned(), clk.to_owned())];
    connections.extend(pairs(&["rst", "stop", "stopped"]));
    for (signal, _, _) in axi(width) {
        if !FIXED.contains(&signal) {
            connections.push((format!("s_axi_{signal}"), format!("allowed_{signal}")));
        }
        connections.push((format!("m_axi_{signal}"), format!("m_axi_{signal}")));
    }
    let parameters = [
        ("WIDTH", Parameter::Number(width.into())),
        ("ADDRESS_WIDTH", Parameter::Number(ADDRESS_WIDTH.into())),
        ("OUTSTANDING", Parameter::Number(OUTSTANDING)),
    ];
    body.instance(LibraryModule::MemifStop, "u_stop", &parameters, &connections);
}
