//! What proofs of reachability say of a design without a `cover` statement, or with one that is not
//! reached: else such a proof holds of every fault.

use crossdock_hardware_tests::{Design, Proof, ProofFailure};

/// Counts to three again and again.
fn counter(properties: &str) -> Design {
    let text = format!(
        "module counter (\n  input wire clk\n);\n  logic [1:0] count = '0;\n  always_ff @(posedge clk) \
         count <= count + 1'b1;\n  always_comb begin\n    {properties}\n  end\nendmodule\n"
    );
    Design::new("counter", &[]).with_source("counter.sv", &text)
}

#[test]
fn a_proof_that_has_nothing_to_reach_fails_and_names_what_is_not_reached() {
    let found = |properties: &str| Proof::reachable(counter(properties), 6).check();
    found("a_small: assert (count < 4); c_end: cover (count == 3);").expect("reached");
    let none = found("a_small: assert (count < 4);");
    assert!(matches!(none, Err(ProofFailure::NothingToReach { .. })), "no cover: {none:?}");
    let beyond = found("c_end: cover (count == 3); c_more: cover ({1'b0, count} == 4);");
    let Err(ProofFailure::Refuted { properties, .. }) = &beyond else { panic!("{beyond:?}") };
    assert!(properties.len() == 1 && properties[0].contains("counter.c_more"), "{properties:?}");
}
