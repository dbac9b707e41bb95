// Picture check: whether an image message is a picture that a kernel works on.
//
// Function      The fields of a message stand from `look` on until `next`. It is a picture if its
//               encoding is one of CHANNELS, its rows are packed (step is width * bytes of a pixel),
//               its data have step * height bytes, and it has no more than MAX_BYTES, nor rows of
//               more than MAX_WIDTH pixels. A message without data may have rows of any length. If
//               WIDTH or HEIGHT is not 0, the picture has exactly that side. If SIDE_MAX is not 0,
//               both sides have SIDE_MIN to SIDE_MAX pixels. That is what software refuses
//               (apps/autorace/src/nodes/message.rs, apps/image_pipeline/src/picture.rs), and what
//               there is no room for.
// Verdict       `fits`, in the cycle of `look`: all but step * height. `looked`: it stands.
//               `settled`: so does `fault`, why it is no such picture. Before `settled` `fault` means
//               nothing. 0: it is one. 1: another encoding. 2: rows are not packed. 3: more bytes
//               than MAX_BYTES, or wider than MAX_WIDTH. 4: the data have not step * height bytes.
//               5: another size. The first of these that holds counts, but 5 before 3: no memory
//               would mend another size. Hardware packages name them `pictures`.
//               `kind`, while the fields stand: 0 mono8, 1 rgb8, 2 bgr8; chance if not `fits`.
// Latency       1 cycle from `look` to `looked`, bits of MAX_BYTES + 1 to `settled`.
// Reset         Nothing looked at.
// Parameters    CHANNELS: 3 (rgb8), 1 (mono8) or 0 (mono8, rgb8, bgr8). MAX_BYTES: of a picture, 8
//               to 2^24. MAX_WIDTH: pixels of a row, 1 to 2^24. WIDTH, HEIGHT: sides, 1 to 2^24, or
//               0: any. SIDE_MIN, SIDE_MAX: of both sides, up to 2^24; SIDE_MAX 0: any.
`default_nettype none

module picture_check #(
  parameter int unsigned CHANNELS = 3,
  parameter int unsigned MAX_BYTES = 640 * 480 * 3,
  parameter int unsigned MAX_WIDTH = MAX_BYTES,
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0,
  parameter int unsigned SIDE_MIN = 0,
  parameter int unsigned SIDE_MAX = 0
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
  output logic [1:0]  kind,
  output logic        looked,
  output logic        settled,
  output logic [2:0]  fault
);

  if (CHANNELS != 0 && CHANNELS != 1 && CHANNELS != 3) begin : g_bad_channels
    $fatal(1, "%m: CHANNELS is 0, 1 or 3");
  end
  if (MAX_BYTES < 8 || MAX_BYTES > (1 << 24)) begin : g_bad_bytes
    $fatal(1, "%m: MAX_BYTES is 8 to 2^24");
  end
  if (MAX_WIDTH < 1 || MAX_WIDTH > (1 << 24)) begin : g_bad_width
    $fatal(1, "%m: MAX_WIDTH is 1 to 2^24");
  end

  localparam int unsigned Bits = $clog2(MAX_BYTES + 1);
  localparam int unsigned Steps = $clog2(Bits + 1);

  // The first byte is the lowest.
  wire is_mono = encoding_length == 32'd5 && encoding == "8onom";
  wire is_rgb = encoding_length == 32'd4 && encoding[31:0] == "8bgr";
  wire is_bgr = encoding_length == 32'd4 && encoding[31:0] == "8rgb";
  wire named = (CHANNELS == 3) ? is_rgb : (CHANNELS == 1) ? is_mono : is_mono || is_rgb || is_bgr;
  assign kind = is_mono ? 2'd0 : is_rgb ? 2'd1 : 2'd2;

  wire        triples = (CHANNELS == 0) ? !is_mono : CHANNELS == 3;
  wire [33:0] row_bytes = triples ? {2'd0, width} + {1'd0, width, 1'b0} : {2'd0, width};
  wire        sides = SIDE_MAX == 0 || (width >= 32'(SIDE_MIN) && width <= 32'(SIDE_MAX)
      && height >= 32'(SIDE_MIN) && height <= 32'(SIDE_MAX));
  wire        packs = row_bytes == {2'd0, step};
  wire        has_room = length <= 32'(MAX_BYTES)
      && (width <= 32'(MAX_WIDTH) || length == '0);
  wire        sized = sides
      && (WIDTH == 0 || width == 32'(WIDTH)) && (HEIGHT == 0 || height == 32'(HEIGHT));
  assign fits = named && packs && has_room && sized;

  // step * height, a bit of height per cycle from the top. What does not fit into the bits of a
  // length never becomes smaller again.
  logic [1:0]       unfit;       // 1 to 3, or 0
  logic             is_sized;
  logic [Bits-1:0]  area;
  logic             over;
  logic [Bits-1:0]  rows;
  logic [Steps-1:0] todo;
  wire  [Bits+1:0]  grown = {1'b0, area, 1'b0} + (rows[Bits-1] ? {2'd0, step[Bits-1:0]} : '0);

  assign settled = looked && todo == '0;
  wire              fills = !over && area == length[Bits-1:0];
  assign fault = (unfit == 2'd3 && !is_sized) ? 3'd5 : (unfit != '0) ? 3'(unfit)
      : !fills ? 3'd4 : !is_sized ? 3'd5 : 3'd0;

  always_ff @(posedge clk) begin
    if (!looked) begin
      if (look) begin
        looked <= 1'b1;
        unfit <= !named ? 2'd1 : !packs ? 2'd2 : !has_room ? 2'd3 : 2'd0;
        is_sized <= sized;
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
