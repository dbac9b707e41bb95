//! Verilator's lint, all warnings on, each one an error.

use crate::cache::Job;
use crate::design::Design;
use crate::tools::{run, tool};
use std::fmt;

/// What the lint did not like.
#[derive(Debug)]
pub struct LintFailure {
    design: String,
    warnings: String,
}

impl fmt::Display for LintFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lint of {}: repair what is named here\n{}", self.design, self.warnings)
    }
}

impl std::error::Error for LintFailure {}

/// Lints a design with `-Wall`. Cached.
///
/// # Errors
/// The warnings, if there is any.
pub fn lint(design: &Design) -> Result<(), LintFailure> {
    let name = format!("lint/{}", design.label());
    let parameters = design.parameters().iter();
    let arguments: Vec<String> =
        parameters.map(|(parameter, value)| format!("-G{parameter}={value}")).collect();
    let job = Job { name: &name, files: design.sources(), arguments: &arguments.join(" ") };
    let done = job.result(|folder| {
        let mut command = tool("verilator_bin", folder);
        command.args(["--lint-only", "-Wall", "--quiet", "--top-module", design.top()]);
        let ended = run({
            command.args(&arguments).args(design.source_names());
            command
        });
        let clean = ended.success() && ended.stderr.trim().is_empty();
        if clean { Ok(String::new()) } else { Err(ended.tail()) }
    });
    done.map(|_| ()).map_err(|warnings| LintFailure { design: design.label(), warnings })
}
