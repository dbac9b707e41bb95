// Arbiter: joins the AXI streams of several publishers into one, message by message.
//
// Function      Forwards whole messages; the beats of two messages never mix. With CHECK it holds
//               every message against its header (24 bytes; payload bytes in bits 63:32 of the
//               first beat):
//                 over the bound  payload bytes > MAX_BYTES: nothing of it is forwarded
//                 over-long       more bytes than announced: cut where the header says it ends
//                 short           ends before: forwarded as it is
//               With WATCHDOG_CYCLES a publisher that offers no beat for that many cycles in
//               mid-message has its message ended by a beat without a byte (tkeep 0).
//               What is cut, short or ended so carries tuser with tlast: damaged, to be discarded.
//               The rest of such a message is taken from its publisher and discarded while the
//               others go on. No output message is longer than its header says, nor than
//               MAX_BYTES, so none can overrun a buffer.
// Latency       With REGISTER 1 cycle, the register lies between joining and checking; without 0:
//               the output follows the input of the granted port in the same cycle, which makes
//               the longest path of a topic that checks.
// Throughput    1 beat per cycle; no empty cycle between messages of one or different ports. A
//               message over the bound costs one empty cycle, an ended one WATCHDOG_CYCLES + 2.
// Back-pressure s_axis_tready of the granted port follows m_axis_tready, and is high while the
//               register is empty. A port's tready depends on its tvalid; m_axis_tvalid never
//               depends on m_axis_tready.
// Ordering      Per port first in, first out. Between ports round robin: a waiting port sees at
//               most PORTS - 1 messages of others go first.
// Reset         No message in progress, counts zero. A publisher reset alone in mid-message must
//               end that message first, else its next one is taken for the rest.
// Counts        Saturating, 2 cycles after the event; `dead` is high for a port whose message the
//               watchdog ended, until the publisher has delivered the rest of it.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. PORTS: 1 to 64.
//               CHECK: 1 compares lengths. REGISTER: 1 for a register between joining and
//               checking. MAX_BYTES: bound of the payload, 1 to 2^32 - 64.
//               WATCHDOG_CYCLES: 0 for none, else 2 to 2^30. COUNT_WIDTH: bits of a count, 1 to 32.
`default_nettype none

module axis_arb #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned PORTS = 2,
  parameter bit          CHECK = 1'b1,
  parameter bit          REGISTER = CHECK,
  parameter int unsigned MAX_BYTES = 1 << 20,
  parameter int unsigned WATCHDOG_CYCLES = 0,
  parameter int unsigned COUNT_WIDTH = 16
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [PORTS*WIDTH-1:0]   s_axis_tdata,
  input  wire  [PORTS*WIDTH/8-1:0] s_axis_tkeep,
  input  wire  [PORTS-1:0]         s_axis_tlast,
  input  wire  [PORTS-1:0]         s_axis_tuser,
  input  wire  [PORTS-1:0]         s_axis_tvalid,
  output logic [PORTS-1:0]         s_axis_tready,
  output logic [WIDTH-1:0]         m_axis_tdata,
  output logic [WIDTH/8-1:0]       m_axis_tkeep,
  output logic                     m_axis_tlast,
  output logic                     m_axis_tuser,
  output logic                     m_axis_tvalid,
  input  wire                      m_axis_tready,
  output logic [PORTS-1:0]         dead,
  output logic [COUNT_WIDTH-1:0]   count_short,
  output logic [COUNT_WIDTH-1:0]   count_overlong,
  output logic [COUNT_WIDTH-1:0]   count_oversize,
  output logic [COUNT_WIDTH-1:0]   count_timeout
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end
  if (PORTS < 1 || PORTS > 64) begin : g_bad_ports
    $fatal(1, "%m: PORTS is 1 to 64");
  end
  if (MAX_BYTES < 1 || MAX_BYTES > 32'hffff_ffc0) begin : g_bad_max_bytes
    $fatal(1, "%m: MAX_BYTES is 1 to 2^32 - 64");
  end
  if (WATCHDOG_CYCLES == 1 || WATCHDOG_CYCLES > (1 << 30)) begin : g_bad_watchdog
    $fatal(1, "%m: WATCHDOG_CYCLES is 0 or 2 to 2^30");
  end
  if (COUNT_WIDTH < 1 || COUNT_WIDTH > 32) begin : g_bad_count_width
    $fatal(1, "%m: COUNT_WIDTH is 1 to 32");
  end

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned LogBytes = $clog2(Bytes);
  // Beats that can follow the first one: ceil((24 + bytes) / Bytes) - 1.
  localparam int unsigned MaxLeft = (MAX_BYTES + 23) >> LogBytes;
  localparam int unsigned LeftWidth = $clog2(MaxLeft + 2);
  localparam int unsigned TimerWidth = (WATCHDOG_CYCLES > 1) ? $clog2(WATCHDOG_CYCLES) : 1;

  // Who is served -------------------------------------------------------------------------------

  logic [PORTS-1:0] owner;   // the port whose message is on its way, one-hot; 0 between messages
  logic [PORTS-1:0] after;   // the ports behind the one served last
  logic [PORTS-1:0] drain;   // the rest of this port's message is discarded
  logic             ending;  // the beat that ends a dead publisher's message is on offer

  wire [PORTS-1:0] request = s_axis_tvalid & ~drain;
  wire [PORTS-1:0] behind = request & after;
  wire [PORTS-1:0] eligible = (|behind) ? behind : request;
  wire [PORTS-1:0] winner = eligible & (~eligible + 1'b1);
  wire [PORTS-1:0] grant = (|owner) ? owner : winner;
  wire             offered = |(grant & s_axis_tvalid);

  logic [PORTS-1:0] behind_grant;
  logic [WIDTH-1:0] data;
  logic [Bytes-1:0] keep;
  always_comb begin
    behind_grant = '0;
    data = '0;
    keep = '0;
    for (int unsigned i = 0; i < PORTS; i++) begin
      if (grant[i]) begin
        data |= s_axis_tdata[i*WIDTH +: WIDTH];
        keep |= s_axis_tkeep[i*Bytes +: Bytes];
      end
      for (int unsigned j = 0; j < i; j++) behind_grant[i] |= grant[j];
    end
  end
  wire last = |(grant & s_axis_tlast);
  wire user = |(grant & s_axis_tuser);

  // What the header says -------------------------------------------------------------------------

  logic                begun;     // the first beat of the owner's message has been joined
  logic                oversize;
  logic                at_end;    // this beat is the last one that the header allows
  logic [LogBytes-1:0] tail;      // bytes in the last beat of the beat that is checked; 0 for all
  logic                join_ready;

  if (CHECK) begin : g_check
    logic [LeftWidth-1:0] left;  // beats to come after the one that is awaited, less `extra`
    logic                 more;
    logic [LogBytes-1:0]  tail_kept;
    logic [PORTS-1:0]     over_bound;

    // What has to be known of a message in its first beat takes one comparison, and is constant
    // where the header alone needs more than a beat.
    wire [31:0]           payload = data[63:32];
    wire                  only_beat = (Bytes > 24) && (payload <= 32'(Bytes) - 32'd24);
    wire [LogBytes-1:0]   tail_first = payload[LogBytes-1:0] + LogBytes'(24 % Bytes);
    // Of the beats behind the second one, (payload + 23 - Bytes) / Bytes, only the payload's own
    // beats are counted down: `extra`, what header and rest add, is settled by one comparison, and
    // no sum stands between the arbitration and the counter. The counter is too narrow only for a
    // message over the bound, of which nothing is forwarded.
    localparam int ExtraLeast = (23 + Bytes) / Bytes - 2;
    localparam int unsigned ExtraFrom = (ExtraLeast + 2) * Bytes - 23;
    wire                  more_first = (32'(payload[LogBytes-1:0]) >= ExtraFrom);
    wire [LeftWidth-1:0]  extra = LeftWidth'(ExtraLeast) + LeftWidth'(more);

    // Compared before the ports are joined: beside the arbitration, not behind it.
    always_comb
      for (int unsigned i = 0; i < PORTS; i++)
        over_bound[i] = (s_axis_tdata[i*WIDTH+32 +: 32] > MAX_BYTES);
    assign oversize = !begun && |(grant & over_bound);
    assign at_end = begun ? (left == -extra) : only_beat;
    // Behind the register the message in progress is the one whose beat is checked.
    assign tail = (!REGISTER && Bytes > 24 && !begun) ? tail_first : tail_kept;

    // What a message over the bound leaves here is never used.
    always_ff @(posedge clk)
      if (offered && !ending && join_ready) begin
        left <= begun ? left - 1'b1 : LeftWidth'(payload >> LogBytes);
        if (!begun) begin
          tail_kept <= tail_first;
          more <= more_first;
        end
      end
  end else begin : g_no_check
    assign oversize = 1'b0;
    assign at_end = 1'b0;
    assign tail = '0;
  end

  // Joined ----------------------------------------------------------------------------------------

  // A message over the bound needs no ready of an output that it never reaches.
  wire dropped = offered && oversize && !ending && (!REGISTER || join_ready);
  wire join_valid = ending || (offered && !oversize);
  wire join_last = ending || last || at_end;
  wire joined = join_valid && join_ready;

  assign s_axis_tready = drain | (grant & {PORTS{!ending && (join_ready || dropped)}});

  // `dropped` needs no ready of its own.
  always_ff @(posedge clk) begin
    if (joined) begin
      owner <= join_last ? '0 : grant;
      begun <= !join_last;
    end else if (join_valid) begin
      owner <= grant;  // the offer stands, whoever else asks meanwhile
    end
    if (dropped || (joined && join_last)) after <= behind_grant;
    if (rst) begin
      owner <= '0;
      begun <= 1'b0;
      after <= '0;
    end
  end

  // The joined beat as it is checked: with its own tlast and tuser, and whether it has to be the
  // last one. The beat that ends a dead publisher's message passes the check.
  localparam int unsigned Joined = 3 + Bytes + WIDTH;
  wire [Joined-1:0] join_beat = {at_end && !ending, last || ending, user || ending,
                                 ending ? '0 : keep, ending ? '0 : data};
  logic             check_at_end;
  logic             check_last;
  logic             check_user;
  logic [Bytes-1:0] check_keep;

  if (REGISTER) begin : g_register
    logic [Joined-1:0] beat;
    logic              full;
    assign join_ready = !full || m_axis_tready;
    assign {check_at_end, check_last, check_user, check_keep, m_axis_tdata} = beat;
    assign m_axis_tvalid = full;
    always_ff @(posedge clk) begin
      if (join_ready) begin
        beat <= join_beat;
        full <= join_valid;
      end
      if (rst) full <= 1'b0;
    end
  end else begin : g_wires
    assign join_ready = m_axis_tready;
    assign {check_at_end, check_last, check_user, check_keep, m_axis_tdata} = join_beat;
    assign m_axis_tvalid = join_valid;
  end

  // Checked ---------------------------------------------------------------------------------------

  logic [Bytes-1:0] allowed;  // the bytes of the last beat that the header allows
  logic             short_message;
  logic             overlong;
  always_comb
    for (int unsigned i = 0; i < Bytes; i++) allowed[i] = (tail == '0) || (i < 32'(tail));
  assign overlong = check_at_end && (!check_last || |(check_keep & ~allowed));
  assign short_message =
      CHECK && check_last && !check_user && !overlong && (!check_at_end || check_keep != allowed);

  assign m_axis_tkeep = !check_at_end ? check_keep : check_last ? (check_keep & allowed) : allowed;
  assign m_axis_tlast = check_last || check_at_end;
  assign m_axis_tuser = (check_last && check_user) || short_message || overlong;

  // Ends of what is damaged -----------------------------------------------------------------------

  if (CHECK || WATCHDOG_CYCLES != 0) begin : g_drain
    wire cut = dropped ? !last : (joined && join_last && (ending || !last));
    always_ff @(posedge clk) begin
      drain <= (drain & ~(s_axis_tvalid & s_axis_tlast)) | (grant & {PORTS{cut}});
      if (rst) drain <= '0;
    end
  end else begin : g_no_drain
    assign drain = '0;
  end

  if (WATCHDOG_CYCLES != 0) begin : g_watchdog
    logic [TimerWidth-1:0] silent;  // cycles without a beat from the owner
    always_ff @(posedge clk) begin
      silent <= (begun && !offered && !ending) ? silent + 1'b1 : '0;
      if (ending) ending <= !join_ready;
      else ending <= begun && !offered && (silent == TimerWidth'(WATCHDOG_CYCLES - 1));
      dead <= (dead & ~(s_axis_tvalid & s_axis_tlast)) | (grant & {PORTS{ending && join_ready}});
      if (rst) begin
        silent <= '0;
        ending <= 1'b0;
        dead <= '0;
      end
    end
  end else begin : g_no_watchdog
    assign ending = 1'b0;
    assign dead = '0;
  end

  // Counts ----------------------------------------------------------------------------------------

  wire finished = m_axis_tvalid && m_axis_tready && m_axis_tlast;

  // What happened goes through a register first: counting is no part of a beat's way.
  if (CHECK) begin : g_counts
    logic was_oversize;
    logic was_short;
    logic was_overlong;
    always_ff @(posedge clk) begin
      was_oversize <= dropped;
      was_short <= finished && short_message;
      was_overlong <= finished && overlong;
      if (was_oversize && !(&count_oversize)) count_oversize <= count_oversize + 1'b1;
      if (was_short && !(&count_short)) count_short <= count_short + 1'b1;
      if (was_overlong && !(&count_overlong)) count_overlong <= count_overlong + 1'b1;
      if (rst) begin
        was_oversize <= 1'b0;
        was_short <= 1'b0;
        was_overlong <= 1'b0;
        count_oversize <= '0;
        count_short <= '0;
        count_overlong <= '0;
      end
    end
  end else begin : g_no_counts
    assign count_oversize = '0;
    assign count_short = '0;
    assign count_overlong = '0;
  end
  if (WATCHDOG_CYCLES != 0) begin : g_count_timeout
    logic was_timeout;
    always_ff @(posedge clk) begin
      was_timeout <= joined && ending;
      if (was_timeout && !(&count_timeout)) count_timeout <= count_timeout + 1'b1;
      if (rst) begin
        was_timeout <= 1'b0;
        count_timeout <= '0;
      end
    end
  end else begin : g_no_count_timeout
    assign count_timeout = '0;
  end

  // Neither is read where a parameter leaves its reader out.
  wire unused = &{1'b0, begun, finished};

`ifdef FORMAL
  `include "axis_arb_formal.svh"
`endif

endmodule

`default_nettype wire
