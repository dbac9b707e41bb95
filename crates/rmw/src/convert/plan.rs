//! The steps of a conversion, worked out once per type and language.
//!
//! Neighbouring numbers become one run of equal bytes. A run never covers padding: what a program
//! left there stays its own.

use super::memory;
use crate::introspection::{Access, Element, Found, Language, Member, Type, TypeError};
use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, Layout};

/// Most steps of one type, as in `msg`.
const STEPS_MAX: usize = 65_536;

/// The steps for one struct.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) ros_bytes: usize,
    pub(super) flat_bytes: usize,
    /// The struct is one run without padding and without a bool: an array of it is copied whole.
    pub(super) is_whole: bool,
}

/// One step. `ros` and `flat` are byte offsets in the two structs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The same bytes in both.
    Run { ros: usize, flat: usize, bytes: usize },
    /// Bools inside the run before; a bool of C++ must be 0 or 1.
    Bools { ros: usize, count: usize },
    /// One text or wide text, or several in an array.
    Texts { ros: usize, flat: usize, count: usize, text: Text },
    /// Structs of an array that are not one run.
    Structs { ros: usize, flat: usize, count: usize, program: usize },
    /// A sequence.
    Sequence { ros: usize, flat: usize, bound: usize, access: Access, of: Of },
}

/// A kind of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) is_wide: bool,
    pub(super) bound: usize,
    /// Size of the text's struct in the ROS program.
    pub(super) ros_bytes: usize,
}

/// What a sequence holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// Numbers of this size.
    Numbers {
        bytes: usize,
        are_bools: bool,
    },
    Texts(Text),
    Structs(usize),
}

struct Planner<'a> {
    language: Language,
    layout: &'a Layout,
    programs: Vec<Program>,
    /// Position of a struct's program, by the struct's position in the layout. Structs that stand
    /// in others alone have none.
    planned: Vec<Option<usize>>,
    steps: usize,
}

/// The programs of a type; the root's is the first.
pub(super) fn programs(found: &Found, layout: &Layout) -> Result<Vec<Program>, TypeError> {
    let planned = vec![None; layout.structs.len()];
    let programs = Vec::new();
    let mut planner = Planner { language: found.language, layout, programs, planned, steps: 0 };
    planner.plan(&found.root, 0)?;
    Ok(planner.programs)
}

fn contradicts(one: &Type) -> TypeError {
    let what = "its members and its nested types do not fit together";
    TypeError::Damaged { type_name: one.name.clone(), what }
}

impl Planner<'_> {
    /// Position of the program for the struct at position `at` of the layout, planned if it is not
    /// yet. Introspection has bounded the nesting.
    fn plan(&mut self, one: &Type, at: usize) -> Result<usize, TypeError> {
        if let Some(planned) = self.planned[at] {
            return Ok(planned);
        }
        let (flat_bytes, ros_bytes) = (self.layout.structs[at].bytes as usize, one.bytes);
        let position = self.programs.len();
        self.planned[at] = Some(position);
        self.programs.push(Program { steps: Vec::new(), ros_bytes, flat_bytes, is_whole: false });
        let mut steps = Vec::new();
        self.members(one, at, (0, 0), &mut steps)?;
        let is_run =
            matches!(steps[..], [Step::Run { ros: 0, flat: 0, bytes }] if bytes == flat_bytes);
        self.programs[position].is_whole = is_run && ros_bytes == flat_bytes;
        self.programs[position].steps = steps;
        Ok(position)
    }

    /// The steps of all members; `base` is where the struct begins in the two structs.
    fn members(
        &mut self,
        one: &Type,
        at: usize,
        base: (usize, usize),
        steps: &mut Vec<Step>,
    ) -> Result<(), TypeError> {
        let fields = &self.layout.structs[at].fields;
        if fields.len() != one.members.len() || self.layout.structs[at].type_name != one.name {
            return Err(contradicts(one));
        }
        for (member, field) in one.members.iter().zip(fields) {
            let (ros, flat) = (base.0 + member.offset, base.1 + field.offset as usize);
            self.member(one, member, field.element, (ros, flat), steps)?;
            self.steps += 1;
            if self.steps > STEPS_MAX {
                let what = "it takes too many steps";
                return Err(TypeError::Damaged { type_name: one.name.clone(), what });
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        owner: &Type,
        member: &Member,
        element: ElementLayout,
        (ros, flat): (usize, usize),
        steps: &mut Vec<Step>,
    ) -> Result<(), TypeError> {
        let count = match member.shape {
            Shape::One => 1,
            Shape::Array(count) => count as usize,
            Shape::Sequence { bound } => {
                let of = match (&member.element, element) {
                    (Element::Primitive(primitive), _) => Of::Numbers {
                        bytes: primitive.bytes() as usize,
                        are_bools: *primitive == Primitive::Bool,
                    },
                    (Element::Message(nested), ElementLayout::Struct(at)) => {
                        Of::Structs(self.plan(nested, at)?)
                    }
                    (Element::Text { bound }, _) => Of::Texts(self.text(false, *bound)),
                    (Element::WideText { bound }, _) => Of::Texts(self.text(true, *bound)),
                    _ => return Err(contradicts(owner)),
                };
                let access = member.access;
                steps.push(Step::Sequence { ros, flat, bound: limit(bound), access, of });
                return Ok(());
            }
        };
        match (&member.element, element) {
            (Element::Primitive(primitive), _) => {
                push_run(steps, ros, flat, count * primitive.bytes() as usize);
                if *primitive == Primitive::Bool {
                    push_bools(steps, ros, count);
                }
            }
            (Element::Text { bound }, _) => {
                steps.push(Step::Texts { ros, flat, count, text: self.text(false, *bound) });
            }
            (Element::WideText { bound }, _) => {
                steps.push(Step::Texts { ros, flat, count, text: self.text(true, *bound) });
            }
            (Element::Message(nested), ElementLayout::Struct(at)) if count == 1 => {
                self.members(nested, at, (ros, flat), steps)?;
            }
            (Element::Message(nested), ElementLayout::Struct(at)) => {
                let program = self.plan(nested, at)?;
                match &self.programs[program] {
                    whole if whole.is_whole => push_run(steps, ros, flat, count * whole.flat_bytes),
                    _ => steps.push(Step::Structs { ros, flat, count, program }),
                }
            }
            _ => return Err(contradicts(owner)),
        }
        Ok(())
    }

    fn text(&self, is_wide: bool, bound: Option<u32>) -> Text {
        let ros_bytes = memory::text_bytes(self.language, is_wide);
        Text { is_wide, bound: limit(bound), ros_bytes }
    }
}

fn limit(bound: Option<u32>) -> usize {
    bound.map_or(memory::LENGTH_MAX, |bound| (bound as usize).min(memory::LENGTH_MAX))
}

/// Adds bytes to the run before, if they follow it in both structs.
fn push_run(steps: &mut Vec<Step>, ros: usize, flat: usize, bytes: usize) {
    let run = steps.iter_mut().rev().find(|step| !matches!(step, Step::Bools { .. }));
    if let Some(Step::Run { ros: from, flat: at, bytes: so_far }) = run
        && *from + *so_far == ros
        && *at + *so_far == flat
    {
        *so_far += bytes;
    } else {
        steps.push(Step::Run { ros, flat, bytes });
    }
}

fn push_bools(steps: &mut Vec<Step>, ros: usize, count: usize) {
    match steps.last_mut() {
        Some(Step::Bools { ros: from, count: so_far }) if *from + *so_far == ros => {
            *so_far += count
        }
        _ => steps.push(Step::Bools { ros, count }),
    }
}

/// Whether all offsets and sizes agree and nothing is outside the struct.
pub(super) fn is_plain(root: &Type, layout: &Layout) -> bool {
    layout.fixed_structs()[0] && agrees(root, layout, 0)
}

fn agrees(one: &Type, layout: &Layout, at: usize) -> bool {
    let of = &layout.structs[at];
    let same = one.bytes == of.bytes as usize && one.members.len() == of.fields.len();
    same && one.members.iter().zip(&of.fields).all(|(member, field)| {
        member.offset == field.offset as usize
            && match (&member.element, field.element) {
                (Element::Message(nested), ElementLayout::Struct(at)) => agrees(nested, layout, at),
                (Element::Primitive(_), _) => true,
                _ => false,
            }
    })
}
