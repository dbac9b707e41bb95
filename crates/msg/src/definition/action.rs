//! Actions as data: what an `.action` file says. Goal, result and feedback are messages of their
//! own, with `---` between them; what ROS 2 derives from them (two services, the feedback message,
//! the action as a type) is derived here.

use super::parser::parse_lines;
use super::service::{OF_ACTIONS, SEPARATOR, derived_field, derived_message, message_field};
use super::text::message_text;
use super::{
    DefinitionError, Element, MessageDefinition, Primitive, ServiceDefinition, Shape, TypeName,
    is_package_name, is_type_name,
};

/// One action type as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionDefinition {
    /// Full name, such as `example_interfaces/action/Fibonacci`.
    pub type_name: TypeName,
    /// Where the text came from, for error messages.
    pub file: String,
    /// The goal, `example_interfaces/action/Fibonacci_Goal`.
    pub goal: MessageDefinition,
    /// The result, `example_interfaces/action/Fibonacci_Result`.
    pub result: MessageDefinition,
    /// The feedback, `example_interfaces/action/Fibonacci_Feedback`.
    pub feedback: MessageDefinition,
}

/// Reads the text of one `.action` file. Pure; allocates the result.
///
/// `file` only appears in error messages.
///
/// # Errors
///
/// The text has not exactly two lines `---`, or one of its parts breaks the syntax of messages.
pub fn parse_action(
    type_name: &TypeName,
    file: &str,
    text: &str,
) -> Result<ActionDefinition, DefinitionError> {
    let expected = [
        "a line `---` between the fields of the goal and of the result",
        "a second line `---`, between the fields of the result and of the feedback",
    ];
    let many = "an action, which has two lines `---`";
    let [goal, result, feedback] = sections(file, text, expected, many)?;
    let part =
        |suffix, lines: Vec<_>| parse_lines(&type_name.derived(suffix), file, lines.into_iter());
    Ok(ActionDefinition {
        type_name: type_name.clone(),
        file: file.to_owned(),
        goal: part("_Goal", goal)?,
        result: part("_Result", result)?,
        feedback: part("_Feedback", feedback)?,
    })
}

/// The numbered lines of each part of a text: `PARTS` is one more than there are separators, and
/// `missing` says for each separator what is expected.
pub(super) fn sections<'a, const PARTS: usize, const SEPARATORS: usize>(
    file: &str,
    text: &'a str,
    missing: [&str; SEPARATORS],
    many: &str,
) -> Result<[Vec<(&'a str, u32)>; PARTS], DefinitionError> {
    const { assert!(PARTS == SEPARATORS + 1) };
    let wrong = |line: u32, expected: &str, found: String| DefinitionError::Syntax {
        file: file.to_owned(),
        line,
        column: 1,
        expected: expected.to_owned(),
        found,
    };
    let mut parts = std::array::from_fn(|_| Vec::new());
    let mut part = 0;
    let mut last = 1;
    for (line, number) in text.lines().zip(1u32..) {
        last = number;
        if line.trim_end() != SEPARATOR {
            parts[part].push((line, number));
            continue;
        }
        part += 1;
        if part == PARTS {
            let found = ["a second `---`", "a third `---`"][SEPARATORS.min(2) - 1];
            return Err(wrong(number, many, found.to_owned()));
        }
    }
    match missing.get(part) {
        Some(expected) => Err(wrong(last, expected, "the end of the file".to_owned())),
        None => Ok(parts),
    }
}

/// The text of an action: bare fields and constants, without comments.
pub fn action_text(action: &ActionDefinition) -> String {
    let [goal, result, feedback] =
        [&action.goal, &action.result, &action.feedback].map(message_text);
    format!("{goal}{SEPARATOR}\n{result}{SEPARATOR}\n{feedback}")
}

impl TypeName {
    /// The action type `package/action/name`.
    pub fn action(package: &str, name: &str) -> Self {
        Self::inside(package, "action", name)
    }

    /// Reads `package/action/Name`, or `package/Name` as people write it. Nothing when the text
    /// has another form.
    pub fn parse_action(text: &str) -> Option<Self> {
        let (package, name) = match text.split('/').collect::<Vec<_>>()[..] {
            [package, "action", name] | [package, name] => (package, name),
            _ => return None,
        };
        let valid = is_package_name(package) && is_type_name(name) && !name.contains('_');
        valid.then(|| Self::action(package, name))
    }

    /// Whether it is an action, or a message or service that belongs to one.
    pub fn is_of_action(&self) -> bool {
        self.namespace == "action"
    }
}

impl ActionDefinition {
    /// The service by which clients send goals.
    pub(crate) fn send_goal(&self) -> ServiceDefinition {
        let bool = Element::Primitive(Primitive::Bool);
        let time = TypeName::message("builtin_interfaces", "Time");
        self.service(
            OF_ACTIONS[0],
            [goal_id(), message_field(("goal", self.goal.type_name.clone(), Shape::One))],
            [
                derived_field("accepted", bool, Shape::One),
                message_field(("stamp", time, Shape::One)),
            ],
        )
    }

    /// The service by which clients wait for results.
    pub(crate) fn get_result(&self) -> ServiceDefinition {
        let status = Element::Primitive(Primitive::Int8);
        self.service(
            OF_ACTIONS[1],
            [goal_id()],
            [
                derived_field("status", status, Shape::One),
                message_field(("result", self.result.type_name.clone(), Shape::One)),
            ],
        )
    }

    /// The message that servers publish while they work on a goal.
    pub(crate) fn feedback_message(&self) -> MessageDefinition {
        let feedback = ("feedback", self.feedback.type_name.clone(), Shape::One);
        let fields = [goal_id(), message_field(feedback)];
        derived_message(self.type_name.derived("_FeedbackMessage"), &self.file, fields)
    }

    /// The action as a type of its own: what its type hash is taken of.
    pub(crate) fn as_type(&self) -> MessageDefinition {
        let fields = [
            ("goal", self.goal.type_name.clone(), Shape::One),
            ("result", self.result.type_name.clone(), Shape::One),
            ("feedback", self.feedback.type_name.clone(), Shape::One),
            ("send_goal_service", self.type_name.derived(OF_ACTIONS[0]), Shape::One),
            ("get_result_service", self.type_name.derived(OF_ACTIONS[1]), Shape::One),
            ("feedback_message", self.type_name.derived("_FeedbackMessage"), Shape::One),
        ];
        derived_message(self.type_name.clone(), &self.file, fields.map(message_field))
    }

    fn service(
        &self,
        suffix: &str,
        request: impl IntoIterator<Item = super::Field>,
        response: impl IntoIterator<Item = super::Field>,
    ) -> ServiceDefinition {
        let type_name = self.type_name.derived(suffix);
        ServiceDefinition {
            request: derived_message(type_name.request(), &self.file, request),
            response: derived_message(type_name.response(), &self.file, response),
            file: self.file.clone(),
            type_name,
        }
    }
}

fn goal_id() -> super::Field {
    let uuid = TypeName::message("unique_identifier_msgs", "UUID");
    message_field(("goal_id", uuid, Shape::One))
}
