//! Liveliness tokens: a node or an endpoint is there as long as its token is.
//!
//! `@ros2_lv/<domain>/<session>/<node id>/<id>/<kind>/<enclave>/<namespace>/<node>`, and of an
//! endpoint `/<topic>/<type>/<hash>/<qos>` beside. Names have `%` in the place of `/`.

use super::hash::WireHash;
use super::qos::{QosError, qos_of_text, qos_text};
use super::types::{TypeError, ros_type, wire_type};
use super::{NumberError, number, shown};
use crossdock_comm::names::{NameError, NameKind, check_name, whole_node_name};
use crossdock_comm::{PortKind, Qos};
use xxhash_rust::xxh3::xxh3_128;

/// The first part of all tokens.
const SPACE: &str = "@ros2_lv";
/// A node that is no endpoint.
const NODE: &str = "NN";
/// The largest domain id that ROS 2 has is less.
const DOMAIN_MAX: u64 = u32::MAX as u64;
/// The longest token that is read: far beyond what legal names need.
const TOKEN_BYTES_MAX: usize = 2048;
/// The longest name of a session: 16 bytes in hexadecimal digits.
const SESSION_DIGITS_MAX: usize = 32;

/// What names an endpoint on the network: made of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub [u8; 16]);

/// The GID of the endpoint with this token: its XXH3 of 128 bits, the low word first.
#[must_use]
pub fn gid_of(token: &str) -> Gid {
    Gid(xxh3_128(token.as_bytes()).to_le_bytes())
}

/// All tokens of a domain.
#[must_use]
pub fn tokens_of_domain(domain_id: u32) -> String {
    format!("{SPACE}/{domain_id}/**")
}

/// The key expression of all tokens, of all domains.
#[must_use]
pub fn tokens_of_all_domains() -> String {
    format!("{SPACE}/**")
}

/// How a node is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNames {
    /// Its security enclave; empty: none.
    pub enclave: String,
    /// Its namespace: `/` or `/front`.
    pub namespace: String,
    /// Its own name.
    pub name: String,
}

impl NodeNames {
    /// Its whole name, as ports here have it.
    #[must_use]
    pub fn whole(&self) -> String {
        whole_node_name(&self.namespace, &self.name)
    }
}

/// What is an endpoint beside its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What kind of port it is.
    pub kind: PortKind,
    /// The topic or the service, absolute.
    pub name: String,
    /// Its type, in ROS's form.
    pub type_name: String,
    /// The hash of its type.
    pub hash: WireHash,
    /// What it offers or requests.
    pub qos: Qos,
}

/// A node, or an endpoint of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The domain.
    pub domain_id: u32,
    /// The session of zenoh, in hexadecimal digits.
    pub session: String,
    /// Number of the node in its session.
    pub node_id: u64,
    /// Number of the endpoint in its session; of a node the node's.
    pub id: u64,
    /// The node.
    pub node: NodeNames,
    /// `None`: the node itself.
    pub endpoint: Option<Endpoint>,
}

/// A text is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It has other parts.
    #[error(
        "`{0}` is no liveliness token of ROS 2: `@ros2_lv/domain/session/node \
         id/id/kind/enclave/namespace/node` and, of an endpoint, `/topic/type/hash/qos` are expected"
    )]
    Form(String),
    /// A number is none.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A name is not legal.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its type has another form.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Its hash has another form.
    #[error(transparent)]
    Hash(#[from] crossdock_msg::ParseHashError),
    /// Its quality of service has another form.
    #[error(transparent)]
    Qos(#[from] QosError),
}

fn mangled(name: &str) -> String {
    match name {
        "" | "/" => "%".to_owned(),
        name => name.replace('/', "%"),
    }
}

fn demangled(text: &str) -> String {
    text.replace('%', "/")
}

const fn kind_text(kind: PortKind) -> &'static str {
    match kind {
        PortKind::Publisher => "MP",
        PortKind::Subscriber => "MS",
        PortKind::Server => "SS",
        PortKind::Client => "SC",
    }
}

fn kind_of_text(text: &str) -> Option<PortKind> {
    [PortKind::Publisher, PortKind::Subscriber, PortKind::Server, PortKind::Client]
        .into_iter()
        .find(|kind| kind_text(*kind) == text)
}

impl Token {
    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        let Token { domain_id, session, node_id, id, node, endpoint } = self;
        let kind = endpoint.as_ref().map_or(NODE, |endpoint| kind_text(endpoint.kind));
        let (enclave, namespace) = (mangled(&node.enclave), mangled(&node.namespace));
        let mut text = format!(
            "{SPACE}/{domain_id}/{session}/{node_id}/{id}/{kind}/{enclave}/{namespace}/{}",
            node.name
        );
        if let Some(Endpoint { name, type_name, hash, qos, .. }) = endpoint {
            let (name, type_name, qos) = (mangled(name), wire_type(type_name), qos_text(qos));
            text.push_str(&format!("/{name}/{type_name}/{hash}/{qos}"));
        }
        text
    }

    /// Reads the text. Further parts, which later versions may add, are passed over.
    ///
    /// # Errors
    /// [`TokenError`] says what is wrong.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let wrong = || TokenError::Form(shown(text));
        if text.len() > TOKEN_BYTES_MAX {
            return Err(wrong());
        }
        let mut parts = text.split('/');
        let mut next = || parts.next().ok_or_else(wrong);
        if next()? != SPACE {
            return Err(wrong());
        }
        let domain_id = number(next()?, DOMAIN_MAX)?;
        let session = next()?;
        let is_hex = session.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || session.is_empty() || session.len() > SESSION_DIGITS_MAX {
            return Err(wrong());
        }
        let (node_id, id) = (number(next()?, u64::MAX)?, number(next()?, u64::MAX)?);
        let kind = next()?;
        let enclave = match demangled(next()?).as_str() {
            "/" => String::new(),
            enclave => enclave.to_owned(),
        };
        let (namespace, name) = (demangled(next()?), next()?.to_owned());
        if !enclave.is_empty() {
            check_name(NameKind::Enclave, &enclave)?;
        }
        check_name(NameKind::Namespace, &namespace)?;
        let node = NodeNames { enclave, namespace, name };
        check_name(NameKind::Node, &node.name)?;
        check_name(NameKind::Node, &node.whole())?;
        let endpoint = match kind {
            NODE => None,
            kind => {
                let kind = kind_of_text(kind).ok_or_else(wrong)?;
                let name = demangled(next()?);
                let is_service = matches!(kind, PortKind::Server | PortKind::Client);
                check_name(if is_service { NameKind::Service } else { NameKind::Topic }, &name)?;
                let (type_name, hash) = (ros_type(next()?)?, next()?.parse()?);
                Some(Endpoint { kind, name, type_name, hash, qos: qos_of_text(next()?)? })
            }
        };
        Ok(Token { domain_id, session: session.to_owned(), node_id, id, node, endpoint })
    }
}

#[cfg(test)]
mod tests;
