//! The program that measures a system: this one, or a peer's, which is built on its own
//! (`bench/peers`) because it takes long or needs more than Rust. Knows nothing else of a peer.

use crate::control::{ChildPlan, System};
use crate::failure::While;
use crate::findings::report;
use crate::{Failure, child};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names the folder with the programs of peers.
pub const VARIABLE: &str = "CROSSDOCK_BENCH_PEERS";

/// Plays the part of a child where the command line says so (`child PLAN`), else does `work`.
pub fn child_or(work: impl FnOnce() -> ExitCode) -> ExitCode {
    match plan_of_child() {
        None => work(),
        Some(Ok(plan)) => {
            child::run(&plan);
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => report(Err(failure)),
    }
}

/// The plan on the command line of a child; `None` where this is not one.
pub fn plan_of_child() -> Option<Result<ChildPlan, Failure>> {
    let mut words = std::env::args().skip(1);
    (words.next()? == "child").then(|| {
        let text = words.next().unwrap_or_default();
        serde_json::from_str(&text).during("understanding the plan of a child")
    })
}

/// The program of a peer; `None` for what this library knows itself.
fn peer(system: System) -> Option<&'static str> {
    match system {
        System::Cyclone | System::CycloneTuned | System::CycloneShared => Some("peer-cyclone"),
        System::Zenoh => Some("peer-zenoh"),
        System::Copper => Some("peer-copper"),
        System::Dora => Some("peer-dora"),
        _ => None,
    }
}

/// The program that measures `system`, or why there is none.
pub fn of(system: System) -> Result<PathBuf, Failure> {
    match peer(system) {
        None => std::env::current_exe().during("finding this program"),
        Some(name) => {
            let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
            find(name, folder.as_deref())
        }
    }
}

/// A peer that could not be built has left the reason beside the place of its program.
fn find(name: &str, folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let doing = format!("looking for {name}");
    let Some(folder) = folder else {
        return Err(Failure::new(doing, format!("{VARIABLE} does not name its folder")));
    };
    let program = folder.join(name);
    if program.is_file() {
        return Ok(program);
    }
    let why = std::fs::read_to_string(folder.join(format!("{name}.failed")));
    let why = why.map(|text| text.trim().to_owned());
    let absent = |_| format!("it is not in {}; `make -C bench peers-built`", folder.display());
    Err(Failure::new(doing, why.unwrap_or_else(absent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_was_not_built_is_named_with_its_reason() {
        let scope = crate::scope::Scope::create().expect("shared memory");
        let folder = scope.folder();
        assert!(find("peer-x", None).is_err());
        let absent = find("peer-x", Some(folder)).expect_err("nothing is there");
        assert!(absent.to_string().contains("peers-built"), "{absent}");
        std::fs::write(folder.join("peer-x.failed"), "no library ddsc\n").expect("room");
        let failed = find("peer-x", Some(folder)).expect_err("it has failed");
        assert_eq!(failed.to_string(), "looking for peer-x: no library ddsc");
        std::fs::write(folder.join("peer-x"), "").expect("room");
        assert_eq!(find("peer-x", Some(folder)).expect("it is there"), folder.join("peer-x"));
    }
}
