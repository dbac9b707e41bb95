# Timing of the clock crossing axis_cdc for Vivado. Read it scoped to the module (SCOPED_TO_REF
# axis_cdc), after the clocks are known (PROCESSING_ORDER LATE), for implementation.
#
# A position in Gray code may arrive as the old or the new one, if all of its bits arrive within one
# period of the faster clock. The payload is written long before its position arrives.
set s_clocks [get_clocks -of_objects [get_ports s_clk]]
set m_clocks [get_clocks -of_objects [get_ports m_clk]]
set period [expr {min([get_property -min PERIOD $s_clocks], [get_property -min PERIOD $m_clocks])}]

set_max_delay -datapath_only -from [get_cells {wp_gray_reg[*]}] -to [get_cells {wp_crossing_reg[*]}] $period
set_bus_skew -from [get_cells {wp_gray_reg[*]}] -to [get_cells {wp_crossing_reg[*]}] $period
set_max_delay -datapath_only -from [get_cells {rp_gray_reg[*]}] -to [get_cells {rp_crossing_reg[*]}] $period
set_bus_skew -from [get_cells {rp_gray_reg[*]}] -to [get_cells {rp_crossing_reg[*]}] $period
set_max_delay -datapath_only -from $s_clocks -to [get_cells {head_reg[*]}] $period
