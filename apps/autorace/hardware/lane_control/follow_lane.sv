// Follow lane: the drive command of one image, as apps/autorace/src/control.rs, bit for bit, with the
// constants of lane_control_setup.
//
// Function      `start` begins a command: of the lane (which lines are valid, and their coefficients
//               as they stand in the message, the first one lowest), of a red lamp that is near
//               enough to stop at, and of a green one. They stand until `next`.
// Result        From `done` until `next`: speed and turn rate as numbers of a message.
// Latency       About 570 cycles with both lines, less with one or none: one multiplication,
//               division or root after the other, a bit per cycle.
// Throughput    One command at a time.
// Reset         In motion, straight ahead.
// Parameters    BLIND_IMAGES: as of the software node.
`default_nettype none

module follow_lane #(
  parameter int unsigned BLIND_IMAGES = 10
) (
  input  wire         clk,
  input  wire         rst,
  input  wire         start,
  input  wire         next,
  input  wire  [1:0]  valid,       // bit 0 left, bit 1 right
  input  wire  [191:0] left,
  input  wire  [191:0] right,
  input  wire         red_is_near,
  input  wire         green_is_shown,
  output logic        done,
  output logic [63:0] linear,
  output logic [63:0] angular
);

  localparam int unsigned Width = 72;
  localparam logic [17:0] OffsetMost = '1;
  localparam logic [Width-1:0] CurvatureMost = Width'(1) << 28;

  // T, S, H, D, C, W, V and A of the specification.
  localparam logic [Width-1:0] Ahead = Width'(lane_control_setup::AheadSize);
  localparam logic [Width-1:0] Stretch = Width'(lane_control_setup::Stretch);
  localparam logic [Width-1:0] Half = Width'(lane_control_setup::Half);
  localparam logic [Width-1:0] Distance = Width'(lane_control_setup::Distance);
  localparam logic [Width-1:0] Bend = Width'(lane_control_setup::Bend);
  localparam logic [Width-1:0] Slowing = Width'(lane_control_setup::Slowing);
  localparam logic [Width-1:0] LinearMax = Width'(lane_control_setup::LinearMax);
  localparam logic [Width-1:0] AngularMax = Width'(lane_control_setup::AngularMax);

  localparam logic [3:0] Wait = 4'd0;
  localparam logic [3:0] Parts = 4'd1;      // the coefficients of a line
  localparam logic [3:0] Inner = 4'd2;      // p0 T
  localparam logic [3:0] Outer = 4'd3;      // (p0 T + p1) T
  localparam logic [3:0] Square = 4'd4;     // of the slope
  localparam logic [3:0] Across = 4'd5;     // the line's length beside the view's
  localparam logic [3:0] Halve = 4'd6;      // half a lane across the line
  localparam logic [3:0] Far = 4'd7;        // the square of the offset
  localparam logic [3:0] Bent = 4'd8;       // the offset's share of a curvature
  localparam logic [3:0] Curve = 4'd9;
  localparam logic [3:0] Slow = 4'd10;
  localparam logic [3:0] Speed = 4'd11;
  localparam logic [3:0] Turn = 4'd12;
  localparam logic [3:0] Tell = 4'd13;      // two numbers for the message
  localparam logic [3:0] Done = 4'd14;

  logic [3:0] state;

  // Whole numbers of what the message has ---------------------------------------------------------

  logic               is_right;      // the line that is looked at
  logic [1:0]         part;
  logic               converts;
  logic               converted;
  wire  [191:0]       of_line = is_right ? right : left;
  wire  signed [31:0] number;
  logic signed [31:0] parts [3];

  from_double #(
    .BITS(32),
    .FRACTION(16)
  ) u_number (
    .clk,
    .rst,
    .start(state == Parts && !converts),
    .s_double((part == 2'd0) ? of_line[63:0] : (part == 2'd1) ? of_line[127:64] : of_line[191:128]),
    .m_number(number),
    .done(converted)
  );

  // Arithmetic ------------------------------------------------------------------------------------

  logic [1:0]              what;
  logic [Width-1:0]        a;
  logic [Width-1:0]        b;
  logic                    calculates;
  logic                    calculated;
  wire  [Width-1:0]        result;
  wire                     is_math = state >= Inner && state <= Turn;

  serial_math #(
    .WIDTH(Width)
  ) u_math (
    .clk,
    .rst,
    .start(is_math && !calculates),
    .what,
    .a,
    .b,
    .result,
    .done(calculated)
  );

  logic signed [39:0]      inner;    // p0 T >> 16 + p1
  logic signed [39:0]      slope;
  logic signed [43:0]      column [2];
  logic signed [43:0]      middle;
  logic [Width-1:0]        squared;
  logic [Width-1:0]        bent;
  logic                    bends_right;
  logic [Width-1:0]        curvature;   // its size
  logic [Width-1:0]        speed;

  // What is taken from a product with the sign of its factors, rounded down.
  function automatic logic signed [Width-1:0] with_sign(input logic negative,
      input logic [Width-1:0] size);
    with_sign = negative ? -size : size;
  endfunction
  function automatic logic [Width-1:0] size_of(input logic signed [43:0] value);
    size_of = value[43] ? Width'(-value) & Width'({44{1'b1}}) : Width'(value);
  endfunction

  wire                     aheads_back = lane_control_setup::AheadNegative;
  wire signed [Width-1:0]  turned = with_sign((state == Inner ? parts[0][31] : inner[39])
      ^ aheads_back, result);
  wire signed [43:0]       slope_8 = 44'(slope >>> 8);
  wire signed [43:0]       both = column[0] + column[1];
  wire signed [43:0]       half_lane = $signed(44'(result >> 16));
  wire signed [43:0]       aside = 44'sd20971520 - middle;   // 320 columns
  wire signed [43:0]       aside_8 = aside >>> 8;
  wire [Width-1:0]         offset = (size_of(aside_8) > Width'(OffsetMost)) ? Width'(OffsetMost)
      : size_of(aside_8);

  always_comb begin
    what = 2'd0;
    a = '0;
    b = '0;
    case (state)
      Inner: begin
        a = size_of(44'(parts[0]));
        b = Ahead;
      end
      Outer: begin
        a = size_of(44'(inner));
        b = Ahead;
      end
      Square: begin
        a = size_of(slope_8);
        b = size_of(slope_8);
      end
      Across: begin
        what = 2'd2;
        a = squared + Stretch * Stretch;
      end
      Halve: begin
        a = squared;
        b = Half;
      end
      Far: begin
        a = offset;
        b = offset;
      end
      Bent: begin
        a = Bend;
        b = offset;
      end
      Curve: begin
        what = 2'd1;
        a = bent;
        b = squared + Distance * Distance;
      end
      Slow: begin
        a = Slowing;
        b = curvature;
      end
      Speed: begin
        what = 2'd1;
        a = LinearMax << 20;
        b = squared;
      end
      default: begin
        a = speed;
        b = curvature;
      end
    endcase
  end

  // State between images --------------------------------------------------------------------------

  logic        stopped;
  logic [31:0] blind;
  wire         stops = red_is_near || (stopped && !green_is_shown);
  wire         sees = valid != '0;
  wire [31:0]  blind_now = sees ? '0 : (&blind) ? blind : blind + 1'b1;
  wire         stands = stops || blind_now > 32'(BLIND_IMAGES);

  // Numbers for the message -----------------------------------------------------------------------

  logic               tells_angular;
  logic               tells;
  logic               stands_now;
  logic [Width-1:0]   rate;
  wire  [39:0]        limited = 40'((rate > AngularMax) ? AngularMax : rate);
  wire  signed [39:0] told = stands_now ? '0 : !tells_angular ? $signed(speed[39:0])
      : bends_right ? -$signed(limited) : $signed(limited);
  wire [63:0]         double;
  wire                is_told;

  to_double #(
    .BITS(40)
  ) u_double (
    .clk,
    .rst,
    .start(state == Tell && !tells),
    .s_number(told),
    .fraction(6'd30),
    .m_double(double),
    .done(is_told)
  );

  assign done = state == Done;

  always_ff @(posedge clk) begin
    converts <= state == Parts && !converted;
    calculates <= is_math && !calculated;
    tells <= state == Tell && !is_told;

    case (state)
      Wait: if (start) begin
        stopped <= stops;
        blind <= blind_now;
        stands_now <= stands;
        is_right <= !valid[0];
        part <= '0;
        tells_angular <= 1'b0;
        state <= sees ? Parts : stands ? Tell : Slow;
      end
      Parts: if (converted) begin
        parts[2] <= number;
        parts[1] <= parts[2];
        parts[0] <= parts[1];
        part <= (part == 2'd2) ? '0 : part + 1'b1;
        if (part == 2'd2) state <= Inner;
      end
      Inner: if (calculated) begin
        inner <= 40'(turned >>> 16) + 40'(parts[1]);
        slope <= 40'(turned >>> 15) + 40'(parts[1]);
        state <= Outer;
      end
      Outer: if (calculated) begin
        if (!is_right) column[0] <= 44'(turned >>> 16) + 44'(parts[2]);
        else column[1] <= 44'(turned >>> 16) + 44'(parts[2]);
        is_right <= 1'b1;
        state <= (!is_right && valid[1]) ? Parts : Square;
      end
      Square: if (calculated) begin
        squared <= result;
        state <= Across;
      end
      Across: if (calculated) begin
        squared <= result;
        state <= Halve;
      end
      Halve: if (calculated) begin
        // With both lines none of this counts.
        middle <= (&valid) ? both >>> 1 : valid[0] ? column[0] + half_lane : column[1] - half_lane;
        state <= Far;
      end
      Far: if (calculated) begin
        squared <= result;
        state <= Bent;
      end
      Bent: if (calculated) begin
        bent <= result;
        state <= Curve;
      end
      Curve: if (calculated) begin
        curvature <= (result > CurvatureMost) ? CurvatureMost : result;
        bends_right <= aside_8[43];
        state <= Slow;
      end
      Slow: if (calculated) begin
        squared <= (result >> 20) + (Width'(1) << 20);
        state <= Speed;
      end
      Speed: if (calculated) begin
        speed <= result;
        state <= Turn;
      end
      Turn: if (calculated) begin
        rate <= result >> 20;
        state <= Tell;
      end
      Tell: if (is_told) begin
        tells_angular <= 1'b1;
        if (!tells_angular) linear <= double;
        else angular <= double;
        if (tells_angular) state <= Done;
      end
      default: ;
    endcase
    if (next) state <= Wait;
    if (rst) begin
      state <= Wait;
      stopped <= 1'b0;
      blind <= '0;
      curvature <= '0;
      bends_right <= 1'b0;
    end
  end

endmodule

`default_nettype wire
