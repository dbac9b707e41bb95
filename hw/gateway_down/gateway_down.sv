// Gateway down: takes the host's words apart, message by message, for read engine and header.
//
// Function      A message is MESSAGE, STAMP and as many SEGMENTs as MESSAGE says, see
//               gateway_words. Each segment becomes a descriptor of the read engine, each message
//               one header for axis_header; words of later messages are taken while earlier ones
//               are on their way. A segment has 1 byte or more, begins at a multiple of 8 in this
//               address space, and before the last one of a message it is a multiple of 8 bytes
//               long. When a segment is not so, or a word comes that is no segment, the message
//               ends before it; when the segments hold more than MESSAGE says, it ends where
//               MESSAGE says; when they hold less, with them. In each of these cases its frame is
//               damaged, and so is its SENT. Segments behind such an end are taken and have no
//               effect. A message over MAX_BYTES is refused: SENT says so, nothing is read or sent.
// SENT          In the order of the messages, when the read engine has read a message's last byte;
//               with no byte to read, when its last word has been taken.
// Header        On offer from when the message's first segment has been taken (without one: all its
//               words) until header_ready; header_damaged stands when the last descriptor is on
//               offer.
// Latency       2 cycles from a message's last segment to its descriptor; another segment waits in
//               addition for the word behind it, which may be the end of the message.
// Throughput    A word per cycle, while the read engine takes descriptors.
// Back-pressure command_ready is low while MESSAGES messages are under way: taken, and not both
//               sent and reported. Nothing here depends on messages up.
// Ordering      First in, first out.
// Reset         No message under way, counts zero; read engine and header restart with it.
// Counts        count_messages: headers taken. count_damaged: those of them with header_damaged,
//               and messages with an error from memory. count_refused: words without effect out of
//               order, and messages over MAX_BYTES. They wrap.
// Parameters    ADDRESS_WIDTH: 13 to 64. PUBLISHER_ID: in all headers. MAX_BYTES: bound of the
//               payload, 1 to 2^32 - 64. MESSAGES: a power of two, 2 to 16. COUNT_WIDTH: 16 to 64.
`default_nettype none

module gateway_down #(
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned PUBLISHER_ID = 1,
  parameter int unsigned MAX_BYTES = 1 << 20,
  parameter int unsigned MESSAGES = 4,
  parameter int unsigned COUNT_WIDTH = 32
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [127:0]             command_word,
  input  wire                      command_valid,
  output logic                     command_ready,
  output logic [127:0]             sent_word,
  output logic                     sent_valid,
  input  wire                      sent_ready,
  output logic [ADDRESS_WIDTH-1:3] desc_address,
  output logic [31:0]              desc_bytes,
  output logic                     desc_last,
  output logic                     desc_valid,
  input  wire                      desc_ready,
  input  wire                      done_error,
  input  wire                      done_valid,
  output logic                     done_ready,
  output logic [191:0]             header,
  output logic                     header_empty,
  output logic                     header_damaged,
  output logic                     header_valid,
  input  wire                      header_ready,
  output logic [COUNT_WIDTH-1:0]   count_messages,
  output logic [COUNT_WIDTH-1:0]   count_damaged,
  output logic [COUNT_WIDTH-1:0]   count_refused
);

  if (ADDRESS_WIDTH < 13 || ADDRESS_WIDTH > 64) begin : g_bad_address_width
    $fatal(1, "%m: ADDRESS_WIDTH is 13 to 64");
  end
  if (PUBLISHER_ID > 65535) begin : g_bad_publisher
    $fatal(1, "%m: PUBLISHER_ID is at most 65535");
  end
  if (MAX_BYTES < 1 || MAX_BYTES > 32'hffff_ffc0) begin : g_bad_max_bytes
    $fatal(1, "%m: MAX_BYTES is 1 to 2^32 - 64");
  end
  if (MESSAGES < 2 || MESSAGES > 16 || (MESSAGES & (MESSAGES - 1)) != 0) begin : g_bad_messages
    $fatal(1, "%m: MESSAGES is a power of two from 2 to 16");
  end
  if (COUNT_WIDTH < 16 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 16 to 64");
  end

  localparam int unsigned LogMessages = $clog2(MESSAGES);

  // Messages: a ring in which each is accepted, its header taken, and reported -------------------

  logic [143:0]         heads [MESSAGES];  // {stamp, sequence, payload bytes, tag}
  logic [MESSAGES-1:0]  read;     // it has a segment at the read engine, or on the way there
  logic [MESSAGES-1:0]  closed;   // its last word has been taken
  logic [MESSAGES-1:0]  damaged;
  logic [MESSAGES-1:0]  refused;
  logic [LogMessages:0] accepted;  // modular counts
  logic [LogMessages:0] headed;
  logic [LogMessages:0] reported;

  wire [LogMessages:0]   to_head = accepted - headed;
  wire [LogMessages:0]   to_report = accepted - reported;
  wire                   room = !to_head[LogMessages] && !to_report[LogMessages];
  wire [LogMessages-1:0] newest = accepted[LogMessages-1:0] - 1'b1;

  // Words ----------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    Idle,    // MESSAGE is awaited
    Begun,   // STAMP
    Gather,  // segments
    Skip     // segments that have no effect
  } step_t;

  step_t        step;
  logic [79:0]  head;  // {sequence, payload bytes, tag}
  logic [7:0]   todo;  // segments to come
  logic [31:0]  left;  // bytes of the payload that they should hold

  wire [7:0]  kind = command_word[7:0];
  wire [31:0] bytes = command_word[63:32];
  wire [63:0] address = command_word[127:64];
  wire        is_message = command_valid && kind == gateway_words::MESSAGE;
  wire        is_stamp = command_valid && kind == gateway_words::STAMP;
  wire        is_segment = command_valid && kind == gateway_words::SEGMENT;

  // The first address behind the segment, one bit more.
  wire [64:0] beyond = {1'b0, address} + 65'(bytes);
  wire        in_space = (beyond - 1'b1) >> ADDRESS_WIDTH == '0;
  wire        ends = bytes >= left || todo == 8'd1;
  wire        good = bytes != '0 && left != '0 && in_space && address[2:0] == '0
      && (ends || bytes[2:0] == '0);

  // A segment waits here until it is known whether the message goes on behind it.
  logic                     held;
  logic                     held_last;
  logic [ADDRESS_WIDTH-1:3] held_address;
  logic [31:0]              held_bytes;

  wire offers = !desc_valid || desc_ready;
  wire gathers = (step == Gather) && todo != '0;
  wire load = gathers && is_segment && good && (!held || offers);
  wire move = held && offers && (held_last || load);
  // The message ends with what has been loaded.
  wire cuts = gathers && command_valid && !(is_segment && good);
  wire close_empty = (step == Gather) && todo == '0;
  wire close = (load && ends) || cuts || close_empty;
  wire accept = (step == Begun) && is_stamp && room;
  wire too_long = head[47:16] > MAX_BYTES;

  always_comb
    case (step)
      Idle: command_ready = 1'b1;
      Begun: command_ready = is_stamp && room;
      Gather: command_ready = load || (cuts && is_segment);
      Skip: command_ready = is_segment && todo != '0;
    endcase

  wire take = command_valid && command_ready;
  wire out_of_order = (step == Idle && command_valid && !is_message)
      || (step == Begun && command_valid && !is_stamp);

  always_ff @(posedge clk) begin
    case (step)
      Idle: if (is_message) step <= Begun;
      Begun:
        if (accept) step <= too_long ? Skip : Gather;
        else if (command_valid && !is_stamp) step <= Idle;
      Gather: if (close) step <= Skip;
      Skip: if (todo == '0 || (command_valid && !is_segment)) step <= Idle;
    endcase
    if (step == Idle && is_message) begin
      head <= {command_word[95:64], bytes, command_word[31:16]};
      todo <= command_word[15:8];
      left <= bytes;
    end else if (take && is_segment) begin
      todo <= todo - 1'b1;
      left <= left - bytes;
    end
    if (rst) step <= Idle;
  end

  always_ff @(posedge clk) begin
    if (load) begin
      held_address <= address[ADDRESS_WIDTH-1:3];
      held_bytes <= (bytes >= left) ? left : bytes;
      held_last <= ends;
    end else if (cuts) begin
      held_last <= 1'b1;
    end
    if (load) held <= 1'b1;
    else if (move) held <= 1'b0;
    if (move) begin
      desc_address <= held_address;
      desc_bytes <= held_bytes;
      desc_last <= held_last;
    end
    if (move) desc_valid <= 1'b1;
    else if (desc_ready) desc_valid <= 1'b0;
    if (rst) begin
      held <= 1'b0;
      desc_valid <= 1'b0;
    end
  end

  // Ring -----------------------------------------------------------------------------------------

  wire [LogMessages-1:0] head_place = headed[LogMessages-1:0];
  wire [LogMessages-1:0] report_place = reported[LogMessages-1:0];
  wire                   passes = to_head != '0 && refused[head_place];
  wire                   leaves = (header_valid && header_ready) || passes;

  always_ff @(posedge clk)
    if (accept) heads[accepted[LogMessages-1:0]] <= {command_word[127:64], head};

  always_ff @(posedge clk) begin
    if (accept) begin
      accepted <= accepted + 1'b1;
      read[accepted[LogMessages-1:0]] <= 1'b0;
      closed[accepted[LogMessages-1:0]] <= too_long;
      damaged[accepted[LogMessages-1:0]] <= 1'b0;
      refused[accepted[LogMessages-1:0]] <= too_long;
    end
    if (load) read[newest] <= 1'b1;
    if (close) begin
      closed[newest] <= 1'b1;
      damaged[newest] <= cuts || (close_empty ? left != '0 : (bytes != left || todo != 8'd1));
    end
    if (leaves) headed <= headed + 1'b1;
    if (rst) begin
      accepted <= '0;
      headed <= '0;
    end
  end

  // Header ---------------------------------------------------------------------------------------

  wire [143:0] shown = heads[head_place];
  assign header = {shown[143:80], 32'd0, shown[79:48], shown[47:16], 16'(PUBLISHER_ID), 8'd0, 8'd1};
  assign header_empty = !read[head_place];
  assign header_damaged = damaged[head_place];
  assign header_valid = to_head != '0
      && (read[head_place] || (closed[head_place] && !refused[head_place]));

  // Reports --------------------------------------------------------------------------------------

  wire        complete = to_report != '0 && closed[report_place]
      && (!read[report_place] || done_valid);
  wire        report = complete && (!sent_valid || sent_ready);
  wire        report_error = read[report_place] && done_error;
  wire [3:0]  status = {refused[report_place], report_error, damaged[report_place], 1'b0};

  assign done_ready = report && read[report_place];

  always_ff @(posedge clk) begin
    if (report) begin
      reported <= reported + 1'b1;
      sent_word <= {96'd0, heads[report_place][15:0], 4'd0, status, gateway_words::SENT};
    end
    if (report) sent_valid <= 1'b1;
    else if (sent_ready) sent_valid <= 1'b0;
    if (rst) begin
      reported <= '0;
      sent_valid <= 1'b0;
    end
  end

  // Counts ---------------------------------------------------------------------------------------

  always_ff @(posedge clk) begin
    if (header_valid && header_ready) count_messages <= count_messages + 1'b1;
    if (report && (report_error || damaged[report_place])) count_damaged <= count_damaged + 1'b1;
    count_refused <= count_refused + COUNT_WIDTH'(out_of_order)
        + COUNT_WIDTH'(report && refused[report_place]);
    if (rst) begin
      count_messages <= '0;
      count_damaged <= '0;
      count_refused <= '0;
    end
  end

  wire unused = &{1'b0, shown};

`ifdef FORMAL
  `include "gateway_down_formal.svh"
`endif

endmodule

`default_nettype wire
