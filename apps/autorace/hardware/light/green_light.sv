// Green light: the hardware node of type green_light, the twin of the software one in
// apps/autorace/src/nodes/light.rs, bit for bit, with the parameters that green_light_setup was made with.
//
// Function      Takes sensor_msgs/msg/Image, looks for a green lamp in it with find_lamp, and publishes
//               autorace_msgs/msg/TrafficLight with the header (stamp, frame) of the image. The frame's
//               header has light_publisher_id, the stamp of the frame that came, and the node's own
//               sequence, from 0.
// Hand-over     Nothing is found unless green is armed (GreenArm in apps/autorace/src/hand_over.rs): at
//               the start, by red in the image before (other_light), until green was lit and is gone
//               for 5 images, and again after 30 images without it.
// Refused       What the software node refuses: another encoding than rgb8, step other than 3 * width,
//               data of another length than step * height. Beside that another size than WIDTH x
//               HEIGHT, and what is no message at all, see frame_take. Such a message is taken to its
//               end and counted by a cycle of `dropped`, and the hand-over does not see it. (The
//               software node ends the run with an error.)
// Latency       From the last beat in to the last beat out: that of find_lamp and 60 cycles.
// Throughput    1 beat per cycle, see find_lamp; the next image waits until the light has been
//               published.
// Back-pressure s_axis_image_tready follows find_lamp. A message of the other light waits 20 cycles at
//               most.
// Ordering      First in, first out.
// Busy          High from a beat that is taken to 63 cycles after the last thing to do. Low while a
//               message stops half way: with its next beat it goes on.
// Reset         Nothing taken, nothing published, sequence 0, red was not lit, green is armed.
// Parameters    as of the software node; WIDTH, HEIGHT: of the images, see find_lamp
`default_nettype none

module green_light #(
  parameter int unsigned AREA_MIN = 40,
  parameter int unsigned AREA_MAX = 20000,
  parameter int unsigned HOUSING_VALUE_MAX = 110,
  parameter int unsigned WIDTH = 640,
  parameter int unsigned HEIGHT = 480
) (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_axis_image_tdata,
  input  wire  [7:0]  s_axis_image_tkeep,
  input  wire         s_axis_image_tlast,
  input  wire         s_axis_image_tuser,
  input  wire         s_axis_image_tvalid,
  output logic        s_axis_image_tready,
  input  wire  [63:0] s_axis_other_tdata,
  input  wire  [7:0]  s_axis_other_tkeep,
  input  wire         s_axis_other_tlast,
  input  wire         s_axis_other_tuser,
  input  wire         s_axis_other_tvalid,
  output logic        s_axis_other_tready,
  input  wire  [15:0] light_publisher_id,
  output logic [63:0] m_axis_light_tdata,
  output logic [7:0]  m_axis_light_tkeep,
  output logic        m_axis_light_tlast,
  output logic        m_axis_light_tuser,
  output logic        m_axis_light_tvalid,
  input  wire         m_axis_light_tready,
  output logic        dropped,
  output logic        busy
);

  localparam logic [7:0] Red = 8'd1;
  localparam logic [7:0] Green = 8'd2;

  // The image that comes, and the light ----------------------------------------------------------

  wire         start;
  wire         made;
  wire         next;
  wire [31:0]  sec;
  wire [31:0]  nanosec;
  wire [31:0]  image_height;
  wire [31:0]  image_width;
  wire [31:0]  length;
  wire [63:0]  data;
  wire [7:0]   data_keep;
  wire         data_last;
  wire         data_valid;
  wire         data_ready;
  wire         other_came;
  wire         other_go_on;
  wire [31:0]  other_sec;
  wire [31:0]  other_nanosec;
  wire [7:0]   other_state;
  wire [31:0]  other_area;
  wire [127:0] other_box;
  wire         is_found;
  wire [31:0]  area;
  wire [31:0]  left;
  wire [31:0]  top;
  wire [31:0]  width;
  wire [31:0]  height;
  wire         lit;

  green_light_messages #(
    .CHANNELS(3),
    .MAX_BYTES(WIDTH * HEIGHT * 3),
    .MAX_ROW_BYTES(WIDTH * 3),
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT)
  ) u_messages (
    .clk,
    .rst,
    .s_axis_image_tdata,
    .s_axis_image_tkeep,
    .s_axis_image_tlast,
    .s_axis_image_tuser,
    .s_axis_image_tvalid,
    .s_axis_image_tready,
    .s_axis_other_tdata,
    .s_axis_other_tkeep,
    .s_axis_other_tlast,
    .s_axis_other_tuser,
    .s_axis_other_tvalid,
    .s_axis_other_tready,
    .light_publisher_id,
    .m_axis_light_tdata,
    .m_axis_light_tkeep,
    .m_axis_light_tlast,
    .m_axis_light_tuser,
    .m_axis_light_tvalid,
    .m_axis_light_tready,
    .start,
    .made,
    .next,
    .sec,
    .nanosec,
    .dropped,
    .busy,
    .image__height(image_height),
    .image__width(image_width),
    .image__data__length(length),
    .image__data__tdata(data),
    .image__data__tkeep(data_keep),
    .image__data__tlast(data_last),
    .image__data__tvalid(data_valid),
    .image__data__tready(data_ready),
    .other_came,
    .other_go_on,
    .other__header__stamp__sec(other_sec),
    .other__header__stamp__nanosec(other_nanosec),
    .other__state(other_state),
    .other__area(other_area),
    .other__box(other_box),
    .light__state(lit ? Green : 8'd0),
    .light__area(lit ? area : '0),
    .light__box(lit ? {height, width, top, left} : '0)
  );

  // Its lamp --------------------------------------------------------------------------------------

  wire is_searched;

  find_lamp #(
    .WIDTH(WIDTH),
    .HEIGHT(HEIGHT),
    .ROWS(HEIGHT * green_light_setup::Rows / 1000),
    .RUNS(green_light_setup::Runs),
    .LOW(green_light_setup::Low),
    .HIGH(green_light_setup::High),
    .AREA_MIN(AREA_MIN),
    .AREA_MAX(AREA_MAX),
    .FILL(green_light_setup::Fill),
    .ASPECT(green_light_setup::Aspect),
    .HOUSING(green_light_setup::Housing),
    .HOUSING_VALUE_MAX(HOUSING_VALUE_MAX)
  ) u_find (
    .clk,
    .rst,
    .clear(next),
    .s_data(data),
    .s_valid(data_valid),
    .s_ready(data_ready),
    .start,
    .done(is_searched),
    .found(is_found),
    .area,
    .left,
    .top,
    .width,
    .height
  );

  // Whether it counts ----------------------------------------------------------------------------

  wire is_told;
  wire red_before;

  other_light u_other (
    .clk,
    .rst,
    .clear(next),
    .note_sec(other_sec),
    .note_nanosec(other_nanosec),
    .note_lit(other_state == Red || other_state == Green),
    .note_valid(other_came),
    .note_ready(other_go_on),
    .ask(start),
    .sec,
    .nanosec,
    .answered(is_told),
    .lit(red_before)
  );

  assign made = is_searched && is_told;

  localparam logic [31:0] GoneImages = 32'd5;
  localparam logic [31:0] RearmImages = 32'd30;

  logic        armed;
  logic        seen;
  logic [31:0] dark_images;
  wire  [31:0] dark_before = red_before ? '0 : dark_images;
  wire  [31:0] dark_now = (&dark_before) ? dark_before : dark_before + 1'b1;
  wire         is_gone = seen && dark_now >= GoneImages;
  wire         is_armed = armed || red_before;

  assign lit = is_found && is_armed;

  always_ff @(posedge clk) begin
    if (next && made) begin
      armed <= lit ? is_armed : dark_now >= RearmImages || (is_armed && !is_gone);
      seen <= lit || (seen && !is_gone);
      dark_images <= lit ? '0 : dark_now;
    end
    if (rst) begin
      armed <= 1'b1;
      seen <= 1'b0;
      dark_images <= '0;
    end
  end

  // Images have one size.
  wire unused = &{1'b0, image_height, image_width, length, data_keep, data_last, other_area, other_box};

endmodule

`default_nettype wire
