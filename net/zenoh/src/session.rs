//! How the network is joined: as a router, as a client of one, or as zenoh's own configuration file
//! says.

use crate::shared::Shared;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use zenoh::sample::SampleKind;
use zenoh::session::TransportEvent;
use zenoh::{Config, Session, Wait as _};

/// Where rmw_zenoh's router is expected.
const ROUTER_HERE: &str = "tcp/localhost:7447";

/// How often a place is tried that does not answer.
const AGAIN: &str = "{ period_init_ms: 1000, period_max_ms: 1000, period_increase_factor: 1 }";

/// How to join the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joining {
    /// Be a router, which ROS 2 nodes and other graphs connect to.
    Router {
        /// Where to listen, such as `tcp/0.0.0.0:7447`; empty: this computer only.
        listen: Vec<String>,
        /// Other routers to connect to.
        connect: Vec<String>,
    },
    /// Connect to the first of these routers that answers; empty: a router on this computer.
    Client {
        /// Where, such as `tcp/robot.lan:7447`.
        connect: Vec<String>,
    },
    /// What a configuration file of zenoh says (JSON5): certificates, for example.
    File(PathBuf),
}

/// The network could not be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The file cannot be read, or breaks zenoh's rules.
    #[error("{path}: {reason}; it must be a configuration file of zenoh, in JSON5")]
    File {
        /// The file.
        path: String,
        /// What zenoh says.
        reason: String,
    },
    /// The file is right, and the network that it describes cannot be joined.
    #[error("the network of {path} cannot be joined: {reason}")]
    NotJoined {
        /// The file.
        path: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A file that the configuration names for TLS is none.
    #[error(
        "{path}: `{setting}` names `{file}`, {reason}; paths are those from the folder in which the \
         command runs"
    )]
    Tls {
        /// The configuration.
        path: String,
        /// What names it there.
        setting: &'static str,
        /// As given there.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A place to listen or to connect to is none.
    #[error(
        "`{endpoint}` is no place on a network: {reason}; write it like `tcp/192.168.0.7:7447`"
    )]
    Endpoint {
        /// As given.
        endpoint: String,
        /// What zenoh says.
        reason: String,
    },
    /// It cannot listen there.
    #[error("this router cannot listen on {listen}: {reason}")]
    Listen {
        /// Where.
        listen: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No router answers.
    #[error("no router answers at {connect}: {reason}; it is tried again each second")]
    NoRouter {
        /// Where.
        connect: String,
        /// What is there, and what to do.
        reason: String,
    },
}

/// What zenoh's configuration names files of certificates by.
const TLS_FILES: [&str; 5] = [
    "root_ca_certificate",
    "listen_private_key",
    "listen_certificate",
    "connect_private_key",
    "connect_certificate",
];

/// Bytes of one of these files; chains of certificates have some kilobytes.
const CERTIFICATE_BYTES_MAX: u64 = 1 << 20;

/// How long a place may take to take a connection when it is looked why none of zenoh comes about.
const LOOK_TIMEOUT: Duration = Duration::from_millis(300);

/// The protocols that are built in.
const PROTOCOLS: [&str; 2] = ["tcp", "tls"];

/// Checks a place to listen at or to connect to: `PROTOCOL/HOST:PORT`.
fn check_place(endpoint: &str) -> Result<(), SessionError> {
    let wrong =
        |reason: String| Err(SessionError::Endpoint { endpoint: endpoint.to_owned(), reason });
    if let Err(error) = endpoint.parse::<zenoh::config::EndPoint>() {
        return wrong(plain(&error));
    }
    let (protocol, address) = parts(endpoint);
    if !PROTOCOLS.contains(&protocol) {
        return wrong(format!(
            "the protocol `{protocol}` is not known, {} are",
            PROTOCOLS.join(" and ")
        ));
    }
    match address.rsplit_once(':').map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(()),
        Some(Err(_)) => wrong("its port is no number up to 65535".to_owned()),
        None => wrong("it names no port".to_owned()),
    }
}

/// The protocol of a place, and where it is.
fn parts(endpoint: &str) -> (&str, &str) {
    let (protocol, address) = endpoint.split_once('/').unwrap_or(("tcp", endpoint));
    (protocol, address.split(['?', '#']).next().unwrap_or_default())
}

/// Why no session with the first of these places comes about, and what to do. Blocks shortly.
fn why_none(places: &[String]) -> String {
    let mut reasons: Vec<String> = places.iter().map(|place| why_not(place)).collect();
    reasons.dedup();
    reasons.join("; ")
}

/// Why no session with a router at this place comes about, and what to do about it. Blocks shortly.
fn why_not(endpoint: &str) -> String {
    let (protocol, address) = parts(endpoint);
    let places: Vec<SocketAddr> = match address.to_socket_addrs() {
        Ok(places) => places.collect(),
        Err(error) => {
            return format!("no computer of that name is known ({error}); check the name");
        }
    };
    let tries = places.iter().map(|place| TcpStream::connect_timeout(place, LOOK_TIMEOUT));
    match tries.fold(None, |found, one| found.filter(Result::is_ok).or(Some(one))) {
        Some(Ok(_)) if protocol == "tls" => {
            "somebody listens there, and no session over TLS comes about; check that it listens \
             with TLS, that `root_ca_certificate` here is of the authority of its certificate, that \
             its certificate is for the name in the place, and, if it wants one, the certificate of \
             this computer (`--config FILE`)"
                .to_owned()
        }
        Some(Ok(_)) => "something listens there that is no router of zenoh, or one that wants \
                        certificates (`--config FILE`)"
            .to_owned(),
        Some(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
            "nobody listens there; start a router there (`crossdock net --router`, or `ros2 run \
             rmw_zenoh_cpp rmw_zenohd`)"
                .to_owned()
        }
        Some(Err(error)) => format!("the computer is not reached ({error}); check its network"),
        None => "no computer has that name; check the name".to_owned(),
    }
}

/// The places where a configuration has us `connect` or `listen`. None if it has them by mode.
fn places_of(config: &Config, what: &str) -> Vec<String> {
    let places = config.get_json(&format!("{what}/endpoints")).ok();
    places.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()
}

/// Why a router cannot listen, and what to do.
fn why_deaf(error: &zenoh::Error) -> String {
    let text = plain(error);
    let has = |part: &str| text.contains(part);
    if has("Address already in use") {
        "another program listens there; if that is a router, join it (`--connect` in the place of \
         `--listen`), else listen elsewhere (`--listen tcp/127.0.0.1:7448`)"
            .to_owned()
    } else if has("Cannot assign requested address") {
        "no such address is this computer's; name one that is, or 0.0.0.0 for all of them"
            .to_owned()
    } else {
        format!("{text}; it must be a place of this computer, such as tcp/0.0.0.0:7447")
    }
}

/// Checks the files of certificates that a configuration names.
fn check_tls(path: &Path, config: &Config) -> Result<(), SessionError> {
    for setting in TLS_FILES {
        let named = config.get_json(&format!("transport/link/tls/{setting}")).ok();
        let named = named.and_then(|json| serde_json::from_str::<Option<String>>(&json).ok());
        let Some(Some(file)) = named else { continue };
        let reason = match certificate(&file) {
            Ok(bytes) if bytes.windows(11).any(|it| it == b"-----BEGIN ") => continue,
            Ok(_) => "which has no certificate or key in PEM".to_owned(),
            Err(error) => format!("which cannot be read: {error}"),
        };
        let path = path.display().to_string();
        return Err(SessionError::Tls { path, setting, file, reason });
    }
    Ok(())
}

/// What a file of a certificate or key holds. A pipe would be waited for, and would be empty for
/// zenoh then; a device may have no end.
fn certificate(file: &str) -> std::io::Result<Vec<u8>> {
    let refused = |what: &str| Err(std::io::Error::new(ErrorKind::InvalidInput, what));
    let metadata = std::fs::metadata(file)?;
    if !metadata.is_file() {
        return refused("it is a folder, a pipe or a device, no file");
    }
    if metadata.len() > CERTIFICATE_BYTES_MAX {
        return refused("it is much longer than certificates are");
    }
    std::fs::read(file)
}

/// What zenoh says, without the places in its sources: `MESSAGE at FILE:LINE.`.
fn plain(error: &zenoh::Error) -> String {
    let text = error.to_string();
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(' ') {
        let is_source = word.contains(".rs:") && words.last() == Some(&"at");
        match is_source {
            true => drop(words.pop()),
            false => words.push(word),
        }
    }
    words.join(" ")
}

/// The places, or the one that is meant if none is named.
fn or_here(places: &[String]) -> Vec<String> {
    match places.is_empty() {
        true => vec![ROUTER_HERE.to_owned()],
        false => places.to_vec(),
    }
}

impl Joining {
    /// Whether it is tried again and again if it fails: as a client it waits for its router.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Joining::Router { .. } => false,
            Joining::Client { .. } => true,
            Joining::File(_) => {
                let is_client = |config: &Config| {
                    config.get_json("mode").is_ok_and(|mode| mode == "\"client\"")
                };
                self.config().is_ok_and(|config| is_client(&config))
            }
        }
    }

    /// What it says when that has been done.
    pub(crate) fn joined(&self) -> String {
        match self {
            Joining::Router { listen, .. } => format!("listens at {}", or_here(listen).join(", ")),
            Joining::Client { .. } => format!("joined {}", self.place()),
            Joining::File(_) => {
                let listen = self.config().map(|config| places_of(&config, "listen"));
                let listen = listen.unwrap_or_default().join(", ");
                let listens = match self.waits() || listen.is_empty() {
                    true => String::new(),
                    false => format!(", and listens at {listen}"),
                };
                format!("joined {}{listens}", self.place())
            }
        }
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> String {
        match self {
            Joining::Router { listen, .. } => format!("a router at {}", or_here(listen).join(", ")),
            Joining::Client { connect } => {
                format!("the router at {}", or_here(connect).join(", "))
            }
            Joining::File(path) => format!("the network of {}", path.display()),
        }
    }

    /// Has a client say when its router goes, and when it is there again.
    ///
    /// # Errors
    /// What zenoh says.
    pub(crate) fn tell_of_router(
        &self,
        session: &Session,
        shared: &Arc<Shared>,
    ) -> zenoh::Result<()> {
        if !self.waits() {
            return Ok(());
        }
        let (shared, place) = (Arc::clone(shared), self.place());
        let tell = move |event: TransportEvent| {
            shared.note(match event.kind() {
                SampleKind::Put => format!("{place} is there again"),
                SampleKind::Delete => format!("{place} has gone; it is looked for each second"),
            });
        };
        session.info().transport_events_listener().callback(tell).background().wait()
    }

    /// Zenoh's configuration.
    ///
    /// # Errors
    /// A file or an endpoint is wrong.
    pub(crate) fn config(&self) -> Result<Config, SessionError> {
        let (mode, listen, connect) = match self {
            Joining::Router { listen, connect } => ("router", or_here(listen), connect.clone()),
            Joining::Client { connect } => ("client", Vec::new(), or_here(connect)),
            Joining::File(path) => {
                let mut config = Config::from_file(path).map_err(|error| SessionError::File {
                    path: path.display().to_string(),
                    reason: plain(&error),
                })?;
                check_tls(path, &config)?;
                // Publishers that keep messages for latecomers stamp them.
                let stamps = config.insert_json5("timestamping/enabled", "true");
                stamps.map_err(|error| SessionError::File {
                    path: path.display().to_string(),
                    reason: plain(&error),
                })?;
                return Ok(config);
            }
        };
        for endpoint in listen.iter().chain(&connect) {
            check_place(endpoint)?;
        }
        let mut config = Config::default();
        let texts = |texts: &[String]| {
            let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            format!("[{}]", quoted.join(","))
        };
        let settings = [
            ("mode", format!("{mode:?}")),
            ("listen/endpoints", texts(&listen)),
            ("connect/endpoints", texts(&connect)),
            ("scouting/multicast/enabled", "false".to_owned()),
            // A router that has gone is looked for each second, as one that has not come yet.
            ("connect/retry", AGAIN.to_owned()),
            // Publishers that keep messages for latecomers stamp them.
            ("timestamping/enabled", "true".to_owned()),
            // Only of use where zenoh was built with it, as in tests.
            ("transport/shared_memory/enabled", "false".to_owned()),
        ];
        for (name, value) in settings {
            let set = config.insert_json5(name, &value);
            set.map_err(|error| SessionError::Endpoint { endpoint: value, reason: plain(&error) })?;
        }
        Ok(config)
    }

    /// Joins the network. Blocks while it connects.
    ///
    /// # Errors
    /// [`SessionError`].
    pub(crate) fn open(&self) -> Result<Session, SessionError> {
        let config = self.config()?;
        let places = places_of(&config, "connect");
        zenoh::open(config).wait().map_err(|error| match self {
            Joining::Router { listen, .. } => {
                let (listen, reason) = (or_here(listen).join(", "), why_deaf(&error));
                SessionError::Listen { listen, reason }
            }
            Joining::Client { connect } => {
                let places = or_here(connect);
                let (connect, reason) = (places.join(", "), why_none(&places));
                SessionError::NoRouter { connect, reason }
            }
            Joining::File(path) => {
                let reason = match self.waits() && !places.is_empty() {
                    true => format!(
                        "no router answers at {}: {}; it is tried again each second",
                        places.join(", "),
                        why_none(&places)
                    ),
                    false => format!(
                        "{}; look at the places and the certificates in the file",
                        why_deaf(&error)
                    ),
                };
                SessionError::NotJoined { path: path.display().to_string(), reason }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Joining, check_place, plain};

    #[test]
    fn an_error_names_no_file_of_zenohs_sources() {
        let connect = vec!["no-place".to_owned()];
        let error = Joining::Client { connect }.config().unwrap_err().to_string();
        assert!(error.contains("no-place") && !error.contains(".rs:"), "{error}");
        let why = super::why_not("tcp/no-such-place.invalid:7447");
        assert!(why.starts_with("no computer"), "{why}");
        let wrong = |place: &str| check_place(place).unwrap_err().to_string();
        assert!(wrong("tcp/first.lan").contains("names no port"));
        assert!(wrong("tcp/first.lan:70000").contains("up to 65535"));
        assert!(wrong("tpc/first.lan:7447").contains("`tpc` is not known, tcp and tls are"));
        for place in ["tcp/first.lan:7447", "tls/[::1]:7447", "tcp/0.0.0.0:0#iface=lo"] {
            check_place(place).unwrap();
        }
        let error = zenoh::Error::from("no luck at /a/b.rs:7. Caused by rain at noon at c.rs:9.");
        assert_eq!(plain(&error), "no luck Caused by rain at noon");
    }
}
