//! A process at every limit of a range: it works, or says what is missing; nothing stays of what it
//! could not make; and it works when the limit is lifted.

use std::time::Duration;

use crossdock_comm::{Event, Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::skip;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::common::child::{Process, hear, role, tell};
use crate::common::{
    LIMIT, Place, comes_to, drain, publish, publisher, reliable, settled_resources, subscriber,
    try_publish,
};

/// A limit that the sweeps set.
#[derive(Clone, Copy, Debug)]
enum Limited {
    /// Bytes of address space beyond what is mapped.
    AddressSpace(u64),
    /// Bytes of a file, memory objects included.
    FileSize(u64),
}

impl Limited {
    fn set(self) {
        let (resource, value) = match self {
            Limited::AddressSpace(more) => {
                let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
                let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
                (Resource::As, pages * 4096 + more)
            }
            Limited::FileSize(bytes) => (Resource::Fsize, bytes),
        };
        let Rlimit { maximum, .. } = getrlimit(resource);
        setrlimit(resource, Rlimit { current: Some(value), maximum }).unwrap();
    }
}

fn lift() {
    for resource in [Resource::As, Resource::Fsize] {
        let Rlimit { maximum, .. } = getrlimit(resource);
        setrlimit(resource, Rlimit { current: maximum, maximum }).unwrap();
    }
}

/// An error says what is missing and where to look.
fn is_clear(text: &str, limited: Limited) {
    let reasons = match limited {
        Limited::AddressSpace(_) => ["Cannot allocate memory", "Resource temporarily unavailable"],
        Limited::FileSize(_) => ["File too large", "File too large"],
    };
    let clear = reasons.iter().any(|reason| text.contains(reason));
    assert!(clear, "{limited:?}: {text}");
}

/// What one process does in its domain.
struct Member {
    participant: Participant,
    input: crossdock_comm::Subscriber<Image>,
    output: Option<crossdock_comm::Publisher<Image>>,
}

fn back() -> PublisherOptions<'static> {
    let qos = Qos::best_effort(4);
    PublisherOptions { node: "back", topic: "/back", qos, max_bytes: Some(1 << 20), group: None }
}

impl Member {
    /// As far as it goes. The word for it is in what it answers.
    fn join(options: &ParticipantOptions, limited: Limited) -> Result<Member, &'static str> {
        let participant = Participant::open(options.clone()).map_err(|error| {
            is_clear(&error.to_string(), limited);
            "refused"
        })?;
        let input = subscriber(&participant, "/image", reliable(4));
        let output = participant.publisher(back());
        let output = output.inspect_err(|error| is_clear(&error.to_string(), limited)).ok();
        Ok(Member { participant, input, output })
    }

    /// Everything works, if need be after the limit was lifted.
    fn works(&mut self, limited: Limited, number: u32) {
        let Member { participant, input, output } = self;
        let output = &*output.get_or_insert_with(|| participant.publisher(back()).unwrap());
        let connected = || input.matched() == 1 && output.peers() == 1;
        let done = participant.wait_until(LIMIT, connected);
        let events = participant.take_events().0;
        assert!(done, "{limited:?}: {} and {}, {events:?}", input.matched(), output.peers());
        for event in &events {
            match event {
                Event::Trouble(text) => {
                    // The keeper goes without, and says so.
                    let keeper = text.contains("the keeper cannot be started");
                    assert!(keeper || text.contains("tried again"), "{text}");
                    is_clear(text, limited);
                }
                Event::PeerJoined(_) | Event::PeerLeft(_) => {}
                other => panic!("{limited:?}: {other}"),
            }
        }
        try_publish(output, number).unwrap();
        tell(&number.to_string());
        assert_eq!(hear().unwrap(), number.to_string());
        assert_eq!(drain(input).last(), Some(&number), "{limited:?}");
    }
}

/// Everything that a member has made is gone.
fn leaves_nothing(before: (usize, usize), limited: Limited) {
    comes_to(before, &format!("{limited:?}"), || {});
}

/// Keeps small allocations going while the address space is used up: what a program does besides.
fn grow_heap() -> Vec<u8> {
    let pieces: Vec<Vec<u8>> = (0..256).map(|_| vec![1; 64 << 10]).collect();
    // On top, so that the allocator keeps what lies below when it is free again.
    let top = vec![1; 64];
    drop(pieces);
    top
}

/// Every limit of a range, before the participant is opened or when it stands.
fn sweep(place: &str) {
    let rendezvous = Rendezvous::Folder(place.into());
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "sweeping") };
    let _heap = grow_heap();
    // What a process makes once and keeps is there.
    drop(Participant::open(options.clone()).unwrap());
    let before = settled_resources();
    let mib = |mib: u64| mib << 20;
    let long = std::env::var_os("CROSSDOCK_LONG").is_some();
    // The larger ones are what one of the memory objects has, and a little more.
    let or_all = |some: &[u64], all: u64| if long { (2..all).collect() } else { some.to_vec() };
    let spaces = or_all(&[2, 40, 75, 76, 79, 82, 300], 170).into_iter();
    let spaces = spaces.map(|more| Limited::AddressSpace(mib(more)));
    let sizes = [0, 4 << 10, 256 << 10, mib(3), mib(200)].map(Limited::FileSize);
    let mut number = 0;
    let mut words = Vec::new();
    for limited in spaces.chain(sizes) {
        limited.set();
        let joined = Member::join(&options, limited);
        if let Ok(member) = &joined {
            // It gets as far as it gets.
            member
                .participant
                .wait_until(Duration::from_millis(20), || member.input.matched() == 1);
        }
        lift();
        words.push(joined.as_ref().map_or_else(|word| *word, |_| "opened"));
        let mut member = match joined {
            Ok(member) => member,
            Err(_) => {
                leaves_nothing(before, limited);
                Member::join(&options, limited).unwrap()
            }
        };
        number += 1;
        member.works(limited, number);
        drop(member);
        leaves_nothing(before, limited);
    }
    assert!(words.contains(&"refused") && words.contains(&"opened"), "{words:?}");
    // The ports of one that stands.
    let participant = Participant::open(options).unwrap();
    // Memory of pairs of processes stays while both are there.
    let input = subscriber(&participant, "/image", reliable(4));
    let mut first = Member { participant: participant.clone(), input, output: None };
    first.works(Limited::FileSize(0), 0);
    drop(first);
    let before = settled_resources();
    let spaces = or_all(&[2, 6, 40], 80).into_iter();
    let spaces = spaces.map(|more| Limited::AddressSpace(mib(more)));
    let sizes = [4 << 10, 256 << 10, mib(64)].map(Limited::FileSize);
    for limited in spaces.chain(sizes) {
        limited.set();
        let input = subscriber(&participant, "/image", reliable(4));
        let output = participant.publisher(back());
        let output = output.inspect_err(|error| is_clear(&error.to_string(), limited)).ok();
        participant.wait_until(Duration::from_millis(20), || input.matched() == 1);
        lift();
        let mut member = Member { participant: participant.clone(), input, output };
        number += 1;
        member.works(limited, number);
        drop(member);
        leaves_nothing(before, limited);
    }
    tell("done");
}

#[test]
fn a_process_works_or_says_what_is_missing_at_every_limit_of_memory() {
    let _turn = crate::turn();
    let test = "sweeps::a_process_works_or_says_what_is_missing_at_every_limit_of_memory";
    if let Some((_, place)) = role() {
        return sweep(&place);
    }
    let place = Place::new("sweep");
    let hub = place.open("hub");
    let options = PublisherOptions { topic: "/image", ..back() };
    let options = PublisherOptions { qos: reliable(4), ..options };
    let output = hub.publisher::<Image>(options).unwrap();
    let input = subscriber(&hub, "/back", Qos::best_effort(4));
    let mut child = Process::start(test, "sweep", place.path());
    loop {
        let said = child.read().expect("it goes on, whatever the limit");
        let Ok(number) = said.parse() else {
            assert_eq!(said, "done");
            break;
        };
        assert!(hub.wait_until(LIMIT, || input.matched() == 1 && output.peers() == 1));
        assert_eq!(drain(&input).last(), Some(&number));
        publish(&output, number);
        child.say(&said);
    }
    child.finish();
    assert!(hub.wait_until(LIMIT, || hub.peers().is_empty()));
    let events = hub.take_events().0;
    for event in &events {
        match event {
            Event::PeerJoined(_) | Event::PeerLeft(_) => {}
            // What was missing was missing there.
            Event::Trouble(text) if text.contains("publisher's process says") => {
                assert!(text.contains("tried again"), "{text}");
            }
            other => panic!("nobody else is affected: {other}"),
        }
    }
    assert_eq!(place.files(), 1);
}

#[test]
fn a_rendezvous_folder_on_a_full_disk_is_an_error_that_names_it() {
    let _turn = crate::turn();
    let test = "sweeps::a_rendezvous_folder_on_a_full_disk_is_an_error_that_names_it";
    if let Some((_, folder)) = role() {
        let rendezvous = Rendezvous::Folder(std::path::Path::new(&folder).join("meet"));
        let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "full") };
        let mut error = None;
        // The file system has room for a few files: with each one fewer it is another step that
        // fails.
        let fill = |number: usize| std::fs::File::create(format!("{folder}/{number}"));
        let filled = (0..).find(|number| fill(*number).is_err()).unwrap();
        // What a process makes once and keeps is there.
        assert!(Participant::open(options.clone()).is_err());
        let before = settled_resources();
        for free in 0..filled {
            match Participant::open(options.clone()) {
                Ok(participant) => {
                    let output = publisher(&participant, "/a", reliable(1));
                    let input = subscriber(&participant, "/a", reliable(1));
                    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
                    publish(&output, 1);
                    assert_eq!(drain(&input), [1]);
                    tell(&format!("{}|{free}", error.unwrap_or_default()));
                    return;
                }
                Err(refused) => {
                    let text = refused.to_string();
                    assert!(text.contains("No space left on device"), "{text}");
                    assert!(text.contains(&folder), "{text}");
                    assert_eq!(settled_resources(), before);
                    error = Some(text);
                }
            }
            std::fs::remove_file(format!("{folder}/{free}")).unwrap();
        }
        panic!("it never had room");
    }
    let folder = Place::new("full_disk");
    std::fs::create_dir(&folder.0).unwrap();
    let script = "mount -t tmpfs -o size=64k,nr_inodes=12 none \"$1\" && shift && exec \"$@\"";
    let unshare = |arguments: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&folder.0).args(arguments);
        command
    };
    let may = unshare(&["true".as_ref()]).stderr(std::process::Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return skip("no file system can be mounted here (`unshare --mount`)");
    }
    let program = std::env::current_exe().unwrap();
    let words = [test, "--exact", "--nocapture", "--test-threads=1"];
    let mut arguments = vec![program.as_os_str()];
    arguments.extend(words.iter().map(std::ffi::OsStr::new));
    let mut child = Process::spawn(&mut unshare(&arguments), "full", folder.path());
    let said = child.read().unwrap();
    let (error, free) = said.split_once('|').unwrap();
    assert!(error.contains("failed: No space left on device") && free != "0", "{said}");
    child.finish();
}
