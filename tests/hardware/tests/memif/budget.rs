//! What every module costs, held against `hw/budget.json`.

use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, must};

fn designs() -> Vec<Design> {
    vec![
        crate::read::complete(),
        Design::module("memif_write"),
        crate::mmu::translation(),
        crate::tlb::paged(),
        Design::module("memif_share").set("PORTS", 4),
        Design::module("memif_stop"),
        Design::module("host_port").set("GATEWAYS", 4),
        Design::module("host_lease"),
        Design::module("osif"),
        Design::module("register_bridge").set("CLOCKS", 1),
        Design::module("register_words").set("STATUS", 32).set("CONTROL", 8),
        Design::module("event_count"),
        crate::gateway::complete(),
    ]
}

#[test]
#[ignore = "long: synthesis of every module"]
fn no_memory_side_module_takes_more_area_than_its_budget() {
    // What is for reproductions alone has an area; of its clock nothing is claimed.
    for design in designs().into_iter().chain([crate::paper::complete()]) {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_memory_side_module_is_slower_than_its_budget() {
    for design in designs() {
        must(rate_within_budget(&design));
    }
}
