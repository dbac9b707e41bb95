// Takes messages apart: from frames on a stream to the values of their fields.
//
// Function      Walks the program of a message type (`pc` asks for an operation, `op` is it, in the
//               same cycle) along each frame and gives every value as an event, in the order of the
//               payload. The modules `message_<topic>_take` that the network generator writes hold
//               the program, registers for small fields and streams for large ones.
// Events        One per number (event_data from bit 0 on), per length, and per beat of data: WIDTH
//               bits from the sequence's first byte on, event_bytes of them valid, event_index is
//               the element in byte 0. event_offset counts in the payload, from its first byte. After a
//               length that is not 0 come data, the last beat with event_last; event_user
//               with it and no bytes: the frame ended before its data.
// Messages      `valid`: all events of a message have gone, it was right, and the header stands at
//               the ports; the next one begins after `ready`. `failed`, one cycle: a frame was
//               dropped, what came of it is void; `fault` says why: 1 header, 2 its length, 3 too
//               short, 4 over a bound, 5 too long, 6 damaged (tuser). Never waits for beats that a
//               frame does not have.
// Operation     {item 1, kind 3, log 3, field 12, target 13, count 32} from the top:
//               0 number: `count` of 1 << log bytes. 1 sequence of numbers: at most `count` of
//               1 << log bytes. 2 align to 1 << log bytes. 3 sequence: loop of at most `count`, no
//               element: on to `target`. 4 array: loop of `count`. 5 end of a loop: back to `target`.
//               6 end. Loops and their ends carry their depth, 0 to 7, in log. item and field are
//               handed on with events.
// Latency       An event in the cycle after its bytes have arrived.
// Throughput    One number, length or operation per cycle; data at 1 beat per cycle.
// Back-pressure s_axis_tready depends on event_ready in the same cycle: put an axis_reg in front
//               where that path is long.
// Reset         Nothing taken, nothing offered.
// Parameters    WIDTH: bits of tdata, 64, 128, 256 or 512.
`default_nettype none

module frame_take #(
  parameter int unsigned WIDTH = 64
) (
  input  wire                        clk,
  input  wire                        rst,
  input  wire  [WIDTH-1:0]           s_axis_tdata,
  input  wire  [WIDTH/8-1:0]         s_axis_tkeep,
  input  wire                        s_axis_tlast,
  input  wire                        s_axis_tuser,
  input  wire                        s_axis_tvalid,
  output logic                       s_axis_tready,
  output logic [12:0]                pc,
  input  wire  [63:0]                op,
  output logic                       event_valid,
  input  wire                        event_ready,
  output logic                       event_item,
  output logic                       event_length,
  output logic                       event_sequence,
  output logic [11:0]                event_field,
  output logic [31:0]                event_index,
  output logic [31:0]                event_offset,
  output logic [WIDTH-1:0]           event_data,
  output logic [$clog2(WIDTH/8):0]   event_bytes,
  output logic                       event_last,
  output logic                       event_user,
  output logic [15:0]                header_publisher_id,
  output logic [31:0]                header_payload_bytes,
  output logic [31:0]                header_sequence,
  output logic [63:0]                header_stamp,
  output logic                       begins,
  output logic                       valid,
  input  wire                        ready,
  output logic                       failed,
  output logic [2:0]                 fault
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

  localparam logic [2:0] Head = 3'd0;
  localparam logic [2:0] Run = 3'd1;
  localparam logic [2:0] Data = 3'd2;
  localparam logic [2:0] Abort = 3'd3;
  localparam logic [2:0] Drain = 3'd4;
  localparam logic [2:0] Done = 3'd5;

  localparam logic [2:0] FaultHeader = 3'd1;
  localparam logic [2:0] FaultLength = 3'd2;
  localparam logic [2:0] FaultShort = 3'd3;
  localparam logic [2:0] FaultBound = 3'd4;
  localparam logic [2:0] FaultLong = 3'd5;
  localparam logic [2:0] FaultDamaged = 3'd6;

  wire        op_item = op[63];
  wire [2:0]  op_kind = op[62:60];
  wire [2:0]  op_log = op[59:57];
  wire [11:0] op_field = op[56:45];
  wire [12:0] op_target = op[44:32];
  wire [31:0] op_count = op[31:0];

  // Words of the frame that have arrived. Above `count` they are 0, so that beats can be put there.
  logic [Room*64-1:0]    words;
  logic [CountWidth-1:0] count;
  logic                  ended;       // the last of them is the frame's last
  logic [3:0]            last_bytes;  // and holds so many bytes, 1 to 8
  logic                  damaged;
  logic [CountWidth-1:0] pop;         // words that are used up in this cycle

  logic [2:0]  state;
  logic [1:0]  head_word;
  logic [2:0]  used;                  // bytes of the first word that are used up
  logic [28:0] gone;                  // words that are used up, header included
  logic [31:0] index;
  logic [31:0] left;                  // bytes of data still to come
  logic [31:0] turns [8];             // further turns of each loop

  // Arriving beats --------------------------------------------------------------------------------

  logic [CountWidth-1:0] arriving;
  logic [3:0]            arriving_bytes;
  wire  [CountWidth-1:0] stay = count - pop;
  wire                   accept = s_axis_tvalid && s_axis_tready;

  assign s_axis_tready = !ended && (state == Drain || stay <= CountWidth'(Words));

  always_comb begin
    arriving = CountWidth'(Words);
    arriving_bytes = 4'd8;
    if (s_axis_tlast) begin
      arriving = '0;
      for (int unsigned i = 0; i < Words; i++) begin
        if (s_axis_tkeep[8*i]) begin
          arriving = CountWidth'(i + 1);
          arriving_bytes = 4'd1;
          for (int unsigned j = 1; j < 8; j++)
            if (s_axis_tkeep[8*i+j]) arriving_bytes = 4'(j + 1);
        end
      end
    end
  end

  // The operation ----------------------------------------------------------------------------------

  wire        have = (count != '0);
  wire        first_is_last = ended && (count == CountWidth'(1));
  wire [3:0]  first_bytes = first_is_last ? last_bytes : 4'd8;
  wire        starved = ended && !have;

  wire        is_length = (op_kind == KindSequence || op_kind == KindLoop);
  wire [3:0]  size = is_length ? 4'd4 : 4'd1 << op_log[1:0];
  wire [3:0]  place = ({1'b0, used} + size - 4'd1) & ~(size - 4'd1);  // 8: in the next word
  wire [3:0]  place_end = place + size;
  wire [63:0] shifted = words[63:0] >> {place[2:0], 3'b000};
  wire [63:0] number = shifted & (64'hffffffffffffffff >> (7'd64 - {size, 3'b000}));

  wire        is_data = (state == Data);
  wire        data_ends = (left <= 32'(WIDTH / 8));
  wire [BytesWidth-1:0] data_bytes = data_ends ? left[BytesWidth-1:0] : BytesWidth'(WIDTH / 8);
  wire [BytesWidth+2:0] data_up = {3'b000, data_bytes} + (BytesWidth+3)'(7);
  wire [CountWidth-1:0] data_words = CountWidth'(data_up >> 3);
  wire [2:0]  data_rest = data_bytes[2:0];
  // Bytes of the last word that the beat needs, 1 to 8.
  wire [3:0]  data_in_last = (data_rest == 3'd0) ? 4'd8 : {1'b0, data_rest};
  wire        data_here = (count > data_words) ||
                          (count == data_words && (!ended || last_bytes >= data_in_last));

  logic       step;       // the operation is done
  logic [2:0] wrong;      // what is wrong, 0: nothing
  logic       take_length;
  wire        fire = event_valid && event_ready;

  wire [31:0] frame_bytes = {gone, 3'b000} + {29'd0, used};
  wire        at_end = (used == 3'd0) ? starved : (first_is_last && last_bytes == {1'b0, used});
  wire        beyond_end = (used == 3'd0) ? have
                         : (count > CountWidth'(1)) || (first_is_last && last_bytes > {1'b0, used});

  always_comb begin
    pop = '0;
    event_valid = 1'b0;
    step = 1'b0;
    wrong = 3'd0;
    take_length = 1'b0;
    case (state)
      Head: begin
        if (have && first_bytes == 4'd8) begin
          pop = CountWidth'(1);
          if (head_word == 2'd0 && words[15:0] != 16'h0001) wrong = FaultHeader;
        end else if (have || starved) wrong = FaultShort;
      end
      Run: begin
        if (op_kind == KindNumber || is_length || op_kind == KindAlign) begin
          if (place == 4'd8) begin  // there is a first word, as some of it was used
            if (first_bytes != 4'd8) wrong = FaultShort;
            else begin
              pop = CountWidth'(1);
              step = (op_kind == KindAlign);
            end
          end else if (op_kind == KindAlign) begin
            if (used != 3'd0 && first_bytes < place) wrong = FaultShort;
            else step = 1'b1;
          end else if (have) begin
            if (first_bytes < (is_length ? 4'd8 : place_end)) wrong = FaultShort;
            else if (is_length && number[31:0] > op_count) wrong = FaultBound;
            else begin
              event_valid = 1'b1;
              take_length = is_length && event_ready;
              // Data begin in the next word.
              if (event_ready && (is_length || place_end == 4'd8)) pop = CountWidth'(1);
              step = event_ready && (is_length || index + 32'd1 == op_count);
            end
          end else if (starved) wrong = FaultShort;
        end else if (op_kind == KindArray || op_kind == KindNext) begin
          step = 1'b1;
        end else begin
          if (beyond_end) wrong = FaultLong;
          else if (at_end) begin
            if (damaged) wrong = FaultDamaged;
            else if (frame_bytes != header_payload_bytes + 32'd24) wrong = FaultLength;
            else step = 1'b1;
          end
        end
      end
      Data: begin
        if (data_here) begin
          event_valid = 1'b1;
          if (event_ready)
            pop = (data_ends && data_rest != 3'd0) ? data_words - CountWidth'(1) : data_words;
        end else if (ended) wrong = FaultShort;
      end
      Abort: event_valid = 1'b1;
      default: ;
    endcase
  end

  assign event_item = op_item;
  assign event_length = (state == Run) && is_length;
  assign event_sequence = (state != Run);
  assign event_field = op_field;
  assign event_index = index;
  assign event_offset = {gone, 3'b000} - 32'd24 + ((state == Run) ? {28'd0, place} : 32'd0);
  always_comb begin
    event_data = WIDTH'(number);
    if (is_data)
      for (int unsigned i = 0; i < WIDTH / 8; i++)
        event_data[8*i +: 8] = (BytesWidth'(i) < data_bytes) ? words[8*i +: 8] : 8'd0;
  end
  assign event_bytes = is_data ? data_bytes
                     : (state == Abort) ? '0 : BytesWidth'(size);
  assign event_last = is_data ? data_ends : 1'b1;
  assign event_user = (state == Abort);

  assign begins = (state == Head);
  assign valid = (state == Done);
  assign failed = (state == Drain) && ended;

  // A memory of its own, for small tables of look-up tables.
  wire [31:0] turns_left = turns[op_log];
  wire [31:0] turns_new = (op_kind == KindNext) ? turns_left
                        : (op_kind == KindLoop) ? number[31:0] : op_count;
  always_ff @(posedge clk)
    if (state == Run && step && (op_kind == KindLoop || op_kind == KindArray || op_kind == KindNext))
      turns[op_log] <= turns_new - 32'd1;

  always_ff @(posedge clk) begin
    gone <= gone + 29'(pop);
    case (state)
      Head: begin
        if (pop != '0) begin
          head_word <= head_word + 2'd1;
          case (head_word)
            2'd0: begin
              header_publisher_id <= words[31:16];
              header_payload_bytes <= words[63:32];
            end
            2'd1: header_sequence <= words[31:0];
            default: begin
              header_stamp <= words[63:0];
              state <= Run;
            end
          endcase
        end
      end
      Run: begin
        if (place == 4'd8 && pop != '0) used <= '0;
        if (op_kind == KindAlign && place != 4'd8 && wrong == 3'd0) used <= place[2:0];
        if (op_kind == KindNumber && fire) begin
          used <= place_end[2:0];
          index <= index + 32'd1;
        end
        if (take_length) used <= '0;
        if (step) begin
          pc <= pc + 13'd1;
          index <= '0;
          case (op_kind)
            KindSequence: begin
              left <= number[31:0] << op_log[1:0];
              if (number[31:0] != '0) begin
                state <= Data;
                pc <= pc;
              end
            end
            KindLoop: if (number[31:0] == '0) pc <= op_target;
            KindNext: if (turns_left != '0) pc <= op_target;
            KindNumber, KindAlign, KindArray: ;
            default: begin
              state <= Done;
              pc <= '0;
            end
          endcase
        end
      end
      Data: begin
        if (fire) begin
          left <= left - 32'(data_bytes);
          index <= index + (32'(WIDTH / 8) >> op_log[1:0]);
          if (data_ends) begin
            state <= Run;
            pc <= pc + 13'd1;
            index <= '0;
            used <= data_rest;
          end
        end
      end
      Abort: if (event_ready) state <= Drain;
      default: ;
    endcase
    if (wrong != 3'd0) begin
      fault <= wrong;
      state <= (state == Data) ? Abort : Drain;
    end

    // What has arrived moves up, and a beat comes behind it.
    words <= words >> {pop, 6'd0};
    count <= stay;
    if (accept) begin
      words <= (words >> {pop, 6'd0}) | ((Room*64)'(s_axis_tdata) << {stay, 6'd0});
      count <= stay + arriving;
      ended <= s_axis_tlast;
      damaged <= s_axis_tlast && s_axis_tuser;
      if (arriving != '0) last_bytes <= arriving_bytes;
    end
    if (state == Drain) count <= '0;
    if (rst || (state == Done && ready) || failed) begin
      state <= Head;
      head_word <= '0;
      pc <= '0;
      used <= '0;
      gone <= '0;
      index <= '0;
      words <= '0;
      count <= '0;
      ended <= 1'b0;
      damaged <= 1'b0;
      last_bytes <= 4'd8;
    end
    if (rst) fault <= '0;
  end

`ifdef FORMAL
  `include "frame_take_formal.svh"
`endif

endmodule

`default_nettype wire
