//! The library of type support that Debian's rosidl makes, once for all tests, and messages of its
//! types.

use crate::distributions::of_humble;
use crossdock_msg::{Block, FlatBuffer};
use crossdock_test_support::{long, shared, skip, workspace};
use rmw_crossdock::abi::humble::MessageSupport;
use rmw_crossdock::introspection::{Found, Humble, Language, read};
use rmw_crossdock::{ConvertError, Plan};
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The packages of this repository whose types are made; all their messages.
const PACKAGES: [&str; 5] =
    ["builtin_interfaces", "std_msgs", "geometry_msgs", "sensor_msgs", "rcl_interfaces"];
/// ROS's own test types, under the name of the package that they make in ROS.
const TEST_MESSAGES: (&str, &str) = ("test_msgs", "/usr/share/test_interface_files");

pub(crate) const LANGUAGES: [Language; 2] = [Language::C, Language::Cpp];

pub(crate) struct Types {
    handle: usize,
    /// Full names, such as `std_msgs/msg/Header`.
    pub(crate) names: Vec<String>,
}

/// The library; the test is skipped and counted if rosidl is not installed.
pub(crate) fn types() -> Option<&'static Types> {
    static TYPES: OnceLock<Option<Types>> = OnceLock::new();
    let types = TYPES.get_or_init(make).as_ref();
    if types.is_none() {
        skip("Debian's rosidl is not installed: run `make packages`");
    }
    types
}

fn make() -> Option<Types> {
    let needed = ["/usr/share/rosidl_generator_c", "/usr/share/test_interface_files/msg"];
    if !needed.iter().all(|path| Path::new(path).exists()) {
        return None;
    }
    let packages = packages();
    let sources = workspace().join("crates/rmw/tests/rosidl");
    let sources = ["generate.py", "filled.cpp", "filled.c"].map(|name| sources.join(name));
    let mut hasher = DefaultHasher::new();
    sources.iter().for_each(|source| std::fs::read(source).unwrap().hash(&mut hasher));
    let (mut names, mut arguments) = (Vec::new(), Vec::new());
    for (package, folder) in &packages {
        let mut of_package = Vec::new();
        for entry in std::fs::read_dir(folder.join("msg")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "msg") {
                continue;
            }
            std::fs::read(&path).unwrap().hash(&mut hasher);
            of_package.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
        if of_package.is_empty() {
            // IDL files alone, which this generator does not read.
            continue;
        }
        of_package.sort();
        arguments.push(format!("{package}={}:{}", folder.display(), of_package.join(",")));
        names.extend(of_package.iter().map(|name| format!("{package}/msg/{name}")));
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("types-{:x}", hasher.finish()));
    let library = out.join("libtypes.so");
    if !library.exists() {
        std::fs::create_dir_all(&out).unwrap();
        let mut command = Command::new("/usr/bin/python3");
        // The system's Python: another one does not see Debian's packages.
        command.env("PATH", "/usr/bin:/bin").arg(&sources[0]).arg(&out).args(&sources[1..]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let path = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: a library of type support, which is never unloaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "{} does not load", library.display());
    Some(Types { handle: handle as usize, names })
}

/// Folders of the packages whose types are made. In the long tests, of the whole corpus.
fn packages() -> BTreeMap<String, PathBuf> {
    let interfaces = workspace().join("crates/msg/interfaces");
    let mut packages: BTreeMap<String, PathBuf> =
        PACKAGES.iter().map(|name| ((*name).to_owned(), interfaces.join(name))).collect();
    if long()
        && let Some(shared) = shared()
    {
        add_packages(&shared.join("data/interfaces"), &mut packages);
    }
    packages.insert(TEST_MESSAGES.0.to_owned(), TEST_MESSAGES.1.into());
    packages
}

/// Adds the packages below a folder that have messages and are not known yet.
fn add_packages(folder: &Path, packages: &mut BTreeMap<String, PathBuf>) {
    if folder.join("msg").is_dir() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        packages.entry(name.to_owned()).or_insert_with(|| folder.to_owned());
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("msg") {
            add_packages(&path, packages);
        }
    }
}

impl Types {
    /// The address of a function of the library.
    pub(crate) fn symbol(&self, name: &str) -> *mut c_void {
        let name = CString::new(name).unwrap();
        // SAFETY: a loaded library and a text.
        let found = unsafe { libc::dlsym(self.handle as *mut c_void, name.as_ptr()) };
        assert!(!found.is_null(), "no symbol {name:?}");
        found
    }

    /// The type support of a type by introspection.
    pub(crate) fn support(&self, language: Language, name: &str) -> *const MessageSupport {
        let kind = match language {
            Language::C => "c",
            Language::Cpp => "cpp",
        };
        let kind =
            format!("rosidl_typesupport_introspection_{kind}__get_message_type_support_handle");
        let function = self.symbol(&format!("{kind}__{}", name.replace('/', "__")));
        // SAFETY: every function of this name takes nothing and gives a type support.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn() -> *const MessageSupport>(function)
        };
        function()
    }

    pub(crate) fn found(&self, language: Language, name: &str) -> Found {
        // SAFETY: a type support of rosidl 3.3.1, whose structs are Humble's.
        unsafe { read::<Humble>(self.support(language, name)) }.unwrap()
    }

    pub(crate) fn plan(&self, language: Language, name: &str) -> Plan {
        Plan::of(&self.found(language, name)).unwrap()
    }

    /// The type support with the structs of the distribution that the library is for.
    pub(crate) fn current(
        &self,
        language: Language,
        name: &str,
    ) -> *const rmw_crossdock::abi::current::MessageSupport {
        of_humble(self.support(language, name))
    }
}

/// A message of a type, in memory of its own.
pub(crate) struct Message<'a> {
    plan: &'a Plan,
    memory: Vec<u128>,
}

impl<'a> Message<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        // A constructor of C++ sets every field, and leaves padding as it was. In C, the program
        // clears the memory before.
        let before = if plan.language() == Language::C { 0 } else { u128::MAX / 15 * 11 };
        let mut memory = vec![before; plan.message_bytes().div_ceil(16)];
        // SAFETY: there is room for the message.
        unsafe { plan.init(memory.as_mut_ptr().cast()) }.unwrap();
        Self { plan, memory }
    }

    pub(crate) fn at(&self) -> *const c_void {
        self.memory.as_ptr().cast()
    }

    pub(crate) fn at_mut(&mut self) -> *mut c_void {
        self.memory.as_mut_ptr().cast()
    }

    pub(crate) fn take(&mut self, flat: &[u8]) -> Result<(), ConvertError> {
        let message = self.at_mut();
        // SAFETY: an initialised message of the plan's type.
        unsafe { self.plan.take(Block::new(flat), message) }
    }

    /// The flat message.
    pub(crate) fn flat(&self) -> Result<FlatBuffer, ConvertError> {
        // SAFETY: an initialised message of the plan's type.
        let bytes = unsafe { self.plan.flat_bytes(self.at()) }?;
        let mut flat = FlatBuffer::with_bytes(bytes);
        // SAFETY: as above.
        let used = unsafe { self.plan.write(self.at(), flat.as_mut_slice()) }?;
        assert_eq!(used, bytes, "both passes agree");
        Ok(flat)
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        let message = self.at_mut();
        // SAFETY: initialised by `new`, not used afterwards.
        unsafe { self.plan.fini(message) }.unwrap();
    }
}
