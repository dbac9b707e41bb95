//! What `crossdock view` does for the person who has started it: says where the view is, and opens
//! it. The only file that prints.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

/// Opens an address with the program that the user has chosen for it.
const OPENER: &str = "xdg-open";

/// One of them is set where there is a screen.
const SCREENS: [&str; 2] = ["WAYLAND_DISPLAY", "DISPLAY"];

/// Where programs of this computer reach the view. Who listens on all of its addresses has none.
pub(crate) fn place(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    }
}

/// Says on standard error where the view is.
pub(crate) fn announce(address: SocketAddr) {
    let place = place(address);
    let others = match address.ip().is_unspecified() {
        true => ", and at all addresses of this computer",
        false => "",
    };
    let line = format!("the graph is at http://{place} (Foxglove: ws://{place}){others}");
    // Nobody is left to hear that it could not be said.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Opens the page in the user's browser, if there is a screen and a program that does that.
pub(crate) fn open(address: SocketAddr) {
    if SCREENS.iter().all(|name| std::env::var_os(name).is_none()) {
        return;
    }
    let mut opener = Command::new(OPENER);
    opener.arg(format!("http://{}", place(address)));
    opener.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without it the person has the address.
    if let Ok(mut child) = opener.spawn() {
        // It ends when the browser has taken the address, or with the browser: nothing waits here.
        let _ =
            std::thread::Builder::new().name("view-open".to_owned()).spawn(move || child.wait());
    }
}
