//! `crossdock interface`: the definitions of messages and services, as packages are built with
//! them.

use crate::arguments::{DefinitionArguments, InterfaceCommand};
use crate::load::definitions;
use crate::output::{self, clean, near_name};
use anyhow::{Result, bail};
use crossdock_msg::definition::{TypeName, merged_text, service_text};
use crossdock_msg::resolve::Library;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Runs one of the interface commands.
pub(crate) fn interface(command: &InterfaceCommand) -> Result<ExitCode> {
    let (InterfaceCommand::List(DefinitionArguments { interfaces })
    | InterfaceCommand::Show { definitions: DefinitionArguments { interfaces }, .. }) = command;
    let definitions = definitions(interfaces)?;
    let library = definitions.library();
    let text = match command {
        InterfaceCommand::List(_) => names(library).iter().map(|name| clean(name) + "\n").collect(),
        InterfaceCommand::Show { type_name, .. } => definition(library, type_name)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// All types, those of services once.
fn names(library: &Library) -> BTreeSet<String> {
    let messages = library.iter().map(|it| &it.type_name).filter(|name| !name.is_of_service());
    let services = library.services().map(|service| &service.type_name);
    messages.chain(services).map(ToString::to_string).collect()
}

/// The definition of a message with those that it uses, or of a service.
fn definition(library: &Library, type_name: &str) -> Result<String> {
    let name = TypeName::parse_service(type_name);
    if let Some(service) = name.and_then(|name| library.service(&name)) {
        return Ok(service_text(service));
    }
    match TypeName::parse(type_name) {
        Some(name) if library.get(&name).is_some() => {
            Ok(merged_text(&library.resolve(&name)?.definitions))
        }
        _ => bail!(
            "no definition of {} is known; {}`crossdock interface list` shows those that are, \
             --interfaces FOLDER brings others",
            clean(type_name),
            near(library, type_name)
        ),
    }
}

/// `did you mean ...? ` for a type that is not known, or whose package was left out.
fn near(library: &Library, type_name: &str) -> String {
    let names = names(library);
    let last = |name: &str| name.rsplit('/').next().is_some_and(|last| last == type_name);
    match names.iter().find(|name| last(name)) {
        Some(name) => format!("did you mean `{}`? ", clean(name)),
        None => clean(&near_name(type_name, names.iter().map(String::as_str))),
    }
}
