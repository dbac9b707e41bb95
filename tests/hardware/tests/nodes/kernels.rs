//! The kernels of `hw/kernels` that pictures pass through, each alone.

use crate::gaussian_blur;
use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Report, Simulation, lint, must};

fn gear() -> Design {
    Design::module("byte_gear")
}

/// One whose beats that leave may be longer than those that come.
fn wide_gear() -> Design {
    gear().set("M_BYTES", 12)
}

/// A window over rows that are short and few enough for a proof.
fn lines(reach: u64) -> Design {
    let design = Design::module("line_window").set("REACH", reach).set("WIDTH", 2);
    design.set("COLUMNS", 2).set("ROW_BITS", 2)
}

fn row(channels: u64) -> Design {
    let reach = if channels == 3 { 2 } else { 3 };
    Design::module("row_window").set("CHANNELS", channels).set("LANE", 2).set("REACH", reach)
}

fn check(channels: u64, max_bytes: u64) -> Design {
    let design = Design::module("picture_check").set("CHANNELS", channels);
    design.set("MAX_BYTES", max_bytes).set("MAX_WIDTH", max_bytes / channels.max(1) / 2)
}

/// Pictures of one size alone.
fn exact() -> Design {
    check(3, 60).set("WIDTH", 4).set("HEIGHT", 5)
}

#[test]
#[ignore = "long: a proof of twenty seconds"]
fn bytes_are_proved_to_leave_a_gear_as_they_came() {
    for gear in [gear(), wide_gear()] {
        must(lint(&gear));
        let small = gear.set("LANE", 2);
        must(Proof::inductive(small.clone(), 3).check());
        must(Proof::reachable(small, 14).check());
    }
}

#[test]
fn a_gear_takes_and_gives_a_beat_per_cycle_and_beats_of_all_lengths() {
    let simulation = Simulation::new(gear(), "kernels/byte_gear/byte_gear_tb.cpp");
    must(simulation.run(&["--seed", "1"]));
    let report = must(simulation.run(&["--stalls", "0", "--beats", "1000"]));
    assert!(report.value("cycles") <= 1003, "{report:?}");
    let simulation = Simulation::new(wide_gear(), "kernels/byte_gear/byte_gear_tb.cpp");
    must(simulation.run(&["--seed", "2"]));
    // Three beats that come are two that leave.
    let report = must(simulation.run(&["--stalls", "0", "--beats", "1000", "--want", "12"]));
    assert!(report.value("cycles") <= 1503, "{report:?}");
}

#[test]
fn lines_are_proved_to_stand_above_each_other() {
    must(lint(&Design::module("line_window")));
    for reach in [1, 2] {
        must(lint(&lines(reach)));
        must(Proof::inductive(lines(reach), 4).check());
    }
    must(Proof::reachable(lines(1), 16).check());
}

#[test]
fn pixels_are_proved_to_be_given_once_and_whole() {
    let gear = Design::module("pixel_gear");
    must(lint(&gear));
    must(Proof::inductive(gear.clone(), 3).check());
    must(Proof::reachable(gear, 8).check());
}

/// The four ends of two ranges; a number has the hue in its highest byte.
type Ends = [(&'static str, u32); 4];

fn ends([low, high]: [u32; 2], [other_low, other_high]: [u32; 2]) -> Ends {
    [("low", low), ("high", high), ("other-low", other_low), ("other-high", other_high)]
}

fn in_ranges(ends: Ends) -> Design {
    ends.iter().fold(Design::module("pixel_hsv"), |design, (name, end)| {
        design.set(&name.to_uppercase().replace('-', "_"), u64::from(*end))
    })
}

/// Two ranges of colours, with the options that say them.
fn colours(range: [u32; 2], other: [u32; 2]) -> (Simulation, Vec<String>) {
    let ends = ends(range, other);
    let design = in_ranges(ends);
    must(lint(&design));
    let said = ends.iter().flat_map(|(name, end)| [format!("--{name}"), end.to_string()]);
    let options = said.chain(["--stops".to_owned(), "10".to_owned()]).collect();
    (Simulation::new(design, "kernels/pixel_hsv/pixel_hsv_tb.cpp"), options)
}

const YELLOW: [u32; 2] = [0x0028_d283, 0x0071_ffff];
/// This one goes round red.
const RED: [u32; 2] = [0x00aa_6464, 0x0008_ffff];

/// The checksum of the unit tests of the software.
fn are_of_the_software(report: &Report) -> bool {
    report.value("sum") == 0xd22f_261e_ba9e_21a0
}

#[test]
fn all_colours_have_the_hues_saturations_and_values_of_the_software() {
    for (range, other) in [(YELLOW, RED), (RED, YELLOW)] {
        let (simulation, options) = colours(range, other);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let report = must(simulation.run(&options));
        assert!(are_of_the_software(&report) && report.value("inside") > 1000, "{report:?}");
    }
}

fn colours_are_right() -> [Proof; 2] {
    let design = in_ranges(ends(YELLOW, RED));
    [Proof::inductive(design.clone(), 3), Proof::reachable(design, 8)]
}

#[test]
fn colours_are_proved_to_leave_beside_their_own_values() {
    for proof in colours_are_right() {
        must(proof.check());
    }
}

#[test]
#[ignore = "long: a minute of the solver"]
fn pixels_are_proved_to_stand_beside_each_other() {
    for channels in [1, 3] {
        must(lint(&row(channels)));
        must(Proof::bounded(row(channels), 8).check());
    }
    must(Proof::reachable(row(3), 10).check());
}

/// The shell of small pictures: of a kernel that streams, or of one that stores.
fn shell(streams: u64) -> Design {
    let design = Design::new("picture_shell", &["picture_shell", "picture_check"]);
    let design = design.set("STREAMS", streams).set("MAX_BYTES", 24);
    design.set("MAX_WIDTH", 8).set("FRAME_BYTES", 1)
}

#[test]
#[ignore = "long: two minutes of the solver"]
fn good_pictures_reach_their_subscribers_in_a_run_that_the_solver_finds() {
    for streams in [0, 1] {
        must(lint(&shell(streams)));
        must(lint(&shell(streams).set("IN_BYTES", 16)));
        must(Proof::reachable(shell(streams), 30).check());
    }
}

/// What is proved of the shell, for its mutants, too.
pub(crate) fn of_the_shell() -> [Proof; 2] {
    [0, 1].map(|streams| Proof::bounded(shell(streams), 16))
}

#[test]
#[ignore = "long: two minutes of the solver"]
fn good_pictures_are_proved_to_be_published_once_with_their_own_header() {
    for proof in of_the_shell() {
        must(proof.check());
    }
}

#[test]
#[ignore = "long: a minute of the solver"]
fn pictures_are_proved_to_be_told_from_what_is_none() {
    for check in [check(3, 60), check(1, 31), check(0, 60), exact()] {
        must(lint(&check));
        must(Proof::bounded(check, 10).check());
    }
    must(Proof::reachable(check(3, 60), 10).check());
}

/// Rows of two groups of two pixels, and of one group of four.
fn contrast(pixels: u64, reach: u64) -> Design {
    let design = Design::module("row_contrast").set("PIXELS", pixels).set("WIDTH", 4);
    design.set("REACH", reach).set("ROW_BITS", 2).set("CONTRAST", 2)
}

pub(crate) fn of_contrast() -> [Proof; 2] {
    [Proof::bounded(contrast(2, 2), 14), Proof::bounded(contrast(4, 3), 10)]
}

#[test]
#[ignore = "long: two minutes of the solver"]
fn pixels_are_proved_to_stand_out_of_those_beside_them() {
    must(lint(&Design::module("row_contrast")));
    for proof in of_contrast() {
        must(proof.check());
    }
    must(Proof::reachable(contrast(2, 2), 18).check());
}

/// Short rows, and views with few beats.
fn warp_of([width, rows, view_width, view_rows, shift]: [u64; 5]) -> Design {
    let design = Design::module("row_warp").set("WIDTH", width).set("ROWS", rows);
    let design = design.set("VIEW_WIDTH", view_width).set("VIEW_ROWS", view_rows);
    design.set("SHIFT", shift)
}

fn warp() -> Design {
    warp_of([32, 2, 16, 2, 4])
}

/// Rows of more than one word of each memory, and of beats that are not a power of two.
fn odd_warp() -> Design {
    warp_of([64, 2, 24, 3, 5])
}

/// What is proved of views, for their mutants, too.
pub(crate) fn of_the_warp() -> [Proof; 2] {
    [Proof::inductive(warp(), 3), Proof::reachable(warp(), 24)].map(Proof::asked_anew)
}

/// The same of views of three rows, for mutants alone.
pub(crate) fn of_odd_warp() -> Proof {
    Proof::bounded(odd_warp(), 8).asked_anew()
}

#[test]
fn views_are_proved_to_show_the_pixels_that_their_lines_name() {
    must(lint(&Design::module("row_warp")));
    for proof in of_the_warp() {
        must(proof.check());
    }
}

#[test]
#[ignore = "long: minutes of the solver"]
fn views_of_other_sizes_are_proved_to_show_the_pixels_that_their_lines_name() {
    for warp in [odd_warp(), warp_of([64, 1, 32, 2, 4]).set("LANES", 16)] {
        must(lint(&warp));
        must(Proof::inductive(warp, 3).asked_anew().check());
    }
}

const FAULTS_OF_THE_GEAR: [Mutation; 2] = [
    Mutation {
        what: "what comes is put over what stays",
        file: "byte_gear.sv",
        from: "if (take && stay == 5'(n)) next",
        to: "if (take && count == 5'(n)) next",
    },
    Mutation {
        what: "a beat is taken without room for it",
        file: "byte_gear.sv",
        from: "stay <= 5'(M_BYTES) && !clear",
        to: "stay <= 5'(M_BYTES + 1) && !clear",
    },
];

const FAULT_OF_A_LINE: Mutation = Mutation {
    what: "a column is read before it is written",
    file: "line_window.sv",
    from: "wire same = held && held_column == column[Column-1:0];",
    to: "wire same = 1'b0;",
};

const FAULTS_BETWEEN_LINES: [Mutation; 2] = [
    Mutation {
        what: "above the first row is nothing",
        file: "line_window.sv",
        from: "held_top ? {Lines{held_data}} :",
        to: "1'b0 ? {Lines{held_data}} :",
    },
    Mutation {
        what: "a row too few stands below",
        file: "line_window.sv",
        from: "if (copies == 2'd1) running <= 1'b0;",
        to: "if (copies == 2'd1 || REACH == 1) running <= rows_left[0];",
    },
];

const FAULTS_OF_ROWS: [Mutation; 2] = [
    Mutation {
        what: "the last pixel is taken from one beat alone",
        file: "row_window.sv",
        from: "wire  [10*LANE-1:0]   came = {s_data, new_data[6*LANE +: 2*LANE]};",
        to: "wire  [10*LANE-1:0]   came = {s_data, s_data[6*LANE +: 2*LANE]};",
    },
    Mutation {
        what: "the row before stands left of a row",
        file: "row_window.sv",
        from: "left_of[i*LANE +: LANE] = s_first ?",
        to: "left_of[i*LANE +: LANE] = (s_first && s_last) ?",
    },
];

const FAULTS_OF_CONTRAST: [Mutation; 3] = [
    Mutation {
        what: "the window on the right ends a pixel early",
        file: "row_contrast.sv",
        from: "wire [Place-1:0]  end_0 = x + out + 1'b1;",
        to: "wire [Place-1:0]  end_0 = x + out;",
    },
    Mutation {
        what: "sums are read before they are written",
        file: "row_contrast.sv",
        from: "32'({ahead, Lane'(0)}) > 32'(need) + 32'(PIXELS - 1);",
        to: "32'({ahead, Lane'(0)}) + 32'(PIXELS) > 32'(need);",
    },
    Mutation {
        what: "a row begins a group too early",
        file: "row_contrast.sv",
        from: "base <= base + Group'(Last + 1);",
        to: "base <= base + Group'(Last);",
    },
];

/// Found by the proof of views, and by the pictures of a node that makes one.
pub(crate) const LEAVES_TOO_EARLY: Mutation = Mutation {
    what: "a row of the view leaves before its front row is whole",
    file: "row_warp.sv",
    from: "{1'b0, front} < rows_done || is_cut;",
    to: "{1'b0, front} <= rows_done || is_cut;",
};

const FAULTS_OF_THE_WARP: [Mutation; 2] = [
    LEAVES_TOO_EARLY,
    Mutation {
        what: "a pixel right of the row is seen",
        file: "row_warp.sv",
        from: "$unsigned(columns[i]) < 12'(WIDTH);",
        to: "$unsigned(columns[i]) <= 12'(WIDTH);",
    },
];

const FAULTS_OF_PIXELS: [Mutation; 2] = [
    Mutation {
        what: "the byte that is over is taken from the wrong end",
        file: "pixel_gear.sv",
        from: "over <= s_data[63:48];",
        to: "over <= s_data[55:40];",
    },
    Mutation {
        what: "a picture begins where the one before stopped",
        file: "pixel_gear.sv",
        from: "phase <= (s_last || phase == 2'd2)",
        to: "phase <= (phase == 2'd2)",
    },
];

const FAULTS_OF_THE_CHECK: [Mutation; 2] = [
    Mutation {
        what: "a carry is lost",
        file: "picture_check.sv",
        from: "over <= over || (grown[Bits+1:Bits] != '0);",
        to: "over <= over || grown[Bits];",
    },
    Mutation {
        what: "rows may be as long as they like",
        file: "picture_check.sv",
        from: "&& (width <= 32'(MAX_WIDTH) || length == '0);",
        to: ";",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_kernels_are_caught_by_proof() {
    for fault in &FAULTS_OF_THE_GEAR {
        must(Proof::bounded(gear().set("LANE", 2), 8).catches(fault));
    }
    must(Proof::bounded(lines(1), 12).catches(&FAULT_OF_A_LINE));
    for fault in &FAULTS_OF_THE_WARP {
        must(Proof::bounded(warp(), 12).asked_anew().catches(fault));
    }
    for fault in &FAULTS_OF_ROWS {
        must(Proof::bounded(row(3), 8).catches(fault));
    }
    for fault in &FAULTS_OF_PIXELS {
        must(Proof::bounded(Design::module("pixel_gear"), 6).catches(fault));
    }
    for fault in &FAULTS_OF_THE_CHECK {
        must(Proof::bounded(check(3, 60), 10).catches(fault));
    }
}

#[test]
#[ignore = "long: half a minute of the solver for each fault"]
fn faults_of_contrast_are_caught_by_proof() {
    for fault in &FAULTS_OF_CONTRAST {
        must(Proof::bounded(contrast(2, 2), 14).catches(fault));
    }
}

#[test]
#[ignore = "long: two minutes of the solver for each fault"]
fn faults_between_lines_are_caught_by_proof() {
    for fault in &FAULTS_BETWEEN_LINES {
        must(Proof::bounded(lines(1), 12).catches(fault));
    }
}

/// As the driving graph uses them.
fn shipped() -> impl Iterator<Item = Design> {
    let window = Design::module("row_window").set("CHANNELS", 3).set("LANE", 12).set("REACH", 2);
    let [lines, check, pixels] = ["line_window", "picture_check", "pixel_gear"].map(Design::module);
    let [contrast, warp] = ["row_contrast", "row_warp"].map(Design::module);
    let warp = warp.set("ROWS", 233);
    let wide = [contrast.clone().set("PIXELS", 4), warp.clone().set("LANES", 16)];
    let [wide_contrast, wide_warp] = wide;
    let pictures = [gear(), wide_gear(), lines, window, check, pixels, shell(1)];
    let lanes = [contrast, wide_contrast, warp, wide_warp];
    // The image pipeline's own, and the colours of lanes.
    let remap = Design::new("band_remap", &["band_remap", "byte_gear"]);
    let places = Design::module("remap_places");
    let others = [remap, places, Design::module("pixel_hsv")];
    pictures.into_iter().chain(lanes).chain(others)
}

#[test]
#[ignore = "long: synthesis of every kernel"]
fn no_kernel_takes_more_area_than_its_budget() {
    for design in shipped() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_kernel_is_slower_than_its_budget() {
    for design in shipped() {
        must(rate_within_budget(&design));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_byte_gear_are_found() {
    let small = gear().set("LANE", 2);
    let simulation = Simulation::new(gear(), "kernels/byte_gear/byte_gear_tb.cpp");
    Mutants::of("byte_gear")
        .simulated(simulation, &["--seed", "1"])
        .proved([Proof::inductive(small.clone(), 3), Proof::reachable(small, 14)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_line_window_are_found() {
    Mutants::of("line_window")
        .proved([Proof::inductive(lines(1), 4), Proof::inductive(lines(2), 4)])
        .proved([Proof::reachable(lines(1), 16)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_row_window_are_found() {
    Mutants::of("row_window")
        .proved([Proof::bounded(row(3), 8), Proof::bounded(row(1), 8)])
        .proved([Proof::reachable(row(3), 10)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_picture_check_are_found() {
    let proofs =
        [check(3, 60), check(1, 31), check(0, 60), exact()].map(|it| Proof::bounded(it, 10));
    gaussian_blur::NODE
        .mutants("picture_check", gaussian_blur::SMALL)
        .proved(proofs)
        .proved([Proof::reachable(check(3, 60), 10)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_pixel_gear_are_found() {
    let gear = Design::module("pixel_gear");
    Mutants::of("pixel_gear")
        .proved([Proof::inductive(gear.clone(), 3), Proof::reachable(gear, 8)])
        .are_found();
}

const HARMLESS: [(&str, &str); 2] = [
    (
        "pixel_hsv.sv: `saturations[0] = '0;`: `'0` becomes `'1`",
        "the colours of a black pixel do not differ, and nothing times anything is nothing",
    ),
    (
        "pixel_hsv.sv: `|| (2 * ((255 * 4096) % i) == i && ((255 * 4096) / i) % 2 == 1)) ? 1 : 0));`: \
         2 of 2 `==` becomes `!=`",
        "all colours have the same saturations without this rule: it is there for the specification",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_colours_are_found() {
    let (simulation, options) = colours(YELLOW, RED);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Mutants::of("pixel_hsv")
        .measured(simulation, &options, are_of_the_software)
        .proved(colours_are_right())
        .but(&HARMLESS)
        .are_found();
}
