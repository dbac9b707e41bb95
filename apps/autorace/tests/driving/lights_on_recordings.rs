//! Red and green lights on rendered and real pictures, by the algorithms alone.

use crate::common;
use crate::parameters::{lamp, lamp_parameters};
use crossdock_autorace::compensation::compensate;
use crossdock_autorace::hand_over::{GreenArm, OtherLight, searches_red};
use crossdock_autorace::image::Rgb;
use crossdock_autorace::light::{Lamp, LampParameters, LampSearch};
use std::path::Path;

/// What both nodes report for each image of `bag`.
fn lights(
    bag: &Path,
    mut red: LampSearch,
    mut green: LampSearch,
) -> Vec<(Option<Lamp>, Option<Lamp>)> {
    let (mut of_green, mut of_red) = (OtherLight::default(), OtherLight::default());
    let mut arm = GreenArm::default();
    let mut found = Vec::new();
    common::frames(bag, |frame| {
        let mut a = vec![0; frame.rgb.len()];
        compensate(Rgb::new(frame.width, frame.height, &frame.rgb).expect("whole"), 100, &mut a);
        let image = Rgb::new(frame.width, frame.height, &a).expect("whole");
        let e = searches_red(of_green.before(frame.stamp_ns)).then(|| red.find(image)).flatten();
        let f = arm.searches(of_red.before(frame.stamp_ns)).then(|| green.find(image)).flatten();
        arm.found(f.is_some());
        of_green.note(frame.stamp_ns, f.is_some());
        of_red.note(frame.stamp_ns, e.is_some());
        found.push((e, f));
    });
    found
}

#[test]
fn the_rendered_course_shows_its_red_and_green_light_and_nothing_else() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let folder = shared.join("autorace_sim/autorace_a_15hz");
    let truth = common::json(&folder.join("truth.json"));
    let red = lamp([0, 200, 200], [24, 255, 255]);
    let green = lamp([40, 210, 131], [113, 255, 255]);
    let found = lights(&folder.join("autorace_a_15hz.mcap"), red, green);
    let (mut right, mut lit, mut wrong) = (0, 0, Vec::new());
    for (index, (frame, (e, f))) in
        truth["frames"].as_array().expect("frames").iter().zip(&found).enumerate()
    {
        let seen = match (e, f) {
            (Some(_), _) => "RED",
            (None, Some(_)) => "GREEN",
            (None, None) => "NONE",
        };
        let expected = frame["light"].as_str().expect("a name");
        lit += usize::from(expected != "NONE");
        right += usize::from(expected != "NONE" && seen == expected);
        if seen != expected {
            wrong.push((index, expected.to_owned(), *e, *f));
        }
    }
    println!("{right} of {lit} lit frames right; wrong: {wrong:?}");
    assert!(right * 100 >= lit * 95);
    assert!(wrong.iter().all(|w| w.1 != "NONE"), "no light where there is none");
}

#[test]
fn highways_have_no_traffic_light() {
    let Some(shared) = crossdock_test_support::data() else { return };
    for name in ["highway_a_25hz", "highway_drive_1hz", "white_lanes_25hz"] {
        let red = lamp([0, 200, 200], [24, 255, 255]);
        let green = lamp([40, 210, 131], [113, 255, 255]);
        let found = lights(&shared.join(format!("driving/{name}/{name}.mcap")), red, green);
        let lit: Vec<_> = found.iter().filter(|(e, f)| e.is_some() || f.is_some()).collect();
        assert!(lit.is_empty(), "{name}: {lit:?}");
    }
}

#[test]
fn street_scenes_show_their_light_with_the_thresholds_of_street_lamps() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let folder = shared.join("traffic_lights");
    let labels = common::json(&folder.join("labels.json"));
    let (mut right, mut wrong) = (0, Vec::new());
    for image in labels["images"].as_array().expect("images") {
        let name = image["file"].as_str().expect("a name");
        let bytes = std::fs::read(folder.join(name)).expect("picture is readable");
        let (width, height, rgb) = common::decode(&bytes);
        let rgb = Rgb::new(width, height, &rgb).expect("whole");
        let find = |low, high, area_min| {
            // Real lamps in the distance are a few pixels, ragged and without a visible housing.
            let parameters = LampParameters {
                area_min,
                fill_permille: 80,
                aspect_permille: 10_000,
                rows_permille: 550,
                housing_permille: 0,
                ..lamp_parameters(low, high)
            };
            LampSearch::new(parameters).find(rgb)
        };
        let red = find([8, 115, 205], [25, 255, 255], 5);
        let green = find([52, 110, 150], [82, 255, 255], 8);
        let seen = match (red, green) {
            (Some(r), Some(g)) if g.area > r.area => "GREEN",
            (Some(_), _) => "RED",
            (None, Some(_)) => "GREEN",
            (None, None) => "NONE",
        };
        if seen == image["state"].as_str().expect("a state") {
            right += 1;
        } else {
            wrong.push((name.to_owned(), red, green));
        }
    }
    println!("{right} street scenes right; wrong: {wrong:#?}");
    assert!(wrong.is_empty(), "{wrong:?}");
}
