//! The graph as the page's tables and picture show it: read once a second for all pages, and not at
//! all while there is none.

use crossdock_comm::ObserveError;
use crossdock_sight::{Look, Reading, Running, Sight};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::time::MissedTickBehavior;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// What was seen last, as a frame for pages.
pub(crate) type Seen = Arc<str>;

/// Looks while somebody wants to see.
pub(crate) struct Looks {
    seen: Sender<Seen>,
    newcomer: Notify,
}

/// What a look needs; used by one thread at a time.
struct Eye {
    domain_id: u32,
    sight: Sight,
    before: Option<Reading>,
}

impl Looks {
    /// Opens a domain, and looks on the runtime that is entered.
    ///
    /// # Errors
    /// [`ObserveError`]: the meeting place cannot be used.
    pub(crate) fn start(domain_id: u32, name: &str) -> Result<Arc<Self>, ObserveError> {
        let sight = Sight::open(domain_id, name)?;
        let eye = Arc::new(Mutex::new(Eye { domain_id, sight, before: None }));
        let (seen, _) = watch::channel(Seen::from(""));
        let looks = Arc::new(Self { seen, newcomer: Notify::new() });
        // It ends with the runtime.
        drop(tokio::spawn(Arc::clone(&looks).look_again_and_again(eye)));
        Ok(looks)
    }

    /// What is seen from now on. The first look comes at once.
    pub(crate) fn watch(&self) -> Receiver<Seen> {
        let receiver = self.seen.subscribe();
        self.newcomer.notify_one();
        receiver
    }

    async fn look_again_and_again(self: Arc<Self>, eye: Arc<Mutex<Eye>>) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.seen.receiver_count() == 0 {
                self.newcomer.notified().await;
                ticks.reset_immediately();
                continue;
            }
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.newcomer.notified() => {}
            }
            let eye = Arc::clone(&eye);
            // Processes that are asked for the first time are waited for.
            let look = tokio::task::spawn_blocking(move || {
                eye.lock().unwrap_or_else(PoisonError::into_inner).look()
            });
            if let Ok(frame) = look.await {
                self.seen.send_replace(frame);
            }
        }
    }
}

impl Eye {
    fn look(&mut self) -> Seen {
        let now = match self.sight.read() {
            Ok(now) => now,
            Err(error) => {
                return json!({ "kind": "look", "error": error.to_string() }).to_string().into();
            }
        };
        let look = Look::new(&now, self.before.as_ref());
        let running = Running::of(&now, self.before.as_ref().unwrap_or(&now), self.domain_id);
        let frame = json!({
            "kind": "look",
            "domain_id": self.domain_id,
            "look": look,
            "picture": running.picture().to_svg(),
        });
        self.before = Some(now);
        frame.to_string().into()
    }
}
