// Rectify and resize: rectify and resize as one node, without a message between them: the hardware
// node of type rectify_resize. It makes of a picture what resize makes of what rectify makes of it,
// bit for bit.
//
// Function      Takes sensor_msgs/msg/Image. rectify_picture and resize_picture stand one behind the
//               other.
// Published     As resize.
// Refused       As rectify.
// Damaged       As both.
// Latency       As rectify, and 10 cycles.
// Throughput    A pixel per cycle. Pictures follow each other in their latency.
// Back-pressure s_axis_image_tready follows m_axis_resized_tready within the stages between them.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0.
// Parameters    WIDTH, HEIGHT: as resize; at most as many pixels as the camera's picture has.
`default_nettype none

module rectify_resize #(
  parameter int unsigned WIDTH = 0,
  parameter int unsigned HEIGHT = 0
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [15:0] resized_publisher_id,
  output logic [63:0] m_axis_resized_tdata,
  output logic [7:0]  m_axis_resized_tkeep,
  output logic        m_axis_resized_tlast,
  output logic        m_axis_resized_tuser,
  output logic        m_axis_resized_tvalid,
  input  wire         m_axis_resized_tready,
  output logic        dropped,
  output logic [2:0]  refused,
  output logic        busy
);

  wire [31:0] height;
  wire [31:0] width;
  wire [1:0]  kind;
  wire [31:0] step;
  wire [31:0] length;
  wire        start;
  wire        cut;
  wire [63:0] data;
  wire [3:0]  data_bytes;
  wire        data_last;
  wire        data_valid;
  wire        data_ready;
  wire [63:0] picture;
  wire [3:0]  picture_bytes;
  wire        picture_last;
  wire        picture_valid;
  wire        picture_ready;
  wire [14:0] to_height;
  wire [14:0] to_width;
  wire [15:0] to_step;
  wire [31:0] to_bytes;
  wire [63:0] rectified;
  wire [3:0]  rectified_bytes;
  wire        rectified_last;
  wire        rectified_valid;
  wire        rectified_ready;
  wire        rectifies;

  // The last rows that are rectified may not be needed, but they have to pass.
  wire given = picture_valid && !(picture_last && rectifies);

  localparam int unsigned Width = rectify_setup::Width;
  localparam int unsigned Height = rectify_setup::Height;

  if (WIDTH * HEIGHT > Width * Height) begin : g_bad_size
    $fatal(1, "%m: WIDTH * HEIGHT is at most what the camera has");
  end

  rectify_resize_pictures #(
    .STREAMS(1),
    .CHANNELS(0),
    .MAX_BYTES(rectify_setup::Width * rectify_setup::Height * 3),
    .WIDTH(rectify_setup::Width),
    .HEIGHT(rectify_setup::Height),
    .RESIZES(1)
  ) u_pictures (
    .clk,
    .rst,
    .s_axis_tdata(s_axis_image_tdata),
    .s_axis_tkeep(s_axis_image_tkeep),
    .s_axis_tlast(s_axis_image_tlast),
    .s_axis_tuser(s_axis_image_tuser),
    .s_axis_tvalid(s_axis_image_tvalid),
    .s_axis_tready(s_axis_image_tready),
    .publisher_id(resized_publisher_id),
    .m_axis_tdata(m_axis_resized_tdata),
    .m_axis_tkeep(m_axis_resized_tkeep),
    .m_axis_tlast(m_axis_resized_tlast),
    .m_axis_tuser(m_axis_resized_tuser),
    .m_axis_tvalid(m_axis_resized_tvalid),
    .m_axis_tready(m_axis_resized_tready),
    .start,
    .height,
    .width,
    .kind,
    .step,
    .length,
    .cut,
    .k_data(data),
    .k_bytes(data_bytes),
    .k_last(data_last),
    .k_valid(data_valid),
    .k_ready(data_ready),
    .made_height(32'(to_height)),
    .made_width(32'(to_width)),
    .made_step(32'(to_step)),
    .made_length(to_bytes),
    .made_data(picture),
    .made_last(picture_last),
    .made_valid(given),
    .made_ready(picture_ready),
    .dropped,
    .refused,
    .busy
  );

  wire resizes;

  rectify_picture u_rectify (
    .clk,
    .rst,
    .start,
    .colour(kind != 2'd0),
    .busy(rectifies),
    .cut,
    .s_data(data),
    .s_bytes(data_bytes),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .m_data(rectified),
    .m_bytes(rectified_bytes),
    .m_last(rectified_last),
    .m_valid(rectified_valid),
    .m_ready(rectified_ready)
  );

  // What is cut comes out of the first kernel in its full length.
  resize_picture #(
    .MAX_WIDTH(Width),
    .TO_WIDTH(WIDTH),
    .TO_HEIGHT(HEIGHT)
  ) u_resize (
    .clk,
    .rst,
    .start,
    .colour(kind != 2'd0),
    .width(15'(Width)),
    .height(15'(Height)),
    .to_width,
    .to_height,
    .to_step,
    .to_bytes,
    .busy(resizes),
    .cut(1'b0),
    .s_data(rectified),
    .s_bytes(rectified_bytes),
    .s_valid(rectified_valid),
    .s_ready(rectified_ready),
    .m_data(picture),
    .m_bytes(picture_bytes),
    .m_last(picture_last),
    .m_valid(picture_valid),
    .m_ready(picture_ready)
  );

  wire unused = &{1'b0, height, width, step, length, data_last, picture_bytes, rectified_last, resizes};

endmodule

`default_nettype wire
