// Properties of host_port: a write reaches the one register that its number names and nothing else;
// what is read is, a cycle later, that register's value. The numbers are compared whole here, where
// the module looks at bits of them.
`include "axis_formal.svh"

localparam logic [11:0] FormalGateways = 12'h800;
localparam logic [11:0] FormalHere = 12'hc00;

wire [11:0] formal_gateway = (register_address - FormalGateways) >> 4;
wire        formal_to_gateway = register_address >= FormalGateways
    && {1'b0, register_address} < {1'b0, FormalGateways} + 13'(16 * GATEWAYS);

always_comb begin
  a_osif: assert (osif_write == (register_write && register_address < FormalGateways));
  for (int i = 0; i < GATEWAYS; i++)
    assert (gateway_write[i] == (register_write && formal_to_gateway && formal_gateway == i));
  a_window: assert (window_write == (register_write && register_address == FormalHere + 3));
  if (window_write) a_rights: assert ({window_writable, window_readable, window_number}
      == {register_write_data[9:8], register_write_data[3:0]});
end

// The induction may begin before the reset.
always_comb if (!formal_running) assume (rst);

// The registers that are kept here.
logic [Page-1:0] formal_kept [3];
always @(posedge clk) begin
  for (int i = 0; i < 3; i++)
    if (rst) formal_kept[i] <= '0;
    else if (register_write && register_address == FormalHere + i)
      formal_kept[i] <= Page'(register_write_data);
end

logic [63:0] formal_here;  // what a register of this module holds
always_comb begin
  formal_here = '0;
  for (int i = 0; i < 3; i++)
    if (register_address == FormalHere + i) formal_here = 64'(formal_kept[i]);
  if (register_address == FormalHere + 4) formal_here = 64'(count_refused);
  if (register_address == FormalHere + 5)
    formal_here = 64'(refused_address) | {refused_write, 63'd0};
  if (register_address == FormalHere + 6) formal_here = GATEWAYS + ADDRESS_WIDTH * 256;
end

always @(posedge clk) if (formal_running) begin
  a_kept: assert (window_first == formal_kept[0] && window_last == formal_kept[1]
      && window_offset == formal_kept[2]);
  if (formal_past) begin
    if ($past(register_address) < FormalGateways)
      a_read_osif: assert (register_read_data == osif_read_data);
    else if ($past(formal_to_gateway)) begin
      for (int i = 0; i < GATEWAYS; i++)
        if ($past(formal_gateway) == i)
          assert (register_read_data == gateway_read_data[64*i +: 64]);
    end else a_read_here: assert (register_read_data == $past(formal_here));
  end
  c_window: cover (window_write && window_first == 1 && window_last == 2 && window_offset == 3);
  c_last_gateway: cover (gateway_write[GATEWAYS-1] && formal_past && $past(window_write));
end
