//! What is proved, simulated or synthesised: a top module with the files and parameters it needs,
//! and faults that are put into it.

use crate::cache::Files;
use crossdock_test_support::workspace;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// A top module, its sources and its parameters.
#[derive(Debug, Clone)]
pub struct Design {
    top: String,
    sources: Files,
    properties: Files,
    parameters: Vec<(String, u64)>,
    made_of: Option<String>,
    fault: Option<String>,
}

/// A fault that was not chosen: some bytes of a source file, changed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) file: String,
    /// The byte at which it begins.
    pub(crate) place: usize,
    pub(crate) from: String,
    pub(crate) to: String,
    /// The line in which it is.
    pub(crate) line: String,
    /// Which one of how many such lines.
    pub(crate) such: (usize, usize),
    /// Which one of how many that the line has.
    pub(crate) which: (usize, usize),
}

/// The change without its place: lines move.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, from, to, line, such, which, .. } = self;
        write!(f, "{file}: `{line}`: ")?;
        if let (which, all @ 2..) = *such {
            write!(f, "line {which} of {all}: ")?;
        }
        if let (which, all @ 2..) = *which {
            write!(f, "{which} of {all} ")?;
        }
        write!(f, "`{}` becomes `{}`", from.trim(), to.trim())
    }
}

/// A fault: one place of one file, a source or properties, changed.
#[derive(Debug, Clone, Copy)]
pub struct Mutation {
    /// What the fault is, in a few plain words without punctuation: names its runs.
    pub what: &'static str,
    /// The file's name without its folder.
    pub file: &'static str,
    /// Text that the file holds exactly once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
}

impl Design {
    /// The module `top`, made from the files of these modules of `hw/` (`top`'s own among them).
    ///
    /// # Panics
    /// When a folder or file cannot be read.
    #[must_use]
    pub fn new(top: &str, modules: &[&str]) -> Self {
        let mut sources = Files::new();
        let mut properties = read(&workspace().join("hw/formal"), "svh");
        for module in modules {
            let folder = folder(module);
            sources.extend(read(&folder, "sv"));
            properties.extend(read(&folder, "svh"));
        }
        let (top, parameters) = (top.to_owned(), vec![]);
        Self { top, sources, properties, parameters, made_of: None, fault: None }
    }

    /// The module that has its own folder and needs no other.
    #[must_use]
    pub fn module(name: &str) -> Self {
        Self::new(name, &[name])
    }

    /// The same with sources that lie elsewhere, for example generated ones: name and content.
    #[must_use]
    pub fn with_source(mut self, name: &str, content: &str) -> Self {
        self.sources.insert(name.to_owned(), content.to_owned());
        self
    }

    /// The same with a file of the repository, a source or properties: its path from the root.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    #[must_use]
    pub fn with_file(mut self, path: &str) -> Self {
        let path = workspace().join(path);
        let content = std::fs::read_to_string(&path);
        let content = content.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().and_then(|it| it.to_str()).expect("a file's name");
        if name.ends_with("_formal.svh") {
            self.properties.insert(name.to_owned(), content);
            return self;
        }
        self.with_source(name, &content)
    }

    /// The same with another top module.
    #[must_use]
    pub fn with_top(mut self, top: &str) -> Self {
        top.clone_into(&mut self.top);
        self.parameters.clear();
        self
    }

    /// The same with a parameter of the top module set.
    #[must_use]
    pub fn set(mut self, parameter: &str, value: u64) -> Self {
        self.parameters.retain(|(name, _)| name != parameter);
        self.parameters.push((parameter.to_owned(), value));
        self
    }

    /// The same with a name of what its generated sources are made of: it is another design.
    #[must_use]
    pub fn made_of(mut self, what: &str) -> Self {
        self.made_of = Some(what.to_owned());
        self
    }

    /// The same with a fault in it.
    ///
    /// # Panics
    /// When the text to change is not there exactly once: the source has moved on, and the mutation
    /// has to follow it.
    #[must_use]
    pub fn mutated(mut self, mutation: &Mutation) -> Self {
        let Self { sources, properties, .. } = &mut self;
        let source = sources.get_mut(mutation.file).or_else(|| properties.get_mut(mutation.file));
        let source = source.unwrap_or_else(|| panic!("no file {} to mutate", mutation.file));
        let found = source.matches(mutation.from).count();
        assert!(
            found == 1,
            "mutation '{}': {} holds {:?} {found} times, not once; adapt the mutation to the source",
            mutation.what,
            mutation.file,
            mutation.from
        );
        *source = source.replace(mutation.from, mutation.to);
        self.fault = Some(mutation.what.to_owned());
        self
    }

    /// The same with a fault that was not chosen.
    pub(crate) fn changed(mut self, change: &Change) -> Self {
        let Change { file, place, from, to, .. } = change;
        let source = self.sources.get_mut(file).unwrap_or_else(|| panic!("no file {file}"));
        source.replace_range(*place..place + from.len(), to);
        self.fault = Some(format!("mutant {file} {place} {}", to.len()));
        self
    }

    /// The text of a source file.
    pub(crate) fn source(&self, file: &str) -> Option<&str> {
        self.sources.get(file).map(String::as_str)
    }

    /// The top module's name.
    #[must_use]
    pub fn top(&self) -> &str {
        &self.top
    }

    pub(crate) fn sources(&self) -> &Files {
        &self.sources
    }

    pub(crate) fn properties(&self) -> &Files {
        &self.properties
    }

    pub(crate) fn parameters(&self) -> &[(String, u64)] {
        &self.parameters
    }

    /// Names this design with its parameters and fault: `axis_arb-ports-3-width-64`.
    #[must_use]
    pub fn label(&self) -> String {
        let fault = self.fault.as_ref().map(|what| format!("-but-{}", what.replace(' ', "-")));
        self.faultless_label() + &fault.unwrap_or_default()
    }

    /// The label of this design before a fault was put into it.
    pub(crate) fn faultless_label(&self) -> String {
        let parameters = self.parameters.iter();
        let parameters =
            parameters.map(|(name, value)| format!("-{}-{value}", name.to_lowercase()));
        let made_of = self.made_of.iter().map(|what| format!("-of-{what}"));
        std::iter::once(self.top.clone()).chain(made_of).chain(parameters).collect()
    }

    /// What makes Yosys read this design, with its parameters. `options` are `read_verilog`'s.
    pub(crate) fn yosys_script(&self, options: &str) -> String {
        let mut script = String::new();
        for source in self.source_names() {
            writeln!(script, "read_verilog {options} {source}").expect("text");
        }
        // Set on the module itself: as arguments of `hierarchy` they leave a second copy behind,
        // and a `hierarchy` of its own before that of `prep` and `synth` loses the module.
        if !self.parameters.is_empty() {
            let sets = self.parameters.iter().map(|(name, value)| format!("-set {name} {value} "));
            writeln!(script, "chparam {}{}", sets.collect::<String>(), self.top).expect("text");
        }
        script
    }

    /// The names of the source files, in a stable order, packages before those that use them.
    pub(crate) fn source_names(&self) -> Vec<&str> {
        let is_package = |source: &str| source.lines().any(|line| line.starts_with("package "));
        let mut names: Vec<(bool, &str)> = (self.sources.iter())
            .map(|(name, source)| (!is_package(source), name.as_str()))
            .collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }
}

/// The folder of a library module: kernels have a folder of their own.
fn folder(module: &str) -> PathBuf {
    let hw = workspace().join("hw");
    let kernel = hw.join("kernels").join(module);
    if kernel.is_dir() { kernel } else { hw.join(module) }
}

/// The files of a folder with this extension, by name.
fn read(folder: &Path, extension: &str) -> Files {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a source file"))
        })
        .collect()
}

/// The C++ files of the testbench library and of one testbench.
pub(crate) fn testbench(path: &str) -> Files {
    let hw = workspace().join("hw");
    let mut files = read(&hw.join("testbench"), "hpp");
    let file = hw.join(path);
    let content = fs::read_to_string(&file);
    let content = content.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    files.insert("testbench.cpp".to_owned(), content);
    files
}
