//! Parser of `.idl` text: the part of OMG IDL in which ROS 2 interfaces are written. Modules,
//! constants, structs, typedefs, and the annotations `@verbatim` (documentation) and `@default`.
//!
//! The module path names package and namespace, whatever folder the file lies in. Constants belong
//! to the struct `Name` if they stand in a module `Name_Constants`.

mod token;
mod types;
mod values;

use super::{
    ActionDefinition, Constant, DefinitionError, EMPTY_FIELD, Element, Field, FieldType,
    MessageDefinition, ServiceDefinition, Shape, TypeName, is_identifier, is_namespace,
    is_package_name, is_type_name,
};
use std::collections::BTreeMap;
use token::{Kind, Token, tokens};

/// Deepest nesting of modules: package, namespace, constants, and room for others.
const MODULES_MAX: usize = 8;

/// What an `.idl` file defines. Services and actions are recognised by the names of their parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdlFile {
    /// Messages that belong to no service and no action.
    pub messages: Vec<MessageDefinition>,
    /// Structs `Name_Request` and `Name_Response` in a module `srv`.
    pub services: Vec<ServiceDefinition>,
    /// Structs `Name_Goal`, `Name_Result` and `Name_Feedback` in a module `action`.
    pub actions: Vec<ActionDefinition>,
}

/// Reads the text of one `.idl` file. Pure; allocates the result.
///
/// `file` only appears in error messages. Includes are not followed: types are found by their
/// names.
///
/// # Errors
///
/// The text breaks the syntax, or uses a part of IDL that ROS 2 interfaces do not have; the error
/// says where and what was expected.
pub fn parse_idl(file: &str, text: &str) -> Result<IdlFile, DefinitionError> {
    let tokens = tokens(file, text)?;
    let mut parser = Parser {
        file,
        tokens,
        at: 0,
        modules: Vec::new(),
        typedefs: BTreeMap::new(),
        constants: BTreeMap::new(),
        messages: Vec::new(),
    };
    while parser.peek() != &Kind::End {
        parser.definition()?;
    }
    parser.finish()
}

struct Parser<'a> {
    file: &'a str,
    /// The last is [`Kind::End`].
    tokens: Vec<Token>,
    at: usize,
    /// The modules around the current place.
    modules: Vec<String>,
    /// By full name, parts joined by `::`.
    typedefs: BTreeMap<String, FieldType>,
    /// By full name, with the place of each in the file's order.
    constants: BTreeMap<String, (usize, Constant)>,
    messages: Vec<MessageDefinition>,
}

/// What stands before a definition or a member.
#[derive(Default)]
struct Annotations {
    documentation: String,
    default: Option<values::Literal>,
}

impl Parser<'_> {
    fn peek(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    /// The next token. The last one, the end, stays.
    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Kind::Mark(found) if *found == mark);
        if found {
            self.next();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Kind::Word(found) if found == word);
        if found {
            self.next();
        }
        found
    }

    fn mark(&mut self, mark: &str) -> Result<(), DefinitionError> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn word(&mut self, what: &str) -> Result<String, DefinitionError> {
        match self.peek() {
            Kind::Word(word) => {
                let word = word.clone();
                self.next();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The name of a member, typedef or constant. Merged texts have it, too. The escape of OMG IDL,
    /// an underscore in front of a word of its own, is none of ROS 2's.
    fn identifier(&mut self, what: &str) -> Result<String, DefinitionError> {
        let at = self.at;
        let word = self.word(what)?;
        match is_identifier(&word) {
            true => Ok(word),
            false => {
                let rule = "a letter, then letters, digits and underscores";
                Err(self.expected_at(at, &format!("{what} ({rule})")))
            }
        }
    }

    fn expected(&self, expected: &str) -> DefinitionError {
        self.expected_at(self.at, expected)
    }

    fn expected_at(&self, at: usize, expected: &str) -> DefinitionError {
        let token = &self.tokens[at];
        let found = match &token.kind {
            Kind::Word(text) | Kind::Number(text) => format!("`{text}`"),
            Kind::Text(_) => "a text".to_owned(),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::End => "the end of the file".to_owned(),
        };
        DefinitionError::Syntax {
            file: self.file.to_owned(),
            line: token.line,
            column: token.column,
            expected: expected.to_owned(),
            found,
        }
    }

    /// The full name of what is called `name` here.
    fn path(&self, name: &str) -> String {
        let parts = self.modules.iter().map(String::as_str).chain([name]);
        parts.collect::<Vec<_>>().join("::")
    }

    /// A module, a constant, a typedef or a struct. Modules nest at most [`MODULES_MAX`] deep.
    fn definition(&mut self) -> Result<(), DefinitionError> {
        let annotations = self.annotations()?;
        if self.take_word("module") {
            let name = self.word("the name of a module")?;
            if self.modules.len() == MODULES_MAX {
                return Err(self.expected(&format!("at most {MODULES_MAX} modules in each other")));
            }
            self.modules.push(name);
            self.mark("{")?;
            while !self.take("}") {
                if self.peek() == &Kind::End {
                    return Err(self.expected("`}` at the end of the module"));
                }
                self.definition()?;
            }
            self.modules.pop();
            // Some writers leave it out.
            self.take(";");
            return Ok(());
        }
        if self.take_word("const") {
            self.constant(&annotations)?;
        } else if self.take_word("typedef") {
            self.typedef()?;
        } else if self.take_word("struct") {
            self.structure(annotations)?;
        } else {
            return Err(self.expected("`module`, `const`, `typedef` or `struct`"));
        }
        self.mark(";")
    }

    fn annotations(&mut self) -> Result<Annotations, DefinitionError> {
        let mut found = Annotations::default();
        while self.take("@") {
            let name = self.word("the name of an annotation")?;
            let values = self.annotation_values()?;
            let value = |wanted: &str| values.iter().find(|(name, _)| name == wanted);
            match name.as_str() {
                "verbatim" => {
                    let comment = values::Literal::Text("comment".to_owned());
                    let is_comment = value("language").is_some_and(|(_, it)| *it == comment);
                    if let Some((_, values::Literal::Text(text))) = value("text")
                        && is_comment
                    {
                        found.documentation = text.trim().to_owned();
                    }
                }
                "default" => found.default = value("value").map(|(_, value)| value.clone()),
                // Others say nothing about memory or bytes.
                _ => {}
            }
        }
        Ok(found)
    }

    /// What stands in the parentheses of an annotation, if there are any. A value without a name is
    /// called `value`.
    fn annotation_values(&mut self) -> Result<Vec<(String, values::Literal)>, DefinitionError> {
        let mut found = Vec::new();
        if !self.take("(") {
            return Ok(found);
        }
        while !self.take(")") {
            let named = matches!(
                self.tokens.get(self.at + 1).map(|token| &token.kind),
                Some(Kind::Mark("="))
            );
            let name = match named {
                true => self.word("the name of a value")?,
                false => "value".to_owned(),
            };
            if named {
                self.mark("=")?;
            }
            found.push((name, self.literal()?));
            if !self.take(",") && self.peek() != &Kind::Mark(")") {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(found)
    }

    fn constant(&mut self, annotations: &Annotations) -> Result<(), DefinitionError> {
        let line = self.tokens[self.at].line;
        let at = self.at;
        let field_type = self.field_type()?;
        let is_plain = field_type.shape == Shape::One;
        let element = match field_type.element {
            Element::Message(_) => None,
            element => Some(element).filter(|_| is_plain),
        };
        let Some(element) = element else {
            return Err(self.expected_at(at, "the type of a constant: a number, boolean or text"));
        };
        let name = self.identifier("the name of a constant")?;
        self.mark("=")?;
        let value = self.value_of(&element, Shape::One)?;
        let documentation = annotations.documentation.clone();
        let constant = Constant { name: name.clone(), element, value, documentation, line };
        let count = self.constants.len();
        self.constants.insert(self.path(&name), (count, constant));
        Ok(())
    }

    fn typedef(&mut self) -> Result<(), DefinitionError> {
        let base = self.field_type()?;
        loop {
            let (name, field_type) = self.declarator(&base)?;
            self.typedefs.insert(self.path(&name), field_type);
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    fn structure(&mut self, annotations: Annotations) -> Result<(), DefinitionError> {
        let at = self.at;
        let name = self.word("the name of a struct")?;
        let type_name = match self.modules.as_slice() {
            [package, namespace]
                if is_package_name(package) && is_namespace(namespace) && is_type_name(&name) =>
            {
                TypeName::inside(package, namespace, &name)
            }
            _ => {
                let expected = "a struct like `Name` in the modules `package` and `msg`";
                return Err(self.expected_at(at, expected));
            }
        };
        self.mark("{")?;
        let (mut fields, mut names) = (Vec::new(), BTreeMap::new());
        while !self.take("}") {
            self.member(&mut fields, &mut names)?;
        }
        if let [Field { name, .. }] = fields.as_slice()
            && name == EMPTY_FIELD
        {
            fields.clear();
        }
        self.messages.push(MessageDefinition {
            type_name,
            file: self.file.to_owned(),
            documentation: annotations.documentation,
            fields,
            constants: Vec::new(),
        });
        Ok(())
    }

    /// One or more fields of one type. `names` has the lines of those before.
    fn member(
        &mut self,
        fields: &mut Vec<Field>,
        names: &mut BTreeMap<String, u32>,
    ) -> Result<(), DefinitionError> {
        let annotations = self.annotations()?;
        let (line, column) = (self.tokens[self.at].line, self.tokens[self.at].column);
        let base = self.field_type()?;
        loop {
            let at = self.at;
            let (name, field_type) = self.declarator(&base)?;
            if let Some(first_line) = names.insert(name.clone(), line) {
                return Err(DefinitionError::Duplicate {
                    file: self.file.to_owned(),
                    line: self.tokens[at].line,
                    name,
                    first_line,
                });
            }
            let default = match &annotations.default {
                Some(literal) => Some(self.converted(at, literal, &field_type)?),
                None => None,
            };
            let documentation = annotations.documentation.clone();
            fields.push(Field { name, field_type, default, documentation, line, column });
            if !self.take(",") {
                return self.mark(";");
            }
        }
    }

    /// Constants to their structs, requests to their responses.
    fn finish(mut self) -> Result<IdlFile, DefinitionError> {
        let constants = std::mem::take(&mut self.constants);
        for message in &mut self.messages {
            let name = &message.type_name;
            let module =
                format!("{}::{}::{}_Constants::", name.package(), name.namespace(), name.name());
            let behind = constants
                .range(module.clone()..)
                .map_while(|(path, constant)| path.starts_with(&module).then_some(constant));
            let mut own: Vec<_> = behind.collect();
            own.sort_by_key(|(place, _)| *place);
            message.constants = own.into_iter().map(|(_, constant)| constant.clone()).collect();
            refuse_name_of_both(self.file, message)?;
        }
        Ok(group(self.file, self.messages))
    }
}

/// Fields and constants of a message share their names, as in `.msg` files.
fn refuse_name_of_both(file: &str, message: &MessageDefinition) -> Result<(), DefinitionError> {
    let lines: BTreeMap<&str, u32> =
        message.constants.iter().map(|it| (it.name.as_str(), it.line)).collect();
    for Field { name, line, .. } in &message.fields {
        if let Some(first_line) = lines.get(name.as_str()) {
            let (line, first_line) = (*line.max(first_line), *line.min(first_line));
            let (file, name) = (file.to_owned(), name.clone());
            return Err(DefinitionError::Duplicate { file, line, name, first_line });
        }
    }
    Ok(())
}

/// Takes the parts of services and actions out of a file's messages.
fn group(file: &str, messages: Vec<MessageDefinition>) -> IdlFile {
    let named = |message: MessageDefinition| (message.type_name.clone(), message);
    let mut messages: BTreeMap<_, _> = messages.into_iter().map(named).collect();
    let mut found = IdlFile::default();
    for type_name in stems(&messages, "srv", "_Request") {
        let Some(response) = messages.remove(&type_name.response()) else { continue };
        let Some(request) = messages.remove(&type_name.request()) else { continue };
        found.services.push(ServiceDefinition {
            file: file.to_owned(),
            type_name,
            request,
            response,
        });
    }
    for type_name in stems(&messages, "action", "_Goal") {
        let parts = ["_Goal", "_Result", "_Feedback"].map(|suffix| type_name.derived(suffix));
        if parts.iter().any(|part| !messages.contains_key(part)) {
            continue;
        }
        if let [Some(goal), Some(result), Some(feedback)] = parts.map(|part| messages.remove(&part))
        {
            let file = file.to_owned();
            found.actions.push(ActionDefinition { type_name, file, goal, result, feedback });
        }
    }
    found.messages = messages.into_values().collect();
    found
}

/// Names of a namespace that go on with `suffix`, without it.
fn stems(
    messages: &BTreeMap<TypeName, MessageDefinition>,
    namespace: &str,
    suffix: &str,
) -> Vec<TypeName> {
    let of_namespace = messages.keys().filter(|name| name.namespace() == namespace);
    let stems = of_namespace.filter_map(|name| {
        let stem = name.name().strip_suffix(suffix)?;
        Some(TypeName::inside(name.package(), namespace, stem))
    });
    stems.collect()
}
