// FIFO, keep-last: the newest KEEP whole messages for a slow subscriber; never stalls a topic.
//
// Function      A message that is complete and not damaged waits to be read; when one more than
//               KEEP would wait, the oldest waiting one is dropped and counted. A message that is
//               being read is read to its end, and the next one is begun while the last beat of the
//               one before stands at the output: a subscriber that stands still finds at most these
//               two and then the newest KEEP. Damaged messages (tuser) and messages of more than
//               SLOT_BEATS beats are discarded and counted: what comes out is always good.
// Latency       A message is shown 3 cycles after its last beat, if nothing is ahead of it.
// Throughput    1 beat per cycle on both sides, without a gap between messages that wait.
// Back-pressure None: s_axis_tready is always high.
// Ordering      First in, first out among those that are not dropped.
// Reset         Empty, counts zero; a message in progress on the input must restart.
// Memory        KEEP + 2 slots of SLOT_BEATS: one written, one read, KEEP waiting.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. KEEP: messages, 1 to 14.
//               SLOT_BEATS: beats of the longest message, a power of two, 2 to 2^18.
//               COUNT_WIDTH: bits of a count (saturating), 1 to 32.
`default_nettype none

module axis_fifo_last #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned KEEP = 1,
  parameter int unsigned SLOT_BEATS = 512,
  parameter int unsigned COUNT_WIDTH = 16
) (
  input  wire                    clk,
  input  wire                    rst,
  input  wire  [WIDTH-1:0]       s_axis_tdata,
  input  wire  [WIDTH/8-1:0]     s_axis_tkeep,
  input  wire                    s_axis_tlast,
  input  wire                    s_axis_tuser,
  input  wire                    s_axis_tvalid,
  output logic                   s_axis_tready,
  output logic [WIDTH-1:0]       m_axis_tdata,
  output logic [WIDTH/8-1:0]     m_axis_tkeep,
  output logic                   m_axis_tlast,
  output logic                   m_axis_tuser,
  output logic                   m_axis_tvalid,
  input  wire                    m_axis_tready,
  output logic [COUNT_WIDTH-1:0] count_dropped,
  output logic [COUNT_WIDTH-1:0] count_discarded
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (KEEP < 1 || KEEP > 14) begin : g_bad_keep
    $fatal(1, "%m: KEEP is 1 to 14");
  end
  if (SLOT_BEATS < 2 || SLOT_BEATS > (1 << 18) || (SLOT_BEATS & (SLOT_BEATS - 1)) != 0)
  begin : g_bad_slot
    $fatal(1, "%m: SLOT_BEATS is a power of two from 2 to 2^18");
  end
  if (COUNT_WIDTH < 1 || COUNT_WIDTH > 32) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 1 to 32");
  end

  localparam int unsigned Slots = KEEP + 2;
  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned BeatWidth = $clog2(SLOT_BEATS);
  localparam int unsigned FillWidth = $clog2(KEEP + 1);
  localparam int unsigned Payload = WIDTH + WIDTH / 8;

  logic [Payload-1:0]        mem [Slots << BeatWidth];
  logic [BeatWidth-1:0]      final_beat [Slots];  // number of the last beat of each slot's message

  logic [SlotWidth-1:0]      write_slot;
  logic [BeatWidth-1:0]      write_beat;
  logic                      too_long;

  logic [KEEP*SlotWidth-1:0] queue;    // slots that wait, the oldest lowest
  logic [FillWidth-1:0]      waiting;  // how many

  logic                      reading;
  logic [SlotWidth-1:0]      read_slot;
  logic [BeatWidth-1:0]      read_beat;
  logic [BeatWidth-1:0]      read_final;
  logic [Payload-1:0]        head;
  logic                      head_last;
  logic                      head_full;

  // Input -----------------------------------------------------------------------------------------

  wire ends = s_axis_tvalid && s_axis_tlast;
  wire push = ends && !s_axis_tuser && !too_long;

  assign s_axis_tready = 1'b1;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid && !too_long) mem[{write_slot, write_beat}] <= {s_axis_tkeep, s_axis_tdata};
    if (push) final_beat[write_slot] <= write_beat;
  end

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      write_beat <= s_axis_tlast ? '0 : write_beat + 1'b1;
      too_long <= !s_axis_tlast && (too_long || (&write_beat));
    end
    if (rst) begin
      write_beat <= '0;
      too_long <= 1'b0;
    end
  end

  // Output ----------------------------------------------------------------------------------------

  wire                  issue = reading && (!head_full || m_axis_tready);
  wire                  done = issue && (read_beat == read_final);
  wire                  pop = (waiting != '0) && (!reading || done);
  wire  [SlotWidth-1:0] oldest = queue[SlotWidth-1:0];

  assign m_axis_tvalid = head_full;
  assign m_axis_tlast = head_last;
  assign m_axis_tuser = 1'b0;
  assign {m_axis_tkeep, m_axis_tdata} = head;

  always_ff @(posedge clk) begin
    if (issue) head <= mem[{read_slot, read_beat}];
  end

  always_ff @(posedge clk) begin
    if (issue) begin
      head_full <= 1'b1;
      head_last <= done;
      read_beat <= read_beat + 1'b1;
    end else if (m_axis_tready) begin
      head_full <= 1'b0;
    end
    if (pop) begin
      read_slot <= oldest;
      read_final <= final_beat[oldest];
      read_beat <= '0;
    end
    if (pop) reading <= 1'b1;
    else if (done) reading <= 1'b0;
    if (rst) begin
      head_full <= 1'b0;
      reading <= 1'b0;
    end
  end

  // Slots -----------------------------------------------------------------------------------------

  wire drop = push && !pop && (waiting == FillWidth'(KEEP));
  wire leaves = pop || drop;

  logic [Slots-1:0]          used;
  logic [SlotWidth-1:0]      unused_slot;
  logic [SlotWidth-1:0]      next_slot;
  logic [KEEP*SlotWidth-1:0] queue_next;
  logic [FillWidth-1:0]      tail;  // where the next slot is queued

  assign tail = leaves ? waiting - 1'b1 : waiting;

  always_comb begin
    used = '0;
    used[write_slot] = 1'b1;
    if (reading) used[read_slot] = 1'b1;
    for (int unsigned i = 0; i < KEEP; i++)
      if (i < 32'(waiting)) used[queue[i*SlotWidth +: SlotWidth]] = 1'b1;
    unused_slot = '0;
    for (int unsigned i = 0; i < Slots; i++) if (!used[i]) unused_slot = SlotWidth'(i);

    queue_next = leaves ? queue >> SlotWidth : queue;
    for (int unsigned i = 0; i < KEEP; i++)
      if (push && i == 32'(tail)) queue_next[i*SlotWidth +: SlotWidth] = write_slot;
  end

  // With all slots in use the one that is dropped, or read out in this cycle, is written next.
  assign next_slot = drop ? oldest : done ? read_slot : unused_slot;

  always_ff @(posedge clk) begin
    queue <= queue_next;
    waiting <= push ? tail + 1'b1 : tail;
    if (push) write_slot <= next_slot;
    if (drop && !(&count_dropped)) count_dropped <= count_dropped + 1'b1;
    if (ends && !push && !(&count_discarded)) count_discarded <= count_discarded + 1'b1;
    if (rst) begin
      waiting <= '0;
      write_slot <= '0;
      count_dropped <= '0;
      count_discarded <= '0;
    end
  end

`ifdef FORMAL
  `include "axis_fifo_last_formal.svh"
`endif

endmodule

`default_nettype wire
