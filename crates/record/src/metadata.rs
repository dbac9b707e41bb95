//! Writes metadata.yaml of a rosbag2 folder (version 9).
//!
//! The text is made from the same values as the channels of the MCAP file: readers compare the two
//! and give no messages if they differ.

use crate::outer::Outer;
use crate::qos::{OfferedQos, write_profiles};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Name of the file that describes a rosbag2 folder.
pub(crate) const METADATA_NAME: &str = "metadata.yaml";
/// The newest version of that file that is known, which is the one that is written.
pub(crate) const METADATA_VERSION: u64 = 9;
/// A topic and how many messages of it were written.
#[derive(Debug)]
pub(crate) struct TopicCount<'a> {
    pub(crate) name: &'a str,
    pub(crate) type_name: &'a str,
    pub(crate) type_hash: &'a str,
    pub(crate) qos: &'a [OfferedQos],
    pub(crate) messages: u64,
}

/// A file of the bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSummary {
    pub(crate) name: String,
    /// First and last log time; `None` without messages.
    pub(crate) span_ns: Option<(u64, u64)>,
    pub(crate) messages: u64,
}

/// What metadata.yaml says of a bag.
#[derive(Debug)]
pub(crate) struct BagSummary<'a> {
    /// `mcap` or `sqlite3`.
    pub(crate) storage: &'a str,
    /// What is compressed beside the chunks.
    pub(crate) outer: Outer,
    pub(crate) files: &'a [FileSummary],
    pub(crate) topics: Vec<TopicCount<'a>>,
}

/// A string in YAML's double-quoted form, which can hold everything.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\U{:08x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl BagSummary<'_> {
    /// The text of metadata.yaml.
    fn to_yaml(&self) -> Result<String, fmt::Error> {
        let total: u64 = self.topics.iter().map(|topic| topic.messages).sum();
        let spans = || self.files.iter().filter_map(|file| file.span_ns);
        let start = spans().map(|(start, _)| start).min().unwrap_or(0);
        let end = spans().map(|(_, end)| end).max().unwrap_or(0);
        let mut text = String::new();
        let out = &mut text;
        writeln!(out, "rosbag2_bagfile_information:")?;
        writeln!(out, "  version: {METADATA_VERSION}")?;
        writeln!(out, "  storage_identifier: {}", self.storage)?;
        writeln!(out, "  duration:\n    nanoseconds: {}", end.saturating_sub(start))?;
        writeln!(out, "  starting_time:\n    nanoseconds_since_epoch: {start}")?;
        writeln!(out, "  message_count: {total}")?;
        let none = if self.topics.is_empty() { " []" } else { "" };
        writeln!(out, "  topics_with_message_count:{none}")?;
        for topic in &self.topics {
            writeln!(out, "    - topic_metadata:")?;
            writeln!(out, "        name: {}", Quoted(topic.name))?;
            writeln!(out, "        type: {}", Quoted(topic.type_name))?;
            writeln!(out, "        serialization_format: cdr")?;
            writeln!(out, "        offered_qos_profiles:")?;
            out.push_str(&write_profiles(topic.qos, "          "));
            writeln!(out, "        type_description_hash: {}", Quoted(topic.type_hash))?;
            writeln!(out, "      message_count: {}", topic.messages)?;
        }
        let (format, mode) = self.outer.words();
        writeln!(out, "  compression_format: {}", Quoted(format))?;
        writeln!(out, "  compression_mode: {}", Quoted(mode))?;
        writeln!(out, "  relative_file_paths:")?;
        for file in self.files {
            writeln!(out, "    - {}", Quoted(&file.name))?;
        }
        writeln!(out, "  files:")?;
        for file in self.files {
            let (start, end) = file.span_ns.unwrap_or((0, 0));
            writeln!(out, "    - path: {}", Quoted(&file.name))?;
            writeln!(out, "      starting_time:\n        nanoseconds_since_epoch: {start}")?;
            let duration = end.saturating_sub(start);
            writeln!(out, "      duration:\n        nanoseconds: {duration}")?;
            writeln!(out, "      message_count: {}", file.messages)?;
        }
        writeln!(out, "  custom_data: ~")?;
        writeln!(out, "  ros_distro: \"\"")?;
        Ok(text)
    }

    /// Writes metadata.yaml into `folder`: complete or not at all, also when interrupted.
    pub(crate) fn store(&self, folder: &Path) -> io::Result<()> {
        let text = self.to_yaml().map_err(io::Error::other)?;
        let unfinished = folder.join(format!("{METADATA_NAME}.unfinished"));
        // One that was interrupted may have left it. Whatever is there is not written to.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, folder.join(METADATA_NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Yaml;

    #[test]
    fn odd_names_survive_the_quoting() {
        let odd = "a\"b\\c\n\u{7}\u{e9}: - #";
        let text = format!("k: {}", Quoted(odd));
        assert_eq!(Yaml::parse(&text).unwrap().field("k").unwrap().text(), Some(odd));
    }

    #[test]
    fn an_empty_bag_has_well_formed_metadata() {
        let summary =
            BagSummary { storage: "mcap", outer: Outer::Nothing, files: &[], topics: Vec::new() };
        let root = Yaml::parse(&summary.to_yaml().unwrap()).unwrap();
        let information = root.field("rosbag2_bagfile_information").unwrap();
        assert_eq!(information.field("version").unwrap().number(), Some(9));
        assert!(information.field("topics_with_message_count").unwrap().elements().is_empty());
    }
}
