//! From the files of a generated network to a library that is loaded.

use crate::cache::{Cache, CacheError, Key, Kind, Progress, Wanted};
use crate::loaded::{Access, Handle, Loaded};
use crate::model::{Model, Port};
use crate::tools::{FindToolError, Search, Tools, run};
use crossdock_hwgen::Generated;
use crossdock_hwgen::network::REGISTERS_MAGIC;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Which of the generated modules is simulated.
struct Top {
    /// The list of its sources.
    list: &'static str,
    /// The C interface over it.
    wrapper: &'static str,
}

const NETWORK: Top = Top { list: "sources.f", wrapper: "wrapper.cpp" };
const BOARD: Top = Top { list: "board.f", wrapper: "board.cpp" };

const NETWORKS: Kind = Kind { name: "networks", kept: 64 };
const RUNTIMES: Kind = Kind { name: "runtime", kept: 4 };
const LIBRARY: &str = "network.so";
const RUNTIME: &str = "runtime.o";

/// What Verilator is told. No threads: a network is too small to be worth a barrier per edge.
/// Registers that reset leaves alone start at random values of the model's seed.
const VERILATOR: [&str; 10] = [
    "--cc",
    "-O3",
    "-Wno-fatal",
    // But what a module says of its own parameters is.
    "-Werror-USERFATAL",
    "--x-assign",
    "fast",
    "--x-initial",
    "unique",
    "--prefix",
    "Vnetwork",
];
/// What the compiler is told, for the runtime and for networks.
const COMPILER: [&str; 11] = [
    "-std=c++17",
    "-O2",
    "-w",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE=0",
    "-DVM_TRACE_VCD=0",
    "-DVM_TRACE_FST=0",
];
/// Networks in one process have the same names inside: none but the interface leaves a library.
const EXPORTS: &str = "{ global: xd_network_*; local: *; };\n";
const RUNTIME_UNIT: &str = "#include \"verilated.cpp\"\n#include \"verilated_threads.cpp\"\n";

/// The library of a network could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Verilator or the compiler is missing.
    #[error(transparent)]
    Tool(#[from] FindToolError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A tool failed.
    #[error("{what} could not be built: {output}")]
    Failed {
        /// What was built.
        what: String,
        /// Which tool failed, and what it wrote last.
        output: String,
    },
    /// What was built cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A built network cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be loaded: {why}; remove the folder {} to build it again",
    path.display(), path.parent().unwrap_or(path).display())]
pub struct LoadError {
    path: PathBuf,
    why: String,
}

/// A network as a library, loaded. Cheap to clone; unloaded with the last of its models.
#[derive(Clone)]
pub struct Library {
    /// Under which it is kept.
    key: Arc<str>,
    loaded: Arc<Loaded>,
    ports: Arc<[Port]>,
    clocks: Arc<[String]>,
}

impl Library {
    /// The library of a network: from the cache, or built and kept there, and loaded. `progress`
    /// hears of everything that takes long.
    ///
    /// Blocks: milliseconds with what is in the cache, else some tens of seconds, and while another
    /// process builds the same. Allocates.
    ///
    /// # Errors
    /// A tool is missing or fails, the cache cannot be written, or what was built is not this
    /// network.
    pub fn build(
        generated: &Generated,
        search: &Search,
        cache: &Cache,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, BuildError> {
        let module = &generated.network.module;
        Self::build_top(generated, (module, &NETWORK), search, cache, progress)
    }

    /// The same of the network with its gateways, where it has some that can share host memory:
    /// `None` if not.
    ///
    /// # Errors
    /// As [`Library::build`].
    pub fn build_board(
        generated: &Generated,
        search: &Search,
        cache: &Cache,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Self>, BuildError> {
        if !generated.files.contains_key(BOARD.list) {
            return Ok(None);
        }
        let module = generated.network.board();
        Self::build_top(generated, (&module, &BOARD), search, cache, progress).map(Some)
    }

    fn build_top(
        generated: &Generated,
        (module, top): (&str, &Top),
        search: &Search,
        cache: &Cache,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, BuildError> {
        let tools = Tools::find(search)?;
        let what = format!("the simulation of {module}");
        let files = inputs(generated, top);
        let recipe = format!("{VERILATOR:?} {COMPILER:?} {EXPORTS} {}", top.list);
        let parts = files.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let wanted = Wanted {
            kind: NETWORKS,
            key: Key::of([recipe.as_str(), &tools.versions].into_iter().chain(parts)),
            what: &what,
            seconds: seconds(files.iter().map(|(_, text)| text.as_str())),
            files: &[LIBRARY],
        };
        let entry = cache.entry(&wanted, progress, |folder, progress| {
            let runtime = runtime(&tools, cache, progress)?;
            build(folder, &files, (module, top), &runtime, &tools)
                .map_err(|output| BuildError::Failed { what: what.clone(), output })
        })?;
        Ok(Self::open(&entry, generated.identity)?)
    }

    /// A library that was built before, by the key that [`Library::key`] gave for it: what one
    /// process has built another loads.
    ///
    /// Blocks for milliseconds. Allocates.
    ///
    /// # Errors
    /// It is not in the cache any more, damaged, or not this network.
    pub fn kept(cache: &Cache, key: &str, identity: u64) -> Result<Self, LoadError> {
        let entry = cache.kept(NETWORKS, key, &[LIBRARY]).map_err(|why| LoadError {
            path: cache.folder().join(NETWORKS.name).join(key),
            why: why.to_owned(),
        })?;
        Self::open(&entry, identity)
    }

    /// What it is kept under, for [`Library::kept`].
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Loads a library and makes sure that it is the network with this identity.
    fn open(entry: &Path, identity: u64) -> Result<Self, LoadError> {
        let path = &entry.join(LIBRARY);
        let failed = |why: String| LoadError { path: path.to_owned(), why };
        let loaded = Arc::new(Loaded::open(path).map_err(failed)?);
        let no_memory = || failed("there is no memory for it".to_owned());
        let mut probe = Handle::new(Arc::clone(&loaded), 1).ok_or_else(no_memory)?;
        let ports: Arc<[Port]> = loaded.ports().into_iter().map(Port::from).collect();
        let clocks: Arc<[String]> = loaded.clocks().into();
        let found = match (probe.read(0), probe.read(8)) {
            (Some(magic), Some(identity)) => [magic, identity],
            // A board has its registers behind a port.
            _ => {
                let mut probe = Model::new(probe, Arc::clone(&ports), &vec![1; clocks.len()]);
                let mut words = [Access::read(0), Access::read(8)];
                probe.access(&mut words, 1).map_err(|error| failed(error.to_string()))?;
                words.map(|word| word.value())
            }
        };
        if found != [REGISTERS_MAGIC, identity] {
            let why = format!("it is another network ({found:x?} instead of {identity:x})");
            return Err(failed(why));
        }
        let key = entry.file_name().unwrap_or_default().to_string_lossy().into();
        Ok(Self { key, loaded, ports, clocks })
    }

    /// The ports of the network; a port's index is its number in sources and sinks.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The names of its clocks, the fabric's own first.
    #[must_use]
    pub fn clocks(&self) -> &[String] {
        &self.clocks
    }

    /// A simulation of the network in reset state at time 0, with the periods of its clocks in
    /// picoseconds, in their order. The first edge of each comes after one period. `seed` decides
    /// what stands in registers that reset leaves alone.
    ///
    /// Allocates; does not block. `None` when there are not as many periods as clocks, a period is
    /// 0 or above 2^62, or there is no memory.
    #[must_use]
    pub fn model(&self, seed: u32, periods_ps: &[u64]) -> Option<Model> {
        let is_period = |period: &u64| (1..=1 << 62).contains(period);
        if periods_ps.len() != self.clocks.len() || !periods_ps.iter().all(is_period) {
            return None;
        }
        let handle = Handle::new(Arc::clone(&self.loaded), seed)?;
        Some(Model::new(handle, Arc::clone(&self.ports), periods_ps))
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("ports", &self.ports).finish_non_exhaustive()
    }
}

/// The files that a simulation is made from: what its list names, and the interface. A change of
/// any other, an adapter or a report, builds nothing again.
fn inputs<'a>(generated: &'a Generated, top: &Top) -> Vec<(&'a String, &'a String)> {
    let others = [top.list, top.wrapper, "network.h"];
    let others = others.into_iter().filter_map(|name| generated.files.get_key_value(name));
    generated.listed(top.list).into_iter().chain(others).collect()
}

/// Lines that one second makes a simulation of: boards of 9000, 16 600 and 20 100 lines took 22, 48
/// and 56 s of one core.
const LINES_PER_SECOND: usize = 370;
/// What Verilator and its headers take for a network without anything in it.
const SECONDS_LEAST: u32 = 3;

/// About how long a simulation of these sources takes to make, with one core to itself. Words of a
/// memory, such as `w[0]=32'h0;`, are data: thousands of them take no time.
fn seconds<'a>(texts: impl Iterator<Item = &'a str>) -> u32 {
    let lines = texts.flat_map(str::lines).filter(|line| !line.starts_with("w[")).count();
    SECONDS_LEAST + u32::try_from(lines / LINES_PER_SECOND).unwrap_or(u32::MAX - SECONDS_LEAST)
}

/// Verilator's runtime as one object, the same for all networks.
fn runtime(
    tools: &Tools,
    cache: &Cache,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, BuildError> {
    let what = "Verilator's runtime";
    let recipe = format!("{COMPILER:?} {RUNTIME_UNIT}");
    let wanted = Wanted {
        kind: RUNTIMES,
        key: Key::of([recipe.as_str(), &tools.versions]),
        what,
        seconds: 15,
        files: &[RUNTIME],
    };
    let entry = cache.entry(&wanted, progress, |folder, _| {
        write(folder, "runtime.cpp", RUNTIME_UNIT)?;
        let mut command = compiler(tools, folder);
        command.args(["-c", "runtime.cpp", "-o", RUNTIME]);
        run(command).map_err(|output| BuildError::Failed { what: what.to_owned(), output })
    })?;
    Ok(entry.join(RUNTIME))
}

/// What modules say of their own parameters, of what Verilator wrote: by the module's file and the
/// instance that got them. `None` if nothing of the kind is the reason.
fn refused(output: &str) -> Option<String> {
    let mut reasons = String::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        // `%Error-USERFATAL: FILE:LINE:COLUMN: %m: TEXT`; a line later, `In instance 'PATH'`.
        let Some(said) = line.strip_prefix("%Error-USERFATAL: ") else { continue };
        let (place, text) = said.split_once(": ")?;
        let file = place.split(':').next().unwrap_or(place);
        let text = text.trim_start_matches("%m: ");
        let instance = lines.next().and_then(|line| line.split('\'').nth(1)).unwrap_or_default();
        // Verilator writes an underscore behind another one in hexadecimal.
        let instance = instance.replace("__05F", "_");
        let _ = writeln!(reasons, "    {file}, {instance}: {text}");
    }
    let advice = "give the node other parameters in the graph, the mapping or the package file, or place it \
                  in software";
    (!reasons.is_empty()).then(|| format!("modules refuse their parameters:\n{reasons}{advice}"))
}

fn build(
    folder: &Path,
    files: &[(&String, &String)],
    (module, top): (&str, &Top),
    runtime: &Path,
    tools: &Tools,
) -> Result<(), String> {
    let written = |name: &str, text: &str| write(folder, name, text).map_err(|it| it.to_string());
    for (name, text) in files {
        written(name, text)?;
    }
    written("exports.map", EXPORTS)?;
    let mut command = Command::new(&tools.verilator);
    command.current_dir(folder).env("VERILATOR_ROOT", &tools.verilator_root);
    command.args(VERILATOR).args(["--Mdir", "model", "--top-module", module, "-f", top.list]);
    run(command).map_err(|output| refused(&output).unwrap_or(output))?;
    // One unit: reading the headers is most of the time of a small network.
    let mut sources: Vec<String> = std::fs::read_dir(folder.join("model"))
        .map_err(|error| format!("what Verilator wrote cannot be read: {error}"))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".cpp"))
        .collect();
    sources.sort();
    let mut unit = String::new();
    for name in sources {
        let _ = writeln!(unit, "#include \"model/{name}\"");
    }
    let _ = writeln!(unit, "#include \"{}\"", top.wrapper);
    written("unit.cpp", &unit)?;
    let mut command = compiler(tools, folder);
    command.args(["-I.", "-Imodel", "-shared", "unit.cpp"]).arg(runtime);
    command.args(["-Wl,--version-script=exports.map", "-o", LIBRARY]);
    run(command)
}

fn compiler(tools: &Tools, folder: &Path) -> Command {
    let include = tools.verilator_root.join("include");
    let mut command = Command::new(&tools.compiler);
    command.current_dir(folder).args(COMPILER).arg("-I").arg(&include);
    command.arg("-isystem").arg(include.join("vltstd"));
    command
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), CacheError> {
    let path = folder.join(name);
    let written = std::fs::write(&path, text);
    written.map_err(|source| CacheError::File { what: "writing", path, source })
}
