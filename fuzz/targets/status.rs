//! Fuzzes the status table: the memory in which a hostile process shows itself to observers.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::memory::HostileMemory;
use crossdock_shm::status::{
    DETAIL_BYTES_MAX, ENTITIES_MAX, Entity, EntityDescription, NAME_BYTES_MAX, StatusConfig,
    StatusTable, StatusView, WithHistogram,
};
use libfuzzer_sys::fuzz_target;
use std::sync::{Mutex, OnceLock};

/// An honest status table and one that is written by the input.
struct StatusTables {
    honest: StatusTable,
    /// Records that stay on the honest status table; a lock, because an entity has one thread at a
    /// time.
    _entities: Mutex<Vec<Entity>>,
    hostile: HostileMemory,
}

fn status_tables() -> &'static StatusTables {
    static BOARDS: OnceLock<StatusTables> = OnceLock::new();
    BOARDS.get_or_init(|| {
        let config = StatusConfig { entities: 4, histograms: 1 };
        let honest = StatusTable::create("honest", config).expect("a status table");
        let entities =
            [("port", WithHistogram::Yes), ("node", WithHistogram::No)].map(|(name, histogram)| {
                let detail = b"detail";
                let description = EntityDescription { kind: 1, name, detail, histogram };
                let entity = honest.add(description).expect("room");
                entity.set(0, 7);
                if histogram == WithHistogram::Yes {
                    entity.record_ns(1000);
                }
                entity
            });
        let bytes = rustix::fs::fstat(honest.read_only_fd()).expect("its size").st_size as usize;
        let hostile = HostileMemory::like(honest.read_only_fd(), bytes);
        StatusTables { honest, _entities: Mutex::new(entities.into()), hostile }
    })
}

/// Words of the header (4 KiB) and of records (1 KiB each) that are worth a change, as pairs of a
/// word's index and its new value.
fn seeds() -> Vec<Vec<u8>> {
    let change = |word: u16, value: u64| [&word.to_le_bytes()[..], &value.to_le_bytes()].concat();
    let mut seeds = vec![Vec::new()];
    seeds.extend((0..8).map(|word| change(word, 3)));
    seeds.extend((512..520).map(|word| change(word, 3)));
    seeds.extend((512..520).map(|word| change(word, u64::MAX)));
    seeds.push([change(6, 1 << 40), change(1, 65_536), change(514, 256)].concat());
    seeds
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let status_tables = status_tables();
    status_tables.hostile.copy_from(status_tables.honest.read_only_fd());
    let mut input = Input::new(data);
    while !input.is_empty() {
        let word = usize::from(input.u16());
        status_tables.hostile.set(word, input.u64());
    }
    let Ok(view) = StatusView::open(status_tables.hostile.fd()) else { return };
    // Three bytes at most for each that is not UTF-8.
    assert!(view.process().len() <= 3 * NAME_BYTES_MAX);
    std::hint::black_box((view.pid(), view.changes()));
    let entities: Vec<_> = view.entities().collect();
    assert!(entities.len() <= ENTITIES_MAX);
    for entity in &entities {
        assert!(entity.name.len() <= 3 * NAME_BYTES_MAX);
        assert!(entity.detail.len() <= DETAIL_BYTES_MAX);
        std::hint::black_box(view.counters(entity.index, entity.version));
        if let Some(histogram) = view.histogram(entity) {
            std::hint::black_box(format!("{histogram:?}"));
        }
    }
    assert!(view.entity(usize::MAX).is_none());
});
