//! Whose requests a server takes.

use super::ServiceType;

/// Types of services by which a process is controlled, as ROS 2 names them: what ends with `/` is a
/// whole folder of types.
const CONTROLS: [&str; 6] = [
    "rosbag2_interfaces/srv/",
    "composition_interfaces/srv/",
    "lifecycle_msgs/srv/ChangeState",
    "rcl_interfaces/srv/SetLoggerLevels",
    "rcl_interfaces/srv/SetParameters",
    "rcl_interfaces/srv/SetParametersAtomically",
];

/// Whose requests a server takes. The type of its service decides it, so that no server of such a
/// type can be open by an oversight: not of a command, of ROS 2 or of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callers {
    /// Of everybody who is let in.
    All,
    /// Of the own user, root and trusted users.
    Trusted,
}

impl Callers {
    pub(super) fn of(service_type: &ServiceType<'_>) -> Callers {
        let name = service_type.type_name;
        let controls = |it: &str| name == it || (it.ends_with('/') && name.starts_with(it));
        match CONTROLS.iter().any(|it| controls(it)) {
            true => Callers::Trusted,
            false => Callers::All,
        }
    }
}
