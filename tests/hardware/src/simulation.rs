//! Simulations: Verilator's model of a design together with a testbench in C++.

use crate::cache::{Done, Files, Job};
use crate::design::{Design, Mutation, testbench};
use crate::tools::{Ended, run, tool, verilator_root};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
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
        let values = done.text.lines().filter_map(|line| line.split_once('='));
        let values = values.map(|(name, value)| {
            (
                name.to_owned(),
                value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")),
            )
        });
        Ok(Report(values.collect()))
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
        let testbench = Path::new(&self.testbench).file_stem().expect("a file").to_string_lossy();
        let own = testbench == format!("{}_tb", self.design.top());
        self.design.label() + &if own { String::new() } else { format!("-in-{testbench}") }
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
        // No assertion of time or width is left out: what lint lets pass may still be a warning here.
        verilator.extend(["-Wno-fatal", "--x-assign", "unique", "--x-initial", "unique"]);
        verilator.extend(waves.then_some("--trace-vcd"));
        let mut parameters = vec![];
        let mut macros = vec![];
        for (parameter, value) in self.design.parameters() {
            parameters.push(format!("-G{parameter}={value}"));
            macros.push(format!("-DP_{parameter}={value}"));
        }
        let key = format!("{verilator:?} {parameters:?} {:?}", COMPILER);
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
            // One translation unit: the headers are read once, which is most of the time.
            std::fs::write(folder.join("all.cpp"), self.unit(&folder.join("model")))
                .expect("all.cpp");
            run_ok({
                let mut command = compiler(folder);
                command.arg(format!("-DVM_TRACE={0}", u8::from(waves)));
                command.arg(format!("-DVM_TRACE_VCD={0}", u8::from(waves)));
                command.args(&macros).args(["-I.", "-Imodel", "all.cpp", "-o", "simulation"]);
                command.arg(&runtime).arg("-pthread");
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

    /// Includes every generated file of the model, then the files and the testbench.
    fn unit(&self, model: &Path) -> String {
        let mut names: Vec<String> = (std::fs::read_dir(model).expect("the model"))
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".cpp"))
            .collect();
        names.sort();
        let mut text = String::new();
        for name in names {
            writeln!(text, "#include \"model/{name}\"").expect("text");
        }
        for name in self.files.keys().filter(|name| name.ends_with(".cpp")) {
            writeln!(text, "#include \"{name}\"").expect("text");
        }
        text.push_str("#include \"testbench.cpp\"\n");
        text
    }
}

/// Simulations are short: more optimisation costs more in the compiler than it saves in the run.
const COMPILER: [&str; 3] = ["-std=c++17", "-O1", "-w"];

fn compiler(place: &Path) -> Command {
    let include = verilator_root().join("include");
    let mut command = Command::new("g++");
    command.args(COMPILER).current_dir(place).arg("-I").arg(&include);
    command.arg("-isystem").arg(include.join("vltstd"));
    command.args(["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE_FST=0"]);
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

/// Verilator's runtime as a static library, built once for all simulations.
fn runtime() -> PathBuf {
    let parts = ["verilated", "verilated_vcd_c", "verilated_threads"];
    let key = format!("{parts:?} {COMPILER:?}");
    let job = Job { name: "runtime", files: &Files::new(), arguments: &key };
    let done = job.result(|folder| {
        for part in parts {
            run_ok({
                let mut command = compiler(folder);
                let source = verilator_root().join("include").join(format!("{part}.cpp"));
                command.args(["-DVM_TRACE=1", "-DVM_TRACE_VCD=1", "-c"]).arg(source);
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
