//! What devices of other kinds refuse, shown on the processor (PoCL) behind their rules: a GPU on a
//! bus, drivers that want calls in pairs; and how streams of one process wait for each other.

use crossdock_device::{
    Access, Argument, Device, DeviceError, EmptyKernel, FencePoint, Grid, Kernel, KernelSource,
    Memory, Stream, Timeline, devices,
};
use crossdock_shm::{Region, Scratch, Sharing};
use crossdock_test_support::{long, skip};
use std::sync::mpsc::sync_channel;

const COUNT: u32 = 1024;
const BYTES: u64 = COUNT as u64 * 4;

const SOURCE: KernelSource<'_> = KernelSource {
    label: "tests/rules.rs",
    text: "
XD_KERNEL copy(XD_IN(from), XD_OUT(to), u32 count) {
    XD_READ(u32, from);
    XD_WRITE(u32, to);
    if (XD_X < count) to[XD_X] = from[XD_X];
}
XD_KERNEL count_up(XD_OUT(words), u32 count, u32 times) {
    XD_WRITE(u32, words);
    if (XD_X < count) {
        u32 value = words[XD_X];
        for (u32 i = 0; i < times; i++) value = value * 5 + 1;
        words[XD_X] = value;
    }
}
",
};

fn open(name: &str) -> Option<Device> {
    if devices().is_empty() {
        skip("no OpenCL driver");
        return None;
    }
    Some(Device::open(name).unwrap())
}

fn kernel(device: &Device, name: &str) -> Kernel {
    device.load(&SOURCE).unwrap().kernel(name).unwrap()
}

fn copy(
    stream: &mut Stream,
    kernel: &mut Kernel,
    (from, to): (&Memory, &Memory),
) -> Result<(), DeviceError> {
    let arguments = [
        Argument::In(from.span(0, BYTES).unwrap()),
        Argument::Out(to.span(0, BYTES).unwrap()),
        Argument::U32(COUNT),
    ];
    // SAFETY: as `SOURCE` declares them; nobody looks until the stream has finished.
    unsafe { stream.launch(kernel, Grid::line(COUNT, 64), &arguments) }
}

#[test]
fn a_gpu_on_a_bus_has_the_hosts_addresses_and_sees_its_writes_but_has_not_its_memory() {
    let Some(plain) = open("opencl:0") else { return };
    let plain = plain.capabilities().unwrap();
    assert!(plain.integrated && plain.read_only_host_memory && plain.shares_memory(), "{plain:?}");
    for (name, takes_read_only) in [("discrete:opencl:0", true), ("discrete-rw:opencl:0", false)] {
        let can = open(name).unwrap().capabilities().unwrap();
        assert!(can.host_memory && can.coherent && can.same_address, "{name}: {can:?}");
        assert!(!can.integrated && !can.shares_memory(), "{name}: {can:?}");
        assert_eq!(can.read_only_host_memory, takes_read_only, "{name}");
    }
    let shadow = open("shadow:opencl:0").unwrap().capabilities().unwrap();
    assert!(!shadow.integrated && !shadow.shares_memory() && !shadow.read_only_host_memory);
}

#[test]
fn devices_that_differ_have_different_identities() {
    let names = ["opencl:0", "shadow:opencl:0", "discrete:opencl:0", "discrete-rw:opencl:0"];
    let identities: Vec<_> =
        names.iter().filter_map(|name| Some(open(name)?.info().identity.clone())).collect();
    let mut distinct = identities.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), identities.len(), "{identities:?}");
}

#[test]
fn a_mapping_that_may_only_be_read_is_registered_or_refused_and_a_label_alone_is_not() {
    for (name, takes) in
        [("opencl:0", true), ("discrete:opencl:0", true), ("discrete-rw:opencl:0", false)]
    {
        let Some(device) = open(name) else { return };
        let mut scratch = Scratch::create("words", BYTES).unwrap();
        let words: Vec<u8> = (0..COUNT).flat_map(|word| (7 * word).to_ne_bytes()).collect();
        assert!(scratch.write(0, &words));
        let (mut stream, mut kernel) = (device.stream().unwrap(), kernel(&device, "copy"));
        let own = device.allocate(BYTES).unwrap();
        let mut read_by_kernel = |region: &Region| {
            let memory = device.register(region)?;
            copy(&mut stream, &mut kernel, (&memory, &own)).unwrap();
            let mut found = vec![0; BYTES as usize];
            stream.read(own.whole(), &mut found).unwrap();
            assert_eq!(found, words, "{name}");
            Ok(())
        };
        // To be read only by its label, but the mapping is the writer's own.
        read_by_kernel(&scratch.region()).unwrap();
        // What a subscriber in another process has.
        let foreign = Region::open("words", scratch.fd(), BYTES, Sharing::Shown).unwrap();
        match (read_by_kernel(&foreign), takes) {
            (Ok(()), true) => {}
            (Err(error @ DeviceError::ReadOnlyMapping { .. }), false) => {
                let text = error.to_string();
                assert!(text.contains(name) && text.contains("set `copy`"), "{text}");
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn memory_is_acquired_and_released_in_pairs_or_the_call_is_refused() {
    for name in ["shadow:opencl:0", "discrete:opencl:0"] {
        let Some(device) = open(name) else { return };
        let mut scratch = Scratch::create("words", BYTES).unwrap();
        let memory = device.register(&scratch.region_to_write()).unwrap();
        let (mut stream, mut kernel) = (device.stream().unwrap(), kernel(&device, "copy"));
        let own = device.allocate(BYTES).unwrap();
        let (whole, half) = (memory.span(0, BYTES).unwrap(), memory.span(0, BYTES / 2).unwrap());
        let refused = |result: Result<(), DeviceError>, what: &str| match result {
            Err(error @ DeviceError::Unpaired { .. }) => {
                let text = error.to_string();
                assert!(text.contains(what) && text.contains(name), "{text}");
            }
            other => panic!("{name}: {what}: {other:?}"),
        };
        refused(stream.release(whole, Access::Write), "that were not acquired so");
        stream.acquire(whole, Access::Write).unwrap();
        refused(stream.acquire(half, Access::Read), "acquired twice");
        refused(stream.release(half, Access::Write), "that were not acquired so");
        refused(stream.release(whole, Access::Read), "that were not acquired so");
        refused(copy(&mut stream, &mut kernel, (&memory, &own)), "acquired (Write)");
        // SAFETY: nobody else uses them.
        refused(unsafe { stream.copy(own.whole(), half) }, "acquired (Write)");
        stream.release(whole, Access::Write).unwrap();
        refused(stream.release(whole, Access::Write), "that were not acquired so");
        // Both may read at once.
        stream.acquire(whole, Access::Read).unwrap();
        stream.acquire(half, Access::Read).unwrap();
        copy(&mut stream, &mut kernel, (&memory, &own)).unwrap();
        refused(copy(&mut stream, &mut kernel, (&own, &memory)), "acquired (Read)");
        stream.finish().unwrap();
        stream.release(half, Access::Read).unwrap();
        stream.release(whole, Access::Read).unwrap();
        copy(&mut stream, &mut kernel, (&own, &memory)).unwrap();
        stream.finish().unwrap();
    }
}

#[test]
fn streams_of_two_threads_wait_for_each_other_while_work_ends() {
    let rounds: u64 = if long() { 100_000 } else { 2000 };
    let Some(device) = open("opencl:0") else { return };
    let timeline = Timeline::create("work").unwrap();
    let (give, given) = sync_channel::<u64>(4);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let given = given;
            let (mut stream, mut empty) =
                (device.stream().unwrap(), EmptyKernel::new(&device).unwrap());
            for value in given {
                // In time or too late, as it comes.
                stream.wait(&FencePoint { timeline: timeline.clone(), value }).unwrap();
                empty.launch(&mut stream).unwrap();
                if value % 16 == 0 {
                    stream.finish().unwrap();
                }
            }
            stream.finish().unwrap();
        });
        let (mut stream, mut empty) =
            (device.stream().unwrap(), EmptyKernel::new(&device).unwrap());
        for value in 1..=rounds {
            empty.launch(&mut stream).unwrap();
            stream.signal(&FencePoint { timeline: timeline.clone(), value }).unwrap();
            give.send(value).unwrap();
        }
        drop(give);
        stream.finish().unwrap();
    });
}

#[test]
fn a_stream_waits_for_another_one_of_its_process_on_every_device() {
    const TIMES: u32 = 20_000;
    const ROUNDS: u64 = 30;
    for name in ["opencl:0", "shadow:opencl:0"] {
        let Some(device) = open(name) else { return };
        let (mut one, mut other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut count = kernel(&device, "count_up");
        let mut copies = kernel(&device, "copy");
        let (words, found) = (device.allocate(BYTES).unwrap(), device.allocate(BYTES).unwrap());
        // SAFETY: nobody else uses them.
        unsafe { one.write(&vec![0; BYTES as usize], words.whole()) }.unwrap();
        let (counted, copied) =
            (Timeline::create("counted").unwrap(), Timeline::create("copied").unwrap());
        let mut expected = 0_u32;
        for value in 1..=ROUNDS {
            let point =
                |timeline: &Timeline, value| FencePoint { timeline: timeline.clone(), value };
            let arguments =
                [Argument::Out(words.whole()), Argument::U32(COUNT), Argument::U32(TIMES)];
            // What was counted before is copied first.
            one.wait(&point(&copied, value - 1)).unwrap();
            // SAFETY: as `SOURCE` declares them; the streams wait for each other.
            unsafe { one.launch(&mut count, Grid::line(COUNT, 64), &arguments) }.unwrap();
            one.signal(&point(&counted, value)).unwrap();
            other.wait(&point(&counted, value)).unwrap();
            copy(&mut other, &mut copies, (&words, &found)).unwrap();
            other.signal(&point(&copied, value)).unwrap();
            (0..TIMES).for_each(|_| expected = expected.wrapping_mul(5).wrapping_add(1));
            if value % 10 == 0 {
                let mut bytes = vec![0; BYTES as usize];
                other.read(found.whole(), &mut bytes).unwrap();
                let is_right = bytes.chunks(4).all(|word| word == expected.to_ne_bytes());
                assert!(is_right, "{name}: round {value}");
            }
        }
        // Nobody in this process is to reach that one, and the host would have to tell the device.
        let nobody = FencePoint { timeline: Timeline::create("nobody").unwrap(), value: 1 };
        if !device.capabilities().unwrap().waits_for_timelines {
            let refused = one.wait(&nobody).unwrap_err();
            assert!(matches!(refused, DeviceError::CannotWait { .. }), "{refused}");
        }
        nobody.timeline.advance(1);
        one.wait(&nobody).unwrap();
    }
}
