//! CDR of other writers: big endian, XCDR2 in its forms, and damage named by its field.

use crate::common;
use common::random::{Random, random_cdr};
use crossdock_msg::definition::Shape;
use crossdock_msg::layout::{ElementLayout, Layout};
use crossdock_msg::types::{nav_msgs, sensor_msgs};
use crossdock_msg::{Block, BlockMut, CdrError, Extra, FlatBuffer, Message, Schema};

/// Every kind of field.
const EVERYTHING: &str = "\
bool flag
float64 wide_number
string text
int16[3] shorts
uint64[] longs
wstring wide
string[2] two
wstring[<=3] wides
In[] inner
In one
Empty empty
uint8 last
===
MSG: my_msgs/In
string name
float64 value
In2[2] deeper
===
MSG: my_msgs/In2
int8 small
int64 large
===
MSG: my_msgs/Empty
";

fn schema() -> Schema {
    Schema::parse("my_msgs/msg/Everything", EVERYTHING).unwrap()
}

/// An independent writer of the forms: it reads XCDR1 little endian by the layout and writes anew.
struct Writer<'a> {
    layout: &'a Layout,
    from: &'a [u8],
    at: usize,
    out: Vec<u8>,
    big: bool,
    /// Most strict alignment: 8 in XCDR1, 4 in XCDR2.
    most: usize,
    structs: bool,
    collections: bool,
    /// Bytes of a unit of wide text, and whether its length counts bytes.
    wide: (usize, bool),
}

impl Writer<'_> {
    fn take(&mut self, size: usize) -> u64 {
        self.at = (self.at - 4).next_multiple_of(size) + 4;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.from[self.at..self.at + size]);
        self.at += size;
        u64::from_le_bytes(bytes)
    }

    fn put(&mut self, value: u64, size: usize) {
        let at = (self.out.len() - 4).next_multiple_of(size.min(self.most));
        self.out.resize(at + 4, 0);
        match self.big {
            true => self.out.extend(&value.to_be_bytes()[8 - size..]),
            false => self.out.extend(&value.to_le_bytes()[..size]),
        }
    }

    /// Writes a part with its length before it.
    fn delimited(&mut self, wanted: bool, part: impl FnOnce(&mut Self)) {
        if !wanted {
            return part(self);
        }
        self.put(0, 4);
        let start = self.out.len();
        part(self);
        let bytes = (self.out.len() - start) as u32;
        let bytes = if self.big { bytes.to_be_bytes() } else { bytes.to_le_bytes() };
        self.out[start - 4..start].copy_from_slice(&bytes);
    }

    fn structure(&mut self, index: usize) {
        self.delimited(self.structs, |writer| {
            let layout = writer.layout;
            for field in &layout.structs[index].fields {
                let number = matches!(field.element, ElementLayout::Primitive(_));
                let delimited = writer.collections && !number && field.shape != Shape::One;
                writer.delimited(delimited, |writer| {
                    let count = match field.shape {
                        Shape::One => 1,
                        Shape::Array(count) => u64::from(count),
                        Shape::Sequence { .. } => {
                            let count = writer.take(4);
                            writer.put(count, 4);
                            count
                        }
                    };
                    (0..count).for_each(|_| writer.element(field.element));
                });
            }
        });
    }

    fn element(&mut self, element: ElementLayout) {
        match element {
            ElementLayout::Struct(index) => self.structure(index),
            ElementLayout::Primitive(primitive) => {
                let value = self.take(primitive.bytes() as usize);
                self.put(value, primitive.bytes() as usize);
            }
            ElementLayout::Text { .. } => {
                let count = self.take(4);
                self.put(count, 4);
                for _ in 0..count {
                    let byte = self.take(1);
                    self.put(byte, 1);
                }
            }
            ElementLayout::WideText { .. } => {
                let (size, bytes) = self.wide;
                let count = self.take(4);
                self.put(if bytes { count * size as u64 } else { count }, 4);
                for _ in 0..count {
                    let unit = self.take(4);
                    self.put(unit, size);
                }
            }
        }
    }
}

/// A header, whether there are lengths before structs and collections, and how wide text is
/// written.
type Form = (u8, bool, bool, (usize, bool));

fn written(schema: &Schema, cdr: &[u8], (header, structs, collections, wide): Form) -> Vec<u8> {
    let mut writer = Writer {
        layout: schema.layout(),
        from: cdr,
        at: 4,
        out: vec![0, header, 0, 0],
        big: header.is_multiple_of(2),
        most: if header < 2 { 8 } else { 4 },
        structs,
        collections,
        wide,
    };
    writer.structure(0);
    let mut out = writer.out;
    if header > 1 {
        let padding = out.len().next_multiple_of(4) - out.len();
        out.resize(out.len() + padding, 0);
        out[3] = padding as u8;
    }
    out
}

const FORMS: [Form; 8] = [
    (0, false, false, (4, false)),
    (6, false, true, (2, true)),
    (7, false, true, (2, true)),
    (7, false, false, (4, false)),
    (8, true, true, (2, true)),
    (9, true, true, (2, true)),
    (0x11, false, true, (2, true)),
    (0x15, true, true, (2, true)),
];

#[test]
fn big_endian_and_every_form_of_xcdr2_decode_to_the_same_message() {
    let schema = schema();
    for seed in 0..60 {
        let cdr = random_cdr(schema.layout(), &mut Random::new(seed), 1 + seed as usize / 6);
        let wanted = schema.flat_bytes_of_cdr(&cdr).unwrap();
        let mut plain = FlatBuffer::with_bytes(wanted);
        schema.decode_cdr(&cdr, plain.as_mut_slice()).unwrap();
        for form in FORMS {
            let foreign = written(&schema, &cdr, form);
            assert_eq!(schema.flat_bytes_of_cdr(&foreign), Ok(wanted), "{seed} {form:?}");
            let mut flat = FlatBuffer::with_bytes(wanted);
            schema.decode_cdr(&foreign, flat.as_mut_slice()).unwrap();
            let mut again = Vec::new();
            schema.encode_cdr(Block::new(flat.as_slice()), &mut again).unwrap();
            assert_eq!(again, cdr, "{seed} {form:?}");
        }
    }
}

#[test]
fn generated_types_read_foreign_encodings_too() {
    fn check<M: Message>() {
        let schema = Schema::of::<M>().unwrap();
        let cdr = random_cdr(schema.layout(), &mut Random::new(3), 5);
        for form in FORMS {
            let foreign = written(&schema, &cdr, form);
            let extra = M::cdr_extra(&foreign).unwrap();
            let mut flat = FlatBuffer::with_bytes(M::ROOT_BYTES + extra.total());
            let mut top = 0;
            let memory = BlockMut::new(flat.as_mut_slice(), &mut top);
            M::decode_cdr(&foreign, &mut M::builder(memory)).unwrap();
            let mut again = Vec::new();
            schema.encode_cdr(Block::new(&flat.as_slice()[..top]), &mut again).unwrap();
            assert_eq!(again, cdr, "{} {form:?}", M::TYPE_NAME);
        }
    }
    check::<sensor_msgs::PointCloud2>();
    check::<nav_msgs::Odometry>();
    check::<sensor_msgs::JointState>();
}

#[test]
fn of_two_forms_that_fit_the_one_counts_whose_end_is_where_the_header_says() {
    let schema = Schema::parse("a_msgs/A", "wstring text\nuint8[] data\n").unwrap();
    // Four units of 4 bytes and no data; or two units of 2 bytes, 11 bytes of data, and one behind.
    let words = [4, 0x41, 11, 0x43, 0x44, 0_u32];
    let (four, two) = ([&words[..5], &[0]].concat(), vec![2, 0x41, 0, 11, 0x43, 0x44, 0]);
    for (behind, wanted, bytes) in [(0, four, 24), (1, two, 27)] {
        let mut foreign = vec![0, 7, 0, behind];
        words.iter().for_each(|word| foreign.extend(word.to_le_bytes()));
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&foreign).unwrap());
        schema.decode_cdr(&foreign, flat.as_mut_slice()).unwrap();
        let mut plain = Vec::new();
        schema.encode_cdr(Block::new(flat.as_slice()), &mut plain).unwrap();
        let wanted: Vec<u8> = wanted.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(plain, [&[0, 1, 0, 0], &wanted[..bytes]].concat(), "{behind} bytes behind it");
    }
}

#[test]
fn a_unit_of_wide_text_is_at_most_the_largest_of_sixteen_bits() {
    let schema = Schema::parse("a_msgs/A", "wstring text\n").unwrap();
    // Big endian, a unit of 4 bytes.
    let of = |unit: u32| [&[0, 0, 0, 0, 0, 0, 0, 1][..], &unit.to_be_bytes()].concat();
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&of(0xffff)).unwrap());
    schema.decode_cdr(&of(0xffff), flat.as_mut_slice()).unwrap();
    let mut plain = Vec::new();
    schema.encode_cdr(Block::new(flat.as_slice()), &mut plain).unwrap();
    assert_eq!(plain, [0, 1, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0, 0]);
    let CdrError::InField { cause, .. } = schema.flat_bytes_of_cdr(&of(0x1_0000)).unwrap_err()
    else {
        panic!("without a field")
    };
    assert_eq!(*cause, CdrError::WideUnit { at: 8, unit: 0x1_0000 });
}

#[test]
fn parameter_lists_and_unknown_headers_are_refused() {
    for header in [2, 3, 0xa, 0xb, 0x12, 0xff] {
        let error = schema().flat_bytes_of_cdr(&[0, header, 0, 0, 1, 0, 0, 0]).unwrap_err();
        assert_eq!(error, CdrError::Encoding { header: [0, header] });
    }
    assert!(schema().flat_bytes_of_cdr(&[1, 1, 0, 0]).is_err());
}

#[test]
fn damage_is_named_by_the_path_of_its_field() {
    let schema =
        Schema::parse("a_msgs/A", "uint8 x\nB[] b\n===\nMSG: a_msgs/B\nstring<=3 s\nint32[2] n\n");
    let schema = schema.unwrap();
    let value = serde_json::json!({ "b": [{ "s": "ab" }, { "s": "abc" }] });
    let cdr = schema.cdr_of_json(&value).unwrap();
    let field_of = |bytes: &[u8]| match schema.flat_bytes_of_cdr(bytes).unwrap_err() {
        CdrError::InField { field, cause } => {
            assert!(!matches!(*cause, CdrError::InField { .. }));
            field.to_string()
        }
        other => panic!("{other}"),
    };
    assert_eq!(field_of(&cdr[..cdr.len() - 1]), "b[1].n");
    let changed = |at: usize, value: u8| {
        let mut bytes = cdr.clone();
        bytes[at] = value;
        bytes
    };
    assert_eq!(field_of(&changed(8, 200)), "b");
    // Three of at least 12 bytes do not fit in what is left, which is seen before any is read.
    let CdrError::InField { cause, .. } = schema.flat_bytes_of_cdr(&changed(8, 3)).unwrap_err()
    else {
        panic!("without a field")
    };
    assert_eq!(*cause, CdrError::TooShort { at: 12, wanted: 36, bytes: cdr.len() });
    assert_eq!(field_of(&changed(12, 200)), "b[0].s");
    assert_eq!(field_of(&changed(18, 1)), "b[0].s", "a text without its end");
    let second = 12 + 4 + 4 + 8;
    assert_eq!(cdr[second], 4);
    let long = [&cdr[..second], &[5, 0, 0, 0, b'a', b'b', b'c', b'd', 0], &[0; 11]].concat();
    assert_eq!(field_of(&long), "b[1].s");
    // The same in another encoding, and with a wrong length of a part.
    let form = (9, true, true, (2, true));
    let foreign = written(&schema, &cdr, form);
    assert_eq!(field_of(&foreign[..foreign.len() - 4]), "b[1].n");
    let mut wrong = foreign.clone();
    wrong[20] ^= 4;
    assert!(field_of(&wrong).starts_with('b'), "{}", field_of(&wrong));
    // A generated type says it, too.
    type Joints = sensor_msgs::JointState;
    let cdr = random_cdr(Schema::of::<Joints>().unwrap().layout(), &mut Random::new(1), 4);
    let error: CdrError = Joints::cdr_extra(&cdr[..9]).unwrap_err();
    assert!(error.to_string().starts_with("field `header.stamp.nanosec`"), "{error}");
    let _: Extra = Joints::cdr_extra(&cdr).unwrap();
}
