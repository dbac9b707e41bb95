//! Which modules of a crate import which, as its source says it.
//!
//! A small reader of Rust: it sees paths that begin with `crate::` or `super::`, in `use`
//! declarations and elsewhere, with their braces. A name that a module re-exports counts as an
//! import of the module that holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path inside its crate; empty: the root.
pub(crate) type Module = Vec<String>;

/// The modules of one crate, and what each of them imports.
pub(crate) struct Modules {
    imports: BTreeMap<Module, BTreeSet<Module>>,
}

impl Modules {
    /// Reads the modules below a `src` folder: all of `files`.
    pub(crate) fn read(src: &Path, files: &[PathBuf]) -> Modules {
        let sources: BTreeMap<Module, String> =
            files.iter().map(|file| (module_of(src, file), product_text(file))).collect();
        let names: BTreeSet<Module> = sources.keys().cloned().collect();
        let exports: BTreeMap<(Module, String), Module> =
            (sources.iter()).flat_map(|(module, text)| exports_of(&names, module, text)).collect();
        let imports = |(module, text): (&Module, &String)| {
            let paths = paths_of(module, text);
            let found = paths.iter().map(|path| resolve(&names, &exports, path));
            // What a module shares with the module that it is a part of is a split of one file.
            let others = found.filter(|it| !it.starts_with(module) && !module.starts_with(it));
            (module.clone(), others.collect())
        };
        Modules { imports: sources.iter().map(imports).collect() }
    }

    /// The largest set of modules that all lead to each other; empty if there is no circle.
    pub(crate) fn largest_circle(&self) -> Vec<String> {
        let reached: BTreeMap<_, _> =
            self.imports.keys().map(|module| (module, self.reached_from(module))).collect();
        let circle = |module: &Module| -> Vec<String> {
            let both = reached[module].iter().filter(|other| reached[other].contains(module));
            both.map(|other| other.join("::")).collect()
        };
        self.imports.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
    }

    fn reached_from(&self, module: &Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Module> = self.imports[module].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module.clone()) {
                next.extend(self.imports.get(module).into_iter().flatten());
            }
        }
        reached
    }

    /// The rooms: the modules right below the root.
    pub(crate) fn rooms(&self) -> BTreeSet<&str> {
        self.imports.keys().filter_map(|module| Some(module.first()?.as_str())).collect()
    }

    /// The imports of one room from others: importing module, imported module.
    pub(crate) fn imports_of_room<'a>(
        &'a self,
        room: &'a str,
    ) -> impl Iterator<Item = (&'a Module, &'a Module)> {
        let inside = move |module: &Module| module.first().is_some_and(|first| first == room);
        let modules = self.imports.iter().filter(move |(module, _)| inside(module));
        let pairs = modules.flat_map(|(module, others)| others.iter().map(move |it| (module, it)));
        pairs.filter(move |(_, other)| !other.is_empty() && !inside(other))
    }
}

fn module_of(src: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(src).expect("a file of the crate").with_extension("");
    let mut parts: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// A file's text without its comments and its unit tests.
fn product_text(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("source");
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text[..end].lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.collect::<Vec<_>>().join("\n")
}

/// All paths that begin with `crate::` or `super::`, from the crate's root on.
fn paths_of(module: &Module, text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':') {
                add_paths(&absolute(module, &text[at..]), &mut paths);
            }
        }
    }
    paths
}

/// The path's beginning as segments from the root on, and what follows them.
fn absolute<'a>(module: &Module, mut path: &'a str) -> (Vec<String>, &'a str) {
    let mut base = module.clone();
    if let Some(rest) = path.strip_prefix("crate::") {
        (base, path) = (Vec::new(), rest);
    }
    path = path.strip_prefix("self::").unwrap_or(path);
    while let Some(rest) = path.strip_prefix("super::") {
        base.pop();
        path = rest;
    }
    (base, path)
}

/// Adds each path that a tree of segments and braces names.
fn add_paths((base, tree): &(Vec<String>, &str), paths: &mut Vec<Vec<String>>) {
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tree.len());
    let (segment, rest) = tree.split_at(end);
    if let Some(inner) = tree.strip_prefix('{') {
        branches(inner).iter().for_each(|it| add_paths(&(base.clone(), it.trim()), paths));
        return;
    }
    let mut path = base.clone();
    if segment != "self" && !segment.is_empty() {
        path.push(segment.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) => add_paths(&(path, rest), paths),
        None => paths.push(path),
    }
}

/// The parts of a brace that has been opened, up to its end.
fn branches(inner: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts
}

/// The names that a module takes from others and hands on, with the modules that hold them.
fn exports_of(
    names: &BTreeSet<Module>,
    module: &Module,
    text: &str,
) -> Vec<((Module, String), Module)> {
    let mut paths = Vec::new();
    for start in ["pub use ", "pub(crate) use ", "pub(super) use "] {
        for (at, _) in text.match_indices(start) {
            add_paths(&absolute(module, &text[at + start.len()..]), &mut paths);
        }
    }
    let export = |path: Vec<String>| {
        let name = path.last()?.clone();
        let holder = longest(names, &path);
        (holder != *module && !holder.is_empty()).then(|| ((module.clone(), name), holder))
    };
    paths.into_iter().filter_map(export).collect()
}

/// The longest beginning of a path that is a module.
fn longest(names: &BTreeSet<Module>, path: &[String]) -> Module {
    let lengths = (0..=path.len()).rev();
    let found = lengths.map(|len| path[..len].to_vec()).find(|it| names.contains(it));
    found.unwrap_or_default()
}

/// The module that holds what a path names.
fn resolve(
    names: &BTreeSet<Module>,
    exports: &BTreeMap<(Module, String), Module>,
    path: &[String],
) -> Module {
    let mut module = longest(names, path);
    // A chain of re-exports is short; each leads to another module.
    for _ in 0..4 {
        let Some(name) = path.get(module.len()).or(path.last()) else { break };
        match exports.get(&(module.clone(), name.clone())) {
            Some(holder) => module.clone_from(holder),
            None => break,
        }
    }
    module
}

/// A crate in a text of its own, for the reader's test.
pub(crate) fn read_text(sources: &[(&str, &str)]) -> Modules {
    let folder = std::env::temp_dir().join(format!("modules-{}", std::process::id()));
    let files: Vec<_> = sources.iter().map(|(file, _)| folder.join(file)).collect();
    for (file, (_, text)) in files.iter().zip(sources) {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
    let modules = Modules::read(&folder, &files);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    modules
}
