//! What a package that runs by itself quotes of files and messages, and what reaches the terminal.

use super::{Folder, by_hand};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use std::time::Duration;

/// Ends with the text of its parameter, as nodes end with a text of a message: in an error, or as
/// the reason for the end of the run.
pub(super) struct Quoting {
    text: String,
    fails: bool,
}

impl NodeType for Quoting {
    const NAME: &'static str = "quoting";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .parameter("text", "", "what it quotes")
            .parameter("fails", false, "whether it fails")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { text: setup.parameter("text")?, fails: setup.parameter("fails")? })
    }
}

impl Node for Quoting {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if self.fails {
            return Err(NodeError::new(format!("no picture in `{}`", self.text)));
        }
        context.finish(self.text.clone());
        Ok(())
    }
}

#[test]
fn nothing_that_files_and_messages_say_drives_the_terminal_of_a_package_started_by_hand() {
    let folder = Folder::new("quoting");
    let file = folder.path().join("parameters.yaml");
    let evil = r#""\e[31mevil\nsecond line\x9b2J""#;
    for (parameters, is_well) in [
        // The reason of the end, an error of the node, keys that the node does not have, faults of
        // the file.
        (format!("text: {evil}"), true),
        (format!("{{text: {evil}, fails: true}}"), false),
        (format!("{{{evil}: 3}}"), true),
        (format!("text: {{{evil}: 3}}"), true),
        (format!("fails: true\n{evil}: {{ros__parameters: {{a: 1}}}}"), false),
        (format!("text: [{evil}, 3]"), false),
    ] {
        let text = format!("quoting:\n  ros__parameters:\n    {parameters}\n");
        std::fs::write(&file, text).expect("written");
        let words = format!("quoting --ros-args --params-file {}", file.display());
        let (ended_well, said) = by_hand(&folder, &words, "");
        assert_eq!(ended_well, is_well, "{parameters}: {said:?}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{parameters}: {said:?}");
        assert!(!said.contains("\nsecond line"), "{parameters}: {said:?}");
        assert!(said.contains("evil") || parameters.contains('['), "{parameters}: {said:?}");
    }
}
