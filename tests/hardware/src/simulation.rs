//! Simulations: Verilator's model of a design together with a testbench in C++.

use crate::cache::{Done, Files, Job};
use crate::design::{Change, Design, Mutation, testbench};
use crate::tools::{Ended, run, tool, verilator_root};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A design in a testbench.
#[derive(Debug, Clone)]
pub struct Simulation {
    design: Design,
    testbench: String,
    prefix: String,
    files: Files,
}

/// What a testbench has measured: names and values.
#[derive(Debug, Clone)]
pub struct Report(BTreeMap<String, u64>);

impl Report {
    /// What a testbench has written: a line `name=value` for each.
    fn of(text: &str) -> Self {
        let values = text.lines().filter_map(|line| line.split_once('='));
        let values = values.map(|(name, value)| {
            let number = value.parse();
            (name.to_owned(), number.unwrap_or_else(|_| panic!("{name}={value} is no number")))
        });
        Self(values.collect())
    }

    /// A value by its name.
    ///
    /// # Panics
    /// When the testbench has not reported it.
    #[must_use]
    pub fn value(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("no '{name}' in the report {:?}", self.0))
    }
}

/// Why a simulation did not pass.
#[derive(Debug)]
pub enum SimulationFailure {
    /// The testbench saw something wrong.
    Wrong {
        /// The design with its parameters.
        design: String,
        /// What the testbench said, with its seed.
        message: String,
        /// The waves of the same run, as a VCD file.
        trace: Option<PathBuf>,
    },
    /// Model or testbench could not be built.
    NotBuilt {
        /// The design with its parameters.
        design: String,
        /// What Verilator or the compiler said.
        output: String,
    },
}

impl fmt::Display for SimulationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong { design, message, trace } => {
                write!(f, "simulation of {design}: {message}")?;
                trace.iter().try_for_each(|trace| write!(f, "\nwaves: {}", trace.display()))
            }
            Self::NotBuilt { design, output } => {
                write!(f, "simulation of {design} could not be built\n{output}")
            }
        }
    }
}

impl std::error::Error for SimulationFailure {}

impl Simulation {
    /// The design in the testbench at this path below `hw/`. The testbench sees the parameters as
    /// macros (`P_WIDTH`) and the model as class `Vdut`.
    #[must_use]
    pub fn new(design: Design, testbench: &str) -> Self {
        Self {
            design,
            testbench: testbench.to_owned(),
            prefix: "Vdut".to_owned(),
            files: Files::new(),
        }
    }

    /// The same with another class of the model.
    #[must_use]
    pub fn with_model(mut self, class: &str) -> Self {
        class.clone_into(&mut self.prefix);
        self
    }

    /// The same with a C++ file, generated for example: headers to be included, sources to be
    /// compiled with the testbench.
    #[must_use]
    pub fn with_file(mut self, name: &str, content: &str) -> Self {
        self.files.insert(name.to_owned(), content.to_owned());
        self
    }

    /// What is simulated.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// Whether the testbench sees something wrong in the design with this change in it, measures
    /// what is not allowed, or does not end within so many seconds.
    ///
    /// # Errors
    /// There is no such design.
    pub(crate) fn notices(
        &self,
        change: &Change,
        arguments: &[String],
        allowed: fn(&Report) -> bool,
        patience: u32,
    ) -> Result<bool, SimulationFailure> {
        let changed = Self { design: self.design.clone().changed(change), ..self.clone() };
        let program = changed.built(false)?;
        let folder = program.parent().expect("a program lies in a folder");
        let mut command = Command::new("timeout");
        command.arg(patience.to_string()).arg(&program).args(arguments).current_dir(folder);
        let ended = run(command);
        Ok(!ended.success() || !allowed(&Report::of(&ended.stdout)))
    }

    /// Builds (cached) and runs the testbench (cached) with these arguments.
    ///
    /// # Errors
    /// What the testbench saw, with the path of the waves: the run is repeated with tracing.
    pub fn run(&self, arguments: &[&str]) -> Result<Report, SimulationFailure> {
        let program = self.built(false)?;
        let done = self.job(&program, arguments, |folder| {
            let ended = start(&program, arguments, folder);
            if ended.success() {
                return Ok(ended.stdout);
            }
            Err(SimulationFailure::Wrong {
                design: self.design.label(),
                message: message(&ended),
                trace: self.traced(arguments, folder),
            })
        })?;
        Ok(Report::of(&done.text))
    }

    /// Runs the testbench on the design with this fault in it; it has to see something wrong.
    /// Cached when the fault is caught.
    ///
    /// # Errors
    /// What happened instead.
    pub fn catches(&self, mutation: &Mutation, arguments: &[&str]) -> Result<(), String> {
        let mutant = Self { design: self.design.clone().mutated(mutation), ..self.clone() };
        let program = mutant.built(false).map_err(|failure| failure.to_string())?;
        let done = mutant.job(&program, arguments, |folder| {
            let ended = start(&program, arguments, folder);
            let passes = ended.success();
            let unseen = || format!("{}: the simulation does not notice it", mutation.what);
            if passes { Err(unseen()) } else { Ok(message(&ended)) }
        });
        done.map(|_| ())
    }

    fn job<E>(
        &self,
        program: &Path,
        arguments: &[&str],
        run: impl FnOnce(&Path) -> Result<String, E>,
    ) -> Result<Done, E> {
        let name = format!("simulate/{}", self.label());
        let key = format!("{} {arguments:?}", program.display());
        Job { name: &name, files: &Files::new(), arguments: &key }.result(run)
    }

    /// The design, and the testbench where it is not the design's own.
    fn label(&self) -> String {
        self.label_of(self.design.label())
    }

    fn label_of(&self, design: String) -> String {
        let testbench = Path::new(&self.testbench).file_stem().expect("a file").to_string_lossy();
        let own = testbench == format!("{}_tb", self.design.top());
        design + &if own { String::new() } else { format!("-in-{testbench}") }
    }

    /// The same run again with waves: the testbench and its seed decide everything, so it fails the
    /// same way.
    fn traced(&self, arguments: &[&str], folder: &Path) -> Option<PathBuf> {
        let program = self.built(true).ok()?;
        let waves = folder.join("waves.vcd");
        let path = waves.to_str()?;
        start(&program, &[arguments, &["--waves", path]].concat(), folder);
        waves.is_file().then_some(waves)
    }

    /// The testbench's executable.
    fn built(&self, waves: bool) -> Result<PathBuf, SimulationFailure> {
        let runtime = runtime();
        let mut files = self.design.sources().clone();
        files.extend(testbench(&self.testbench));
        files.extend(self.files.clone());
        let kind = if waves { "traced" } else { "model" };
        let name = format!("{kind}/{}", self.label());
        let mut verilator =
            vec!["--cc", "--quiet", "-O3", "--prefix", self.prefix.as_str(), "--Mdir", "model"];
        // No assertion of time or width is left out: what lint lets pass may still be a warning
        // here.
        verilator.extend(["-Wno-fatal", "--x-assign", "unique", "--x-initial", "unique"]);
        verilator.extend(waves.then_some("--trace-vcd"));
        let mut parameters = vec![];
        let mut macros = vec![];
        for (parameter, value) in self.design.parameters() {
            parameters.push(format!("-G{parameter}={value}"));
            macros.push(format!("-DP_{parameter}={value}"));
        }
        let key = format!("{verilator:?} {parameters:?} {COMPILER:?} {HEADERS}");
        let job = Job { name: &name, files: &files, arguments: &key };
        let done = job.result(|folder| {
            run_ok({
                let mut command = tool("verilator_bin", folder);
                command
                    .args(&verilator)
                    .args(&parameters)
                    .args(["--top-module", self.design.top()]);
                command.args(self.design.source_names());
                command
            })?;
            let testbench = self.testbench(&folder.join("model"), &macros, waves)?;
            // One translation unit, as all parts of a model include all others' headers.
            let names = names_of_sources(&folder.join("model"));
            let unit: String =
                names.iter().map(|name| format!("#include \"model/{name}\"\n")).collect();
            std::fs::write(folder.join("all.cpp"), unit).expect("all.cpp");
            run_ok({
                let mut command = compiler(folder, waves);
                command.args(["-include"]).arg(headers(waves));
                command.args(["-Imodel", "all.cpp", "-o", "simulation"]);
                command.arg(&testbench).arg(&runtime);
                command
            })?;
            Ok(String::new())
        });
        let done = done.map_err(|output| SimulationFailure::NotBuilt {
            design: self.design.label(),
            output,
        })?;
        Ok(done.folder.join("simulation"))
    }

    /// The testbench's object. It sees no more of a model than the class's header, which is made of
    /// the ports: all faults of a design share one object.
    fn testbench(&self, model: &Path, macros: &[String], waves: bool) -> Result<PathBuf, String> {
        let mut files = testbench(&self.testbench);
        files.extend(self.files.clone());
        let class = format!("{}.h", self.prefix);
        files.insert(class.clone(), std::fs::read_to_string(model.join(class)).expect("a header"));
        let kind = if waves { "testbench_traced" } else { "testbench" };
        let name = format!("{kind}/{}", self.label_of(self.design.faultless_label()));
        let key = format!("{macros:?} {COMPILER:?} {HEADERS}");
        let job = Job { name: &name, files: &files, arguments: &key };
        let done = job.result(|folder| {
            let names = self.files.keys().map(String::as_str);
            let names = names.filter(|name| name.ends_with(".cpp")).chain(["testbench.cpp"]);
            let unit: String = names.map(|name| format!("#include \"{name}\"\n")).collect();
            std::fs::write(folder.join("unit.cpp"), unit).expect("unit.cpp");
            run_ok({
                let mut command = compiler(folder, waves);
                command.args(["-include"]).arg(headers(waves)).args(macros);
                command.args(["-I.", "-c", "unit.cpp", "-o", "testbench.o"]);
                command
            })
            .map(|()| String::new())
        })?;
        Ok(done.folder.join("testbench.o"))
    }
}

/// The C++ sources that Verilator has written, in a stable order.
fn names_of_sources(model: &Path) -> Vec<String> {
    let mut names: Vec<String> = (std::fs::read_dir(model).expect("the model"))
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".cpp"))
        .collect();
    names.sort();
    names
}

/// Simulations are short: more optimisation costs more in the compiler than it saves in the run.
const COMPILER: [&str; 4] = ["-std=c++17", "-O1", "-w", "-pthread"];

/// What models and testbenches include. Reading it takes three times as long as compiling a model
/// does, so it is compiled once for all of them. A header that is missing here is read where it is
/// included. The compiler takes the compiled one only where its own options are the same, and says
/// nothing where it does not: what all of them are told stands in `COMPILER`.
const HEADERS: &str = "#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include \"verilated.h\"
#if VM_TRACE
#include \"verilated_vcd_c.h\"
#endif
";

fn compiler(place: &Path, waves: bool) -> Command {
    let include = verilator_root().join("include");
    let mut command = Command::new("g++");
    command.args(COMPILER).current_dir(place).arg("-I").arg(&include);
    command.arg("-isystem").arg(include.join("vltstd"));
    command.args(["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE_FST=0"]);
    command.args(["VM_TRACE", "VM_TRACE_VCD"].map(|it| format!("-D{it}={}", u8::from(waves))));
    command
}

fn start(program: &Path, arguments: &[&str], folder: &Path) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    run(command)
}

fn run_ok(command: Command) -> Result<(), String> {
    let ended = run(command);
    if ended.success() { Ok(()) } else { Err(ended.tail()) }
}

/// The header of all that is compiled, and beside it what the compiler has made of it: it takes
/// that instead, wherever its own options are the same.
fn headers(waves: bool) -> PathBuf {
    let key = format!("{HEADERS} {COMPILER:?} {waves}");
    let name = if waves { "headers_traced" } else { "headers" };
    let job = Job { name, files: &Files::new(), arguments: &key };
    let done = job.result(|folder| {
        std::fs::write(folder.join("headers.hpp"), HEADERS).expect("headers.hpp");
        let mut command = compiler(folder, waves);
        command.args(["-x", "c++-header", "headers.hpp", "-o", "headers.hpp.gch"]);
        run_ok(command).map(|()| String::new())
    });
    let done = done.unwrap_or_else(|output: String| panic!("Verilator's headers:\n{output}"));
    done.folder.join("headers.hpp")
}

/// Verilator's runtime as a static library, built once for all simulations.
fn runtime() -> PathBuf {
    let parts = ["verilated", "verilated_vcd_c", "verilated_threads"];
    let key = format!("{parts:?} {COMPILER:?}");
    let job = Job { name: "runtime", files: &Files::new(), arguments: &key };
    let done = job.result(|folder| {
        for part in parts {
            run_ok({
                let mut command = compiler(folder, true);
                let source = verilator_root().join("include").join(format!("{part}.cpp"));
                command.arg("-c").arg(source);
                command
            })?;
        }
        let mut command = Command::new("ar");
        command.current_dir(folder).args(["rcs", "libverilated.a"]);
        command.args(parts.map(|part| format!("{part}.o")));
        run_ok(command).map(|()| String::new())
    });
    let done = done.unwrap_or_else(|output: String| panic!("Verilator's runtime:\n{output}"));
    done.folder.join("libverilated.a")
}

fn message(ended: &Ended) -> String {
    let said = ended.stderr.trim();
    if said.is_empty() { format!("ended with {:?}", ended.code) } else { said.to_owned() }
}
