//! What every module costs, held against `hw/budget.json`.

use crate::topic::{complete, data_path};
use crossdock_hardware_tests::budget::{
    area_in_uram_is_the_budget, area_is_the_budget, area_within_budget, rate_within_budget,
};
use crossdock_hardware_tests::{Design, must};
use crossdock_hwgen::area::{is_deep, label, measured_designs};
use crossdock_hwgen::library::LibraryModule;

/// Each module once.
fn modules() -> Vec<Design> {
    vec![
        Design::module("axis_reg"),
        Design::module("axis_arb"),
        Design::module("axis_bcast"),
        Design::module("axis_fifo"),
        Design::module("axis_fifo_last"),
        Design::module("axis_header"),
        Design::module("axis_width").set("S_WIDTH", 64).set("M_WIDTH", 128),
        Design::module("axis_cdc"),
        Design::module("axis_pack"),
        Design::module("axis_probe"),
        Design::module("node_shell"),
        data_path(),
    ]
}

/// The same modules otherwise, and all of a topic together.
fn other_shapes() -> Vec<Design> {
    vec![
        Design::module("axis_arb").set("REGISTER", 0),
        Design::module("axis_arb").set("WATCHDOG_CYCLES", 1 << 16),
        Design::module("axis_header").set("WIDTH", 128),
        Design::module("axis_width").set("S_WIDTH", 128).set("M_WIDTH", 64),
        Design::module("node_shell").set("SEQUENTIAL", 1),
        complete(),
    ]
}

#[test]
#[ignore = "long: synthesis of every module"]
fn no_module_takes_more_area_than_its_budget() {
    // A reset synchroniser has no logic between its registers: its rate says nothing.
    for design in modules().into_iter().chain([Design::module("reset_sync")]) {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: other shapes"]
fn no_module_takes_more_area_than_its_budget_in_other_shapes() {
    for design in other_shapes() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_module_is_slower_than_its_budget() {
    for design in modules().into_iter().chain(other_shapes()) {
        must(rate_within_budget(&design));
    }
}

/// The generator's report adds up what modules take: its figures are these.
#[test]
#[ignore = "long: some hundred syntheses"]
fn the_figures_that_estimates_of_networks_are_made_of_are_what_the_modules_take() {
    figures_are_the_budget(&LibraryModule::OF_NETWORKS);
}

#[test]
#[ignore = "long: synthesis of gateways"]
fn the_figures_that_estimates_of_boards_are_made_of_are_what_the_modules_take() {
    figures_are_the_budget(&LibraryModule::OF_BOARDS);
}

fn figures_are_the_budget(modules: &[LibraryModule]) {
    for (module, parameters) in measured_designs(modules) {
        let parts = module.parts().iter().chain([&module]).map(|module| module.name());
        let design = Design::new(module.name(), &parts.collect::<Vec<_>>());
        let design =
            parameters.iter().fold(design, |design, (name, value)| design.set(name, *value));
        assert_eq!(design.label(), label(module, &parameters));
        must(area_is_the_budget(&design));
        if is_deep(module, &parameters) {
            must(area_in_uram_is_the_budget(&design));
        }
    }
}
