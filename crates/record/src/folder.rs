//! Finds the files of a bag: one .mcap or .db3 file, or a rosbag2 folder with or without
//! metadata.yaml.
//!
//! metadata.yaml is read only for the file names, the compression and what channels may lack (QoS,
//! type hashes); its times and counts are ignored, because they are wrong in real bags. Versions 2
//! to 9 are read alike, because each only adds to the one before. Of the files themselves, only the
//! first bytes are read here.

use crate::bag::OpenBagError;
use crate::metadata::{METADATA_NAME, METADATA_VERSION};
use crate::names::Shown;
use crate::qos::{OfferedQos, profiles_of};
use crate::source::open_regular;
use crate::sqlite::SQLITE_MAGIC;
use crate::yaml::{YAML_BYTES_MAX, Yaml};
use mcap::MAGIC;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
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

/// The one compression that ROS 2 has for files and messages.
const COMPRESSION_FORMAT: &str = "zstd";
/// The names of a bag's files end so; behind that, `.zstd` if they are compressed as a whole.
const ENDINGS: [&str; 2] = ["mcap", "db3"];

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
                "{} is missing, as after an interrupted recording; the files of the folder are \
                 read in the order of their names",
                metadata_path.display()
            );
            return list_folder(folder, remark);
        }
        Err(error) => return list_without(&metadata_path, &error.to_string()),
    };
    match Yaml::parse(&text) {
        Ok(root) => match root.field("rosbag2_bagfile_information") {
            Some(information) => read_metadata(folder, information),
            None => list_without(&metadata_path, "it describes no bag"),
        },
        Err(error) => list_without(&metadata_path, &error.0),
    }
}

/// The files of a folder whose metadata.yaml is of no use.
fn list_without(metadata: &Path, why: &str) -> Result<BagFiles, OpenBagError> {
    let folder = metadata.parent().unwrap_or(Path::new("."));
    list_folder(folder, unusable(metadata, why)).map_err(|error| match error {
        OpenBagError::NoBag { .. } => {
            OpenBagError::Metadata { path: metadata.to_owned(), why: why.to_owned() }
        }
        other => other,
    })
}

/// The files of a folder, whatever metadata.yaml names, with what it says of topics.
pub(crate) fn find_all(folder: &Path) -> Result<BagFiles, OpenBagError> {
    let named = match folder.join(METADATA_NAME).is_file() {
        // What is wrong with it is the reason to make it anew.
        true => find_in_folder(folder).unwrap_or_default(),
        false => BagFiles::default(),
    };
    let BagFiles { paths, .. } = list_folder(folder, String::new())?;
    Ok(BagFiles { paths, topics: named.topics, remarks: Vec::new() })
}

fn unusable(path: &Path, why: &str) -> String {
    format!(
        "{} cannot be used ({why}); the files of the folder are read in the order of their names",
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

fn read_metadata(folder: &Path, information: &Yaml) -> Result<BagFiles, OpenBagError> {
    let text = |key| information.field(key).and_then(Yaml::text).unwrap_or("");
    let mode = text("compression_mode").to_ascii_lowercase();
    let format = text("compression_format");
    // Whether a file or message is compressed, it says itself.
    if (mode == "file" || mode == "message") && format != COMPRESSION_FORMAT {
        let (path, format) = (folder.to_owned(), format.to_owned());
        return Err(OpenBagError::OuterCompression { path, mode, format });
    }
    let mut files = BagFiles::default();
    let version = information.field("version").and_then(Yaml::number).unwrap_or(0);
    if version > METADATA_VERSION {
        files.remarks.push(format!(
            "{} has version {version}; versions up to {METADATA_VERSION} are known, and what is newer \
             in it is not used",
            folder.join(METADATA_NAME).display()
        ));
    }
    let named = named_files(folder, information, &mut files.remarks);
    for topic in information.field("topics_with_message_count").map_or(&[][..], Yaml::elements) {
        read_topic(topic, &mut files);
    }
    // Somebody has renamed the files, for example.
    let gone = named.iter().all(|path| !path.exists());
    let why = if named.is_empty() { "it names no files" } else { "no file that it names is there" };
    let listed = gone.then(|| list_without(&folder.join(METADATA_NAME), why));
    match listed {
        Some(Ok(listed)) => {
            files.remarks.extend(listed.remarks);
            files.paths = listed.paths;
        }
        Some(Err(error)) if named.is_empty() => return Err(error),
        _ => {
            files.remarks.extend(unnamed(folder, &named));
            files.paths = named;
        }
    }
    Ok(files)
}

/// What is to be said if files of the folder are no part of the bag.
fn unnamed(folder: &Path, named: &[PathBuf]) -> Option<String> {
    let BagFiles { paths, .. } = list_folder(folder, String::new()).ok()?;
    let mut others = paths.iter().filter(|path| !named.contains(path));
    let (first, more) = (others.next()?.display(), others.count());
    let (more, is) = match more {
        0 => (String::new(), "is"),
        more => (format!(" and {more} more of the folder"), "are"),
    };
    Some(format!(
        "{first}{more} {is} not read, because {METADATA_NAME} does not name it; `crossdock bag \
         reindex` makes one for all files of the folder"
    ))
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
    let place = named.file_name().map(|name| folder.join(name))?;
    // Recorders that were interrupted name the file that they would have compressed, and others
    // the one before.
    let compressed = with_ending(&place, COMPRESSION_FORMAT);
    let plain = place.with_extension("");
    let is_compressed = place.extension().is_some_and(|ending| ending == COMPRESSION_FORMAT);
    Some(match place.exists() {
        false if compressed.exists() => compressed,
        false if is_compressed && plain.exists() => plain,
        _ => place,
    })
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn read_topic(topic: &Yaml, files: &mut BagFiles) {
    let Some(metadata) = topic.field("topic_metadata") else { return };
    let Some(name) = metadata.field("name").and_then(Yaml::text) else { return };
    let profiles = metadata.field("offered_qos_profiles").map_or(Ok(Vec::new()), profiles_of);
    let qos = profiles.unwrap_or_else(|error| {
        files.remarks.push(format!(
            "the QoS of topic {} cannot be read: {}",
            Shown(name),
            Shown(&error.0.to_string())
        ));
        Vec::new()
    });
    let type_hash = metadata
        .field("type_description_hash")
        .and_then(Yaml::text)
        .filter(|hash| !hash.is_empty())
        .map(str::to_owned);
    files.topics.push(MetadataTopic { name: name.to_owned(), qos, type_hash });
}

/// The files of a folder in the order of their names, numbers by value.
fn list_folder(folder: &Path, remark: String) -> Result<BagFiles, OpenBagError> {
    let io = |source| OpenBagError::Io { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let is_compressed = path.extension().is_some_and(|ending| ending == COMPRESSION_FORMAT);
        let plain = if is_compressed { path.with_extension("") } else { path.clone() };
        let ending = plain.extension().and_then(|ending| ending.to_str());
        let belongs = ending.is_some_and(|ending| ENDINGS.contains(&ending));
        // A recorder that is killed while it compresses leaves both: the plain one is whole.
        if belongs && !(is_compressed && plain.exists()) {
            paths.push(path);
        }
    }
    paths.sort_by_cached_key(|path| name_order(path));
    match paths.is_empty() {
        false => Ok(BagFiles { paths, remarks: vec![remark], ..BagFiles::default() }),
        true => Err(OpenBagError::NoBag { path: folder.to_owned() }),
    }
}

/// `bag_2.mcap` before `bag_10.mcap`.
fn name_order(path: &Path) -> (String, u64, PathBuf) {
    let plain = path.with_extension("");
    let whole = path.extension().is_some_and(|ending| ending == COMPRESSION_FORMAT);
    let stem = if whole { plain.file_stem() } else { path.file_stem() };
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let digits = stem.len() - stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, number) = stem.split_at(stem.len() - digits);
    (prefix.to_owned(), number.parse().unwrap_or(0), path.to_owned())
}

/// How a file stores a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    Mcap,
    Sqlite,
}

/// Tells by its first bytes how a file stores a bag, or what else it is.
pub(crate) fn storage(path: &Path, file: &File) -> Result<Storage, OpenBagError> {
    let mut start = [0; 16];
    let count = file.read_at(&mut start, 0);
    let count = count.map_err(|source| OpenBagError::Io { path: path.to_owned(), source })?;
    let start = &start[..count];
    if start.starts_with(MAGIC) {
        return Ok(Storage::Mcap);
    }
    if start.starts_with(SQLITE_MAGIC) {
        return Ok(Storage::Sqlite);
    }
    let path = path.to_owned();
    Err(match start {
        // Cut inside its first bytes, it says no more than none.
        _ if MAGIC.starts_with(start) => OpenBagError::Empty { path },
        _ if start.starts_with(b"#ROSBAG V") => OpenBagError::Ros1 { path },
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
    fn compressed_files_are_ordered_as_the_plain_ones_are() {
        let names = ["b_10.mcap.zstd", "b_2.mcap", "b_1.db3.zstd", "b_11.mcap"];
        let mut paths: Vec<PathBuf> = names.map(PathBuf::from).to_vec();
        paths.sort_by_cached_key(|path| name_order(path));
        let expected = ["b_1.db3.zstd", "b_2.mcap", "b_10.mcap.zstd", "b_11.mcap"];
        assert_eq!(paths, expected.map(PathBuf::from));
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
