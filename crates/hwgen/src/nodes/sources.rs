//! What the sources of a node say, as far as a generator has to know: which modules and packages
//! they define and which names they use. A scan of words, no parser: a word too many adds a library
//! module that nothing instantiates.

use std::collections::BTreeSet;

/// The words of a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Modules, packages and interfaces that it defines.
    pub(super) defined: BTreeSet<String>,
    /// All identifiers but names of fields and ports (`.name`), macros and texts.
    pub(super) named: BTreeSet<String>,
}

/// Reads SystemVerilog or Verilog.
pub(super) fn words(text: &str) -> Words {
    const DEFINING: [&str; 6] =
        ["module", "macromodule", "package", "interface", "program", "primitive"];
    let mut words = Words::default();
    let mut defines = false;
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => quoted(rest),
            _ if is_word(c) => {
                let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
                // `.*`, numbers and their bases (8'hff) are no names.
                let is_name = !matches!(before, '.' | '`' | '\'') && !c.is_ascii_digit();
                if defines {
                    // A lifetime may stand before the name.
                    if !["automatic", "static"].contains(&word) {
                        words.defined.insert(word.to_owned());
                        defines = false;
                    }
                } else if is_name {
                    defines = DEFINING.contains(&word);
                    words.named.insert(word.to_owned());
                }
                word.len()
            }
            c => c.len_utf8(),
        };
        if !c.is_whitespace() {
            before = c;
        }
        rest = &rest[skipped..];
    }
    words
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Length of a text with its quotes.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_texts_fields_and_macros_do_not_count() {
        let found = words(
            "// module a;\n/* axis_fifo */ `include \"axis_reg.sv\"\n`axis_cdc\nmodule automatic b #(\n\
             parameter int W = 8'haxis) (input wire x);\n  replay u (.osif(x), .y(\"a \\\" gateway\"));\n\
             endmodule package p; endpackage",
        );
        assert_eq!(found.defined, ["b", "p"].map(str::to_owned).into());
        for name in ["replay", "u", "x", "wire"] {
            assert!(found.named.contains(name), "{name}: {found:?}");
        }
        for name in ["a", "axis_fifo", "axis_reg", "axis_cdc", "osif", "gateway", "haxis", "8"] {
            assert!(!found.named.contains(name), "{name}");
        }
    }

    #[test]
    fn a_source_that_breaks_off_ends() {
        for text in ["module", "\"abc", "/* abc", "//", "\"\\", "é", ""] {
            assert_eq!(words(text).defined, BTreeSet::new());
        }
    }
}
