// Node shell: what stands between the topics and the hardware kernel of a node, `kernel` below. The
// kernel sees payloads only; headers, lengths, faults and the host are the shell's.
//
// Function      A message on s_axis triggers the node: its header is taken off, its payload goes to
//               kernel_in, and what the kernel gives at kernel_out goes out on m_axis behind a
//               header of its own: PUBLISHER_ID, a sequence of the shell, the stamp of the input.
//               Every message ends with one tlast in both directions of the kernel; one without
//               payload is one beat with tkeep 0.
//               kernel_start is high for one cycle per message, not after its first beat at
//               kernel_in; kernel_bytes and kernel_stamp are that message's in that cycle.
//               kernel_output_bytes says how long the output will be; a function of kernel_bytes, it
//               has one cycle. It is known before the kernel has seen any payload, since the header
//               comes first; above MAX_OUTPUT_BYTES it counts as that.
// Modes         SEQUENTIAL 1: receive, compute, send, one after the other. Nothing goes out before
//               the whole message is in and kernel_done is high; nothing is taken before the output
//               has gone out. kernel_done is looked at from the cycle after the kernel's last input
//               beat; the kernel holds its output until it is taken.
//               SEQUENTIAL 0: dataflow, the three overlap as streams: up to IN_FLIGHT messages are
//               between their first and last beat here; kernel_done is not looked at. The last beat
//               of an output waits until its input has ended, which says whether it is damaged: a
//               kernel takes its input to the end whether or not its output is taken.
// Latest        LATEST non-triggering inputs l_axis, each behind an axis_fifo_last: what waits
//               there is the newest message. latest_waiting says that one waits; the kernel asks
//               for it by ready, gets the payload after 3 cycles, and reads it to its end. No
//               publisher waits for that, and no message triggers anything.
// Faults        An input that is shorter or longer than its header says, or marked by tuser,
//               reaches the kernel cut to its length with tuser; its output is marked too. One
//               above MAX_BYTES, or without a whole header, is discarded. Output that is longer
//               than the kernel said is cut, the rest discarded; a shorter one ends where it ends;
//               both are marked, and each is counted. No output is longer than its header says.
// Host          Registers of 64 bit, by number; reading gives the value 1 cycle later.
//                 0 SHAPE     r  bits 15:0 PUBLISHER_ID, 16 SEQUENTIAL, 23:20 LATEST
//                 1 CONTROL   rw bit 0: enable, 1 after reset; bit 1: drain. Without enable no new
//                                message is begun: it waits, and its topic with it; with drain it
//                                is taken and discarded. What has begun goes on to its end.
//                 2 STATUS    r  bit 0: idle, nothing is under way
//                 3 MESSAGES  r  published        4 BUSY r  cycles with a message under way
//                 5 SHORT     r  outputs too short    6 OVERLONG r  outputs too long
//                 7 DAMAGED   r  inputs damaged, or discarded for their length
//                 8 DRAINED   r  messages that were drained
// Latency       Payload: 0 cycles through the shell in both directions. The header of an output is
//               offered from the cycle after the input's header on (SEQUENTIAL: after kernel_done).
// Throughput    1 beat per cycle; an input message takes 3 + its payload's beats, an output message
//               the same. In dataflow the two overlap, and the next message follows without a gap,
//               if kernel_in goes through an axis_fifo of 4 (or the kernel holds 3 beats): there
//               the payload waits while the header of its output goes out.
// Back-pressure s_axis_tready follows kernel_in_tready, kernel_out_tready follows m_axis_tready in
//               the same cycle. No valid depends on a ready.
// Ordering      First in, first out.
// Reset         Nothing under way, enabled, sequence and counts zero.
// Parameters    64 bit streams; other widths by axis_width. PUBLISHER_ID: as the network says.
//               MAX_BYTES, MAX_OUTPUT_BYTES: 1 to 2^32 - 64. LATEST: 0 to 4 (one lane that is not
//               used with 0). IN_FLIGHT: 2 to 16, a power of two. COUNT_WIDTH: bits of a count,
//               which wraps, 16 to 64.
`default_nettype none

module node_shell #(
  parameter bit          SEQUENTIAL = 1'b0,
  parameter int unsigned PUBLISHER_ID = 1,
  parameter int unsigned MAX_BYTES = 1 << 20,
  parameter int unsigned MAX_OUTPUT_BYTES = 1 << 20,
  parameter int unsigned LATEST = 0,
  parameter int unsigned IN_FLIGHT = 4,
  parameter int unsigned COUNT_WIDTH = 32,
  localparam int unsigned Lanes = (LATEST == 0) ? 1 : LATEST
) (
  input  wire                clk,
  input  wire                rst,
  input  wire  [63:0]        s_axis_tdata,
  input  wire  [7:0]         s_axis_tkeep,
  input  wire                s_axis_tlast,
  input  wire                s_axis_tuser,
  input  wire                s_axis_tvalid,
  output logic               s_axis_tready,
  output logic [63:0]        m_axis_tdata,
  output logic [7:0]         m_axis_tkeep,
  output logic               m_axis_tlast,
  output logic               m_axis_tuser,
  output logic               m_axis_tvalid,
  input  wire                m_axis_tready,
  output logic               kernel_start,
  output logic [31:0]        kernel_bytes,
  output logic [63:0]        kernel_stamp,
  input  wire  [31:0]        kernel_output_bytes,
  input  wire                kernel_done,
  output logic [63:0]        kernel_in_tdata,
  output logic [7:0]         kernel_in_tkeep,
  output logic               kernel_in_tlast,
  output logic               kernel_in_tuser,
  output logic               kernel_in_tvalid,
  input  wire                kernel_in_tready,
  input  wire  [63:0]        kernel_out_tdata,
  input  wire  [7:0]         kernel_out_tkeep,
  input  wire                kernel_out_tlast,
  input  wire                kernel_out_tuser,
  input  wire                kernel_out_tvalid,
  output logic               kernel_out_tready,
  input  wire  [Lanes*64-1:0] l_axis_tdata,
  input  wire  [Lanes*8-1:0] l_axis_tkeep,
  input  wire  [Lanes-1:0]   l_axis_tlast,
  input  wire  [Lanes-1:0]   l_axis_tuser,
  input  wire  [Lanes-1:0]   l_axis_tvalid,
  output logic [Lanes-1:0]   l_axis_tready,
  output logic [Lanes-1:0]   latest_waiting,
  output logic [Lanes*64-1:0] latest_tdata,
  output logic [Lanes*8-1:0] latest_tkeep,
  output logic [Lanes-1:0]   latest_tlast,
  output logic [Lanes-1:0]   latest_tuser,
  output logic [Lanes-1:0]   latest_tvalid,
  input  wire  [Lanes-1:0]   latest_tready,
  input  wire  [3:0]         register_address,
  input  wire                register_write,
  input  wire  [63:0]        register_write_data,
  output logic [63:0]        register_read_data
);

  if (PUBLISHER_ID > 65535) begin : g_bad_publisher_id
    $fatal(1, "%m: PUBLISHER_ID has 16 bits");
  end
  if (MAX_BYTES < 1 || MAX_BYTES > 32'hffff_ffc0) begin : g_bad_max_bytes
    $fatal(1, "%m: MAX_BYTES is 1 to 2^32 - 64");
  end
  if (MAX_OUTPUT_BYTES < 1 || MAX_OUTPUT_BYTES > 32'hffff_ffc0) begin : g_bad_max_output_bytes
    $fatal(1, "%m: MAX_OUTPUT_BYTES is 1 to 2^32 - 64");
  end
  if (LATEST > 4) begin : g_bad_latest
    $fatal(1, "%m: LATEST is 0 to 4");
  end
  if (IN_FLIGHT < 2 || IN_FLIGHT > 16 || (IN_FLIGHT & (IN_FLIGHT - 1)) != 0) begin : g_bad_flight
    $fatal(1, "%m: IN_FLIGHT is a power of two from 2 to 16");
  end
  if (COUNT_WIDTH < 16 || COUNT_WIDTH > 64) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 16 to 64");
  end

  localparam int unsigned InWidth = $clog2(MAX_BYTES + 1);
  localparam int unsigned OutWidth = $clog2(MAX_OUTPUT_BYTES + 1);
  // Sequential has one message under way, and keeps it as the others do.
  localparam int unsigned Depth = SEQUENTIAL ? 2 : IN_FLIGHT;
  localparam int unsigned LogDepth = $clog2(Depth);

  // The bytes of a last beat that `rest` leaves, 0 for all.
  function automatic logic [7:0] kept(input logic [2:0] rest);
    for (int unsigned i = 0; i < 8; i++) kept[i] = (rest == 3'd0) || (i < 32'(rest));
  endfunction

  logic enable;
  logic drain;

  // Messages under way --------------------------------------------------------------------------

  logic [63:0]         flight_stamp [Depth];
  logic [OutWidth-1:0] flight_bytes [Depth];
  logic [Depth-1:0]    flight_ended;    // its input has ended
  logic [Depth-1:0]    flight_damaged;  // and was not what its header said
  logic [LogDepth:0]   wp;
  logic [LogDepth:0]   rp;

  wire [LogDepth:0]   under_way = wp - rp;
  wire                none_under_way = (under_way == '0);
  wire [LogDepth-1:0] newest = wp[LogDepth-1:0] - 1'b1;
  wire [LogDepth-1:0] oldest = rp[LogDepth-1:0];
  logic               room;

  // Input ---------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    InFirst, InSecond, InThird,  // beats of the header
    InPayload,
    InEmpty,   // the one beat of a message that has no payload
    InDiscard  // the rest of a message that is too long, or not wanted
  } in_state_t;
  in_state_t           in_state;
  logic [InWidth-1:0]  in_bytes;
  logic [InWidth-1:0]  in_left;   // bytes of payload to come, this beat's among them
  logic                in_marked; // the empty message is damaged
  logic                in_rest;   // and has not ended

  wire [31:0] header_bytes = s_axis_tdata[63:32];
  wire        over_bound = (header_bytes > MAX_BYTES);
  wire        in_taken = s_axis_tvalid && s_axis_tready;
  wire        in_at_end = (in_left <= InWidth'(8));
  wire [7:0]  in_allowed = kept(in_left[2:0]);
  wire        in_overlong = in_at_end && (!s_axis_tlast || |(s_axis_tkeep & ~in_allowed));
  wire        in_short = s_axis_tlast && (!in_at_end || s_axis_tkeep != in_allowed);
  wire        header_short = s_axis_tlast && (in_state != InThird || s_axis_tkeep != '1);
  wire        begins = in_taken && in_state == InThird && !header_short;
  wire        in_ends = kernel_in_tvalid && kernel_in_tready && kernel_in_tlast;
  wire        unwanted = in_taken
      && ((in_state == InFirst && enable && (over_bound || s_axis_tlast))
          || ((in_state == InSecond || in_state == InThird) && header_short));

  always_comb begin
    kernel_in_tdata = s_axis_tdata;
    kernel_in_tkeep = !in_at_end ? s_axis_tkeep
        : s_axis_tlast ? (s_axis_tkeep & in_allowed) : in_allowed;
    kernel_in_tlast = s_axis_tlast || in_at_end;
    kernel_in_tuser = (s_axis_tlast && s_axis_tuser) || in_short || in_overlong;
    kernel_in_tvalid = s_axis_tvalid && in_state == InPayload;
    if (in_state == InEmpty) begin
      kernel_in_tdata = '0;
      kernel_in_tkeep = '0;
      kernel_in_tlast = 1'b1;
      kernel_in_tuser = in_marked;
      kernel_in_tvalid = 1'b1;
    end
    case (in_state)
      InFirst: s_axis_tready = enable ? room : drain;
      InSecond, InThird, InDiscard: s_axis_tready = 1'b1;
      InPayload: s_axis_tready = kernel_in_tready;
      default: s_axis_tready = 1'b0;
    endcase
  end

  assign kernel_bytes = 32'(in_bytes);

  always_ff @(posedge clk) begin
    kernel_start <= begins;
    case (in_state)
      InFirst: if (in_taken) begin
        in_bytes <= InWidth'(header_bytes);
        in_state <= s_axis_tlast ? InFirst : (enable && !over_bound) ? InSecond : InDiscard;
      end
      InSecond: if (in_taken) in_state <= s_axis_tlast ? InFirst : InThird;
      InThird: if (in_taken) begin
        kernel_stamp <= s_axis_tdata;
        in_left <= in_bytes;
        in_state <= !begins ? InFirst : (s_axis_tlast || in_bytes == '0) ? InEmpty : InPayload;
        in_marked <= !s_axis_tlast || s_axis_tuser || in_bytes != '0;
        in_rest <= !s_axis_tlast;
      end
      InPayload: if (in_taken) begin
        in_left <= in_left - InWidth'(8);
        if (s_axis_tlast) in_state <= InFirst;
        else if (in_at_end) in_state <= InDiscard;
      end
      InEmpty: if (kernel_in_tready) in_state <= in_rest ? InDiscard : InFirst;
      default: if (in_taken && s_axis_tlast) in_state <= InFirst;
    endcase
    if (rst) begin
      in_state <= InFirst;
      kernel_start <= 1'b0;
    end
  end

  wire [OutWidth-1:0] output_bytes = (kernel_output_bytes > MAX_OUTPUT_BYTES)
      ? OutWidth'(MAX_OUTPUT_BYTES) : OutWidth'(kernel_output_bytes);

  always_ff @(posedge clk) begin
    if (begins) begin
      flight_stamp[wp[LogDepth-1:0]] <= s_axis_tdata;
      flight_bytes[wp[LogDepth-1:0]] <= output_bytes;
      flight_ended[wp[LogDepth-1:0]] <= 1'b0;
      wp <= wp + 1'b1;
    end
    if (in_ends) begin
      flight_ended[newest] <= 1'b1;
      flight_damaged[newest] <= kernel_in_tuser;
    end
    if (rst) wp <= '0;
  end

  // Output --------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    OutFirst, OutSecond, OutThird,
    OutPayload,
    OutDiscard  // the rest of what the kernel says too much
  } out_state_t;
  out_state_t          out_state;
  logic [OutWidth-1:0] out_left;  // bytes of payload to come, this beat's among them
  logic                out_none;  // there is no payload
  logic [31:0]         sequence_number;
  logic                sending;   // sequential: receiving and computing are over

  wire                may_send = !none_under_way && (!SEQUENTIAL || sending);
  wire [OutWidth-1:0] bytes = flight_bytes[oldest];
  // The kernel's beat is taken with this one; it comes with the header's last beat where there is
  // no payload.
  wire                out_empty = out_state == OutThird && out_none;
  wire                out_kernel = out_state == OutPayload || out_empty;
  wire                out_at_end =
      out_empty || (out_state == OutPayload && out_left <= OutWidth'(8));
  wire [7:0]          out_allowed = out_empty ? 8'd0 : kept(out_left[2:0]);
  wire                out_overlong =
      out_at_end && (!kernel_out_tlast || |(kernel_out_tkeep & ~out_allowed));
  wire                out_short =
      kernel_out_tlast && (!out_at_end || (~kernel_out_tkeep & out_allowed) != '0);
  wire                out_last = kernel_out_tlast || out_at_end;
  wire                out_ended = flight_ended[oldest];
  wire                out_taken = m_axis_tvalid && m_axis_tready;
  wire                published = out_taken && m_axis_tlast;
  assign room = SEQUENTIAL ? (none_under_way && out_state == OutFirst) : !under_way[LogDepth];

  always_comb begin
    m_axis_tkeep = '1;
    m_axis_tlast = 1'b0;
    m_axis_tuser = 1'b0;
    m_axis_tvalid = may_send;
    case (out_state)
      OutFirst: m_axis_tdata = {32'(bytes), 16'(PUBLISHER_ID), 16'h0001};
      OutSecond: m_axis_tdata = {32'd0, sequence_number};
      OutThird: m_axis_tdata = flight_stamp[oldest];
      default: m_axis_tdata = kernel_out_tdata;
    endcase
    if (out_kernel) begin
      m_axis_tvalid = kernel_out_tvalid && (!out_last || out_ended) && may_send;
      m_axis_tlast = out_last;
      m_axis_tuser = out_last && (out_overlong || out_short || flight_damaged[oldest]
          || (kernel_out_tlast && kernel_out_tuser));
    end
    if (out_state == OutPayload)
      m_axis_tkeep = !out_at_end ? kernel_out_tkeep
          : kernel_out_tlast ? (kernel_out_tkeep & out_allowed) : out_allowed;
    if (out_state == OutDiscard) m_axis_tvalid = 1'b0;
    kernel_out_tready = (out_state == OutDiscard)
        || (out_kernel && m_axis_tready && (!out_last || out_ended) && may_send);
  end

  always_ff @(posedge clk) begin
    case (out_state)
      OutFirst: if (out_taken) begin
        out_state <= OutSecond;
        out_left <= bytes;
        out_none <= (bytes == '0);
      end
      OutSecond: if (out_taken) out_state <= OutThird;
      OutDiscard: if (kernel_out_tvalid && kernel_out_tlast) out_state <= OutFirst;
      default: if (out_taken) begin
        if (out_state == OutPayload) out_left <= out_left - OutWidth'(8);
        if (!m_axis_tlast) out_state <= OutPayload;
        else out_state <= kernel_out_tlast ? OutFirst : OutDiscard;
      end
    endcase
    if (published) begin
      rp <= rp + 1'b1;
      sequence_number <= sequence_number + 1'b1;
    end
    sending <= SEQUENTIAL && !published
        && (sending || (!none_under_way && out_ended && kernel_done));
    if (rst) begin
      out_state <= OutFirst;
      rp <= '0;
      sequence_number <= '0;
      sending <= 1'b0;
    end
  end

  // Latest --------------------------------------------------------------------------------------

  for (genvar i = 0; i < Lanes; i++) begin : g_latest
    if (LATEST != 0) begin : g_lane
      logic [1:0] header;  // beats of the header that are taken
      wire        behind = (header == 2'd3);
      // A message without payload is one beat without a byte, here too.
      wire        only_header = (header == 2'd2) && l_axis_tlast[i];
      assign latest_waiting[i] = l_axis_tvalid[i];
      assign latest_tvalid[i] = l_axis_tvalid[i] && (behind || only_header);
      assign latest_tdata[i*64 +: 64] = l_axis_tdata[i*64 +: 64];
      assign latest_tkeep[i*8 +: 8] = behind ? l_axis_tkeep[i*8 +: 8] : '0;
      assign latest_tlast[i] = l_axis_tlast[i];
      assign latest_tuser[i] = l_axis_tuser[i];
      assign l_axis_tready[i] = latest_tready[i];
      always_ff @(posedge clk) begin
        if (l_axis_tvalid[i] && l_axis_tready[i]) begin
          if (l_axis_tlast[i]) header <= '0;
          else if (!behind) header <= header + 1'b1;
        end
        if (rst) header <= '0;
      end
    end else begin : g_no_lane
      assign latest_waiting[i] = 1'b0;
      assign latest_tvalid[i] = 1'b0;
      assign latest_tdata[i*64 +: 64] = '0;
      assign latest_tkeep[i*8 +: 8] = '0;
      assign latest_tlast[i] = 1'b0;
      assign latest_tuser[i] = 1'b0;
      assign l_axis_tready[i] = 1'b1;
    end
  end

  // Host ----------------------------------------------------------------------------------------

  localparam int unsigned Counts = 6;
  logic [Counts*COUNT_WIDTH-1:0] counts;
  logic [Counts-1:0]             events;
  wire                           idle = none_under_way && in_state == InFirst
      && out_state == OutFirst;

  always_ff @(posedge clk) begin
    // Through a register: counting is no part of a beat's way.
    events <= {
      in_taken && in_state == InFirst && !enable,
      unwanted || (in_ends && kernel_in_tuser),
      published && out_overlong,
      published && out_short && !out_overlong,
      !idle,
      published
    };
    for (int unsigned i = 0; i < Counts; i++)
      counts[i*COUNT_WIDTH +: COUNT_WIDTH] <=
          counts[i*COUNT_WIDTH +: COUNT_WIDTH] + COUNT_WIDTH'(events[i]);
    if (register_write && register_address == 4'd1) {drain, enable} <= register_write_data[1:0];
    case (register_address)
      4'd0: register_read_data <= {40'd0, 4'(LATEST), 3'd0, SEQUENTIAL, 16'(PUBLISHER_ID)};
      4'd1: register_read_data <= {62'd0, drain, enable};
      4'd2: register_read_data <= {63'd0, idle};
      default: register_read_data <= '0;
    endcase
    for (int unsigned i = 0; i < Counts; i++)
      if (32'(register_address) == i + 3)
        register_read_data <= 64'(counts[i*COUNT_WIDTH +: COUNT_WIDTH]);
    if (rst) begin
      events <= '0;
      counts <= '0;
      enable <= 1'b1;
      drain <= 1'b0;
    end
  end

  // Not read where a parameter leaves the reader out.
  wire unused = &{1'b0, register_write_data[63:2], kernel_done, l_axis_tdata, l_axis_tkeep,
                  l_axis_tlast, l_axis_tuser, l_axis_tvalid, latest_tready};

`ifdef FORMAL
  `include "node_shell_formal.svh"
`endif

endmodule

`default_nettype wire
