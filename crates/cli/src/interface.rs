//! `crossdock interface`: the definitions of messages, services and actions that are known, in the
//! words of `ros2 interface`.

use crate::arguments::{DefinitionArguments, InterfaceCommand, KindArguments};
use crate::definitions::{Definitions, definitions};
use crate::output::{self, clean};
use crate::yaml;
use anyhow::{Result, bail};
use crossdock_msg::definition::{
    Element, Field, MessageDefinition, Shape, TypeName, Value, constant_text, field_text,
};
use crossdock_msg::resolve::Library;
use crossdock_msg::rihs::type_hash;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, Read};
use std::process::ExitCode;

/// Longest name of a type that is read from standard input.
const NAME_BYTES_MAX: u64 = 4096;

/// Runs one of the interface commands.
pub(crate) fn interface(command: &InterfaceCommand) -> Result<ExitCode> {
    let known = |arguments: &DefinitionArguments| definitions(&arguments.interfaces);
    let text = match command {
        InterfaceCommand::List { kinds, definitions } => list(&known(definitions)?, *kinds),
        InterfaceCommand::Packages { kinds, definitions } => packages(&known(definitions)?, *kinds),
        InterfaceCommand::Package { package, definitions } => {
            of_package(&known(definitions)?, package)?
        }
        InterfaceCommand::Show { type_name, all_comments, no_comments, definitions } => {
            let comments = match (all_comments, no_comments) {
                (true, _) => Comments::All,
                (false, true) => Comments::None,
                (false, false) => Comments::OfType,
            };
            show(&known(definitions)?, &named(type_name)?, comments)?
        }
        InterfaceCommand::Proto { type_name, no_quotes, definitions } => {
            let text = prototype(&known(definitions)?, type_name)?;
            if *no_quotes { text } else { format!("\"{text}\"\n") }
        }
        InterfaceCommand::Hash { type_name, definitions } => {
            hashes(&known(definitions)?, type_name)?
        }
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The known types of the kinds that were asked for: messages, then services, then actions.
fn chosen(definitions: &Definitions, kinds: KindArguments) -> Vec<&TypeName> {
    let KindArguments { only_msgs, only_srvs, only_actions } = kinds;
    let every = !(only_msgs || only_srvs || only_actions);
    let is_wanted = |name: &TypeName| match (name.is_of_service(), name.is_of_action()) {
        (true, _) => only_srvs,
        (_, true) => only_actions,
        _ => only_msgs,
    };
    let mut names = definitions.names();
    names.retain(|name| every || is_wanted(name));
    names.sort_by_key(|name| (name.is_of_action(), name.is_of_service()));
    names
}

fn list(definitions: &Definitions, kinds: KindArguments) -> String {
    chosen(definitions, kinds)
        .iter()
        .map(|name| format!("{}\n", clean(&name.to_string())))
        .collect()
}

fn packages(definitions: &Definitions, kinds: KindArguments) -> String {
    let names = chosen(definitions, kinds);
    let packages: BTreeSet<&str> = names.iter().map(|name| name.package()).collect();
    packages.iter().map(|package| format!("{}\n", clean(package))).collect()
}

fn of_package(definitions: &Definitions, package: &str) -> Result<String> {
    let names = definitions.names().into_iter().filter(|name| name.package() == package);
    let lines: String = names.map(|name| format!("{}\n", clean(&name.to_string()))).collect();
    if lines.is_empty() {
        bail!(
            "no definition of the package {} is known; `crossdock interface packages` shows those \
             that are, --interfaces FOLDER brings others",
            clean(package)
        );
    }
    Ok(lines)
}

/// Which comments of the files are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comments {
    None,
    /// Of the type itself.
    OfType,
    /// Of the types that it uses, too.
    All,
}

/// What a name stands for.
enum Found<'a> {
    Message(&'a MessageDefinition),
    /// The parts between which `---` stands, and the type itself.
    Parts(TypeName, Vec<&'a MessageDefinition>),
}

/// The type with this name, which may leave out `msg`, `srv` or `action`.
fn find<'a>(definitions: &'a Definitions, text: &str) -> Result<Found<'a>> {
    let library = definitions.library();
    if let Some(message) = TypeName::parse(text).and_then(|name| library.get(&name))
        && library.service(&message.type_name).is_none()
        && library.action(&message.type_name).is_none()
    {
        return Ok(Found::Message(message));
    }
    if let Some(it) = TypeName::parse_service(text).and_then(|name| library.service(&name)) {
        return Ok(Found::Parts(it.type_name.clone(), vec![&it.request, &it.response]));
    }
    if let Some(it) = TypeName::parse_action(text).and_then(|name| library.action(&name)) {
        return Ok(Found::Parts(it.type_name.clone(), vec![&it.goal, &it.result, &it.feedback]));
    }
    if let Some(why) = definitions.broken(text) {
        bail!("the definition of {} is broken: {why}", clean(text));
    }
    bail!(
        "no definition of {} is known; {}`crossdock interface list` shows those that are, \
         --interfaces FOLDER brings others",
        clean(text),
        definitions.near(text)
    );
}

/// The type that was named; `-` stands for the first line of standard input, as in ROS 2.
fn named(type_name: &str) -> Result<String> {
    if type_name != "-" {
        return Ok(type_name.to_owned());
    }
    let mut line = String::new();
    std::io::stdin().lock().take(NAME_BYTES_MAX).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// The definition of a type with those that it uses, each indented below the field that uses it.
fn show(definitions: &Definitions, text: &str, comments: Comments) -> Result<String> {
    let library = definitions.library();
    let parts = match find(definitions, text)? {
        Found::Message(message) => vec![message],
        Found::Parts(_, parts) => parts,
    };
    let mut shown = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        // Says which used type is missing, before anything is shown.
        definitions.resolve(&part.type_name)?;
        if index > 0 {
            shown.push_str("---\n");
        }
        show_message(library, part, 0, comments, &mut shown);
    }
    Ok(shown)
}

/// Nesting is bounded by `resolve`.
fn show_message(
    library: &Library,
    message: &MessageDefinition,
    depth: usize,
    comments: Comments,
    shown: &mut String,
) {
    let margin = "\t".repeat(depth);
    let commented = comments == Comments::All || (comments == Comments::OfType && depth == 0);
    let comment = |text: &str, shown: &mut String| {
        for line in text.lines().filter(|_| commented) {
            let _ = writeln!(shown, "{margin}#{}{line}", if line.is_empty() { "" } else { " " });
        }
    };
    comment(&message.documentation, shown);
    if commented && !message.documentation.is_empty() {
        shown.push('\n');
    }
    let mut constants = message.constants.iter().peekable();
    for field in &message.fields {
        while let Some(constant) = constants.next_if(|it| it.line < field.line) {
            comment(&constant.documentation, shown);
            let _ = writeln!(shown, "{margin}{}", constant_text(constant));
        }
        comment(&field.documentation, shown);
        let _ = writeln!(shown, "{margin}{}", field_text(field));
        if let Element::Message(name) = &field.field_type.element
            && let Some(used) = library.get(name)
        {
            show_message(library, used, depth + 1, comments, shown);
        }
    }
    for constant in constants {
        comment(&constant.documentation, shown);
        let _ = writeln!(shown, "{margin}{}", constant_text(constant));
    }
}

/// A message, request or goal with its default values, in YAML.
fn prototype(definitions: &Definitions, text: &str) -> Result<String> {
    let message = match find(definitions, text)? {
        Found::Message(message) => message,
        Found::Parts(_, parts) => parts[0],
    };
    definitions.resolve(&message.type_name)?;
    let value = default_message(definitions.library(), message);
    Ok(yaml::text(&value))
}

/// Nesting is bounded by `resolve`.
fn default_message(library: &Library, message: &MessageDefinition) -> Json {
    let fields = message.fields.iter();
    let values = fields.map(|field| (field.name.clone(), default_field(library, field)));
    Json::Object(values.collect::<Map<_, _>>())
}

/// Elements of an array in a prototype; more are left out.
const ELEMENTS_MAX: u32 = 4096;

fn default_field(library: &Library, field: &Field) -> Json {
    if let Some(value) = &field.default {
        return json_of(value);
    }
    let one = || match &field.field_type.element {
        Element::Message(name) => {
            library.get(name).map_or(Json::Null, |used| default_message(library, used))
        }
        Element::Text { .. } | Element::WideText { .. } => Json::from(""),
        Element::Primitive(primitive) => match primitive.name() {
            "bool" => Json::from(false),
            name if name.starts_with("float") => Json::from(0.0),
            _ => Json::from(0),
        },
    };
    match field.field_type.shape {
        Shape::One => one(),
        Shape::Array(count) => (0..count.min(ELEMENTS_MAX)).map(|_| one()).collect(),
        Shape::Sequence { .. } => Json::Array(Vec::new()),
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Bool(value) => Json::from(*value),
        Value::Integer(value) => {
            let small = i64::try_from(*value).map(Json::from);
            small.unwrap_or_else(|_| u64::try_from(*value).map_or(Json::Null, Json::from))
        }
        Value::Float(value) => Json::from(*value),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(values) => values.iter().map(json_of).collect(),
    }
}

/// The RIHS01 hash of a type and of what ROS 2 derives from it, a line each.
fn hashes(definitions: &Definitions, text: &str) -> Result<String> {
    let library = definitions.library();
    let names = match find(definitions, text)? {
        Found::Message(message) => vec![message.type_name.clone()],
        Found::Parts(name, _) => {
            std::iter::once(name.clone()).chain(library.derived_from(&name)).collect()
        }
    };
    let mut shown = String::new();
    for name in names {
        let resolved = definitions.resolve(&name)?;
        let _ = writeln!(shown, "{}  {}", type_hash(&resolved), clean(&name.to_string()));
    }
    Ok(shown)
}
