//! What the web server answers: the page, and connections with Foxglove's protocol.

use crate::gate::{Asked, Gate, GateError};
use crate::looks::Looks;
use crate::page;
use crate::relay;
use crate::tracing;
use crate::watcher::Shared;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The names that Foxglove's protocol has had, the present one first. The protocol is the same.
const PROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];

/// Largest answer to a handshake.
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// What a page of ours may load, and who may show it: nothing of others, nobody else. Pictures of
/// graphs bring their own styles.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self' ws:; img-src 'self' blob: data:; frame-ancestors 'none'";

/// Seconds of a trace, unless the page says how many, and at most.
const TRACE_S: u64 = 3;
const TRACE_S_MAX: u64 = 30;

/// In the answer with a trace: what is not in it, and why.
const NOTES: HeaderName = HeaderName::from_static("crossdock-notes");

/// Notes that are told, so that clients take the header.
const NOTES_MAX: usize = 16;

/// What the server knows.
pub(crate) struct Front {
    pub(crate) gate: Gate,
    /// Where Foxglove's server listens.
    pub(crate) studio: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    pub(crate) looks: Arc<Looks>,
    pub(crate) domain_id: u32,
    /// Held while a trace is recorded: there is one at a time.
    pub(crate) tracing: Arc<tokio::sync::Mutex<()>>,
    /// Viewers and pages that there may be beside those that are there.
    pub(crate) places: Arc<Semaphore>,
}

/// Viewers and pages at once. Each may make 16 MiB wait.
const VIEWERS_MAX: usize = 16;

impl Front {
    /// Room for as many viewers as there may be.
    pub(crate) fn places() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(VIEWERS_MAX))
    }

    /// A place for a viewer or a page, which it keeps while it is connected; `None`: see [`full`].
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }
}

/// The answer to one viewer or page too many.
pub(crate) fn full() -> Response {
    let text = "too many pages and viewers: close others\n";
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

/// Everything that is served.
pub(crate) fn router(front: Front) -> Router {
    let front = Arc::new(front);
    let [(_, kind, text), rest @ ..] = page::FILES;
    let root = move |front, request| root(front, request, kind, text);
    let router = Router::new().route("/", get(root));
    let router = rest.into_iter().fold(router, |router, (name, kind, text)| {
        router.route(name, get(move || async move { page::file(kind, text) }))
    });
    router
        .route("/live", get(page::live))
        .route("/trace", post(trace))
        .layer(middleware::from_fn_with_state(Arc::clone(&front), guard))
        .with_state(front)
}

/// Refuses what the gate does not let in; adds the headers that keep the page to itself.
async fn guard(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    if let Err(refused) = admit(&front.gate, request.headers()) {
        return (StatusCode::FORBIDDEN, format!("{refused}\n")).into_response();
    }
    let mut response = next.run(request).await;
    let own = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in own {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn admit(gate: &Gate, headers: &HeaderMap) -> Result<(), GateError> {
    let text = |name: HeaderName| headers.get(name).map(|it| it.to_str().unwrap_or("not a text"));
    let asked = match protocol(headers) {
        Some(_) => Asked::Foxglove,
        None => Asked::Page,
    };
    gate.admit(asked, text(header::HOST), text(header::ORIGIN))
}

/// The name of Foxglove's protocol that a client offers.
fn protocol(headers: &HeaderMap) -> Option<&'static str> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let offered = offered.iter().filter_map(|it| it.to_str().ok());
    let offered: Vec<&str> = offered.flat_map(|it| it.split(',')).map(str::trim).collect();
    PROTOCOLS.into_iter().find(|known| offered.contains(known))
}

/// The page, or a connection with Foxglove's protocol.
async fn root(
    State(front): State<Arc<Front>>,
    mut request: Request,
    kind: &'static str,
    text: &'static str,
) -> Response {
    let Some(protocol) = protocol(request.headers()) else { return page::file(kind, text) };
    let upgrade = hyper::upgrade::on(&mut request);
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).and_then(|it| it.to_str().ok());
    let asks = request.headers().get(header::UPGRADE).and_then(|it| it.to_str().ok());
    let asks = asks.is_some_and(|it| it.eq_ignore_ascii_case("websocket"));
    let is_handshake =
        asks && request.method() == Method::GET && request.version() == Version::HTTP_11;
    let Some(key) = key.filter(|key| is_handshake && is_key(key)) else {
        return (StatusCode::BAD_REQUEST, "this is no WebSocket handshake\n").into_response();
    };
    let Some(place) = front.place() else { return full() };
    match connect(&front, protocol, key, upgrade, place).await {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error}\n")).into_response(),
    }
}

/// Whether this is 16 bytes in Base64 (RFC 6455, section 4.1).
fn is_key(key: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    key.len() == 24 && key.strip_suffix("==").is_some_and(|digits| digits.bytes().all(is_digit))
}

/// Records a trace. It is a POST, for which browsers say whose page asks.
async fn trace(
    State(front): State<Arc<Front>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let seconds = match query.get("seconds").map(|text| text.parse()) {
        None => TRACE_S,
        Some(Ok(seconds @ 1..=TRACE_S_MAX)) => seconds,
        Some(_) => {
            let said = format!("`seconds` is a whole number from 1 to {TRACE_S_MAX}\n");
            return (StatusCode::BAD_REQUEST, said).into_response();
        }
    };
    let Ok(held) = Arc::clone(&front.tracing).try_lock_owned() else {
        return (StatusCode::CONFLICT, "another trace is being recorded\n").into_response();
    };
    let duration = Duration::from_secs(seconds);
    let domain_id = front.domain_id;
    // Who asks may go meanwhile: it is recorded to the end, and others wait until then.
    let recorded = tokio::task::spawn_blocking(move || {
        let recorded = tracing::record(domain_id, duration, || front.shared.is_over());
        drop(held);
        recorded
    });
    let recorded = recorded.await;
    match recorded {
        Ok(Ok(tracing::Recorded { bytes, notes })) => {
            let kind = HeaderValue::from_static("application/octet-stream");
            let mut response = ([(header::CONTENT_TYPE, kind)], bytes).into_response();
            response.headers_mut().extend(noted(&notes).map(|notes| (NOTES, notes)));
            response
        }
        Ok(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The first of these sentences as a header, which has no line ends and no characters beside ASCII;
/// `None`: there is none.
fn noted(notes: &[String]) -> Option<HeaderValue> {
    let rest = notes.len().saturating_sub(NOTES_MAX);
    let mut told: Vec<String> = notes.iter().take(NOTES_MAX).map(|note| ascii(note)).collect();
    if rest > 0 {
        told.push(format!("{rest} more are not told"));
    }
    HeaderValue::try_from(told.join("; ")).ok().filter(|value| !value.is_empty())
}

/// Text with other characters as escapes.
fn ascii(text: &str) -> String {
    let is_plain = |c: char| matches!(c, ' '..='~');
    text.chars()
        .map(|c| if is_plain(c) { c.to_string() } else { c.escape_default().to_string() })
        .collect()
}

/// Connects a viewer with Foxglove's server: repeats the handshake there, then passes frames on.
async fn connect(
    front: &Arc<Front>,
    protocol: &'static str,
    key: &str,
    upgrade: OnUpgrade,
    place: OwnedSemaphorePermit,
) -> io::Result<Response> {
    let refused = || io::Error::new(io::ErrorKind::InvalidData, "Foxglove's server refuses");
    let (studio, front) = (front.studio, Arc::clone(front));
    let mut server = TcpStream::connect(studio).await?;
    server.set_nodelay(true)?;
    // A header's text has no line end.
    let handshake = format!(
        "GET / HTTP/1.1\r\nHost: {studio}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\
         Sec-WebSocket-Protocol: {}\r\n\r\n",
        PROTOCOLS[0]
    );
    server.write_all(handshake.as_bytes()).await?;
    let accept = accepted(&answer(&mut server).await?).ok_or_else(refused)?;
    tokio::spawn(async move {
        if let Ok(viewer) = upgrade.await {
            let Shared { flow, followed, .. } = &*front.shared;
            relay::pass_on(TokioIo::new(viewer), server, flow, followed).await;
            drop(place);
        }
    });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept)
        .header(header::SEC_WEBSOCKET_PROTOCOL, protocol)
        .body(Body::empty());
    response.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The head of the server's answer: what follows belongs to the viewer.
async fn answer(server: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(server.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The proof in an answer that agrees.
fn accepted(head: &str) -> Option<String> {
    let mut lines = head.lines();
    lines.next()?.split(' ').nth(1).filter(|status| *status == "101")?;
    lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-accept").then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_served_by_either_name_of_the_protocol() {
        let offers = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(text));
            protocol(&headers)
        };
        assert_eq!(offers("foxglove.websocket.v1"), Some("foxglove.websocket.v1"));
        assert_eq!(offers("other, foxglove.sdk.v1"), Some("foxglove.sdk.v1"));
        assert_eq!(offers("foxglove.websocket.v1,foxglove.sdk.v1"), Some("foxglove.sdk.v1"));
        assert_eq!(offers("foxglove"), None);
        assert_eq!(protocol(&HeaderMap::new()), None);
    }

    #[test]
    fn notes_of_a_trace_are_one_header_whatever_names_are_in_them() {
        assert_eq!(noted(&[]), None);
        let told = |notes: &[String]| {
            let value = noted(notes).expect("notes");
            value.to_str().expect("ASCII").to_owned()
        };
        let names = ["a\r\nset-cookie: b".to_owned(), "\u{e9}".to_owned()];
        assert_eq!(told(&names), "a\\r\\nset-cookie: b; \\u{e9}");
        let many = vec!["a".to_owned(); NOTES_MAX + 5];
        let told = told(&many);
        assert_eq!(
            (told.matches("a;").count(), told.ends_with("; 5 more are not told")),
            (16, true)
        );
    }

    #[test]
    fn an_answer_agrees_or_does_not() {
        let agreed = "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: abc=\r\n\r\n";
        assert_eq!(accepted(agreed).as_deref(), Some("abc="));
        assert_eq!(
            accepted("HTTP/1.1 400 Bad Request\r\nsec-websocket-accept: abc=\r\n\r\n"),
            None
        );
        assert_eq!(accepted(""), None);
    }
}
