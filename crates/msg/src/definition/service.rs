//! Services as data: what a `.srv` file says. Request and response are messages of their own, with
//! `---` between them; what ROS 2 derives from both (the event message, the service as a type) is
//! derived here.

use super::action::sections;
use super::parser::parse_lines;
use super::text::message_text;
use super::{
    DefinitionError, Element, Field, FieldType, MessageDefinition, Shape, TypeName, is_type_name,
};

/// The line between request and response.
pub(super) const SEPARATOR: &str = "---";

/// What the services of an action are called behind the action's name.
pub(super) const OF_ACTIONS: [&str; 2] = ["_SendGoal", "_GetResult"];

/// One service type as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceDefinition {
    /// Full name, such as `std_srvs/srv/SetBool`.
    pub type_name: TypeName,
    /// Where the text came from, for error messages.
    pub file: String,
    /// The request, `std_srvs/srv/SetBool_Request`.
    pub request: MessageDefinition,
    /// The response, `std_srvs/srv/SetBool_Response`.
    pub response: MessageDefinition,
}

/// Reads the text of one `.srv` file. Pure; allocates the result.
///
/// `file` only appears in error messages.
///
/// # Errors
///
/// The text has not exactly one line `---`, or one of its halves breaks the syntax of messages.
pub fn parse_service(
    type_name: &TypeName,
    file: &str,
    text: &str,
) -> Result<ServiceDefinition, DefinitionError> {
    let expected = "a line `---` between the fields of the request and of the response";
    let [request, response] =
        sections(file, text, [expected], "a service, which has one `---` (an action has two)")?;
    Ok(ServiceDefinition {
        type_name: type_name.clone(),
        file: file.to_owned(),
        request: parse_lines(&type_name.request(), file, request.into_iter())?,
        response: parse_lines(&type_name.response(), file, response.into_iter())?,
    })
}
/// The text of a service: bare fields and constants, without comments.
pub fn service_text(service: &ServiceDefinition) -> String {
    format!("{}{SEPARATOR}\n{}", message_text(&service.request), message_text(&service.response))
}

impl TypeName {
    /// The service type `package/srv/name`.
    pub fn service(package: &str, name: &str) -> Self {
        Self { package: package.into(), namespace: "srv".into(), name: name.into() }
    }

    /// Reads `package/srv/Name`, `package/Name` as people write it, or a service of an action, such
    /// as `package/action/Name_SendGoal`. Nothing when the text has another form.
    pub fn parse_service(text: &str) -> Option<Self> {
        let (package, namespace, name) = match text.split('/').collect::<Vec<_>>()[..] {
            [package, namespace @ ("srv" | "action"), name] => (package, namespace, name),
            [package, name] => (package, "srv", name),
            _ => return None,
        };
        let own = match namespace {
            "action" => OF_ACTIONS.iter().find_map(|suffix| name.strip_suffix(suffix))?,
            _ => name,
        };
        let valid = super::is_package_name(package) && is_type_name(own) && !own.contains('_');
        valid.then(|| Self::inside(package, namespace, name))
    }

    /// Whether it is a service, or a message that belongs to one.
    pub fn is_of_service(&self) -> bool {
        self.namespace == "srv"
    }

    /// The message type of a service's requests.
    pub fn request(&self) -> Self {
        self.derived("_Request")
    }

    /// The message type of a service's responses.
    pub fn response(&self) -> Self {
        self.derived("_Response")
    }

    /// The message type of a service's events.
    pub fn event(&self) -> Self {
        self.derived("_Event")
    }
}

impl ServiceDefinition {
    /// The message that ROS 2 publishes for people who watch a service: who sent or received what.
    pub(crate) fn event(&self) -> MessageDefinition {
        let at_most_one = Shape::Sequence { bound: Some(1) };
        let info = TypeName::message("service_msgs", "ServiceEventInfo");
        let fields = [
            ("info", info, Shape::One),
            ("request", self.request.type_name.clone(), at_most_one),
            ("response", self.response.type_name.clone(), at_most_one),
        ];
        derived_message(self.type_name.event(), &self.file, fields.map(message_field))
    }

    /// The service as a type of its own: what its type hash is taken of.
    pub(crate) fn as_type(&self) -> MessageDefinition {
        let fields = [
            ("request_message", self.request.type_name.clone(), Shape::One),
            ("response_message", self.response.type_name.clone(), Shape::One),
            ("event_message", self.type_name.event(), Shape::One),
        ];
        derived_message(self.type_name.clone(), &self.file, fields.map(message_field))
    }
}

/// A message type that ROS 2 derives from a service or an action.
pub(super) fn derived_message(
    type_name: TypeName,
    file: &str,
    fields: impl IntoIterator<Item = Field>,
) -> MessageDefinition {
    MessageDefinition {
        type_name,
        file: file.to_owned(),
        documentation: String::new(),
        fields: fields.into_iter().collect(),
        constants: Vec::new(),
    }
}

/// A field of a derived message that holds another message.
pub(super) fn message_field((name, used, shape): (&str, TypeName, Shape)) -> Field {
    derived_field(name, Element::Message(used), shape)
}

/// A field of a derived message.
pub(super) fn derived_field(name: &str, element: Element, shape: Shape) -> Field {
    Field {
        name: name.to_owned(),
        field_type: FieldType { element, shape },
        default: None,
        documentation: String::new(),
        line: 1,
        column: 1,
    }
}
