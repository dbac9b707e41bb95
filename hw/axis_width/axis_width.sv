// Width converter: the same bytes in wider or narrower beats.
//
// Function      Messages keep their bytes, order and ends. Widening packs several beats into one;
//               the last one of a message is filled as far as it goes. Narrowing splits a beat and
//               leaves out the parts of the last one that hold no byte. A last beat without a byte
//               (tkeep 0: the end of a damaged message) stays one beat. Equal widths are wires.
// Latency       1 cycle after the beat that completes an output beat (0 for equal widths).
// Throughput    1 beat per cycle on the narrow side, also across messages.
// Back-pressure s_axis_tready depends on m_axis_tready in the same cycle: put an axis_reg in front
//               where that path is long.
// Ordering      First in, first out.
// Reset         Empty; a message in progress must restart.
// Parameters    S_WIDTH, M_WIDTH: bits of tdata, 64, 128, 256 or 512 each.
`default_nettype none

module axis_width #(
  parameter int unsigned S_WIDTH = 64,
  parameter int unsigned M_WIDTH = 128
) (
  input  wire                  clk,
  input  wire                  rst,
  input  wire  [S_WIDTH-1:0]   s_axis_tdata,
  input  wire  [S_WIDTH/8-1:0] s_axis_tkeep,
  input  wire                  s_axis_tlast,
  input  wire                  s_axis_tuser,
  input  wire                  s_axis_tvalid,
  output logic                 s_axis_tready,
  output logic [M_WIDTH-1:0]   m_axis_tdata,
  output logic [M_WIDTH/8-1:0] m_axis_tkeep,
  output logic                 m_axis_tlast,
  output logic                 m_axis_tuser,
  output logic                 m_axis_tvalid,
  input  wire                  m_axis_tready
);

  if (S_WIDTH != 64 && S_WIDTH != 128 && S_WIDTH != 256 && S_WIDTH != 512) begin : g_bad_s_width
    $fatal(1, "%m: S_WIDTH is 64, 128, 256 or 512");
  end
  if (M_WIDTH != 64 && M_WIDTH != 128 && M_WIDTH != 256 && M_WIDTH != 512) begin : g_bad_m_width
    $fatal(1, "%m: M_WIDTH is 64, 128, 256 or 512");
  end

  localparam int unsigned SBytes = S_WIDTH / 8;
  localparam int unsigned MBytes = M_WIDTH / 8;

  if (M_WIDTH > S_WIDTH) begin : g_widen
    localparam int unsigned Parts = M_WIDTH / S_WIDTH;
    localparam int unsigned PartWidth = $clog2(Parts);

    logic [PartWidth-1:0] part;  // where the next beat goes
    wire accept = s_axis_tvalid && s_axis_tready;

    assign s_axis_tready = !m_axis_tvalid || m_axis_tready;

    always_ff @(posedge clk) begin
      if (m_axis_tready) m_axis_tvalid <= 1'b0;
      if (accept) begin
        m_axis_tdata[part*S_WIDTH +: S_WIDTH] <= s_axis_tdata;
        if (part == '0) m_axis_tkeep <= {{MBytes-SBytes{1'b0}}, s_axis_tkeep};
        else m_axis_tkeep[part*SBytes +: SBytes] <= s_axis_tkeep;
        m_axis_tlast <= s_axis_tlast;
        m_axis_tuser <= s_axis_tuser;
        m_axis_tvalid <= s_axis_tlast || (&part);
        part <= s_axis_tlast ? '0 : part + 1'b1;
      end
      if (rst) begin
        m_axis_tvalid <= 1'b0;
        part <= '0;
      end
    end
  end

  if (M_WIDTH < S_WIDTH) begin : g_narrow
    localparam int unsigned Parts = S_WIDTH / M_WIDTH;
    localparam int unsigned PartWidth = $clog2(Parts);

    logic [S_WIDTH-1:0]   data;
    logic [SBytes-1:0]    keep;
    logic                 last;
    logic                 user;
    logic [PartWidth-1:0] part;   // what is shown
    logic [PartWidth-1:0] final_part;
    logic [PartWidth-1:0] holds;  // the last part of the arriving beat that holds a byte

    wire ends = (part == final_part);

    assign s_axis_tready = !m_axis_tvalid || (m_axis_tready && ends);
    assign m_axis_tdata = data[part*M_WIDTH +: M_WIDTH];
    assign m_axis_tkeep = keep[part*MBytes +: MBytes];
    assign m_axis_tlast = last && ends;
    assign m_axis_tuser = user && ends;

    always_comb begin
      holds = '0;
      for (int unsigned i = 0; i < Parts; i++)
        if (|s_axis_tkeep[i*MBytes +: MBytes]) holds = PartWidth'(i);
    end

    always_ff @(posedge clk) begin
      if (m_axis_tready) part <= part + 1'b1;
      if (s_axis_tready) begin
        data <= s_axis_tdata;
        keep <= s_axis_tkeep;
        last <= s_axis_tlast;
        user <= s_axis_tuser;
        final_part <= s_axis_tlast ? holds : '1;
        part <= '0;
        m_axis_tvalid <= s_axis_tvalid;
      end
      if (rst) m_axis_tvalid <= 1'b0;
    end
  end

  if (M_WIDTH == S_WIDTH) begin : g_wires
    assign s_axis_tready = m_axis_tready;
    assign m_axis_tdata = s_axis_tdata;
    assign m_axis_tkeep = s_axis_tkeep;
    assign m_axis_tlast = s_axis_tlast;
    assign m_axis_tuser = s_axis_tuser;
    assign m_axis_tvalid = s_axis_tvalid;
    wire unused = &{1'b0, clk, rst};
  end

`ifdef FORMAL
  `include "axis_width_formal.svh"
`endif

endmodule

`default_nettype wire
