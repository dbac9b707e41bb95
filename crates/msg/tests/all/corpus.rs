//! Standard interfaces, hashes and encoded messages of others: does the crate agree with them?

use crate::common;
use common::{bytes_of_hex, files, library, type_name};
use crossdock_msg::definition::{merged_text, message_text, parse_message};
use crossdock_msg::find;
use crossdock_msg::generate::Generator;
use crossdock_msg::resolve::Library;
use crossdock_msg::rihs::type_hash;
use crossdock_msg::{Block, FlatBuffer, JsonOptions, Schema, TypeHash};
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn every_msg_file_of_the_corpus_parses_and_reads_back_what_it_writes() {
    let Some(data) = crossdock_test_support::data() else {
        return;
    };
    let found = files(&data.join("interfaces"), "msg");
    assert_eq!(found.len(), 216);
    for file in found {
        let name = type_name(&file);
        let text = std::fs::read_to_string(&file).unwrap();
        let definition = parse_message(&name, "", &text).unwrap();
        let again = parse_message(&name, "", &message_text(&definition)).unwrap();
        let fields = |one: &crossdock_msg::definition::MessageDefinition| {
            let parts = one
                .fields
                .iter()
                .map(|field| (field.name.clone(), field.field_type.clone(), field.default.clone()));
            parts.collect::<Vec<_>>()
        };
        assert_eq!(fields(&again), fields(&definition), "{}", file.display());
        assert_eq!(again.constants.len(), definition.constants.len());
    }
}

#[test]
fn every_type_of_the_corpus_hashes_alike_from_files_and_from_its_merged_text() {
    let Some(data) = crossdock_test_support::data() else {
        return;
    };
    let library = library(&data);
    let mut count = 0;
    for definition in library.iter() {
        let name = definition.type_name.to_string();
        let schema = Schema::from_library(&library, &name).unwrap();
        let resolved = library.resolve(&definition.type_name).unwrap();
        let merged = Schema::parse(&name, &merged_text(&resolved.definitions)).unwrap();
        assert_eq!(schema.type_hash(), merged.type_hash(), "{name}");
        assert_eq!(schema.layout_hash(), merged.layout_hash(), "{name}");
        count += 1;
    }
    assert!(count > 200, "{count}");
}

/// Packages that only tests of generators and of papers have, and a folder whose package is
/// `test_msgs`.
const NOT_STANDARD: [&str; 4] =
    ["rosidl_generator_tests", "rosidl_parser", "reference_interfaces", "test_interface_files"];

#[test]
fn every_standard_type_of_the_corpus_is_known_without_its_files() {
    let Some(data) = crossdock_test_support::data() else { return };
    let mut corpus = Library::new();
    for file in find::below(&data.join("interfaces")).unwrap() {
        find::add(&mut corpus, &file).unwrap();
    }
    let known = Generator::new().into_library();
    let messages = corpus.iter().map(|it| &it.type_name);
    let services = corpus.services().map(|it| &it.type_name);
    let actions = corpus.actions().map(|it| &it.type_name);
    let mut compared = 0;
    for name in messages.chain(services).chain(actions) {
        if NOT_STANDARD.contains(&name.package()) || name.namespace() == "idl" {
            continue;
        }
        let hash = |library: &Library| library.resolve(name).map(|it| type_hash(&it));
        assert_eq!(hash(&known).unwrap(), hash(&corpus).unwrap(), "{name}");
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}

#[test]
fn type_hashes_are_those_that_recordings_carry() {
    let Some(data) = crossdock_test_support::data() else { return };
    let library = library(&data);
    let mut known = BTreeMap::from([(
        "std_msgs/msg/String".to_owned(),
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18".to_owned(),
    )]);
    for folder in ["bags", "driving", "autorace_sim", "calibration"] {
        for file in files(&data.join(folder), "yaml") {
            let text = std::fs::read_to_string(file).unwrap();
            let mut name = String::new();
            for line in text.lines().map(str::trim) {
                if let Some(found) = line.strip_prefix("type: ") {
                    name = found.to_owned();
                } else if line.starts_with("RIHS01_") {
                    known.insert(name.clone(), line.to_owned());
                }
            }
        }
    }
    assert!(known.len() >= 7, "{known:?}");
    for (name, hash) in known {
        let schema = Schema::from_library(&library, &name).unwrap();
        assert_eq!(schema.type_hash(), hash.parse::<TypeHash>().unwrap(), "{name}");
    }
}

#[test]
fn all_golden_vectors_decode_to_their_values_and_encode_to_their_bytes() {
    let Some(data) = crossdock_test_support::data() else {
        return;
    };
    let library = library(&data);
    let text = std::fs::read_to_string(data.join("cdr_vectors.jsonl")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let name = vector["type"].as_str().unwrap();
        let bytes = bytes_of_hex(vector["cdr_hex"].as_str().unwrap());
        let schema = Schema::from_library(&library, name).unwrap();
        let wanted = schema.flat_bytes_of_cdr(&bytes).unwrap();
        let mut flat = FlatBuffer::with_bytes(wanted);
        assert_eq!(schema.decode_cdr(&bytes, flat.as_mut_slice()).unwrap(), wanted, "{name}");
        let block = Block::new(flat.as_slice());
        schema.validate(block).unwrap();
        let options = JsonOptions { exact: true, ..JsonOptions::default() };
        let json = schema.to_json_with(block, options).unwrap();
        assert_eq!(json, vector["value"], "{name}");
        assert_eq!(schema.cdr_bytes(block).unwrap(), bytes.len(), "{name}");
        let mut again = Vec::new();
        schema.encode_cdr(block, &mut again).unwrap();
        assert_eq!(again, bytes, "{name}");
        count += 1;
    }
    assert_eq!(count, 283);
}
