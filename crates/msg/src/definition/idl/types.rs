//! Types and declarators of OMG IDL as types of fields.

use super::super::{DefinitionError, Element, FieldType, Primitive, Shape, TypeName};
use super::super::{Value, is_namespace, is_package_name, is_type_name};
use super::Parser;
use super::token::Kind;

/// Types of one word.
const WORDS: [(&str, Primitive); 16] = [
    ("boolean", Primitive::Bool),
    ("octet", Primitive::Byte),
    ("char", Primitive::Char8),
    ("wchar", Primitive::Wchar),
    ("float", Primitive::Float32),
    ("double", Primitive::Float64),
    ("short", Primitive::Int16),
    ("int8", Primitive::Int8),
    ("uint8", Primitive::Uint8),
    ("int16", Primitive::Int16),
    ("uint16", Primitive::Uint16),
    ("int32", Primitive::Int32),
    ("uint32", Primitive::Uint32),
    ("int64", Primitive::Int64),
    ("uint64", Primitive::Uint64),
    ("long", Primitive::Int32),
];

impl Parser<'_> {
    /// The type before a declarator.
    pub(super) fn field_type(&mut self) -> Result<FieldType, DefinitionError> {
        if !self.take_word("sequence") {
            return self.element_type();
        }
        self.mark("<")?;
        let at = self.at;
        let inner = self.field_type()?;
        if inner.shape != Shape::One {
            return Err(self
                .expected_at(at, "the type of one element: ROS 2 has no sequences of sequences"));
        }
        let bound =
            if self.take(",") { Some(self.count("the bound of a sequence")?) } else { None };
        self.mark(">")?;
        Ok(FieldType { element: inner.element, shape: Shape::Sequence { bound } })
    }

    fn element_type(&mut self) -> Result<FieldType, DefinitionError> {
        let at = self.at;
        let first = self.word("a type")?;
        let element = match first.as_str() {
            "string" => Element::Text { bound: self.text_bound()? },
            "wstring" => Element::WideText { bound: self.text_bound()? },
            "unsigned" => Element::Primitive(self.unsigned()?),
            "long" if self.take_word("double") => Element::Primitive(Primitive::Float128),
            "long" if self.take_word("long") => Element::Primitive(Primitive::Int64),
            word => match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, primitive)) => Element::Primitive(*primitive),
                None => return self.named_type(at, first),
            },
        };
        Ok(FieldType { element, shape: Shape::One })
    }

    fn unsigned(&mut self) -> Result<Primitive, DefinitionError> {
        if self.take_word("short") {
            return Ok(Primitive::Uint16);
        }
        if !self.take_word("long") {
            return Err(self.expected("`short` or `long`"));
        }
        Ok(if self.take_word("long") { Primitive::Uint64 } else { Primitive::Uint32 })
    }

    fn text_bound(&mut self) -> Result<Option<u32>, DefinitionError> {
        if !self.take("<") {
            return Ok(None);
        }
        let bound = self.count("the bound of a text")?;
        self.mark(">")?;
        Ok(Some(bound))
    }

    /// The parts of a name whose first part is taken.
    pub(super) fn scoped(&mut self, first: String) -> Result<Vec<String>, DefinitionError> {
        let mut parts = vec![first];
        while self.take("::") {
            parts.push(self.word("the next part of a name")?);
        }
        Ok(parts)
    }

    /// A typedef or a message type, by a name whose first word is taken.
    fn named_type(&mut self, at: usize, first: String) -> Result<FieldType, DefinitionError> {
        let parts = self.scoped(first)?;
        let name = parts.join("::");
        if let Some(known) = self.candidates(&name).find_map(|path| self.typedefs.get(&path)) {
            return Ok(known.clone());
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let modules: Vec<&str> = self.modules.iter().map(String::as_str).collect();
        let (package, namespace, name) = match (parts.as_slice(), modules.as_slice()) {
            ([package, namespace, name], _) => (*package, *namespace, *name),
            ([namespace, name], [package, ..]) => (*package, *namespace, *name),
            ([name], [package, namespace, ..]) => (*package, *namespace, *name),
            _ => ("", "", ""),
        };
        if !(is_package_name(package) && is_namespace(namespace) && is_type_name(name)) {
            let expected = "a type (boolean, octet, char, short, long, int8 .. uint64, float, double, \
                            string, wstring, sequence, or a struct such as geometry_msgs::msg::Point)";
            return Err(self.expected_at(at, expected));
        }
        let element = Element::Message(TypeName::inside(package, namespace, name));
        Ok(FieldType { element, shape: Shape::One })
    }

    /// What a name may mean here: in the current module, in those around it, or from the root.
    pub(super) fn candidates(&self, name: &str) -> impl Iterator<Item = String> + use<> {
        let (modules, name) = (self.modules.clone(), name.to_owned());
        (0..=modules.len()).rev().map(move |depth| {
            let parts = modules[..depth].iter().map(String::as_str).chain([name.as_str()]);
            parts.collect::<Vec<_>>().join("::")
        })
    }

    /// The name of a member or typedef, and its type: `name` or `name[N]`.
    pub(super) fn declarator(
        &mut self,
        base: &FieldType,
    ) -> Result<(String, FieldType), DefinitionError> {
        let name = self.identifier("the name of a member")?;
        if self.peek() != &Kind::Mark("[") {
            return Ok((name, base.clone()));
        }
        let at = self.at;
        self.mark("[")?;
        let count = self.count("the length of an array")?;
        self.mark("]")?;
        if base.shape != Shape::One || self.peek() == &Kind::Mark("[") {
            return Err(self.expected_at(at, "one dimension: ROS 2 has no arrays of arrays"));
        }
        Ok((name, FieldType { element: base.element.clone(), shape: Shape::Array(count) }))
    }

    /// A count from 1 to u32::MAX: a number or the name of a constant.
    fn count(&mut self, what: &str) -> Result<u32, DefinitionError> {
        let at = self.at;
        let uint32 = Element::Primitive(Primitive::Uint32);
        match self.value_of(&uint32, Shape::One) {
            Ok(Value::Integer(count)) if count > 0 => Ok(count as u32),
            _ => Err(self.expected_at(at, &format!("{what} from 1 to {}", u32::MAX))),
        }
    }
}
