//! `crossdock msg`: encoded messages of files, decoded and encoded again.

use crate::arguments::MsgCommand;
use crate::definitions::{Definitions, definitions};
use crate::files::open;
use crate::output;
use anyhow::{Context, Result};
use crossdock_msg::{Block, CdrError, FlatBuffer, JsonOptions, Schema};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

/// Longest line: a message of 16 MiB in digits, with its value.
const LINE_BYTES_MAX: u64 = 128 << 20;

/// Runs one of the commands for messages.
pub(crate) fn msg(command: &MsgCommand) -> Result<ExitCode> {
    match command {
        MsgCommand::Decode { vectors, interfaces } => {
            decode(vectors, &definitions(&interfaces.interfaces)?)
        }
    }
}

/// Prints a line of JSON for each line of the file: what it holds, or what is wrong with it.
fn decode(path: &Path, definitions: &Definitions) -> Result<ExitCode> {
    let file = open(path, "file with messages")?;
    let mut lines = BufReader::new(file);
    let mut decoder = Decoder { definitions, schemas: HashMap::new(), flat: FlatBuffer::default() };
    let mut wrong = 0u64;
    let mut text = Vec::new();
    for number in 1u64.. {
        text.clear();
        let read = lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut text);
        if read.with_context(|| format!("{} cannot be read", path.display()))? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let mut line = Map::new();
        if let Err(error) = decoder.line(&text, &mut line) {
            wrong += 1;
            line.insert("line".to_owned(), number.into());
            if let Some(CdrError::InField { field, .. }) = error.downcast_ref::<CdrError>() {
                line.insert("field".to_owned(), (&**field).into());
            }
            line.insert("error".to_owned(), error.to_string().into());
        }
        output::print(&output::json_line(&line)?)?;
    }
    match wrong {
        0 => Ok(ExitCode::SUCCESS),
        _ => {
            output::say!("{wrong} lines of {} hold no message that can be read", path.display());
            Ok(ExitCode::FAILURE)
        }
    }
}

struct Decoder<'a> {
    definitions: &'a Definitions,
    schemas: HashMap<String, Result<Schema, String>>,
    flat: FlatBuffer,
}

impl Decoder<'_> {
    /// Reads a line and adds what it holds to `out`.
    fn line(&mut self, text: &[u8], out: &mut Map<String, Value>) -> Result<()> {
        let vector: Value = serde_json::from_slice(text).context(
            "the line is no JSON: write {\"type\": TYPE, \"cdr_hex\": HEXADECIMAL DIGITS}",
        )?;
        let word = |name: &str| vector.get(name).and_then(Value::as_str);
        let type_name = word("type").context("the line has no text `type`")?;
        out.insert("type".to_owned(), type_name.into());
        let definitions = self.definitions;
        let schema = self.schemas.entry(type_name.to_owned()).or_insert_with(|| {
            let schema = Schema::from_library(definitions.library(), type_name);
            schema.map_err(|error| definitions.why(&error))
        });
        let schema = schema.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
        let cdr = match (word("cdr_hex"), vector.get("value")) {
            (Some(digits), _) => bytes_of(digits)?,
            (None, Some(value)) => schema.cdr_of_json(value)?,
            (None, None) => anyhow::bail!("the line has neither `cdr_hex` nor `value`"),
        };
        self.flat.resize(schema.flat_bytes_of_cdr(&cdr)?);
        let used = schema.decode_cdr(&cdr, self.flat.as_mut_slice())?;
        let block = Block::new(&self.flat.as_slice()[..used]);
        let options = JsonOptions { exact: true, ..JsonOptions::default() };
        let value = schema.to_json_with(block, options)?;
        let mut again = Vec::new();
        schema.encode_cdr(block, &mut again)?;
        out.insert("value".to_owned(), value);
        out.insert("cdr_hex".to_owned(), digits_of(&again).into());
        Ok(())
    }
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let bytes = digits.trim().as_bytes().chunks(2).enumerate().map(|(at, it)| {
        pair(it).with_context(|| {
            format!("`cdr_hex`: two hexadecimal digits are expected at {}", 2 * at)
        })
    });
    bytes.collect()
}

fn digits_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    text
}
