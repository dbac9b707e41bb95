//! Who may connect: the server listens on this computer only unless told, but every web page that
//! the user visits runs on this computer too.
//!
//! A page of a stranger is kept out by two headers that no page can forge. `Host` names the server
//! as the browser reached it: a name that a stranger's name service resolves to this computer (DNS
//! rebinding) is refused. `Origin` names the page: only our own page and, for Foxglove's protocol,
//! known viewers are let in. Programs that are no browsers send no `Origin`.

use std::net::IpAddr;

/// Pages that speak Foxglove's protocol: its web application, and desktop applications, which are
/// files. No web page has the origin of a file.
const VIEWERS: [&str; 2] = ["https://app.foxglove.dev", "file://"];

/// Names of this computer that no stranger's name service answers for.
const OWN_NAME: &str = "localhost";

/// Decides by `Host` and `Origin` who may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// A connection is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The request names another server.
    #[error(
        "this server does not go by the name `{host}`; use its address, or add the name to the \
         node's parameter `hosts` (`crossdock view --host NAME`)"
    )]
    Host {
        /// The header, without its port.
        host: String,
    },
    /// A page of somebody else asks.
    #[error(
        "a page of {origin} may not connect; if you trust it, add it to the node's parameter \
         `origins` (`crossdock view --origin URL`)"
    )]
    Origin {
        /// The header.
        origin: String,
    },
    /// Not the name of a computer.
    #[error("`{name}` is no name of a computer; write it without http:// and port, as car.lan")]
    NoHost {
        /// What was named.
        name: String,
    },
    /// Not the origin of a page.
    #[error("`{origin}` is no origin of a page; write it as https://NAME or http://NAME:PORT")]
    NoOrigin {
        /// What was named.
        origin: String,
    },
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The page and what it needs.
    Page,
    /// A connection with Foxglove's protocol.
    Foxglove,
}

impl Gate {
    /// Lets in requests to an address, to `localhost` and to `hosts`, from our own page and, for
    /// Foxglove's protocol, from known viewers and `origins` (`https://NAME[:PORT]`).
    ///
    /// # Errors
    /// [`GateError::NoHost`] or [`GateError::NoOrigin`]: no browser would ever send one of them.
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Result<Self, GateError> {
        let lower = |name: String| name.trim_end_matches('/').to_ascii_lowercase();
        let hosts: Vec<String> = hosts.into_iter().map(lower).collect();
        if let Some(name) = hosts.iter().find(|name| !is_name(name)) {
            return Err(GateError::NoHost { name: shown(name) });
        }
        let origins: Vec<String> = origins.into_iter().map(lower).collect();
        match origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(GateError::NoOrigin { origin: shown(origin) }),
            None => Ok(Self { hosts, origins }),
        }
    }

    /// Whether a request with these headers is let in.
    ///
    /// # Errors
    /// [`GateError`] says why not.
    pub(crate) fn admit(
        &self,
        asked: Asked,
        host: Option<&str>,
        origin: Option<&str>,
    ) -> Result<(), GateError> {
        let host = host.unwrap_or_default().to_ascii_lowercase();
        let name = without_port(&host);
        // An address is no name: nobody can have resolved it to us.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if !is_address && name != OWN_NAME && !self.hosts.iter().any(|known| known == name) {
            return Err(GateError::Host { host: shown(name) });
        }
        let Some(origin) = origin.map(str::to_ascii_lowercase) else { return Ok(()) };
        let is_own = origin.strip_prefix("http://") == Some(&host);
        let is_viewer = || {
            asked == Asked::Foxglove
                && (VIEWERS.contains(&origin.as_str()) || self.origins.contains(&origin))
        };
        match is_own || is_viewer() {
            true => Ok(()),
            false => Err(GateError::Origin { origin: shown(&origin) }),
        }
    }
}

/// Whether it is a name as a browser sends it of a server, without a port.
fn is_name(name: &str) -> bool {
    let is_known = |it: char| it.is_alphanumeric() || "-_.".contains(it);
    !name.is_empty() && name.chars().all(is_known)
}

/// Whether a text is a scheme, a name and perhaps a port, and nothing more.
fn is_origin(text: &str) -> bool {
    let Some((scheme, server)) = text.split_once("://") else { return false };
    let is_plain = |c: char| c.is_ascii_graphic() && !"/?#@,".contains(c);
    scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !scheme.is_empty()
        && !without_port(server).is_empty()
        && server.chars().all(is_plain)
}

/// A header as it may be repeated to people.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of an address of version 6 stand in brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "127.0.0.1:8765";

    fn is_let_in(asked: Asked, host: &str, origin: Option<&str>) -> bool {
        let gate = Gate::new(vec!["Robot.lan".into()], vec!["https://viewer.example/".into()]);
        let gate = gate.unwrap();
        gate.admit(asked, Some(host), origin).is_ok()
    }

    #[test]
    fn our_own_page_and_programs_are_let_in() {
        for asked in [Asked::Page, Asked::Foxglove] {
            assert!(is_let_in(asked, HERE, None));
            assert!(is_let_in(asked, HERE, Some("http://127.0.0.1:8765")));
            assert!(is_let_in(asked, "localhost:8765", Some("http://localhost:8765")));
            assert!(is_let_in(asked, "[::1]:8765", Some("http://[::1]:8765")));
            assert!(is_let_in(asked, "robot.lan:8765", Some("http://robot.lan:8765")));
        }
    }

    #[test]
    fn pages_of_strangers_are_refused() {
        for origin in
            ["https://evil.example", "null", "http://127.0.0.1:8000", "http://localhost:8765", ""]
        {
            for asked in [Asked::Page, Asked::Foxglove] {
                assert!(!is_let_in(asked, HERE, Some(origin)), "{origin}");
            }
        }
    }

    #[test]
    fn a_name_that_a_stranger_resolves_to_us_is_refused() {
        for host in ["evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", ""] {
            assert!(!is_let_in(Asked::Page, host, None), "{host}");
            let origin = format!("http://{host}");
            assert!(!is_let_in(Asked::Page, host, Some(&origin)), "{host}");
        }
        assert!(Gate::default().admit(Asked::Page, None, None).is_err(), "no host");
    }

    #[test]
    fn viewers_speak_their_protocol_and_see_no_page() {
        for origin in ["https://app.foxglove.dev", "file://", "https://viewer.example"] {
            assert!(is_let_in(Asked::Foxglove, HERE, Some(origin)), "{origin}");
            assert!(!is_let_in(Asked::Page, HERE, Some(origin)), "{origin}");
        }
    }

    #[test]
    fn only_origins_are_taken_for_origins() {
        let gate = |origin: &str| Gate::new(Vec::new(), vec![origin.into()]);
        for origin in ["https://a.example", "http://a.example:8080/", "http://[::1]:80", "app://x"]
        {
            assert!(gate(origin).is_ok(), "{origin}");
        }
        for (name, is_name) in [
            ("car", true),
            ("Car.lan/", true),
            ("http://car.lan", false),
            ("car:80", false),
            ("", false),
        ] {
            assert_eq!(Gate::new(vec![name.into()], Vec::new()).is_ok(), is_name, "{name}");
        }
        for origin in ["a.example", "nonsense", "https://", "https://a.example/page", "https://:1"]
        {
            assert!(gate(origin).unwrap_err().to_string().contains("https://NAME"), "{origin}");
        }
    }
}
