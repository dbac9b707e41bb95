// Gateway up: gives messages of a topic to the write engine, each with a credit of the host's.
//
// Function      The host posts credits, see gateway_words. A message from the stream takes the
//               oldest one, goes to the write engine as it is, header included, and is reported by
//               ARRIVED with its publisher and sequence. A message whose publisher id is
//               PUBLISHER_ID is dropped: the gateway brought it down itself. When no credit waits
//               at a message's first beat, it waits for one with `reliable`, and is dropped
//               without. What is dropped is dropped whole, and never reaches the write engine. A
//               credit that is not aligned to 64 bytes, or does not end inside the address space,
//               is dropped and counted.
// ARRIVED       In the order of the messages, when the write engine has completed a message: all
//               that it says can be read by the host. There is room for it from the time of its
//               credit, so write_done_ready is always high, and a host that sleeps holds up no
//               one's memory.
// Isolation     The stream comes out of an axis_fifo; `entering` tells of each beat that is taken
//               into it. With ISOLATE a message's beats are held back until all beats of their
//               burst (an aligned block of BURST_BEATS beats of memory, or the rest of the message)
//               have entered, and the address of a burst may leave (address_open) when its beats
//               have, at most one burst ahead of them: a slow or dead publisher never holds up
//               others that share the memory. `address_*` and `burst_taken` tell what leaves.
// Latency       0 cycles for beats, with ISOLATE from the time when their burst has entered.
//               ARRIVED follows the engine's completion by 1 cycle.
// Throughput    1 beat per cycle; a dropped message takes its beats.
// Back-pressure s_axis_tready waits for a credit only with `reliable`; otherwise it follows
//               m_axis_tready. Nothing here depends on messages down.
// Ordering      Messages, credits, reports: first in, first out.
// Reset         No credit, no message in progress, counts zero; stream, FIFO and write engine
//               restart with it.
// Counts        count_messages: ARRIVED. count_damaged: those with a status. count_no_credit,
//               count_own: messages dropped. count_refused: credits and words dropped.
//               count_waiting: cycles in which a message waited for a credit. They wrap.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to 64. PUBLISHER_ID:
//               of the gateway. CREDITS: a power of two, 2 to 16: credits, messages on their way
//               and reports that wait, all together. BURST_BEATS: as the write engine's. ISOLATE: 0
//               or 1. COUNT_WIDTH: 16 to 64.
`default_nettype none

module gateway_up #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned PUBLISHER_ID = 1,
  parameter int unsigned CREDITS = 4,
  parameter int unsigned BURST_BEATS = 16,
  parameter bit          ISOLATE = 1'b1,
  parameter int unsigned COUNT_WIDTH = 32
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire                      reliable,
  input  wire  [127:0]             credit_word,
  input  wire                      credit_valid,
  output logic                     credit_ready,
  output logic [127:0]             arrived_word,
  output logic                     arrived_valid,
  input  wire                      arrived_ready,
  input  wire                      entering,
  input  wire                      entering_last,
  input  wire  [WIDTH-1:0]         s_axis_tdata,
  input  wire  [WIDTH/8-1:0]       s_axis_tkeep,
  input  wire                      s_axis_tlast,
  input  wire                      s_axis_tuser,
  input  wire                      s_axis_tvalid,
  output logic                     s_axis_tready,
  output logic [WIDTH-1:0]         m_axis_tdata,
  output logic [WIDTH/8-1:0]       m_axis_tkeep,
  output logic                     m_axis_tlast,
  output logic                     m_axis_tuser,
  output logic                     m_axis_tvalid,
  input  wire                      m_axis_tready,
  output logic [ADDRESS_WIDTH-1:6] desc_address,
  output logic [31:0]              desc_capacity,
  output logic                     desc_valid,
  input  wire                      desc_ready,
  input  wire                      address_valid,
  input  wire                      address_ready,
  output logic                     address_open,
  input  wire                      burst_taken,
  input  wire  [31:0]              write_done_bytes,
  input  wire  [2:0]               write_done_status,
  input  wire                      write_done_valid,
  output logic                     write_done_ready,
  output logic [COUNT_WIDTH-1:0]   count_messages,
  output logic [COUNT_WIDTH-1:0]   count_damaged,
  output logic [COUNT_WIDTH-1:0]   count_no_credit,
  output logic [COUNT_WIDTH-1:0]   count_own,
  output logic [COUNT_WIDTH-1:0]   count_refused,
  output logic [COUNT_WIDTH-1:0]   count_waiting
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (ADDRESS_WIDTH < 13 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 13 to 64");
  end
  if (PUBLISHER_ID > 65535) begin : g_bad_publisher
    $fatal(1, "%m: PUBLISHER_ID is at most 65535");
  end
  if (CREDITS < 2 || CREDITS > 16 || (CREDITS & (CREDITS - 1)) != 0) begin : g_bad_credits
    $fatal(1, "%m: CREDITS is a power of two from 2 to 16");
  end
  if (BURST_BEATS < 2 || BURST_BEATS > 64 || (BURST_BEATS & (BURST_BEATS - 1)) != 0)
  begin : g_bad_burst
    $fatal(1, "%m: BURST_BEATS is a power of two from 2 to 64");
  end
  if (COUNT_WIDTH < 16 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 16 to 64");
  end

  localparam int unsigned LogBytes = $clog2(WIDTH / 8);
  localparam int unsigned LogBurst = $clog2(BURST_BEATS);
  localparam int unsigned LogCredits = $clog2(CREDITS);

  // Credits: a ring in which each is posted, taken by a message, completed and reported -----------

  logic [16+32+ADDRESS_WIDTH-7:0] credits [CREDITS];     // {tag, capacity, address}
  logic [15:0]                    publishers [CREDITS];
  logic [31:0]                    sequences [CREDITS];
  logic [34:0]                    results [CREDITS];     // {status, bytes}
  logic [LogCredits:0]            posted;  // modular counts
  logic [LogCredits:0]            used;
  logic [LogCredits:0]            completed;
  logic [LogCredits:0]            reported;

  wire [LogCredits:0]   in_ring = posted - reported;
  wire                  has_credit = (used != posted);
  wire [LogCredits-1:0] use_place = used[LogCredits-1:0];

  wire [31:0] capacity = credit_word[63:32];
  wire [63:0] address = credit_word[127:64];
  wire [64:0] beyond = {1'b0, address} + 65'(capacity);
  wire        good = credit_word[7:0] == gateway_words::CREDIT && address[5:0] == '0
      && address >> ADDRESS_WIDTH == '0 && (beyond >> ADDRESS_WIDTH == '0
      || beyond == 65'd1 << ADDRESS_WIDTH);
  wire        post = credit_valid && credit_ready && good;

  assign credit_ready = !in_ring[LogCredits] || !good;

  always_ff @(posedge clk)
    if (post) credits[posted[LogCredits-1:0]] <=
        {credit_word[31:16], capacity, address[ADDRESS_WIDTH-1:6]};

  // Messages -------------------------------------------------------------------------------------

  logic passing;   // the message in progress has a credit
  logic dropping;  // its beats are taken and gone
  logic gate;      // the next beat's burst has entered the FIFO

  wire between = !passing && !dropping;
  wire own = (s_axis_tdata[31:16] == 16'(PUBLISHER_ID));
  wire passes = passing || (between && !own && has_credit);
  wire drops = dropping || (between && (own || (!has_credit && !reliable)));
  wire begins = desc_valid && desc_ready;
  wire taken = s_axis_tvalid && s_axis_tready;

  wire [15:0] unused_tag;  // it is for the report
  assign {unused_tag, desc_capacity, desc_address} = credits[use_place];
  assign desc_valid = between && m_axis_tvalid;
  assign m_axis_tvalid = s_axis_tvalid && passes && gate;
  assign s_axis_tready = drops || (m_axis_tready && passes && gate);
  assign m_axis_tdata = s_axis_tdata;
  assign m_axis_tkeep = s_axis_tkeep;
  assign m_axis_tlast = s_axis_tlast;
  assign m_axis_tuser = s_axis_tuser;

  always_ff @(posedge clk) begin
    if (begins) passing <= 1'b1;
    if (s_axis_tvalid && between && drops) dropping <= 1'b1;
    if (taken && s_axis_tlast) begin
      passing <= 1'b0;
      dropping <= 1'b0;
    end
    if (rst) begin
      passing <= 1'b0;
      dropping <= 1'b0;
    end
  end

  // Whole bursts ---------------------------------------------------------------------------------

  if (ISOLATE) begin : g_isolate
    // Beats and ends of messages in the FIFO, whose depth is at most 2^20 and a little more.
    logic [20:0]         level;
    logic [20:0]         ends;
    logic [LogBurst-1:0] place;   // of the next beat in its block
    logic                begun;  // its burst has begun

    wire [LogBurst-1:0] first = LogBurst'({desc_address, 6'd0} >> LogBytes);
    wire [LogBurst-1:0] place_now = passing ? place : first;

    // Addresses that have left, less bursts whose data has. Where there is no memif_share behind,
    // data may leave before its address.
    logic signed [2:0]   ahead;
    logic                shown;  // an offer stands
    wire                 next_entered = ends != '0
        || level + 21'(place_now) >= 21'(2 * BURST_BEATS);

    assign address_open = shown || !passing || ahead < 0 || (ahead == 0 && gate)
        || (ahead == 1 && next_entered);

    assign gate = begun || ends != '0 || level >= 21'(BURST_BEATS);

    always_ff @(posedge clk) begin
      level <= level + 21'(entering) - 21'(taken);
      ends <= ends + 21'(entering && entering_last) - 21'(taken && s_axis_tlast);
      if (begins || taken) place <= place_now + LogBurst'(taken);
      if (m_axis_tvalid) begun <= 1'b1;
      if (taken && (s_axis_tlast || (&place_now))) begun <= 1'b0;
      ahead <= ahead + 3'(address_valid && address_open && address_ready) - 3'(burst_taken);
      shown <= address_valid && address_open && !address_ready;
      if (rst) begin
        level <= '0;
        ends <= '0;
        begun <= 1'b0;
        ahead <= '0;
        shown <= 1'b0;
      end
    end
  end else begin : g_cut_through
    assign gate = 1'b1;
    assign address_open = 1'b1;
    wire unused = &{1'b0, entering, entering_last, address_valid, address_ready, burst_taken};
  end

  // Reports --------------------------------------------------------------------------------------

  wire [LogCredits-1:0] complete_place = completed[LogCredits-1:0];
  wire [LogCredits-1:0] report_place = reported[LogCredits-1:0];
  wire                  complete = write_done_valid && write_done_ready;
  wire                  report = arrived_valid && arrived_ready;

  if (WIDTH == 64) begin : g_sequence_behind
    // It comes with the message's second beat.
    logic [1:0]            seen;  // beats of the message that have been taken, at most 2
    logic [LogCredits-1:0] place;
    always_ff @(posedge clk) begin
      if (begins) sequences[use_place] <= '0;
      else if (passing && taken && seen == 2'd1) sequences[place] <= s_axis_tdata[31:0];
      if (begins) place <= use_place;
      if (taken) seen <= s_axis_tlast ? '0 : {seen[0] | seen[1], !seen[0] & !seen[1]};
      if (rst) seen <= '0;
    end
  end else begin : g_sequence_in_front
    always_ff @(posedge clk)
      if (begins) sequences[use_place] <= s_axis_tdata[WIDTH > 64 ? 95 : 63 -: 32];
  end

  assign write_done_ready = 1'b1;
  assign arrived_valid = (reported != completed);
  assign arrived_word = {sequences[report_place], 16'd0, publishers[report_place],
      results[report_place][31:0], credits[report_place][ADDRESS_WIDTH+26 +: 16],
      5'd0, results[report_place][34:32], gateway_words::ARRIVED};

  always_ff @(posedge clk) begin
    if (begins) publishers[use_place] <= s_axis_tdata[31:16];
    if (complete) results[complete_place] <= {write_done_status, write_done_bytes};
  end

  always_ff @(posedge clk) begin
    if (post) posted <= posted + 1'b1;
    if (begins) used <= used + 1'b1;
    if (complete) completed <= completed + 1'b1;
    if (report) reported <= reported + 1'b1;
    if (rst) begin
      posted <= '0;
      used <= '0;
      completed <= '0;
      reported <= '0;
    end
  end

  // Counts ---------------------------------------------------------------------------------------

  wire drop_begins = s_axis_tvalid && between && drops;

  always_ff @(posedge clk) begin
    if (report) count_messages <= count_messages + 1'b1;
    if (complete && write_done_status != '0) count_damaged <= count_damaged + 1'b1;
    if (drop_begins && own) count_own <= count_own + 1'b1;
    if (drop_begins && !own) count_no_credit <= count_no_credit + 1'b1;
    if (credit_valid && !good) count_refused <= count_refused + 1'b1;
    if (s_axis_tvalid && between && !drops && !has_credit) count_waiting <= count_waiting + 1'b1;
    if (rst) begin
      count_messages <= '0;
      count_damaged <= '0;
      count_own <= '0;
      count_no_credit <= '0;
      count_refused <= '0;
      count_waiting <= '0;
    end
  end

  wire unused_bits = &{1'b0, unused_tag, credit_word[15:8]};

`ifdef FORMAL
  `include "gateway_up_formal.svh"
`endif

endmodule

`default_nettype wire
