//! Parameters of nodes that serve them, as nodes of ROS 2 do: what viewers get, set and follow.
//!
//! A parameter is called `/node.name`, as Foxglove's bridge for ROS 2 calls it. Each wish is a few
//! calls of the node's own services, by clients that are there as long as their call. Nothing is
//! kept, so nothing is out of date. Wishes are carried out one after the other.

use crate::calls::{ServiceError, ask};
use crossdock_comm::{GraphView, Participant, PortKind};
use crossdock_msg::ServiceSchema;
use crossdock_sight::Definitions;
use foxglove::websocket::{
    AnyClient, GetParametersResponder, Parameter, ParameterHandler, ParameterType, ParameterValue,
    SetParametersResponder,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Mutex;

/// Where nodes tell of changes.
pub(crate) const EVENTS_TOPIC: &str = "/parameter_events";
pub(crate) const EVENTS_TYPE: &str = "rcl_interfaces/msg/ParameterEvent";

/// Services of a node, below its name.
const LIST: &str = "/list_parameters";
const GET: &str = "/get_parameters";
const SET: &str = "/set_parameters";

/// How long one call may take. A node that hangs holds up the wishes behind it that long.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Between a node and the name of its parameter; names of nodes have none.
const SEPARATOR: char = '.';

/// Bytes of the names that viewers follow together: Foxglove's server keeps them.
const FOLLOWED_BYTES_MAX: usize = 4 << 20;

/// What a name costs beside its bytes, about.
const NAME_BYTES: usize = 200;

/// The parameters that viewers follow.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    names: AtomicUsize,
    bytes: AtomicUsize,
}

impl Followed {
    /// Viewers follow these, too.
    pub(crate) fn add(&self, names: &[String]) {
        self.names.fetch_add(names.len(), Relaxed);
        self.bytes.fetch_add(cost(names), Relaxed);
    }

    /// No viewer follows these any more.
    pub(crate) fn remove(&self, names: &[String]) {
        self.names.fetch_sub(names.len(), Relaxed);
        self.bytes.fetch_sub(cost(names), Relaxed);
    }

    pub(crate) fn are_any(&self) -> bool {
        self.names.load(Relaxed) > 0
    }

    /// Whether there is room for more.
    ///
    /// # Errors
    /// Viewers follow too many.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.bytes.load(Relaxed) > FOLLOWED_BYTES_MAX {
            true => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "viewers follow {} parameters, and the names of all may take {FOLLOWED_BYTES_MAX} \
                     bytes, with {NAME_BYTES} more for each; follow fewer",
                    self.names.load(Relaxed)
                ),
            )),
            false => Ok(()),
        }
    }
}

fn cost(names: &[String]) -> usize {
    names.iter().map(|name| name.len() + NAME_BYTES).sum()
}

/// Carries out what viewers wish, on the runtime's threads that may wait.
pub(crate) struct Parameters(Arc<Mutex<Caller>>);

impl Parameters {
    /// `None`: a folder of the user's has spoilt the types of the services.
    pub(crate) fn new(
        participant: &Participant,
        graph: GraphView,
        node: &str,
        definitions: &Definitions,
    ) -> Option<Self> {
        let schema = |name: &str| {
            let name = format!("rcl_interfaces/srv/{name}");
            definitions.service_of_any_hash(&name).map(Arc::new)
        };
        Some(Self(Arc::new(Mutex::new(Caller {
            participant: participant.clone(),
            graph,
            node: node.to_owned(),
            list: schema("ListParameters")?,
            get: schema("GetParameters")?,
            set: schema("SetParameters")?,
        }))))
    }

    fn carry_out(&self, client: AnyClient, wish: impl FnOnce(&Wish<'_>) + Send + 'static) {
        let caller = Arc::clone(&self.0);
        // It ends with the runtime; then nobody waits for it.
        drop(tokio::spawn(async move {
            let caller = caller.lock_owned().await;
            let carried_out = move || wish(&Wish { caller: &caller, client });
            tokio::task::spawn_blocking(carried_out).await
        }));
    }
}

impl ParameterHandler for Parameters {
    fn get(
        &self,
        client: AnyClient,
        names: Vec<String>,
        _request_id: Option<String>,
        responder: GetParametersResponder,
    ) {
        self.carry_out(client, move |wish| responder.respond(wish.get(&names)));
    }

    fn set(
        &self,
        client: AnyClient,
        parameters: Vec<Parameter>,
        _request_id: Option<String>,
        responder: SetParametersResponder,
    ) {
        self.carry_out(client, move |wish| responder.respond(wish.set(&parameters)));
    }
}

/// What calls need.
struct Caller {
    participant: Participant,
    graph: GraphView,
    /// The node to which our clients belong.
    node: String,
    list: Arc<ServiceSchema>,
    get: Arc<ServiceSchema>,
    set: Arc<ServiceSchema>,
}

/// One viewer's wish, and the viewer, who hears what is wrong.
struct Wish<'a> {
    caller: &'a Caller,
    client: AnyClient,
}

impl Wish<'_> {
    /// These parameters; of no names, all.
    fn get(&self, names: &[String]) -> Vec<Parameter> {
        if names.is_empty() {
            let nodes = self.caller.nodes();
            return nodes.iter().flat_map(|node| self.all_of(node)).collect();
        }
        let named = names.iter().map(|name| (name.as_str(), ()));
        let by_node = self.by_node(named).into_iter();
        by_node.flat_map(|(node, named)| self.values(node, &keys(&named))).collect()
    }

    /// Sets parameters, and gives what they are then: the old values of those that are refused.
    fn set(&self, parameters: &[Parameter]) -> Vec<Parameter> {
        let named = parameters.iter().map(|parameter| (parameter.name.as_str(), parameter));
        let mut values = Vec::new();
        for (node, named) in self.by_node(named) {
            let mut wanted = Vec::new();
            for (name, parameter) in &named {
                match to_ros(parameter) {
                    Ok(value) => wanted.push((*name, value)),
                    Err(reason) => self.refused(node, name, reason),
                }
            }
            let told: Vec<Value> = wanted
                .iter()
                .map(|(name, value)| json!({ "name": name, "value": value }))
                .collect();
            let request = json!({ "parameters": told });
            let Some(said) = self.ask(node, SET, &self.caller.set, &request) else { continue };
            for ((name, _), result) in wanted.iter().zip(elements(&said["results"])) {
                if result["successful"] != true {
                    self.refused(node, name, result["reason"].as_str().unwrap_or_default());
                }
            }
            values.extend(self.values(node, &keys(&named)));
        }
        values
    }

    fn refused(&self, node: &str, name: &str, reason: &str) {
        self.client.send_warning(format!("{node}{SEPARATOR}{name} keeps its value: {reason}"));
    }

    /// Sorts what is named by the nodes that have it.
    fn by_node<'n, T>(
        &self,
        named: impl Iterator<Item = (&'n str, T)>,
    ) -> BTreeMap<&'n str, Vec<(&'n str, T)>> {
        let mut by_node: BTreeMap<&str, Vec<(&str, T)>> = BTreeMap::new();
        for (whole, what) in named {
            match whole.split_once(SEPARATOR) {
                Some((node, name)) => by_node.entry(node).or_default().push((name, what)),
                None => self.client.send_warning(format!(
                    "`{whole}` names no parameter: write it as /node{SEPARATOR}name"
                )),
            }
        }
        by_node
    }

    fn all_of(&self, node: &str) -> Vec<Parameter> {
        let Some(said) = self.ask(node, LIST, &self.caller.list, &json!({})) else {
            return Vec::new();
        };
        let names: Vec<&str> =
            elements(&said["result"]["names"]).iter().filter_map(Value::as_str).collect();
        self.values(node, &names)
    }

    fn values(&self, node: &str, names: &[&str]) -> Vec<Parameter> {
        let request = json!({ "names": names });
        let Some(said) = self.ask(node, GET, &self.caller.get, &request) else {
            return Vec::new();
        };
        let values = elements(&said["values"]);
        if values.len() != names.len() {
            // As nodes of ROS 2 answer if one of the names is unknown.
            let names = names.join(", ");
            self.client.send_warning(format!("{node} does not have all of its parameters {names}"));
            return Vec::new();
        }
        names.iter().zip(values).map(|(name, value)| from_ros(node, name, value)).collect()
    }

    /// Calls a service of a node. If that fails, the viewer is told.
    fn ask(
        &self,
        node: &str,
        service: &str,
        schema: &Arc<ServiceSchema>,
        request: &Value,
    ) -> Option<Value> {
        let said: Result<Value, ServiceError> = {
            let Caller { participant, node: own, .. } = self.caller;
            ask(participant, own, &format!("{node}{service}"), schema, request, TIMEOUT)
        };
        said.map_err(|error| self.client.send_warning(format!("parameters of {node}: {error}")))
            .ok()
    }
}

impl Caller {
    /// Nodes that serve their parameters.
    fn nodes(&self) -> BTreeSet<String> {
        let snapshot = self.graph.snapshot();
        let served = snapshot.ports(PortKind::Server);
        let of_type = served.filter(|(_, port)| port.type_name == self.get.type_name());
        of_type.filter_map(|(_, port)| port.topic.strip_suffix(GET).map(str::to_owned)).collect()
    }
}

/// What a `rcl_interfaces/msg/ParameterEvent` tells.
pub(crate) fn of_event(event: &Value) -> Vec<Parameter> {
    let node = event["node"].as_str().unwrap_or_default();
    let told = ["new_parameters", "changed_parameters"].map(|field| elements(&event[field]));
    let parameter =
        |told: &Value| from_ros(node, told["name"].as_str().unwrap_or_default(), &told["value"]);
    told.into_iter().flatten().map(parameter).collect()
}

fn keys<'n, T>(named: &[(&'n str, T)]) -> Vec<&'n str> {
    named.iter().map(|(name, _)| *name).collect()
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A parameter from a `rcl_interfaces/msg/ParameterValue`. What viewers cannot be told, such as an
/// infinite number, has no value.
fn from_ros(node: &str, name: &str, value: &Value) -> Parameter {
    let list = |field: &str| elements(&value[field]).iter();
    let name = format!("{node}{SEPARATOR}{name}");
    let known = match value["type"].as_u64() {
        Some(1) => value["bool_value"].as_bool().map(|it| Parameter::bool(&name, it)),
        Some(2) => value["integer_value"].as_i64().map(|it| Parameter::integer(&name, it)),
        Some(3) => value["double_value"].as_f64().map(|it| Parameter::float64(&name, it)),
        Some(4) => value["string_value"].as_str().map(|it| Parameter::string(&name, it)),
        Some(5) => {
            let bytes = list("byte_array_value").map(|it| it.as_u64().map(|it| it as u8));
            bytes.collect::<Option<Vec<u8>>>().map(|it| Parameter::byte_array(&name, &it))
        }
        Some(6) => {
            let flags = list("bool_array_value").map(|it| it.as_bool().map(ParameterValue::Bool));
            array(&name, flags)
        }
        Some(7) => {
            let numbers = list("integer_array_value").map(Value::as_i64);
            numbers.collect::<Option<Vec<_>>>().map(|it| Parameter::integer_array(&name, it))
        }
        Some(8) => {
            let numbers = list("double_array_value").map(Value::as_f64);
            numbers.collect::<Option<Vec<_>>>().map(|it| Parameter::float64_array(&name, it))
        }
        Some(9) => {
            let texts = list("string_array_value").map(|it| it.as_str().map(str::to_owned));
            array(&name, texts.map(|it| it.map(ParameterValue::String)))
        }
        _ => None,
    };
    known.unwrap_or_else(|| Parameter::empty(name))
}

fn array(name: &str, values: impl Iterator<Item = Option<ParameterValue>>) -> Option<Parameter> {
    let value = Some(ParameterValue::Array(values.collect::<Option<Vec<_>>>()?));
    Some(Parameter { value, ..Parameter::empty(name) })
}

/// The fields of a `rcl_interfaces/msg/ParameterValue`, or why there is none.
fn to_ros(parameter: &Parameter) -> Result<Value, &'static str> {
    let Some(value) = &parameter.value else { return Ok(json!({})) };
    Ok(match value {
        ParameterValue::Bool(value) => json!({ "type": 1, "bool_value": value }),
        ParameterValue::Integer(value) => json!({ "type": 2, "integer_value": value }),
        ParameterValue::Float64(value) => json!({ "type": 3, "double_value": value }),
        ParameterValue::String(text) => match parameter.r#type {
            Some(ParameterType::ByteArray) => {
                let bytes = parameter.decode_byte_array().map_err(|_| "its bytes are no base64")?;
                json!({ "type": 5, "byte_array_value": bytes })
            }
            _ => json!({ "type": 4, "string_value": text }),
        },
        ParameterValue::Array(values) => {
            let (number, field) = match (parameter.r#type, values.first()) {
                (Some(ParameterType::Float64Array), _) | (_, Some(ParameterValue::Float64(_))) => {
                    (8, "double_array_value")
                }
                (_, Some(ParameterValue::Bool(_))) => (6, "bool_array_value"),
                (_, Some(ParameterValue::Integer(_))) => (7, "integer_array_value"),
                (_, Some(ParameterValue::String(_))) => (9, "string_array_value"),
                (_, None) => return Err("an empty list does not say of what it is"),
                _ => return Err("ROS 2 has no lists of this kind"),
            };
            json!({ "type": number, field: values })
        }
        ParameterValue::Dict(_) => return Err("ROS 2 has no parameters with fields"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_all_types_go_both_ways() {
        let fields = [
            json!({ "type": 1, "bool_value": true }),
            json!({ "type": 2, "integer_value": i64::MIN }),
            json!({ "type": 3, "double_value": 2.0 }),
            json!({ "type": 4, "string_value": "text" }),
            json!({ "type": 5, "byte_array_value": [0, 255] }),
            json!({ "type": 6, "bool_array_value": [true, false] }),
            json!({ "type": 7, "integer_array_value": [1, -1] }),
            json!({ "type": 8, "double_array_value": [0.5, 2.0] }),
            json!({ "type": 8, "double_array_value": [] }),
            json!({ "type": 9, "string_array_value": ["a", ""] }),
        ];
        for value in fields {
            let parameter = from_ros("/node", "name.part", &value);
            assert_eq!(parameter.name, "/node.name.part");
            assert_eq!(to_ros(&parameter), Ok(value));
        }
    }

    #[test]
    fn what_one_side_does_not_know_is_no_value() {
        for value in [json!({ "type": 0 }), json!({ "type": 3, "double_value": null }), json!({})] {
            let parameter = from_ros("/node", "name", &value);
            assert_eq!(parameter, Parameter::empty("/node.name"));
            assert_eq!(to_ros(&parameter), Ok(json!({})));
        }
        let values = [
            ParameterValue::Dict(BTreeMap::new()),
            ParameterValue::Array(Vec::new()),
            ParameterValue::Array(vec![ParameterValue::Array(Vec::new())]),
        ];
        for value in values {
            let parameter = Parameter { value: Some(value), ..Parameter::empty("/node.name") };
            assert!(to_ros(&parameter).is_err(), "{parameter:?}");
        }
    }

    #[test]
    fn an_event_tells_what_is_new_and_what_has_changed() {
        let parameter =
            |name: &str| json!({ "name": name, "value": { "type": 1, "bool_value": true } });
        let event = json!({
            "node": "/node",
            "new_parameters": [parameter("new")],
            "changed_parameters": [parameter("changed")],
            "deleted_parameters": [parameter("deleted")],
        });
        let expected = ["/node.new", "/node.changed"].map(|name| Parameter::bool(name, true));
        assert_eq!(of_event(&event), expected);
    }
}
