# Where this prefix lies, for ROS 2, for builds and for the loader. It chooses nothing: setup.bash does. What
# colcon builds in a shell with this prefix sources this file again.
_rmw_crossdock=$(cd "$(dirname "${BASH_SOURCE:-$0}")" && pwd)
# CMake looks for the package of the chosen implementation wherever rclcpp is looked for.
case :${CMAKE_PREFIX_PATH:-}: in
*:"$_rmw_crossdock":*) ;;
*) export CMAKE_PREFIX_PATH="$_rmw_crossdock${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}" ;;
esac
case :${AMENT_PREFIX_PATH:-}: in
*:"$_rmw_crossdock":*) ;;
*) export AMENT_PREFIX_PATH="$_rmw_crossdock${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}" ;;
esac
case :${LD_LIBRARY_PATH:-}: in
*:"$_rmw_crossdock/lib":*) ;;
*) export LD_LIBRARY_PATH="$_rmw_crossdock/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
esac
unset _rmw_crossdock
