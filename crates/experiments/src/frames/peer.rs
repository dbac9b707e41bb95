//! What is published of the same with `rosidl::Buffer`.
//!
//! ROS 2 documentation (Lyrical), *GPU buffer transport with rosidl::Buffer*: two processes, frames
//! of 4 bytes per pixel that LibTorch draws on a GPU and a window shows, its drawing included.

/// Where the figures are published, and on what.
pub(super) const SOURCE: &str =
    "ROS 2 documentation, GPU buffer transport with rosidl::Buffer: RTX 3090, rmw_fastrtps";

/// Sides of frames, and frames per second as published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) word: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
    /// In memory of the GPU.
    device_fps: f64,
    /// Copied to the host, serialised, and copied back.
    host_fps: f64,
}

impl Size {
    /// Frames per second as published of what is nearest to a model of ours; `None`: there is
    /// nothing.
    pub(super) fn published(&self, model: &str) -> Option<f64> {
        match model {
            "device" => Some(self.device_fps),
            "copy" => Some(self.host_fps),
            _ => None,
        }
    }
}

const fn size(
    word: &'static str,
    [width, height]: [u32; 2],
    [device_fps, host_fps]: [f64; 2],
) -> Size {
    Size { word, width, height, device_fps, host_fps }
}

/// Those that are published.
pub(super) const SIZES: [Size; 3] = [
    size("1080p", [1920, 1080], [116.6, 35.5]),
    size("1440p", [2560, 1440], [90.6, 21.3]),
    size("2160p", [3840, 2160], [59.5, 10.3]),
];
