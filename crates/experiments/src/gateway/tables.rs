//! Page tables for a board whose way to host memory is the published one.

use anyhow::{Context, Result, ensure};
use crossdock_comm::{Region, Scratch};
use std::collections::BTreeMap;

/// Levels of tables, entries of one as a power of two, and bytes of a page likewise.
const LEVELS: u32 = 3;
const LOG_ENTRIES: u32 = 9;
const LOG_PAGE: u32 = 12;
/// Tables of one board: 1 GiB for each of 16 regions, which is more than the pools of its
/// publishers, takes 512 of the last level each. Only what is written takes memory.
const TABLES_MAX: usize = 8192 + 64;
/// Rights of an entry: readable or a table, writable.
const VALID: u64 = 1;
const WRITABLE: u64 = 2;

/// The address by which the board knows one of this process: tables do not reach further.
pub(crate) fn table_address(address: usize) -> usize {
    address & ((1 << (LOG_PAGE + LEVELS * LOG_ENTRIES)) - 1)
}

/// Tables in memory that a board reads.
pub(crate) struct Tables {
    memory: Scratch,
}

impl Tables {
    /// Tables that name nothing yet.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { memory: Scratch::create("tables", (TABLES_MAX << LOG_PAGE) as u64)? })
    }

    /// Where they lie.
    pub(crate) fn region(&self) -> Region {
        self.memory.region()
    }

    /// Address of the first table.
    pub(crate) fn root(&self) -> usize {
        self.memory.region().address()
    }

    /// Names every page of these regions and no other.
    pub(crate) fn write(&mut self, regions: &[Region]) -> Result<()> {
        let base = self.root() as u64;
        // By level and the part of the address above it: its place.
        let mut places = BTreeMap::from([((LEVELS - 1, 0_u64), 0_usize)]);
        let mut words = vec![0_u64; 1 << LOG_ENTRIES];
        for region in regions {
            let rights = if region.is_writable() { VALID | WRITABLE } else { VALID };
            for offset in (0..region.bytes()).step_by(1 << LOG_PAGE) {
                let address = (region.address() + offset) as u64;
                let page = table_address(region.address() + offset) as u64 >> LOG_PAGE;
                let mut table = 0;
                for level in (1..LEVELS).rev() {
                    let below = page >> (LOG_ENTRIES * level);
                    let next = places.len();
                    let place = *places.entry((level - 1, below)).or_insert(next);
                    ensure!(place < TABLES_MAX, "more than {TABLES_MAX} page tables");
                    words.resize(places.len() << LOG_ENTRIES, 0);
                    words[entry(table, below)] = (base + (place << LOG_PAGE) as u64) | VALID;
                    table = place;
                }
                let leaf = &mut words[entry(table, page)];
                let wanted = address | rights;
                ensure!(*leaf == 0 || *leaf == wanted, "two pages of one number");
                *leaf = wanted;
            }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.write(0, &bytes).then_some(()).context("the tables do not fit their memory")
    }
}

/// The place of a page's or table's entry among all words.
fn entry(table: usize, number: u64) -> usize {
    (table << LOG_ENTRIES) + (number as usize & ((1 << LOG_ENTRIES) - 1))
}
