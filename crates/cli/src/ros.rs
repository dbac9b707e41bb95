//! `crossdock ros`: what nodes of ROS 2 need to use Crossdock, and what keeps them from it.

mod build;
mod check;
mod processes;

use crate::arguments::{PluginArguments, RosCommand};
use crate::output::{self, clean};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Distributions of ROS 2 that there is a plug-in for.
const DISTRIBUTIONS: [&str; 4] = ["humble", "jazzy", "kilted", "lyrical"];

/// What `RMW_IMPLEMENTATION` says.
const IMPLEMENTATION: &str = "rmw_crossdock";

/// The file of the plug-in.
const LIBRARY: &str = "librmw_crossdock.so";

/// Where ROS 2 is installed by its packages, a folder for each distribution.
const INSTALLED: &str = "/opt/ros";

pub(crate) fn ros(command: &RosCommand) -> Result<ExitCode> {
    match command {
        RosCommand::Env(arguments) => env(arguments).map(|()| ExitCode::SUCCESS),
        RosCommand::Build(arguments) => build::build(arguments).map(|()| ExitCode::SUCCESS),
        RosCommand::Check(arguments) => check::check(arguments),
    }
}

/// Prints the variables for a shell.
fn env(arguments: &PluginArguments) -> Result<()> {
    let distribution = distribution(arguments.distro.as_deref(), &Surroundings::here())?;
    let folder = plugin(arguments, &distribution)?;
    let mut script = format!("export RMW_IMPLEMENTATION={IMPLEMENTATION}\n");
    let mut put_first = |variable: &str, folder: &Path| {
        let folder = quoted(&folder.display().to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(script, "export {variable}={folder}${{{variable}:+:${variable}}}");
    };
    put_first("LD_LIBRARY_PATH", &folder);
    // Of a whole prefix, builds take the package of the implementation, and ROS 2 its index.
    if let Some(prefix) =
        folder.parent().filter(|it| it.join("share").join(IMPLEMENTATION).is_dir())
    {
        put_first("AMENT_PREFIX_PATH", prefix);
        put_first("CMAKE_PREFIX_PATH", prefix);
    }
    output::print(&script)
}

/// What a shell takes as one word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where distributions are looked for.
struct Surroundings {
    /// `ROS_DISTRO`.
    sourced: Option<String>,
    /// Folders in [`INSTALLED`].
    installed: Vec<String>,
}

impl Surroundings {
    fn here() -> Self {
        let sourced = std::env::var("ROS_DISTRO").ok().filter(|name| !name.is_empty());
        let entries = std::fs::read_dir(INSTALLED).into_iter().flatten().flatten();
        let with_setup = entries.filter(|entry| entry.path().join("setup.sh").is_file());
        let names = with_setup.filter_map(|entry| entry.file_name().into_string().ok());
        Self { sourced, installed: names.collect() }
    }
}

/// The distribution that is named, sourced, or the only one that is installed.
fn distribution(named: Option<&str>, around: &Surroundings) -> Result<String> {
    let named = named.or(around.sourced.as_deref());
    let found = match (named, around.installed.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only.as_str(),
        (None, []) => bail!(
            "no ROS 2 is sourced (ROS_DISTRO is not set), and {INSTALLED} has none; source its setup \
             file, or name a distribution: --distro jazzy"
        ),
        (None, several) => bail!(
            "{INSTALLED} has {}; source one of them, or name it with --distro",
            clean(&several.join(", "))
        ),
    };
    if !DISTRIBUTIONS.contains(&found) {
        bail!(
            "there is no plug-in for ROS 2 `{}`, only for {}",
            clean(found),
            DISTRIBUTIONS.join(", ")
        );
    }
    Ok(found.to_owned())
}

/// The folder with the plug-in for a distribution.
fn plugin(arguments: &PluginArguments, distribution: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this command is")?;
    let places = match &arguments.plugin {
        Some(folder) => vec![folder.clone()],
        None => {
            let mut places = own_places(&own, distribution);
            // A .deb puts it beside ROS 2's own libraries.
            places.push(Path::new(INSTALLED).join(distribution).join("lib"));
            // A prefix elsewhere, if its setup file was sourced.
            places.extend(loaded_from(std::env::var("LD_LIBRARY_PATH").ok().as_deref()));
            places
        }
    };
    let found = places.iter().find(|folder| folder.join(LIBRARY).is_file());
    let Some(folder) = found else {
        let places: Vec<String> =
            places.iter().map(|folder| clean(&folder.display().to_string())).collect();
        bail!(
            "there is no {LIBRARY} for {distribution} in {}; `crossdock ros build` builds it for an \
             installation at hand, `make rmw` in the sources of Crossdock for all, and --plugin \
             FOLDER names another place",
            places.join(" or ")
        );
    };
    folder.canonicalize().with_context(|| folder.display().to_string())
}

/// The folder from which nodes load the plug-in.
fn loaded_from(library_path: Option<&str>) -> Option<PathBuf> {
    let folders = library_path?.split(':').filter(|folder| !folder.is_empty()).map(Path::new);
    folders.into_iter().find(|folder| folder.join(LIBRARY).is_file()).map(Path::to_path_buf)
}

/// Where the plug-in of a command is: beside an installed one, and in the sources of one that was
/// built there.
fn own_places(own: &Path, distribution: &str) -> Vec<PathBuf> {
    let above = |levels| own.ancestors().nth(levels);
    let installed = above(2).map(|prefix| prefix.join("lib/crossdock/rmw"));
    let is_built =
        own.parent().and_then(Path::parent).and_then(Path::file_name) == Some(OsStr::new("target"));
    let built = above(3).filter(|_| is_built).map(|sources| sources.join("out/rmw"));
    let roots = installed.into_iter().chain(built);
    roots.map(|root| root.join(distribution).join("lib")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(sourced: Option<&str>, installed: &[&str]) -> Surroundings {
        let installed = installed.iter().map(|name| (*name).to_owned()).collect();
        Surroundings { sourced: sourced.map(str::to_owned), installed }
    }

    #[test]
    fn the_distribution_is_the_named_the_sourced_or_the_only_one() {
        let found = |named, around: &Surroundings| distribution(named, around).ok();
        let sourced = around(Some("jazzy"), &["kilted"]);
        assert_eq!(found(Some("humble"), &sourced).as_deref(), Some("humble"));
        assert_eq!(found(None, &sourced).as_deref(), Some("jazzy"));
        assert_eq!(found(None, &around(None, &["kilted"])).as_deref(), Some("kilted"));
        for (sourced, installed, said) in [
            (None, &[][..], "no ROS 2 is sourced"),
            (None, &["jazzy", "kilted"][..], "/opt/ros has jazzy, kilted"),
            (Some("foxy"), &[][..], "there is no plug-in for ROS 2 `foxy`, only for humble"),
        ] {
            let error = distribution(None, &around(sourced, installed)).unwrap_err();
            assert!(error.to_string().starts_with(said), "{error}");
        }
    }

    #[test]
    fn the_plug_in_is_beside_the_command_or_in_its_sources() {
        let of = |own| own_places(Path::new(own), "jazzy");
        let installed = PathBuf::from("/usr/lib/crossdock/rmw/jazzy/lib");
        assert_eq!(of("/usr/bin/crossdock"), [installed]);
        let built = PathBuf::from("/src/crossdock/out/rmw/jazzy/lib");
        assert_eq!(of("/src/crossdock/target/release/crossdock")[1..], [built]);
    }

    #[test]
    fn a_folder_is_one_word_of_a_shell() {
        assert_eq!(quoted("/my robot's"), r"'/my robot'\''s'");
    }
}
