//! The renderer: draws frames, and measures how long they take to be shown.

use crate::gpu;
use crate::messages::frames_interfaces::{Figures, Shown};
use crate::nodes::ENCODING;
use crate::scene::{Scene, Size};
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Publisher, Setup, Subscriber, Trigger,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::{DeviceOutput, Queue};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// When the first frame is drawn.
const BEGIN_PERIOD: Duration = Duration::from_millis(200);
/// Frames per second of the arm's own time.
const RATE: u64 = 60;
/// Frames on their way at most: the depth of topics that say none.
const AHEAD_MAX: u32 = 4;

/// Draws frame after frame, on a device or itself; `ahead` frames are on their way at once: the
/// next one comes when the display says that one was shown. It measures `frames` of them, after
/// `warm_up` others, has one more shown for the display to compare, publishes what they took and
/// ends the run. Does not allocate between the first frame and the last.
#[derive(Debug)]
pub struct Renderer {
    frame: Publisher<Image>,
    shown: Subscriber<Shown>,
    figures: Publisher<Figures>,
    size: Size,
    plan: Plan,
    drawn: bool,
    device: Option<OnDevice>,
    state: State,
}

/// How many frames.
#[derive(Clone, Copy, Debug)]
struct Plan {
    frames: u32,
    warm_up: u32,
    ahead: u32,
}

#[derive(Debug)]
struct OnDevice {
    queue: Queue,
    output: DeviceOutput,
    renderer: gpu::Renderer,
}

#[derive(Debug)]
struct State {
    /// Frames that have been drawn, and frames that were shown.
    drawn: u32,
    shown: u32,
    /// When each of those on their way set out.
    on_their_way: VecDeque<Instant>,
    /// Of frames that count.
    times_ns: Vec<u64>,
    begun: Instant,
    took: Duration,
    compared: u32,
    wrong: u32,
}

impl NodeType for Renderer {
    const NAME: &'static str = "renderer";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Draws a robot's arm, frame after frame, and measures how long they take to be shown.")
            .publisher::<Image>("frame")
            .subscriber::<Shown>("shown")
            .publisher::<Figures>("figures")
            .timer("begin", BEGIN_PERIOD)
            .parameter("width", 1920, "pixels of a row")
            .parameter("height", 1080, "rows")
            .parameter("frames", 300, "frames that count")
            .parameter("warm_up", 30, "frames before them")
            .parameter("ahead", 3, "frames on their way at once, 1 to 4")
            .parameter("drawn", true, "false: frames are only handed over, no pixel is written")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let count = |name: &str, least: u32, most: u32| -> Result<u32, NodeError> {
            let count: i64 = setup.parameter(name)?;
            let known = u32::try_from(count).ok().filter(|it| (least..=most).contains(it));
            known.ok_or_else(|| {
                NodeError::new(format!("{name} is {count}, but must be {least} to {most}"))
            })
        };
        let (width, height) = (
            count("width", 1, crate::scene::SIDE_MAX)?,
            count("height", 1, crate::scene::SIDE_MAX)?,
        );
        let plan = Plan {
            frames: count("frames", 1, 1_000_000)?,
            warm_up: count("warm_up", 1, 1_000_000)?,
            ahead: count("ahead", 1, AHEAD_MAX)?,
        };
        let drawn = setup.parameter("drawn")?;
        let (frame, shown) = (setup.publisher("frame")?, setup.subscriber("shown")?);
        let figures = setup.publisher("figures")?;
        let device = match Queue::of(setup)? {
            None => None,
            Some(queue) => {
                let output = queue.output(setup, &frame)?;
                let renderer = gpu::Renderer::new(&queue.device())?;
                Some(OnDevice { queue, output, renderer })
            }
        };
        let now = Instant::now();
        let state = State {
            drawn: 0,
            shown: 0,
            on_their_way: VecDeque::with_capacity(plan.ahead as usize),
            times_ns: Vec::with_capacity(plan.frames as usize),
            begun: now,
            took: Duration::ZERO,
            compared: 0,
            wrong: 0,
        };
        Ok(Self { frame, shown, figures, size: Size { width, height }, plan, drawn, device, state })
    }
}

impl Node for Renderer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Trigger::Timer(_) = context.trigger() {
            while self.state.drawn < self.plan.ahead {
                self.render()?;
            }
            return Ok(());
        }
        let Some(sample) = self.shown.take()? else { return Ok(()) };
        let shown = sample.message();
        self.state.compared += u32::from(shown.compared());
        self.state.wrong += u32::from(shown.compared() && !shown.right());
        drop(sample);
        self.hear();
        let Plan { frames, warm_up, .. } = self.plan;
        if self.state.shown == warm_up + frames + 1 {
            self.tell()?;
            context.finish("all frames were shown");
        } else if self.state.drawn < warm_up + frames + 1 {
            self.render()?;
        }
        Ok(())
    }
}

impl Renderer {
    /// A frame was shown.
    fn hear(&mut self) {
        let (Plan { frames, warm_up, .. }, now) = (self.plan, Instant::now());
        let state = &mut self.state;
        let set_out = state.on_their_way.pop_front();
        state.shown += 1;
        let counts = (warm_up + 1..=warm_up + frames).contains(&state.shown);
        if let (true, Some(set_out)) = (counts, set_out) {
            state.times_ns.push(u64::try_from((now - set_out).as_nanos()).unwrap_or(u64::MAX));
        }
        if state.shown == warm_up {
            state.begun = now;
        }
        if state.shown == warm_up + frames {
            state.took = now - state.begun;
        }
    }

    /// Draws the next frame and publishes it, early where a device draws it.
    fn render(&mut self) -> Result<(), NodeError> {
        let size = self.size;
        let set_out = Instant::now();
        let stamp_ns = u64::from(self.state.drawn) * 1_000_000_000 / RATE;
        let (sec, nanosec) =
            (i32::try_from(stamp_ns / 1_000_000_000)?, (stamp_ns % 1_000_000_000) as u32);
        let scene = Scene::at(size, f64::from(sec) + f64::from(nanosec) / 1e9);
        let extra = Extra::none().text(ENCODING.len()).bytes(size.bytes());
        let mut loan = self.frame.loan(extra)?;
        let region = loan.region();
        let mut message = loan.message();
        message.header().stamp().set_sec(sec);
        message.header().stamp().set_nanosec(nanosec);
        message.set_width(size.width);
        message.set_height(size.height);
        message.set_step(size.width * crate::scene::PIXEL_BYTES as u32);
        message.set_encoding(ENCODING)?;
        let pixels = message.data_uninit(size.bytes())?;
        match &mut self.device {
            None => {
                if self.drawn {
                    scene.draw(pixels);
                }
                loan.publish()?;
            }
            Some(OnDevice { queue, output, renderer }) => {
                let mut work = queue.begin()?;
                let to = work.write(output, region, pixels)?;
                if self.drawn {
                    renderer.run(&mut work, &scene, &to)?;
                }
                work.publish(output, loan, ())?;
            }
        }
        self.state.drawn += 1;
        self.state.on_their_way.push_back(set_out);
        Ok(())
    }

    /// Publishes what the frames took.
    fn tell(&mut self) -> Result<(), NodeError> {
        let Plan { frames, warm_up, ahead } = self.plan;
        let state = &mut self.state;
        state.times_ns.sort_unstable();
        let times = &state.times_ns;
        let at = |permille: usize| times.get(times.len() * permille / 1000).copied().unwrap_or(0);
        let mut loan = self.figures.loan(Extra::none())?;
        let mut message = loan.message();
        message.set_width(self.size.width);
        message.set_height(self.size.height);
        message.set_frames(frames);
        message.set_warm_up(warm_up);
        message.set_ahead(ahead);
        message.set_drawn(self.drawn);
        message.set_took_ns(u64::try_from(state.took.as_nanos())?);
        message.set_median_ns(at(500));
        message.set_p99_ns(at(990));
        message.set_compared(state.compared);
        message.set_wrong(state.wrong);
        loan.publish()?;
        Ok(())
    }
}
