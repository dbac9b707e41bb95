//! Processes of this machine that have loaded a plug-in of ROS 2, as far as the system tells.

use crossdock_comm::Rendezvous;
use rustix::process::geteuid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file of the system that are read.
const BYTES_MAX: u64 = 16 << 20;

/// The helper of a process with the plug-in, which has the same files mapped.
const KEEPER: &str = "crossdock-keep";

/// A process with a plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RosProcess {
    pub(super) pid: u32,
    /// Its program.
    pub(super) program: String,
    /// What it has loaded, such as `rmw_crossdock`.
    pub(super) implementations: BTreeSet<String>,
    /// Whether it answers the `ros2` command.
    pub(super) is_daemon: bool,
    /// Its domain, as its variable says.
    pub(super) domain: String,
    /// The folder in which it meets others.
    pub(super) meets: PathBuf,
    /// Device and number of that folder, seen from the process: a container may have another one
    /// under the same name.
    pub(super) folder: Option<(u64, u64)>,
}

/// Processes of this user. Others' memory and variables are theirs.
pub(super) fn running() -> Vec<RosProcess> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<_> = pids.filter_map(read).collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// Other users who run processes with Crossdock, and how many each. Such a process has a helper,
/// whose name and user everybody may read.
pub(super) fn other_users() -> BTreeMap<u32, usize> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let helpers = entries.filter_map(|entry| {
        let name = contents(&entry.path().join("comm"))?;
        Some((entry.metadata().ok()?.uid(), name))
    });
    count_others(helpers, geteuid().as_raw())
}

fn count_others(processes: impl Iterator<Item = (u32, String)>, own: u32) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for (user, name) in processes {
        if user != own && name.starts_with(KEEPER) {
            *counts.entry(user).or_default() += 1;
        }
    }
    counts
}

fn read(pid: u32) -> Option<RosProcess> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let uid = std::fs::metadata(&folder).ok()?.uid();
    if uid != geteuid().as_raw() {
        return None;
    }
    if contents(&folder.join("comm"))?.starts_with(KEEPER) {
        return None;
    }
    let implementations = implementations(&contents(&folder.join("maps"))?);
    if implementations.is_empty() {
        return None;
    }
    let words = words(&contents(&folder.join("cmdline"))?);
    let variables = variables(&contents(&folder.join("environ"))?);
    let meets = Rendezvous::of_variables(uid, |name| Some(variables.get(name)?.into()));
    let Rendezvous::Folder(meets) = meets else { return None };
    // As the process sees it.
    let seen = folder.join("root").join(meets.strip_prefix("/").unwrap_or(&meets));
    Some(RosProcess {
        pid,
        program: program(&words),
        implementations,
        is_daemon: words.iter().any(|word| word.contains("ros2cli.daemon")),
        domain: domain(&variables),
        folder: numbers_of(&seen),
        meets,
    })
}

fn contents(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn words(text: &str) -> Vec<String> {
    text.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn variables(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The plug-ins among the files that a process has mapped.
fn implementations(maps: &str) -> BTreeSet<String> {
    let files = maps.lines().filter_map(|line| line.rsplit_once('/').map(|(_, file)| file));
    let libraries = files.filter_map(|file| file.strip_prefix("lib")?.strip_suffix(".so"));
    let plugins = libraries.filter(|name| name.starts_with("rmw_"));
    // The loader of plug-ins, and parts of them.
    let others = ["rmw_implementation", "rmw_dds_common", "rmw_security_common"];
    plugins
        .filter(|name| !others.iter().any(|other| name.starts_with(other)))
        .map(str::to_owned)
        .collect()
}

/// What a process runs: of an interpreter, the program of its user.
fn program(words: &[String]) -> String {
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let Some(first) = words.first().map(name) else { return String::new() };
    match words.get(1) {
        Some(second) if first.starts_with("python") && !second.starts_with('-') => name(second),
        _ => first,
    }
}

/// The domain of a process: none named is 0.
fn domain(variables: &BTreeMap<String, String>) -> String {
    let domain = variables.get("ROS_DOMAIN_ID").filter(|domain| !domain.is_empty());
    domain.cloned().unwrap_or_else(|| "0".to_owned())
}

/// Device and number of a folder.
pub(super) fn numbers_of(folder: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plug_ins_are_told_from_what_loads_them() {
        let maps = "7f00-7f01 r--p 0 08:01 1  /opt/ros/jazzy/lib/librmw_implementation.so\n\
                    7f01-7f02 r--p 0 08:01 2  /my robot/librmw_crossdock.so\n\
                    7f02-7f03 r-xp 0 08:01 2  /my robot/librmw_crossdock.so\n\
                    7f03-7f04 r--p 0 08:01 3  /opt/ros/jazzy/lib/librmw.so\n\
                    7f04-7f05 r--p 0 08:01 4  \
                    /opt/ros/jazzy/lib/librmw_dds_common__rosidl_typesupport_c.so\n\
                    7f05-7f06 rw-p 0 00:00 0  [heap]\n";
        assert_eq!(implementations(maps), BTreeSet::from(["rmw_crossdock".to_owned()]));
    }

    #[test]
    fn helpers_of_other_users_are_counted() {
        let tasks = [(7, KEEPER), (0, KEEPER), (1001, KEEPER), (1001, KEEPER), (1001, "bash")];
        let tasks = tasks.map(|(user, name)| (user, format!("{name}\n")));
        let counts = count_others(tasks.into_iter(), 7);
        assert_eq!(counts, BTreeMap::from([(0, 1), (1001, 2)]));
    }

    #[test]
    fn the_program_of_an_interpreter_is_its_script() {
        let name = |text: &str| program(&words(text));
        assert_eq!(name("/usr/bin/python3\0/opt/ros/jazzy/bin/ros2\0topic\0"), "ros2");
        assert_eq!(name("/usr/bin/python3\0-c\0pass\0"), "python3");
        assert_eq!(name("./talker\0--ros-args\0"), "talker");
        assert_eq!(name(""), "");
    }
}
