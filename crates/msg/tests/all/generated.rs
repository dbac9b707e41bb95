//! Generated types: do they agree with the dynamic codec byte for byte, on golden vectors, too?

use crate::common;
use common::bytes_of_hex;
use common::random::{Random, random_cdr};
use crossdock_msg::types::{self, sensor_msgs, std_msgs};
use crossdock_msg::{
    Block, BlockMut, BuildError, CdrBuffer, CdrError, CdrSlices, Extra, FlatBuffer, FlatError,
    Message, Schema, block::Text,
};

/// The generated codec of one type, without the type.
struct Codec {
    schema: Schema,
    root_bytes: usize,
    offsets: Vec<(&'static str, usize)>,
    extra: fn(&[u8]) -> Result<Extra, CdrError>,
    decode: fn(&[u8], &mut [u8]) -> Result<usize, CdrError>,
    encode: fn(Block<'_>) -> Result<Vec<u8>, FlatError>,
    encode_slices: fn(Block<'_>) -> Result<Vec<u8>, FlatError>,
}

fn codec<M: Message>(offsets: &[(&'static str, usize)]) -> Codec {
    let schema = Schema::of::<M>().unwrap();
    assert_eq!(schema.type_hash(), M::TYPE_HASH);
    assert_eq!(schema.layout_hash(), M::LAYOUT_HASH);
    assert_eq!(schema.root_bytes(), M::ROOT_BYTES);
    assert_eq!(schema.stamp_offset(), M::STAMP_OFFSET);
    Codec {
        schema,
        root_bytes: M::ROOT_BYTES,
        offsets: offsets.to_vec(),
        extra: M::cdr_extra,
        decode: |bytes, memory| {
            let mut top = 0;
            let mut builder = M::builder(BlockMut::new(memory, &mut top));
            M::decode_cdr(bytes, &mut builder)?;
            drop(builder);
            Ok(top)
        },
        encode: |block| {
            let mut buffer = CdrBuffer::new();
            M::encode_cdr(M::view(block)?, &mut buffer)?;
            Ok(buffer.into_vec())
        },
        encode_slices: |block| {
            let mut buffer = CdrBuffer::new();
            let mut slices = CdrSlices::new(&mut buffer);
            M::encode_cdr_slices(M::view(block)?, &mut slices)?;
            let bytes = slices.pieces().collect::<Vec<_>>().concat();
            assert_eq!(bytes.len(), slices.total_bytes());
            Ok(bytes)
        },
    }
}

macro_rules! codecs {
    ($($package:ident :: $name:ident),* $(,)?) => {
        vec![$(codec::<types::$package::$name>(types::$package::$name::FIELD_OFFSETS)),*]
    };
}

/// All shipped types.
#[rustfmt::skip]
fn codecs() -> Vec<Codec> {
    codecs![
        action_msgs::GoalInfo,
        action_msgs::GoalStatus,
        action_msgs::GoalStatusArray,
        builtin_interfaces::Duration,
        builtin_interfaces::Time,
        crossdock_interfaces::BufferPart,
        crossdock_interfaces::SharedBuffer,
        geometry_msgs::Accel,
        geometry_msgs::AccelStamped,
        geometry_msgs::AccelWithCovariance,
        geometry_msgs::AccelWithCovarianceStamped,
        geometry_msgs::Inertia,
        geometry_msgs::InertiaStamped,
        geometry_msgs::Point,
        geometry_msgs::Point32,
        geometry_msgs::PointStamped,
        geometry_msgs::Polygon,
        geometry_msgs::PolygonInstance,
        geometry_msgs::PolygonInstanceStamped,
        geometry_msgs::PolygonStamped,
        geometry_msgs::Pose,
        geometry_msgs::Pose2D,
        geometry_msgs::PoseArray,
        geometry_msgs::PoseStamped,
        geometry_msgs::PoseWithCovariance,
        geometry_msgs::PoseWithCovarianceStamped,
        geometry_msgs::Quaternion,
        geometry_msgs::QuaternionStamped,
        geometry_msgs::Transform,
        geometry_msgs::TransformStamped,
        geometry_msgs::Twist,
        geometry_msgs::TwistStamped,
        geometry_msgs::TwistWithCovariance,
        geometry_msgs::TwistWithCovarianceStamped,
        geometry_msgs::Vector3,
        geometry_msgs::Vector3Stamped,
        geometry_msgs::VelocityStamped,
        geometry_msgs::Wrench,
        geometry_msgs::WrenchStamped,
        nav_msgs::GridCells,
        nav_msgs::MapMetaData,
        nav_msgs::OccupancyGrid,
        nav_msgs::Odometry,
        nav_msgs::Path,
        rcl_interfaces::Log,
        rosgraph_msgs::Clock,
        sensor_msgs::BatteryState,
        sensor_msgs::CameraInfo,
        sensor_msgs::ChannelFloat32,
        sensor_msgs::CompressedImage,
        sensor_msgs::FluidPressure,
        sensor_msgs::Illuminance,
        sensor_msgs::Image,
        sensor_msgs::Imu,
        sensor_msgs::JointState,
        sensor_msgs::Joy,
        sensor_msgs::JoyFeedback,
        sensor_msgs::JoyFeedbackArray,
        sensor_msgs::LaserEcho,
        sensor_msgs::LaserScan,
        sensor_msgs::MagneticField,
        sensor_msgs::MultiDOFJointState,
        sensor_msgs::MultiEchoLaserScan,
        sensor_msgs::NavSatFix,
        sensor_msgs::NavSatStatus,
        sensor_msgs::PointCloud,
        sensor_msgs::PointCloud2,
        sensor_msgs::PointField,
        sensor_msgs::Range,
        sensor_msgs::RegionOfInterest,
        sensor_msgs::RelativeHumidity,
        sensor_msgs::Temperature,
        sensor_msgs::TimeReference,
        service_msgs::ServiceEventInfo,
        std_msgs::Bool,
        std_msgs::Byte,
        std_msgs::ByteMultiArray,
        std_msgs::Char,
        std_msgs::ColorRGBA,
        std_msgs::Empty,
        std_msgs::Float32,
        std_msgs::Float32MultiArray,
        std_msgs::Float64,
        std_msgs::Float64MultiArray,
        std_msgs::Header,
        std_msgs::Int16,
        std_msgs::Int16MultiArray,
        std_msgs::Int32,
        std_msgs::Int32MultiArray,
        std_msgs::Int64,
        std_msgs::Int64MultiArray,
        std_msgs::Int8,
        std_msgs::Int8MultiArray,
        std_msgs::MultiArrayDimension,
        std_msgs::MultiArrayLayout,
        std_msgs::String,
        std_msgs::UInt16,
        std_msgs::UInt16MultiArray,
        std_msgs::UInt32,
        std_msgs::UInt32MultiArray,
        std_msgs::UInt64,
        std_msgs::UInt64MultiArray,
        std_msgs::UInt8,
        std_msgs::UInt8MultiArray,
        unique_identifier_msgs::UUID,
    ]
}

/// Decodes with both codecs and compares, then encodes with both and compares.
fn check(codec: &Codec, bytes: &[u8]) {
    let name = codec.schema.type_name();
    let wanted = codec.schema.flat_bytes_of_cdr(bytes).unwrap();
    assert_eq!(codec.root_bytes + (codec.extra)(bytes).unwrap().total(), wanted, "{name}");
    let mut dynamic = FlatBuffer::with_bytes(wanted);
    let mut generated = FlatBuffer::with_bytes(wanted);
    codec.schema.decode_cdr(bytes, dynamic.as_mut_slice()).unwrap();
    assert_eq!((codec.decode)(bytes, generated.as_mut_slice()).unwrap(), wanted, "{name}");
    assert_eq!(generated.as_slice(), dynamic.as_slice(), "{name}");
    let block = Block::new(generated.as_slice());
    codec.schema.validate(block).unwrap();
    assert_eq!((codec.encode)(block).unwrap(), bytes, "{name}");
    assert_eq!((codec.encode_slices)(block).unwrap(), bytes, "{name}");
    let mut encoded = Vec::new();
    codec.schema.encode_cdr(block, &mut encoded).unwrap();
    assert_eq!(encoded, bytes, "{name}");
}

#[test]
fn every_shipped_type_is_listed_and_its_offsets_are_the_layouts() {
    let codecs = codecs();
    let mut listed: Vec<_> = codecs.iter().map(|codec| codec.schema.type_name()).collect();
    let mut shipped: Vec<_> = types::ALL.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    shipped.sort_unstable();
    assert_eq!(listed, shipped);
    for codec in &codecs {
        let layout = codec.schema.layout().root();
        let offsets =
            layout.fields.iter().map(|field| (field.name.as_str(), field.offset as usize));
        assert_eq!(offsets.collect::<Vec<_>>(), codec.offsets, "{}", layout.type_name);
    }
}

#[test]
fn generated_codecs_agree_with_the_dynamic_one_on_the_golden_vectors() {
    let Some(data) = crossdock_test_support::data() else { return };
    let codecs = codecs();
    let text = std::fs::read_to_string(data.join("cdr_vectors.jsonl")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = vector["type"].as_str().unwrap();
        if let Some(codec) = codecs.iter().find(|codec| codec.schema.type_name() == name) {
            check(codec, &bytes_of_hex(vector["cdr_hex"].as_str().unwrap()));
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
}

#[test]
fn generated_codecs_agree_with_the_dynamic_one_on_random_messages() {
    for codec in codecs() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let bytes = random_cdr(codec.schema.layout(), &mut random, 1 + 3 * seed as usize);
            check(&codec, &bytes);
        }
    }
}

#[test]
fn generated_codecs_refuse_or_survive_damaged_input() {
    let mut buffer = FlatBuffer::with_bytes(1 << 16);
    for codec in codecs() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut bytes = random_cdr(codec.schema.layout(), &mut random, 6);
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            bytes.truncate(bytes.len() - random.below(2) * random.below(bytes.len()));
            let dynamic = codec.schema.flat_bytes_of_cdr(&bytes);
            let generated = (codec.extra)(&bytes);
            assert_eq!(
                generated.map(|extra| codec.root_bytes + extra.total()),
                dynamic,
                "{}",
                codec.schema.type_name()
            );
            let decoded = (codec.decode)(&bytes, buffer.as_mut_slice());
            assert_eq!(decoded.is_ok(), dynamic.is_ok());
            let Ok(top) = decoded else { continue };
            for _ in 0..4 {
                let at = random.below(top / 8) * 8;
                if at + 8 <= top {
                    let value = random.next() >> random.below(64);
                    buffer.as_mut_slice()[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
            }
            let block = Block::new(&buffer.as_slice()[..top]);
            let mut encoded = Vec::new();
            let dynamic = codec.schema.encode_cdr(block, &mut encoded);
            match (codec.encode)(block) {
                Ok(bytes) => assert_eq!(bytes, encoded),
                Err(_) => assert!(dynamic.is_err(), "{}", codec.schema.type_name()),
            }
        }
    }
}

#[test]
fn an_image_is_built_in_place_read_in_place_and_encoded_in_two_pieces() {
    let (width, height) = (64u32, 48u32);
    let pixels = (width * height * 3) as usize;
    let extra = Extra::none().text(6).text(4).bytes(pixels);
    let mut memory = FlatBuffer::with_bytes(sensor_msgs::Image::ROOT_BYTES + extra.total());
    let mut top = 0;
    {
        let mut image = sensor_msgs::Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
        image.header().stamp().set_sec(7);
        image.header().stamp().set_nanosec(8);
        image.header().set_frame_id("camera").unwrap();
        image.set_height(height);
        image.set_width(width);
        image.set_encoding("rgb8").unwrap();
        image.set_step(width * 3);
        let data = image.data_uninit(pixels).unwrap();
        data.iter_mut().enumerate().for_each(|(index, byte)| *byte = index as u8);
    }
    {
        // A second look at the same message goes on where the first one ended.
        let mut image = sensor_msgs::Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
        image.data_mut()[0] = 99;
        assert!(image.used_bytes() > pixels);
    }
    let block = Block::new(&memory.as_slice()[..top]);
    Schema::of::<sensor_msgs::Image>().unwrap().validate(block).unwrap();
    let image = sensor_msgs::Image::view(block).unwrap();
    assert_eq!((image.width(), image.height(), image.step()), (64, 48, 192));
    assert_eq!(image.header().stamp().sec(), 7);
    assert_eq!(image.encoding().unwrap(), b"rgb8");
    assert_eq!(image.encoding_string().unwrap(), "rgb8");
    assert_eq!(image.header().frame_id().unwrap(), b"camera");
    let data = image.data().unwrap();
    assert_eq!((data.len(), data[0], data[1]), (pixels, 99, 1));
    assert_eq!((data.as_ptr() as usize - block.as_ptr() as usize) % 64, 0);
    let mut buffer = CdrBuffer::new();
    let mut slices = CdrSlices::new(&mut buffer);
    sensor_msgs::Image::encode_cdr_slices(image, &mut slices).unwrap();
    let pieces: Vec<_> = slices.pieces().collect();
    assert_eq!(pieces.len(), 2);
    assert_eq!(pieces[1].as_ptr(), data.as_ptr());
}

#[test]
fn a_field_that_does_not_fit_is_an_error_that_says_how_much_is_missing() {
    let mut memory = FlatBuffer::with_bytes(128);
    let mut top = 0;
    let mut text = std_msgs::String::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    let error = text.set_data(&"x".repeat(120)).unwrap_err();
    let BuildError::Overflow { wanted: 121, free: 112, block_bytes: 128, .. } = error else {
        panic!("{error:?}")
    };
    let told = error.to_string();
    assert!(told.starts_with("field `data` of std_msgs/msg/String needs 121 bytes"), "{told}");
    assert!(told.contains("Extra"), "{told}");
    text.set_data(&"x".repeat(111)).unwrap();
}

#[test]
fn a_length_that_no_reference_can_hold_is_refused_as_such() {
    let mut memory = FlatBuffer::with_bytes(128);
    let mut top = 0;
    let mut image = sensor_msgs::Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    // 31 bits are for the length with the byte behind a text.
    let most = (1 << 31) - 2;
    let longest = image.data_uninit(most).unwrap_err();
    assert!(matches!(longest, BuildError::Overflow { .. }), "{longest}");
    let error = image.data_uninit(most + 1).unwrap_err();
    let is_refused = matches!(error, BuildError::OverBound { bound, .. } if bound == most);
    assert!(is_refused, "{error}");
}

#[test]
fn a_sequence_of_structs_is_built_and_read_by_index_and_in_order() {
    let extra = Extra::none().sequence::<sensor_msgs::PointField>(3).text(1).text(1).text(1);
    let mut memory = FlatBuffer::with_bytes(sensor_msgs::PointCloud2::ROOT_BYTES + extra.total());
    let mut top = 0;
    let mut cloud =
        sensor_msgs::PointCloud2::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    cloud.set_is_dense(true);
    assert!(cloud.fields(0).unwrap().is_empty());
    let mut fields = cloud.fields(3).unwrap();
    assert!(!fields.is_empty());
    for (index, name) in ["x", "y", "z"].into_iter().enumerate() {
        let mut field = fields.at(index);
        field.set_name(name).unwrap();
        field.set_offset(4 * index as u32);
        field.set_datatype(sensor_msgs::PointField::FLOAT32);
    }
    let cloud = sensor_msgs::PointCloud2::view(Block::new(&memory.as_slice()[..top])).unwrap();
    assert!(cloud.is_dense());
    let fields = cloud.fields().unwrap();
    assert_eq!(fields.len(), 3);
    assert_eq!(fields.get(1).unwrap().name().unwrap(), b"y");
    assert!(fields.get(3).is_none());
    let offsets: Vec<_> = fields.iter().map(|field| field.offset()).collect();
    assert_eq!(offsets, [0, 4, 8]);
}

#[test]
fn a_sequence_of_texts_is_built_element_by_element() {
    let names = ["left", "right"];
    let extra = Extra::none().references(names.len()).text(4).text(5);
    let mut memory = FlatBuffer::with_bytes(sensor_msgs::JointState::ROOT_BYTES + extra.total());
    let mut top = 0;
    let block = BlockMut::new(memory.as_mut_slice(), &mut top);
    let mut joints = sensor_msgs::JointState::builder(block);
    assert!(joints.name(0).unwrap().is_empty());
    let mut built = joints.name(names.len()).unwrap();
    for (index, name) in names.iter().enumerate() {
        built.set_text(index, Text::new(name.as_bytes())).unwrap();
    }
    assert_eq!((built.len(), built.is_empty()), (2, false));
    let joints = sensor_msgs::JointState::view(Block::new(&memory.as_slice()[..top])).unwrap();
    let read = joints.name().unwrap();
    let text = |index: usize| read.get(index).unwrap().unwrap();
    assert!(text(0) == b"left" && text(1) == b"right");
}

#[test]
fn a_flag_is_true_for_every_value_but_0() {
    let mut flat = FlatBuffer::with_bytes(std_msgs::Bool::ROOT_BYTES);
    for value in [0, 1, 2, 255] {
        flat.as_mut_slice()[0] = value;
        let view = std_msgs::Bool::view(Block::new(flat.as_slice())).unwrap();
        assert_eq!(view.data(), value != 0, "{value}");
    }
}
