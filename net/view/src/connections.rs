//! The web server's connections: so many, and none that only waits.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at once, beside those of pages and viewers. A browser has up to six.
const CONNECTIONS_MAX: usize = 128;

/// How long a connection may take to ask for something.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a peer may take nothing of what is sent to it (`TCP_USER_TIMEOUT`, tcp(7)).
const TAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long no connection is taken after one could not be: descriptors may be used up.
const PAUSE: Duration = Duration::from_millis(100);

/// What one connection too many gets.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\
    Content-Type: text/plain\r\n\r\ntoo many connections: close other pages and viewers\n";

/// Serves until its runtime ends.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&free).try_acquire_owned() else {
            // It is told if that takes no time.
            let _ = connection.try_write(FULL);
            continue;
        };
        if set_up(&connection).is_err() {
            // It has gone.
            continue;
        }
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(ASK_TIMEOUT)
                .serve_connection(TokioIo::new(connection), service)
                .with_upgrades();
            // The peer may go at any time.
            let _ = connection.await;
            drop(place);
        });
    }
}

fn set_up(connection: &TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let timeout_ms = TAKE_TIMEOUT.as_millis() as u32;
    rustix::net::sockopt::set_tcp_user_timeout(connection, timeout_ms)?;
    Ok(())
}
