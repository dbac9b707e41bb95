# Has the nodes of this shell use Crossdock. Source it in bash or zsh, after the setup file of ROS 2.
if [ "${ROS_DISTRO:-@DISTRIBUTION@}" != @DISTRIBUTION@ ]; then
    echo "this librmw_crossdock.so is for ROS 2 @DISTRIBUTION@, and ROS_DISTRO is \`$ROS_DISTRO\`:" \
        "source /opt/ros/@DISTRIBUTION@/setup.bash first, or your own installation's" >&2
    return 1
fi
export RMW_IMPLEMENTATION=rmw_crossdock
. "$(dirname "${BASH_SOURCE:-$0}")/local_setup.bash"
