// Picture shell: all that a node which makes a picture of a picture needs between the adapters of
// its messages and its kernel.
//
// Function      Takes the fields of an image message from a generated take adapter, has
//               picture_check look at them, feeds the picture's bytes to the kernel, and offers the
//               message that the kernel's bytes belong to: the header of the message that came
//               (stamp, frame), its size, and the node's own sequence, from 0. A node whose picture
//               has another size or encoding gives its own values to the publish adapter.
// Refused       What picture_check refuses, and what is no message (`s_failed`). It is taken to its
//               end at the pace of all others and counted by a cycle of `dropped`. `refused` has
//               the fault that picture_check found in that cycle, and is 0 in all others.
// Streaming     STREAMS 1: for kernels that give their first bytes while a picture comes. Nothing
//               is fed before picture_check has settled, and not before the message before is out.
//               `start` begins a picture, with its fields and its k_kind (see picture_check). If
//               its message turns out to be wrong, `cut` is high for a cycle at least: the kernel
//               has to end the picture on its own. Its last beat waits for the end of the message
//               that came. `m_damaged` says that the message must be marked, and it uses up no
//               sequence number.
// Storing       STREAMS 0: for kernels that give nothing before `k_last`. A picture is fed while
//               the one before leaves. What turns out to be wrong leaves the kernel, and is gone.
//               `start`, `cut` and `m_damaged` stay low.
// Empty         A picture without bytes never reaches the kernel; its message is published.
// Publishing    `m_valid` rises when the first bytes are there, so that no gap is behind it, and
//               stands until `m_ready`. The kernel's bytes go to the publish adapter directly:
//               `m_given` is their valid, `m_wanted` the adapter's ready.
// Latency       None for bytes. Fields wait for picture_check.
// Throughput    1 beat per cycle in both directions.
// Back-pressure s_data_ready depends on k_ready, k_taken on m_wanted, in the same cycle.
// Ordering      First in, first out.
// Busy          High from a beat that comes (`passes`) to 63 cycles after the last thing to do. Low
//               while a message stops half way. 63 cycles: behind a beat a message takes the walk
//               over two words (at most 16 operations), the bits of step * height, and the stages
//               of the kernel, which may be 20.
// Reset         Nothing taken, nothing published, sequence 0.
// Parameters    IN_BYTES: of a beat that comes, 8 to 64. STREAMS: 0 or 1. CHANNELS, MAX_BYTES,
//               MAX_WIDTH, WIDTH, HEIGHT, SIDE_MIN, SIDE_MAX: see picture_check. FRAME_BYTES:
//               bound of header.frame_id, 1 to 4096.
`default_nettype none

module picture_shell #(
  parameter int unsigned IN_BYTES = 8,
  parameter int unsigned STREAMS = 1,
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned MAX_WIDTH = MAX_BYTES,
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0,
  parameter int unsigned SIDE_MIN = 0,
  parameter int unsigned SIDE_MAX = 0,
  parameter int unsigned FRAME_BYTES = 64
) (
  input  wire                     clk,
  input  wire                     rst,
  input  wire                     passes,
  // The message that comes: its end, its fields, its data.
  input  wire                     s_valid,
  output logic                    s_ready,
  input  wire                     s_failed,
  input  wire  [63:0]             s_stamp,
  input  wire  [31:0]             s_sec,
  input  wire  [31:0]             s_nanosec,
  input  wire  [31:0]             s_frame_length,
  input  wire  [FRAME_BYTES*8-1:0] s_frame,
  input  wire  [31:0]             s_height,
  input  wire  [31:0]             s_width,
  input  wire  [31:0]             s_encoding_length,
  input  wire  [39:0]             s_encoding,
  input  wire  [31:0]             s_step,
  input  wire  [31:0]             s_length,
  input  wire  [IN_BYTES-1:0]     s_data_keep,
  input  wire                     s_data_last,
  input  wire                     s_data_user,
  input  wire                     s_data_valid,
  output logic                    s_data_ready,
  // Its bytes into the kernel, which takes s_data itself.
  output logic                    start,
  output logic [1:0]              k_kind,
  output logic                    cut,
  output logic [$clog2(IN_BYTES):0] k_bytes,
  output logic                    k_last,
  output logic                    k_valid,
  input  wire                     k_ready,
  // What the kernel makes of them.
  input  wire                     k_made_last,
  input  wire                     k_made_valid,
  output logic                    k_taken,
  // The message that leaves.
  output logic                    m_valid,
  input  wire                     m_ready,
  output logic                    m_damaged,
  output logic [31:0]             m_sequence,
  output logic [63:0]             m_stamp,
  output logic [31:0]             m_sec,
  output logic [31:0]             m_nanosec,
  output logic [31:0]             m_frame_length,
  output logic [FRAME_BYTES*8-1:0] m_frame,
  output logic [1:0]              m_kind,
  output logic [31:0]             m_height,
  output logic [31:0]             m_width,
  output logic [31:0]             m_step,
  output logic [31:0]             m_length,
  output logic                    m_given,
  input  wire                     m_wanted,
  output logic                    dropped,
  output logic [2:0]              refused,
  output logic                    busy
);

  if (STREAMS > 1) begin : g_bad_streams
    $fatal(1, "%m: STREAMS is 0 or 1");
  end
  if (FRAME_BYTES < 1 || FRAME_BYTES > 4096) begin : g_bad_frame
    $fatal(1, "%m: FRAME_BYTES is 1 to 4096");
  end

  localparam int unsigned Bits = $clog2(MAX_BYTES + 1);
  localparam int unsigned Frame = $clog2(FRAME_BYTES + 1);

  // Whether it is a picture ----------------------------------------------------------------------

  // Data are the last field: with the first of them, or without any at the end, all others stand.
  wire looks = s_data_valid || s_valid;
  wire fits;
  wire looked;
  wire settled;
  wire [2:0] fault;
  wire good = (fault == '0);
  wire ends = (s_valid && s_ready) || s_failed;

  picture_check #(
    .CHANNELS(CHANNELS),
    .MAX_BYTES(MAX_BYTES),
    .MAX_WIDTH(MAX_WIDTH),
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT),
    .SIDE_MIN(SIDE_MIN),
    .SIDE_MAX(SIDE_MAX)
  ) u_check (
    .clk,
    .rst,
    .look(looks),
    .next(ends),
    .encoding_length(s_encoding_length),
    .encoding(s_encoding),
    .height(s_height),
    .width(s_width),
    .step(s_step),
    .length(s_length),
    .fits,
    .kind(k_kind),
    .looked,
    .settled,
    .fault
  );

  // Into the kernel, and out of it ---------------------------------------------------------------

  logic held;      // a message is being published
  logic feeds;     // data of the message that comes go into the kernel
  logic doomed;    // what the kernel makes must not be taken by anybody
  logic begins;    // the message is held from now on
  logic waits;     // something is to be done without any more input
  wire  published = m_valid && m_ready;

  if (STREAMS == 1) begin : g_streams
    wire is_empty = (s_length == '0);

    assign s_ready = settled && (!good || feeds || (is_empty && !held));
    assign begins = settled && good && !held
        && (is_empty ? s_valid : s_data_valid && !s_data_user);
    assign start = begins && !is_empty;
    // The frame ended before its data, or behind them with something wrong.
    assign cut = feeds && (s_failed || (s_data_valid && s_data_user));
    assign s_data_ready = settled && (!good || s_data_user || (feeds && k_ready));
    assign k_valid = s_data_valid && feeds && !s_data_user;
    // Nobody may see the end of a message before it is known whether it is one.
    assign m_given = k_made_valid && !(k_made_last && feeds);
    assign k_taken = m_wanted && m_given;
    assign m_damaged = doomed;
    assign waits = held && (m_given || !feeds);

    always_ff @(posedge clk) begin
      if (begins) begin
        feeds <= !is_empty;
        doomed <= 1'b0;
      end
      if (feeds && ends) begin
        feeds <= 1'b0;
        doomed <= s_failed;
      end
      if (rst) begin
        feeds <= 1'b0;
        doomed <= 1'b0;
      end
    end

    wire unused = &{1'b0, fits, looked};
  end else begin : g_stores
    // Nothing is fed until what must not be published has left the kernel.
    wire drains = doomed && !held;

    assign s_ready = settled && (!good || (!held && !doomed));
    assign begins = s_valid && s_ready && good;
    assign start = 1'b0;
    assign cut = 1'b0;
    assign s_data_ready = looked && (!feeds || (!doomed && k_ready));
    assign k_valid = s_data_valid && feeds && !doomed;
    assign m_given = k_made_valid && !drains;
    assign k_taken = drains || m_wanted;
    assign m_damaged = 1'b0;
    assign waits = held || doomed;

    always_ff @(posedge clk) begin
      if (looks && !looked) feeds <= fits && s_data_valid;
      if (drains && k_made_valid && k_made_last) doomed <= 1'b0;
      if (feeds && (s_failed || (s_valid && settled && !good))) doomed <= 1'b1;
      if (rst || ends) feeds <= 1'b0;
      if (rst) doomed <= 1'b0;
    end

    wire unused = &{1'b0, s_data_user};
  end

  assign k_last = s_data_last;
  always_comb begin
    k_bytes = '0;
    for (int unsigned i = 0; i < IN_BYTES; i++)
      if (s_data_keep[i]) k_bytes = ($clog2(IN_BYTES)+1)'(i + 1);
  end

  // The message that leaves ----------------------------------------------------------------------

  logic [Frame-1:0] held_frame_length;
  logic [Bits-1:0]  held_length;
  logic             begun;

  assign m_frame_length = 32'(held_frame_length);
  assign m_length = 32'(held_length);
  // It begins when its first pixels are there.
  assign m_valid = held && (begun || k_made_valid || held_length == '0);

  always_ff @(posedge clk) begin
    dropped <= !rst && ends && (s_failed || !good);
    refused <= (!rst && ends && !s_failed) ? fault : '0;
    begun <= m_valid && !m_ready;
    if (begins) begin
      held <= 1'b1;
      m_stamp <= s_stamp;
      m_sec <= s_sec;
      m_nanosec <= s_nanosec;
      held_frame_length <= s_frame_length[Frame-1:0];
      m_frame <= s_frame;
      m_kind <= k_kind;
      m_height <= s_height;
      m_width <= s_width;
      m_step <= s_step;
      held_length <= s_length[Bits-1:0];
    end else if (published) begin
      held <= 1'b0;
      if (!m_damaged) m_sequence <= m_sequence + 1'b1;
    end
    if (rst) begin
      held <= 1'b0;
      begun <= 1'b0;
      m_sequence <= '0;
    end
  end

  // The clock ------------------------------------------------------------------------------------

  localparam logic [5:0] Lately = '1;
  logic [5:0] lately;

  assign busy = s_valid || s_data_valid || lately != '0;

  always_ff @(posedge clk) begin
    if (rst) lately <= '0;
    else if (waits || passes) lately <= Lately;
    else if (lately != '0) lately <= lately - 1'b1;
  end

  // The adapter has refused longer names.
  wire unused_of_frame = &{1'b0, s_frame_length};

`ifdef FORMAL
  `include "picture_shell_formal.svh"
`endif

endmodule

`default_nettype wire
