//! The page, and the connection over which it gets what it shows.
//!
//! The page sends JSON: `{"show": ID, "topic": T, "as": "text"|"picture"|"plot", "field": F}`,
//! `{"more": ID}` when it has shown what it got, `{"hide": ID}`. It gets a frame of `looks` each
//! second, and frames of its panels.

use crate::front::{Front, full};
use crate::panel::{Form, Out, Panel};
use crate::watcher::Shared;
use axum::extract::State;
use axum::extract::ws::{Message as Frame, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc::channel;

/// Topics that one page shows at once, and frames that wait for it: one of each.
const PANELS_MAX: usize = 32;

/// Longest word of a page.
const WORD_BYTES_MAX: usize = 4 << 10;

/// Pings between two frames that a page has taken: each is answered, and the answers wait in
/// memory.
const PINGS_MAX: usize = 64;

/// Files of the page, by name.
pub(crate) const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/view.css", "text/css; charset=utf-8", include_str!("../page/view.css")),
    ("/view.js", "text/javascript; charset=utf-8", include_str!("../page/view.js")),
];

/// A file of the page.
pub(crate) fn file(kind: &'static str, text: &'static str) -> Response {
    let kind = HeaderValue::from_static(kind);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Connects a page.
pub(crate) async fn live(State(front): State<Arc<Front>>, upgrade: WebSocketUpgrade) -> Response {
    let Some(place) = front.place() else { return full() };
    let upgrade = upgrade.max_message_size(WORD_BYTES_MAX);
    upgrade.on_upgrade(async move |socket| {
        serve(socket, front).await;
        drop(place);
    })
}

async fn serve(mut socket: WebSocket, front: Arc<Front>) {
    let (out, mut frames) = channel(PANELS_MAX);
    let out = Out::new(out);
    let mut panels = Panels { shared: Arc::clone(&front.shared), out, shown: BTreeMap::new() };
    let mut looks = front.looks.watch();
    let mut pings = 0;
    loop {
        // Its room is given back when it has been sent.
        let (frame, _room) = tokio::select! {
            word = socket.recv() => match word {
                Some(Ok(Frame::Text(word))) => match panels.obey(&word) {
                    Ok(()) => continue,
                    Err(error) => {
                        (Frame::Text(json!({ "error": error }).to_string().into()), None)
                    }
                },
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return,
                Some(Ok(Frame::Ping(_))) if pings == PINGS_MAX => return,
                Some(Ok(frame)) => {
                    pings += usize::from(matches!(frame, Frame::Ping(_)));
                    continue;
                }
            },
            Some((frame, room)) = frames.recv() => (frame, Some(room)),
            Ok(()) = looks.changed() => {
                (Frame::Text(looks.borrow_and_update().as_ref().into()), None)
            }
        };
        // While a slow page takes it, newer looks take the place of older ones.
        if socket.send(frame).await.is_err() {
            return;
        }
        pings = 0;
    }
}

/// What one page shows. They go with it.
struct Panels {
    shared: Arc<Shared>,
    out: Out,
    shown: BTreeMap<u32, Arc<Panel>>,
}

impl Panels {
    fn obey(&mut self, word: &str) -> Result<(), String> {
        let word: Value = serde_json::from_str(word).map_err(|error| error.to_string())?;
        let id = |key: &str| word[key].as_u64().and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id("more") {
            if let Some(panel) = self.shown.get(&id) {
                panel.give_credit();
            }
        } else if let Some(id) = id("hide") {
            self.hide(id);
        } else if let Some(id) = id("show") {
            self.show(id, &word)?;
        }
        Ok(())
    }

    fn show(&mut self, id: u32, word: &Value) -> Result<(), String> {
        self.hide(id);
        if self.shown.len() == PANELS_MAX {
            return Err(format!("a page shows at most {PANELS_MAX} topics; close another one"));
        }
        let text = |key: &str| word[key].as_str().unwrap_or_default().to_owned();
        let form = match text("as").as_str() {
            "picture" => Form::Picture,
            "plot" => Form::Plot(text("field")),
            _ => Form::Text,
        };
        let panel = Arc::new(Panel::new(id, text("topic"), form, self.out.clone()));
        self.shared.add_panel(&panel);
        self.shown.insert(id, panel);
        Ok(())
    }

    fn hide(&mut self, id: u32) {
        if let Some(panel) = self.shown.remove(&id) {
            self.shared.remove_panel(&panel);
        }
    }
}

impl Drop for Panels {
    fn drop(&mut self) {
        self.shown.values().for_each(|panel| self.shared.remove_panel(panel));
    }
}
