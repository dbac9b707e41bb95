//! Faults that tests put into modules still fit them.

use crossdock_test_support::workspace;
use std::fs;
use std::path::Path;
use syn::visit::Visit;

/// The literal values of the fields `file` and `from` of each `Mutation`.
#[derive(Default)]
struct Faults(Vec<(String, String)>);

impl Visit<'_> for Faults {
    fn visit_expr_struct(&mut self, value: &syn::ExprStruct) {
        if !value.path.is_ident("Mutation") {
            return syn::visit::visit_expr_struct(self, value);
        }
        let text = |name: &str| {
            let field = value.fields.iter().find(
                |field| matches!(&field.member, syn::Member::Named(member) if member == name),
            );
            match &field.expect("all fields").expr {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.value(),
                _ => panic!("a fault is literal text, so that this test can look for it"),
            }
        };
        self.0.push((text("file"), text("from")));
    }
}

fn walk(folder: &Path, see: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, see) } else { see(&path) }
    }
}

/// Most faults are put in by long tests alone: a module that moves on must not wait for these.
#[test]
fn every_shipped_fault_changes_text_that_its_file_holds_once() {
    let mut hardware: Vec<(String, String)> = Vec::new();
    for folder in ["hw", "apps", "crates/hwgen/tests/golden"] {
        walk(&workspace().join(folder), &mut |path| {
            if path.extension().is_some_and(|found| found == "sv" || found == "svh") {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                hardware.push((name, fs::read_to_string(path).expect("a source file")));
            }
        });
    }
    let mut faults = Faults::default();
    walk(&workspace().join("tests/hardware/tests"), &mut |path| {
        if path.extension().is_none_or(|found| found != "rs") {
            return;
        }
        let text = fs::read_to_string(path).expect("a test");
        faults.visit_file(&syn::parse_file(&text).expect("Rust"));
    });
    assert!(faults.0.len() > 200, "{} faults: the tests have many", faults.0.len());
    for (file, from) in faults.0 {
        let mut sources = hardware.iter().filter(|(name, _)| *name == file).peekable();
        // Names of the system's own have modules that no golden file shows.
        assert!(
            sources.peek().is_none() && file.ends_with("_messages.sv")
                || sources.any(|(_, text)| text.matches(&from).count() == 1),
            "{file} does not hold {from:?} once"
        );
    }
}
