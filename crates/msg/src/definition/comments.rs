//! Comments of a `.msg` text as documentation of the message, its fields and its constants.
//!
//! The first block of comments speaks of the whole message. A block right before a field or
//! constant and a comment behind it speak of the field or constant; indented lines that follow go
//! on with the comment behind it. A blank line ends a block.

use super::MessageDefinition;

/// What was read last, so that a comment behind it can go on in the next lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// The last field.
    Field,
    /// The last constant.
    Constant,
}

/// The comments that have not found what they speak of.
#[derive(Default)]
pub(super) struct Comments {
    pending: Vec<String>,
    /// A member with a comment behind it, in the line before.
    open: Option<Member>,
    /// The block of the whole message has ended.
    headed: bool,
}

impl Comments {
    /// A line without a field or constant: `text` begins with `#` or is empty.
    pub(super) fn line(&mut self, text: &str, indented: bool, definition: &mut MessageDefinition) {
        let Some(comment) = comment_of(text) else {
            self.open = None;
            match self.headed {
                true => self.pending.clear(),
                false => self.head(definition),
            }
            return;
        };
        match self.open.filter(|_| indented) {
            Some(member) => push(documentation(definition, member), comment),
            None => {
                self.open = None;
                self.pending.push(comment.to_owned());
            }
        }
    }

    /// A line with a field or constant, which is the last of its kind now, and what is behind it.
    pub(super) fn member(
        &mut self,
        member: Member,
        rest: &str,
        definition: &mut MessageDefinition,
    ) {
        self.head(definition);
        let behind = comment_of(rest);
        self.open = behind.map(|_| member);
        let pending = std::mem::take(&mut self.pending);
        let documentation = documentation(definition, member);
        pending.iter().map(String::as_str).chain(behind).for_each(|it| push(documentation, it));
    }

    /// The end of the text.
    pub(super) fn end(mut self, definition: &mut MessageDefinition) {
        self.head(definition);
    }

    /// Gives the first block to the message.
    fn head(&mut self, definition: &mut MessageDefinition) {
        if self.headed || self.pending.is_empty() {
            return;
        }
        self.headed = true;
        let pending = std::mem::take(&mut self.pending);
        pending.iter().for_each(|line| push(&mut definition.documentation, line));
    }
}

/// The words of a comment, without its marks.
fn comment_of(text: &str) -> Option<&str> {
    let words = text.trim_end().strip_prefix('#')?.trim_start_matches('#');
    Some(words.strip_prefix(' ').unwrap_or(words))
}

fn documentation(definition: &mut MessageDefinition, member: Member) -> &mut String {
    // Callers have just added a member of this kind.
    let found = match member {
        Member::Field => definition.fields.last_mut().map(|it| &mut it.documentation),
        Member::Constant => definition.constants.last_mut().map(|it| &mut it.documentation),
    };
    found.unwrap_or(&mut definition.documentation)
}

/// Appends a line. Empty lines stand between others only.
fn push(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
