//! Action types that are known when compiled: goal, result and feedback, and what ROS 2 derives
//! from them.

#![forbid(unsafe_code)]

use crate::hash::TypeHash;
use crate::message::Message;
use crate::service::Service;

/// An action type. Implemented by the generated marker types; values of it are never made.
///
/// An action server of ROS 2 has three services and two topics below the action's name: `send_goal`
/// and `get_result` of the types here, `cancel_goal` of
/// [`CancelGoal`](crate::types::action_msgs::srv::CancelGoal), `feedback` of the type here, and
/// `status` of [`GoalStatusArray`](crate::types::action_msgs::GoalStatusArray).
pub trait Action: Sized + 'static {
    /// Full ROS 2 name, such as `example_interfaces/action/Fibonacci`.
    const TYPE_NAME: &'static str;
    /// RIHS01 type hash of the action: of all types that are derived from it.
    const TYPE_HASH: TypeHash;
    /// What a client asks for.
    type Goal: Message;
    /// What has become of a goal.
    type Result: Message;
    /// How far the work on a goal is.
    type Feedback: Message;
    /// Sends a goal with its id; tells whether it is accepted.
    type SendGoal: Service;
    /// Waits for the result of the goal with an id.
    type GetResult: Service;
    /// Feedback with the id of its goal, as it is published.
    type FeedbackMessage: Message;
}
