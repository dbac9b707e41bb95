//! Builds the C++ shim. It needs a C++17 compiler and no header of ROS.

fn main() {
    println!("cargo::rerun-if-changed=shim/shim.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(true)
        .flag("-fno-strict-aliasing")
        .file("shim/shim.cpp")
        .compile("rmw_crossdock_shim");
}
