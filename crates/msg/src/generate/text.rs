//! Indented lines of generated text.

/// The lines of a comment, without what compilers refuse there: control characters, and characters
/// that turn the direction of the text around.
pub(super) fn comment_lines(text: &str) -> impl Iterator<Item = String> {
    let turns = |it: char| matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = move |it: char| match it {
        '\t' => it,
        _ if it.is_control() || turns(it) => '\u{fffd}',
        _ => it,
    };
    text.lines().map(move |line| line.trim_end().chars().map(shown).collect())
}

/// Text under construction.
#[derive(Default)]
pub(super) struct Text {
    text: String,
    depth: usize,
}

impl Text {
    /// Appends a line at the current depth; an empty one stays empty.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Appends a line that ends with `{`, and goes one level in.
    pub(super) fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Goes one level in behind a line that is there already.
    pub(super) fn open_only(&mut self) {
        self.depth += 1;
    }

    /// Goes one level out and appends the line that closes it.
    pub(super) fn close(&mut self, line: impl AsRef<str>) {
        if self.text.ends_with("\n\n") {
            self.text.pop();
        }
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Goes one level out without a line, where the language has none that closes.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Appends lines as they are, without indentation.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }
}
