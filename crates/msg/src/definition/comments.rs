//! Comments of a `.msg` text as documentation of the message, its fields and its constants.
//!
//! The first block of comments speaks of the whole message. The blocks before a field or constant
//! and a comment behind it speak of the field or constant; indented lines that follow go on with
//! the comment behind it. A blank line ends a block. Blocks behind the last member speak of the
//! whole message.

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
                true => self.end_block(),
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
        // A block that comes now speaks of the member behind it.
        self.headed = true;
        let behind = comment_of(rest);
        self.open = behind.map(|_| member);
        let pending = self.blocks(behind.is_some());
        let documentation = documentation(definition, member);
        pending.iter().map(String::as_str).chain(behind).for_each(|it| push(documentation, it));
    }

    /// The end of the text.
    pub(super) fn end(mut self, definition: &mut MessageDefinition) {
        let blocks = self.blocks(false);
        let is_first = blocks.is_empty() || definition.documentation.is_empty();
        let between = (!is_first).then_some("");
        let lines = between.into_iter().chain(blocks.iter().map(String::as_str));
        lines.for_each(|line| push(&mut definition.documentation, line));
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

    /// An empty line between the block that has ended and the next one.
    fn end_block(&mut self) {
        if self.pending.last().is_some_and(|line| !line.is_empty()) {
            self.pending.push(String::new());
        }
    }

    /// Takes the blocks, with the empty line behind the last one only if `goes_on`.
    fn blocks(&mut self, goes_on: bool) -> Vec<String> {
        let mut blocks = std::mem::take(&mut self.pending);
        if !goes_on && blocks.last().is_some_and(String::is_empty) {
            blocks.pop();
        }
        blocks
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
