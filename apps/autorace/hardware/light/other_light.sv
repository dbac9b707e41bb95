// Other light: whether the other light was lit in the image before, as OtherLight in
// apps/autorace/src/hand_over.rs tells by stamps, bit for bit.
//
// Function      Notes what the other node reported for images (`note_valid`, with its stamp and
//               whether a light was lit), the last 8 of them. `ask` begins the image of `sec` and
//               `nanosec`: `answered` says that `lit` tells whether the other light was lit in the
//               image that was asked about before. If nothing was noted for that one, the last known
//               state stays. The answer stands until clear.
// Clear         The answer is done with. Notes and the last image stay.
// Latency       A note takes 4 cycles, an answer 5 to 12, after a note that is being taken.
// Back-pressure note_ready is high in the last of the cycles of a note.
// Reset         Nothing noted, no image before, not lit.
`default_nettype none

module other_light (
  input  wire         clk,
  input  wire         rst,
  input  wire         clear,
  input  wire  [31:0] note_sec,
  input  wire  [31:0] note_nanosec,
  input  wire         note_lit,
  input  wire         note_valid,
  output logic        note_ready,
  input  wire         ask,
  input  wire  [31:0] sec,
  input  wire  [31:0] nanosec,
  output logic        answered,
  output logic        lit
);

  localparam logic [2:0] Wait = 3'd0;
  localparam logic [2:0] Seconds = 3'd1;
  localparam logic [2:0] Stamp = 3'd2;
  localparam logic [2:0] Note = 3'd3;
  localparam logic [2:0] Search = 3'd4;

  logic [2:0] state;
  logic       asked;       // and not begun
  logic       is_question;

  // A stamp in ns: two pairs of seconds and nanoseconds may be the same time.
  logic signed [31:0] whole;
  logic        [31:0] part;
  logic signed [63:0] seconds_ns;
  logic signed [63:0] stamp_ns;

  // What was noted, the oldest one next -----------------------------------------------------------

  logic [64:0] notes [8];
  logic [7:0]  noted;
  logic [2:0]  next;
  logic [2:0]  at;
  wire  [64:0] note = notes[at];

  logic        has_previous;
  logic [63:0] previous_ns;
  logic        searches_for;   // there was an image before
  logic [63:0] searched_ns;
  wire         is_found = searches_for && noted[at] && note[63:0] == searched_ns;

  assign note_ready = state == Note;

  always_ff @(posedge clk) begin
    seconds_ns <= 64'(whole) * 64'sd1000000000;
    case (state)
      Wait: if (asked || note_valid) begin
        asked <= 1'b0;
        is_question <= asked;
        whole <= $signed(asked ? sec : note_sec);
        part <= asked ? nanosec : note_nanosec;
        state <= Seconds;
      end
      Seconds: state <= Stamp;
      Stamp: begin
        stamp_ns <= seconds_ns + $signed({32'd0, part});
        at <= '0;
        searches_for <= has_previous;
        searched_ns <= previous_ns;
        state <= is_question ? Search : Note;
      end
      Note: begin
        notes[next] <= {note_lit, stamp_ns};
        noted[next] <= 1'b1;
        next <= next + 1'b1;
        state <= Wait;
      end
      default: begin
        has_previous <= 1'b1;
        previous_ns <= stamp_ns;
        at <= at + 1'b1;
        if (is_found) lit <= note[64];
        if (is_found || at == 3'd7) begin
          answered <= 1'b1;
          state <= Wait;
        end
      end
    endcase
    // Also in the cycle in which a note begins.
    if (ask) asked <= 1'b1;
    if (clear) answered <= 1'b0;
    if (rst) begin
      state <= Wait;
      asked <= 1'b0;
      noted <= '0;
      next <= '0;
      has_previous <= 1'b0;
      answered <= 1'b0;
      lit <= 1'b0;
    end
  end

endmodule

`default_nettype wire
