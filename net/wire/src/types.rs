//! Names of types: ROS writes `std_msgs/msg/String`, the wire `std_msgs::msg::dds_::String_`.

use super::shown;
use crossdock_comm::names::{NameKind, check_name};

/// What stands before the type's own name on the wire.
const DDS: &str = "dds_";

/// A text is no name of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no type on the wire: `package::msg::dds_::Name_` is expected")]
pub struct TypeError(String);

/// The name on the wire.
#[must_use]
pub fn wire_type(ros: &str) -> String {
    let (path, name) = ros.rsplit_once('/').unwrap_or(("", ros));
    format!("{}::{DDS}::{name}_", path.replace('/', "::"))
}

/// ROS's name.
///
/// # Errors
/// [`TypeError`]: the text has another form, or its parts are no legal names.
pub fn ros_type(wire: &str) -> Result<String, TypeError> {
    let wrong = || TypeError(shown(wire));
    let parts: Vec<&str> = wire.split("::").collect();
    let [package, kind, DDS, name] = parts[..] else { return Err(wrong()) };
    let name = name.strip_suffix('_').ok_or_else(wrong)?;
    let ros = format!("{package}/{kind}/{name}");
    check_name(NameKind::Type, &ros).map_err(|_| wrong())?;
    Ok(ros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_messages_services_and_actions_go_both_ways() {
        let pairs = [
            ("std_msgs/msg/String", "std_msgs::msg::dds_::String_"),
            ("example_interfaces/srv/AddTwoInts", "example_interfaces::srv::dds_::AddTwoInts_"),
            ("pkg/action/Fibonacci_SendGoal", "pkg::action::dds_::Fibonacci_SendGoal_"),
        ];
        for (ros, wire) in pairs {
            assert_eq!(wire_type(ros), wire);
            assert_eq!(ros_type(wire).as_deref(), Ok(ros));
        }
    }

    #[test]
    fn other_texts_are_no_types() {
        for wire in [
            "",
            "std_msgs/msg/String",
            "std_msgs::msg::String_",
            "std_msgs::msg::dds_::String",
            "a::b::c::dds_::String_",
            "std msgs::msg::dds_::String_",
            "std_msgs::msg::dds_::_",
            "::msg::dds_::String_",
            "EMPTY_TOPIC_TYPE",
        ] {
            assert!(ros_type(wire).is_err(), "{wire}");
        }
    }
}
