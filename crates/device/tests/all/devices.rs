//! Devices as programs use them. On machines without a GPU the device is the processor itself,
//! driven through OpenCL by PoCL, which `make test` installs.

use crossdock_device::{
    Access, Argument, Backend, Device, DeviceError, FencePoint, Grid, Kernel, KernelObserver,
    KernelSource, KernelTimes, Memory, Outcome, Stream, Timeline, devices, examine,
};
use crossdock_shm::clock::monotonic_ns;
use crossdock_shm::{Scratch, Sharing};
use crossdock_test_support::skip;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

const SOURCE: KernelSource<'_> = KernelSource {
    label: "tests/devices.rs",
    text: "
XD_KERNEL double_all(XD_IN(from), XD_OUT(to), u32 count) {
    XD_READ(u32, from);
    XD_WRITE(u32, to);
    if (XD_X < count) to[XD_X] = 2 * from[XD_X];
}
",
};

/// A device and its shadow, of OpenCL's; none, and a skip, where there is no driver.
fn both() -> Vec<Device> {
    if !devices().iter().any(|info| info.backend == Backend::OpenCl) {
        skip("no OpenCL driver");
        return vec![];
    }
    ["opencl:0", "shadow:opencl:0"].map(|name| Device::open(name).unwrap()).into()
}

/// The first device of each driver, a shadow, and one behind the rules of a bus.
fn all() -> Vec<Device> {
    let mut all = both();
    if !all.is_empty() {
        all.push(Device::open("discrete-rw:opencl:0").unwrap());
    }
    if devices().iter().any(|info| info.backend == Backend::Cuda) {
        all.push(Device::open("cuda:0").unwrap());
    }
    all
}

/// Memory of the host with some numbers, and the device's view of it.
struct Shared {
    scratch: Scratch,
    memory: Memory,
}

const COUNT: u32 = 1024;

impl Shared {
    fn new(device: &Device) -> Self {
        let mut scratch = Scratch::create("numbers", u64::from(COUNT) * 4).unwrap();
        let memory = device.register(&scratch.region_to_write()).unwrap();
        Self { scratch, memory }
    }

    fn write(&mut self, value: u32) {
        let bytes: Vec<u8> = (0..COUNT).flat_map(|_| value.to_ne_bytes()).collect();
        assert!(self.scratch.write(0, &bytes));
    }

    fn first(&self) -> u32 {
        let mut word = [0; 4];
        assert!(self.scratch.read(0, &mut word));
        u32::from_ne_bytes(word)
    }
}

fn kernel(device: &Device) -> Kernel {
    device.load(&SOURCE).unwrap().kernel("double_all").unwrap()
}

fn double(stream: &mut Stream, kernel: &mut Kernel, memory: &Memory) {
    let span = memory.whole();
    let arguments = [Argument::In(span), Argument::Out(span), Argument::U32(COUNT)];
    // SAFETY: as `SOURCE` declares them; nobody looks until the stream has finished.
    unsafe { stream.launch(kernel, Grid::line(COUNT, 64), &arguments) }.unwrap();
}

#[test]
fn every_device_passes_its_examination() {
    for device in all() {
        for finding in examine(&device).unwrap() {
            let passed = matches!(finding.outcome, Outcome::Passed(_));
            assert!(passed, "{}: {finding:?}", device.info().name);
        }
    }
}

#[test]
fn a_processor_as_device_uses_the_hosts_memory_in_place_and_its_shadow_does_not() {
    let [device, shadow] = &both()[..] else { return };
    let (plain, shadow) = (device.capabilities().unwrap(), shadow.capabilities().unwrap());
    if device.info().kind == crossdock_device::Kind::Cpu {
        assert!(plain.host_memory && plain.same_address && plain.coherent, "{plain:?}");
        assert!(plain.managed, "{plain:?}");
    }
    assert!(!shadow.host_memory && !shadow.same_address && !shadow.coherent, "{shadow:?}");
    assert!(shadow.managed && !shadow.managed_concurrent, "{shadow:?}");
}

#[test]
fn a_shadow_device_shows_that_a_release_or_an_acquire_was_forgotten() {
    let [_, shadow] = &both()[..] else { return };
    let (mut shared, mut stream) = (Shared::new(shadow), shadow.stream().unwrap());
    let mut kernel = kernel(shadow);
    stream.acquire(shared.memory.whole(), Access::Write).unwrap();
    shared.write(21);
    stream.release(shared.memory.whole(), Access::Write).unwrap();
    double(&mut stream, &mut kernel, &shared.memory);
    stream.finish().unwrap();
    assert_eq!(shared.first(), 21, "not acquired: the host has its old numbers");
    stream.acquire(shared.memory.whole(), Access::Read).unwrap();
    assert_eq!(shared.first(), 42);
    shared.write(1000);
    stream.release(shared.memory.whole(), Access::Read).unwrap();
    double(&mut stream, &mut kernel, &shared.memory);
    stream.acquire(shared.memory.whole(), Access::Read).unwrap();
    assert_eq!(shared.first(), 84, "not acquired to be written: the device has its old numbers");
}

#[test]
fn a_sleeping_thread_is_woken_by_the_end_of_work_in_another_process_mapping() {
    for device in all() {
        let (mut shared, mut stream) = (Shared::new(&device), device.stream().unwrap());
        let mut kernel = kernel(&device);
        let timeline = Timeline::create("work").unwrap();
        let peer = Timeline::open("peer", timeline.fd().unwrap()).unwrap();
        stream.acquire(shared.memory.whole(), Access::Write).unwrap();
        shared.write(3);
        stream.release(shared.memory.whole(), Access::Write).unwrap();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| peer.sleep_until(1, LONG));
            double(&mut stream, &mut kernel, &shared.memory);
            stream.signal(&FencePoint { timeline, value: 1 }).unwrap();
            assert_eq!(sleeper.join().unwrap(), Ok(true));
        });
        stream.acquire(shared.memory.whole(), Access::Read).unwrap();
        assert_eq!(shared.first(), 6);
    }
}

#[test]
fn memory_of_the_host_may_go_as_soon_as_its_handle_is_dropped() {
    for device in all() {
        let (mut stream, mut kernel) = (device.stream().unwrap(), kernel(&device));
        for _ in 0..50 {
            let mut shared = Shared::new(&device);
            shared.write(1);
            double(&mut stream, &mut kernel, &shared.memory);
            // The kernel may still run; the mapping goes right after this.
            drop(shared.memory);
            drop(shared.scratch);
        }
        stream.finish().unwrap();
    }
}

/// `COUNT` words of managed memory as the host has them.
fn words(memory: &Memory) -> impl Fn(u32) -> *mut u32 {
    let host = memory.host().expect("managed");
    assert_eq!(host.len() as u64, memory.bytes());
    assert!(!host.is_null() && host.cast::<u8>().addr().is_multiple_of(16));
    let start = host.cast::<u32>();
    move |word| {
        assert!(word < COUNT);
        start.wrapping_add(word as usize)
    }
}

#[test]
fn managed_memory_is_written_by_host_and_device_in_turns_and_goes_when_it_is_dropped() {
    for device in all() {
        let can = device.capabilities().unwrap();
        if !can.managed {
            let refused = device.allocate_managed(64).unwrap_err();
            assert!(matches!(refused, DeviceError::NotManaged { .. }), "{refused}");
            continue;
        }
        let (mut stream, mut kernel) = (device.stream().unwrap(), kernel(&device));
        for _ in 0..20 {
            let memory = device.allocate_managed(u64::from(COUNT) * 4).unwrap();
            assert!(memory.region().is_none());
            let (at, span) = (words(&memory), memory.whole());
            stream.acquire(span, Access::Write).unwrap();
            // SAFETY: acquired; so are all accesses below.
            (0..COUNT).for_each(|word| unsafe { *at(word) = word });
            stream.release(span, Access::Write).unwrap();
            double(&mut stream, &mut kernel, &memory);
            stream.acquire(span, Access::ReadWrite).unwrap();
            // SAFETY: as above.
            assert!((0..COUNT).all(|word| unsafe { *at(word) } == 2 * word));
            // SAFETY: as above. The rest of what was acquired stays as it is.
            unsafe { *at(7) = 1000 };
            stream.release(span, Access::ReadWrite).unwrap();
            double(&mut stream, &mut kernel, &memory);
            let mut bytes = vec![0; memory.bytes() as usize];
            stream.read(span, &mut bytes).unwrap();
            let word = |word: usize| u32::from_ne_bytes(bytes[word * 4..][..4].try_into().unwrap());
            assert_eq!([word(6), word(7), word(8)], [24, 2000, 32]);
            // The kernel may still run when the memory goes.
            double(&mut stream, &mut kernel, &memory);
        }
        stream.finish().unwrap();
    }
}

#[test]
fn a_shadow_device_shows_that_managed_memory_was_not_acquired_or_not_released() {
    let [_, shadow] = &both()[..] else { return };
    let (mut stream, mut kernel) = (shadow.stream().unwrap(), kernel(shadow));
    let memory = shadow.allocate_managed(u64::from(COUNT) * 4).unwrap();
    let (at, span) = (words(&memory), memory.whole());
    stream.acquire(span, Access::Write).unwrap();
    // SAFETY: acquired; without it, on a shadow device nobody else has what the host sees.
    (0..COUNT).for_each(|word| unsafe { *at(word) = 21 });
    stream.release(span, Access::Write).unwrap();
    double(&mut stream, &mut kernel, &memory);
    stream.finish().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { *at(0) }, 21, "not acquired: the host has its old numbers");
    stream.acquire(span, Access::Read).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { *at(0) }, 42);
    // SAFETY: as above.
    unsafe { *at(0) = 1000 };
    stream.release(span, Access::Read).unwrap();
    double(&mut stream, &mut kernel, &memory);
    stream.acquire(span, Access::Read).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { *at(0) }, 84, "not acquired to be written: the device has its old numbers");
}

#[derive(Debug)]
struct Observer(SyncSender<(String, KernelTimes)>);

impl KernelObserver for Observer {
    fn ran(&self, kernel: &str, times: KernelTimes) {
        self.0.try_send((kernel.to_owned(), times)).expect("room");
    }
}

#[test]
fn kernels_that_are_observed_ran_between_their_launch_and_their_end_as_the_host_saw_them() {
    const LAUNCHES: usize = 20;
    for device in all() {
        let (mut stream, mut kernel) = (device.stream().unwrap(), kernel(&device));
        let memory = device.allocate(u64::from(COUNT) * 4).unwrap();
        let (sender, told) = sync_channel(LAUNCHES);
        let name = &device.info().name;
        // Nobody is told of this one.
        double(&mut stream, &mut kernel, &memory);
        stream.observe(Some(Arc::new(Observer(sender))));
        let first = device.clock_pair().unwrap();
        let mut last_ns = 0;
        for _ in 0..LAUNCHES {
            let launched_ns = monotonic_ns();
            double(&mut stream, &mut kernel, &memory);
            stream.finish().unwrap();
            let seen_ns = monotonic_ns();
            let (kernel, times) = told.recv_timeout(LONG).expect("told");
            assert_eq!(kernel, "double_all");
            let (begin_ns, end_ns) = (first.on_host(times.begin_ns), first.on_host(times.end_ns));
            let slack_ns = first.uncertainty_ns;
            assert!(
                launched_ns <= begin_ns + slack_ns && begin_ns <= end_ns,
                "{name}: {launched_ns}, {begin_ns} to {end_ns}, +/- {slack_ns}"
            );
            assert!(
                last_ns <= begin_ns && end_ns <= seen_ns + slack_ns,
                "{name}: after {last_ns}, {begin_ns} to {end_ns}, seen {seen_ns} +/- {slack_ns}"
            );
            last_ns = end_ns;
        }
        stream.observe(None);
        double(&mut stream, &mut kernel, &memory);
        stream.finish().unwrap();
        assert!(told.try_recv().is_err(), "{name}: told of a kernel that nobody observes");
    }
}

#[test]
fn devices_of_one_name_share_a_context() {
    let [device, shadow] = &both()[..] else { return };
    let again = Device::open("opencl:0").unwrap();
    let (memory, mut stream) = (again.allocate(64).unwrap(), device.stream().unwrap());
    let mut bytes = [0; 64];
    // SAFETY: nobody else has it.
    unsafe { stream.write(&[7; 64], memory.whole()) }.unwrap();
    stream.read(memory.whole(), &mut bytes).unwrap();
    assert_eq!(bytes, [7; 64]);
    let foreign = shadow.allocate(64).unwrap();
    let refused = stream.read(foreign.whole(), &mut bytes).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "opencl:0: the memory belongs to shadow:opencl:0; copy the message through memory of the host"
    );
}

#[test]
fn what_cannot_be_is_refused_with_the_next_step() {
    for device in all() {
        let name = device.info().name.clone();
        let limit = device.info().allocation_max_bytes;
        let refused = device.allocate(u64::MAX / 4).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("{name}: no room for 4611686018427387903 bytes"))
                && refused.contains(&limit.to_string()),
            "{refused}"
        );
        let memory = device.allocate(100).unwrap();
        let refused = memory.span(90, 11).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "{name}: 11 bytes from 90 do not lie in a memory of 100 bytes; check the range"
            )
        );
        assert!(matches!(memory.span(u64::MAX, 2), Err(DeviceError::OutOfRange { .. })));
        let kernels = device.load(&SOURCE).unwrap();
        let refused = kernels.kernel("tripple").unwrap_err().to_string();
        assert_eq!(refused, format!("{name}: tests/devices.rs has no kernel \"tripple\""));
        let source = KernelSource { label: "camera.cl", text: "\nXD_KERNEL k() { blur(1); }" };
        let refused = device.load(&source).unwrap_err().to_string();
        let told = ["the kernels of camera.cl do not compile", "camera.cl:2", "blur"];
        assert!(told.iter().all(|part| refused.contains(part)), "{refused}");
        let scratch = Scratch::create("messages of another publisher", 4096).unwrap();
        let foreign = device.register(&scratch.region()).unwrap();
        let mut stream = device.stream().unwrap();
        // SAFETY: refused.
        let refused = unsafe { stream.write(&[0; 8], foreign.whole()) }.unwrap_err();
        assert!(matches!(refused, DeviceError::ReadOnly { .. }), "{refused}");
        let refused = stream.acquire(memory.whole(), Access::Read).unwrap_err();
        assert!(matches!(refused, DeviceError::NotOfHost { .. }), "{refused}");
        let refused = memory.export().unwrap_err();
        assert!(matches!(refused, DeviceError::NotShared { .. }), "{refused}");
        let can = device.capabilities().unwrap();
        if !can.exports_memory {
            let refused = device.allocate_shared(100).unwrap_err();
            assert!(matches!(refused, DeviceError::CannotShare { .. }), "{refused}");
        }
        let file = std::fs::File::open("/dev/null").unwrap();
        let refused = device.import(file.as_fd(), 100, Sharing::Shown).unwrap_err().to_string();
        assert!(refused.starts_with(&name), "{refused}");
        if !can.waits_for_timelines {
            let timeline = Timeline::create("waited for").unwrap();
            let refused = stream.wait(&FencePoint { timeline, value: 1 }).unwrap_err();
            assert!(matches!(refused, DeviceError::CannotWait { .. }), "{refused}");
        }
    }
}

#[test]
fn names_of_no_device_are_refused() {
    for name in [
        "",
        "gpu",
        "opencl:",
        "opencl:x",
        "shadow:",
        "shadow:shadow:opencl:0",
        "opencl:-1",
        "cuda",
        "cuda:",
        "cuda:-1",
        "cuda:0x",
    ] {
        let refused = Device::open(name).unwrap_err();
        assert!(matches!(refused, DeviceError::BadName { .. }), "{name}: {refused}");
    }
    let refused = Device::open("opencl:4096").unwrap_err().to_string();
    assert!(refused.starts_with("there is no device \"opencl:4096\" here"), "{refused}");
    // With or without a driver.
    let refused = Device::open("cuda:4096").unwrap_err().to_string();
    assert!(refused.starts_with("there is no device \"cuda:4096\" here ("), "{refused}");
}
