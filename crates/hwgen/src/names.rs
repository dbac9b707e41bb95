//! Names in generated files that are made of names of a graph or mapping, and how they are kept
//! apart from the generator's own. What a module declares has one of three forms:
//!
//! 1. A port of the network or board that is made of a name has an ending or beginning that no
//!    identifier of form 2 has: `<clock>_clk`, `<clock>_rst`, `<clock>_restart`, and
//!    `s_axis_<name>_<signal>` and `m_axis_<name>_<signal>` with the signals of a stream. It has no
//!    double underscore: Verilator writes such a name in another way in C++.
//! 2. What is the generator's own alone has no name in it, and no double underscore.
//! 3. All other identifiers that are made of a name are `<what>__<name>`, see [`within`].
//!
//! So no identifier of one form is one of another form, whatever the names are. Two names that
//! become one identifier are refused.

/// A ROS name as an identifier: `/camera/image` becomes `camera_image`.
pub(crate) fn identifier(name: &str) -> String {
    name.trim_start_matches('/').replace('/', "_")
}

/// Whether a name can stand in SystemVerilog, C++, Tcl and lists of files as it is. Files of graphs
/// have no other names; a graph that is made in a program may.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// An identifier within a module, made of a name. `what` has no double underscore and no underscore
/// at its end, so that the first double underscore tells where the name begins.
pub(crate) fn within(what: &str, name: &str) -> String {
    format!("{what}__{name}")
}
