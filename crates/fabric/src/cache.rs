//! What has been made once is kept by the content of everything it was made from.
//!
//! Safe against other processes and against being killed at any time: an entry is made in a folder
//! of its own under a lock that the kernel drops with its holder, and becomes visible, whole, by
//! one rename. Every use compares checksums; what is damaged is made again.
//!
//! ```text
//! <kind>/<key>/          an entry: its files and `checksums`
//! building/<slot>-<pid>/ what is being made; removed by the next holder of the slot's lock
//! locks/<slot>           16 slots per kind, by the first digit of the key
//! ```

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// File of an entry that holds the checksums of all others.
const CHECKSUMS: &str = "checksums";

/// Told while something is made: what takes long should not happen in silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Something is being made for the first time; `seconds` is about how long that takes on two
    /// quiet cores, `folder` where it will be kept.
    Building {
        /// What, for people.
        what: &'a str,
        /// About how long.
        seconds: u32,
        /// Where it is kept.
        folder: &'a Path,
    },
    /// Another process makes the same or its neighbour: its end is waited for.
    Waiting {
        /// What, for people.
        what: &'a str,
    },
    /// What was kept is damaged and is made again.
    Damaged {
        /// What, for people.
        what: &'a str,
    },
    /// It is made.
    Built {
        /// What, for people.
        what: &'a str,
        /// How long it took.
        took: Duration,
    },
}

/// The folder of the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no place for it.
    #[error("there is no folder for built networks: set CROSSDOCK_CACHE, XDG_CACHE_HOME or HOME")]
    NoFolder,
    /// Others could put code there that is then run.
    #[error(
        "cache: {} belongs to another user, or others may write there (`getfacl` shows who): name a \
         folder of your own in CROSSDOCK_CACHE", path.display()
    )]
    Shared {
        /// The folder.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cache: {what} {}: {source}; {}name a folder that you may write to in CROSSDOCK_CACHE",
        path.display(), or_free_space(source))]
    File {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn or_free_space(source: &io::Error) -> &'static str {
    let is_full =
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    if is_full { "free space there, or " } else { "" }
}

/// A kind of things that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Folder.
    pub(crate) name: &'static str,
    /// Entries that are kept; the ones that were not used for longest make room.
    pub(crate) kept: usize,
}

/// What is to be made if it is not kept yet.
pub(crate) struct Wanted<'a> {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    /// For people.
    pub(crate) what: &'a str,
    /// About how long it takes.
    pub(crate) seconds: u32,
    /// The files that the maker leaves in its folder and that are kept.
    pub(crate) files: &'a [&'a str],
}

/// Identifies an entry: a digest of everything that it is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    /// The key of these parts, whose order and borders count.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hex(&hash.finalize()[..16]))
    }
}

/// A folder of things that were made once.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// In `CROSSDOCK_CACHE`, else `crossdock` in `XDG_CACHE_HOME`, else `~/.cache/crossdock`.
    ///
    /// # Errors
    /// None of the three variables names a folder.
    pub fn from_environment() -> Result<Self, CacheError> {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("CROSSDOCK_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("crossdock")))
            .or_else(|| Some(set("HOME")?.join(".cache/crossdock")));
        // Tools run elsewhere: a relative folder has to stay the same one.
        let folder = folder.ok_or(CacheError::NoFolder)?;
        let absolute = std::path::absolute(&folder);
        Ok(Self::at(absolute.map_err(failed("finding", &folder))?))
    }

    /// In this folder, which is made when it is first needed.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the entry, made by `make` if it is not there or damaged. `make` gets an
    /// empty folder. Blocks while another process makes an entry of the same slot.
    pub(crate) fn entry<E: From<CacheError>>(
        &self,
        wanted: &Wanted<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
        make: impl FnOnce(&Path, &mut dyn FnMut(Progress<'_>)) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let what = wanted.what;
        let entry = self.made(wanted.kind.name)?.join(&wanted.key.0);
        if is_whole(&entry, wanted.files) {
            touch(&entry);
            return Ok(entry);
        }
        let slot = format!("{}-{}", wanted.kind.name, &wanted.key.0[..1]);
        let _lock = self.lock(&slot, || progress(Progress::Waiting { what }))?;
        // Somebody else may have made it meanwhile.
        if is_whole(&entry, wanted.files) {
            return Ok(entry);
        }
        if entry.exists() {
            progress(Progress::Damaged { what });
            fs::remove_dir_all(&entry).map_err(failed("removing", &entry))?;
        }
        self.forget_oldest(wanted.kind);
        let folder = self.building(&slot)?;
        let home = &self.folder;
        progress(Progress::Building { what, seconds: wanted.seconds, folder: home });
        let begin = Instant::now();
        make(&folder, progress)?;
        let whole = gathered(&folder, wanted.files)?;
        fs::rename(&whole, &entry).map_err(failed("renaming", &whole))?;
        // What is left is only inputs; the next holder of the slot would remove it too.
        let _ = fs::remove_dir_all(&folder);
        progress(Progress::Built { what, took: begin.elapsed() });
        Ok(entry)
    }

    /// The folder of an entry that was made before, by its key as text; else why there is none.
    pub(crate) fn kept(
        &self,
        kind: Kind,
        key: &str,
        files: &[&str],
    ) -> Result<PathBuf, &'static str> {
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("this is no key");
        }
        let home = self.made(kind.name).map_err(|_| "the folder cannot be used")?;
        let entry = home.join(key);
        if is_whole(&entry, files) {
            touch(&entry);
            return Ok(entry);
        }
        Err(if entry.exists() { "it is damaged" } else { "it is not there any more" })
    }

    /// The lock of a slot; `waiting` is called once if another has it.
    fn lock(&self, slot: &str, waiting: impl FnOnce()) -> Result<File, CacheError> {
        let path = self.made("locks")?.join(slot);
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(failed("opening", &path))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            waiting();
            let locked = flock(&file, FlockOperation::LockExclusive);
            locked.map_err(|error| failed("locking", &path)(error.into()))?;
        }
        Ok(file)
    }

    /// An empty folder to make something in. The name is the process's own: what a killed process
    /// has left running may still write into its folder.
    fn building(&self, slot: &str) -> Result<PathBuf, CacheError> {
        let home = self.made("building")?;
        let left = fs::read_dir(&home).map_err(failed("reading", &home))?.flatten();
        let prefix = format!("{slot}-");
        for entry in left.filter(|it| it.file_name().to_string_lossy().starts_with(&prefix)) {
            let _ = fs::remove_dir_all(entry.path());
        }
        let folder = home.join(format!("{prefix}{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(failed("making", &folder))?;
        Ok(folder)
    }

    /// A folder of the cache. Others have no business in it: what it keeps is loaded as code.
    fn made(&self, name: &str) -> Result<PathBuf, CacheError> {
        let folder = self.folder.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(failed("making", &folder))?;
        let found = folder.metadata().map_err(failed("reading", &folder))?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
            return Err(CacheError::Shared { path: folder });
        }
        let whole = folder.canonicalize().map_err(failed("reading", &folder))?;
        for parent in whole.ancestors().skip(1) {
            let found = parent.metadata().map_err(failed("reading", parent))?;
            let owner = (found.uid(), found.gid());
            if may_be_exchanged(owner, found.mode(), has_access_list(parent)) {
                return Err(CacheError::Shared { path: parent.to_owned() });
            }
        }
        Ok(folder)
    }

    fn forget_oldest(&self, kind: Kind) {
        let Ok(home) = self.made(kind.name) else { return };
        let Ok(entries) = fs::read_dir(home) else { return };
        let used = |path: &Path| {
            let file = path.join(CHECKSUMS).metadata().and_then(|it| it.modified());
            file.unwrap_or(SystemTime::UNIX_EPOCH)
        };
        let entries = entries.flatten().map(|entry| entry.path());
        let mut entries: Vec<_> = entries.map(|path| (used(&path), path)).collect();
        entries.sort();
        let surplus = (entries.len() + 1).saturating_sub(kind.kept);
        for (_, path) in &entries[..surplus] {
            // Who has it loaded keeps it; who is about to makes it again.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Whether somebody else may put another folder in the place of one that lies in a folder of this
/// owner and mode.
fn may_be_exchanged((uid, gid): (u32, u32), mode: u32, has_access_list: bool) -> bool {
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid().as_raw();
    let is_trusted = uid == 0 || uid == user;
    // Many systems give each user a group of the same number, and let it write. What an access
    // control list lets in shows in the rights of the group, too.
    let of_us = [0, user].contains(&gid) && !has_access_list;
    let open = mode & 0o002 != 0 || mode & 0o020 != 0 && !of_us;
    // In a folder like /tmp only owners rename.
    !is_trusted || open && mode & STICKY == 0
}

fn has_access_list(folder: &Path) -> bool {
    // Room for the number of its version: longer is every list with an entry.
    let list = rustix::fs::getxattr(folder, c"system.posix_acl_access", &mut [0u8; 4][..]);
    list == Err(rustix::io::Errno::RANGE)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::File { what, path, source }
}

/// Moves the files that are kept into a folder of their own, with their checksums.
fn gathered(folder: &Path, files: &[&str]) -> Result<PathBuf, CacheError> {
    let whole = folder.join("entry");
    fs::create_dir(&whole).map_err(failed("making", &whole))?;
    let mut checksums = String::new();
    for name in files {
        let (from, to) = (folder.join(name), whole.join(name));
        fs::rename(&from, &to).map_err(failed("renaming", &from))?;
        let content = fs::read(&to).map_err(failed("reading", &to))?;
        let _ = writeln!(checksums, "{}  {name}", hex(&Sha256::digest(content)));
    }
    let path = whole.join(CHECKSUMS);
    fs::write(&path, checksums).map_err(failed("writing", &path))?;
    Ok(whole)
}

/// Whether an entry holds these files as they were made.
fn is_whole(entry: &Path, files: &[&str]) -> bool {
    let Ok(checksums) = fs::read_to_string(entry.join(CHECKSUMS)) else { return false };
    files.iter().all(|name| {
        let Ok(content) = fs::read(entry.join(name)) else { return false };
        let line = format!("{}  {name}", hex(&Sha256::digest(content)));
        checksums.lines().any(|it| it == line)
    })
}

/// Notes that an entry was used; a cache that may only be read keeps no order.
fn touch(entry: &Path) {
    if let Ok(file) = File::options().append(true).open(entry.join(CHECKSUMS)) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { name: "things", kept: 2 };

    fn cache(test: &str) -> Cache {
        let name = format!("crossdock-cache-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::remove_dir_all(&folder).ok();
        Cache::at(folder)
    }

    /// The text that is kept under a name, and whether it had to be made.
    fn kept(cache: &Cache, name: &str) -> (String, bool) {
        let key = Key::of([name]);
        let wanted = Wanted { kind: KIND, key, what: name, seconds: 0, files: &["text"] };
        let mut made = false;
        let entry = cache.entry::<CacheError>(&wanted, &mut |_| {}, |folder, _| {
            made = true;
            fs::write(folder.join("text"), name).map_err(failed("writing", folder))?;
            fs::write(folder.join("other"), "not kept").map_err(failed("writing", folder))
        });
        let entry = entry.unwrap();
        assert!(!entry.join("other").exists());
        (fs::read_to_string(entry.join("text")).unwrap(), made)
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let cache = cache("oldest");
        let age = |name: &str, seconds| {
            let entry = cache.folder().join(KIND.name).join(Key::of([name]).0).join(CHECKSUMS);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::options().append(true).open(entry).unwrap().set_modified(time).unwrap();
        };
        for (name, seconds) in [("a", 1), ("b", 2)] {
            assert_eq!(kept(&cache, name), (name.to_owned(), true));
            age(name, seconds);
        }
        // Using it makes it the newest.
        assert_eq!(kept(&cache, "a"), ("a".to_owned(), false));
        assert_eq!(kept(&cache, "c"), ("c".to_owned(), true));
        assert_eq!(kept(&cache, "a"), ("a".to_owned(), false));
        assert_eq!(kept(&cache, "b"), ("b".to_owned(), true));
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn an_entry_that_could_not_be_made_is_not_there() {
        let cache = cache("failed");
        let key = Key::of(["x"]);
        let wanted = Wanted { kind: KIND, key, what: "x", seconds: 0, files: &["text"] };
        let broken = |folder: &Path| {
            fs::write(folder.join("text"), "half").unwrap();
            Err(CacheError::NoFolder)
        };
        let made = cache.entry(&wanted, &mut |_| {}, |folder, _| broken(folder));
        assert!(matches!(made, Err(CacheError::NoFolder)));
        assert_eq!(kept(&cache, "x"), ("x".to_owned(), true));
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let cache = cache("shared");
        kept(&cache, "x");
        let folder = cache.folder().join(KIND.name);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let key = Key::of(["x"]);
        let wanted = Wanted { kind: KIND, key, what: "x", seconds: 0, files: &["text"] };
        let found = cache.entry::<CacheError>(&wanted, &mut |_| {}, |_, _| Ok(()));
        let error = found.unwrap_err().to_string();
        assert!(error.contains("others may write there"), "{error}");
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn a_cache_below_a_folder_that_others_may_exchange_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let cache = cache("parents");
        kept(&cache, "x");
        let parent = cache.folder().to_owned();
        let inner = Cache::at(parent.join("open/cache"));
        kept(&inner, "x");
        let open = parent.join("open");
        // Everybody may write, as in /tmp with and without its protection.
        for (mode, refused) in [(0o777, true), (0o1777, false), (0o755, false)] {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            let made = inner.made(KIND.name);
            assert_eq!(made.is_err(), refused, "{mode:o}");
            if let Err(error) = made {
                assert!(error.to_string().contains("CROSSDOCK_CACHE"), "{error}");
            }
        }
        // One more user may write: version 2, then tag, rights and id of each entry.
        let entry = |tag: u16, id: u32| {
            [&tag.to_le_bytes()[..], &7u16.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let none = u32::MAX;
        let entries =
            [(1, none), (2, 64_101), (4, none), (16, none), (32, none)].map(|it| entry(it.0, it.1));
        let list = [&2u32.to_le_bytes()[..], &entries.concat()].concat();
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(&open, c"system.posix_acl_access", &list, flags) {
            Ok(()) => {
                fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
                inner.made(KIND.name).unwrap_err();
            }
            Err(errno) => crossdock_test_support::skip(&format!(
                "the temporary folder keeps no access control lists ({errno})"
            )),
        }
        let user = rustix::process::geteuid().as_raw();
        assert!(may_be_exchanged((user + 1, user), 0o755, false), "another user's folder");
        assert!(may_be_exchanged((user, user + 1), 0o775, false), "a group with other members");
        assert!(may_be_exchanged((user, user), 0o770, true), "an access control list");
        assert!(!may_be_exchanged((user, user), 0o775, false));
        assert!(!may_be_exchanged((user, user + 1), 0o755, true));
        assert!(!may_be_exchanged((0, 0), 0o755, false));
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn parts_of_a_key_have_borders() {
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_eq!(Key::of(["ab"]), Key::of(["ab"]));
    }
}
