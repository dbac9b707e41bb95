//! Types that ROS 2 derives from services and actions, made from the text of the service or action:
//! the form in which recordings carry the type of a service's events or of an action's feedback.

#![forbid(unsafe_code)]

use crate::definition::{
    DefinitionError, TypeName, is_section_separator, parse_action, parse_merged, parse_service,
};
use crate::resolve::Library;

/// What all actions have in common, whatever their goals are: with a topic of such a type, a
/// recording carries the text of the action, which does not say it.
const OF_ALL_ACTIONS: &str = "\
===
MSG: action_msgs/GoalInfo
unique_identifier_msgs/UUID goal_id
builtin_interfaces/Time stamp
===
MSG: action_msgs/GoalStatus
int8 STATUS_UNKNOWN=0
int8 STATUS_ACCEPTED=1
int8 STATUS_EXECUTING=2
int8 STATUS_CANCELING=3
int8 STATUS_SUCCEEDED=4
int8 STATUS_CANCELED=5
int8 STATUS_ABORTED=6
action_msgs/GoalInfo goal_info
int8 status
===
MSG: action_msgs/GoalStatusArray
action_msgs/GoalStatus[] status_list
";

/// The service by which clients cancel goals.
const CANCEL_GOAL: &str = "\
action_msgs/GoalInfo goal_info
---
int8 ERROR_NONE=0
int8 ERROR_REJECTED=1
int8 ERROR_UNKNOWN_GOAL_ID=2
int8 ERROR_GOAL_TERMINATED=3
int8 return_code
action_msgs/GoalInfo[] goals_canceling
";

/// The definitions that a text holds if it defines a service or an action with all types that it
/// uses; `None` if it is the text of a message.
///
/// # Errors
///
/// A definition breaks the syntax.
pub(crate) fn library_of(
    type_name: &TypeName,
    text: &str,
) -> Result<Option<Library>, DefinitionError> {
    let mut end = 0;
    let own_lines = text.split_inclusive('\n').take_while(|line| !is_section_separator(line));
    let mut parts = 1;
    for line in own_lines {
        end += line.len();
        parts += usize::from(line.trim_end() == "---");
    }
    let (own, used) = text.split_at(end);
    let file = type_name.to_string();
    let mut library = Library::new();
    // What is derived is named by what it is derived from, and a suffix that begins with `_`.
    let base = type_name.name().split('_').next().unwrap_or_default();
    match (parts, type_name.namespace()) {
        (2, _) => {
            let owner = TypeName::service(type_name.package(), base);
            library.add_service(parse_service(&owner, &file, own)?);
        }
        (3, "action") => {
            let owner = TypeName::action(type_name.package(), base);
            library.add_action(parse_action(&owner, &file, own)?);
        }
        (3, _) => {
            let cancel = TypeName::service("action_msgs", "CancelGoal");
            library.add_service(parse_service(&cancel, &file, CANCEL_GOAL)?);
        }
        _ => return Ok(None),
    }
    if parts == 3 {
        let root = TypeName::message("action_msgs", "Parts");
        let held = parse_merged(&root, OF_ALL_ACTIONS)?;
        held.into_iter().for_each(|definition| library.add(definition));
    }
    // Nothing stands before the first separator, so that no definition is of the root's name.
    if !used.is_empty() {
        let used = parse_merged(type_name, used)?;
        used.into_iter().for_each(|definition| library.add(definition));
    }
    Ok(Some(library))
}
