//! `crossdock ros check`: looks at what keeps nodes of ROS 2 from each other.

use super::processes::{self, RosProcess, numbers_of};
use super::{IMPLEMENTATION, LIBRARY, Surroundings, distribution, loaded_from, plugin};
use crate::arguments::RosCheckArguments;
use crate::output::{self, clean};
use anyhow::Result;
use crossdock_comm::{Observer, Rendezvous};
use crossdock_graph::limits::domain_id;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Descriptors that a process may have open so that an ordinary node meets a hundred others.
const DESCRIPTORS_MIN: u64 = 1024;

/// In a prefix: what its plug-in is for.
const DISTRIBUTION: &str = "share/rmw_crossdock/distribution";

/// Something that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// What was found.
    found: String,
    /// What keeps nodes from each other here, and the next step; none: all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// It keeps apart what should meet. What is apart on purpose, too, has a next step only.
    is_problem: bool,
}

impl Finding {
    fn good(found: impl Into<String>) -> Self {
        Self { found: found.into(), next: None, is_problem: false }
    }

    fn note(found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { found: found.into(), next: Some(next.into()), is_problem: false }
    }

    fn bad(found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { is_problem: true, ..Self::note(found, next) }
    }
}

/// What this shell's nodes would use.
struct Here {
    implementation: Option<String>,
    domain: String,
    meets: PathBuf,
    /// Device and number of that folder.
    folder: Option<(u64, u64)>,
    /// A group of users shares it.
    is_shared: bool,
}

pub(super) fn check(arguments: &RosCheckArguments) -> Result<ExitCode> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let meets = match Rendezvous::default_folder() {
        Rendezvous::Folder(folder) => folder,
        Rendezvous::Abstract => PathBuf::new(),
    };
    let here = Here {
        implementation: variable("RMW_IMPLEMENTATION"),
        domain: variable("ROS_DOMAIN_ID").unwrap_or_else(|| "0".to_owned()),
        folder: numbers_of(&meets),
        is_shared: is_shared(&meets),
        meets,
    };
    let mut findings = installation(arguments, &here, variable("LD_LIBRARY_PATH").as_deref());
    findings.extend(of_variables(variable));
    findings.push(meeting(&here));
    findings.push(descriptors());
    findings.extend(running(&here, &processes::running()));
    findings.extend(processes::other_users().into_iter().map(|users| of_user(&here, users)));
    let is_well = findings.iter().all(|finding| !finding.is_problem);
    // What is to be done comes first.
    findings.sort_by_key(|finding| (!finding.is_problem, finding.next.is_none()));
    match arguments.json {
        true => output::print_json(&findings)?,
        false => output::print(&shown(&findings))?,
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn shown(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { found, next, is_problem } in findings {
        let found = clean(found);
        let word = if *is_problem { "problem" } else { "note   " };
        // Writing to a String cannot fail.
        let _ = match next {
            None => writeln!(text, "good     {found}"),
            Some(next) => writeln!(text, "{word}  {found}\n         -> {}", clean(next)),
        };
    }
    text
}

/// Whether a node that this shell starts would load the plug-in.
fn installation(
    arguments: &RosCheckArguments,
    here: &Here,
    library_path: Option<&str>,
) -> Vec<Finding> {
    const SET: &str = "eval \"$(crossdock ros env)\" sets it in this shell";
    let distribution = match distribution(arguments.ros.distro.as_deref(), &Surroundings::here()) {
        Ok(distribution) => distribution,
        Err(error) => return vec![Finding::bad("ROS 2 is not found", error.to_string())],
    };
    let folder = match plugin(&arguments.ros, &distribution) {
        Ok(folder) => folder,
        Err(error) => return vec![Finding::bad("the plug-in is not found", error.to_string())],
    };
    let at = folder.display();
    let mut findings = vec![match distribution_of(&folder) {
        Some(other) if other != distribution => Finding::bad(
            format!("the plug-in in {at} is for {other}, and ROS_DISTRO is `{distribution}`"),
            format!("source ROS 2 {other}, or `crossdock ros build` for {distribution}"),
        ),
        _ => Finding::good(format!("plug-in for {distribution}: {at}")),
    }];
    findings.push(match here.implementation.as_deref() {
        Some(IMPLEMENTATION) => Finding::good(format!("RMW_IMPLEMENTATION={IMPLEMENTATION}")),
        Some(other) => Finding::bad(format!("RMW_IMPLEMENTATION is `{other}`"), SET),
        None => Finding::bad("RMW_IMPLEMENTATION is not set", SET),
    });
    findings.push(match loaded_from(library_path) {
        Some(first) if numbers_of(&first) == numbers_of(&folder) => {
            Finding::good("LD_LIBRARY_PATH has its folder")
        }
        Some(first) => Finding::bad(
            format!("nodes would load another {LIBRARY}, that in {}", first.display()),
            format!("put {at} first in LD_LIBRARY_PATH"),
        ),
        None => Finding::bad(format!("LD_LIBRARY_PATH has no folder with {LIBRARY}"), SET),
    });
    findings
}

/// What variables of ROS 2 ask for that is not there.
fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    const SECURITY: &str = "rmw_crossdock neither signs nor encrypts: docs/security.md says who may \
        connect";
    const RANGE: &str = "only processes of this computer meet, in any case; `crossdock net` joins \
        others";
    let mut findings = Vec::new();
    if variable("ROS_SECURITY_ENABLE").is_some_and(|value| value == "true") {
        findings.push(match variable("ROS_SECURITY_STRATEGY").as_deref() {
            Some("Enforce") => Finding::bad(
                "ROS_SECURITY_STRATEGY is `Enforce`: nodes do not start",
                format!("unset ROS_SECURITY_ENABLE; {SECURITY}"),
            ),
            _ => Finding::note("ROS_SECURITY_ENABLE is `true`", SECURITY),
        });
    }
    for name in ["ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"] {
        if let Some(value) = variable(name) {
            findings.push(Finding::note(format!("{name} is `{value}`"), RANGE));
        }
    }
    findings
}

/// What a plug-in is for, as the prefix around its folder says.
fn distribution_of(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.parent()?.join(DISTRIBUTION)).ok()?;
    Some(text.trim_end().to_owned())
}

/// Whether a group of users may use the folder.
fn is_shared(folder: &Path) -> bool {
    const GROUP: u32 = 0o070;
    std::fs::metadata(folder).is_ok_and(|it| it.permissions().mode() & GROUP == GROUP)
}

/// Whether processes can meet, and who is there.
fn meeting(here: &Here) -> Finding {
    const DOMAIN: &str = "set ROS_DOMAIN_ID to a number from 0 to 232";
    let Some(domain) = domain_id(&here.domain) else {
        return Finding::bad(format!("ROS_DOMAIN_ID is `{}`", here.domain), DOMAIN);
    };
    if !here.meets.as_os_str().is_empty() && here.meets.is_relative() {
        return Finding::bad(
            format!(
                "CROSSDOCK_RENDEZVOUS is `{}`, another folder from each place",
                here.meets.display()
            ),
            "name the whole path, from / on",
        );
    }
    let found = || format!("processes meet in {}, domain {domain}", here.meets.display());
    if !here.meets.as_os_str().is_empty() && !here.meets.exists() {
        return Finding::good(format!("{}: the first one makes this folder", found()));
    }
    let options = crate::run::observer_options(domain, "crossdock ros check");
    match Observer::open(options).and_then(|mut observer| observer.snapshot()) {
        Ok(graph) => Finding::good(format!("{}: {} are there", found(), graph.processes.len())),
        Err(error) => Finding::bad(found(), error.to_string()),
    }
}

fn descriptors() -> Finding {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let found = format!("a process may have {limit} descriptors open");
    match limit >= DESCRIPTORS_MIN {
        true => Finding::good(found),
        false => Finding::bad(found, format!("ulimit -n {DESCRIPTORS_MIN} raises the limit")),
    }
}

/// What keeps each process from the nodes that this shell would start.
fn running(here: &Here, processes: &[RosProcess]) -> Vec<Finding> {
    if processes.is_empty() {
        return vec![Finding::good("no process of this user runs nodes of ROS 2")];
    }
    processes.iter().map(|process| of_process(here, process)).collect()
}

fn of_process(here: &Here, process: &RosProcess) -> Finding {
    let RosProcess { pid, program, implementations, domain, .. } = process;
    let loaded = implementations.iter().cloned().collect::<Vec<_>>().join(", ");
    let found = format!("process {pid} ({program}) uses {loaded}, domain {domain}");
    if domain_id(domain) != domain_id(&here.domain) {
        let next = format!(
            "it is apart: this shell has domain {}; to meet it, set ROS_DOMAIN_ID alike",
            here.domain
        );
        return Finding::note(found, next);
    }
    let ours = BTreeSet::from([IMPLEMENTATION.to_owned()]);
    if process.is_daemon && *implementations != ours {
        return Finding::bad(found, "it answers `ros2` for another rmw: `ros2 daemon stop`");
    }
    if *implementations != ours {
        let next = format!("start it again with RMW_IMPLEMENTATION={IMPLEMENTATION}");
        return Finding::bad(found, next);
    }
    let (theirs, own) = (process.meets.display(), here.meets.display());
    if process.folder.is_some() && process.folder == here.folder {
        return Finding::good(format!("{found}, meets others in {theirs}"));
    }
    if process.is_daemon {
        let next = format!("it answers `ros2` with those who meet in {theirs}: `ros2 daemon stop`");
        return Finding::bad(format!("{found}; it is the daemon of `ros2`"), next);
    }
    let next = match process.meets == here.meets {
        true => format!(
            "it is in a container or namespace with another {theirs}: share this folder with it"
        ),
        false => format!(
            "it meets others in {theirs}, this shell in {own}: set XDG_RUNTIME_DIR or \
             CROSSDOCK_RENDEZVOUS alike"
        ),
    };
    Finding::bad(found, next)
}

/// Processes of another user, as those of a container with a user of its own.
fn of_user(here: &Here, (user, count): (u32, usize)) -> Finding {
    let found = format!("user {user} runs processes with Crossdock: {count}");
    if here.is_shared {
        return Finding::good(format!(
            "{found}; messages between users are copied and counted, unless they are one user or \
             trust each other (CROSSDOCK_TRUST)"
        ));
    }
    let next = "they meet elsewhere: run both as one user, or give both a folder of a group in \
                CROSSDOCK_RENDEZVOUS (docs/security.md)";
    Finding::bad(found, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Here {
        Here {
            implementation: None,
            domain: "0".to_owned(),
            meets: PathBuf::from("/run/user/1000/crossdock"),
            folder: Some((1, 2)),
            is_shared: false,
        }
    }

    fn talker() -> RosProcess {
        RosProcess {
            pid: 7,
            program: "talker".to_owned(),
            implementations: BTreeSet::from([IMPLEMENTATION.to_owned()]),
            is_daemon: false,
            domain: "0".to_owned(),
            meets: PathBuf::from("/run/user/1000/crossdock"),
            folder: Some((1, 2)),
        }
    }

    fn next(process: RosProcess) -> String {
        of_process(&here(), &process).next.unwrap_or_default()
    }

    #[test]
    fn a_process_is_told_what_keeps_it_from_this_shells_nodes() {
        assert_eq!(next(talker()), "");
        let other = || BTreeSet::from(["rmw_cyclonedds_cpp".to_owned()]);
        let said = next(RosProcess { implementations: other(), ..talker() });
        assert!(said.starts_with("start it again with RMW_IMPLEMENTATION"), "{said}");
        let daemon = RosProcess { implementations: other(), is_daemon: true, ..talker() };
        assert!(next(daemon).ends_with("`ros2 daemon stop`"));
        let apart = RosProcess { domain: "5".to_owned(), ..talker() };
        let found = of_process(&here(), &apart);
        assert!(!found.is_problem && found.next.unwrap().contains("this shell has domain 0"));
        let said = next(RosProcess { folder: Some((9, 2)), ..talker() });
        assert!(said.starts_with("it is in a container"), "{said}");
        let elsewhere = PathBuf::from("/tmp/crossdock-1000");
        let said = next(RosProcess { meets: elsewhere, folder: Some((3, 4)), ..talker() });
        assert!(said.contains("/tmp/crossdock-1000, this shell in /run/user/1000"), "{said}");
        let folder = Some((3, 4));
        let said = next(RosProcess { is_daemon: true, folder, ..talker() });
        assert!(said.ends_with("`ros2 daemon stop`"), "{said}");
    }

    #[test]
    fn one_domain_may_be_written_in_several_ways() {
        let octal = Here { domain: "061".to_owned(), ..here() };
        let found = of_process(&octal, &RosProcess { domain: "49".to_owned(), ..talker() });
        assert_eq!(found.next, None);
        let found = of_process(&octal, &RosProcess { domain: "61".to_owned(), ..talker() });
        assert!(found.next.unwrap_or_default().starts_with("it is apart"));
    }

    #[test]
    fn variables_that_ask_for_what_is_not_there_are_named() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
            of_variables(value).into_iter().map(|it| it.is_problem).collect::<Vec<_>>()
        };
        assert!(of(&[]).is_empty() && of(&[("ROS_SECURITY_ENABLE", "false")]).is_empty());
        let enabled = ("ROS_SECURITY_ENABLE", "true");
        assert_eq!(of(&[enabled]), [false]);
        assert_eq!(of(&[enabled, ("ROS_SECURITY_STRATEGY", "Enforce")]), [true]);
        assert_eq!(of(&[("ROS_LOCALHOST_ONLY", "1")]), [false]);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_not_made() {
        let meets = std::env::temp_dir().join(format!("crossdock-none-{}", std::process::id()));
        let found = meeting(&Here { meets: meets.clone(), ..here() });
        assert!(found.next.is_none() && !meets.exists());
    }

    #[test]
    fn a_prefix_says_what_its_plug_in_is_for_and_a_folder_who_may_use_it() {
        let prefix = std::env::temp_dir().join(format!("crossdock-check-{}", std::process::id()));
        let lib = prefix.join("lib");
        std::fs::create_dir_all(&lib).expect("folders");
        assert_eq!(distribution_of(&lib), None);
        let file = prefix.join(DISTRIBUTION);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(file, "kilted\n").expect("a file");
        assert_eq!(distribution_of(&lib).as_deref(), Some("kilted"));
        for (mode, is_of_group) in [(0o700, false), (0o2770, true)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&lib, permissions).expect("own folder");
            assert_eq!(is_shared(&lib), is_of_group, "{mode:o}");
        }
        assert!(!is_shared(&prefix.join("none")));
        std::fs::remove_dir_all(prefix).expect("own folders");
    }

    #[test]
    fn another_user_meets_us_in_a_folder_of_a_group_only() {
        let said = of_user(&here(), (1001, 2)).next.unwrap_or_default();
        assert!(said.starts_with("they meet elsewhere"), "{said}");
        let shared = Here { is_shared: true, ..here() };
        let Finding { found, next, .. } = of_user(&shared, (1001, 2));
        assert_eq!(next, None);
        assert!(
            found.starts_with("user 1001 runs processes with Crossdock: 2; messages"),
            "{found}"
        );
    }
}
