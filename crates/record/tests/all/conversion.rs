//! Messages of recordings become flat messages and CDR again without a change.

use crossdock_msg::{Block, FlatBuffer, Schema};
use crossdock_record::BagReader;

/// The bags, and how many topics each has.
const BAGS: [(&str, usize); 12] = [
    ("autorace_sim/autorace_a_15hz", 2),
    ("bags/jackal_imu_odom_mcap", 2),
    ("bags/lidar_car_cloud_mcap", 1),
    ("bags/ros2_native/cdr_test_mcap", 2),
    ("bags/ros2_native/convert_a_mcap", 2),
    ("bags/ros2_native/convert_b_mcap", 2),
    ("bags/ros2_native/talker_mcap", 3),
    ("calibration/opencv_left_mono8_mcap", 2),
    ("calibration/udacity_raw_1280x720_mcap", 2),
    ("driving/highway_a_25hz", 2),
    ("driving/highway_drive_1hz", 2),
    ("driving/white_lanes_25hz", 1),
];

/// The flat message of `cdr`, and the CDR made of that.
fn convert(schema: &Schema, cdr: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut memory = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).unwrap());
    let used = schema.decode_cdr(cdr, memory.as_mut_slice()).unwrap();
    let block_bytes = &memory.as_slice()[..used];
    let block = Block::new(block_bytes);
    schema.validate(block).unwrap();
    let mut again = Vec::new();
    schema.encode_cdr(block, &mut again).unwrap();
    (block_bytes.to_vec(), again)
}

#[test]
fn every_message_of_the_shared_bags_is_converted_there_and_back_without_a_change() {
    let Some(data) = crossdock_test_support::data() else { return };
    for (name, usable) in BAGS {
        let reader = BagReader::open(data.join(name)).unwrap();
        let schemas: Vec<_> = reader.topics().iter().map(|topic| topic.schema().unwrap()).collect();
        assert_eq!(schemas.len(), usable, "{name}");
        for (schema, topic) in schemas.iter().zip(reader.topics()) {
            if let Some(hash) = &topic.type_hash {
                assert_eq!(schema.type_hash().to_string(), *hash, "{name}: {}", topic.name);
            }
        }
        let mut messages = reader.messages();
        while let Some(message) = messages.next_message() {
            let message = message.unwrap();
            let (flat, again) = convert(&schemas[message.topic], message.data);
            let place = format!("{name}: message {} of topic {}", message.number, message.topic);
            if name.starts_with("bags/ros2_native/") {
                // ROS 2 leaves padding unwritten and fills the end up to four bytes.
                let filling = message.data.len() - again.len();
                assert!(filling < 4, "{place}");
                assert!(convert(&schemas[message.topic], &again) == (flat, again), "{place}");
            } else {
                assert!(again == message.data, "{place}");
            }
        }
    }
}

#[test]
fn a_message_of_an_older_definition_is_an_error_and_not_garbage() {
    // sensor_msgs/Range without the field `variance` that came later.
    let old = "std_msgs/Header header\nuint8 radiation_type\nfloat32 field_of_view\n\
               float32 min_range\nfloat32 max_range\nfloat32 range\n";
    let header = "=====\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
                  =====\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";
    let old_text = format!("{old}{header}");
    let new_text = format!("{old}float32 variance\n{header}");
    let schema = |text: &str| Schema::parse("sensor_msgs/msg/Range", text).unwrap();
    let (old, new) = (schema(&old_text), schema(&new_text));
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend_from_slice(&[7, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 1, 0]);
    for value in [0.1f32, 0.2, 3.0, 1.5] {
        cdr.extend_from_slice(&value.to_le_bytes());
    }
    assert!(old.flat_bytes_of_cdr(&cdr).is_ok());
    let error = new.flat_bytes_of_cdr(&cdr).unwrap_err().to_string();
    assert!(error.contains("another definition"), "{error}");
}
