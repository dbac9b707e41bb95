// Row window: rows of a picture come, and with each beat of a row leaves what stands left and right
// of it.
//
// Function      A row comes in beats of 8 bytes, full but the last one, which has s_bytes of them,
//               1 to 8. With each beat leave its 8 bytes and the REACH * CHANNELS bytes before and
//               behind them: byte i of the beat and the bytes that stand d pixels right of it (d
//               from -REACH) are in place i + (d + REACH) * CHANNELS of m_window. Left of a row
//               stands its first pixel again and again, right of it its last one. m_bytes of a
//               beat's bytes are of the row. s_first and s_last are the ends of a row; s_end goes
//               along with a beat.
// Latency       2 cycles from a beat that is its row's last, else 1 from the beat behind it.
// Throughput    1 beat per cycle, across rows, too.
// Back-pressure s_ready depends on m_ready in the same cycle.
// Ordering      First in, first out.
// Reset         Empty.
// Parameters    CHANNELS: bytes of a pixel, 1 or 3; a row has whole pixels. LANE: bits of a byte:
//               what is no byte yet may be wider. REACH: pixels left and right, 1 to 8 / CHANNELS.
`default_nettype none

module row_window #(
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned LANE = 8,
  parameter int unsigned REACH = 2
) (
  input  wire                                    clk,
  input  wire                                    rst,
  input  wire  [8*LANE-1:0]                      s_data,
  input  wire  [3:0]                             s_bytes,
  input  wire                                    s_first,
  input  wire                                    s_last,
  input  wire                                    s_end,
  input  wire                                    s_valid,
  output logic                                   s_ready,
  output logic [(8+2*REACH*CHANNELS)*LANE-1:0]   m_window,
  output logic [3:0]                             m_bytes,
  output logic                                   m_last,
  output logic                                   m_end,
  output logic                                   m_valid,
  input  wire                                    m_ready
);

  if (CHANNELS != 1 && CHANNELS != 3) begin : g_bad_channels
    $fatal(1, "%m: CHANNELS is 1 or 3");
  end
  if (REACH < 1 || REACH * CHANNELS > 8) begin : g_bad_reach
    $fatal(1, "%m: REACH is 1 to 8 / CHANNELS");
  end

  localparam int unsigned Side = REACH * CHANNELS;

  // The beat that came last, and the one before it ------------------------------------------------

  logic                 new_valid;
  logic [8*LANE-1:0]    new_data;
  logic [Side*LANE-1:0] new_before;
  logic [Side*LANE-1:0] new_behind;  // of a row's last beat
  logic [3:0]           new_bytes;
  logic                 new_last;
  logic                 new_end;

  logic                 old_valid;
  logic [8*LANE-1:0]    old_data;
  logic [Side*LANE-1:0] old_before;
  logic [Side*LANE-1:0] old_behind;
  logic [3:0]           old_bytes;
  logic                 old_last;
  logic                 old_end;

  wire out = m_valid && m_ready;
  wire passes = new_valid && (!old_valid || out);
  assign s_ready = !new_valid || passes;
  wire take = s_valid && s_ready;

  // The beat as it comes: behind a row's last byte its last pixel again and again -----------------

  // A pixel may begin in the beat before: the last two bytes of that one stand first.
  wire  [10*LANE-1:0]   came = {s_data, new_data[6*LANE +: 2*LANE]};
  wire  [3:0]           bytes = s_last ? s_bytes : 4'd8;
  logic [8*LANE-1:0]    filled;
  logic [Side*LANE-1:0] right_of;
  logic [Side*LANE-1:0] left_of;

  always_comb begin
    filled = s_data;
    right_of = '0;
    for (int unsigned n = 1; n <= 8; n++)
      if (bytes == 4'(n)) begin
        for (int unsigned i = n; i < 8; i++)
          filled[i*LANE +: LANE] = came[(2+n-CHANNELS+(i-n)%CHANNELS)*LANE +: LANE];
        for (int unsigned i = 0; i < Side; i++)
          right_of[i*LANE +: LANE] = came[(2+n-CHANNELS+(8+i-n)%CHANNELS)*LANE +: LANE];
      end
    for (int unsigned i = 0; i < Side; i++)
      left_of[i*LANE +: LANE] = s_first ? s_data[(i%CHANNELS)*LANE +: LANE]
          : new_data[(8-Side+i)*LANE +: LANE];
  end

  always_ff @(posedge clk) begin
    if (out) old_valid <= 1'b0;
    if (passes) begin
      old_valid <= 1'b1;
      old_data <= new_data;
      old_before <= new_before;
      old_behind <= new_behind;
      old_bytes <= new_bytes;
      old_last <= new_last;
      old_end <= new_end;
      new_valid <= 1'b0;
    end
    if (take) begin
      new_valid <= 1'b1;
      new_data <= filled;
      new_before <= left_of;
      new_behind <= right_of;
      new_bytes <= bytes;
      new_last <= s_last;
      new_end <= s_end;
    end
    if (rst) begin
      new_valid <= 1'b0;
      old_valid <= 1'b0;
    end
  end

  // In the middle of a row the beat behind has to be there.
  assign m_valid = old_valid && (old_last || new_valid);
  assign m_window = {old_last ? old_behind : new_data[Side*LANE-1:0], old_data, old_before};
  assign m_bytes = old_bytes;
  assign m_last = old_last;
  assign m_end = old_end;

`ifdef FORMAL
  `include "row_window_formal.svh"
`endif

endmodule

`default_nettype wire
