// MEMIF write engine: writes messages from an AXI stream to host memory, cutting through.
//
// Function      Each message goes into the buffer of one descriptor {address, capacity, tag}, which
//               is taken with the message's first beat; one completion {tag, bytes, status} tells
//               of it. The header (24 bytes, payload bytes in bits 63:32 of the first beat) says
//               how long the message is, so bursts are requested before their data has come.
//               Written is what message, header and capacity all hold; the rest of the message is
//               taken and discarded. When a message ends before its header says, bursts that are
//               already requested are filled with beats without a strobe, and no more are
//               requested.
// Completion    Only after the write response of the message's last burst and the message's last
//               beat: what it reports can be read by the host. done_bytes is what was written.
//               done_status: bit 0 cut      longer than the capacity
//                            bit 1 damaged  tuser, or not as long as its header says; of a cut
//                                           message: ends before the capacity's last beat
//                            bit 2 error    a write response was an error
// Memory        AXI4, one ID, INCR bursts of at most BURST_BEATS full-width beats. A burst never
//               leaves an aligned block of BURST_BEATS beats, so it never crosses 4 KiB. Every byte
//               with a strobe is in [address, address + capacity), every burst in the beats that
//               this range touches. Bytes of the last beat have strobes of their own. Write data
//               waits for no awready.
// Latency       3 cycles from a message's first beat on offer (with a descriptor on offer) to its
//               first beat on the write channel; then 0 cycles. The completion follows the last
//               response by 2 cycles.
// Throughput    1 beat per cycle inside a message, 3 cycles between messages. Responses of earlier
//               messages are awaited while later ones are written.
// Back-pressure s_axis_tready is low without a descriptor and follows m_axi_wready. A publisher
//               that falls silent in mid-message holds the write channel: put an axis_fifo and a
//               watchdog (axis_arb) before it where memory is shared. m_axi_bready is low while a
//               completion is not taken.
// Ordering      Descriptors, messages, completions: first in, first out.
// Reset         Nothing in progress, counts zero. The memory's side must forget outstanding bursts
//               at the same time.
// Counts        count_bytes: bytes with a strobe, added at the end of each message. count_beats:
//               beats on the write channel. They wrap. count_cut, count_damaged, count_error:
//               completions with that status, saturating.
// Parameters    WIDTH: bits of tdata and wdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to 64; the
//               address of a descriptor has no bits 5:0, so it is 64-byte aligned; the buffer must
//               not wrap round the end of the address space. LENGTH_WIDTH: bits of a buffer's
//               capacity, 8 to 32. TAG_WIDTH: 1 to 32.
//               BURST_BEATS: a power of two, 2 to 64. OUTSTANDING: bursts requested and not yet
//               answered, a power of two, 1 to 64. COUNT_WIDTH: bits of bytes and beats, 32 to 64.
`default_nettype none

module memif_write #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned LENGTH_WIDTH = 32,
  parameter int unsigned TAG_WIDTH = 8,
  parameter int unsigned BURST_BEATS = 64,
  parameter int unsigned OUTSTANDING = 8,
  parameter int unsigned COUNT_WIDTH = 48
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [WIDTH-1:0]         s_axis_tdata,
  input  wire  [WIDTH/8-1:0]       s_axis_tkeep,
  input  wire                      s_axis_tlast,
  input  wire                      s_axis_tuser,
  input  wire                      s_axis_tvalid,
  output logic                     s_axis_tready,
  input  wire  [ADDRESS_WIDTH-1:6] desc_address,
  input  wire  [LENGTH_WIDTH-1:0]  desc_capacity,
  input  wire  [TAG_WIDTH-1:0]     desc_tag,
  input  wire                      desc_valid,
  output logic                     desc_ready,
  output logic [TAG_WIDTH-1:0]     done_tag,
  output logic [LENGTH_WIDTH-1:0]  done_bytes,
  output logic [2:0]               done_status,
  output logic                     done_valid,
  input  wire                      done_ready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_awaddr,
  output logic [7:0]               m_axi_awlen,
  output logic [2:0]               m_axi_awsize,
  output logic [1:0]               m_axi_awburst,
  output logic                     m_axi_awvalid,
  input  wire                      m_axi_awready,
  output logic [WIDTH-1:0]         m_axi_wdata,
  output logic [WIDTH/8-1:0]       m_axi_wstrb,
  output logic                     m_axi_wlast,
  output logic                     m_axi_wvalid,
  input  wire                      m_axi_wready,
  input  wire  [1:0]               m_axi_bresp,
  input  wire                      m_axi_bvalid,
  output logic                     m_axi_bready,
  output logic [COUNT_WIDTH-1:0]   count_bytes,
  output logic [COUNT_WIDTH-1:0]   count_beats,
  output logic [15:0]              count_cut,
  output logic [15:0]              count_damaged,
  output logic [15:0]              count_error
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 13 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 13 to 64");
  end
  if (LENGTH_WIDTH < 8 || LENGTH_WIDTH > 32) begin : g_bad_length_width
    $fatal(1, "%m: LENGTH_WIDTH is 8 to 32");
  end
  if (TAG_WIDTH < 1 || TAG_WIDTH > 32) begin : g_bad_tag_width
    $fatal(1, "%m: TAG_WIDTH is 1 to 32");
  end
  if (BURST_BEATS < 2 || BURST_BEATS > 64 || (BURST_BEATS & (BURST_BEATS - 1)) != 0)
  begin : g_bad_burst
    $fatal(1, "%m: BURST_BEATS is a power of two from 2 to 64");
  end
  if (OUTSTANDING < 1 || OUTSTANDING > 64 || (OUTSTANDING & (OUTSTANDING - 1)) != 0)
  begin : g_bad_outstanding
    $fatal(1, "%m: OUTSTANDING is a power of two from 1 to 64");
  end
  if (COUNT_WIDTH < 32 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 32 to 64");
  end

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned LogBytes = $clog2(Bytes);
  localparam int unsigned LogBurst = $clog2(BURST_BEATS);
  localparam int unsigned LeftWidth = LENGTH_WIDTH - LogBytes;
  localparam int unsigned IssueWidth = (LeftWidth > LogBurst) ? LeftWidth : LogBurst;
  localparam int unsigned BurstCount = $clog2(OUTSTANDING) + 1;
  // Messages that are written and wait for responses: with one burst each, as many as bursts.
  localparam int unsigned Marks = (OUTSTANDING < 2) ? 2 : OUTSTANDING;
  localparam int unsigned LogMarks = $clog2(Marks);

  // Plan of a message ----------------------------------------------------------------------------

  logic                           planning;    // the header is known, the plan not yet
  logic                           running;     // the plan is known, the message is on its way
  logic                           unreported;  // the message is written, its mark not yet queued
  logic [TAG_WIDTH-1:0]           tag;
  logic [32:0]                    total;       // bytes announced, header included, minus 1
  logic [LENGTH_WIDTH-1:0]        room;        // bytes of the buffer minus 1
  logic                           no_room;     // the buffer has no byte at all
  logic                           cut;
  logic [LogBytes-1:0]            tail;        // bytes in the last beat that is written, minus 1
  logic [ADDRESS_WIDTH-1:LogBytes] issue_address;  // of the next burst, in beats

  logic marks_full;
  wire  idle = !planning && !running;
  wire  reports = unreported && !marks_full && idle;
  wire  startable = idle && (!unreported || !marks_full) && s_axis_tvalid;
  wire  start = startable && desc_valid;

  wire                    too_long = no_room || total > 33'(room);
  wire [LENGTH_WIDTH-1:0] planned = too_long ? room : total[LENGTH_WIDTH-1:0];

  assign desc_ready = startable;

  // Bursts ---------------------------------------------------------------------------------------

  logic [IssueWidth-1:0] issue_left;  // beats in no burst so far, minus 1
  logic                  issue_done;  // no more of them
  logic [BurstCount-1:0] issued;      // bursts, all in modular counts
  logic [BurstCount-1:0] written;
  logic [BurstCount-1:0] answered;
  logic                  ended;   // the message's last beat has been taken
  logic                  filled;  // the plan's last beat has been written

  wire [BurstCount-1:0] ahead = issued - written;
  wire [BurstCount-1:0] outstanding = issued - answered;
  wire [LogBurst-1:0]   to_block_end = ~issue_address[LogBytes +: LogBurst];
  wire                  fits = issue_left <= IssueWidth'(to_block_end);
  wire [LogBurst-1:0]   burst = fits ? issue_left[LogBurst-1:0] : to_block_end;
  wire                  issue = running && !issue_done && !ended
      && outstanding != BurstCount'(OUTSTANDING) && (!m_axi_awvalid || m_axi_awready);

  assign m_axi_awsize = 3'(LogBytes);
  assign m_axi_awburst = 2'b01;

  always_ff @(posedge clk) begin
    if (issue) begin
      m_axi_awaddr <= {issue_address, LogBytes'(0)};
      m_axi_awlen <= 8'(burst);
    end
    if (issue) m_axi_awvalid <= 1'b1;
    else if (m_axi_awready) m_axi_awvalid <= 1'b0;
    if (rst) m_axi_awvalid <= 1'b0;
  end

  // Beats ----------------------------------------------------------------------------------------

  logic [LeftWidth-1:0] write_left;    // beats of the plan to be written, minus 1
  logic [LogBurst-1:0]  write_offset;  // of the next beat in its block
  logic [LeftWidth-1:0] whole;         // beats of the message that were written full
  logic [LogBytes:0]    rest;          // bytes of its last one
  logic                 damaged;

  wire final_beat = (write_left == '0);
  logic [Bytes-1:0] allowed;
  always_comb
    for (int unsigned i = 0; i < Bytes; i++) allowed[i] = !final_beat || i <= 32'(tail);
  wire [Bytes-1:0] present = s_axis_tlast ? s_axis_tkeep : '1;

  // Nothing of the next message shows while this one is padded: an offer stands.
  assign m_axi_wdata = ended ? '0 : s_axis_tdata;
  assign m_axi_wstrb = ended ? '0 : present & allowed;
  assign m_axi_wlast = (&write_offset) || final_beat;
  assign m_axi_wvalid = running && !filled && ahead != '0 && (ended || s_axis_tvalid);
  assign s_axis_tready = running && !ended && (filled || (ahead != '0 && m_axi_wready));

  wire beat = m_axi_wvalid && m_axi_wready;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire leave = (beat && final_beat && taken && s_axis_tlast)
      || (running && ended && (filled || ahead == '0));
  wire wrong_length = filled ? !cut : (!final_beat || (!cut && s_axis_tkeep != allowed));

  logic [LogBytes:0] strobes;
  always_comb begin
    strobes = '0;
    for (int unsigned i = 0; i < Bytes; i++) strobes += (LogBytes+1)'(m_axi_wstrb[i]);
  end

  always_ff @(posedge clk) begin
    if (start) begin
      planning <= 1'b1;
      tag <= desc_tag;
      total <= {1'b0, s_axis_tdata[63:32]} + 33'd23;
      room <= desc_capacity - 1'b1;
      no_room <= (desc_capacity == '0);
      issue_address <= (ADDRESS_WIDTH-LogBytes)'(desc_address) << (6 - LogBytes);
    end
    if (planning) begin
      planning <= 1'b0;
      running <= 1'b1;
      cut <= too_long;
      issue_left <= IssueWidth'(planned[LENGTH_WIDTH-1:LogBytes]);
      issue_done <= no_room;
      write_left <= planned[LENGTH_WIDTH-1:LogBytes];
      write_offset <= issue_address[LogBytes +: LogBurst];
      tail <= planned[LogBytes-1:0];
      filled <= no_room;
      ended <= 1'b0;
      damaged <= 1'b0;
      whole <= '0;
      rest <= '0;
    end
    if (issue) begin
      issued <= issued + 1'b1;
      issue_done <= fits;
      issue_left <= issue_left - IssueWidth'(to_block_end) - 1'b1;
      issue_address[LogBytes +: LogBurst] <= '0;
      issue_address[ADDRESS_WIDTH-1:LogBytes+LogBurst] <=
          issue_address[ADDRESS_WIDTH-1:LogBytes+LogBurst] + 1'b1;
    end
    if (beat) begin
      write_left <= write_left - 1'b1;
      write_offset <= write_offset + 1'b1;
      if (final_beat) filled <= 1'b1;
      if (m_axi_wlast) written <= written + 1'b1;
      if (!ended) begin
        if (final_beat || s_axis_tlast) rest <= strobes;
        else whole <= whole + 1'b1;
      end
    end
    if (taken && s_axis_tlast) begin
      ended <= 1'b1;
      damaged <= s_axis_tuser || wrong_length;
    end
    if (leave) begin
      running <= 1'b0;
      unreported <= 1'b1;
    end else if (reports) begin
      unreported <= 1'b0;
    end
    if (rst) begin
      planning <= 1'b0;
      running <= 1'b0;
      unreported <= 1'b0;
      issued <= '0;
      written <= '0;
    end
  end

  // Completions ----------------------------------------------------------------------------------

  // A message's mark: how many bursts had been issued at its end. It is complete when as many are
  // answered; a response of a later message is not taken before its completion has left.
  localparam int unsigned MarkWidth = BurstCount + TAG_WIDTH + 2 + LENGTH_WIDTH;
  logic [MarkWidth-1:0]  marks [Marks];
  logic [LogMarks:0]     marks_wp;
  logic [LogMarks:0]     marks_rp;
  logic                  error;  // of the oldest message that is not complete
  wire  [LogMarks:0]     marks_level = marks_wp - marks_rp;
  wire  [BurstCount-1:0] head_mark;
  wire  [TAG_WIDTH-1:0]  head_tag;
  wire  [1:0]            head_status;
  wire  [LENGTH_WIDTH-1:0] head_bytes;
  assign {head_mark, head_tag, head_status, head_bytes} = marks[marks_rp[LogMarks-1:0]];
  assign marks_full = marks_level[LogMarks];

  wire [LENGTH_WIDTH-1:0] bytes = {whole, LogBytes'(0)} + LENGTH_WIDTH'(rest);
  wire        complete = marks_level != '0 && answered == head_mark;
  wire        pop = complete && (!done_valid || done_ready);
  wire        response = m_axi_bvalid && m_axi_bready;

  assign m_axi_bready = !complete && outstanding != '0;

  always_ff @(posedge clk)
    if (reports) marks[marks_wp[LogMarks-1:0]] <= {issued, tag, damaged, cut, bytes};

  always_ff @(posedge clk) begin
    if (reports) marks_wp <= marks_wp + 1'b1;
    if (response) begin
      answered <= answered + 1'b1;
      error <= error || m_axi_bresp[1];
    end
    if (pop) begin
      marks_rp <= marks_rp + 1'b1;
      error <= 1'b0;
      done_tag <= head_tag;
      done_bytes <= head_bytes;
      done_status <= {error, head_status};
    end
    if (pop) done_valid <= 1'b1;
    else if (done_ready) done_valid <= 1'b0;
    if (rst) begin
      marks_wp <= '0;
      marks_rp <= '0;
      answered <= '0;
      error <= 1'b0;
      done_valid <= 1'b0;
    end
  end

  // Counts ---------------------------------------------------------------------------------------

  // What happened goes through a register first: counting is no part of a beat's way.
  logic        was_beat;
  logic        was_report;
  logic [LENGTH_WIDTH-1:0] was_bytes;
  logic        was_pop;
  always_ff @(posedge clk) begin
    was_beat <= beat;
    was_report <= reports;
    was_bytes <= bytes;
    was_pop <= pop;
    if (was_beat) count_beats <= count_beats + 1'b1;
    if (was_report) count_bytes <= count_bytes + COUNT_WIDTH'(was_bytes);
    if (was_pop && done_status[0] && !(&count_cut)) count_cut <= count_cut + 1'b1;
    if (was_pop && done_status[1] && !(&count_damaged)) count_damaged <= count_damaged + 1'b1;
    if (was_pop && done_status[2] && !(&count_error)) count_error <= count_error + 1'b1;
    if (rst) begin
      was_beat <= 1'b0;
      was_report <= 1'b0;
      was_pop <= 1'b0;
      count_beats <= '0;
      count_bytes <= '0;
      count_cut <= '0;
      count_damaged <= '0;
      count_error <= '0;
    end
  end

  // OKAY and EXOKAY, SLVERR and DECERR are told apart by the upper bit alone.
  wire unused = &{1'b0, m_axi_bresp[0]};

`ifdef FORMAL
  `include "memif_write_formal.svh"
`endif

endmodule

`default_nettype wire
