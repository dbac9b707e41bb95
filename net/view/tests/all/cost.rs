//! What a view costs the observed processes, and how soon its page is painted. Measures, so it
//! does not run by itself:
//! `cargo test --release --manifest-path net/Cargo.toml -- --ignored --nocapture cost`.

use crate::browser::browser;
use crate::python;
use crate::running::{Domain, IN_A_CHAIN, ON_RINGS};
use crossdock_suite::{Running, children, until};
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

/// How long each share is measured, and how often, with and without a browser in turns.
const SPAN: Duration = Duration::from_secs(15);
const ROUNDS: usize = 3;

/// Nanoseconds on a processor of all threads of these processes, since their start.
fn used_ns(pids: &[u32]) -> u64 {
    let threads = pids.iter().flat_map(|pid| {
        std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten()
    });
    let used = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0)
    });
    used.sum()
}

/// Share of a core that processes use, in percent.
fn share(pids: &[u32]) -> f64 {
    let (before, start) = (used_ns(pids), Instant::now());
    std::thread::sleep(SPAN);
    (used_ns(pids) - before) as f64 / start.elapsed().as_nanos() as f64 * 100.0
}

fn measure(name: &str, arguments: &[&str]) {
    let domain = Domain::new("cost");
    let browser = browser().expect("a browser");
    let run = domain.run(arguments);
    let mut pids = Vec::new();
    until("the graph runs", || {
        pids = children(run.id());
        domain.is_published("/lane")
    });
    for _ in 0..ROUNDS {
        let alone = share(&pids);
        let (_view, address) = domain.view();
        let seconds = (SPAN * 2).as_secs().to_string();
        let page = python::command("browser.py", &[browser, &address, "--stay", &seconds]);
        let mut page = page.expect("an environment").spawn().unwrap();
        let mut line = String::new();
        BufReader::new(page.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "attached\n");
        let watched = share(&pids);
        page.kill().unwrap();
        page.wait().unwrap();
        println!("{name}: {alone:.2} % of a core alone, {watched:.2} % watched");
    }
    run.interrupt();
    let _: Running = run;
}

#[test]
#[ignore = "measures"]
fn how_soon_the_page_is_painted() {
    let domain = Domain::new("paint");
    let browser = browser().expect("a browser");
    let _run = domain.run(&ON_RINGS);
    until("the graph runs", || domain.is_published("/lane"));
    let (_view, address) = domain.view();
    for _ in 0..ROUNDS {
        let screenshot = domain.file("page.png").display().to_string();
        let seen = python::run("browser.py", &[browser, &address, &screenshot]);
        let seen = seen.expect("an environment");
        println!(
            "first paint after {} ms, topics after {} ms",
            seen["first_paint_ms"], seen["first_look_ms"]
        );
    }
}

#[test]
#[ignore = "measures"]
fn what_a_browser_costs_processes_with_rings() {
    measure("processes", &ON_RINGS);
}

#[test]
#[ignore = "measures"]
fn what_a_browser_costs_a_chain() {
    measure("chain", &IN_A_CHAIN);
}
