//! Red and green light (topics E and F of the papers): two nodes that hand over to each other.

use crate::hand_over::{GreenArm, OtherLight, searches_red};
use crate::image::Rgb;
use crate::light::{Lamp, LampParameters, LampSearch, permille};
use crate::messages::autorace_msgs::TrafficLight;
use crate::nodes::lane_planner::hsv_range;
use crate::nodes::message::{copy_header, header_extra, rgb_of, set_light, shown_of, stamp_ns};
use crate::nodes::room::{SIDES, size};
use crate::score::Shown;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::types::std_msgs::HeaderView;

/// What both nodes have: their image, the other's output, their own.
#[derive(Debug)]
struct Ports {
    image: Subscriber<Image>,
    other: Subscriber<TrafficLight>,
    light: Publisher<TrafficLight>,
    /// Of the pictures, if the graph says it.
    size: Option<(usize, usize)>,
    search: LampSearch,
    before: OtherLight,
}

/// Messages of the other node that are read at most per image.
const OTHER_MAX: usize = 64;

fn interface(low: [i64; 3], high: [i64; 3], doc: &str) -> NodeDescription {
    NodeDescription::new()
        .doc(doc)
        .subscriber::<Image>("image")
        .subscriber_latest::<TrafficLight>("other")
        .publisher::<TrafficLight>("light")
        .parameter("low", low.to_vec(), "h (0 to 179), s, v of the lamp; h may wrap")
        .parameter("high", high.to_vec(), "h, s, v of the lamp")
        .parameter("area_min", 40, "smallest lamp, pixels")
        .parameter("area_max", 20_000, "largest lamp, pixels")
        .parameter("fill", 0.35, "share of its box that a lamp fills, 0 to 1")
        .parameter("aspect_max", 2.2, "length of a lamp's box by its width")
        .parameter("rows", 0.7, "share of the image's rows, from the top, that is searched")
        .parameter("housing", 0.4, "share of dark pixels round a lamp, 0: do not look")
        .parameter("housing_value_max", 110, "value of a dark pixel at most, 0 to 255")
        .parameter(SIDES[0].0, 0, SIDES[0].1)
        .parameter(SIDES[1].0, 0, SIDES[1].1)
}

/// A share parameter in 1/1000, at most `most`.
fn share(setup: &Setup<'_>, name: &str, most: f64) -> Result<u32, NodeError> {
    let value: f64 = setup.parameter(name)?;
    let refused = || NodeError::new(format!("{name} is {value}, but must be 0 to {most}"));
    permille(value, most).ok_or_else(refused)
}

impl Ports {
    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let parameters = LampParameters {
            range: hsv_range(setup, "low", "high")?,
            area_min: setup.parameter("area_min")?,
            area_max: setup.parameter("area_max")?,
            fill_permille: share(setup, "fill", 1.0)?,
            aspect_permille: share(setup, "aspect_max", 100.0)?,
            rows_permille: share(setup, "rows", 1.0)?,
            housing_permille: share(setup, "housing", 1.0)?,
            housing_value_max: setup.parameter("housing_value_max")?,
        };
        Ok(Self {
            image: setup.subscriber("image")?,
            other: setup.subscriber("other")?,
            light: setup.publisher("light")?,
            size: size(setup)?,
            search: LampSearch::new(parameters),
            before: OtherLight::default(),
        })
    }

    /// The picture of a message, which has the size that the graph says.
    fn picture<'a>(&self, image: ImageView<'a>) -> Result<Rgb<'a>, NodeError> {
        let picture = rgb_of(image)?;
        if let Some((width, height)) = self.size {
            picture.expect_size(width, height)?;
        }
        Ok(picture)
    }

    /// Whether the other light was lit in the image before the one of `stamp_ns`.
    fn other_before(&mut self, stamp_ns_now: i64) -> Result<bool, NodeError> {
        for _ in 0..OTHER_MAX {
            let Some(sample) = self.other.take()? else { break };
            let message = sample.message();
            let lit = shown_of(message) != Shown::None;
            self.before.note(stamp_ns(message.header()), lit);
        }
        Ok(self.before.before(stamp_ns_now))
    }

    fn publish(
        &self,
        header: HeaderView<'_>,
        shown: Shown,
        lamp: Option<Lamp>,
    ) -> Result<(), NodeError> {
        let mut loan = self.light.loan(header_extra(header)?)?;
        let mut out = loan.message();
        copy_header(header, out.header())?;
        set_light(&mut out, shown, lamp);
        loan.publish()?;
        Ok(())
    }
}

/// Looks for a red lamp; see [`crate::light`] and [`crate::hand_over`].
#[derive(Debug)]
pub struct RedLight {
    ports: Ports,
}

impl NodeType for RedLight {
    const NAME: &'static str = "red_light";

    fn description() -> NodeDescription {
        interface([0, 200, 200], [24, 255, 255], "Looks for a red traffic light: stop.")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { ports: Ports::create(setup)? })
    }
}

impl Node for RedLight {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.ports.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = self.ports.picture(message)?;
        let green_before = self.ports.other_before(stamp_ns(message.header()))?;
        let lamp = searches_red(green_before).then(|| self.ports.search.find(picture)).flatten();
        self.ports.publish(message.header(), Shown::Red, lamp)
    }
}

/// Looks for a green lamp; see [`crate::light`] and [`crate::hand_over`].
#[derive(Debug)]
pub struct GreenLight {
    ports: Ports,
    arm: GreenArm,
}

impl NodeType for GreenLight {
    const NAME: &'static str = "green_light";

    fn description() -> NodeDescription {
        interface([40, 210, 131], [113, 255, 255], "Looks for a green traffic light: go.")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { ports: Ports::create(setup)?, arm: GreenArm::default() })
    }
}

impl Node for GreenLight {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.ports.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = self.ports.picture(message)?;
        let red_before = self.ports.other_before(stamp_ns(message.header()))?;
        let searches = self.arm.searches(red_before);
        let lamp = searches.then(|| self.ports.search.find(picture)).flatten();
        self.arm.found(lamp.is_some());
        self.ports.publish(message.header(), Shown::Green, lamp)
    }
}
