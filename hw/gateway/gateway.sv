// Gateway: joins a topic's AXI stream and the host's shared memory, each message moved once.
//
// Function      Two engines that share nothing but the registers. Down, host to topic: the host
//               sends the words of a message (see gateway_words) to the osif client on command_*
//               and sent_*; gateway_down makes descriptors and a header of them, memif_read gathers
//               the payload, axis_header puts both together as a frame with PUBLISHER_ID. Messages
//               are read ahead, as far as MESSAGES and the buffer reach. SENT comes as soon as a
//               message's last byte has been read, be the frame still here. Up, topic to host: the
//               host posts credits to the client on credit_* and arrived_*; a message of the topic
//               takes one, and memif_write cuts it through to memory, header included. ARRIVED
//               comes after the last write response. A message with PUBLISHER_ID is dropped, one
//               without a credit waits (reliable) or is dropped. An axis_fifo keeps the memory's
//               jitter off the topic. A message never turns round here: what goes down comes from
//               memory, what goes up from the topic, and what this gateway has sent is known by its
//               id.
// Damage        Down: segments that do not add up to the payload, or an error of the memory, end
//               the frame with tuser. Up: the status of ARRIVED, see memif_write; it is for the
//               host to post the credit again.
// Latency       Down: 4 cycles from the word that completes a message to the read address, then the
//               memory's, then 2 and 1 more where memif_read packs. Up: 5 cycles from a message's
//               first beat to its first beat on the write channel; with ISOLATE its first burst, or
//               all of it, must have come. ARRIVED follows the last response by 3 cycles.
// Throughput    1 beat per cycle in each direction at the same time, headers included; up, 3 cycles
//               between messages.
// Memory        AXI4, one ID, as memif_read and memif_write say: nothing outside segments and
//               credits, payload read once, frame written once. rready is always high; bready is
//               low for a cycle per message only; with ISOLATE a burst's address leaves only when
//               its data is there: several gateways may share a port through memif_share. Without
//               it, a publisher that falls silent holds the port's write channel.
// Back-pressure The topic waits up when the FIFO is full: behind the memory, or behind a message
//               that waits for a credit. Down, the topic sets the pace. Neither direction waits
//               for the other, nor for a host that does not take its words.
// Registers     64 bit, by number. Reading has no side effect and gives the value 1 cycle later.
//                 0 CONTROL        rw bit 0: reliable
//                                  r  bit 1: a message has begun to come from the topic, and has
//                                     not ended
//                 1 SHAPE          r  bits 15:0 PUBLISHER_ID, 31:16 WIDTH, 39:32 CREDITS,
//                                     47:40 MESSAGES
//                 2 MAX_BYTES      r  bound of the payload down
//                 3 DOWN_MESSAGES  frames sent         8 UP_MESSAGES   ARRIVED
//                 4 DOWN_BYTES     read from memory    9 UP_BYTES      written to memory
//                 5 DOWN_DAMAGED   SENT with damage   10 UP_DAMAGED    ARRIVED with a status
//                   or an error
//                 6 DOWN_REFUSED   words, messages    11 UP_NO_CREDIT  dropped for want of a credit
//                 7 DOWN_STALL     cycles in which    12 UP_OWN        dropped, own id
//                   the topic took no beat on offer   13 UP_REFUSED    credits and words refused
//                                                     14 UP_STALL      cycles in which a beat of
//                                                        the topic was on offer and not taken
//                                                     15 UP_WAITING    cycles without a credit
//               Counts wrap: cycles and bytes at 48 bit, others at 32.
// Busy          busy is high while a beat waits in the FIFO. While it is low, no word, beat, burst or
//               answer is offered on any side, and no register is accessed, the clock may stand
//               still: 256 cycles later at the earliest.
// Ordering      First in, first out in each direction.
// Reset         Nothing in progress, no credits, counts zero, CONTROL as RELIABLE says. The
//               memory's side, the topic and the osif must restart with it.
// Parameters    WIDTH: bits of tdata, wdata and rdata, 64, 128, 256 or 512. ADDRESS_WIDTH: 13 to
//               64. PUBLISHER_ID: 0 to 65535, unique on the topic. MAX_BYTES: bound of the payload.
//               MESSAGES: down, under way at the same time, a power of two, 2 to 16. CREDITS: a
//               power of two, 2 to 16. FIFO_BEATS: a power of two, 4 or more; with ISOLATE at least
//               WRITE_BURST_BEATS, for full throughput 4 times as many. READ_BURST_BEATS,
//               WRITE_BURST_BEATS: powers of two, 2 to 64; with ISOLATE a short write burst is an
//               early ARRIVED. READ_BUFFER_BEATS, READ_DESCRIPTORS: see memif_read.
//               WRITE_OUTSTANDING: see memif_write. RELIABLE, ISOLATE: 0 or 1.
`default_nettype none

module gateway #(
  parameter int unsigned WIDTH = 64,
  parameter int unsigned ADDRESS_WIDTH = 40,
  parameter int unsigned PUBLISHER_ID = 1,
  parameter int unsigned MAX_BYTES = 1 << 20,
  parameter int unsigned MESSAGES = 4,
  parameter int unsigned CREDITS = 4,
  parameter int unsigned FIFO_BEATS = 512,
  parameter int unsigned READ_BURST_BEATS = 64,
  parameter int unsigned READ_BUFFER_BEATS = 512,
  parameter int unsigned READ_DESCRIPTORS = 8,
  parameter int unsigned WRITE_BURST_BEATS = 16,
  parameter int unsigned WRITE_OUTSTANDING = 16,
  parameter bit          RELIABLE = 1'b1,
  parameter bit          ISOLATE = 1'b1
) (
  input  wire                      clk,
  input  wire                      rst,
  input  wire  [127:0]             command_word,
  input  wire                      command_valid,
  output logic                     command_ready,
  output logic [127:0]             sent_word,
  output logic                     sent_valid,
  input  wire                      sent_ready,
  input  wire  [127:0]             credit_word,
  input  wire                      credit_valid,
  output logic                     credit_ready,
  output logic [127:0]             arrived_word,
  output logic                     arrived_valid,
  input  wire                      arrived_ready,
  input  wire  [WIDTH-1:0]         s_axis_tdata,
  input  wire  [WIDTH/8-1:0]       s_axis_tkeep,
  input  wire                      s_axis_tlast,
  input  wire                      s_axis_tuser,
  input  wire                      s_axis_tvalid,
  output logic                     s_axis_tready,
  output logic [WIDTH-1:0]         m_axis_tdata,
  output logic [WIDTH/8-1:0]       m_axis_tkeep,
  output logic                     m_axis_tlast,
  output logic                     m_axis_tuser,
  output logic                     m_axis_tvalid,
  input  wire                      m_axis_tready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_awaddr,
  output logic [7:0]               m_axi_awlen,
  output logic [2:0]               m_axi_awsize,
  output logic [1:0]               m_axi_awburst,
  output logic                     m_axi_awvalid,
  input  wire                      m_axi_awready,
  output logic [WIDTH-1:0]         m_axi_wdata,
  output logic [WIDTH/8-1:0]       m_axi_wstrb,
  output logic                     m_axi_wlast,
  output logic                     m_axi_wvalid,
  input  wire                      m_axi_wready,
  input  wire  [1:0]               m_axi_bresp,
  input  wire                      m_axi_bvalid,
  output logic                     m_axi_bready,
  output logic [ADDRESS_WIDTH-1:0] m_axi_araddr,
  output logic [7:0]               m_axi_arlen,
  output logic [2:0]               m_axi_arsize,
  output logic [1:0]               m_axi_arburst,
  output logic                     m_axi_arvalid,
  input  wire                      m_axi_arready,
  input  wire  [WIDTH-1:0]         m_axi_rdata,
  input  wire  [1:0]               m_axi_rresp,
  input  wire                      m_axi_rlast,
  input  wire                      m_axi_rvalid,
  output logic                     m_axi_rready,
  input  wire  [3:0]               register_address,
  input  wire                      register_write,
  input  wire  [63:0]              register_write_data,
  output logic [63:0]              register_read_data,
  output logic                     busy
);

  if (ISOLATE && FIFO_BEATS < WRITE_BURST_BEATS) begin : g_bad_fifo
    $fatal(1, "%m: FIFO_BEATS is at least WRITE_BURST_BEATS");
  end

  localparam int unsigned WideCount = 48;

  // Down -----------------------------------------------------------------------------------------

  logic [ADDRESS_WIDTH-1:3] read_address;
  logic [31:0]              read_bytes;
  logic                     read_last;
  logic                     read_valid;
  logic                     read_ready;
  logic                     read_done_error;
  logic                     read_done_valid;
  logic                     read_done_ready;
  logic [191:0]             header;
  logic                     header_empty;
  logic                     header_damaged;
  logic                     header_valid;
  logic                     header_ready;
  logic [WIDTH-1:0]         payload_tdata;
  logic [WIDTH/8-1:0]       payload_tkeep;
  logic                     payload_tlast;
  logic                     payload_tuser;
  logic                     payload_tvalid;
  logic                     payload_tready;
  logic [31:0]              down_messages;
  logic [31:0]              down_damaged;
  logic [31:0]              down_refused;
  logic [WideCount-1:0]     down_bytes;
  logic [WideCount-1:0]     down_stall;

  gateway_down #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .PUBLISHER_ID (PUBLISHER_ID),
    .MAX_BYTES    (MAX_BYTES),
    .MESSAGES     (MESSAGES)
  ) u_down (
    .clk           (clk),
    .rst           (rst),
    .command_word  (command_word),
    .command_valid (command_valid),
    .command_ready (command_ready),
    .sent_word     (sent_word),
    .sent_valid    (sent_valid),
    .sent_ready    (sent_ready),
    .desc_address  (read_address),
    .desc_bytes    (read_bytes),
    .desc_last     (read_last),
    .desc_valid    (read_valid),
    .desc_ready    (read_ready),
    .done_error    (read_done_error),
    .done_valid    (read_done_valid),
    .done_ready    (read_done_ready),
    .header        (header),
    .header_empty  (header_empty),
    .header_damaged(header_damaged),
    .header_valid  (header_valid),
    .header_ready  (header_ready),
    .count_messages(down_messages),
    .count_damaged (down_damaged),
    .count_refused (down_refused)
  );

  logic                 unused_read_tag;
  logic [WideCount-1:0] unused_read_beats;
  logic [15:0]          unused_read_errors;

  memif_read #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .TAG_WIDTH    (1),
    .BURST_BEATS  (READ_BURST_BEATS),
    .BUFFER_BEATS (READ_BUFFER_BEATS),
    .DESCRIPTORS  (READ_DESCRIPTORS),
    .COUNT_WIDTH  (WideCount)
  ) u_read (
    .clk          (clk),
    .rst          (rst),
    .desc_address (read_address),
    .desc_bytes   (read_bytes),
    .desc_tag     (1'b0),
    .desc_last    (read_last),
    .desc_valid   (read_valid),
    .desc_ready   (read_ready),
    .done_tag     (unused_read_tag),
    .done_error   (read_done_error),
    .done_valid   (read_done_valid),
    .done_ready   (read_done_ready),
    .m_axis_tdata (payload_tdata),
    .m_axis_tkeep (payload_tkeep),
    .m_axis_tlast (payload_tlast),
    .m_axis_tuser (payload_tuser),
    .m_axis_tvalid(payload_tvalid),
    .m_axis_tready(payload_tready),
    .m_axi_araddr (m_axi_araddr),
    .m_axi_arlen  (m_axi_arlen),
    .m_axi_arsize (m_axi_arsize),
    .m_axi_arburst(m_axi_arburst),
    .m_axi_arvalid(m_axi_arvalid),
    .m_axi_arready(m_axi_arready),
    .m_axi_rdata  (m_axi_rdata),
    .m_axi_rresp  (m_axi_rresp),
    .m_axi_rlast  (m_axi_rlast),
    .m_axi_rvalid (m_axi_rvalid),
    .m_axi_rready (m_axi_rready),
    .count_bytes  (down_bytes),
    .count_beats  (unused_read_beats),
    .count_error  (unused_read_errors)
  );

  axis_header #(
    .WIDTH(WIDTH)
  ) u_header (
    .clk           (clk),
    .rst           (rst),
    .header        (header),
    .header_empty  (header_empty),
    .header_damaged(header_damaged),
    .header_valid  (header_valid),
    .header_ready  (header_ready),
    .s_axis_tdata  (payload_tdata),
    .s_axis_tkeep  (payload_tkeep),
    .s_axis_tlast  (payload_tlast),
    .s_axis_tuser  (payload_tuser),
    .s_axis_tvalid (payload_tvalid),
    .s_axis_tready (payload_tready),
    .m_axis_tdata  (m_axis_tdata),
    .m_axis_tkeep  (m_axis_tkeep),
    .m_axis_tlast  (m_axis_tlast),
    .m_axis_tuser  (m_axis_tuser),
    .m_axis_tvalid (m_axis_tvalid),
    .m_axis_tready (m_axis_tready)
  );

  // Up -------------------------------------------------------------------------------------------

  logic                     reliable;
  logic                     in_message;   // of the topic, in front of the FIFO
  logic [WIDTH-1:0]         queued_tdata;
  logic [WIDTH/8-1:0]       queued_tkeep;
  logic                     queued_tlast;
  logic                     queued_tuser;
  logic                     queued_tvalid;
  logic                     queued_tready;
  logic [WIDTH-1:0]         rising_tdata;
  logic [WIDTH/8-1:0]       rising_tkeep;
  logic                     rising_tlast;
  logic                     rising_tuser;
  logic                     rising_tvalid;
  logic                     rising_tready;
  logic [ADDRESS_WIDTH-1:6] write_address;
  logic [31:0]              write_capacity;
  logic                     write_valid;
  logic                     write_ready;
  logic                     address_valid;
  logic                     address_open;
  logic [31:0]              write_done_bytes;
  logic [2:0]               write_done_status;
  logic                     write_done_valid;
  logic                     write_done_ready;
  logic [31:0]              up_messages;
  logic [31:0]              up_damaged;
  logic [31:0]              up_no_credit;
  logic [31:0]              up_own;
  logic [31:0]              up_refused;
  logic [31:0]              up_waiting;
  logic [WideCount-1:0]     up_bytes;
  logic [WideCount-1:0]     up_stall;

  axis_fifo #(
    .WIDTH(WIDTH),
    .DEPTH(FIFO_BEATS)
  ) u_fifo (
    .clk          (clk),
    .rst          (rst),
    .s_axis_tdata (s_axis_tdata),
    .s_axis_tkeep (s_axis_tkeep),
    .s_axis_tlast (s_axis_tlast),
    .s_axis_tuser (s_axis_tuser),
    .s_axis_tvalid(s_axis_tvalid),
    .s_axis_tready(s_axis_tready),
    .m_axis_tdata (queued_tdata),
    .m_axis_tkeep (queued_tkeep),
    .m_axis_tlast (queued_tlast),
    .m_axis_tuser (queued_tuser),
    .m_axis_tvalid(queued_tvalid),
    .m_axis_tready(queued_tready)
  );

  gateway_up #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .PUBLISHER_ID (PUBLISHER_ID),
    .CREDITS      (CREDITS),
    .BURST_BEATS  (WRITE_BURST_BEATS),
    .ISOLATE      (ISOLATE)
  ) u_up (
    .clk              (clk),
    .rst              (rst),
    .reliable         (reliable),
    .credit_word      (credit_word),
    .credit_valid     (credit_valid),
    .credit_ready     (credit_ready),
    .arrived_word     (arrived_word),
    .arrived_valid    (arrived_valid),
    .arrived_ready    (arrived_ready),
    .entering         (s_axis_tvalid && s_axis_tready),
    .entering_last    (s_axis_tlast),
    .s_axis_tdata     (queued_tdata),
    .s_axis_tkeep     (queued_tkeep),
    .s_axis_tlast     (queued_tlast),
    .s_axis_tuser     (queued_tuser),
    .s_axis_tvalid    (queued_tvalid),
    .s_axis_tready    (queued_tready),
    .m_axis_tdata     (rising_tdata),
    .m_axis_tkeep     (rising_tkeep),
    .m_axis_tlast     (rising_tlast),
    .m_axis_tuser     (rising_tuser),
    .m_axis_tvalid    (rising_tvalid),
    .m_axis_tready    (rising_tready),
    .desc_address     (write_address),
    .desc_capacity    (write_capacity),
    .desc_valid       (write_valid),
    .desc_ready       (write_ready),
    .address_valid    (address_valid),
    .address_ready    (m_axi_awready),
    .address_open     (address_open),
    .burst_taken      (m_axi_wvalid && m_axi_wready && m_axi_wlast),
    .write_done_bytes (write_done_bytes),
    .write_done_status(write_done_status),
    .write_done_valid (write_done_valid),
    .write_done_ready (write_done_ready),
    .count_messages   (up_messages),
    .count_damaged    (up_damaged),
    .count_no_credit  (up_no_credit),
    .count_own        (up_own),
    .count_refused    (up_refused),
    .count_waiting    (up_waiting)
  );

  assign m_axi_awvalid = address_valid && address_open;
  assign busy = queued_tvalid;

  logic                 unused_write_tag;
  logic [WideCount-1:0] unused_write_beats;
  logic [15:0]          unused_write_cut;
  logic [15:0]          unused_write_damaged;
  logic [15:0]          unused_write_errors;

  memif_write #(
    .WIDTH        (WIDTH),
    .ADDRESS_WIDTH(ADDRESS_WIDTH),
    .TAG_WIDTH    (1),
    .BURST_BEATS  (WRITE_BURST_BEATS),
    .OUTSTANDING  (WRITE_OUTSTANDING),
    .COUNT_WIDTH  (WideCount)
  ) u_write (
    .clk          (clk),
    .rst          (rst),
    .s_axis_tdata (rising_tdata),
    .s_axis_tkeep (rising_tkeep),
    .s_axis_tlast (rising_tlast),
    .s_axis_tuser (rising_tuser),
    .s_axis_tvalid(rising_tvalid),
    .s_axis_tready(rising_tready),
    .desc_address (write_address),
    .desc_capacity(write_capacity),
    .desc_tag     (1'b0),
    .desc_valid   (write_valid),
    .desc_ready   (write_ready),
    .done_tag     (unused_write_tag),
    .done_bytes   (write_done_bytes),
    .done_status  (write_done_status),
    .done_valid   (write_done_valid),
    .done_ready   (write_done_ready),
    .m_axi_awaddr (m_axi_awaddr),
    .m_axi_awlen  (m_axi_awlen),
    .m_axi_awsize (m_axi_awsize),
    .m_axi_awburst(m_axi_awburst),
    .m_axi_awvalid(address_valid),
    .m_axi_awready(m_axi_awready && address_open),
    .m_axi_wdata  (m_axi_wdata),
    .m_axi_wstrb  (m_axi_wstrb),
    .m_axi_wlast  (m_axi_wlast),
    .m_axi_wvalid (m_axi_wvalid),
    .m_axi_wready (m_axi_wready),
    .m_axi_bresp  (m_axi_bresp),
    .m_axi_bvalid (m_axi_bvalid),
    .m_axi_bready (m_axi_bready),
    .count_bytes  (up_bytes),
    .count_beats  (unused_write_beats),
    .count_cut    (unused_write_cut),
    .count_damaged(unused_write_damaged),
    .count_error  (unused_write_errors)
  );

  // Registers ------------------------------------------------------------------------------------

  always_ff @(posedge clk) begin
    if (m_axis_tvalid && !m_axis_tready) down_stall <= down_stall + 1'b1;
    if (s_axis_tvalid && !s_axis_tready) up_stall <= up_stall + 1'b1;
    if (s_axis_tvalid && s_axis_tready) in_message <= !s_axis_tlast;
    if (register_write && register_address == 4'd0) reliable <= register_write_data[0];
    if (rst) begin
      down_stall <= '0;
      up_stall <= '0;
      in_message <= 1'b0;
      reliable <= RELIABLE;
    end
  end

  always_ff @(posedge clk)
    case (register_address)
      4'd0: register_read_data <= {62'd0, in_message, reliable};
      4'd1: register_read_data <= {16'd0, 8'(MESSAGES), 8'(CREDITS), 16'(WIDTH), 16'(PUBLISHER_ID)};
      4'd2: register_read_data <= 64'(MAX_BYTES);
      4'd3: register_read_data <= 64'(down_messages);
      4'd4: register_read_data <= 64'(down_bytes);
      4'd5: register_read_data <= 64'(down_damaged);
      4'd6: register_read_data <= 64'(down_refused);
      4'd7: register_read_data <= 64'(down_stall);
      4'd8: register_read_data <= 64'(up_messages);
      4'd9: register_read_data <= 64'(up_bytes);
      4'd10: register_read_data <= 64'(up_damaged);
      4'd11: register_read_data <= 64'(up_no_credit);
      4'd12: register_read_data <= 64'(up_own);
      4'd13: register_read_data <= 64'(up_refused);
      4'd14: register_read_data <= 64'(up_stall);
      4'd15: register_read_data <= 64'(up_waiting);
    endcase

  wire unused = &{1'b0, unused_read_tag, unused_read_beats, unused_read_errors, unused_write_tag,
      unused_write_beats, unused_write_cut, unused_write_damaged, unused_write_errors,
      register_write_data[63:1]};

endmodule

`default_nettype wire
