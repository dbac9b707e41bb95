// Replay: a message's data are stored whole, and sent again when whoever waits for the end says so.
//
// Function      Bytes come 8 per beat; only the last beat has fewer. After the last one `stored` is high
//               as soon as the message before is gone; `send`, for a cycle, sends what is stored. While
//               it leaves, the next message may come into the places that are free already. For nodes
//               that must have seen a whole message before its first byte can leave.
// Too long      Bytes beyond MAX_BYTES are taken and gone: whoever feeds this checks lengths before.
//               `kept` is low with a beat that is not stored.
// Latency       2 cycles from `send` to the first beat; 1 cycle from the last beat to `stored`.
// Throughput    1 beat per cycle in both directions.
// Back-pressure s_ready is low from the last beat to `send`, and while the place of the next beat is
//               still to be sent. It comes from registers.
// Ordering      First in, first out.
// Reset         Nothing stored; the memory is not cleared.
// Parameters    MAX_BYTES: of a message, 8 to 2^24.
`default_nettype none

module replay #(
  parameter int unsigned MAX_BYTES = 640 * 480 * 3
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_data,
  input  wire  [3:0]  s_bytes,
  input  wire         s_last,
  input  wire         s_valid,
  output logic        s_ready,
  output logic        kept,
  output logic        stored,
  input  wire         send,
  output logic [63:0] m_data,
  output logic [3:0]  m_bytes,
  output logic        m_last,
  output logic        m_valid,
  input  wire         m_ready
);

  if (MAX_BYTES < 8 || MAX_BYTES > (1 << 24)) begin : g_bad_bytes
    $fatal(1, "%m: MAX_BYTES is 8 to 2^24");
  end

  localparam int unsigned Beats = (MAX_BYTES + 7) / 8;
  localparam int unsigned Place = $clog2(Beats + 1);

  logic [63:0]      store [Beats];
  logic             whole;       // the message has come to its end
  logic [Place-1:0] write_at;    // beats of the message that comes
  logic [3:0]       write_tail;  // bytes of its last beat
  logic             sending;
  logic [Place-1:0] read_at;     // beats of the message that leaves, read so far
  logic [Place-1:0] read_end;
  logic [3:0]       read_tail;

  wire write = s_valid && s_ready && kept;
  wire read = sending && (!m_valid || m_ready);
  wire last_read = (read_at + 1'b1 == read_end);

  // A place is free when nothing is sent, or when it has been read.
  assign s_ready = !whole && (!sending || write_at < read_at);
  assign kept = (write_at != Place'(Beats));
  assign stored = whole && !sending && !m_valid;

  always_ff @(posedge clk) begin
    if (s_valid && s_ready && s_last) whole <= 1'b1;
    if (write) begin
      write_at <= write_at + 1'b1;
      write_tail <= s_bytes;
    end
    if (stored && send) begin
      whole <= 1'b0;
      write_at <= '0;
      sending <= 1'b1;
      read_at <= '0;
      read_end <= write_at;
      read_tail <= write_tail;
    end else if (read) begin
      read_at <= read_at + 1'b1;
      if (last_read) sending <= 1'b0;
    end
    if (read) begin
      m_valid <= 1'b1;
      m_last <= last_read;
      m_bytes <= last_read ? read_tail : 4'd8;
    end else if (m_ready) begin
      m_valid <= 1'b0;
    end
    if (rst) begin
      whole <= 1'b0;
      write_at <= '0;
      sending <= 1'b0;
      m_valid <= 1'b0;
    end
  end

  // The memory and its output register stand alone, so that tools find a block memory in them.
  always_ff @(posedge clk) begin
    if (write) store[write_at] <= s_data;
    if (read) m_data <= store[read_at];
  end

`ifdef FORMAL
  `include "replay_formal.svh"
`endif

endmodule

`default_nettype wire
