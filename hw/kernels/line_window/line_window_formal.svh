// Properties of line_window: in one column, which is any, the beats that leave together are those
// that came REACH rows above to REACH rows below, the first and the last row repeated; each beat of
// each row leaves once, in order, with the right ends.
`include "axis_formal.svh"

`AXIS_ASSUME_STABLE(s_valid, s_ready, s_data)
wire [(2*REACH+1)*WIDTH+2:0] formal_leaving = {m_end, m_last, m_first, m_taps};
`AXIS_ASSERT_STABLE(m_valid, m_ready, formal_leaving)

// What came in the column, by rows. In a proof they are few; a tool that reads the module before
// its parameters are set must not meet a million.
localparam int unsigned FormalRows = (ROW_BITS < 3) ? 1 << ROW_BITS : 4;
(* anyconst *) logic [Column-1:0] formal_column;
logic [FormalRows*WIDTH-1:0] formal_came;
logic [15:0]         formal_beats = 16'd1;
logic [ROW_BITS-1:0] formal_rows = 1;
logic [ROW_BITS+1:0] formal_pass = '0;       // of rows over the memory: copies count on
logic [ROW_BITS+1:0] formal_held_pass = '0;
logic [15:0]         formal_out = '0;        // beats of the row that leaves, and rows before it
logic [ROW_BITS+1:0] formal_out_row = '0;
logic                formal_idle = 1'b1;     // no picture has begun

// Passes that are written in the column, and whether the beat that is held is of it.
wire                 formal_mine = held && held_column == formal_column;
wire [ROW_BITS+1:0]  formal_read = formal_pass
    + (ROW_BITS+2)'(running && column > 16'(formal_column));
wire [ROW_BITS+1:0]  formal_written = formal_read - (ROW_BITS+2)'(formal_mine);
wire [Lines*WIDTH-1:0] formal_stored = lines[formal_column];
wire                 formal_used = 16'(formal_column) < formal_beats;

always @(posedge clk) if (formal_running) begin
  e_beats: assume (beats >= 16'd1 && beats <= 16'(COLUMNS));
  e_rows: assume (rows >= 1);
  if (start && !busy) begin
    formal_beats <= beats;
    formal_rows <= rows;
    formal_pass <= '0;
    formal_out <= '0;
    formal_out_row <= '0;
    formal_idle <= 1'b0;
  end
  if (take) begin
    if (row_ends) formal_pass <= formal_pass + 1'b1;
    formal_held_pass <= formal_pass;
    for (int row = 0; row < int'(FormalRows); row++)
      if (!flushing && column == 16'(formal_column) && int'(formal_pass) == row)
        formal_came[row*WIDTH +: WIDTH] <= s_data;
  end
  if (m_valid && m_ready) begin
    a_beat: assert (16'(held_column) == formal_out);
    a_row: assert (formal_held_pass == formal_out_row + (ROW_BITS+2)'(REACH));
    a_first: assert (m_first == (formal_out == '0));
    a_last: assert (m_last == (formal_out == formal_beats - 1'b1));
    a_end: assert (m_end == (m_last && formal_out_row + 1'b1 == (ROW_BITS+2)'(formal_rows)));
    // The row that stands for one beyond the first or the last row is that row.
    for (int rows = 1; rows < int'(FormalRows); rows++)
      for (int row = 0; row < rows; row++)
        if (formal_mine && int'(formal_rows) == rows && int'(formal_out_row) == row)
          for (int i = 0; i <= 2 * int'(REACH); i++)
            for (int of = 0; of < rows; of++)
              if (of + int'(REACH) == row + i || (of == 0 && row + i < int'(REACH))
                  || (of == rows - 1 && row + i >= rows + int'(REACH)))
                assert (m_taps[i*WIDTH +: WIDTH] == formal_came[of*WIDTH +: WIDTH]);
    formal_out <= m_last ? '0 : formal_out + 1'b1;
    if (m_last) formal_out_row <= formal_out_row + 1'b1;
  end
  a_all: assert (busy || formal_idle || formal_out_row == (ROW_BITS+2)'(formal_rows));
  // What is said to come passes over the memory, and nothing else does but the copies.
  a_taken: assert ((s_valid && s_ready) == (take && !flushing));
  a_takes: assert (!running || flushing || (held && (!moves || same)) || s_ready);

  // Invariants that make the induction close.
  i_rows: assert (formal_rows != '0 && formal_beats >= 16'd1 && formal_beats <= 16'(COLUMNS));
  i_idle: assert (!formal_idle || !busy);
  i_flags: assert (!(running && flushing && top) && !(!running && held && held_top));
  if (running) begin
    i_column: assert (column <= last_column && last_column == formal_beats - 1'b1);
    i_top: assert (top == (formal_pass == '0));
    i_lead: assert (lead == ((formal_pass < (ROW_BITS+2)'(REACH))
        ? 2'(REACH) - 2'(formal_pass) : 2'd0));
    i_flush: assert (flushing == (formal_pass >= (ROW_BITS+2)'(formal_rows)));
    if (!flushing) begin
      i_left: assert ((ROW_BITS+2)'(rows_left) + formal_pass + 1'b1 == (ROW_BITS+2)'(formal_rows));
      i_copies: assert (copies == 2'(REACH));
    end else begin
      i_copied: assert (copies != '0 && (ROW_BITS+2)'(copies) + formal_pass
          == (ROW_BITS+2)'(formal_rows) + (ROW_BITS+2)'(REACH));
    end
  end else if (!formal_idle) begin
    i_done: assert (formal_pass == (ROW_BITS+2)'(formal_rows) + (ROW_BITS+2)'(REACH));
  end
  i_passes: assert (formal_pass <= (ROW_BITS+2)'(formal_rows) + (ROW_BITS+2)'(REACH));
  if (held) begin
    i_held_pass: assert (formal_held_pass < (ROW_BITS+2)'(formal_rows) + (ROW_BITS+2)'(REACH));
    // The beat before the next one.
    if (running && column != '0) begin
      i_before: assert (16'(held_column) + 1'b1 == column && formal_held_pass == formal_pass);
    end else begin
      i_row_before: assert (16'(held_column) + 1'b1 == formal_beats
          && formal_held_pass + 1'b1 == formal_pass);
    end
    i_top_held: assert (held_top == (formal_held_pass == '0));
    i_copy_held: assert (held_copy == (formal_held_pass >= (ROW_BITS+2)'(formal_rows)));
    i_shown: assert (held_shown == (formal_held_pass >= (ROW_BITS+2)'(REACH)));
    i_first_held: assert (held_first == (held_column == '0));
    i_last_held: assert (held_last == (16'(held_column) + 1'b1 == formal_beats));
    i_end_held: assert (held_end == (held_last && formal_held_pass + 1'b1
        == (ROW_BITS+2)'(formal_rows) + (ROW_BITS+2)'(REACH)));
    if (held_shown) begin
      i_out: assert (formal_out == 16'(held_column)
          && formal_out_row + (ROW_BITS+2)'(REACH) == formal_held_pass);
    end else begin
      i_none: assert (formal_out == '0 && formal_out_row == '0);
    end
    for (int row = 0; row < int'(FormalRows); row++)
      if (formal_mine && !held_copy && int'(formal_held_pass) == row)
        assert (held_data == formal_came[row*WIDTH +: WIDTH]);
  end else if (running) begin
    // All that could leave has left.
    if (formal_pass >= (ROW_BITS+2)'(REACH)) begin
      i_level: assert (formal_out == column && formal_out_row + (ROW_BITS+2)'(REACH) == formal_pass);
    end else begin
      i_nothing: assert (formal_out == '0 && formal_out_row == '0);
    end
  end
  // What is stored, and what has been read of it: the rows of the passes before.
  for (int rows = 1; rows < int'(FormalRows); rows++)
    for (int pass = 1; pass <= rows + int'(REACH); pass++)
      for (int i = 0; i < int'(Lines); i++)
        for (int of = 0; of < rows; of++)
          if (int'(formal_rows) == rows && (of + i + 1 == pass || (of == 0 && pass < i + 1)
              || (of == rows - 1 && pass >= rows + i + 1))) begin
            if (busy && formal_used && int'(formal_written) == pass)
              assert (formal_stored[i*WIDTH +: WIDTH] == formal_came[of*WIDTH +: WIDTH]);
            if (formal_mine && int'(formal_held_pass) == pass)
              assert (above[i*WIDTH +: WIDTH] == formal_came[of*WIDTH +: WIDTH]);
          end

  c_second: cover (m_valid && m_ready && m_end && formal_rows > 1 && formal_beats > 1);
  c_one: cover (m_valid && m_ready && m_end && formal_rows == 1 && formal_beats == 1);
end
