//! Builds a network with one publisher and one subscriber and sends a message through it. Tools and
//! cache are those of the environment (CROSSDOCK_TOOLS, CROSSDOCK_CACHE).
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use crossdock_fabric::{Cache, Library, Progress, Search, Sink, Source, Stop};
use support::{frame, network};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache = Cache::from_environment()?;
    let generated = network(1, 1, "/data");
    let tell = &mut |progress: Progress<'_>| match progress {
        Progress::Building { what, seconds, .. } => println!("building {what}, about {seconds} s"),
        Progress::Waiting { what } => println!("waiting for {what}"),
        Progress::Damaged { what } => println!("{what} is damaged"),
        Progress::Built { what, took } => println!("built {what} in {:.0} s", took.as_secs_f64()),
    };
    let library = Library::build(&generated, &Search::from_environment(), &cache, tell)?;
    let mut model = library.model(1, &[10_000]).ok_or("no model")?;
    let sent = frame(library.ports()[0].publisher_id, 1, 3072);
    let mut taken = vec![0; sent.len()];
    let mut sources = [Source::new(0, &sent)];
    let mut sinks = [Sink::new(1, &mut taken)];
    let stop = model.run(&mut sources, &mut sinks, 1_000_000_000)?;
    assert_eq!(stop, Stop::Done);
    assert_eq!(taken, sent);
    println!("{} bytes in {} cycles", sent.len(), model.edges());
    Ok(())
}
