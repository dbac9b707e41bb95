// Picture check: whether an image message is a picture that a kernel works on.
//
// Function      The fields of a message stand from `look` on until `next`. It is a picture if its
//               encoding is rgb8 or mono8 (CHANNELS), its rows are packed (step is width *
//               CHANNELS), its data have step * height bytes, and it has no more than MAX_BYTES,
//               nor rows of more than MAX_ROW_BYTES. A message without data may have rows of any
//               length. If WIDTH or HEIGHT is not 0, the picture has exactly that side. That is
//               what software refuses (apps/autorace/src/nodes/message.rs), and what there is no
//               room for.
// Verdict       `fits`, in the cycle of `look`: all but step * height. `looked`: it stands.
//               `settled`: so does `good`, all together. Before `settled` `good` means nothing.
// Latency       1 cycle from `look` to `looked`, bits of MAX_BYTES + 1 to `settled`.
// Reset         Nothing looked at.
// Parameters    CHANNELS: 3 (rgb8) or 1 (mono8). MAX_BYTES: of a picture, 8 to 2^24.
//               MAX_ROW_BYTES: of a row, 1 to 2^24. WIDTH, HEIGHT: sides, 1 to 2^24, or 0: any.
`default_nettype none

module picture_check #(
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned MAX_ROW_BYTES = MAX_BYTES,
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         look,
  input  wire         next,
  input  wire  [31:0] encoding_length,
  input  wire  [39:0] encoding,
  input  wire  [31:0] height,
  input  wire  [31:0] width,
  input  wire  [31:0] step,
  input  wire  [31:0] length,
  output logic        fits,
  output logic        looked,
  output logic        settled,
  output logic        good
);

  if (CHANNELS != 1 && CHANNELS != 3) begin : g_bad_channels
    $fatal(1, "%m: CHANNELS is 1 or 3");
  end
  if (MAX_BYTES < 8 || MAX_BYTES > (1 << 24)) begin : g_bad_bytes
    $fatal(1, "%m: MAX_BYTES is 8 to 2^24");
  end
  if (MAX_ROW_BYTES < 1 || MAX_ROW_BYTES > (1 << 24)) begin : g_bad_row_bytes
    $fatal(1, "%m: MAX_ROW_BYTES is 1 to 2^24");
  end

  localparam int unsigned Bits = $clog2(MAX_BYTES + 1);
  localparam int unsigned Steps = $clog2(Bits + 1);
  localparam logic [39:0] Name = (CHANNELS == 3) ? 40'h00_38_62_67_72 : 40'h38_6f_6e_6f_6d;
  localparam logic [31:0] NameBytes = (CHANNELS == 3) ? 32'd4 : 32'd5;
  localparam logic [39:0] NameMask = (CHANNELS == 3) ? 40'h00_ff_ff_ff_ff : 40'hff_ff_ff_ff_ff;

  wire [33:0] row_bytes = (CHANNELS == 3) ? {2'd0, width} + {1'd0, width, 1'b0} : {2'd0, width};
  assign fits = encoding_length == NameBytes && (encoding & NameMask) == Name
      && row_bytes == {2'd0, step} && length <= 32'(MAX_BYTES)
      && (step <= 32'(MAX_ROW_BYTES) || length == '0)
      && (WIDTH == 0 || width == 32'(WIDTH)) && (HEIGHT == 0 || height == 32'(HEIGHT));

  // step * height, a bit of height per cycle from the top. What does not fit into the bits of a
  // length never becomes smaller again.
  logic             fitted;
  logic [Bits-1:0]  area;
  logic             over;
  logic [Bits-1:0]  rows;
  logic [Steps-1:0] todo;
  wire  [Bits+1:0]  grown = {1'b0, area, 1'b0} + (rows[Bits-1] ? {2'd0, step[Bits-1:0]} : '0);

  assign settled = looked && todo == '0;
  assign good = fitted && !over && area == length[Bits-1:0];

  always_ff @(posedge clk) begin
    if (!looked) begin
      if (look) begin
        looked <= 1'b1;
        fitted <= fits;
        area <= '0;
        over <= ((step >> Bits) != '0 && height != '0) || ((height >> Bits) != '0 && step != '0);
        rows <= height[Bits-1:0];
        todo <= Steps'(Bits);
      end
    end else if (todo != '0) begin
      area <= grown[Bits-1:0];
      over <= over || (grown[Bits+1:Bits] != '0);
      rows <= rows << 1;
      todo <= todo - 1'b1;
    end
    if (rst || next) looked <= 1'b0;
  end

`ifdef FORMAL
  `include "picture_check_formal.svh"
`endif

endmodule

`default_nettype wire
