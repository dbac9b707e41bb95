// Host port: one register port for all that a board's host reads and writes.
//
// Function      Registers of 64 bit, by number, are those of the osif, of the gateways, and here:
//                 0x000 to 0x7ff  osif, see there
//                 0x800 + 16 g    gateway g, see there
//                 0xc00           rw WINDOW_FIRST, WINDOW_LAST, WINDOW_OFFSET (0xc00 to 0xc02): the window
//                                 that 0xc03 sets, in pages of 4 KiB
//                 0xc03           w  WINDOW_SET: bits 3:0 number, 8 readable, 9 writable
//                 0xc04           r  REFUSED: bursts that lay in no window, saturating
//                 0xc05           r  REFUSED_ADDRESS: of the first of them; bit 63: it was a write
//                 0xc06           r  SHAPE: bits 7:0 gateways, 15:8 ADDRESS_WIDTH
// Latency       Reading gives the value 1 cycle later, as at each module; so does what was written.
// Throughput    One access per cycle. Reading has no side effect.
// Reset         Windows are closed by the memif_mmu; the values here are 0.
// Parameters    GATEWAYS: 1 to 64. ADDRESS_WIDTH: 16 to 63, of the memory's addresses.
`default_nettype none

module host_port #(
  parameter int unsigned GATEWAYS = 1,
  parameter int unsigned ADDRESS_WIDTH = 48
) (
  input  wire                       clk,
  input  wire                       rst,
  input  wire  [11:0]               register_address,
  input  wire                       register_write,
  input  wire  [63:0]               register_write_data,
  output logic [63:0]               register_read_data,
  output logic                      osif_write,
  input  wire  [63:0]               osif_read_data,
  output logic [GATEWAYS-1:0]       gateway_write,
  input  wire  [GATEWAYS*64-1:0]    gateway_read_data,
  output logic                      window_write,
  output logic [3:0]                window_number,
  output logic [ADDRESS_WIDTH-1:12] window_first,
  output logic [ADDRESS_WIDTH-1:12] window_last,
  output logic [ADDRESS_WIDTH-1:12] window_offset,
  output logic                      window_readable,
  output logic                      window_writable,
  input  wire  [15:0]               count_refused,
  input  wire  [ADDRESS_WIDTH-1:0]  refused_address,
  input  wire                       refused_write
);

  if (GATEWAYS < 1 || GATEWAYS > 64) begin : g_bad_gateways
    $fatal(1, "%m: GATEWAYS is 1 to 64");
  end
  if (ADDRESS_WIDTH < 16 || ADDRESS_WIDTH > 63) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 16 to 63");
  end

  localparam int unsigned Page = ADDRESS_WIDTH - 12;

  wire       is_osif = !register_address[11];
  wire       is_gateway = register_address[11:10] == 2'b10;
  wire       is_here = register_address[11:4] == 8'hc0;
  wire [3:0] number = register_address[3:0];

  assign osif_write = register_write && is_osif;
  always_comb
    for (int unsigned i = 0; i < GATEWAYS; i++)
      gateway_write[i] = register_write && is_gateway && 32'(register_address[9:4]) == i;

  wire writes_here = register_write && is_here;
  assign window_write = writes_here && number == 4'd3;
  assign window_number = register_write_data[3:0];
  assign window_readable = register_write_data[8];
  assign window_writable = register_write_data[9];

  always_ff @(posedge clk) begin
    if (writes_here && number == 4'd0) window_first <= register_write_data[Page-1:0];
    if (writes_here && number == 4'd1) window_last <= register_write_data[Page-1:0];
    if (writes_here && number == 4'd2) window_offset <= register_write_data[Page-1:0];
    if (rst) begin
      window_first <= '0;
      window_last <= '0;
      window_offset <= '0;
    end
  end

  // Each module has its value ready a cycle after the address: whose it is has to be kept so long.
  logic        was_osif;
  logic        was_gateway;
  logic [5:0]  gateway;
  logic [63:0] here;

  always_ff @(posedge clk) begin
    was_osif <= is_osif;
    was_gateway <= is_gateway;
    gateway <= register_address[9:4];
    here <= '0;
    if (is_here)
      case (number)
        4'd0: here <= 64'(window_first);
        4'd1: here <= 64'(window_last);
        4'd2: here <= 64'(window_offset);
        4'd4: here <= 64'(count_refused);
        4'd5: here <= {refused_write, 63'(refused_address)};
        4'd6: here <= {48'd0, 8'(ADDRESS_WIDTH), 8'(GATEWAYS)};
        default: here <= '0;
      endcase
  end

  always_comb begin
    register_read_data = was_osif ? osif_read_data : here;
    for (int unsigned i = 0; i < GATEWAYS; i++)
      if (was_gateway && 32'(gateway) == i) register_read_data = gateway_read_data[i*64 +: 64];
  end

  // Of what is written, windows take as many bits as addresses have.
  wire unused = &{1'b0, register_write_data};

`ifdef FORMAL
  `include "host_port_formal.svh"
`endif

endmodule

`default_nettype wire
