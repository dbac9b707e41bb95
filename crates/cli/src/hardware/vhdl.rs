//! VHDL to Verilog, by GHDL where it is installed.

use crate::scratch::Scratch;
use crossdock_graph::HardwareNode;
use crossdock_hwgen::SourceText;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// What is wrong, and what to do.
type Fault = (String, String);
/// Characters of what GHDL says that are shown.
const SHOWN_CHARS: usize = 600;

/// One Verilog source per VHDL entity that is the node's module or that its other sources name.
/// Each holds all that is inside the entity. The names of `sources` are those in `folder`.
pub(super) fn to_verilog(
    node: &HardwareNode,
    folder: &Path,
    sources: &[SourceText],
    others: &[SourceText],
) -> Result<Vec<SourceText>, Fault> {
    let names: Vec<&str> = sources.iter().map(|it| it.name.as_str()).collect();
    let names = names.join(", ");
    let entities: Vec<String> = sources.iter().flat_map(|it| entities(&it.text)).collect();
    let module = node.module.to_lowercase();
    let is_named = |entity: &&String| others.iter().any(|it| has_word(&it.text, entity));
    let wanted: Vec<&String> = match entities.iter().find(|entity| **entity == module) {
        Some(_) if !node.description.parameters.is_empty() => {
            let message = format!(
                "module `{}` is VHDL ({names}) and has parameters, which Verilog made of it does not",
                node.module
            );
            let advice = "put it into a module in SystemVerilog that has them, or leave out \
                          `parameters` and give its generics defaults";
            return Err((message, advice.to_owned()));
        }
        Some(entity) => vec![entity],
        None => entities.iter().filter(is_named).collect(),
    };
    if wanted.is_empty() {
        let message = format!(
            "{names} has no entity `{module}`, and no other source names one of its entities"
        );
        return Err((message, "name the node's entity under `module`".to_owned()));
    }
    wanted.into_iter().map(|entity| verilog(entity, &names, folder, sources)).collect()
}

fn verilog(
    entity: &str,
    names: &str,
    folder: &Path,
    sources: &[SourceText],
) -> Result<SourceText, Fault> {
    // Its library of analysed units goes to a folder of its own, which is left behind by nobody.
    let work = Scratch::new("ghdl")
        .map_err(|error| (crate::output::sentence(&error), "check TMPDIR".to_owned()))?;
    let mut command = Command::new("ghdl");
    command.args(["synth", "--std=08", "--out=verilog"]);
    command.arg(format!("--workdir={}", work.folder().display()));
    // GHDL writes the names of files into comments: they are the same wherever it runs.
    command.args(sources.iter().map(|it| &it.name)).args(["-e", entity]);
    command.current_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let output = command.output();
    drop(work);
    let output = output.map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            let message = format!(
                "{names} is VHDL, which GHDL turns into Verilog, and there is no command `ghdl`"
            );
            let advice = "install it (Debian, Ubuntu: `sudo apt-get install ghdl`), or write the node in \
                          SystemVerilog";
            return (message, advice.to_owned());
        }
        (format!("`ghdl` cannot be started: {error}"), "check its installation".to_owned())
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.trim().is_empty() {
        let said: String = said.trim().chars().take(SHOWN_CHARS).collect();
        let message = format!("GHDL makes no Verilog of entity `{entity}` in {names}: {said}");
        return Err((message, "correct the sources, or write them in SystemVerilog".to_owned()));
    }
    Ok(SourceText { name: format!("{entity}.v"), text })
}

/// The entities that a source declares, in lower case as GHDL writes them.
fn entities(text: &str) -> Vec<String> {
    let code = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join(" ").to_lowercase();
    let words: Vec<&str> = code.split_whitespace().collect();
    let declared = words.windows(3).filter(|it| it[0] == "entity" && it[2] == "is");
    declared.map(|it| it[1].to_owned()).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_found_and_comments_are_not() {
        let text = "-- entity no is\nlibrary ieee;\nEntity Blur_Line\n is port (clk : in bit); end entity;\n\
                    architecture a of Blur_Line is begin u : entity work.other; end;\n";
        assert_eq!(entities(text), ["blur_line"]);
    }
}
