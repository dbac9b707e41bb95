//! The CUDA driver as far as it goes without a GPU: its compiler, with the compiler's own library.

use super::nvrtc::{Nvrtc, Output};
use super::*;
use crate::examine::own_kernels;
use crossdock_test_support::nvrtc;

fn compiler() -> Nvrtc {
    Nvrtc::of_folder(&nvrtc()).expect("NVRTC")
}

#[test]
fn kernels_become_code_for_known_architectures_and_ptx_for_newer_ones() {
    let (nvrtc, source) = (compiler(), own_kernels()[0]);
    let orin = Architecture::of_capability(8, 7);
    assert_eq!(nvrtc.way_to(orin), Some((orin, Output::Binary)));
    // From the next century; from the last one.
    let newest = Architecture::of_capability(12, 1);
    assert_eq!(nvrtc.way_to(Architecture::of_capability(99, 0)), Some((newest, Output::Ptx)));
    let old = Architecture::of_capability(5, 2);
    assert_eq!(nvrtc.way_to(old), None);
    let refused = nvrtc.compile(&source, old, Output::Binary).expect_err("too old");
    let refused = not_compiled("cuda:0", &source, old, refused).to_string();
    let told =
        ["cuda:0: the kernels of trial cannot be made for sm_52", "sm_75, ", "CROSSDOCK_NVRTC"];
    assert!(told.iter().all(|part| refused.contains(part)), "{refused}");
    let ptx = nvrtc.compile(&source, newest, Output::Ptx).expect("PTX");
    let text = String::from_utf8(ptx).expect("text");
    assert!(text.contains(".target sm_121") && text.contains(".entry trial"), "{text}");
    assert!(text.ends_with('\0'), "the driver reads to the zero byte");
}

#[test]
fn wrong_kernels_are_told_with_label_and_line() {
    let nvrtc = compiler();
    let wrong = |label, text| {
        let source = KernelSource { label, text };
        let failure = nvrtc.compile(&source, Architecture::TESTED[0], Output::Binary);
        not_compiled("cuda:0", &source, Architecture::TESTED[0], failure.expect_err("wrong"))
    };
    let refused = wrong("camera.cl", "\nXD_KERNEL k() { blur(1); }").to_string();
    let told = ["cuda:0: the kernels of camera.cl do not compile", "camera.cl:2: error", "blur"];
    assert!(told.iter().all(|part| refused.contains(part)), "{refused}");
    let refused = wrong("a \"b\\c", "\n\nint x").to_string();
    assert!(refused.contains("a \"b\\c"), "{refused}");
    assert!(matches!(wrong("zero", "int x;\0"), DeviceError::Compile { .. }));
}

#[test]
fn folders_without_a_compiler_and_files_that_are_none_are_told() {
    let folder = std::env::temp_dir().join(format!("crossdock-nvrtc-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("lib")).expect("a folder");
    let refused = Nvrtc::of_folder(&folder).expect_err("empty");
    assert!(
        refused.contains("has no libnvrtc.so") && refused.contains("CROSSDOCK_NVRTC"),
        "{refused}"
    );
    std::fs::write(folder.join("lib/libnvrtc.so.13"), "not a library").expect("a file");
    let refused = Nvrtc::of_folder(&folder).expect_err("no library");
    assert!(
        refused.starts_with("NVRTC cannot be loaded") && refused.contains("lib/libnvrtc.so.13")
    );
    std::fs::remove_dir_all(&folder).expect("removed");
}
