//! Services as data: what a `.srv` file says. Request and response are messages of their own, with
//! `---` between them; what ROS 2 derives from both (the event message, the service as a type) is
//! derived here. It must not know hashes or encodings.

use super::parser::parse_lines;
use super::text::message_text;
use super::{
    DefinitionError, Element, Field, FieldType, MessageDefinition, Shape, TypeName, is_type_name,
};

/// The line between request and response.
const SEPARATOR: &str = "---";

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
    let lines = || text.lines().zip(1u32..);
    let is_separator = |line: &str| line.trim_end() == SEPARATOR;
    let mut separators = lines().filter(|(line, _)| is_separator(line)).map(|(_, number)| number);
    let wrong = |line, expected: &str, found: &str| DefinitionError::Syntax {
        file: file.to_owned(),
        line,
        column: 1,
        expected: expected.to_owned(),
        found: found.to_owned(),
    };
    let Some(separator) = separators.next() else {
        let last = lines().count() as u32;
        let expected = "a line `---` between the fields of the request and of the response";
        return Err(wrong(last.max(1), expected, "the end of the file"));
    };
    if let Some(second) = separators.next() {
        let expected = "a service, which has one `---` (an action has two)";
        return Err(wrong(second, expected, "a second `---`"));
    }
    let request = lines().take_while(|(_, number)| *number < separator);
    let response = lines().skip_while(|(_, number)| *number <= separator);
    Ok(ServiceDefinition {
        type_name: type_name.clone(),
        file: file.to_owned(),
        request: parse_lines(&type_name.request(), file, request)?,
        response: parse_lines(&type_name.response(), file, response)?,
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

    /// Reads `package/srv/Name`, or `package/Name` as people write it. Nothing when the text has
    /// another form.
    pub fn parse_service(text: &str) -> Option<Self> {
        let (package, name) = match text.split('/').collect::<Vec<_>>()[..] {
            [package, "srv", name] | [package, name] => (package, name),
            _ => return None,
        };
        let valid = super::is_package_name(package) && is_type_name(name) && !name.contains('_');
        valid.then(|| Self::service(package, name))
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

    fn derived(&self, suffix: &str) -> Self {
        Self { name: format!("{}{suffix}", self.name), ..self.clone() }
    }
}

impl ServiceDefinition {
    /// The message that ROS 2 publishes for people who watch a service: who sent or received what.
    pub(crate) fn event(&self) -> MessageDefinition {
        let at_most_one = Shape::Sequence { bound: Some(1) };
        let info = TypeName::message("service_msgs", "ServiceEventInfo");
        self.derived(
            self.type_name.derived("_Event"),
            [
                ("info", info, Shape::One),
                ("request", self.request.type_name.clone(), at_most_one),
                ("response", self.response.type_name.clone(), at_most_one),
            ],
        )
    }

    /// The service as a type of its own: what its type hash is taken of.
    pub(crate) fn as_type(&self) -> MessageDefinition {
        self.derived(
            self.type_name.clone(),
            [
                ("request_message", self.request.type_name.clone(), Shape::One),
                ("response_message", self.response.type_name.clone(), Shape::One),
                ("event_message", self.type_name.derived("_Event"), Shape::One),
            ],
        )
    }

    fn derived(
        &self,
        type_name: TypeName,
        fields: [(&str, TypeName, Shape); 3],
    ) -> MessageDefinition {
        let field = |(name, used, shape): (&str, TypeName, Shape)| Field {
            name: name.to_owned(),
            field_type: FieldType { element: Element::Message(used), shape },
            default: None,
            line: 1,
            column: 1,
        };
        let fields = fields.into_iter().map(field).collect();
        MessageDefinition { type_name, file: self.file.clone(), fields, constants: Vec::new() }
    }
}
