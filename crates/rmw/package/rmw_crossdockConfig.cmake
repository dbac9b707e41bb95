# What `find_package(rmw_crossdock)` gives: a target for what links the plug-in, such as ROS's own tests of
# an implementation. Programs of ROS 2 link rmw_implementation, which loads it at run time.
if(NOT TARGET rmw_crossdock::rmw_crossdock)
  get_filename_component(_rmw_crossdock_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(rmw_crossdock::rmw_crossdock SHARED IMPORTED)
  set_target_properties(rmw_crossdock::rmw_crossdock PROPERTIES
    IMPORTED_LOCATION "${_rmw_crossdock_prefix}/lib/librmw_crossdock.so"
    IMPORTED_SONAME librmw_crossdock.so)
  unset(_rmw_crossdock_prefix)
endif()
# `ament_target_dependencies(... rmw_crossdock)` links this.
set(rmw_crossdock_TARGETS rmw_crossdock::rmw_crossdock)
