//! The topics by which ROS 2 lets others watch services and actions, from their names.

/// What stands behind a service's name in the topic of its events.
const SERVICE_EVENTS: &str = "/_service_event";
/// What stands behind an action's name in its topics and services.
const OF_ACTION: &str = "/_action/";
/// What an action's topics are called, its services' events included.
const ACTION_TOPICS: [&str; 5] = [
    "feedback",
    "status",
    "send_goal/_service_event",
    "cancel_goal/_service_event",
    "get_result/_service_event",
];

/// The action that a topic belongs to.
pub(super) fn action_of(topic: &str) -> Option<&str> {
    let (action, rest) = topic.rsplit_once(OF_ACTION)?;
    (!action.is_empty() && ACTION_TOPICS.contains(&rest)).then_some(action)
}

/// The service whose events are published on a topic; none if it is a service of an action.
pub(super) fn service_of(topic: &str) -> Option<&str> {
    let service = topic.strip_suffix(SERVICE_EVENTS)?;
    (!service.is_empty() && action_of(topic).is_none()).then_some(service)
}

#[cfg(test)]
mod tests {
    use super::{action_of, service_of};

    #[test]
    fn topics_of_services_and_actions_are_known_by_their_names() {
        assert_eq!(service_of("/lamp/switch/_service_event"), Some("/lamp/switch"));
        assert_eq!(service_of("/_service_event"), None);
        assert_eq!(service_of("/lamp/service_event"), None);
        assert_eq!(action_of("/arm/move/_action/feedback"), Some("/arm/move"));
        assert_eq!(action_of("/arm/move/_action/status"), Some("/arm/move"));
        let goals = "/arm/move/_action/send_goal/_service_event";
        assert_eq!((action_of(goals), service_of(goals)), (Some("/arm/move"), None));
        assert_eq!(action_of("/arm/_action/other"), None);
        assert_eq!(action_of("/_action/feedback"), None);
        assert_eq!(action_of("/arm/feedback"), None);
    }
}
