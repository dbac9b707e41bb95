// OSIF: queues of words between hardware clients (gateways, nodes) and the host, with a doorbell.
//
// Function      Up: a word that a client offers is queued with the client's number; clients take
//               turns. The host reads the waiting entries by position and acknowledges them by their
//               count. Down: the host writes a word and sends it to a client, which takes it from a
//               queue of its own, so that no client waits for another. What a word means, its tag
//               above all, is the client's and the host's business: an answer carries the tag of its
//               request, and as many requests are outstanding as there are words in queues.
// Doorbell      High as long as an entry waits that the host has not acknowledged. It is low for at
//               least the cycle after an acknowledgement, so that a host that listens to edges hears
//               of what came meanwhile: one that acknowledges what it has seen and then sleeps
//               misses nothing. Any number of entries ring once.
// Registers     64 bit, by number. Reading has no side effect and gives the value 1 cycle later.
//               `register_write` takes one word per cycle. A plain port: one register_bridge stands
//               before all modules of a board.
//                 0 UP_WRITTEN   r  entries queued so far, modulo 2^32
//                 1 UP_TAKEN     rw entries acknowledged so far; may be set to at most UP_WRITTEN
//                 2 DOWN_SEND    w  client number: the words of DOWN_WORD go to that client
//                 3 DOWN_ROOM    r  free words in the queue of the client that PORT names
//                 4 PORT         rw the client that DOWN_ROOM is about
//                 5 REFUSED      r  writes without effect: an acknowledgement of entries that do not
//                                   wait, a send to no client or to a full queue; saturating
//                 6 SHAPE        r  bits 7:0 clients, 15:8 registers of DOWN_WORD, 31:16 up depth,
//                                   47:32 down depth
//                 8.. DOWN_WORD  w  the word to send, 64 bits per register
//                 16.. UP_ENTRY  r  entry (UP_TAKEN + n) % UP_DEPTH lies at register
//                                   16 + 16 * that + i: i = 0 client number, i = 1.. the word
// Latency       A word is seen by the host 2 cycles after it was taken, by a client 1 cycle after
//               DOWN_SEND.
// Throughput    One word per cycle in each direction.
// Back-pressure up_ready is low while the up queue is full or another client has its turn. It never
//               depends on the host but through the queue. Down: a send to a full queue is refused.
// Ordering      Per client first in, first out in both directions.
// Reset         Queues empty, counts zero.
// Parameters    CLIENTS: 1 to 64. WORD_WIDTH: 64 to 448, a multiple of 64. UP_DEPTH, DOWN_DEPTH:
//               words, powers of two, 2 to 64; DOWN_DEPTH is per client.
`default_nettype none

module osif #(
  parameter int unsigned CLIENTS = 4,
  parameter int unsigned WORD_WIDTH = 128,
  parameter int unsigned UP_DEPTH = 16,
  parameter int unsigned DOWN_DEPTH = 8
) (
  input  wire                           clk,
  input  wire                           rst,
  input  wire  [CLIENTS*WORD_WIDTH-1:0] up_word,
  input  wire  [CLIENTS-1:0]            up_valid,
  output logic [CLIENTS-1:0]            up_ready,
  output logic [CLIENTS*WORD_WIDTH-1:0] down_word,
  output logic [CLIENTS-1:0]            down_valid,
  input  wire  [CLIENTS-1:0]            down_ready,
  input  wire  [10:0]                   register_address,
  input  wire                           register_write,
  input  wire  [63:0]                   register_write_data,
  output logic [63:0]                   register_read_data,
  output logic                          doorbell
);

  if (CLIENTS < 1 || CLIENTS > 64) begin : g_bad_clients
    $fatal(1, "%m: CLIENTS is 1 to 64");
  end
  if (WORD_WIDTH < 64 || WORD_WIDTH > 448 || WORD_WIDTH % 64 != 0) begin : g_bad_word_width
    $fatal(1, "%m: WORD_WIDTH is a multiple of 64 from 64 to 448");
  end
  if (UP_DEPTH < 2 || UP_DEPTH > 64 || (UP_DEPTH & (UP_DEPTH - 1)) != 0) begin : g_bad_up_depth
    $fatal(1, "%m: UP_DEPTH is a power of two from 2 to 64");
  end
  if (DOWN_DEPTH < 2 || DOWN_DEPTH > 64 || (DOWN_DEPTH & (DOWN_DEPTH - 1)) != 0)
  begin : g_bad_down_depth
    $fatal(1, "%m: DOWN_DEPTH is a power of two from 2 to 64");
  end

  localparam int unsigned Words = WORD_WIDTH / 64;
  localparam int unsigned LogUp = $clog2(UP_DEPTH);
  localparam int unsigned LogDown = $clog2(DOWN_DEPTH);
  localparam int unsigned Number = (CLIENTS > 1) ? $clog2(CLIENTS) : 1;

  // Up -------------------------------------------------------------------------------------------

  logic [Number+WORD_WIDTH-1:0] up_entries [UP_DEPTH];
  logic [31:0]                  up_written;
  logic [31:0]                  up_taken;
  logic [CLIENTS-1:0]           after;  // the clients behind the one served last

  wire [31:0]        up_level = up_written - up_taken;
  wire               up_full = up_level[LogUp];
  wire [CLIENTS-1:0] behind = up_valid & after;
  wire [CLIENTS-1:0] eligible = (|behind) ? behind : up_valid;
  wire [CLIENTS-1:0] grant = eligible & (~eligible + 1'b1);
  wire               push = |up_valid && !up_full;

  logic [Number-1:0]     grant_number;
  logic [WORD_WIDTH-1:0] grant_word;
  logic [CLIENTS-1:0]    behind_grant;
  always_comb begin
    grant_number = '0;
    grant_word = '0;
    behind_grant = '0;
    for (int unsigned i = 0; i < CLIENTS; i++) begin
      if (grant[i]) begin
        grant_number |= Number'(i);
        grant_word |= up_word[i*WORD_WIDTH +: WORD_WIDTH];
      end
      for (int unsigned j = 0; j < i; j++) behind_grant[i] |= grant[j];
    end
  end
  assign up_ready = up_full ? '0 : grant;

  always_ff @(posedge clk)
    if (push) up_entries[up_written[LogUp-1:0]] <= {grant_number, grant_word};

  // Registers that are written -------------------------------------------------------------------

  logic [Words*64-1:0] staged;  // the word to send
  logic [Number-1:0]   port;

  wire [31:0] acknowledged = register_write_data[31:0];
  wire        acknowledge = register_write && register_address == 11'd1;
  // At most what waits; a count that is behind is as wrong as one that is ahead.
  wire        acknowledge_good = (acknowledged - up_taken) <= up_level;
  wire        send = register_write && register_address == 11'd2;
  wire        number_good = register_write_data < 64'(CLIENTS);

  logic [CLIENTS-1:0] down_full;
  logic [CLIENTS-1:0] down_push;
  wire                send_good = |down_push;
  logic [15:0]        refused;

  always_ff @(posedge clk) begin
    if (push) begin
      up_written <= up_written + 1'b1;
      after <= behind_grant;
    end
    if (acknowledge && acknowledge_good) up_taken <= acknowledged;
    // An edge for what the acknowledgement leaves, and for what comes later.
    doorbell <= !acknowledge && up_level != '0;
    if (register_write && register_address == 11'd4) port <= register_write_data[Number-1:0];
    for (int unsigned i = 0; i < Words; i++)
      if (register_write && register_address == 11'd8 + 11'(i))
        staged[i*64 +: 64] <= register_write_data;
    if (((acknowledge && !acknowledge_good) || (send && !send_good)) && !(&refused))
      refused <= refused + 1'b1;
    if (rst) begin
      up_written <= '0;
      up_taken <= '0;
      after <= '0;
      doorbell <= 1'b0;
      port <= '0;
      refused <= '0;
    end
  end

  // Down -----------------------------------------------------------------------------------------

  logic [LogDown:0] down_level [CLIENTS];
  for (genvar i = 0; i < CLIENTS; i++) begin : g_down
    logic [WORD_WIDTH-1:0] words [DOWN_DEPTH];
    logic [LogDown:0]      wp;
    logic [LogDown:0]      rp;
    assign down_level[i] = wp - rp;
    assign down_full[i] = down_level[i][LogDown];
    assign down_push[i] = send && number_good && 32'(register_write_data[5:0]) == i
        && !down_full[i];
    assign down_valid[i] = (wp != rp);
    assign down_word[i*WORD_WIDTH +: WORD_WIDTH] = words[rp[LogDown-1:0]];

    always_ff @(posedge clk)
      if (down_push[i]) words[wp[LogDown-1:0]] <= staged[WORD_WIDTH-1:0];

    always_ff @(posedge clk) begin
      if (down_push[i]) wp <= wp + 1'b1;
      if (down_valid[i] && down_ready[i]) rp <= rp + 1'b1;
      if (rst) begin
        wp <= '0;
        rp <= '0;
      end
    end
  end

  // Registers that are read ----------------------------------------------------------------------

  logic [LogDown:0] room;
  always_comb begin
    room = '0;
    for (int unsigned i = 0; i < CLIENTS; i++)
      if (32'(port) == i) room = (LogDown+1)'(DOWN_DEPTH) - down_level[i];
  end

  wire [6:0]                   slot = 7'(register_address[10:4]) - 7'd1;
  wire [Number+WORD_WIDTH-1:0] entry = up_entries[slot[LogUp-1:0]];
  logic [63:0]                 entry_part;
  always_comb begin
    entry_part = (register_address[3:0] == '0) ? 64'(entry[WORD_WIDTH +: Number]) : '0;
    for (int unsigned i = 0; i < Words; i++)
      if (register_address[3:0] == 4'(i + 1)) entry_part = entry[i*64 +: 64];
  end

  always_ff @(posedge clk)
    if (register_address[10:4] != '0) register_read_data <= entry_part;
    else
      case (register_address[3:0])
        4'd0: register_read_data <= 64'(up_written);
        4'd1: register_read_data <= 64'(up_taken);
        4'd3: register_read_data <= 64'(room);
        4'd4: register_read_data <= 64'(port);
        4'd5: register_read_data <= 64'(refused);
        4'd6: register_read_data <= {16'd0, 16'(DOWN_DEPTH), 16'(UP_DEPTH), 8'(Words), 8'(CLIENTS)};
        default: register_read_data <= '0;
      endcase

  wire unused = &{1'b0, slot};

`ifdef FORMAL
  `include "osif_formal.svh"
`endif

endmodule

`default_nettype wire
