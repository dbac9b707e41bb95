//! The register port of a board's host. The tests of `fabric` drive whole boards through it.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, lint, must};

fn port(gateways: u64, address_width: u64) -> Design {
    let design = Design::module("host_port").set("GATEWAYS", gateways);
    design.set("ADDRESS_WIDTH", address_width)
}

#[test]
fn every_register_is_proved_to_be_reached_by_its_own_number_alone() {
    for design in [port(3, 16), port(1, 63), port(64, 48)] {
        must(lint(&design));
        must(Proof::inductive(design, 2).check());
    }
}

#[test]
fn what_the_proof_of_the_hosts_port_is_about_can_happen() {
    must(Proof::reachable(port(3, 16), 8).check());
}

const NEIGHBOUR: Mutation = Mutation {
    what: "a write goes to the gateway before",
    file: "host_port.sv",
    from: "32'(register_address[9:4]) == i;",
    to: "32'(register_address[9:4]) == i + 1;",
};

const BEYOND: Mutation = Mutation {
    what: "a number behind the map is one of it",
    file: "host_port.sv",
    from: "register_address[11:4] == 8'hc0;",
    to: "register_address[11:10] == 2'b11;",
};

const SWAPPED: Mutation = Mutation {
    what: "first and last page of a window are swapped",
    file: "host_port.sv",
    from: "number == 4'd1) window_last <=",
    to: "number == 4'd0) window_last <=",
};

const AT_ONCE: Mutation = Mutation {
    what: "whose value is read is decided a cycle early",
    file: "host_port.sv",
    from: "if (was_gateway && 32'(gateway) == i)",
    to: "if (is_gateway && 32'(gateway) == i)",
};

const NO_DIRECTION: Mutation = Mutation {
    what: "a refused write is told as a read",
    file: "host_port.sv",
    from: "{refused_write, 63'(refused_address)};",
    to: "64'(refused_address);",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_hosts_port_are_caught_by_proof() {
    for mutation in [NEIGHBOUR, BEYOND, SWAPPED, AT_ONCE, NO_DIRECTION] {
        must(Proof::bounded(port(3, 16), 6).catches(&mutation));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_hosts_port_are_found() {
    Mutants::of("host_port")
        .proved([Proof::inductive(port(3, 16), 2), Proof::inductive(port(64, 48), 2)])
        .proved([Proof::reachable(port(3, 16), 8)])
        .are_found();
}
