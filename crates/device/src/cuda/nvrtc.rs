//! NVRTC, the compiler of CUDA's kernels: found when it is needed, and needing no GPU.

use super::api::Api;
use super::architecture::Architecture;
use super::table::{Code, table};
use crate::kernel::KernelSource;
use cudarc::nvrtc::sys;
use cudarc::nvrtc::sys::nvrtcProgram;
use libloading::Library;
use std::ffi::{CString, OsStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

table! {
    /// The functions of `libnvrtc` that are used here; CUDA 11.4 and newer has them.
    struct Functions of sys, sys::nvrtcResult;
    needed {
        fn nvrtcVersion(*mut c_int, *mut c_int);
        fn nvrtcGetNumSupportedArchs(*mut c_int);
        fn nvrtcGetSupportedArchs(*mut c_int);
        fn nvrtcCreateProgram(
            *mut nvrtcProgram,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        );
        fn nvrtcDestroyProgram(*mut nvrtcProgram);
        fn nvrtcCompileProgram(nvrtcProgram, c_int, *const *const c_char);
        fn nvrtcGetCUBINSize(nvrtcProgram, *mut usize);
        fn nvrtcGetCUBIN(nvrtcProgram, *mut c_char);
        fn nvrtcGetPTXSize(nvrtcProgram, *mut usize);
        fn nvrtcGetPTX(nvrtcProgram, *mut c_char);
        fn nvrtcGetProgramLogSize(nvrtcProgram, *mut usize);
        fn nvrtcGetProgramLog(nvrtcProgram, *mut c_char);
    }
    optional {}
    unlike {}
}

/// The environment variable that names the folder of NVRTC.
pub(super) const FOLDER: &str = "CROSSDOCK_NVRTC";
/// Where CUDA's toolkit puts it.
const TOOLKIT: &str = "/usr/local/cuda";
/// Inside the named folder: the toolkit's place, and the Python package's.
const INSIDE: [&str; 3] = ["", "lib64", "lib"];
/// `NVRTC_ERROR_COMPILATION`: the source is wrong.
const WRONG_SOURCE: Code = Code(6);
/// Architectures that a compiler may say it knows, at most.
const ARCHITECTURES_MAX: usize = 256;

/// Why something was not compiled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No compiler, or it does not work: why, and the next step.
    NoCompiler(String),
    /// It does not know the architecture: which it knows.
    Unknown(String),
    /// The source: the compiler's words.
    Source(String),
}

/// What is asked of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Code for exactly this architecture.
    Binary,
    /// Text that the driver compiles for this architecture and newer ones.
    Ptx,
}

/// The compiler, loaded. `Send + Sync`: programs are independent of each other.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    call: Functions,
    /// In ascending order.
    architectures: Vec<Architecture>,
    version: (u32, u32),
    /// Never unloaded. The second one is what the compiler loads itself, by a name that the loader
    /// finds only because it is loaded.
    _libraries: (Library, Vec<Library>),
}

impl Nvrtc {
    /// The compiler of this machine: of the folder in `CROSSDOCK_NVRTC`, or the one that the system
    /// or CUDA's toolkit has. The first call loads it, the others have its result.
    pub(super) fn get() -> Result<&'static Self, Failure> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        let load = || match std::env::var_os(FOLDER) {
            Some(folder) if !folder.is_empty() => Self::of_folder(Path::new(&folder)),
            _ => Self::of_system(),
        };
        NVRTC.get_or_init(load).as_ref().map_err(|why| Failure::NoCompiler(why.clone()))
    }

    fn of_system() -> Result<Self, String> {
        // What is compiled by a newer CUDA than the driver's an older driver does not take.
        let old = Api::get().is_ok_and(|api| api.version < 13000);
        let versions = if old { ["12", "13"] } else { ["13", "12"] };
        for version in versions {
            // SAFETY: the compiler's library; what it does when it is loaded is its maker's.
            if let Ok(library) = unsafe { Library::new(format!("libnvrtc.so.{version}")) } {
                return Self::of(library, vec![]);
            }
        }
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
        let mut toolkits = toolkits.map(PathBuf::from).chain([PathBuf::from(TOOLKIT)]);
        match toolkits.find(|folder| libraries(folder).is_some()) {
            Some(folder) => Self::of_folder(&folder),
            None => Err(format!(
                "no NVRTC: the system has no libnvrtc.so.{} and {TOOLKIT} none; install CUDA's toolkit \
                 or the Python package nvidia-cuda-nvrtc, and name the folder of libnvrtc in {FOLDER}",
                versions[0]
            )),
        }
    }

    pub(super) fn of_folder(folder: &Path) -> Result<Self, String> {
        let (compiler, builtins) = libraries(folder).ok_or_else(|| {
            format!(
                "no NVRTC: {} has no libnvrtc.so; name the folder that has it in {FOLDER}",
                folder.display()
            )
        })?;
        // SAFETY: as above. Before the compiler, which looks for it by name.
        let builtins = builtins.iter().filter_map(|it| unsafe { Library::new(it) }.ok()).collect();
        // SAFETY: as above.
        let library = unsafe { Library::new(&compiler) }.map_err(|error| {
            format!("NVRTC cannot be loaded: {}: {error}; install it again", compiler.display())
        })?;
        Self::of(library, builtins)
    }

    fn of(library: Library, builtins: Vec<Library>) -> Result<Self, String> {
        let call = Functions::of(&library).map_err(|missing| {
            format!("NVRTC is too old: it has no {missing}; install a newer one")
        })?;
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: places for numbers.
        let _ = unsafe { (call.nvrtcVersion)(&mut major, &mut minor) };
        // SAFETY: a place for a number.
        let counted = unsafe { (call.nvrtcGetNumSupportedArchs)(&mut count) };
        let mut numbers = vec![0; (count.max(0) as usize).min(ARCHITECTURES_MAX)];
        if counted == Code::SUCCESS && numbers.len() == count as usize {
            // SAFETY: as many places as it has said.
            let _ = unsafe { (call.nvrtcGetSupportedArchs)(numbers.as_mut_ptr()) };
        }
        let mut architectures: Vec<Architecture> =
            numbers.iter().map(|number| Architecture::of_number(*number as u32)).collect();
        architectures.sort_unstable();
        let version = (major as u32, minor as u32);
        Ok(Self { call, architectures, version, _libraries: (library, builtins) })
    }

    /// Such as 13.0.
    pub(super) fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// In what way kernels reach a device of this architecture: as code for it, or, for a device
    /// that is newer than the compiler, as text for the newest that the compiler knows.
    pub(super) fn way_to(&self, device: Architecture) -> Option<(Architecture, Output)> {
        if self.architectures.contains(&device) {
            return Some((device, Output::Binary));
        }
        let newest = *self.architectures.last()?;
        (newest < device).then_some((newest, Output::Ptx))
    }

    /// Compiles kernels; PTX ends with a zero byte. Blocks for tens of milliseconds.
    pub(super) fn compile(
        &self,
        source: &KernelSource<'_>,
        architecture: Architecture,
        output: Output,
    ) -> Result<Vec<u8>, Failure> {
        if !self.architectures.contains(&architecture) {
            let known: Vec<_> = self.architectures.iter().map(Architecture::to_string).collect();
            let known = known.join(", ");
            return Err(Failure::Unknown(format!(
                "NVRTC {} knows {known}; name the folder of another one in {FOLDER}",
                self.version()
            )));
        }
        let text = CString::new(source.whole())
            .map_err(|_| Failure::Source(format!("{}: a zero byte in the text", source.label)))?;
        let program = Program::new(&self.call, &text)?;
        let what = if output == Output::Binary { "sm" } else { "compute" };
        let option = format!("--gpu-architecture={what}_{}", architecture.number());
        let option = CString::new(option).expect("letters and digits");
        let options = [option.as_ptr()];
        // SAFETY: a program, and one option that lives.
        let code = unsafe { (self.call.nvrtcCompileProgram)(program.raw, 1, options.as_ptr()) };
        if code != Code::SUCCESS {
            let log = program.text(self.call.nvrtcGetProgramLogSize, self.call.nvrtcGetProgramLog);
            let log = log.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let log = log.unwrap_or_default();
            let log = log.trim_matches(['\0', '\n', ' ']);
            return Err(match code {
                WRONG_SOURCE => Failure::Source(with_lines(source.label, log)),
                code => Failure::NoCompiler(format!(
                    "NVRTC {} does not work ({}): {log}; name the folder of another one in {FOLDER}",
                    self.version(),
                    code.0
                )),
            });
        }
        match output {
            Output::Binary => program.text(self.call.nvrtcGetCUBINSize, self.call.nvrtcGetCUBIN),
            Output::Ptx => program.text(self.call.nvrtcGetPTXSize, self.call.nvrtcGetPTX),
        }
    }
}

/// The compiler's library in a folder, and those that it loads.
fn libraries(folder: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let of = |folder: PathBuf, start: &str| -> Vec<PathBuf> {
        let starts = |name: &OsStr| {
            name.to_str()
                .and_then(|name| name.strip_prefix(start))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path());
        let mut found: Vec<_> = found.filter(|it| it.file_name().is_some_and(starts)).collect();
        found.sort();
        found
    };
    INSIDE.iter().map(|inside| folder.join(inside)).find_map(|folder| {
        let compiler = of(folder.clone(), "libnvrtc.so").into_iter().next()?;
        Some((compiler, of(folder, "libnvrtc-builtins.so")))
    })
}

/// The compiler's words with places as other compilers write them: `camera.cl:2` for
/// `camera.cl(2)`.
fn with_lines(label: &str, log: &str) -> String {
    let line = |line: &str| -> Option<String> {
        let (number, rest) = line.strip_prefix(label)?.strip_prefix('(')?.split_once(')')?;
        number.parse::<u32>().ok()?;
        Some(format!("{label}:{number}{rest}"))
    };
    let lines: Vec<_> = log.lines().map(|it| line(it).unwrap_or_else(|| it.to_owned())).collect();
    lines.join("\n")
}

/// A program of the compiler, given back when dropped.
struct Program<'a> {
    call: &'a Functions,
    raw: nvrtcProgram,
}

impl<'a> Program<'a> {
    fn new(call: &'a Functions, text: &CString) -> Result<Self, Failure> {
        let mut raw = ptr::null_mut();
        // The text names its own file after the prelude.
        let (at, name) = (text.as_ptr(), c"prelude.h".as_ptr());
        // SAFETY: a place for a handle, two texts that live, and no headers.
        let code =
            unsafe { (call.nvrtcCreateProgram)(&mut raw, at, name, 0, ptr::null(), ptr::null()) };
        match code {
            Code::SUCCESS => Ok(Self { call, raw }),
            code => Err(Failure::NoCompiler(format!("NVRTC takes no program ({})", code.0))),
        }
    }

    /// One of the program's results: its size is asked for first.
    fn text(
        &self,
        size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> Code,
        text: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> Code,
    ) -> Result<Vec<u8>, Failure> {
        let mut bytes = 0;
        // SAFETY: a program, and a place for a number.
        let mut code = unsafe { size(self.raw, &mut bytes) };
        let mut result = vec![0u8; if code == Code::SUCCESS { bytes } else { 0 }];
        if code == Code::SUCCESS && bytes > 0 {
            // SAFETY: a program, and room for what it has said.
            code = unsafe { text(self.raw, result.as_mut_ptr().cast()) };
        }
        match code {
            Code::SUCCESS if bytes > 0 => Ok(result),
            code => Err(Failure::NoCompiler(format!("NVRTC has no result ({})", code.0))),
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: this value's program.
        let _ = unsafe { (self.call.nvrtcDestroyProgram)(&mut self.raw) };
    }
}
