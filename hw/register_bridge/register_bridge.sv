// Register bridge: an AXI4-Lite port through which a host reads and writes all registers of a
// board.
//
// Function      Words of 64 bit at byte addresses of 17 bits; the host sees the map at an address
//               of its own.
//                 0x00000 + 8 n   r   word n of STATUS, which the register_words keep
//                 0x08000 + 8 n   rw  word n of CONTROL, which they keep too
//                 0x10000 + 8 n   rw  register n of the host_port, 0 to 4095
//               A write is one of all 8 bytes. A write of fewer bytes, one of a word of STATUS, and
//               any access to a word that is not there have no effect and are answered with SLVERR.
//               What the host_port does with a number that it does not know is its own business.
// Access        Reads and writes take turns. One access at a time, so what a write has done is seen
//               by everything that is read or written after its answer.
// Words         A request goes to the register_words of all clocks at the same time, and each of
//               them answers, as a stream. Only one knows a word, the others answer 0. A word of a
//               slow clock is answered when that clock has risen some times.
// Latency       From address and data to the answer: 2 cycles for a write to the host_port, 3 for a
//               read or for a word, if there is no other clock. What is written to the host_port
//               is in effect 2 cycles after its address, as its answer comes.
// Throughput    One access in as many cycles and one more.
// Back-pressure s_axil_awready and s_axil_wready wait for both address and data. An answer stands
//               until it is taken, and the next access waits for that.
// Reset         No access in progress. Both sides must forget accesses at the same time.
// Parameters    STATUS: words of it, 1 to 4096. CONTROL: words of it, 0 to 4096. CLOCKS: clocks
//               with register_words, 1 to 64.
`default_nettype none

module register_bridge #(
  parameter int unsigned STATUS = 2,
  parameter int unsigned CONTROL = 0,
  parameter int unsigned CLOCKS = 1
) (
  input  wire                  clk,
  input  wire                  rst,
  input  wire  [16:0]          s_axil_awaddr,
  input  wire                  s_axil_awvalid,
  output logic                 s_axil_awready,
  input  wire  [63:0]          s_axil_wdata,
  input  wire  [7:0]           s_axil_wstrb,
  input  wire                  s_axil_wvalid,
  output logic                 s_axil_wready,
  output logic [1:0]           s_axil_bresp,
  output logic                 s_axil_bvalid,
  input  wire                  s_axil_bready,
  input  wire  [16:0]          s_axil_araddr,
  input  wire                  s_axil_arvalid,
  output logic                 s_axil_arready,
  output logic [63:0]          s_axil_rdata,
  output logic [1:0]           s_axil_rresp,
  output logic                 s_axil_rvalid,
  input  wire                  s_axil_rready,
  output logic [11:0]          register_address,
  output logic                 register_write,
  output logic [63:0]          register_write_data,
  input  wire  [63:0]          register_read_data,
  output logic [12:0]          word_number,  // bit 12: of CONTROL
  output logic                 word_write,
  output logic [63:0]          word_data,
  output logic [CLOCKS-1:0]    word_valid,
  input  wire  [CLOCKS-1:0]    word_ready,
  input  wire  [CLOCKS*64-1:0] answer_data,
  input  wire  [CLOCKS-1:0]    answer_valid,
  output logic [CLOCKS-1:0]    answer_ready,
  output logic                 busy
);

  if (STATUS < 1 || STATUS > 4096) begin : g_bad_status
    $fatal(1, "%m: STATUS is 1 to 4096");
  end
  if (CONTROL > 4096) begin : g_bad_control
    $fatal(1, "%m: CONTROL is at most 4096");
  end
  if (CLOCKS < 1 || CLOCKS > 64) begin : g_bad_clocks
    $fatal(1, "%m: CLOCKS is 1 to 64");
  end

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;
  // Where nothing is, so that the modules behind need no clock between accesses.
  localparam logic [11:0] NoRegister = '1;

  typedef enum logic [2:0] {
    Idle,
    Port,    // the host_port has address and data
    Read,    // it has the value
    Words,   // the words have the request, or some have answered
    Answer
  } step_t;

  step_t             step;
  logic              writes;   // the access under way is a write
  logic              wrote;    // the one before was
  logic [13:0]       word;     // the upper bits say whose it is
  logic [63:0]       data;
  logic              failed;
  logic [CLOCKS-1:0] asked;    // clocks that have taken the request
  logic [CLOCKS-1:0] answered;

  // Whose turn it is: that of a write if no read waits, or if the last access was a read.
  wire         write_waits = s_axil_awvalid && s_axil_wvalid;
  wire         write_turn = write_waits && (!s_axil_arvalid || !wrote);
  wire         take_write = step == Idle && write_turn;
  wire         take_read = step == Idle && !write_turn && s_axil_arvalid;
  wire  [13:0] next_word = write_turn ? s_axil_awaddr[16:3] : s_axil_araddr[16:3];
  wire         is_port = next_word[13:12] == 2'b10;
  wire         is_status = next_word[13:12] == 2'b00 && 32'(next_word[11:0]) < STATUS;
  wire         is_control = next_word[13:12] == 2'b01 && 32'(next_word[11:0]) + 1 <= CONTROL;
  wire         is_good = write_turn ? (&s_axil_wstrb) && (is_port || is_control)
      : is_port || is_status || is_control;

  assign s_axil_awready = take_write;
  assign s_axil_wready = take_write;
  assign s_axil_arready = take_read;
  assign s_axil_bvalid = step == Answer && writes;
  assign s_axil_rvalid = step == Answer && !writes;
  assign s_axil_bresp = failed ? SlvErr : Okay;
  assign s_axil_rresp = failed ? SlvErr : Okay;
  assign s_axil_rdata = data;

  assign register_address = step == Port ? word[11:0] : NoRegister;
  assign register_write = step == Port && writes;
  assign register_write_data = data;

  assign word_number = word[12:0];
  assign word_write = writes;
  assign word_data = writes ? data : '0;  // what has been found so far is nobody's business
  assign word_valid = step == Words ? ~asked : '0;
  assign answer_ready = step == Words ? asked & ~answered : '0;
  assign busy = step != Idle;

  wire [CLOCKS-1:0] answers = answer_valid & answer_ready;
  logic [63:0] found;
  always_comb begin
    found = '0;
    for (int unsigned i = 0; i < CLOCKS; i++)
      if (answers[i]) found |= answer_data[i*64 +: 64];
  end

  always_ff @(posedge clk) begin
    case (step)
      Idle: if (take_write || take_read) begin
        writes <= write_turn;
        wrote <= write_turn;
        word <= next_word;
        data <= write_turn ? s_axil_wdata : '0;
        failed <= !is_good;
        asked <= '0;
        answered <= '0;
        step <= !is_good ? Answer : is_port ? Port : Words;
      end
      Port: step <= writes ? Answer : Read;
      Read: begin
        data <= register_read_data;
        step <= Answer;
      end
      Words: begin
        asked <= asked | word_ready;
        answered <= answered | answers;
        // What is written stays until all have taken it.
        if (!writes) data <= data | found;
        if (&(answered | answers)) step <= Answer;
      end
      default: if (writes ? s_axil_bready : s_axil_rready) step <= Idle;
    endcase
    if (rst) begin
      step <= Idle;
      wrote <= 1'b0;
    end
  end

  // Registers are whole words: a read gives all bytes of one, and a write has all strobes.
  wire unused = &{1'b0, s_axil_awaddr[2:0], s_axil_araddr[2:0], word[13]};

`ifdef FORMAL
  `include "register_bridge_formal.svh"
`endif

endmodule

`default_nettype wire
