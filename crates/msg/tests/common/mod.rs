//! What several test files share: the corpus beside the repository.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod python;
pub(crate) mod random;
pub(crate) mod types;

use crossdock_msg::definition::{TypeName, parse_message};
use crossdock_msg::resolve::Library;
use std::path::{Path, PathBuf};

/// All files below `folder` with this extension.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|one| one == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Full name of the type that a file `<package>/msg/<Name>.msg` defines.
pub(crate) fn type_name(file: &Path) -> TypeName {
    let package = file.parent().unwrap().parent().unwrap().file_name().unwrap();
    let name = file.file_stem().unwrap();
    TypeName::message(package.to_str().unwrap(), name.to_str().unwrap())
}

/// All `.msg` files of the corpus.
pub(crate) fn library(data: &Path) -> Library {
    let mut library = Library::new();
    for file in files(&data.join("interfaces"), "msg") {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = type_name(&file);
        library.add(parse_message(&name, &file.display().to_string(), &text).unwrap());
    }
    library
}

/// Bytes from hexadecimal digits.
pub(crate) fn bytes_of_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) * 16 + digit(pair[1])).collect()
}
