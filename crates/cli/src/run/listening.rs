//! A thread of the launcher that takes the messages of one topic and sleeps while there are none.

use anyhow::{Context, Result};
use crossdock_comm::{
    Doorbell, DoorbellControl, DoorbellOptions, Participant, Qos, Subscriber, SubscriberOptions,
};
use crossdock_msg::Message;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// Listens until it is told to finish, or dropped.
pub(super) struct Listening {
    stop: Arc<AtomicBool>,
    bell: DoorbellControl,
    thread: Option<JoinHandle<()>>,
}

/// What is listened to.
pub(super) struct Heard {
    /// Of the thread.
    pub(super) name: &'static str,
    pub(super) node: String,
    pub(super) topic: &'static str,
    pub(super) qos: Qos,
}

impl Listening {
    /// Starts the thread. `turn` takes all messages that there are, whenever there may be some, and
    /// once more after the end.
    pub(super) fn start<T: Message>(
        participant: &Participant,
        heard: Heard,
        turn: impl FnMut(&Subscriber<T>) + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let (participant, of_thread) = (participant.clone(), Arc::clone(&stop));
        let name = heard.name;
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || match open::<T>(&participant, &heard) {
                Ok((subscriber, doorbell)) => {
                    // Who starts the thread waits for this.
                    let _ = ready.send(Ok(doorbell.control()));
                    listen(&subscriber, &doorbell, &of_thread, turn);
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            })
            .with_context(|| {
                format!(
                    "the thread `{name}` cannot be started; check the limits on threads and address \
                     space (ulimit -u, -v)"
                )
            })?;
        let bell = is_ready.recv().with_context(|| format!("the thread `{name}` has ended"))??;
        Ok(Self { stop, bell, thread: Some(thread) })
    }

    /// Takes what there is, and ends.
    pub(super) fn finish(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stop.store(true, Ordering::Release);
        self.bell.wake();
        // It panics only by a defect, and its hook has said so.
        let _ = thread.join();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.finish();
    }
}

fn open<T: Message>(participant: &Participant, heard: &Heard) -> Result<(Subscriber<T>, Doorbell)> {
    let doorbell = participant.doorbell(DoorbellOptions { spin: Duration::ZERO })?;
    let subscriber = participant.subscriber(SubscriberOptions {
        node: &heard.node,
        topic: heard.topic,
        qos: heard.qos,
        doorbell: Some(&doorbell),
        group: None,
    })?;
    Ok((subscriber, doorbell))
}

fn listen<T: Message>(
    subscriber: &Subscriber<T>,
    doorbell: &Doorbell,
    stop: &AtomicBool,
    mut turn: impl FnMut(&Subscriber<T>),
) {
    // Ends with the stop; each turn that finds nothing sleeps.
    loop {
        // Looked at before the messages: what came before the stop is taken.
        let is_over = stop.load(Ordering::Acquire);
        turn(subscriber);
        if is_over {
            return;
        }
        doorbell.drain(|_| {});
        let handle = subscriber.handle();
        doorbell.sleep(None, || handle.arm());
    }
}
