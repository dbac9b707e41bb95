//! Text of one service type: its two messages and the marker that joins them.

use super::text::Text;
use super::{GenerateError, Generator, Part, message, name};
use crate::cdr::Plan;
use crate::definition::TypeName;
use crate::layout::Layout;
use crate::resolve::Resolved;
use crate::service::{merged_texts, service_hash};
use std::collections::BTreeSet;

impl Generator {
    /// One generated service: a module with its marker and its two messages.
    pub(super) fn service_part(&self, package: &str, name: &str) -> Result<Part, GenerateError> {
        let service = TypeName::service(package, name);
        let texts = merged_texts(&self.library, &service)?;
        let mut imports = BTreeSet::new();
        let mut bodies = String::new();
        let parts = [service.request(), service.response()];
        for (part, definition) in parts.iter().zip(&texts) {
            let resolved = self.library.resolve(part)?;
            let (wanted, body) = self.message_of_service(&resolved, definition)?;
            imports.extend(wanted);
            bodies.push('\n');
            bodies.push_str(&body);
        }
        let mut out = Text::default();
        imports.iter().for_each(|import| out.line(import));
        out.line("");
        self.marker(&mut out, &service, name)?;
        out.raw(&bodies);
        let exported = [
            name.to_owned(),
            format!("{name}Request"),
            format!("{name}RequestBuilder"),
            format!("{name}RequestView"),
            format!("{name}Response"),
            format!("{name}ResponseBuilder"),
            format!("{name}ResponseView"),
        ];
        let lines: String = exported.iter().map(|name| format!("    {name},\n")).collect();
        Ok(Part {
            module: name::module(name),
            text: out.into_string(),
            reexport: format!("{{\n{lines}}}"),
        })
    }

    fn message_of_service(
        &self,
        resolved: &Resolved,
        definition: &str,
    ) -> Result<(BTreeSet<String>, String), GenerateError> {
        let layout = Layout::of(resolved)?;
        let plan = Plan::of(&layout)?;
        let subject = message::Subject {
            name: resolved.root().type_name.name().replace('_', ""),
            generator: self,
            resolved,
            layout: &layout,
            plan: &plan,
            definition,
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
}
