// The kernel of the nodes of `chain`: adds 1 to every byte, a beat in BEAT_CYCLES (1 to 255), in either
// execution mode. SEQUENTIAL: it keeps the whole message, computes it in place, gives it back; else it
// gives every beat BEAT_CYCLES after it came.
`default_nettype none

module chain_kernel #(
  parameter bit          SEQUENTIAL = 1'b0,
  parameter int unsigned BEATS = 1024,
  parameter int unsigned BEAT_CYCLES = 1
) (
  input  wire         clk,
  input  wire         rst,
  output logic        done,
  output logic        computing,
  input  wire  [63:0] in_tdata,
  input  wire  [7:0]  in_tkeep,
  input  wire         in_tlast,
  input  wire         in_tuser,
  input  wire         in_tvalid,
  output logic        in_tready,
  output logic [63:0] out_tdata,
  output logic [7:0]  out_tkeep,
  output logic        out_tlast,
  output logic        out_tuser,
  output logic        out_tvalid,
  input  wire         out_tready
);

  function automatic logic [63:0] result(input logic [63:0] from);
    for (int unsigned i = 0; i < 8; i++) result[i*8 +: 8] = from[i*8 +: 8] + 8'd1;
  endfunction

  if (BEAT_CYCLES < 1 || BEAT_CYCLES > 255) begin : g_bad_cycles
    $fatal(1, "%m: BEAT_CYCLES is 1 to 255");
  end

  logic [7:0] left;  // cycles that the beat in work still takes, this one not counted

  if (SEQUENTIAL) begin : g_sequential
    localparam int unsigned LogBeats = $clog2(BEATS);
    logic [63:0]         beats [BEATS];
    logic [LogBeats-1:0] at;    // the beat that is received, computed or sent
    logic [LogBeats-1:0] last;
    logic [7:0]          keep;
    logic                user;
    logic                sending;

    assign in_tready = !computing && !sending;
    assign done = sending;
    assign out_tvalid = sending;
    assign out_tdata = beats[at];
    assign out_tlast = (at == last);
    assign out_tkeep = out_tlast ? keep : '1;
    assign out_tuser = out_tlast && user;

    always_ff @(posedge clk) begin
      if (in_tvalid && in_tready) begin
        beats[at] <= in_tdata;
        at <= in_tlast ? '0 : at + 1'b1;
        last <= at;
        keep <= in_tkeep;
        user <= in_tuser;
        computing <= in_tlast;
        left <= 8'(BEAT_CYCLES - 1);
      end else if (computing && left != '0) begin
        left <= left - 8'd1;
      end else if (computing) begin
        left <= 8'(BEAT_CYCLES - 1);
        beats[at] <= result(beats[at]);
        at <= out_tlast ? '0 : at + 1'b1;
        computing <= !out_tlast;
        sending <= out_tlast;
      end else if (sending && out_tready) begin
        at <= out_tlast ? '0 : at + 1'b1;
        sending <= !out_tlast;
      end
      if (rst) begin
        at <= '0;
        computing <= 1'b0;
        sending <= 1'b0;
      end
    end
  end else begin : g_dataflow
    assign done = 1'b0;
    assign computing = 1'b0;
    assign in_tready = (left == '0) && (!out_tvalid || out_tready);
    always_ff @(posedge clk) begin
      if (in_tready) begin
        {out_tuser, out_tlast, out_tkeep} <= {in_tuser, in_tlast, in_tkeep};
        out_tdata <= result(in_tdata);
        out_tvalid <= in_tvalid && (BEAT_CYCLES == 1);
        if (in_tvalid) left <= 8'(BEAT_CYCLES - 1);
      end else if (left != '0) begin
        left <= left - 8'd1;
        out_tvalid <= (left == 8'd1);
      end
      if (rst) begin
        out_tvalid <= 1'b0;
        left <= '0;
      end
    end
  end

endmodule

`default_nettype wire
