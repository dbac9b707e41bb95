//! `runtime`: joins what the benchmarks of the runtime found to one page, `runtime.html`.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, report};
use crossdock_bench::report::joined_page;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    report(match arguments.as_slice() {
        [option, folder, names @ ..] if option == "--out" && !names.is_empty() => {
            join(Path::new(folder), names)
        }
        _ => Err(Failure::new("reading the command line", "usage: runtime --out FOLDER NAME...")),
    })
}

fn join(folder: &Path, names: &[String]) -> Result<(), Failure> {
    let (mut all, mut missing) = (vec![], vec![]);
    for name in names {
        match Findings::read(&folder.join(format!("{name}.json"))) {
            Ok(found) => all.push(found),
            Err(why) => missing.push(format!("{name} is not shown: {why}")),
        }
    }
    missing.iter().for_each(|what| eprintln!("{what}"));
    let page = folder.join("runtime.html");
    std::fs::write(&page, joined_page("Runtime benchmarks", &all, &missing))
        .during("writing runtime.html")?;
    println!("{}", page.display());
    Ok(())
}
