//! Arbiter and broadcast together: a whole topic, and the figures of the data path.

use crossdock_hardware_tests::synthesis::area;
use crossdock_hardware_tests::{Design, Simulation, lint, must};

/// 2 publishers, 8 subscribers.
pub(crate) fn topic() -> Design {
    Design::new("topic", &["testbench/topic", "axis_arb", "axis_bcast"])
        .set("PUBLISHERS", 2)
        .set("SUBSCRIBERS", 8)
}

/// What is on the way of a beat: no length check, no watchdog, no enable.
pub(crate) fn data_path() -> Design {
    topic().set("CHECK", 0).set("ENABLE", 0)
}

/// Everything that one topic can have.
pub(crate) fn complete() -> Design {
    topic().set("WATCHDOG_CYCLES", 1 << 16)
}

fn takes_two_cycles_more_than_its_beats(widths: [u64; 2]) {
    for width in widths {
        let design = complete().set("WIDTH", width);
        must(lint(&design));
        let simulation = Simulation::new(design, "testbench/topic/topic_tb.cpp");
        let report = must(simulation.run(&["--seed", "1"]));
        let payload_beats = (24 + 3072_u64).div_ceil(width / 8);
        assert_eq!(report.value("message_beats"), payload_beats, "at {width} bit");
        assert!(report.value("first_beat_cycles") <= 2, "at {width} bit");
        assert!(report.value("message_cycles") <= payload_beats + 2, "at {width} bit");
        // One beat in every cycle, whichever publisher sends.
        assert!(report.value("cycles") <= report.value("beats") + 2, "at {width} bit");
    }
}

#[test]
fn a_topic_takes_two_cycles_more_than_its_beats() {
    takes_two_cycles_more_than_its_beats([64, 512]);
}

#[test]
#[ignore = "long: other widths"]
fn a_topic_takes_two_cycles_more_than_its_beats_at_other_widths() {
    takes_two_cycles_more_than_its_beats([128, 256]);
}

#[test]
#[ignore = "long: a synthesis"]
fn the_data_path_of_a_topic_has_at_most_160_flip_flops() {
    let area = must(area(&data_path()));
    assert!(area.ff <= 160, "{area:?}");
}
