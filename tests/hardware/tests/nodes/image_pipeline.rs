//! The hardware nodes of `image_pipeline` against the software ones, frame by frame, and the kernel
//! that they share against its specification.

use crate::frames::{self, Answer, Fields, Limits, Random, Sent, Twin, Wrong};
use crate::picture_node::{HARMLESS, PictureNode};
use crate::pictures;
use crate::twin;
use crossdock_graph::{HardwarePackage, ParameterValue, Violation};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{
    Design, Mutants, Mutation, Proof, Simulation, lint, must, on_all_cores,
};
use crossdock_image_pipeline::calibration::{Calibration, Projection};
use crossdock_image_pipeline::nodes::package as software;
use crossdock_image_pipeline::picture::{Picture, PictureError};
use crossdock_image_pipeline::rectify_setup::{rectify_setup, rectify_setup_of};
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_rectify::SIDE_MAX;
use crossdock_test_support::{done, workspace};
use std::path::PathBuf;

const FILE: &str = "hardware/image_pipeline.hardware.yaml";
const SETUP: &str = "rectify_setup.sv";
/// The camera of the shipped package file.
const CAMERA: &str = "apps/image_pipeline/hardware/camera.yaml";

const RECTIFY: PictureNode = PictureNode {
    twin: ("rectify", "image_rect"),
    package,
    expected,
    kernels: &["band_remap", "remap_places", "byte_gear"],
    parameters: |_| Vec::new(),
    streams: true,
    pictures: 90,
    picture: chance,
    told: |limits| format!("{{ calibration: {} }}", camera(limits).display()),
    made: |limits| vec![(SETUP, made(limits))],
};
/// Half of each side.
const HALF: PictureNode = PictureNode {
    twin: ("resize", "resized"),
    kernels: &["band_remap", "byte_gear"],
    parameters: |limits| {
        vec![
            ("MAX_WIDTH", limits.max_width),
            ("MAX_BYTES", limits.max_bytes),
            ("WIDTH", 0),
            ("HEIGHT", 0),
        ]
    },
    pictures: 200,
    picture: chance,
    told: |_| "{}".to_owned(),
    made: |_| Vec::new(),
    ..RECTIFY
};
/// To a size that most pictures are smaller than, and some larger.
const SIZED: PictureNode = PictureNode {
    parameters: |limits| {
        vec![
            ("MAX_WIDTH", limits.max_width),
            ("MAX_BYTES", limits.max_bytes),
            ("WIDTH", 37),
            ("HEIGHT", 23),
        ]
    },
    told: |limits| {
        let Limits { max_width, max_bytes, .. } = limits;
        format!("{{ width: 37, height: 23, max_width: {max_width}, max_bytes: {max_bytes} }}")
    },
    ..HALF
};
const FUSED: PictureNode = PictureNode {
    twin: ("rectify_resize", "resized"),
    parameters: |_| vec![("WIDTH", 0), ("HEIGHT", 0)],
    ..RECTIFY
};

/// Small pictures of one camera.
const SMALL: Limits = of_camera((64, 48));
/// The camera that is shipped.
const SHIPPED: Limits = of_camera((640, 480));
/// Resize takes pictures of any size: longer and wider messages than pictures.
const ANY: Limits = Limits { bound: 4000, max_bytes: 3000, max_width: 45, size: None };
/// The same for pictures that are narrower than what [`SIZED`] makes of them.
const NARROW: Limits = Limits { max_width: 30, ..ANY };
/// Resize as it is shipped.
const ANY_SHIPPED: Limits =
    Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };

const fn of_camera(size: (u32, u32)) -> Limits {
    let max_bytes = size.0 * size.1 * 3;
    Limits { bound: max_bytes + 100, max_bytes, max_width: 1 << 20, size: Some(size) }
}

fn shown(all: Vec<Violation>) -> String {
    all.iter().map(|it| it.to_string() + "\n").collect()
}

/// The hardware package as it is shipped, but for these limits.
fn package(limits: Limits) -> HardwarePackage {
    let text = must(std::fs::read_to_string(workspace().join("apps/image_pipeline").join(FILE)));
    let text = text.replace("data: 921600", &format!("data: {}", limits.bound));
    must(HardwarePackage::from_yaml(FILE, text.as_bytes()).map_err(shown))
}

/// The calibration file of a camera with this size: the shipped one, or one whose lens is as
/// strong.
fn camera(limits: Limits) -> PathBuf {
    let (width, height) = limits.size.expect("a camera");
    if (width, height) == (640, 480) {
        return workspace().join(CAMERA);
    }
    let text = "image_width: WIDTH\nimage_height: HEIGHT\ncamera_name: small\ndistortion_model: plumb_bob\n\
                camera_matrix: { rows: 3, cols: 3, data: [53.3, 0, 34.1, 0, 53.3, 23.5, 0, 0, 1] }\n\
                distortion_coefficients: { rows: 1, cols: 5, data: [-0.29, 0.11, 0.0014, -0.0003, -0.006] }\n\
                rectification_matrix: { rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1] }\n\
                projection_matrix: { rows: 3, cols: 4, data: [47, 0, 32, 0, 0, 47, 24, 0, 0, 0, 1, 0] }\n";
    let text = text.replace("WIDTH", &width.to_string()).replace("HEIGHT", &height.to_string());
    let folder = workspace().join("target/hw/vectors");
    must(std::fs::create_dir_all(&folder));
    let path = folder.join(format!("camera_{width}_{height}.yaml"));
    // Whole or not at all, even if another test writes it at the same time.
    let thread = std::thread::current().id();
    let unfinished = folder.join(format!("camera.{}.{thread:?}", std::process::id()));
    must(std::fs::write(&unfinished, text));
    must(std::fs::rename(&unfinished, &path));
    path
}

fn made(limits: Limits) -> String {
    must(rectify_setup(&must(Calibration::read(&camera(limits), Projection::CameraInfo))))
}

/// Why a node with these limits and a shortest side refuses a picture, by its number; 0: it does
/// not.
fn reason(view: ImageView<'_>, limits: Limits, side_min: u32) -> u32 {
    let (width, height) = (view.width(), view.height());
    let sides = side_min..=SIDE_MAX as u32;
    let has_sides = sides.contains(&width) && sides.contains(&height);
    let has_size = limits.size.map_or(has_sides, |size| size == (width, height));
    let encodings = [("mono8", 1), ("rgb8", 3), ("bgr8", 3)];
    let wrong = Wrong::of(view, &encodings, limits).or_size(!has_size);
    let (encoding, data) = (must(view.encoding()), must(view.data()));
    let said = match Picture::new((width, height, view.step()), encoding, data) {
        Err(PictureError::Encoding { .. }) => frames::ENCODING,
        Err(PictureError::Side { .. }) => frames::SIZE,
        Err(PictureError::Step { .. }) => frames::ROWS,
        Err(PictureError::Length { .. }) => frames::DATA,
        Err(other) => panic!("{other}"),
        Ok(_) if !has_size => frames::SIZE,
        Ok(_) => u32::from(wrong.has_no_room()) * frames::ROOM,
    };
    wrong.first_beside(said)
}

/// What the node does with each frame: what the software publishes, or why it refuses it; it is no
/// message if it is damaged or above its bounds.
fn expected(sent: &[Sent], limits: Limits, (node, output): Twin, told: &str) -> Vec<Answer> {
    let plans = [&limits.plan(), &Limits { bound: 1 << 24, ..limits }.plan()];
    // Half of a pixel is none.
    let side_min = if told == "{}" { 2 } else { 1 };
    let made_by = |node, output, told: &str, blocks| {
        twin::published::<Image>(software(), node, ["image", output], told, blocks)
    };
    frames::answers(
        sent,
        plans,
        |view| reason(view, limits, side_min),
        |blocks| match node {
            "rectify_resize" => {
                made_by("resize", "resized", "{}", made_by("rectify", "image_rect", told, blocks))
            }
            node => made_by(node, output, told, blocks),
        },
    )
}

/// A picture of chance in one of the three encodings, few with a side of one pixel.
fn chance(random: &mut Random, limits: Limits) -> Fields {
    let mut fields = frames::picture(random, limits);
    while fields.width.min(fields.height) < 2 && random.below(8) > 0 {
        fields = frames::picture(random, limits);
    }
    match random.below(3) {
        0 => fields.encoding = b"bgr8".to_vec(),
        1 => {
            // Its rows may have as few bytes as in a colour picture that fits, and too many pixels.
            if limits.size.is_none() && random.below(8) == 0 {
                fields.width =
                    limits.max_width + 1 + random.below(limits.max_width as usize) as u32;
                fields.height = (fields.data.len() as u32 / fields.width).max(2);
                fields.data.resize((fields.width * fields.height) as usize, 7);
            }
            fields.encoding = b"mono8".to_vec();
            fields.data.truncate((fields.width * fields.height) as usize);
            fields.step = fields.width;
        }
        _ => {}
    }
    fields
}

fn equals_its_twin(node: &PictureNode, limits: Limits) {
    let sent = node.chance(1, node.pictures, limits);
    let (path, count) = node.file(&sent, limits);
    assert!(count as usize > node.pictures, "{count} pictures");
    for (seed, stalls) in [("1", "30"), ("2", "3"), ("3", "0")] {
        let report = node.run(limits, &path, &["--seed", seed, "--stalls", stalls]);
        assert_eq!(report.value("published"), count);
        assert!(report.value("dropped") as usize > node.pictures / 6, "{report:?}");
        assert!(report.value("damaged") > 0, "{report:?}");
    }
    let sent = node.chance(2, node.pictures, limits);
    let (path, _) = node.file(&sent, limits);
    node.run(limits, &path, &["--seed", "4", "--resets", "1"]);
}

/// The pictures of the camera `camera` in grey and colour, or the first one of them.
fn real(camera: &str, few: bool) -> Vec<Fields> {
    let Some(shared) = crossdock_test_support::data() else { return Vec::new() };
    let cases = pictures::CASES.into_iter().filter(|(_, of)| *of == camera);
    let cases = cases.take(if few { 1 } else { usize::MAX });
    let fields = cases.flat_map(|(name, _)| {
        let picture = pictures::picture(&shared.join("calibration"), name, "in");
        let (width, height) = picture.size;
        match picture.channels {
            // The files are grey: a colour picture has the grey one in shades.
            1 => {
                let shades = picture.pixels.iter().flat_map(|it| [*it, 255 - *it, *it / 2]);
                let colours = Fields::picture(width, height, shades.collect());
                vec![Fields::grey(width, height, picture.pixels), colours]
            }
            _ => vec![Fields::picture(width, height, picture.pixels)],
        }
    });
    fields.collect()
}

fn equals_its_twin_on(node: &PictureNode, limits: Limits, all: &[Fields]) -> u64 {
    if all.is_empty() {
        return 0;
    }
    let mut random = Random::new(1);
    let sent: Vec<_> = all.iter().map(|it| frames::frame(it, &mut random)).collect();
    let (path, count) = node.file(&sent, limits);
    assert_eq!(count, all.len() as u64);
    node.run(limits, &path, &["--seed", "1", "--stalls", "10"]);
    count
}

#[test]
fn what_is_shipped_is_made_of_the_camera_in_the_package_file() {
    let folder = workspace().join("apps/image_pipeline/hardware");
    let shipped = must(std::fs::read_to_string(folder.join("rectify").join(SETUP)));
    let mut package = package(SHIPPED);
    let node = package.nodes.iter_mut().find(|it| it.description.node_type == "rectify");
    // As seen from here.
    let path = ParameterValue::String(workspace().join(CAMERA).display().to_string());
    let values = &mut node.expect("the node type").built_in;
    assert_eq!(values.insert("calibration".to_owned(), path), Some(CAMERA.into()));
    assert!(
        must(rectify_setup_of(&package)) == shipped,
        "make it anew: crossdock-image-pipeline rectify-setup apps/image_pipeline/{FILE} -o \
         apps/image_pipeline/hardware/rectify/{SETUP}"
    );
}

#[test]
fn the_nodes_are_clean_under_all_warnings() {
    let designs = vec![
        (&RECTIFY, SHIPPED),
        (&RECTIFY, SMALL),
        (&HALF, ANY_SHIPPED),
        (&SIZED, ANY),
        (&FUSED, SMALL),
    ];
    on_all_cores(designs, |(node, limits)| must(lint(&node.design(limits))));
}

#[test]
#[ignore = "long: the node that does both is tried always"]
fn frames_of_all_kinds_are_rectified_as_the_software_node_does() {
    equals_its_twin(&RECTIFY, SMALL);
}

#[test]
#[ignore = "long: the node that does both is tried always"]
fn frames_of_all_kinds_are_resized_as_the_software_node_does() {
    equals_its_twin(&HALF, ANY);
    equals_its_twin(&SIZED, ANY);
    equals_its_twin(&SIZED, NARROW);
}

#[test]
fn frames_of_all_kinds_become_in_one_node_what_the_software_nodes_make_of_them() {
    equals_its_twin(&FUSED, SMALL);
}

#[test]
fn the_shipped_camera_is_the_one_whose_pictures_have_truths() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let shipped = must(Calibration::read(&workspace().join(CAMERA), Projection::CameraInfo));
    let of_pictures = pictures::calibration(&shared.join("calibration"), "opencv_left_640x480");
    assert_eq!(shipped, of_pictures);
}

#[test]
fn a_real_picture_is_rectified_as_the_software_node_does() {
    equals_its_twin_on(&RECTIFY, SHIPPED, &real("opencv_left_640x480", true));
}

#[test]
#[ignore = "long: all pictures of both cameras"]
fn all_real_pictures_become_what_the_software_nodes_make_of_them() {
    let all = real("opencv_left_640x480", false);
    let mut count = 0;
    for (node, limits) in [(&RECTIFY, SHIPPED), (&HALF, ANY_SHIPPED), (&FUSED, SHIPPED)] {
        count += equals_its_twin_on(node, limits, &all);
    }
    let wide = Limits { bound: 2_764_800, max_bytes: 2_764_800, max_width: 1280, size: None };
    count += equals_its_twin_on(&HALF, wide, &real("udacity_1280x720", false));
    done(count, "image-pipeline-pictures");
}

#[test]
#[ignore = "long: whole pictures, beat by beat"]
fn a_picture_takes_a_cycle_per_pixel_and_the_rows_that_the_lens_moves_apart() {
    let pixels = 640 * 480;
    let (_, latency, period) = RECTIFY.pace(SHIPPED);
    // Rows need up to 36 rows of the camera's picture more than there are rows above them.
    for cycles in [latency, period] {
        let all = pixels + 36 * 640;
        assert!((all..all + 250).contains(&cycles), "{cycles} for {all}");
    }
    let (_, latency, period) = HALF.pace(ANY_SHIPPED);
    for cycles in [latency, period] {
        assert!((pixels..pixels + 640 + 400).contains(&cycles), "{cycles} for {pixels}");
    }
}

/// The kernel alone.
fn remap(width: u64, band: u64) -> Design {
    let design = Design::new("band_remap", &["band_remap", "byte_gear"]);
    design.set("MAX_WIDTH", width).set("BAND", band)
}

fn kernel(width: u64, band: u64) -> Simulation {
    must(lint(&remap(width, band)));
    Simulation::new(remap(width, band), "kernels/band_remap/band_remap_tb.cpp")
}

/// Within so many cycles a row takes the place of another one, and is shown.
fn proof_of_the_remap() -> Proof {
    // Pictures are too small for a gear to hold anything up.
    Proof::bounded(remap(2, 4), 17).composed().beyond(&["n_s_valid_*"]).asked_anew()
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_pixels_of_places_are_proved_to_leave_in_their_order() {
    must(lint(&remap(2, 4)));
    must(proof_of_the_remap().check());
    must(Proof::reachable(remap(2, 4), 17).composed().asked_anew().check());
}

const FAULTS_OF_THE_REMAP: [Mutation; 3] = [
    Mutation {
        what: "a row comes where one is still needed",
        file: "band_remap.sv",
        from: "{1'b0, rows_done} < {1'b0, keep} + 16'(BAND);",
        to: "{1'b0, rows_done} <= {1'b0, keep} + 16'(BAND);",
    },
    Mutation {
        what: "a place does not wait for its last row",
        file: "band_remap.sv",
        from: "wire is_there = rows_done >= p_need || is_cut;",
        to: "wire is_there = rows_done + 15'd1 >= p_need || is_cut;",
    },
    Mutation {
        what: "at rest a beat of no bytes is wanted",
        file: "band_remap.sv",
        from: "      busy <= 1'b0;\n      ends <= 1'b0;\n    end\n    if (begins)",
        to: "      busy <= 1'b0;\n    end\n    if (begins)",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_remap_are_caught_by_proof() {
    for fault in &FAULTS_OF_THE_REMAP {
        must(proof_of_the_remap().catches(fault));
    }
}

#[test]
fn pixels_between_others_are_mixed_as_specified_under_stalls_cuts_and_resets() {
    for (width, band) in [(21, 4), (8, 16)] {
        let simulation = kernel(width, band);
        for (seed, stalls) in [("1", "30"), ("2", "2")] {
            must(simulation.run(&["--seed", seed, "--stalls", stalls]));
        }
    }
}

#[test]
fn the_kernel_takes_and_gives_a_pixel_per_cycle() {
    let report = must(kernel(21, 4).run(&["--stalls", "0", "--pictures", "4"]));
    let (pixels, latency) = (report.value("pixels"), report.value("latency"));
    assert!((2 * 21..2 * 21 + 25).contains(&latency), "{report:?}");
    assert!((pixels..pixels + 21 + 40).contains(&report.value("period")), "{report:?}");
}

const FAULTS_OF_THE_KERNEL: [Mutation; 5] = [
    Mutation {
        what: "a row is overwritten before it is read",
        file: "band_remap.sv",
        from: "{1'b0, keep} + 16'(BAND);",
        to: "{1'b0, keep} + 16'(BAND) + 16'd1;",
    },
    Mutation {
        what: "a place goes on before its rows are there",
        file: "band_remap.sv",
        from: "rows_done >= p_need || is_cut;",
        to: "rows_done + 15'd1 >= p_need || is_cut;",
    },
    Mutation {
        what: "rows are freed by a place that waits while others are read",
        file: "band_remap.sv",
        from: "else if (!at_valid && p_valid",
        to: "else if (p_valid",
    },
    Mutation {
        what: "a picture that is cut never ends",
        file: "band_remap.sv",
        from: "if (cut && busy) is_cut <= 1'b1;",
        to: "",
    },
    Mutation {
        what: "halves are rounded down",
        file: "band_remap.sv",
        from: "+ 30'd524288)",
        to: "+ 30'd524287)",
    },
];

/// Rows short and few enough for a proof: of a word and a part, of a part alone, of one word, and
/// one row.
fn places() -> Vec<Design> {
    let sizes = [(5, 2, 3), (3, 3, 4), (2, 3, 2), (4, 1, 2)];
    let place = |(width, rows, steps)| {
        let design = Design::module("remap_places").set("WIDTH", width).set("ROWS", rows);
        design.set("WORD_STEPS", steps).set("X_BITS", 2).set("Y_BITS", 3)
    };
    sizes.into_iter().map(place).collect()
}

fn proofs_of_places() -> Vec<Proof> {
    let whole = places().into_iter().map(|design| Proof::inductive(design, 3).asked_anew());
    whole.chain([Proof::reachable(places().remove(0), 26)]).collect()
}

#[test]
fn places_are_proved_to_be_the_sums_of_their_steps() {
    must(lint(&Design::module("remap_places")));
    on_all_cores(places(), |design| must(lint(&design)));
    on_all_cores(proofs_of_places(), |proof| must(proof.check()));
}

const FAULTS_OF_PLACES: [Mutation; 4] = [
    Mutation {
        what: "changes move on a bit too far",
        file: "remap_places.sv",
        from: "changes <= changes >> Pair;",
        to: "changes <= changes >> Pair + 1;",
    },
    Mutation {
        what: "a row goes on with the word of the one before",
        file: "remap_places.sv",
        from: "wire new_word = new_row || ",
        to: "wire new_word = begins || ",
    },
    Mutation {
        what: "what a picture that was broken off has left is not forgotten",
        file: "remap_places.sv",
        from: "      row <= '0;\n",
        to: "",
    },
    Mutation {
        what: "a place does not stand",
        file: "remap_places.sv",
        from: "wire goes = p_valid && p_ready;",
        to: "wire goes = p_valid;",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_places_are_caught_by_proof() {
    let bounded = Proof::bounded(places().remove(0), 20).asked_anew();
    for fault in &FAULTS_OF_PLACES {
        must(bounded.catches(fault));
    }
}

/// Where the pixels of a picture of another size lie.
fn resized_places() -> Design {
    let folder = "apps/image_pipeline/hardware/resize";
    Design::new("resize_places", &[])
        .with_file(&format!("{folder}/resize_places.sv"))
        .with_file(&format!("{folder}/resize_places_formal.svh"))
}

#[test]
#[ignore = "long: a minute of the solver"]
fn places_of_another_size_are_proved_to_be_the_specified_ones() {
    must(lint(&resized_places()));
    must(Proof::inductive(resized_places(), 2).asked_anew().check());
}

/// Of the division: the first place comes too many cycles behind a reset for others.
const FAULT_OF_RESIZED_PLACES: Mutation = Mutation {
    what: "halves of a unit are rounded down",
    file: "resize_places.sv",
    from: "Bits'({side, 10'd0}) + Bits'(made);",
    to: "Bits'({side, 10'd0});",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn a_fault_of_places_of_another_size_is_caught_by_proof() {
    must(Proof::bounded(resized_places(), 6).catches(&FAULT_OF_RESIZED_PLACES));
}

const FAULTS: [(&PictureNode, Limits, Mutation); 5] = [
    (
        &RECTIFY,
        SMALL,
        Mutation {
            what: "a step changes a pixel too late",
            file: "remap_places.sv",
            from: "p_x <= p_x + 26'(step_x);",
            to: "p_x <= p_x + 26'(step_x) + 26'(change_x);",
        },
    ),
    (
        &HALF,
        ANY,
        Mutation {
            what: "pictures of one row have a half",
            file: "resize.sv",
            from: ".SIDE_MIN((WIDTH == 0) ? 2 : 1)",
            to: ".SIDE_MIN(1)",
        },
    ),
    (
        &HALF,
        ANY,
        Mutation {
            what: "half of an odd side is not the even one",
            file: "resize_picture.sv",
            from: "15'(side[0] && side[1])",
            to: "15'(side[0])",
        },
    ),
    (
        &SIZED,
        ANY,
        Mutation {
            what: "what a step has left over is forgotten",
            file: "resize_places.sv",
            from: "assign next[i] = at[i] + step[i] + Bits'(carries[i]);",
            to: "assign next[i] = at[i] + step[i];",
        },
    ),
    (
        &FUSED,
        SMALL,
        Mutation {
            what: "what is cut stops between the kernels",
            file: "rectify_resize.sv",
            from: "    .colour(kind != 2'd0),\n    .busy(rectifies),\n    .cut,",
            to: "    .colour(kind != 2'd0),\n    .busy(rectifies),\n    .cut(1'b0),",
        },
    ),
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_the_image_pipeline_are_caught() {
    for fault in &FAULTS_OF_THE_KERNEL {
        must(kernel(21, 4).catches(fault, &["--seed", "1", "--stalls", "30"]));
    }
    for (node, limits, fault) in &FAULTS {
        let sent = node.chance(1, node.pictures, *limits);
        let (path, _) = node.file(&sent, *limits);
        let vectors = path.to_str().expect("a path");
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "30"];
        must(node.simulation(*limits).catches(fault, &options));
    }
}

#[test]
#[ignore = "long: synthesis of whole nodes"]
fn the_nodes_of_the_image_pipeline_take_no_more_area_than_their_budget() {
    must(area_within_budget(&RECTIFY.design(SHIPPED)));
    must(area_within_budget(&HALF.design(ANY_SHIPPED)));
    must(area_within_budget(&FUSED.design(SHIPPED)));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_band_remap_are_found() {
    Mutants::of("band_remap")
        .simulated(kernel(21, 4), &["--seed", "1"])
        .simulated(kernel(21, 4), &["--stalls", "0", "--pictures", "4"])
        .proved([proof_of_the_remap()])
        .but(&HARMLESS)
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_places_are_found() {
    Mutants::of("remap_places").proved(proofs_of_places()).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_rectify_are_found() {
    RECTIFY.mutants("rectify_picture", SMALL).but(&HARMLESS).are_found();
    FUSED.mutants("rectify_resize", SMALL).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_resize_are_found() {
    for module in ["resize_picture", "resize_places"] {
        SIZED.notices(HALF.mutants(module, ANY), ANY).but(&HARMLESS).are_found();
    }
}
