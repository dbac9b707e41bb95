//! What the pages name of the repository itself: commands of cargo and make, and the files of the
//! tour. The tests of the command line look at commands of `crossdock`.

use crate::documentation::pages;
use crossdock_test_support::workspace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words of the command lines of a page: of its blocks, and of what it says in between.
fn command_lines(page: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(page).expect("a page").replace("\\\n", " ");
    let mut lines: Vec<String> = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        if at % 2 == 1 {
            lines.extend(part.lines().map(str::to_owned));
            continue;
        }
        lines.extend(part.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned));
        lines.extend(part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
    }
    let words = |line: &String| -> Vec<String> {
        let line = line.split(" #").next().unwrap_or_default().trim_start_matches("$ ");
        let words = line.split_whitespace().map(str::to_owned);
        words.skip_while(|word| word.contains('=') && !word.starts_with('-')).collect()
    };
    lines.iter().map(words).collect()
}

/// The folder of each package of the repository.
fn packages() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let root = workspace();
    let folders = ["crates", "apps", "tests"].map(|it| std::fs::read_dir(root.join(it)));
    let entries = folders.into_iter().flat_map(|it| it.expect("a folder"));
    let members = entries.map(|it| it.expect("an entry").path());
    for folder in members.chain(["bench", "fuzz"].map(|it| root.join(it))) {
        let Ok(text) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let name = text.lines().find_map(|line| line.strip_prefix("name = \""));
        let Some(name) = name else { continue };
        found.insert(name.trim_end_matches('"').to_owned(), folder);
    }
    found
}

/// Why cargo would not do what the words say, as far as files show it.
fn fault_of_cargo(words: &[String], packages: &BTreeMap<String, PathBuf>) -> Option<String> {
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1)
    };
    let package = after("-p")?;
    // A place-holder: `CRATE`, `crossdock-PACKAGE`.
    if package.chars().any(|letter| letter.is_ascii_uppercase()) {
        return None;
    }
    let Some(folder) = packages.get(package) else {
        return Some(format!("there is no package {package}"));
    };
    let has = |kind: &str, name: &String| {
        let folder = folder.join(kind);
        folder.join(format!("{name}.rs")).exists() || folder.join(name).join("main.rs").exists()
    };
    for (option, kind) in [("--test", "tests"), ("--example", "examples")] {
        if let Some(name) = after(option).filter(|name| !has(kind, name)) {
            return Some(format!("{package} has no {option} {name}"));
        }
    }
    if words.get(1).is_none_or(|verb| verb != "test") {
        return None;
    }
    // What is left are parts of the names of tests.
    let mut options = words[2..].iter();
    let mut filters = Vec::new();
    while let Some(word) = options.next() {
        match word.as_str() {
            "-p" | "--test" | "--features" | "--profile" => _ = options.next(),
            word if word.starts_with('-') => {}
            word => filters.push(word),
        }
    }
    let mut files = Vec::new();
    tests_of(folder, &mut files);
    let is_named = |filter: &str| {
        let mut parts = filter.split("::").filter(|part| !part.is_empty());
        parts.all(|part| {
            files.iter().any(|(path, text)| {
                path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(part))
                    || text.lines().any(|line| {
                        line.trim().strip_prefix("fn ").is_some_and(|name| name.contains(part))
                    })
            })
        })
    };
    let lacking = filters.into_iter().find(|filter| !is_named(filter))?;
    Some(format!("{package} has no test `{lacking}`"))
}

/// The Rust files of a package, tests included.
fn tests_of(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            tests_of(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("a file");
            found.push((path, text));
        }
    }
}

/// Why make would not do what the words say.
fn fault_of_make(words: &[String]) -> Option<String> {
    let in_folder = words.get(1).is_some_and(|word| word == "-C");
    let (folder, goals) = match in_folder {
        true => (workspace().join(words.get(2)?), words.get(3..)?),
        false => (workspace().to_path_buf(), words.get(1..)?),
    };
    let Ok(rules) = std::fs::read_to_string(folder.join("Makefile")) else {
        return Some(format!("{} has no Makefile", folder.display()));
    };
    let is_goal = |goal: &str| {
        let heads = rules.lines().filter_map(|line| line.split_once(':'));
        heads.map(|(head, _)| head).any(|head| head.split_whitespace().any(|it| it == goal))
    };
    let goals = goals.iter().filter(|word| !word.contains('=') && !word.starts_with('-'));
    let goals = goals.filter(|goal| !goal.chars().any(|it| it.is_ascii_uppercase()));
    let mut lacking = goals.filter(|goal| !is_goal(goal));
    Some(format!("there is no goal `{}`", lacking.next()?))
}

#[test]
fn commands_of_cargo_and_make_on_pages_name_what_is_there() {
    let packages = packages();
    let (mut seen, mut faults) = (0, Vec::new());
    for page in pages() {
        for words in command_lines(&page) {
            let fault = match words.first().map(String::as_str) {
                Some("cargo") => fault_of_cargo(&words, &packages),
                Some("make") => fault_of_make(&words),
                _ => continue,
            };
            seen += 1;
            faults.extend(
                fault.map(|it| format!("{}: {}\n    {it}", page.display(), words.join(" "))),
            );
        }
    }
    assert!(seen > 50, "{seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let told = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        fault_of_cargo(&words, &packages)
    };
    assert!(told("cargo test -p crossdock-comm --test gone").is_some());
    assert!(told("cargo test -p crossdock-comm --test serial gone_for_good::").is_some());
}

/// What a row of the tour names that is not there. Names stand behind their crate and its rooms.
fn lacking(row: &str) -> Vec<String> {
    let root = workspace();
    let mut places = vec![root.to_path_buf()];
    let mut lacking = Vec::new();
    let mut parts = row.split('`');
    while let (Some(before), Some(name)) = (parts.next(), parts.next()) {
        if before.ends_with("crate ") {
            let folder = root.join("crates").join(name);
            if !folder.is_dir() {
                lacking.push(format!("crate {name}"));
            }
            places = vec![root.to_path_buf(), folder.clone(), folder.join("src")];
            continue;
        }
        let is_file = name.ends_with('/') || name.contains(".rs");
        if !is_file || name.contains(' ') {
            continue;
        }
        let name = name.replace("PACKAGE", "autorace");
        let found = places.iter().map(|place| place.join(&name)).find(|path| path.exists());
        match found {
            Some(path) if path.is_dir() => places.push(path),
            Some(_) => {}
            None => lacking.push(name),
        }
    }
    lacking
}

#[test]
fn the_tour_of_the_house_names_crates_rooms_and_files_that_are_there() {
    let page = workspace().join("docs/contributing.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let tour = page.split("\n## ").find(|part| part.starts_with("A tour of the house"));
    let rows: Vec<&str> =
        tour.expect("the tour").lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 15, "{} rows", rows.len());
    let wrong: Vec<(String, &str)> =
        rows.iter().flat_map(|row| lacking(row).into_iter().map(move |it| (it, *row))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(lacking("crate `comm`, room `port/`: `gone.rs`, `owner.rs`"), ["gone.rs"]);

    // A crate that the tour and the table of the architecture pass over is found by nobody.
    let overview = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("a page");
    let crates = std::fs::read_dir(workspace().join("crates")).expect("a folder");
    for entry in crates {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(overview.contains(&format!("| `{name}` |")), "ARCHITECTURE.md lacks {name}");
    }
}
