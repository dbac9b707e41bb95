// Pixel gear: the pixels of a packed rgb8 picture, as its bytes pass.
//
// Function      Bytes pass 8 per beat, 3 per pixel; pixels do not end with beats. In the cycle in
//               which a beat passes, the pixels that it completes stand at m_pixels, the first one
//               lowest, red in the lowest byte: 2, 3 and 3 of three full beats. m_valid says which.
//               s_last is the picture's last beat, of which s_bytes count; bytes of a pixel that is
//               not whole are forgotten with it.
// Latency       None.
// Throughput    8 pixels in 3 beats.
// Back-pressure None: it looks at what others pass on. `pass` is their valid and ready.
// Ordering      As in the picture.
// Reset         The next beat begins a picture.
`default_nettype none

module pixel_gear (
  input  wire         clk,
  input  wire         rst,
  input  wire  [63:0] s_data,
  input  wire  [3:0]  s_bytes,
  input  wire         s_last,
  input  wire         pass,
  output logic [71:0] m_pixels,
  output logic [2:0]  m_valid
);

  logic [1:0]  phase;  // beats since pixels and beats began together
  logic [15:0] over;   // the last bytes of the beat before: those that are left of it are on top
  wire  [79:0] bytes = {s_data, over};

  always_comb begin
    // Each pixel, and the byte of the beat with which it ends.
    case (phase)
      2'd0: m_pixels = {24'd0, bytes[16 +: 48]};
      2'd1: m_pixels = bytes[0 +: 72];
      default: m_pixels = bytes[8 +: 72];
    endcase
    for (int unsigned i = 0; i < 3; i++) begin
      case (phase)
        2'd0: m_valid[i] = pass && i < 2 && s_bytes > 4'(3 * i + 2);
        2'd1: m_valid[i] = pass && s_bytes > 4'(3 * i);
        default: m_valid[i] = pass && s_bytes > 4'(3 * i + 1);
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (pass) begin
      over <= s_data[63:48];
      phase <= (s_last || phase == 2'd2) ? '0 : phase + 1'b1;
    end
    if (rst) phase <= '0;
  end

`ifdef FORMAL
  `include "pixel_gear_formal.svh"
`endif

endmodule

`default_nettype wire
