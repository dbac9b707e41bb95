// Puts messages together: from the values of their fields to frames on a stream.
//
// Function      Walks the program of a message type (`pc` asks for an operation, `op` is it, in the
//               same cycle) and asks for every value in the order of the payload. The modules
//               `message_<topic>_publish` that the network generator writes hold the program and
//               choose between fields and streams of data. See frame_take for operations.
// Messages      A message is offered by `valid` with its header, and taken by `ready` when its last
//               beat is out; all values stand until then. `failed` with `ready`: a length was above
//               its bound or, with MEASURE 0, the payload was not as long as payload_bytes. Where
//               that came out before the first beat there is no frame, else it ends with tuser.
//               MEASURE 1: the program runs twice, first to learn the payload's length, for which no
//               data are asked; there are no sequences inside loops then. MEASURE 0: payload_bytes
//               says the length.
// Values        ask_valid with item, field, kind (number, length or data) and index, the element
//               that comes first; ask_bytes are wanted of it. give_data answers from bit 0 on, and is
//               taken in a cycle with give_valid and ask_ready. For numbers, and for lengths that the
//               first run asks for, too, the answer may depend on the question in the same cycle.
// Latency       MEASURE: a cycle per operation before the first beat.
// Throughput    One number, length or operation per cycle; data at 1 beat per cycle.
// Back-pressure ask_ready depends on m_axis_tready in the same cycle.
// Reset         Nothing taken, nothing offered; a message in progress must restart.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512. MEASURE: see above.
`default_nettype none

module frame_publish #(
  parameter int unsigned WIDTH = 64,
  parameter bit MEASURE = 1'b1
) (
  input  wire                        clk,
  input  wire                        rst,
  input  wire                        valid,
  output logic                       ready,
  output logic                       failed,
  input  wire  [15:0]                header_publisher_id,
  input  wire  [31:0]                header_sequence,
  input  wire  [63:0]                header_stamp,
  input  wire  [31:0]                payload_bytes,
  output logic [12:0]                pc,
  input  wire  [63:0]                op,
  output logic                       ask_valid,
  output logic                       ask_ready,
  output logic                       ask_item,
  output logic                       ask_length,
  output logic                       ask_sequence,
  output logic [11:0]                ask_field,
  output logic [31:0]                ask_index,
  output logic [$clog2(WIDTH/8):0]   ask_bytes,
  input  wire                        give_valid,
  input  wire  [WIDTH-1:0]           give_data,
  output logic [WIDTH-1:0]           m_axis_tdata,
  output logic [WIDTH/8-1:0]         m_axis_tkeep,
  output logic                       m_axis_tlast,
  output logic                       m_axis_tuser,
  output logic                       m_axis_tvalid,
  input  wire                        m_axis_tready
);

  if (WIDTH != 64 && WIDTH != 128 && WIDTH != 256 && WIDTH != 512) begin : g_bad_width
    $fatal(1, "%m: WIDTH is 64, 128, 256 or 512");
  end

  localparam int unsigned Words = WIDTH / 64;
  localparam int unsigned Room = 2 * Words;
  localparam int unsigned CountWidth = $clog2(Room + 1);
  localparam int unsigned BytesWidth = $clog2(WIDTH / 8) + 1;

  localparam logic [2:0] KindNumber = 3'd0;
  localparam logic [2:0] KindSequence = 3'd1;
  localparam logic [2:0] KindAlign = 3'd2;
  localparam logic [2:0] KindLoop = 3'd3;
  localparam logic [2:0] KindArray = 3'd4;
  localparam logic [2:0] KindNext = 3'd5;

  localparam logic [2:0] Idle = 3'd0;
  localparam logic [2:0] Measure = 3'd1;
  localparam logic [2:0] Head = 3'd2;
  localparam logic [2:0] Run = 3'd3;
  localparam logic [2:0] Data = 3'd4;
  localparam logic [2:0] Flush = 3'd5;

  wire        op_item = op[63];
  wire [2:0]  op_kind = op[62:60];
  wire [2:0]  op_log = op[59:57];
  wire [11:0] op_field = op[56:45];
  wire [12:0] op_target = op[44:32];
  wire [31:0] op_count = op[31:0];

  // Words on their way out. Above `count` they are 0.
  logic [Room*64-1:0]    words;
  logic [CountWidth-1:0] count;
  logic                  ended;       // the last of them is the frame's last
  logic [3:0]            last_bytes;  // and holds so many bytes, 1 to 8
  logic                  damaged;
  logic [CountWidth-1:0] push;        // words that come in this cycle
  logic [WIDTH-1:0]      pushed;

  logic [2:0]  state;
  logic [1:0]  head_word;
  logic [63:0] part;                  // the word in progress; 0 above `used`
  logic [2:0]  used;                  // its bytes
  logic [28:0] gone;                  // words before it, without the header
  logic [31:0] length;                // of the payload, bytes
  logic [31:0] index;
  logic [31:0] left;                  // bytes of data still to come
  logic [31:0] turns [8];             // further turns of each loop

  // Leaving beats ----------------------------------------------------------------------------------

  // A full beat waits until it is known not to be the last.
  wire out = m_axis_tvalid && m_axis_tready;
  wire [CountWidth-1:0] stay = out ? (m_axis_tlast ? '0 : count - CountWidth'(Words)) : count;
  wire [CountWidth-1:0] free = CountWidth'(Room) - stay;

  assign m_axis_tvalid = (count > CountWidth'(Words)) || ended;
  assign m_axis_tlast = ended && (count <= CountWidth'(Words));
  assign m_axis_tuser = m_axis_tlast && damaged;
  assign m_axis_tdata = words[WIDTH-1:0];

  always_comb begin
    for (int unsigned i = 0; i < Words; i++) begin
      m_axis_tkeep[8*i +: 8] = 8'hff;
      if (m_axis_tlast && CountWidth'(i + 1) == count)
        m_axis_tkeep[8*i +: 8] = 8'hff >> (4'd8 - last_bytes);
      if (m_axis_tlast && CountWidth'(i + 1) > count) m_axis_tkeep[8*i +: 8] = 8'h00;
    end
  end

  // The operation ----------------------------------------------------------------------------------

  wire        is_length = (op_kind == KindSequence || op_kind == KindLoop);
  wire [3:0]  size = is_length ? 4'd4 : 4'd1 << op_log[1:0];
  wire [3:0]  place = ({1'b0, used} + size - 4'd1) & ~(size - 4'd1);  // 8: in the next word
  wire [3:0]  place_end = place + size;
  wire [63:0] number = give_data[63:0] & (64'hffffffffffffffff >> (7'd64 - {size, 3'b000}));
  wire [63:0] grown = part | (number << {place[2:0], 3'b000});
  wire        over = is_length && (number[31:0] > op_count);

  wire        is_data = (state == Data);
  wire        data_ends = (left <= 32'(WIDTH / 8));
  wire [BytesWidth-1:0] data_bytes = data_ends ? left[BytesWidth-1:0] : BytesWidth'(WIDTH / 8);
  wire [2:0]  data_rest = data_bytes[2:0];
  wire [CountWidth-1:0] data_words = CountWidth'(data_bytes >> 3);  // whole ones
  logic [WIDTH-1:0]     data;
  logic [63:0]          data_part;   // and what is left for the word in progress

  always_comb begin
    data_part = '0;
    for (int unsigned i = 0; i < WIDTH / 8; i++)
      data[8*i +: 8] = (BytesWidth'(i) < data_bytes) ? give_data[8*i +: 8] : 8'd0;
    for (int unsigned i = 0; i < Words; i++)
      if (data_words == CountWidth'(i)) data_part = data[64*i +: 64];
  end

  // In the first run: where the payload stands after the operation.
  wire [31:0] at = {gone, 3'b000} + {29'd0, used};
  wire [31:0] at_place = {gone, 3'b000} + {28'd0, place};
  wire [31:0] at_data = (at_place + 32'd11) & ~32'd7;
  wire [31:0] data_length = number[31:0] << op_log[1:0];
  wire [31:0] at_next = (op_kind == KindNumber) ? at_place + (op_count << op_log[1:0])
                      : (op_kind == KindSequence) ? at_data + data_length
                      : (op_kind == KindAlign) ? at_place : at;

  wire [63:0] head = (head_word == 2'd0) ? {length, header_publisher_id, 16'h0001}
                   : (head_word == 2'd1) ? {32'd0, header_sequence} : header_stamp;

  logic step;  // the operation is done
  logic stop;  // the message cannot be sent as it is
  logic take;  // a value is taken
  logic finish;

  always_comb begin
    push = '0;
    pushed = '0;
    step = 1'b0;
    stop = 1'b0;
    take = 1'b0;
    finish = 1'b0;
    ask_valid = 1'b0;
    ask_ready = 1'b0;
    case (state)
      Measure: begin
        ask_valid = is_length;
        if (is_length && over) stop = 1'b1;
        else step = 1'b1;
      end
      Head: begin
        if (free != '0) push = CountWidth'(1);
        pushed = WIDTH'(head);
      end
      Run: begin
        if (op_kind == KindNumber || is_length || op_kind == KindAlign) begin
          if (place == 4'd8) begin
            if (free != '0) begin
              push = CountWidth'(1);
              step = (op_kind == KindAlign);
            end
            pushed = WIDTH'(part);
          end else if (op_kind == KindAlign) begin
            step = 1'b1;
          end else begin
            ask_valid = 1'b1;
            ask_ready = (free != '0);
            take = give_valid && ask_ready;
            stop = take && over;
            step = take && !over && (is_length || index + 32'd1 == op_count);
            // Data begin in the next word.
            if (take && !over && (is_length || place_end == 4'd8)) push = CountWidth'(1);
            pushed = WIDTH'(grown);
          end
        end else if (op_kind == KindArray || op_kind == KindNext) begin
          step = 1'b1;
        end else if (used == 3'd0 || free != '0) begin
          finish = 1'b1;
          if (used != 3'd0) push = CountWidth'(1);
          pushed = WIDTH'(part);
        end
      end
      Data: begin
        ask_valid = 1'b1;
        ask_ready = (free >= CountWidth'(Words));
        take = give_valid && ask_ready;
        if (take) push = data_words;
        pushed = data;
        if (data_rest != 3'd0)
          for (int unsigned i = 0; i < Words; i++)
            if (CountWidth'(i) >= data_words) pushed[64*i +: 64] = '0;
      end
      default: ;
    endcase
  end

  assign ask_item = op_item;
  assign ask_length = is_length && !is_data;
  assign ask_sequence = is_data;
  assign ask_field = op_field;
  assign ask_index = index;
  assign ask_bytes = is_data ? data_bytes : BytesWidth'(size);

  wire aborted = (state == Measure) && stop;
  assign ready = aborted || ((state == Flush) && out && m_axis_tlast);
  assign failed = aborted || ((state == Flush) && damaged && out && m_axis_tlast);

  wire [31:0] turns_left = turns[op_log];
  wire [31:0] turns_new = (op_kind == KindNext) ? turns_left
                        : (op_kind == KindLoop) ? number[31:0] : op_count;
  always_ff @(posedge clk)
    if (step && (op_kind == KindLoop || op_kind == KindArray || op_kind == KindNext))
      turns[op_log] <= turns_new - 32'd1;

  always_ff @(posedge clk) begin
    // What leaves makes place, and what comes is put behind the rest.
    words <= (out ? words >> WIDTH : words) | ((Room*64)'(pushed) << {stay, 6'd0});
    if (push == '0) words <= out ? words >> WIDTH : words;
    count <= stay + push;
    if (state == Run || state == Data) gone <= gone + 29'(push);

    if (step) begin
      pc <= pc + 13'd1;
      index <= '0;
      if (op_kind == KindLoop && number[31:0] == '0) pc <= op_target;
      if (op_kind == KindNext && turns_left != '0) pc <= op_target;
    end

    case (state)
      Idle: begin
        length <= payload_bytes;
        if (valid) state <= MEASURE ? Measure : Head;
      end
      Measure: begin
        {gone, used} <= at_next;
        if (op_kind > KindNext) begin
          length <= at;
          state <= Head;
          gone <= '0;
          used <= '0;
          pc <= '0;
        end
      end
      Head: begin
        if (push != '0) begin
          head_word <= head_word + 2'd1;
          if (head_word == 2'd2) state <= Run;
        end
      end
      Run: begin
        if (push != '0) begin
          part <= '0;
          used <= '0;
        end else if (op_kind == KindAlign && step) begin
          used <= place[2:0];
        end else if (take) begin
          part <= grown;
          used <= place_end[2:0];
        end
        if (take) begin
          if (op_kind == KindNumber && !step) index <= index + 32'd1;
          if (op_kind == KindSequence && !over) begin
            left <= data_length;
            if (number[31:0] != '0) begin
              state <= Data;
              pc <= pc;
            end
          end
        end
        if (finish || stop) begin
          state <= Flush;
          ended <= 1'b1;
          last_bytes <= (finish && used != 3'd0) ? {1'b0, used} : 4'd8;
          damaged <= stop || (at != length);
        end
      end
      Data: begin
        if (take) begin
          left <= left - 32'(data_bytes);
          index <= index + (32'(WIDTH / 8) >> op_log[1:0]);
          if (data_ends) begin
            state <= Run;
            pc <= pc + 13'd1;
            index <= '0;
            used <= data_rest;
            part <= data_part & {64{data_rest != 3'd0}};
          end
        end
      end
      default: ;
    endcase
    if (rst || ready) begin
      state <= Idle;
      head_word <= '0;
      pc <= '0;
      used <= '0;
      part <= '0;
      gone <= '0;
      index <= '0;
      words <= '0;
      count <= '0;
      ended <= 1'b0;
      damaged <= 1'b0;
      last_bytes <= 4'd8;
    end
  end

`ifdef FORMAL
  `include "frame_publish_formal.svh"
`endif

endmodule

`default_nettype wire
