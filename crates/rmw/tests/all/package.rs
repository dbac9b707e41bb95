//! What a user installs: the packages of the plug-in, taken apart.

use crossdock_test_support::{skip, workspace};
use rmw_crossdock::abi::DISTRIBUTION;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{DISTRIBUTION}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The library under test, which cargo has built beside this program.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().join("librmw_crossdock.so")
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The files below a folder.
fn files(below: &Path) -> BTreeSet<String> {
    let said = run(Command::new("find").arg(below).args(["-type", "f", "-printf", "%P\n"]));
    said.lines().map(str::to_owned).collect()
}

/// The whole list of what a prefix gets, but for the setup file.
fn wanted() -> BTreeSet<String> {
    let resources = ["packages", "rmw_typesupport", "rmw_typesupport_c", "rmw_typesupport_cpp"];
    let resources = resources
        .map(|kind| format!("share/ament_index/resource_index/{kind}/rmw_crossdock"))
        .into_iter();
    let others = [
        "lib/librmw_crossdock.so",
        "share/rmw_crossdock/LICENSE",
        "share/rmw_crossdock/package.xml",
        "share/rmw_crossdock/cmake/rmw_crossdockConfig.cmake",
        "share/rmw_crossdock/distribution",
    ];
    resources.chain(others.map(str::to_owned)).collect()
}

fn text(of: PathBuf) -> String {
    std::fs::read_to_string(of).unwrap()
}

/// Sources a setup file in a shell in which a distribution is sourced, and prints the variables.
fn source(setup: &Path, distribution: &str) -> Output {
    let script = ". \"$0\" && . \"$0\" && echo \"$RMW_IMPLEMENTATION $AMENT_PREFIX_PATH $CMAKE_PREFIX_PATH $LD_LIBRARY_PATH\"";
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).arg(setup).env("ROS_DISTRO", distribution);
    shell.env("AMENT_PREFIX_PATH", "/opt/ros/x").env_remove("LD_LIBRARY_PATH");
    shell.env("CMAKE_PREFIX_PATH", "/opt/ros/x").output().unwrap()
}

#[test]
fn a_tarball_and_a_deb_have_the_library_and_what_ros_2_finds_it_by() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return skip("dpkg-deb is not installed");
    }
    let out = folder("packages");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let mut bytes = Vec::new();
    for again in ["first", "second"] {
        let out = out.join(again);
        let mut pack = Command::new(workspace().join("scripts/rmw-pack"));
        run(pack.arg(library()).args([DISTRIBUTION, architecture]).arg(&out));
        let packed = files(&out).into_iter().map(|name| std::fs::read(out.join(name)).unwrap());
        bytes.push(packed.collect::<Vec<_>>());
    }
    assert!(bytes[0] == bytes[1], "the same bytes at every time");
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("rmw_crossdock-{version}-{DISTRIBUTION}-{architecture}");
    let tarball = out.join("first").join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-xzf").arg(tarball).arg("-C").arg(&out));
    let prefix = out.join(name);
    let mut with_setup = wanted();
    with_setup.extend(["setup.bash", "local_setup.bash"].map(str::to_owned));
    assert_eq!(files(&prefix), with_setup);
    let deb = format!("ros-{DISTRIBUTION}-rmw-crossdock_{version}_{architecture}.deb");
    let deb = out.join("first").join(deb);
    run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(out.join("deb")));
    let installed = out.join("deb/opt/ros").join(DISTRIBUTION);
    assert_eq!(files(&out.join("deb")).len(), wanted().len());
    assert_eq!(files(&installed), wanted());
    for field in [
        ("Package", format!("ros-{DISTRIBUTION}-rmw-crossdock")),
        ("Version", version.to_owned()),
        ("Architecture", architecture.to_owned()),
    ] {
        let said = run(Command::new("dpkg-deb").arg("-f").arg(&deb).arg(field.0));
        assert_eq!(said.trim(), field.1);
    }
    let index = prefix.join("share/ament_index/resource_index");
    assert_eq!(
        text(index.join("rmw_typesupport/rmw_crossdock")),
        "rosidl_typesupport_c;rosidl_typesupport_introspection_c;\
         rosidl_typesupport_cpp;rosidl_typesupport_introspection_cpp"
    );
    let manifest = text(prefix.join("share/rmw_crossdock/package.xml"));
    assert!(manifest.contains(&format!("<version>{version}</version>")), "{manifest}");
    assert!(manifest.contains("rmw_implementation_packages"), "{manifest}");
    for place in [prefix, installed] {
        let library = CString::new(place.join("lib/librmw_crossdock.so").as_os_str().as_bytes());
        assert_eq!(identifier(&library.unwrap()), c"rmw_crossdock");
    }
}

/// What a library says that it implements.
fn identifier(library: &CStr) -> &'static CStr {
    // SAFETY: the library under test, which is never unloaded.
    let library = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null());
    let name = c"rmw_get_implementation_identifier";
    // SAFETY: a loaded library and a text.
    let function = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!function.is_null());
    // SAFETY: rmw's API says that the function of this name has this type.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> *const c_char>(function) };
    // SAFETY: a static text.
    unsafe { CStr::from_ptr(function()) }
}

#[test]
fn a_shell_that_sources_the_prefix_finds_the_library_once() {
    let prefix = folder("a prefix");
    let mut install = Command::new(workspace().join("scripts/rmw-prefix"));
    run(install.arg(library()).arg(DISTRIBUTION).arg(&prefix));
    let setup = prefix.join("setup.bash");
    let said = String::from_utf8(source(&setup, DISTRIBUTION).stdout).unwrap();
    let at = prefix.display();
    assert_eq!(said.trim(), format!("rmw_crossdock {at}:/opt/ros/x {at}:/opt/ros/x {at}/lib"));
    let refused = source(&setup, "foxy");
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(&format!("is for ROS 2 {DISTRIBUTION}, and ROS_DISTRO is `foxy`")));
}
