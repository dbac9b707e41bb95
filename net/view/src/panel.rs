//! What a page shows of one topic: text, pictures, or numbers over time.
//!
//! A page asks for each message that it gets when it has shown the one before (*credit*), so a slow
//! page gets fewer messages and nothing piles up. Text and pictures are the newest message then;
//! numbers are all since, up to a bound.

use crate::feed::Arrived;
use axum::body::Bytes;
use axum::extract::ws::Message as Frame;
use crossdock_msg::types::sensor_msgs::{CompressedImage, Image};
use crossdock_msg::{Block, FlatError, JsonOptions, Message as _};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Elements of an array that are shown as text.
const ELEMENTS_MAX: usize = 64;

/// Points that wait for a page: a minute at 100 Hz.
const POINTS_MAX: usize = 6_000;

/// How a topic is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The newest message as JSON.
    Text,
    /// The newest picture.
    Picture,
    /// A field of each message, by its path.
    Plot(String),
}

/// One topic on one page.
#[derive(Debug)]
pub(crate) struct Panel {
    /// Number that the page has given it.
    id: u32,
    topic: String,
    form: Form,
    /// Whether the page waits for more.
    has_credit: AtomicBool,
    /// Messages since the panel was opened.
    seen: AtomicU64,
    points: Mutex<VecDeque<(u64, Value)>>,
    /// Each panel sends once for each credit.
    out: Out,
}

/// Bytes that wait for one page, in KiB; one frame may be larger.
const WAITING_KIB_MAX: u32 = 16 << 10;

/// To a page. What waits for it is bounded, whatever its panels show.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    frames: Sender<(Frame, OwnedSemaphorePermit)>,
    /// KiB that are free.
    room: Arc<Semaphore>,
}

impl Out {
    pub(crate) fn new(frames: Sender<(Frame, OwnedSemaphorePermit)>) -> Self {
        Self { frames, room: Arc::new(Semaphore::new(WAITING_KIB_MAX as usize)) }
    }

    /// Whether a frame of a usual size finds room.
    fn has_room(&self) -> bool {
        self.room.available_permits() > WAITING_KIB_MAX as usize / 2
    }

    /// Gives whether the page gets it.
    fn send(&self, frame: Frame) -> bool {
        let bytes = match &frame {
            Frame::Text(text) => text.len(),
            Frame::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(WAITING_KIB_MAX);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(kib) else { return false };
        // The page has room for one frame of each panel, or has gone.
        let _ = self.frames.try_send((frame, room));
        true
    }
}

impl Panel {
    pub(crate) fn new(id: u32, topic: String, form: Form, out: Out) -> Self {
        let points = Mutex::default();
        let (has_credit, seen) = (AtomicBool::new(true), AtomicU64::new(0));
        Self { id, topic, form, has_credit, seen, points, out }
    }

    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    /// The page has shown what it got.
    pub(crate) fn give_credit(&self) {
        self.has_credit.store(true, Relaxed);
    }

    /// Takes a message, if the page waits for one.
    pub(crate) fn take(&self, arrived: &Arrived<'_>) {
        let seen = self.seen.fetch_add(1, Relaxed) + 1;
        let head = json!({ "id": self.id, "stamp_ns": arrived.stamp_ns.to_string(), "seen": seen });
        match &self.form {
            Form::Plot(field) => self.add_point(arrived, field),
            Form::Text if self.spend_credit() => self.send(text(head, arrived)),
            Form::Picture if self.spend_credit() => self.send(picture(head, arrived)),
            Form::Text | Form::Picture => {}
        }
    }

    /// Sends points that wait.
    pub(crate) fn flush(&self) {
        let mut points = self.points.lock().unwrap_or_else(PoisonError::into_inner);
        if points.is_empty() || !self.out.has_room() || !self.spend_credit() {
            return;
        }
        let points: Vec<Value> = points
            .drain(..)
            .map(|(stamp_ns, value)| json!([stamp_ns as f64 / 1e9, value]))
            .collect();
        let seen = self.seen.load(Relaxed);
        let frame = json!({ "id": self.id, "points": points, "seen": seen });
        self.send(Frame::Text(frame.to_string().into()));
    }

    fn add_point(&self, arrived: &Arrived<'_>, field: &str) {
        let options = JsonOptions::shown(1);
        let value = match arrived.schema.field_json(arrived.block, field, options) {
            Ok(Value::Bool(value)) => u8::from(value).into(),
            Ok(value @ Value::Number(_)) => value,
            // A gap: the field is not there, or is no finite number.
            _ => Value::Null,
        };
        let mut points = self.points.lock().unwrap_or_else(PoisonError::into_inner);
        if points.len() == POINTS_MAX {
            points.pop_front();
        }
        points.push_back((arrived.stamp_ns, value));
    }

    fn spend_credit(&self) -> bool {
        self.has_credit.swap(false, Relaxed)
    }

    fn send(&self, frame: Frame) {
        if !self.out.send(frame) {
            // The next one is newer.
            self.give_credit();
        }
    }
}

fn text(mut head: Value, arrived: &Arrived<'_>) -> Frame {
    let options = JsonOptions::shown(ELEMENTS_MAX);
    match arrived.schema.to_json_with(arrived.block, options) {
        Ok(message) => head["message"] = message,
        Err(error) => head["error"] = error.to_string().into(),
    }
    Frame::Text(head.to_string().into())
}

/// A head in JSON, behind its length in 4 bytes, then the bytes of the picture.
fn picture(mut head: Value, arrived: &Arrived<'_>) -> Frame {
    let shown = match arrived.schema.type_name() {
        Image::TYPE_NAME => raw(arrived.block, &mut head),
        CompressedImage::TYPE_NAME => compressed(arrived.block, &mut head),
        other => {
            head["error"] = format!("{other} is no picture").into();
            Ok(&[][..])
        }
    };
    let bytes = shown.unwrap_or_else(|error| {
        head["error"] = error.to_string().into();
        &[]
    });
    let head = head.to_string();
    let length = u32::try_from(head.len()).unwrap_or(0).to_le_bytes();
    Frame::Binary(Bytes::from([&length, head.as_bytes(), bytes].concat()))
}

fn raw<'a>(block: Block<'a>, head: &mut Value) -> Result<&'a [u8], FlatError> {
    let image = Image::view(block)?;
    head["width"] = image.width().into();
    head["height"] = image.height().into();
    head["step"] = image.step().into();
    head["is_bigendian"] = (image.is_bigendian() != 0).into();
    head["encoding"] = image.encoding_string()?.into();
    image.data()
}

fn compressed<'a>(block: Block<'a>, head: &mut Value) -> Result<&'a [u8], FlatError> {
    let image = CompressedImage::view(block)?;
    head["format"] = image.format_string()?.into();
    image.data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_msg::types::std_msgs;
    use crossdock_msg::{FlatBuffer, Schema};
    use tokio::sync::mpsc::{Receiver, channel};

    type Frames = Receiver<(Frame, OwnedSemaphorePermit)>;

    fn panel(form: Form) -> (Panel, Frames) {
        let (out, frames) = channel(8);
        (Panel::new(7, "/t".to_owned(), form, Out::new(out)), frames)
    }

    fn next(frames: &mut Frames) -> Option<Value> {
        match frames.try_recv().ok()?.0 {
            Frame::Text(text) => Some(serde_json::from_str(&text).unwrap()),
            Frame::Binary(bytes) => {
                let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
                let mut head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
                head["bytes"] = bytes[4 + length..].to_vec().into();
                Some(head)
            }
            other => panic!("{other:?}"),
        }
    }

    fn flat(schema: &Schema, value: &Value) -> FlatBuffer {
        let cdr = schema.cdr_of_json(value).unwrap();
        let mut buffer = FlatBuffer::default();
        buffer.resize(schema.flat_bytes_of_cdr(&cdr).unwrap());
        schema.decode_cdr(&cdr, buffer.as_mut_slice()).unwrap();
        buffer
    }

    fn arrive(panel: &Panel, schema: &Schema, value: &Value, stamp_ns: u64) {
        let buffer = flat(schema, value);
        panel.take(&Arrived { schema, block: Block::new(buffer.as_slice()), stamp_ns });
    }

    #[test]
    fn a_page_gets_a_message_when_it_has_shown_the_one_before() {
        let schema = Schema::of::<std_msgs::String>().unwrap();
        let (panel, mut frames) = panel(Form::Text);
        for (stamp, text) in ["a", "b"].into_iter().enumerate() {
            arrive(&panel, &schema, &json!({ "data": text }), stamp as u64);
        }
        let first = next(&mut frames).unwrap();
        assert_eq!((&first["message"]["data"], &first["seen"]), (&json!("a"), &json!(1)));
        assert_eq!(next(&mut frames), None);
        panel.give_credit();
        arrive(&panel, &schema, &json!({ "data": "c" }), 2);
        let second = next(&mut frames).unwrap();
        assert_eq!((&second["message"]["data"], &second["seen"]), (&json!("c"), &json!(3)));
    }

    #[test]
    fn what_waits_for_a_page_is_bounded_and_its_newest_message_comes_when_there_is_room() {
        let schema = Schema::of::<std_msgs::String>().unwrap();
        let (out, mut frames) = channel(8);
        let out = Out::new(out);
        let panels: Vec<Panel> =
            (0..3).map(|id| Panel::new(id, "/t".to_owned(), Form::Text, out.clone())).collect();
        let large = "x".repeat((WAITING_KIB_MAX as usize) << 9);
        for panel in &panels {
            arrive(panel, &schema, &json!({ "data": large }), 0);
        }
        assert!(next(&mut frames).is_some(), "one of more than half of all that may wait");
        assert_eq!(next(&mut frames), None);
        arrive(&panels[2], &schema, &json!({ "data": "later" }), 1);
        assert_eq!(next(&mut frames).unwrap()["message"]["data"], "later");
    }

    #[test]
    fn a_plot_gets_every_point_and_gaps_for_what_is_no_number() {
        let schema = Schema::of::<std_msgs::Float64>().unwrap();
        let (panel, mut frames) = panel(Form::Plot("data".to_owned()));
        for stamp in 0..3_u64 {
            arrive(&panel, &schema, &json!({ "data": stamp }), stamp * 1_000_000_000);
        }
        panel.flush();
        let points = next(&mut frames).unwrap()["points"].clone();
        assert_eq!(points, json!([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]));
        let (other, mut frames) = super::tests::panel(Form::Plot("no_such".to_owned()));
        arrive(&other, &schema, &json!({ "data": 1 }), 0);
        other.flush();
        assert_eq!(next(&mut frames).unwrap()["points"], json!([[0.0, null]]));
    }

    #[test]
    fn a_picture_comes_as_its_bytes_and_other_types_are_named() {
        let schema = Schema::of::<Image>().unwrap();
        let (panel, mut frames) = panel(Form::Picture);
        let image =
            json!({ "width": 2, "height": 1, "step": 2, "encoding": "mono8", "data": [7, 9] });
        arrive(&panel, &schema, &image, 1);
        let shown = next(&mut frames).unwrap();
        assert_eq!((&shown["encoding"], &shown["bytes"]), (&json!("mono8"), &json!([7, 9])));
        panel.give_credit();
        arrive(&panel, &Schema::of::<std_msgs::String>().unwrap(), &json!({}), 2);
        let error = next(&mut frames).unwrap()["error"].to_string();
        assert!(error.contains("std_msgs/msg/String is no picture"), "{error}");
    }
}
