//! `crossdock ros build`: builds the plug-in for an installation of ROS 2, compares the structs
//! that it uses with the installed headers, and puts it into a prefix, which `scripts/rmw-prefix`
//! fills.

use super::{INSTALLED, LIBRARY, Surroundings, distribution, own_places};
use crate::arguments::RosBuildArguments;
use crate::new::sources;
use crate::output::{self, clean};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A header that every installation has, below its prefix.
const HEADER: &str = "include/rmw/rmw/rmw.h";

pub(super) fn build(arguments: &RosBuildArguments) -> Result<()> {
    let distribution = distribution(arguments.distro.as_deref(), &Surroundings::here())?;
    let sourced = std::env::var_os("AMENT_PREFIX_PATH");
    let ros = installation(arguments.ros.as_deref(), sourced.as_deref(), &distribution)?;
    let sources = sources(arguments.crossdock.as_deref())?;
    let prefix = match &arguments.prefix {
        Some(folder) => std::path::absolute(folder).context("--prefix")?,
        None => default_prefix(&distribution)?,
    };
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| sources.join("target"), |folder| sources.join(folder));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let cargo = |verb: &str| {
        let mut command = Command::new(&cargo);
        command.args([verb, "--locked", "-p", "crossdock-rmw", "--no-default-features"]);
        command.args(["--features", &distribution]).current_dir(&sources);
        command.env("CARGO_TARGET_DIR", &target).env("CROSSDOCK_ROS", &ros);
        command
    };
    run(cargo("build").args(["--release", "--lib"]), "the plug-in is not built")?;
    run(
        cargo("test").args(["--test", "all", "--no-run"]),
        "what compares the plug-in with the installed headers is not built",
    )?;
    let mut compare = cargo("test");
    compare.args(["--test", "all", "headers::", "--", "--include-ignored"]);
    run(&mut compare, "the installed headers have other structs than this plug-in")?;
    let mut install = Command::new(sources.join("scripts/rmw-prefix"));
    install.arg(target.join("release").join(LIBRARY)).arg(&distribution).arg(&prefix);
    run(&mut install, "the plug-in is not installed")?;
    let prefix = super::quoted(&prefix.display().to_string());
    output::print(&format!(
        "the plug-in for {distribution} is in {prefix}; in each shell, after ROS 2's own setup file:\n\n\
         source {prefix}/setup.bash\n"
    ))
}

/// Runs a command; what it says goes where this command's own words go.
fn run(command: &mut Command, otherwise: &'static str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("`{program}` cannot be started"))?;
    if status.success() {
        Ok(())
    } else {
        bail!("{otherwise}: `{}` ends with {status}", clean(&program))
    }
}

/// The installation that is named, sourced, or in its usual place: the first with rmw's headers.
fn installation(
    named: Option<&Path>,
    sourced: Option<&OsStr>,
    distribution: &str,
) -> Result<PathBuf> {
    let places: Vec<PathBuf> = match named {
        Some(folder) => vec![folder.to_owned()],
        None => {
            let sourced = sourced.into_iter().flat_map(std::env::split_paths);
            sourced.chain([Path::new(INSTALLED).join(distribution)]).collect()
        }
    };
    let found = places.iter().find(|folder| folder.join(HEADER).is_file());
    let Some(found) = found else {
        let places: Vec<String> =
            places.iter().map(|folder| clean(&folder.display().to_string())).collect();
        bail!(
            "there is no {HEADER} in {}: source an installation of ROS 2 {distribution}, or name its \
             folder with --ros",
            places.join(" or ")
        );
    };
    found.canonicalize().with_context(|| found.display().to_string())
}

/// The prefix in whose `lib` `crossdock ros env` looks last.
fn default_prefix(distribution: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this command is")?;
    let places = own_places(&own, distribution);
    let prefix = places.last().and_then(|lib| lib.parent());
    Ok(prefix.context("this command lies in no folder: name one with --prefix")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installation_is_the_first_that_has_headers() {
        let around = std::env::temp_dir().join(format!("crossdock-ros-{}", std::process::id()));
        std::fs::create_dir_all(around.join("overlay")).expect("folders");
        let header = around.join("jazzy").join(HEADER);
        std::fs::create_dir_all(header.parent().expect("a folder")).expect("folders");
        std::fs::write(&header, "").expect("a header");
        let paths = std::env::join_paths([around.join("overlay"), around.join("jazzy")]);
        let sourced = paths.expect("a list");
        let found = installation(None, Some(&sourced), "jazzy").expect("the second");
        assert_eq!(found, around.join("jazzy").canonicalize().expect("a folder"));
        let overlay = around.join("overlay");
        let refused = installation(Some(&overlay), Some(&sourced), "jazzy").unwrap_err();
        assert!(refused.to_string().ends_with("name its folder with --ros"), "{refused}");
        std::fs::remove_dir_all(around).expect("own folders");
    }
}
