//! Text of one service type (its two messages and the marker that joins them) and of one action
//! type (its messages, those that ROS 2 derives from them, and the markers that join them).

use super::text::Text;
use super::{GenerateError, Generator, Part, message, name};
use crate::cdr::Plan;
use crate::definition::{TypeName, merged_text};
use crate::layout::Layout;
use crate::resolve::Resolved;
use crate::service::service_hash;
use std::collections::BTreeSet;

/// The types of a service or an action under construction: one module.
#[derive(Default)]
struct Module {
    imports: BTreeSet<String>,
    markers: Text,
    bodies: String,
    exported: Vec<String>,
}

impl Module {
    fn into_part(self, name: &str) -> Part {
        let mut out = Text::default();
        self.imports.iter().for_each(|import| out.line(import));
        out.line("");
        out.raw(&self.markers.into_string());
        out.raw(&self.bodies);
        let lines: String = self.exported.iter().map(|name| format!("    {name},\n")).collect();
        Part {
            module: name::module(name),
            text: out.into_string(),
            reexport: format!("{{\n{lines}}}"),
        }
    }
}

impl Generator {
    /// One generated service: a module with its marker and its two messages.
    pub(super) fn service_part(&self, package: &str, name: &str) -> Result<Part, GenerateError> {
        let mut module = Module::default();
        self.push_service(&mut module, &TypeName::service(package, name))?;
        Ok(module.into_part(name))
    }

    /// One generated action: a module with its marker, its messages and its two services.
    pub(super) fn action_part(&self, package: &str, name: &str) -> Result<Part, GenerateError> {
        let action = TypeName::action(package, name);
        let mut module = Module::default();
        self.action_marker(&mut module, &action, name)?;
        let derived = |suffix: &str| action.derived(suffix);
        for suffix in ["_Goal", "_Result", "_Feedback", "_FeedbackMessage"] {
            self.push_message(&mut module, &derived(suffix))?;
        }
        for suffix in ["_SendGoal", "_GetResult"] {
            module.markers.line("");
            self.push_service(&mut module, &derived(suffix))?;
        }
        Ok(module.into_part(name))
    }

    fn push_service(&self, module: &mut Module, service: &TypeName) -> Result<(), GenerateError> {
        let name = service.name().replace('_', "");
        self.marker(&mut module.markers, service, &name)?;
        module.exported.push(name);
        for part in [service.request(), service.response()] {
            self.push_message(module, &part)?;
        }
        Ok(())
    }

    fn push_message(&self, module: &mut Module, part: &TypeName) -> Result<(), GenerateError> {
        let resolved = self.library.resolve(part)?;
        let name = part.name().replace('_', "");
        let (wanted, body) = self.message_of_module(&resolved, &name)?;
        module.imports.extend(wanted);
        module.bodies.push('\n');
        module.bodies.push_str(&body);
        for suffix in ["", "Builder", "View"] {
            module.exported.push(format!("{name}{suffix}"));
        }
        Ok(())
    }

    fn message_of_module(
        &self,
        resolved: &Resolved,
        name: &str,
    ) -> Result<(BTreeSet<String>, String), GenerateError> {
        let layout = Layout::of(resolved)?;
        let plan = Plan::of(&layout)?;
        let subject = message::Subject {
            name: name.to_owned(),
            generator: self,
            resolved,
            layout: &layout,
            plan: &plan,
            definition: &merged_text(&resolved.definitions),
        };
        let body = subject.body()?;
        Ok((subject.imports(&body), body))
    }

    fn marker(&self, out: &mut Text, service: &TypeName, name: &str) -> Result<(), GenerateError> {
        let type_hash = service_hash(&self.library, service)?;
        out.line(format!("/// `{service}`. Names the service type; has no values."));
        out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
        out.line(format!("pub enum {name} {{}}"));
        out.line("");
        out.open(format!("impl ::crossdock_msg::Service for {name} {{"));
        out.line(format!("const TYPE_NAME: &'static str = \"{service}\";"));
        out.line(format!("/// {type_hash}"));
        message::hash_line(out, "TYPE_HASH", "TypeHash", &type_hash.0);
        out.line(format!("type Request = {name}Request;"));
        out.line(format!("type Response = {name}Response;"));
        out.close("}");
        Ok(())
    }

    fn action_marker(
        &self,
        module: &mut Module,
        action: &TypeName,
        name: &str,
    ) -> Result<(), GenerateError> {
        // As that of a service: the hash of a synthetic type that holds all others.
        let type_hash = service_hash(&self.library, action)?;
        let out = &mut module.markers;
        out.line(format!("/// `{action}`. Names the action type; has no values."));
        out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
        out.line(format!("pub enum {name} {{}}"));
        out.line("");
        out.open(format!("impl ::crossdock_msg::Action for {name} {{"));
        out.line(format!("const TYPE_NAME: &'static str = \"{action}\";"));
        out.line(format!("/// {type_hash}"));
        message::hash_line(out, "TYPE_HASH", "TypeHash", &type_hash.0);
        for part in ["Goal", "Result", "Feedback", "SendGoal", "GetResult", "FeedbackMessage"] {
            out.line(format!("type {part} = {name}{part};"));
        }
        out.close("}");
        module.exported.push(name.to_owned());
        Ok(())
    }
}
