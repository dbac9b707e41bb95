/* C interface of a generated network in simulation. The same for every network: what differs is
 * told by xd_network_port() and registers.json.
 *
 * One thread at a time per network; nothing blocks; only xd_network_new() allocates. Indexes out of
 * range are refused (-1 or a null pointer).
 *
 * Beats are moved one by one (push, edge, pop), or message by message by xd_network_run(). Both may
 * be used in turn: a beat that one of them has offered or taken is seen by the other. */
#ifndef XD_NETWORK_H
#define XD_NETWORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* All that a shared library shows, whatever it is compiled with. */
#pragma GCC visibility push(default)

/* Version of this interface: what is built against one version cannot be used with another. */
#define XD_NETWORK_ABI 2
uint32_t xd_network_abi(void);

typedef struct xd_network xd_network;

/* One beat of an AXI stream. Bytes above the port's width mean nothing. */
typedef struct xd_beat {
  uint8_t data[64];
  uint64_t keep; /* one bit per byte; looked at in the last beat only */
  uint8_t last;
  uint8_t user; /* with the last beat: the message is damaged */
} xd_beat;

typedef struct xd_port {
  const char *name;  /* prefix of its signals */
  const char *topic;
  const char *type;
  uint32_t width_bytes;
  uint32_t clock;             /* index of its clock */
  uint32_t payload_bytes_max;
  uint16_t publisher_id;      /* for the headers of a publisher; 0 for a subscriber */
  uint16_t filtered_id;       /* a subscriber does not get messages of this publisher; 0: all */
  uint8_t publishes;          /* 1: beats are pushed; 0: beats are popped */
  uint8_t gateway;            /* 1: the topic's gateway; 0: a node */
  uint8_t keep_last;          /* 1: older messages may be dropped for newer ones */
} xd_port;

/* A network in reset state, or a null pointer when there is no memory for it. `seed` decides what
 * stands in registers that reset leaves alone. */
xd_network *xd_network_new(uint32_t seed);
void xd_network_delete(xd_network *network);

/* Resets everything, also beats that were pushed and not taken. Subscribers that can be switched at
 * run time are on, all other registers 0. */
void xd_network_reset(xd_network *network);

uint32_t xd_network_port_count(void);
const xd_port *xd_network_port(uint32_t port);
uint32_t xd_network_clock_count(void);
const char *xd_network_clock_name(uint32_t clock);

/* Offers a beat at a publisher's port: 1; or 0 while the beat before has not been taken. */
int xd_network_push(xd_network *network, uint32_t port, const xd_beat *beat);

/* The beat that a subscriber's port took at the last edge of its clock: 1; or 0. A port takes the
 * next beat only when the one before has been popped: not popping is back-pressure. */
int xd_network_pop(xd_network *network, uint32_t port, xd_beat *beat);

/* A rising edge of all clocks whose bit is set in `clocks`. */
int xd_network_edge(xd_network *network, uint64_t clocks);

/* Registers by byte address: 0, or -1 where there is none. A value that is written holds from the
 * next edge on; what is read is the state after the last edge. */
int xd_network_read(xd_network *network, uint32_t address, uint64_t *value);
int xd_network_write(xd_network *network, uint32_t address, uint64_t value);

/* Sends one message at a publisher's port. */
typedef struct xd_source {
  uint32_t port;
  uint32_t done;        /* out: 1 when the last beat has been taken */
  const uint8_t *frame; /* header and payload */
  uint64_t bytes;       /* of the frame; at least 1 */
  uint64_t sent;        /* in, out: bytes in beats that have been offered; begins at 0 */
  uint64_t done_ps;     /* out: when the last beat was taken */
} xd_source;

/* Takes one message at a subscriber's port. */
typedef struct xd_sink {
  uint32_t port;
  uint32_t done;     /* out: 1 when the last beat has been taken */
  uint32_t damaged;  /* out: the last beat said so */
  uint32_t unused;
  uint8_t *data;     /* where the frame is written, header included */
  uint64_t capacity; /* bytes there; what does not fit is not written */
  uint64_t received; /* in, out: bytes of the frame so far, also those that did not fit; from 0 */
  uint64_t first_ps; /* in, out: when the first beat was taken */
  uint64_t done_ps;  /* out: when the last one was */
} xd_sink;

/* A clock of the network in time. */
typedef struct xd_clock {
  uint64_t period_ps; /* at least 1 */
  uint64_t next_ps;   /* in, out: when its next rising edge comes */
} xd_clock;

typedef struct xd_run {
  xd_clock *clocks;   /* as many as the network has, in its order */
  xd_source *sources; /* at most one per port */
  xd_sink *sinks;     /* at most one per port */
  uint32_t source_count;
  uint32_t sink_count;
  uint64_t until_ps; /* edges come up to and at this time, none later */
  uint64_t now_ps;   /* out: the time of the last edge; as it was when none came */
  uint64_t edges;    /* out: points in time at which there was an edge */
} xd_run;

/* Lets time pass, edge by edge, until a source or sink is done or no edge is left up to `until_ps`:
 * 1 or 0. Edges of several clocks at one time are one. Sources and sinks that are done are passed
 * over; each is used again by setting its `sent` or `received` and `done` to 0. Memory is used during the
 * call only. -1 without any edge: an index, a count, a time or a period out of its range, a pointer
 * that must not be null. Times are at most 2^62. */
int xd_network_run(xd_network *network, xd_run *run);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
