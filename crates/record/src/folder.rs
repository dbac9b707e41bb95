//! Finds the files of a bag: one .mcap file, or a rosbag2 folder with or without metadata.yaml.
//!
//! metadata.yaml is read only for the file names, the compression and what channels may lack (QoS,
//! type hashes); its times and counts are ignored, because they are wrong in real bags. Of MCAP
//! files, only the first bytes are read here.

use crate::bag::OpenBagError;
use crate::qos::{OfferedQos, profiles_of};
use crate::yaml::{YAML_BYTES_MAX, Yaml};
use mcap::MAGIC;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The files of a bag and what metadata.yaml adds to them.
#[derive(Debug, Default)]
pub(crate) struct BagFiles {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) topics: Vec<MetadataTopic>,
    /// What was odd and did not prevent reading.
    pub(crate) remarks: Vec<String>,
}

/// What metadata.yaml says of one topic.
#[derive(Debug)]
pub(crate) struct MetadataTopic {
    pub(crate) name: String,
    pub(crate) qos: Vec<OfferedQos>,
    pub(crate) type_hash: Option<String>,
}

/// Name of the file that describes a rosbag2 folder.
pub(crate) const METADATA_NAME: &str = "metadata.yaml";

/// Finds the files of the bag at `path`.
pub(crate) fn find(path: &Path) -> Result<BagFiles, OpenBagError> {
    let metadata = fs::metadata(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => OpenBagError::NotFound { path: path.to_owned() },
        _ => OpenBagError::Io { path: path.to_owned(), source },
    })?;
    if metadata.is_dir() {
        return find_in_folder(path);
    }
    if path.file_name().is_some_and(|name| name == METADATA_NAME) {
        return find_in_folder(path.parent().unwrap_or(Path::new(".")));
    }
    Ok(BagFiles { paths: vec![path.to_owned()], ..BagFiles::default() })
}

fn find_in_folder(folder: &Path) -> Result<BagFiles, OpenBagError> {
    let metadata_path = folder.join(METADATA_NAME);
    let text = match read_text(&metadata_path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let remark = format!(
                "{} is missing, as after an interrupted recording; the .mcap files of the folder \
                 are read in the order of their names",
                metadata_path.display()
            );
            return list_folder(folder, remark);
        }
        Err(source) => return Err(OpenBagError::Io { path: metadata_path, source }),
    };
    match Yaml::parse(&text) {
        Ok(root) => match root.field("rosbag2_bagfile_information") {
            Some(information) => read_metadata(folder, information),
            None => list_folder(folder, unusable(&metadata_path, "it describes no bag")),
        },
        Err(error) => list_folder(folder, unusable(&metadata_path, &error.0)),
    }
}

fn unusable(path: &Path, why: &str) -> String {
    format!(
        "{} cannot be used ({why}); the .mcap files of the folder are read in the order of their \
         names",
        path.display()
    )
}

/// Reads a small text; longer ones are cut, which the YAML reader then refuses.
fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(YAML_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a file for reading unless it is a pipe or device, which could block for ever.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

fn read_metadata(folder: &Path, information: &Yaml) -> Result<BagFiles, OpenBagError> {
    let text = |key| information.field(key).and_then(Yaml::text).unwrap_or("");
    let mode = text("compression_mode").to_ascii_lowercase();
    if mode == "file" || mode == "message" {
        return Err(OpenBagError::OuterCompression {
            path: folder.to_owned(),
            mode,
            format: text("compression_format").to_owned(),
        });
    }
    if text("storage_identifier") == "sqlite3" {
        return Err(OpenBagError::Sqlite { path: folder.to_owned() });
    }
    let mut files = BagFiles::default();
    let named = named_files(folder, information, &mut files.remarks);
    for topic in information.field("topics_with_message_count").map_or(&[][..], Yaml::elements) {
        read_topic(topic, &mut files);
    }
    if named.is_empty() {
        let why = unusable(&folder.join(METADATA_NAME), "it names no files");
        let listed = list_folder(folder, why)?;
        files.remarks.extend(listed.remarks);
        files.paths = listed.paths;
    } else {
        files.paths = named;
    }
    Ok(files)
}

/// The files that metadata.yaml names, in its order, each once: its messages happened once.
fn named_files(folder: &Path, information: &Yaml, remarks: &mut Vec<String>) -> Vec<PathBuf> {
    let names = information.field("relative_file_paths").map_or(&[][..], Yaml::elements);
    let mut seen = BTreeSet::new();
    let mut again = BTreeSet::new();
    let mut files = Vec::new();
    for name in names.iter().filter_map(Yaml::text) {
        let Some(path) = inside(folder, Path::new(name)) else { continue };
        if seen.insert(path.clone()) {
            files.push(path);
        } else if again.insert(path.clone()) {
            let path = path.display();
            remarks.push(format!(
                "{path} is named more than once in {METADATA_NAME}; it is read once"
            ));
        }
    }
    files
}

/// The place of a file that metadata.yaml names; never outside the folder.
///
/// Some recorders wrote paths relative to another folder, or absolute ones: then the name counts.
fn inside(folder: &Path, named: &Path) -> Option<PathBuf> {
    let plain = named.components().all(|part| matches!(part, Component::Normal(_)));
    let as_named = folder.join(named);
    if plain && as_named.exists() {
        return Some(as_named);
    }
    named.file_name().map(|name| folder.join(name))
}

fn read_topic(topic: &Yaml, files: &mut BagFiles) {
    let Some(metadata) = topic.field("topic_metadata") else { return };
    let Some(name) = metadata.field("name").and_then(Yaml::text) else { return };
    let profiles = metadata.field("offered_qos_profiles").map_or(Ok(Vec::new()), profiles_of);
    let qos = profiles.unwrap_or_else(|error| {
        files.remarks.push(format!("the QoS of topic {name} cannot be read: {}", error.0));
        Vec::new()
    });
    let type_hash = metadata
        .field("type_description_hash")
        .and_then(Yaml::text)
        .filter(|hash| !hash.is_empty())
        .map(str::to_owned);
    files.topics.push(MetadataTopic { name: name.to_owned(), qos, type_hash });
}

/// The .mcap files of a folder in the order of their names, numbers by value.
fn list_folder(folder: &Path, remark: String) -> Result<BagFiles, OpenBagError> {
    let io = |source| OpenBagError::Io { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    let (mut sqlite, mut compressed) = (false, false);
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("mcap") => paths.push(path),
            Some("db3") => sqlite = true,
            Some("zstd") => compressed = true,
            _ => {}
        }
    }
    paths.sort_by_cached_key(|path| name_order(path));
    let path = folder.to_owned();
    match (paths.is_empty(), sqlite, compressed) {
        (false, ..) => Ok(BagFiles { paths, remarks: vec![remark], ..BagFiles::default() }),
        (true, true, _) => Err(OpenBagError::Sqlite { path }),
        (true, false, true) => Err(OpenBagError::OuterCompression {
            path,
            mode: "file".to_owned(),
            format: "zstd".to_owned(),
        }),
        (true, false, false) => Err(OpenBagError::NoBag { path }),
    }
}

/// `bag_2.mcap` before `bag_10.mcap`.
fn name_order(path: &Path) -> (String, u64, PathBuf) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let digits = stem.len() - stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, number) = stem.split_at(stem.len() - digits);
    (prefix.to_owned(), number.parse().unwrap_or(0), path.to_owned())
}

/// Tells a file that is no MCAP file by its first bytes.
pub(crate) fn check_magic(path: &Path, file: &mut File) -> Result<(), OpenBagError> {
    let mut start = Vec::new();
    let read = file.take(16).read_to_end(&mut start);
    read.map_err(|source| OpenBagError::Io { path: path.to_owned(), source })?;
    if start.starts_with(MAGIC) {
        return Ok(());
    }
    let path = path.to_owned();
    Err(match start {
        _ if start.is_empty() => OpenBagError::Empty { path },
        _ if start.starts_with(b"SQLite format 3") => OpenBagError::Sqlite { path },
        _ if start.starts_with(b"#ROSBAG V") => OpenBagError::Ros1 { path },
        _ if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => OpenBagError::OuterCompression {
            path,
            mode: "file".to_owned(),
            format: "zstd".to_owned(),
        },
        _ => OpenBagError::Foreign { path },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_files_are_ordered_by_value() {
        let mut paths: Vec<PathBuf> =
            ["b_10.mcap", "b_2.mcap", "b_1.mcap", "a.mcap"].map(PathBuf::from).to_vec();
        paths.sort_by_cached_key(|path| name_order(path));
        let expected = ["a.mcap", "b_1.mcap", "b_2.mcap", "b_10.mcap"].map(PathBuf::from);
        assert_eq!(paths, expected);
    }

    #[test]
    fn names_in_metadata_never_lead_out_of_the_folder() {
        let folder = Path::new("/nowhere/bag");
        let place = |name: &str| inside(folder, Path::new(name));
        assert_eq!(place("../../etc/passwd"), Some(folder.join("passwd")));
        assert_eq!(place("/etc/passwd"), Some(folder.join("passwd")));
        assert_eq!(place("bag/bag_0.mcap"), Some(folder.join("bag_0.mcap")));
        assert_eq!(place(".."), None);
    }
}
