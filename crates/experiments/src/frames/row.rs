//! What was found of a case.

use super::peer::Size;
use crate::rows::{Record, rounded};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) size: Size,
    pub(super) model: &'static str,
    /// Whether pixels are drawn and shown, or frames only handed over.
    pub(super) drawn: bool,
}

impl Case {
    pub(super) fn work(self) -> &'static str {
        if self.drawn { "drawn and shown" } else { "handed over" }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frames of {}, {}, {}", self.size.word, self.model, self.work())
    }
}

/// As `frames_interfaces/msg/Figures` has them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Figures {
    pub(super) frames: u32,
    pub(super) warm_up: u32,
    pub(super) ahead: u32,
    pub(super) took_ns: u64,
    pub(super) median_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) compared: u32,
    pub(super) wrong: u32,
}

/// What was found of a case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) transport: String,
    pub(super) figures: Figures,
    pub(super) copied_bytes: u64,
}

impl Row {
    pub(super) fn fps(&self) -> f64 {
        f64::from(self.figures.frames) * 1e9 / self.figures.took_ns as f64
    }

    /// From frame to frame, microseconds.
    pub(super) fn frame_us(&self) -> f64 {
        self.figures.took_ns as f64 / 1e3 / f64::from(self.figures.frames)
    }

    /// Of all nodes, to the device and back.
    pub(super) fn copied_bytes_per_frame(&self) -> u64 {
        let Figures { frames, warm_up, .. } = self.figures;
        self.copied_bytes / u64::from(frames + warm_up + 1)
    }

    /// Frames per second as published of the nearest; only with drawing, and in processes.
    pub(super) fn published(&self) -> Option<f64> {
        let is_alike = self.case.drawn && self.transport == "shared";
        self.case.size.published(self.case.model).filter(|_| is_alike)
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Self { case: Case { size, model, drawn }, transport, figures, .. } = self;
        let us = |ns: u64| rounded(ns as f64 / 1e3);
        vec![
            ("resolution", size.word.into()),
            ("width", size.width.into()),
            ("height", size.height.into()),
            ("model", (*model).into()),
            ("transport", transport.as_str().into()),
            ("drawn", (*drawn).into()),
            ("frames", figures.frames.into()),
            ("ahead", figures.ahead.into()),
            ("fps", rounded(self.fps()).into()),
            ("frame_us", rounded(self.frame_us()).into()),
            ("way_median_us", us(figures.median_ns).into()),
            ("way_p99_us", us(figures.p99_ns).into()),
            ("copied_bytes_per_frame", self.copied_bytes_per_frame().into()),
            ("compared", figures.compared.into()),
            ("wrong", figures.wrong.into()),
            ("published_fps", self.published().into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}
