# Has the nodes of this shell use Crossdock. Source it in bash or zsh, after the setup file of ROS 2.
if [ "${ROS_DISTRO:-@DISTRIBUTION@}" != @DISTRIBUTION@ ]; then
    echo "this librmw_crossdock.so is for ROS 2 @DISTRIBUTION@, and ROS_DISTRO is \`$ROS_DISTRO\`:" \
        "source /opt/ros/@DISTRIBUTION@/setup.bash first, or your own installation's" >&2
    return 1
fi
_rmw_crossdock=$(cd "$(dirname "${BASH_SOURCE:-$0}")" && pwd)
export RMW_IMPLEMENTATION=rmw_crossdock
case :${AMENT_PREFIX_PATH:-}: in
*:"$_rmw_crossdock":*) ;;
*) export AMENT_PREFIX_PATH="$_rmw_crossdock${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}" ;;
esac
case :${LD_LIBRARY_PATH:-}: in
*:"$_rmw_crossdock/lib":*) ;;
*) export LD_LIBRARY_PATH="$_rmw_crossdock/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
esac
unset _rmw_crossdock
