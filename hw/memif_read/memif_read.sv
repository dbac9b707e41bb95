// MEMIF read engine: gathers messages from host memory and puts them on an AXI stream.
//
// Function      Each descriptor {address, bytes, tag, last} names a segment of memory. The segments
//               up to and with one that is `last` are one message: their bytes one after the other
//               without a gap, tlast with the last of them. So the small parts of a message that
//               lie elsewhere, or in another order, are collected by the host, and the large ones
//               are read where they are. Bursts are requested ahead, across segments and messages,
//               as far as the buffer has room.
// Completion    One per message, {tag of its last segment, error}, when its last beat has come from
//               memory: the host may reuse all its segments. The beats may still lie in the buffer.
// Error         When the memory reports an error for any beat, the message keeps its length and
//               carries tuser with tlast: damaged, to be discarded. So does a message with a
//               segment that the host must not post: of 0 bytes (nothing of it is on the stream,
//               though the beat at its address is read), or, before the last, of a number of bytes
//               that is no multiple of 8 (it is rounded up).
// Memory        AXI4, one ID, INCR bursts of at most BURST_BEATS full-width beats. A burst never
//               leaves an aligned block of BURST_BEATS beats, so it never crosses 4 KiB. Only beats
//               that [address, address + bytes) touches are read. Every burst has its place in the
//               buffer when it is requested, so m_axi_rready is low in no cycle: a slow stream
//               never holds up the memory's other users.
// Latency       2 cycles from a descriptor's acceptance to the address on offer; from the memory's
//               beat to the stream's 2 cycles, and 1 more where packed.
// Throughput    1 beat per cycle as long as the buffer holds what the memory's latency takes. A
//               segment takes as many cycles as it touches beats of memory, at least 2: segments of
//               2 beats and more follow each other without an empty cycle.
// Back-pressure BUFFER_BEATS / BURST_BEATS full bursts are outstanding at most. desc_ready is low
//               while DESCRIPTORS are in work. The last one of a message is until its completion is
//               taken, the others until their last beat has come: a message may have any number.
// Ordering      Descriptors, messages, completions: first in, first out.
// Reset         Nothing in progress, counts zero. The memory's side must forget outstanding bursts
//               at the same time.
// Counts        count_bytes: bytes of all segments taken. count_beats: beats on the read data
//               channel. They wrap. count_error: completions with error, saturating.
// Parameters    WIDTH: bits of tdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to 64; the
//               address of a descriptor has no bits 2:0, so it is a multiple of 8; a segment must
//               not wrap round the end of the address space. LENGTH_WIDTH: bits of a segment's
//               number of bytes, 8 to 32. TAG_WIDTH: 1 to 32. BURST_BEATS: a power of two, 2 to 64.
//               BUFFER_BEATS: a power of two, BURST_BEATS to 2^16. DESCRIPTORS: a power of two, 2
//               to 64. COUNT_WIDTH: 32 to 64. PACK: 1, or 0 for whoever puts something in front of
//               the message and an axis_pack behind both: the stream then has the segments' beats
//               as they lie in memory, in the form that axis_pack takes.
`default_nettype none

module memif_read #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned LENGTH_WIDTH = 32,
  parameter int unsigned TAG_WIDTH = 8,
  parameter int unsigned BURST_BEATS = 64,
  parameter int unsigned BUFFER_BEATS = 512,
  parameter int unsigned DESCRIPTORS = 8,
  parameter int unsigned COUNT_WIDTH = 48,
  parameter bit          PACK = 1
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [ADDRESS_WIDTH-1:3] desc_address,
  input  wire  [LENGTH_WIDTH-1:0]  desc_bytes,
  input  wire  [TAG_WIDTH-1:0]     desc_tag,
  input  wire                      desc_last,
  input  wire                      desc_valid,
  output logic                     desc_ready,
  output logic [TAG_WIDTH-1:0]     done_tag,
  output logic                     done_error,
  output logic                     done_valid,
  input  wire                      done_ready,
  output logic [WIDTH-1:0]         m_axis_tdata,
  output logic [WIDTH/8-1:0]       m_axis_tkeep,
  output logic                     m_axis_tlast,
  output logic                     m_axis_tuser,
  output logic                     m_axis_tvalid,
  input  wire                      m_axis_tready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_araddr,
  output logic [7:0]               m_axi_arlen,
  output logic [2:0]               m_axi_arsize,
  output logic [1:0]               m_axi_arburst,
  output logic                     m_axi_arvalid,
  input  wire                      m_axi_arready,
  input  wire  [WIDTH-1:0]         m_axi_rdata,
  input  wire  [1:0]               m_axi_rresp,
  input  wire                      m_axi_rlast,
  input  wire                      m_axi_rvalid,
  output logic                     m_axi_rready,
  output logic [COUNT_WIDTH-1:0]   count_bytes,
  output logic [COUNT_WIDTH-1:0]   count_beats,
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
  if (BUFFER_BEATS < BURST_BEATS || BUFFER_BEATS > (1 << 16)
      || (BUFFER_BEATS & (BUFFER_BEATS - 1)) != 0) begin : g_bad_buffer
    $fatal(1, "%m: BUFFER_BEATS is a power of two from BURST_BEATS to 2^16");
  end
  if (DESCRIPTORS < 2 || DESCRIPTORS > 64 || (DESCRIPTORS & (DESCRIPTORS - 1)) != 0)
  begin : g_bad_descriptors
    $fatal(1, "%m: DESCRIPTORS is a power of two from 2 to 64");
  end
  if (COUNT_WIDTH < 32 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 32 to 64");
  end

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned LogBytes = $clog2(Bytes);
  localparam int unsigned LogBurst = $clog2(BURST_BEATS);
  localparam int unsigned LogBuffer = $clog2(BUFFER_BEATS);
  localparam int unsigned LogDescriptors = $clog2(DESCRIPTORS);
  // A segment from the beginning of its first beat on, and the beats of that.
  localparam int unsigned SpanWidth = (LENGTH_WIDTH > LogBytes ? LENGTH_WIDTH : LogBytes) + 1;
  localparam int unsigned LeftWidth = SpanWidth - LogBytes;
  localparam int unsigned IssueWidth = (LeftWidth > LogBurst) ? LeftWidth : LogBurst;

  // Segments: a ring in which each is accepted, received, then reported ---------------------------

  wire [ADDRESS_WIDTH-1:0] address = {desc_address, 3'b0};
  wire                     empty = (desc_bytes == '0);
  wire                     faulty = empty || (!desc_last && desc_bytes[2:0] != '0);
  // Minus 1; that of an empty segment ends in its first beat.
  wire [SpanWidth-1:0]     span = SpanWidth'(address[LogBytes-1:0]) + SpanWidth'(desc_bytes)
      - SpanWidth'(!empty);

  // For its beats: what is wrong with it, its first lane, its last byte, its beats minus 1.
  localparam int unsigned EntryWidth = 3 + 3 + LogBytes + LeftWidth;
  logic [EntryWidth-1:0]   entries [DESCRIPTORS];
  logic [TAG_WIDTH:0]      names [DESCRIPTORS];  // for the completion: last, tag
  logic [DESCRIPTORS-1:0]  errors;
  logic [LogDescriptors:0] accepted;  // modular counts
  logic [LogDescriptors:0] loaded;
  logic [LogDescriptors:0] received;
  logic [LogDescriptors:0] reported;
  wire  [LogDescriptors:0] in_work = accepted - reported;

  // Bursts ---------------------------------------------------------------------------------------

  logic                            running;     // bursts of the newest segment are to be requested
  logic [ADDRESS_WIDTH-1:LogBytes] issue_address;
  logic [IssueWidth-1:0]           issue_left;  // beats in no burst so far, minus 1
  logic [LogBuffer:0]              claimed;     // beats requested that have not left the buffer

  wire                accept = desc_valid && desc_ready;
  wire [LogBurst-1:0] to_block_end = ~issue_address[LogBytes +: LogBurst];
  wire                fits = issue_left <= IssueWidth'(to_block_end);
  wire [LogBurst-1:0] burst = fits ? issue_left[LogBurst-1:0] : to_block_end;
  wire                room = claimed <= (LogBuffer+1)'(BUFFER_BEATS - BURST_BEATS);
  wire                issue = running && room && (!m_axi_arvalid || m_axi_arready);
  wire                leaves;
  wire                drop;

  assign desc_ready = !running && !in_work[LogDescriptors];
  assign m_axi_arsize = 3'(LogBytes);
  assign m_axi_arburst = 2'b01;

  always_ff @(posedge clk)
    if (accept) begin
      entries[accepted[LogDescriptors-1:0]] <= {desc_last, faulty, empty,
          3'(address[LogBytes-1:0] >> 3),
          span[LogBytes-1:0] | (desc_last ? LogBytes'(0) : LogBytes'(7)),
          span[SpanWidth-1:LogBytes]};
      names[accepted[LogDescriptors-1:0]] <= {desc_last, desc_tag};
    end

  always_ff @(posedge clk) begin
    if (accept) begin
      accepted <= accepted + 1'b1;
      running <= 1'b1;
      issue_address <= address[ADDRESS_WIDTH-1:LogBytes];
      issue_left <= IssueWidth'(span[SpanWidth-1:LogBytes]);
    end
    if (issue) begin
      running <= !fits;
      issue_left <= issue_left - IssueWidth'(to_block_end) - 1'b1;
      issue_address[LogBytes +: LogBurst] <= '0;
      issue_address[ADDRESS_WIDTH-1:LogBytes+LogBurst] <=
          issue_address[ADDRESS_WIDTH-1:LogBytes+LogBurst] + 1'b1;
      m_axi_araddr <= {issue_address, LogBytes'(0)};
      m_axi_arlen <= 8'(burst);
    end
    if (issue) m_axi_arvalid <= 1'b1;
    else if (m_axi_arready) m_axi_arvalid <= 1'b0;
    claimed <= claimed + (issue ? (LogBuffer+1)'(burst) + 1'b1 : '0) - (LogBuffer+1)'(leaves)
        - (LogBuffer+1)'(drop);
    if (rst) begin
      accepted <= '0;
      running <= 1'b0;
      m_axi_arvalid <= 1'b0;
      claimed <= '0;
    end
  end

  // Beats from memory ----------------------------------------------------------------------------

  // The segment whose beats come. It is here before its first burst is requested.
  logic                 head;
  logic                 head_final;  // its message ends with it
  logic                 head_faulty;
  logic                 head_empty;
  logic [2:0]           head_lane;   // of its first byte
  logic [LogBytes-1:0]  head_end;    // its last byte in its last beat
  logic [LeftWidth-1:0] left;        // beats to come, minus 1
  logic                 fresh;       // the next one is its first
  logic                 error;       // of the message so far

  // A beat that no burst asked for finds no segment, and is not written.
  wire beat = m_axi_rvalid && head;
  // What holds nothing of its message goes no further, but for its end.
  assign drop = beat && head_empty && !head_final;
  wire store = beat && !drop;
  wire finish = beat && left == '0;
  wire last = finish && head_final;
  wire bad = error || head_faulty || m_axi_rresp[1];

  logic [Bytes-1:0] keep;
  always_comb
    for (int unsigned i = 0; i < Bytes; i++)
      keep[i] = !head_empty && (!fresh || i >= 8 * 32'(head_lane))
          && (left != '0 || i <= 32'(head_end));

  assign m_axi_rready = 1'b1;

  always_ff @(posedge clk) begin
    if (!head || finish) begin
      {head_final, head_faulty, head_empty, head_lane, head_end, left}
          <= entries[loaded[LogDescriptors-1:0]];
      head <= (loaded != accepted);
      if (loaded != accepted) loaded <= loaded + 1'b1;
      fresh <= 1'b1;
    end else if (beat) begin
      left <= left - 1'b1;
      fresh <= 1'b0;
    end
    if (beat) error <= bad && !last;
    if (finish) begin
      received <= received + 1'b1;
      errors[received[LogDescriptors-1:0]] <= bad;
    end
    if (rst) begin
      head <= 1'b0;
      loaded <= '0;
      received <= '0;
      error <= 1'b0;
    end
  end

  // Buffer ---------------------------------------------------------------------------------------

  localparam int unsigned Payload = WIDTH + Bytes + 2;
  logic [Payload-1:0] mem [BUFFER_BEATS];
  logic [LogBuffer:0] wp;
  logic [LogBuffer:0] rp;
  logic [Payload-1:0] shown;
  logic               shown_valid;
  wire                shown_ready;
  wire                fetch = (wp != rp) && (!shown_valid || shown_ready);

  assign leaves = shown_valid && shown_ready;

  // The memory and its output register stand alone, so that tools find a block memory in them.
  always_ff @(posedge clk) begin
    if (store) mem[wp[LogBuffer-1:0]] <= {bad && last, last, keep, m_axi_rdata};
    if (fetch) shown <= mem[rp[LogBuffer-1:0]];
  end

  always_ff @(posedge clk) begin
    if (store) wp <= wp + 1'b1;
    if (fetch) rp <= rp + 1'b1;
    if (fetch) shown_valid <= 1'b1;
    else if (shown_ready) shown_valid <= 1'b0;
    if (rst) begin
      wp <= '0;
      rp <= '0;
      shown_valid <= 1'b0;
    end
  end

  if (PACK) begin : g_pack
    axis_pack #(.WIDTH(WIDTH)) pack (
      .clk, .rst,
      .s_axis_tdata(shown[WIDTH-1:0]), .s_axis_tkeep(shown[WIDTH +: Bytes]),
      .s_axis_tlast(shown[WIDTH+Bytes]), .s_axis_tuser(shown[WIDTH+Bytes+1]),
      .s_axis_tvalid(shown_valid), .s_axis_tready(shown_ready),
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_axis_tuser, .m_axis_tvalid, .m_axis_tready
    );
  end else begin : g_as_it_lies
    assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = shown;
    assign m_axis_tvalid = shown_valid;
    assign shown_ready = m_axis_tready;
  end

  // Completions ----------------------------------------------------------------------------------

  // Segments inside a message are passed over, one per cycle.
  wire oldest = (reported != received);
  wire oldest_final;
  assign {oldest_final, done_tag} = names[reported[LogDescriptors-1:0]];
  assign done_valid = oldest && oldest_final;
  assign done_error = errors[reported[LogDescriptors-1:0]];

  always_ff @(posedge clk) begin
    if (oldest && (done_ready || !oldest_final)) reported <= reported + 1'b1;
    if (rst) reported <= '0;
  end

  // Counts ---------------------------------------------------------------------------------------

  // What happened goes through a register first: counting is no part of a beat's way.
  logic                    was_beat;
  logic                    was_accept;
  logic                    was_error;
  logic [LENGTH_WIDTH-1:0] was_bytes;
  always_ff @(posedge clk) begin
    was_beat <= beat;
    was_accept <= accept;
    was_error <= last && bad;
    was_bytes <= desc_bytes;
    if (was_beat) count_beats <= count_beats + 1'b1;
    if (was_accept) count_bytes <= count_bytes + COUNT_WIDTH'(was_bytes);
    if (was_error && !(&count_error)) count_error <= count_error + 1'b1;
    if (rst) begin
      was_beat <= 1'b0;
      was_accept <= 1'b0;
      was_error <= 1'b0;
      count_beats <= '0;
      count_bytes <= '0;
      count_error <= '0;
    end
  end

  // Where a segment ends is known without rlast; OKAY and EXOKAY need not be told apart.
  wire unused = &{1'b0, m_axi_rlast, m_axi_rresp[0]};

`ifdef FORMAL
  `include "memif_read_formal.svh"
`endif

endmodule

`default_nettype wire
