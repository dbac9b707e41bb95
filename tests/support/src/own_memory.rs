//! The memory that this process shares with others, for tests that spoil it as a process does that
//! has gone astray. Others cannot map it for writing.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The memory of this process, readable and writable at addresses.
pub struct OwnMemory(File);

impl OwnMemory {
    /// Opens it.
    ///
    /// # Panics
    /// When the system refuses that.
    pub fn open() -> Self {
        let memory = File::options().read(true).write(true).open("/proc/self/mem");
        Self(memory.expect("a process may write its own memory"))
    }

    /// The word at an address.
    ///
    /// # Panics
    /// When nothing is mapped there.
    pub fn read(&self, at: u64) -> u64 {
        let mut word = [0; 8];
        self.0.read_exact_at(&mut word, at).expect("memory is mapped there");
        u64::from_ne_bytes(word)
    }

    /// Writes words from an address on, in one call.
    ///
    /// # Panics
    /// When nothing is mapped there.
    pub fn write(&self, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.0.write_all_at(&bytes, at).expect("memory is mapped there");
    }

    /// Where memory objects of the product are mapped for writing whose names begin so.
    ///
    /// # Panics
    /// When the list of mappings cannot be read.
    pub fn shared(&self, name: &str) -> Vec<Range<u64>> {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the list of mappings");
        let of_name = |line: &&str| line.contains(&format!("memfd:crossdock:{name}"));
        let writable = maps.lines().filter(of_name).filter(|line| line.contains(" rw-s "));
        let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
        let range = |line: &str| {
            let (start, rest) = line.split_once('-').expect("a range");
            let (end, _) = rest.split_once(' ').expect("a range and more");
            number(start)..number(end)
        };
        writable.map(range).collect()
    }
}
