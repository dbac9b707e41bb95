# Generated from graph `@GRAPH@`, fabric `@FABRIC@`: a Vivado project with the @WHAT@ as a module of a
# block design.
#
# NOT RUN: nothing that checks the other files of this folder has Vivado. It follows the Tcl commands
# of Vivado 2020.1 and later; the sources that it adds are linted, simulated and synthesised with
# other tools.
#
#   vivado -mode batch -source vivado.tcl -tclargs PART [MHZ] [FOLDER]
#
# PART is the device, MHZ the rate of the clock `clk` (100), FOLDER where the project is made (vivado,
# beside this script; it must not exist). In the block design every stream that the @WHAT@ has, its
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
@SOURCES@
}
set clocks {
@CLOCKS@
}
# Modules with timing constraints of their own, in MODULE.xdc.
set scoped {
@SCOPED@
}

create_project @MODULE@ $folder -part $part
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
set_property top @MODULE@_block [current_fileset]
update_compile_order -fileset sources_1

create_bd_design design_@MODULE@
set network [create_bd_cell -type module -reference @MODULE@_block @WHAT@]
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
foreach word {@WORDS@} {
  make_bd_pins_external -name $word [get_bd_pins $network/$word]
}
# The port of host memory reaches all addresses; that for registers has some of the host's.
if {[llength [get_bd_intf_pins -quiet $network/m_axi]]} {
  assign_bd_address
}
validate_bd_design
save_bd_design
set design [get_files design_@MODULE@.bd]
make_wrapper -files $design -top -import
set_property top design_@MODULE@_wrapper [current_fileset]
update_compile_order -fileset sources_1
