// Register words: the words of one clock that a host reads, and those that it writes.
//
// Function      Takes requests of a register_bridge, one after the other, and answers each. A read
//               gives a word of `status` as it is at the edge that takes the request, or a word of
//               `control`. A write sets the bits of a word of `control` that are kept; its answer
//               is 0. A request for a word that belongs to another clock is answered with 0.
// Straps        `reads` has a bit for each word of `status` of this clock. `keeps` has a bit for
//               each bit of `control` that is kept here; all others are 0. `resets` is what
//               `control` holds after the reset. All three are constants.
// Latency       A write is in `control` from the cycle after the request on, and so is the answer.
// Throughput    A request in 2 cycles.
// Back-pressure request_ready is low while an answer waits.
// Restart       With `restart` high `control` becomes `resets`, as in a reset, and a write has no
//               effect. Requests are taken and answered as ever: the bridge knows nothing of it.
// Reset         `control` is `resets`; no answer waits.
// Parameters    STATUS: words of it, 1 to 4096. CONTROL: words of it, 1 to 4096; without any, 1 word
//               without a bit that is kept.
`default_nettype none

module register_words #(
  parameter int unsigned STATUS = 2,
  parameter int unsigned CONTROL = 1
) (
  input  wire                   clk,
  input  wire                   rst,
  input  wire                   restart,
  input  wire  [STATUS*64-1:0]  status,
  output logic [CONTROL*64-1:0] control,
  input  wire  [STATUS-1:0]     reads,
  input  wire  [CONTROL*64-1:0] keeps,
  input  wire  [CONTROL*64-1:0] resets,
  input  wire  [12:0]           request_number,  // bit 12: of control
  input  wire                   request_write,
  input  wire  [63:0]           request_data,
  input  wire                   request_valid,
  output logic                  request_ready,
  output logic [63:0]           answer_data,
  output logic                  answer_valid,
  input  wire                   answer_ready
);

  if (STATUS < 1 || STATUS > 4096) begin : g_bad_status
    $fatal(1, "%m: STATUS is 1 to 4096");
  end
  if (CONTROL < 1 || CONTROL > 4096) begin : g_bad_control
    $fatal(1, "%m: CONTROL is 1 to 4096");
  end

  wire is_control = request_number[12];
  wire take = request_valid && request_ready;

  assign request_ready = !answer_valid;

  always_ff @(posedge clk) begin
    if (take) begin
      answer_data <= '0;
      for (int unsigned i = 0; i < STATUS; i++)
        if (!request_write && !is_control && 32'(request_number[11:0]) == i && reads[i])
          answer_data <= status[i*64 +: 64];
      for (int unsigned i = 0; i < CONTROL; i++)
        if (!request_write && is_control && 32'(request_number[11:0]) == i)
          answer_data <= control[i*64 +: 64];
      answer_valid <= 1'b1;
    end else if (answer_ready) begin
      answer_valid <= 1'b0;
    end
    if (rst) answer_valid <= 1'b0;
  end

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < CONTROL; i++)
      if (take && request_write && is_control && 32'(request_number[11:0]) == i)
        control[i*64 +: 64] <= request_data & keeps[i*64 +: 64];
    if (rst || restart) control <= resets & keeps;
  end

`ifdef FORMAL
  `include "register_words_formal.svh"
`endif

endmodule

`default_nettype wire
