// Words of 128 bit between a gateway and its host, as they pass through osif's queues.
//
// A gateway is two clients of osif: one takes messages down, one takes credits for messages up, so
// that neither waits behind the other. Bits that are not named are 0 and not looked at; a client
// drops and counts a word that is not for it.
//
//   bits      7:0    15:8      31:16  63:32          79:64      95:80     127:96
//   to the client for messages down, each message as its words in this order:
//   MESSAGE   0x01   segments  tag    payload bytes  sequence (95:64)
//   STAMP     0x02                                   stamp, ns (127:64)
//   SEGMENT   0x03                    bytes          address (127:64), once per segment
//   from it, when the memory of a message may be reused:
//   SENT      0x04   status    tag
//   to the client for messages up:
//   CREDIT    0x11             tag    capacity       address (127:64), 64-byte aligned
//   from it, when a message can be read from memory:
//   ARRIVED   0x12   status    tag    bytes          publisher            sequence
//
// Lengths are in bytes. The tag is the host's own, and comes back as it is. `bytes` of ARRIVED
// count the header. Status: bit 0 cut, the message is longer than the capacity; bit 1 damaged; bit
// 2 an error of the memory; bit 3 refused, nothing was sent. 0 is good.
`default_nettype none

// Nobody uses all of them.
// verilator lint_off UNUSEDPARAM
package gateway_words;

  localparam logic [7:0] MESSAGE = 8'h01;
  localparam logic [7:0] STAMP = 8'h02;
  localparam logic [7:0] SEGMENT = 8'h03;
  localparam logic [7:0] SENT = 8'h04;
  localparam logic [7:0] CREDIT = 8'h11;
  localparam logic [7:0] ARRIVED = 8'h12;

endpackage
// verilator lint_on UNUSEDPARAM

`default_nettype wire
