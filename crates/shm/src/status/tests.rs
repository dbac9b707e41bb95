//! The status table as its owner, its observers and liars see it.

use super::*;
use rustix::fs::MemfdFlags;

const SMALL: StatusConfig = StatusConfig { entities: 4, histograms: 1 };

fn port(name: &str) -> EntityDescription<'_> {
    EntityDescription { kind: 3, name, detail: b"detail", histogram: WithHistogram::No }
}

#[test]
fn an_observer_reads_what_the_owner_writes() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let view = StatusView::open(status_table.read_only_fd()).unwrap();
    assert_eq!((view.process(), view.pid()), ("driver", std::process::id()));
    assert_eq!(view.entities().count(), 0);
    let entity = status_table.add(port("/camera/image")).unwrap();
    entity.set(0, 41);
    entity.add(0, 1);
    entity.add(15, 7);
    let found: Vec<_> = view.entities().collect();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].name.as_str()), (3, "/camera/image"));
    assert_eq!((&found[0].detail[..], found[0].counters[0]), (&b"detail"[..], 42));
    entity.add(0, 1);
    assert_eq!(view.counters(found[0].index, found[0].version).unwrap()[0], 43);
    entity.describe("/camera/image", b"other").unwrap();
    assert!(view.counters(found[0].index, found[0].version).is_none());
    let reader = entity.reader(15);
    assert_eq!(reader.value(), 7);
    entity.add(15, 1);
    assert_eq!(reader.value(), 8);
    drop(entity);
    assert_eq!(view.entities().count(), 0);
}

#[test]
fn nothing_of_a_table_stays_mapped() {
    let large = StatusConfig { entities: 256, histograms: 0 };
    let status_table = StatusTable::create("gone", large).unwrap();
    let file = rustix::fs::fstat(status_table.read_only_fd()).unwrap().st_ino.to_string();
    let view = StatusView::open(status_table.read_only_fd()).unwrap();
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.split_whitespace().nth(4) == Some(&file)).count()
    };
    assert!(mapped() > 0);
    drop((status_table, view));
    assert_eq!(mapped(), 0);
}

#[test]
fn tables_have_the_size_that_readers_accept_and_no_larger_one() {
    let most = StatusConfig { entities: ENTITIES_MAX, histograms: 0 };
    let status_table = StatusTable::create("driver", most).unwrap();
    assert!(StatusView::open(status_table.read_only_fd()).is_ok());
    for config in [
        StatusConfig { entities: ENTITIES_MAX + 1, ..SMALL },
        StatusConfig { histograms: ENTITIES_MAX + 1, ..SMALL },
    ] {
        let error = StatusTable::create("driver", config).unwrap_err().to_string();
        assert!(error.contains("65537") && error.contains("65536"), "{error}");
    }
    let longest = "p".repeat(NAME_BYTES_MAX);
    assert!(StatusTable::create(&longest, SMALL).is_ok());
    let error = StatusTable::create(&format!("{longest}p"), SMALL).unwrap_err().to_string();
    assert!(error.contains("257"), "{error}");
}

#[test]
fn a_record_that_is_used_anew_starts_at_zero() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let with = EntityDescription { histogram: WithHistogram::Yes, ..port("a") };
    let entity = status_table.add(with).unwrap();
    entity.set(3, 5);
    entity.record_ns(1000);
    assert_eq!(entity.histogram().unwrap().count, 1);
    drop(entity);
    let entity = status_table.add(with).unwrap();
    assert_eq!(entity.value(3), 0);
    assert_eq!(entity.histogram().unwrap(), HistogramSnapshot::empty());
}

#[test]
fn histograms_reach_the_observer() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let entity =
        status_table.add(EntityDescription { histogram: WithHistogram::Yes, ..port("a") }).unwrap();
    for value in [20, 10, 1_000_000, 30] {
        entity.record_ns(value);
    }
    let view = StatusView::open(status_table.read_only_fd()).unwrap();
    let histogram = view.histogram(&view.entities().next().unwrap()).unwrap();
    assert_eq!((histogram.count, histogram.min_ns, histogram.max_ns), (4, 10, 1_000_000));
    assert_eq!((histogram.quantile_ns(0.5), histogram.mean_ns()), (Some(20), Some(250_015.0)));
    assert_eq!(HistogramSnapshot::empty().mean_ns(), None);
}

#[test]
fn a_full_board_and_long_texts_are_errors_that_name_the_record() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let kept: Vec<_> = (0..4).map(|_| status_table.add(port("x")).unwrap()).collect();
    let error = status_table.add(port("/one/too/many")).unwrap_err().to_string();
    assert!(error.contains("/one/too/many") && error.contains('4'), "{error}");
    drop(kept);
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    assert!(status_table.add(port(&long)).unwrap_err().to_string().contains("257"));
    let with = EntityDescription { histogram: WithHistogram::Yes, ..port("h") };
    let _first = status_table.add(with).unwrap();
    assert!(status_table.add(with).unwrap_err().to_string().contains("histogram"));
}

#[test]
fn nobody_can_map_a_board_writable() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let fd = status_table.read_only_fd();
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    assert!(Words::map(fd, HEADER_WORDS, flags).is_err());
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
    if let Ok(again) = rustix::fs::open(path, OFlags::RDWR, Mode::empty()) {
        assert!(Words::map(again.as_fd(), HEADER_WORDS, flags).is_err());
    }
}

#[test]
fn memory_that_is_no_board_is_refused() {
    for words in [HEADER_WORDS - 1, words_of(ENTITIES_MAX, ENTITIES_MAX) + 1, 1 << 40] {
        let fd = rustix::fs::memfd_create(c"size", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&fd, words as u64 * 8).unwrap();
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK).unwrap();
        let error = StatusView::open(fd.as_fd()).err().unwrap().to_string();
        assert!(error.contains("its size"), "{error}");
    }
    let make = |words: &[(usize, u64)], seal| {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(c"garbage", flags).unwrap();
        rustix::fs::ftruncate(&fd, words_of(1, 0) as u64 * 8).unwrap();
        for (word, value) in words {
            rustix::io::pwrite(&fd, &value.to_le_bytes(), *word as u64 * 8).unwrap();
        }
        rustix::fs::fcntl_add_seals(&fd, seal).unwrap();
        StatusView::open(fd.as_fd()).map(|view| view.entities().count())
    };
    let shrink = SealFlags::SHRINK;
    assert!(make(&[], shrink).is_err());
    assert!(make(&[(header::MAGIC, MAGIC)], SealFlags::empty()).is_err());
    assert!(make(&[(header::MAGIC, MAGIC), (header::ENTITIES, 2000)], shrink).is_err());
    assert!(make(&[(header::MAGIC, MAGIC), (header::NAME_LEN, 257)], shrink).is_err());
    let lies = [
        (header::MAGIC, MAGIC),
        (header::ENTITIES, 1),
        (header::USED, u64::MAX),
        (HEADER_WORDS + record::KIND, IN_USE),
        (HEADER_WORDS + record::LENGTHS, u64::MAX),
        (HEADER_WORDS + record::HISTOGRAM, u64::MAX),
    ];
    assert_eq!(make(&lies, shrink).unwrap(), 1);
}

#[test]
fn a_reader_never_sees_half_a_description() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let first = EntityDescription { detail: b"aaaaaa", ..port("aaaaaaaaaaaaaaaa") };
    let entity = status_table.add(first).unwrap();
    let view = StatusView::open(status_table.read_only_fd()).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for _ in 0..20_000 {
                let Some(found) = view.entity(0) else { continue };
                let first = found.name.as_bytes()[0];
                assert!(found.name.bytes().all(|byte| byte == first), "{}", found.name);
                assert!(found.detail.iter().all(|byte| *byte == first));
            }
        });
        let mut turn = 0u8;
        while !reader.is_finished() {
            let letter = char::from(b'a' + turn % 26).to_string();
            turn = turn.wrapping_add(1);
            let name = letter.repeat(16 + usize::from(turn));
            entity.describe(&name[..name.len().min(256)], letter.repeat(300).as_bytes()).unwrap();
        }
    });
}

#[test]
fn changes_of_the_kinds_that_are_told_are_counted_before_anybody_is_told() {
    let status_table = StatusTable::create("driver", SMALL).unwrap();
    let (telling, told) = std::sync::mpsc::channel();
    let of_table = Arc::new(StatusView::open(status_table.read_only_fd()).unwrap());
    let view = Arc::clone(&of_table);
    status_table.tell_changes(&[3, 5], move || telling.send(view.told()).unwrap());
    let entity = status_table.add(port("/camera/image")).unwrap();
    entity.describe("/camera/image", b"other").unwrap();
    entity.add(0, 1);
    // Of a kind that nobody is told of.
    let other = status_table.add(EntityDescription { kind: 4, ..port("connection") }).unwrap();
    drop((entity, other));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((status_table.told(), of_table.told()), (3, 3));
    assert_eq!(of_table.changes(), 5);
}
