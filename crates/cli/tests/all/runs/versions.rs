//! Package binaries that speak another version of the control protocol than the launcher.

use serde_json::json;

use super::probe::{self, Place, Running};
use super::{SOURCE, VERSION, hear, say};

/// A package binary that says these versions: one when it is to describe itself, one when it is
/// launched. Whatever is no number it does not say.
pub(super) fn speak(words: &str) -> ! {
    let (describing, launched) = words.split_once(' ').expect("two words");
    loop {
        let heard = hear();
        let is_launched = heard.contains("launch");
        let word = if is_launched { launched } else { describing };
        if let Ok(version) = word.parse::<u32>() {
            say(&json!({ "speaks": version }));
        }
        match heard.contains("describe") {
            true => say(&json!({ "description": probe::package().description() })),
            false if is_launched => say(&json!({ "event": "ready" })),
            false => std::process::exit(0),
        };
    }
}

#[test]
fn a_package_binary_of_another_version_ends_the_start_with_both_versions_and_the_next_step() {
    let (ours, other) = (VERSION.to_string(), (VERSION - 1).to_string());
    let speaks = format!("speaks version {other} of the control protocol");
    for (name, describing, launched, told) in [
        ("other", &other[..], &other[..], &speaks[..]),
        ("older", "none", "none", "is too old to say which version"),
        // It was built anew in between.
        ("anew", &ours, &other, &speaks),
    ] {
        let words = format!("export PROBE_SPEAKS='{describing} {launched}'");
        let place = Place::new(&format!("speaks-{name}"), &words);
        let ended = Running::start(place.run(SOURCE, &["--duration", "1"])).end();
        assert_ne!(ended.code, Some(0), "{name}: {}", ended.output);
        let errors = ended.errors + &ended.output;
        for told in [told, &format!("this command speaks {ours}"), "crossdock-probe", "build both"]
        {
            assert!(errors.contains(told), "{name}: {told}: {errors}");
        }
    }
}
