//! Stop / go hand-over between the red and the green light node (topics E and F of the papers).
//!
//! Each node decides for image k whether to search at all, from what it found itself and from the
//! other's message for image k - 1, told apart by stamp: the decision never depends on which
//! message happened to arrive first. When that message is missing (the graph is overloaded and
//! paced by real time), the last known state stays.
//!
//! Rules:
//! 1. red is searched unless green was seen in image k - 1;
//! 2. green is searched while it is armed; at the start it is;
//! 3. red in image k - 1 arms green: stop, wait for go;
//! 4. green that was seen and is gone for [`GONE_IMAGES`] images disarms green: from then on only
//!    red is searched;
//! 5. [`REARM_IMAGES`] images without any light are a new start.

/// Images without any light after which both lights are searched again: 2 s at 15 Hz.
pub const REARM_IMAGES: u32 = 30;

/// Images without green after which a light that was green has been passed: a single image may
/// miss it.
pub const GONE_IMAGES: u32 = 5;

/// Messages of the other node that wait for their image: bounds the memory.
const WAITING: usize = 8;

/// The other node's messages, by stamp.
#[derive(Clone, Debug, Default)]
pub struct OtherLight {
    seen: [Option<(i64, bool)>; WAITING],
    next: usize,
    previous_stamp_ns: Option<i64>,
    last: bool,
}

impl OtherLight {
    /// Notes that the other node reported, for the image of `stamp_ns`, its light or none.
    pub fn note(&mut self, stamp_ns: i64, lit: bool) {
        self.seen[self.next] = Some((stamp_ns, lit));
        self.next = (self.next + 1) % WAITING;
    }

    /// Begins the image of `stamp_ns`: whether the other light was lit in the image before it.
    pub fn before(&mut self, stamp_ns: i64) -> bool {
        let previous = self.previous_stamp_ns.replace(stamp_ns);
        let found = self.seen.iter().flatten().find(|(stamp, _)| Some(*stamp) == previous);
        if let Some((_, lit)) = found {
            self.last = *lit;
        }
        self.last
    }
}

/// Rule 1.
pub fn searches_red(green_before: bool) -> bool {
    !green_before
}

/// Rules 2 to 5: the green node's memory.
#[derive(Clone, Copy, Debug)]
pub struct GreenArm {
    armed: bool,
    seen: bool,
    dark_images: u32,
}

impl Default for GreenArm {
    fn default() -> Self {
        Self { armed: true, seen: false, dark_images: 0 }
    }
}

impl GreenArm {
    /// Whether green is searched in this image, given that red was or was not lit in the last one.
    pub fn searches(&mut self, red_before: bool) -> bool {
        if red_before {
            self.armed = true;
            self.dark_images = 0;
        }
        self.armed
    }

    /// Notes whether green was found in this image.
    pub fn found(&mut self, lit: bool) {
        if lit {
            self.dark_images = 0;
            self.seen = true;
        } else {
            self.dark_images = self.dark_images.saturating_add(1);
            if self.seen && self.dark_images >= GONE_IMAGES {
                self.armed = false;
                self.seen = false;
            }
            if self.dark_images >= REARM_IMAGES {
                self.armed = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GONE_IMAGES, GreenArm, OtherLight, REARM_IMAGES};

    #[test]
    fn only_the_message_of_the_image_before_counts_whatever_came_first() {
        let mut other = OtherLight::default();
        assert!(!other.before(100));
        other.note(200, false);
        other.note(100, true);
        assert!(other.before(200), "image 100 was lit, image 200 is not asked for yet");
        assert!(!other.before(300));
        assert!(!other.before(400), "no message for image 300: the last known state stays");
    }

    #[test]
    fn green_is_armed_by_red_followed_while_lit_and_disarmed_after_it() {
        let mut arm = GreenArm::default();
        assert!(arm.searches(false), "at the start both are searched");
        arm.found(true);
        for _ in 0..GONE_IMAGES {
            assert!(arm.searches(false), "one image may miss it");
            arm.found(false);
        }
        assert!(!arm.searches(false), "after green only red is searched");
        arm.found(false);
        assert!(arm.searches(true), "red arms green");
        arm.found(false);
        assert!(arm.searches(false), "between red and green it stays armed");
    }

    #[test]
    fn a_long_time_without_light_is_a_new_start() {
        let mut arm = GreenArm::default();
        arm.found(true);
        for dark in 1..REARM_IMAGES {
            arm.found(false);
            assert_eq!(arm.searches(false), dark < GONE_IMAGES, "{dark} dark images");
        }
        arm.found(false);
        assert!(arm.searches(false));
    }
}
