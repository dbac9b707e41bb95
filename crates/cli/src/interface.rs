//! `crossdock interface`: the definitions of messages, services and actions that are known, in the
//! words of `ros2 interface`.

use crate::arguments::{DefinitionArguments, InterfaceCommand, KindArguments};
use crate::definitions::{Definitions, definitions};
use crate::output::{self, clean};
use crate::yaml;
use anyhow::{Result, anyhow, bail};
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

/// Longest text of one type with those that it uses: types that nest each other twice double it at
/// each level.
const TYPE_BYTES_MAX: usize = 4_194_304;

/// Used types that are named if a type is too long.
const TYPES_NAMED: usize = 3;

/// Least bytes of a value and of what stands between it and the next one.
const VALUE_BYTES: usize = 4;

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
        show_message(library, part, 0, comments, &mut shown).ok_or_else(|| too_long(part))?;
    }
    Ok(shown)
}

fn too_long(message: &MessageDefinition) -> anyhow::Error {
    let used = message.fields.iter().filter_map(|field| match &field.field_type.element {
        Element::Message(name) => Some(clean(&name.to_string())),
        _ => None,
    });
    let used: BTreeSet<_> = used.collect();
    let named: Vec<_> = used.into_iter().take(TYPES_NAMED).collect();
    anyhow!(
        "{} has more than {TYPE_BYTES_MAX} bytes with the types that it uses: ask for one of these \
         types alone, such as {}",
        clean(&message.type_name.to_string()),
        named.join(", ")
    )
}

/// Nesting is bounded by `resolve`, the text by `TYPE_BYTES_MAX`; `None`: it is longer.
fn show_message(
    library: &Library,
    message: &MessageDefinition,
    depth: usize,
    comments: Comments,
    shown: &mut String,
) -> Option<()> {
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
            show_message(library, used, depth + 1, comments, shown)?;
        }
        if shown.len() > TYPE_BYTES_MAX {
            return None;
        }
    }
    for constant in constants {
        comment(&constant.documentation, shown);
        let _ = writeln!(shown, "{margin}{}", constant_text(constant));
    }
    (shown.len() <= TYPE_BYTES_MAX).then_some(())
}

/// A message, request or goal with its default values, in YAML.
fn prototype(definitions: &Definitions, text: &str) -> Result<String> {
    let message = match find(definitions, text)? {
        Found::Message(message) => message,
        Found::Parts(_, parts) => parts[0],
    };
    definitions.resolve(&message.type_name)?;
    let mut prototype = Prototype { library: definitions.library(), left: TYPE_BYTES_MAX };
    let value = prototype.message(message).ok_or_else(|| too_long(message))?;
    Ok(yaml::text(&value))
}

/// Elements of an array in a prototype; more are left out.
const ELEMENTS_MAX: u32 = 4096;

/// Values of a message, whose names and texts may take so many bytes more.
struct Prototype<'a> {
    library: &'a Library,
    left: usize,
}

impl Prototype<'_> {
    /// Takes bytes off the budget; `None`: so many are not left.
    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Nesting is bounded by `resolve`.
    fn message(&mut self, message: &MessageDefinition) -> Option<Json> {
        let mut values = Map::with_capacity(message.fields.len());
        for field in &message.fields {
            self.spend(field.name.len())?;
            values.insert(field.name.clone(), self.field(field)?);
        }
        Some(Json::Object(values))
    }

    fn field(&mut self, field: &Field) -> Option<Json> {
        if let Some(value) = &field.default {
            self.spend(text_bytes(value))?;
            return Some(json_of(value));
        }
        match field.field_type.shape {
            Shape::One => self.one(&field.field_type.element),
            Shape::Array(count) => {
                let count = count.min(ELEMENTS_MAX);
                let values = (0..count).map(|_| self.one(&field.field_type.element));
                values.collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Shape::Sequence { .. } => Some(Json::Array(Vec::new())),
        }
    }

    fn one(&mut self, element: &Element) -> Option<Json> {
        self.spend(VALUE_BYTES)?;
        Some(match element {
            Element::Message(name) => match self.library.get(name) {
                Some(used) => self.message(used)?,
                None => Json::Null,
            },
            Element::Text { .. } | Element::WideText { .. } => Json::from(""),
            Element::Primitive(primitive) => match primitive.name() {
                "bool" => Json::from(false),
                name if name.starts_with("float") => Json::from(0.0),
                _ => Json::from(0),
            },
        })
    }
}

/// Bytes of a value as text, about.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(values) => values.iter().map(text_bytes).sum(),
        _ => VALUE_BYTES,
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
