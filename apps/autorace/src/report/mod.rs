//! A drive as an HTML page with pictures: what was seen, where it went, how long it took.
//!
//! Reads recordings and files it is told of, writes into one folder, uses no network.

mod map;
mod overlay;
mod page;
mod path;
mod summary;

pub use overlay::Projection;

use crate::camera::{Camera, Homography, HomographyError};
use crate::lane::Lane;
use crate::nodes::package;
use crate::recording::{LightSeen, Picture, Recorded, RecordingError, pictures, read};
use crate::score::{Reading, Shown};
use crossdock_graph::{Graph, PackageDescriptions, ParameterOverrides, ParameterValue, Violation};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Most pictures on a page.
pub const PICTURES_MAX: usize = 24;
/// Pictures beside the page: the driven path, and the map.
const PATH_FILE: &str = "path.svg";
const MAP_FILE: &str = "map.svg";

/// What a report is made from.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Recordings of one drive; pictures come from the first one that has them.
    pub recordings: Vec<PathBuf>,
    /// Folder to write; made if need be.
    pub output: PathBuf,
    /// Graph file that was run: says how the camera sees the road, for drawing lanes.
    pub graph: Option<PathBuf>,
    /// Parameter files that were given to the run.
    pub parameters: Vec<PathBuf>,
    /// Picture of the graph; none: it is drawn from the graph file.
    pub graph_picture: Option<PathBuf>,
    /// Closing table as JSON, as `crossdock run --summary` writes it.
    pub summary: Option<PathBuf>,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Report {
    /// The page.
    pub page: PathBuf,
    /// Pictures on it.
    pub pictures: usize,
}

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file cannot be read or written.
    #[error(
        "{}: {cause}; check the path, its permissions and the space on the disk", path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A picture cannot be encoded.
    #[error(
        "{}: the picture cannot be written ({cause}); check the space on the disk", path.display()
    )]
    Png {
        /// The file.
        path: PathBuf,
        /// What the encoder says.
        cause: png::EncodingError,
    },
    /// A graph or parameter file is wrong.
    #[error("{}: {first} (`crossdock check` shows everything)", path.display())]
    Graph {
        /// The file.
        path: PathBuf,
        /// The first violation.
        first: String,
    },
    /// The closing table is not JSON.
    #[error(
        "{} is not a closing table ({cause}): write it with `crossdock run --summary`",
        path.display()
    )]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: serde_json::Error,
    },
    /// The lane planner's parameters cannot be used.
    #[error("the lane planner in {} cannot be drawn: {cause}", path.display())]
    Homography {
        /// The graph file.
        path: PathBuf,
        /// What is wrong.
        cause: HomographyError,
    },
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> ReportError + '_ {
    move |cause| ReportError::File { path: path.to_owned(), cause }
}

/// One picture on the page.
struct Shot {
    file: String,
    seconds: f64,
    lane: Option<Lane>,
    light: Option<LightSeen>,
}

/// Writes the report. Blocks on the file system; allocates.
///
/// # Errors
/// [`ReportError`] names the file.
pub fn write(options: &ReportOptions) -> Result<Report, ReportError> {
    let mut recorded = Recorded::default();
    let mut source = None;
    for recording in &options.recordings {
        let part = read(recording)?;
        if source.is_none() && !part.image_stamps_ns.is_empty() {
            source = Some(recording);
        }
        recorded.join(part);
    }
    recorded.lanes.sort_by_key(|lane| lane.stamp_ns);
    recorded.lights.sort_by_key(|light| light.stamp_ns);
    recorded.places.sort_by_key(|place| place.stamp_ns);
    let graph = options.graph.as_deref().map(|path| read_graph(path, &options.parameters));
    let graph = graph.transpose()?;
    let projection = match (&graph, &options.graph) {
        (Some(graph), Some(path)) => projection(graph, path)?,
        _ => None,
    };
    fs::create_dir_all(&options.output).map_err(file_error(&options.output))?;
    let shots = match source {
        Some(source) => draw(source, &recorded, projection.as_ref(), &options.output)?,
        None => Vec::new(),
    };
    let graph_picture = graph_picture(options, graph.as_ref())?;
    let summary = options.summary.as_deref().map(summary::read).transpose()?;
    let map = map::section(&recorded);
    let grounds = [
        (PATH_FILE, (!recorded.places.is_empty()).then(|| path::course_svg(&recorded.places))),
        (MAP_FILE, map.as_ref().map(|map| map.svg.clone())),
    ];
    for (name, svg) in grounds {
        let file = options.output.join(name);
        svg.map_or(Ok(()), |svg| fs::write(&file, svg).map_err(file_error(&file)))?;
    }
    let text = page::html(&page::Content {
        recorded: &recorded,
        shots: &shots,
        lanes_drawn: projection.is_some(),
        graph_picture: graph_picture.as_deref(),
        map: map.as_ref().map(|map| map.text.as_str()),
        summary: summary.as_ref(),
    });
    let page = options.output.join("index.html");
    fs::write(&page, text).map_err(file_error(&page))?;
    Ok(Report { page, pictures: shots.len() })
}

/// The picture of the graph in the output folder: the given one, else one drawn here.
fn graph_picture(
    options: &ReportOptions,
    graph: Option<&Graph>,
) -> Result<Option<String>, ReportError> {
    let (name, bytes) = match (&options.graph_picture, graph) {
        (Some(from), _) => {
            let ending = from.extension().map_or("svg".into(), |e| e.to_string_lossy());
            (format!("graph.{ending}"), fs::read(from).map_err(file_error(from))?)
        }
        (None, Some(graph)) => {
            let interfaces = PackageDescriptions {
                binaries: vec![package().description()],
                ..PackageDescriptions::default()
            };
            let drawing = crossdock_graph::Picture {
                graph,
                mapping: None,
                descriptions: Some(&interfaces),
                figures: None,
            };
            ("graph.svg".to_owned(), drawing.to_svg().into_bytes())
        }
        (None, None) => return Ok(None),
    };
    let to = options.output.join(&name);
    fs::write(&to, bytes).map_err(file_error(&to))?;
    Ok(Some(name))
}

/// Draws the chosen pictures and writes them as PNG.
fn draw(
    source: &Path,
    recorded: &Recorded,
    projection: Option<&Projection>,
    output: &Path,
) -> Result<Vec<Shot>, ReportError> {
    let wanted = choose(recorded);
    let first = recorded.first_stamp_ns.unwrap_or(0);
    let mut shots = Vec::with_capacity(wanted.len());
    let mut failed = None;
    pictures(source, &wanted, |mut picture| {
        let lane = at(&recorded.lanes, picture.stamp_ns);
        let light = at(&recorded.lights, picture.stamp_ns);
        overlay::draw(&mut picture, lane.as_ref(), light.as_ref(), projection);
        let file = format!("image_{:02}.png", shots.len());
        if let Err(error) = write_png(&output.join(&file), &picture) {
            failed.get_or_insert(error);
        }
        let seconds = (picture.stamp_ns - first) as f64 * 1e-9;
        shots.push(Shot { file, seconds, lane, light });
    })?;
    failed.map_or(Ok(shots), Err)
}

fn at<T: Copy>(readings: &[Reading<T>], stamp_ns: i64) -> Option<T> {
    let index = readings.binary_search_by_key(&stamp_ns, |reading| reading.stamp_ns).ok()?;
    Some(readings[index].value)
}

/// Stamps of the pictures to show: evenly spread, and the first of each change of the light.
fn choose(recorded: &Recorded) -> Vec<i64> {
    let stamps = &recorded.image_stamps_ns;
    let spread = if stamps.len() <= PICTURES_MAX { stamps.len() } else { PICTURES_MAX * 2 / 3 };
    let mut wanted: Vec<i64> =
        (0..spread).map(|i| stamps[i * (stamps.len() - 1) / (spread - 1).max(1)]).collect();
    let mut last = Shown::None;
    for stamp in stamps {
        let Some(light) = at(&recorded.lights, *stamp) else { continue };
        let changed = std::mem::replace(&mut last, light.shown) != light.shown;
        if changed && light.shown != Shown::None && wanted.len() < PICTURES_MAX {
            wanted.push(*stamp);
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn write_png(path: &Path, picture: &Picture) -> Result<(), ReportError> {
    let file = fs::File::create(path).map_err(file_error(path))?;
    let encode = || -> Result<(), png::EncodingError> {
        let (width, height) = (picture.width as u32, picture.height as u32);
        let mut encoder = png::Encoder::new(io::BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&picture.rgb)?;
        writer.finish()
    };
    encode().map_err(|cause| ReportError::Png { path: path.to_owned(), cause })
}

/// A graph file with the parameters of the run.
///
/// # Errors
/// [`ReportError`] names the file and its first violation.
pub fn read_graph(path: &Path, parameters: &[PathBuf]) -> Result<Graph, ReportError> {
    let broken = |path: &Path, violations: Vec<Violation>| {
        let first = violations.first().map_or_else(String::new, ToString::to_string);
        ReportError::Graph { path: path.to_owned(), first }
    };
    let text = fs::read(path).map_err(file_error(path))?;
    let mut graph =
        Graph::from_yaml(&path.to_string_lossy(), &text).map_err(|v| broken(path, v))?;
    for file in parameters {
        let text = fs::read(file).map_err(file_error(file))?;
        let overrides = ParameterOverrides::from_yaml(&file.to_string_lossy(), &text)
            .map_err(|v| broken(file, v))?;
        graph = graph.with_parameters(&overrides).map_err(|v| broken(file, v))?;
    }
    Ok(graph)
}

/// How the lane planner of a graph sees the road; none if the graph has no lane planner.
fn projection(graph: &Graph, path: &Path) -> Result<Option<Projection>, ReportError> {
    let planner =
        graph.nodes.iter().find(|n| n.package == "autorace" && n.node_type == "lane_planner");
    let Some(planner) = planner else { return Ok(None) };
    let number = |value: &ParameterValue| match value {
        ParameterValue::DoubleArray(values) => values.clone(),
        ParameterValue::IntegerArray(values) => values.iter().map(|v| *v as f64).collect(),
        _ => Vec::new(),
    };
    let numbers = |name: &str| planner.parameters.get(name).map(number).unwrap_or_default();
    let Ok(h) = <[f64; 9]>::try_from(numbers("homography")) else { return Ok(None) };
    let homography = Homography::new([[h[0], h[1], h[2]], [h[3], h[4], h[5]], [h[6], h[7], h[8]]])
        .map_err(|cause| ReportError::Homography { path: path.to_owned(), cause })?;
    let rectifies = planner.parameters.get("rectify") != Some(&ParameterValue::Bool(false));
    let camera = match (numbers("intrinsics").try_into(), numbers("distortion").try_into()) {
        (Ok(intrinsics), Ok(distortion)) if rectifies => {
            Some(Camera::plumb_bob(intrinsics, distortion))
        }
        _ => None,
    };
    Ok(Some(Projection::new(&homography, camera)))
}
