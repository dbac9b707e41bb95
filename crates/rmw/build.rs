//! Builds the C++ shim, and says how the plug-in is linked. It needs a C++17 compiler and no header of ROS.

fn main() {
    // Threads of the library run until the process ends, and handles point into it: it is never
    // unloaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // What links it records this name, not a path.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librmw_crossdock.so");
    println!("cargo::rerun-if-changed=shim/shim.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(true)
        .flag("-fno-strict-aliasing")
        .file("shim/shim.cpp")
        .compile("rmw_crossdock_shim");
}
