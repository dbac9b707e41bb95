//! The standard packages of ROS 2 that have no Rust types here: their interfaces as text, so that
//! bags without definitions, `topic pub` and generators know them without an installation of ROS 2.
//!
//! The files lie in `standard/`, without comments. A test compares this list with the folder.

use crate::definition::{TypeName, parse_action, parse_message, parse_service};
use crate::resolve::Library;

/// Path below `standard/` and text of each file.
macro_rules! texts {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../standard/", $path)))),*]
    };
}

const TEXTS: &[(&str, &str)] = texts![
    "actionlib_msgs/msg/GoalID.msg",
    "actionlib_msgs/msg/GoalStatus.msg",
    "actionlib_msgs/msg/GoalStatusArray.msg",
    "composition_interfaces/srv/ListNodes.srv",
    "composition_interfaces/srv/LoadNode.srv",
    "composition_interfaces/srv/UnloadNode.srv",
    "diagnostic_msgs/msg/DiagnosticArray.msg",
    "diagnostic_msgs/msg/DiagnosticStatus.msg",
    "diagnostic_msgs/msg/KeyValue.msg",
    "diagnostic_msgs/srv/AddDiagnostics.srv",
    "diagnostic_msgs/srv/SelfTest.srv",
    "example_interfaces/action/Fibonacci.action",
    "example_interfaces/msg/Bool.msg",
    "example_interfaces/msg/Byte.msg",
    "example_interfaces/msg/ByteMultiArray.msg",
    "example_interfaces/msg/Char.msg",
    "example_interfaces/msg/Empty.msg",
    "example_interfaces/msg/Float32.msg",
    "example_interfaces/msg/Float32MultiArray.msg",
    "example_interfaces/msg/Float64.msg",
    "example_interfaces/msg/Float64MultiArray.msg",
    "example_interfaces/msg/Int16.msg",
    "example_interfaces/msg/Int16MultiArray.msg",
    "example_interfaces/msg/Int32.msg",
    "example_interfaces/msg/Int32MultiArray.msg",
    "example_interfaces/msg/Int64.msg",
    "example_interfaces/msg/Int64MultiArray.msg",
    "example_interfaces/msg/Int8.msg",
    "example_interfaces/msg/Int8MultiArray.msg",
    "example_interfaces/msg/MultiArrayDimension.msg",
    "example_interfaces/msg/MultiArrayLayout.msg",
    "example_interfaces/msg/String.msg",
    "example_interfaces/msg/UInt16.msg",
    "example_interfaces/msg/UInt16MultiArray.msg",
    "example_interfaces/msg/UInt32.msg",
    "example_interfaces/msg/UInt32MultiArray.msg",
    "example_interfaces/msg/UInt64.msg",
    "example_interfaces/msg/UInt64MultiArray.msg",
    "example_interfaces/msg/UInt8.msg",
    "example_interfaces/msg/UInt8MultiArray.msg",
    "example_interfaces/msg/WString.msg",
    "example_interfaces/srv/SetBool.srv",
    "example_interfaces/srv/Trigger.srv",
    "lifecycle_msgs/msg/State.msg",
    "lifecycle_msgs/msg/Transition.msg",
    "lifecycle_msgs/msg/TransitionDescription.msg",
    "lifecycle_msgs/msg/TransitionEvent.msg",
    "lifecycle_msgs/srv/ChangeState.srv",
    "lifecycle_msgs/srv/GetAvailableStates.srv",
    "lifecycle_msgs/srv/GetAvailableTransitions.srv",
    "lifecycle_msgs/srv/GetState.srv",
    "nav_msgs/srv/GetPlan.srv",
    "nav_msgs/srv/LoadMap.srv",
    "rcl_interfaces/msg/FloatingPointRange.msg",
    "rcl_interfaces/msg/IntegerRange.msg",
    "rcl_interfaces/msg/ListParametersResult.msg",
    "rcl_interfaces/msg/LoggerLevel.msg",
    "rcl_interfaces/msg/Parameter.msg",
    "rcl_interfaces/msg/ParameterDescriptor.msg",
    "rcl_interfaces/msg/ParameterEvent.msg",
    "rcl_interfaces/msg/ParameterEventDescriptors.msg",
    "rcl_interfaces/msg/ParameterType.msg",
    "rcl_interfaces/msg/ParameterValue.msg",
    "rcl_interfaces/msg/SetLoggerLevelsResult.msg",
    "rcl_interfaces/msg/SetParametersResult.msg",
    "rcl_interfaces/srv/DescribeParameters.srv",
    "rcl_interfaces/srv/GetLoggerLevels.srv",
    "rcl_interfaces/srv/GetParameterTypes.srv",
    "rcl_interfaces/srv/GetParameters.srv",
    "rcl_interfaces/srv/ListParameters.srv",
    "rcl_interfaces/srv/SetLoggerLevels.srv",
    "rcl_interfaces/srv/SetParameters.srv",
    "rcl_interfaces/srv/SetParametersAtomically.srv",
    "shape_msgs/msg/Mesh.msg",
    "shape_msgs/msg/MeshTriangle.msg",
    "shape_msgs/msg/Plane.msg",
    "shape_msgs/msg/SolidPrimitive.msg",
    "statistics_msgs/msg/MetricsMessage.msg",
    "statistics_msgs/msg/StatisticDataPoint.msg",
    "statistics_msgs/msg/StatisticDataType.msg",
    "stereo_msgs/msg/DisparityImage.msg",
    "test_msgs/action/Fibonacci.action",
    "test_msgs/action/NestedMessage.action",
    "test_msgs/msg/Arrays.msg",
    "test_msgs/msg/BasicTypes.msg",
    "test_msgs/msg/BoundedPlainSequences.msg",
    "test_msgs/msg/BoundedSequences.msg",
    "test_msgs/msg/Builtins.msg",
    "test_msgs/msg/Constants.msg",
    "test_msgs/msg/Defaults.msg",
    "test_msgs/msg/Empty.msg",
    "test_msgs/msg/MultiNested.msg",
    "test_msgs/msg/Nested.msg",
    "test_msgs/msg/Strings.msg",
    "test_msgs/msg/UnboundedSequences.msg",
    "test_msgs/msg/WStrings.msg",
    "test_msgs/srv/Arrays.srv",
    "test_msgs/srv/BasicTypes.srv",
    "test_msgs/srv/Empty.srv",
    "tf2_msgs/action/LookupTransform.action",
    "tf2_msgs/msg/TF2Error.msg",
    "tf2_msgs/msg/TFMessage.msg",
    "tf2_msgs/srv/FrameGraph.srv",
    "trajectory_msgs/msg/JointTrajectory.msg",
    "trajectory_msgs/msg/JointTrajectoryPoint.msg",
    "trajectory_msgs/msg/MultiDOFJointTrajectory.msg",
    "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint.msg",
    "type_description_interfaces/msg/Field.msg",
    "type_description_interfaces/msg/FieldType.msg",
    "type_description_interfaces/msg/IndividualTypeDescription.msg",
    "type_description_interfaces/msg/KeyValue.msg",
    "type_description_interfaces/msg/TypeDescription.msg",
    "type_description_interfaces/msg/TypeSource.msg",
    "type_description_interfaces/srv/GetTypeDescription.srv",
    "vision_msgs/msg/BoundingBox2D.msg",
    "vision_msgs/msg/BoundingBox2DArray.msg",
    "vision_msgs/msg/BoundingBox3D.msg",
    "vision_msgs/msg/BoundingBox3DArray.msg",
    "vision_msgs/msg/Classification.msg",
    "vision_msgs/msg/Detection2D.msg",
    "vision_msgs/msg/Detection2DArray.msg",
    "vision_msgs/msg/Detection3D.msg",
    "vision_msgs/msg/Detection3DArray.msg",
    "vision_msgs/msg/LabelInfo.msg",
    "vision_msgs/msg/ObjectHypothesis.msg",
    "vision_msgs/msg/ObjectHypothesisWithPose.msg",
    "vision_msgs/msg/Point2D.msg",
    "vision_msgs/msg/Pose2D.msg",
    "vision_msgs/msg/VisionClass.msg",
    "vision_msgs/msg/VisionInfo.msg",
    "visualization_msgs/msg/ImageMarker.msg",
    "visualization_msgs/msg/InteractiveMarker.msg",
    "visualization_msgs/msg/InteractiveMarkerControl.msg",
    "visualization_msgs/msg/InteractiveMarkerFeedback.msg",
    "visualization_msgs/msg/InteractiveMarkerInit.msg",
    "visualization_msgs/msg/InteractiveMarkerPose.msg",
    "visualization_msgs/msg/InteractiveMarkerUpdate.msg",
    "visualization_msgs/msg/Marker.msg",
    "visualization_msgs/msg/MarkerArray.msg",
    "visualization_msgs/msg/MenuEntry.msg",
    "visualization_msgs/msg/MeshFile.msg",
    "visualization_msgs/msg/UVCoordinate.msg",
    "visualization_msgs/srv/GetInteractiveMarkers.srv",
];

/// Adds all of them. Allocates.
pub(crate) fn add(library: &mut Library) {
    for (path, text) in TEXTS {
        // A test reads each of them; what could not be read would not be known.
        let Some((stem, ending)) = path.rsplit_once('.') else { continue };
        match ending {
            "msg" => {
                let read = TypeName::parse(stem).map(|name| parse_message(&name, path, text));
                read.and_then(Result::ok).into_iter().for_each(|it| library.add(it));
            }
            "srv" => {
                let name = TypeName::parse_service(stem);
                let read = name.map(|name| parse_service(&name, path, text));
                read.and_then(Result::ok).into_iter().for_each(|it| library.add_service(it));
            }
            _ => {
                let name = TypeName::parse_action(stem);
                let read = name.map(|name| parse_action(&name, path, text));
                read.and_then(Result::ok).into_iter().for_each(|it| library.add_action(it));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use std::path::Path;

    #[test]
    fn every_file_is_in_the_list_and_every_entry_is_a_type() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("standard");
        let files = find::below(&folder).unwrap();
        let paths: Vec<&Path> =
            files.iter().map(|it| it.path.strip_prefix(&folder).unwrap()).collect();
        for (path, _) in TEXTS {
            assert!(paths.contains(&Path::new(path)), "{path} is no file");
        }
        assert_eq!(TEXTS.len(), files.len(), "a file is not in the list");
        let mut library = crate::generate::Generator::new().into_library();
        for file in &files {
            for name in find::add(&mut Library::new(), file).unwrap() {
                let parts = library.derived_from(&name);
                let parts = if parts.is_empty() { vec![name] } else { parts };
                parts.iter().for_each(|part| drop(library.resolve(part).unwrap()));
            }
        }
        // A definition of the user takes the place of a standard one.
        let name = TypeName::message("tf2_msgs", "TFMessage");
        library.add(parse_message(&name, "", "int32 mine").unwrap());
        assert_eq!(library.get(&name).unwrap().fields[0].name, "mine");
    }
}
