# Generated from graph `drive`, fabric `board`: a Vivado project with the network as a module of a
# block design.
#
# NOT RUN: nothing that checks the other files of this folder has Vivado. It follows the Tcl commands
# of Vivado 2020.1 and later; the sources that it adds are linted, simulated and synthesised with
# other tools.
#
#   vivado -mode batch -source vivado.tcl -tclargs PART [MHZ] [FOLDER]
#
# PART is the device, MHZ the rate of the clock `clk` (100), FOLDER where the project is made (vivado,
# beside this script; it must not exist). In the block design every stream that the network has, its
# ports of host memory and for registers if it has them, the clocks, and the words for the host are
# ports: put what they belong to in their places.

if {$argc < 1 || $argc > 3} {
  error "usage: vivado -mode batch -source vivado.tcl -tclargs PART ?MHZ? ?FOLDER?"
}
set here [file dirname [file normalize [info script]]]
set part [lindex $argv 0]
set mhz [expr {$argc > 1 ? [lindex $argv 1] : 100}]
set folder [expr {$argc > 2 ? [file normalize [lindex $argv 2]] : [file join $here vivado]}]
if {[file exists $folder]} {
  error "$folder exists: remove it, or name another folder"
}

set sources {
  axis_arb.sv
  axis_bcast.sv
  axis_cdc.sv
  axis_fifo.sv
  axis_fifo_last.sv
  axis_probe.sv
  axis_width.sv
  layout_camera_image.sv
  hmt_camera_image.sv
  layout_cmd_vel.sv
  hmt_cmd_vel.sv
  layout_image_blurred.sv
  hmt_image_blurred.sv
  layout_image_compensated.sv
  hmt_image_compensated.sv
  layout_lane.sv
  hmt_lane.sv
  layout_light_green.sv
  hmt_light_green.sv
  layout_light_red.sv
  hmt_light_red.sv
  network_board.sv
  reset_sync.sv
  network_board_block.v
}
set clocks {
  clk
  memory_clk
  pixel_clk
}
# Modules with timing constraints of their own, in MODULE.xdc.
set scoped {
  axis_cdc
  reset_sync
}

create_project network_board $folder -part $part
set_property target_language Verilog [current_project]
foreach source $sources {
  add_files -norecurse [file join $here $source]
}
set_property file_type SystemVerilog [get_files *.sv]
foreach module $scoped {
  add_files -fileset constrs_1 -norecurse [file join $here $module.xdc]
  set constraints [get_files $module.xdc]
  set_property SCOPED_TO_REF $module $constraints
  set_property USED_IN_SYNTHESIS false $constraints
  set_property PROCESSING_ORDER LATE $constraints
}
set_property top network_board_block [current_fileset]
update_compile_order -fileset sources_1

create_bd_design design_network_board
set network [create_bd_cell -type module -reference network_board_block network]
foreach clk $clocks {
  set hertz [expr {round($mhz * 1e6)}]
  set port [create_bd_port -dir I -type clk -freq_hz $hertz $clk]
  connect_bd_net $port [get_bd_pins $network/$clk]
}
set port [create_bd_port -dir I -type rst rst]
set_property CONFIG.POLARITY ACTIVE_HIGH $port
connect_bd_net $port [get_bd_pins $network/rst]
foreach stream [get_bd_intf_pins $network/*] {
  make_bd_intf_pins_external -name [file tail $stream] $stream
}
foreach word {status control} {
  make_bd_pins_external -name $word [get_bd_pins $network/$word]
}
# The port of host memory reaches all addresses; that for registers has some of the host's.
if {[llength [get_bd_intf_pins -quiet $network/m_axi]]} {
  assign_bd_address
}
validate_bd_design
save_bd_design
set design [get_files design_network_board.bd]
make_wrapper -files $design -top -import
set_property top design_network_board_wrapper [current_fileset]
update_compile_order -fileset sources_1
