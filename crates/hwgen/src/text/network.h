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
#define XD_NETWORK_ABI 6
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
/* Nodes of a board, by their number there; a null pointer behind the last one. */
const char *xd_network_node_name(uint32_t node);

/* Offers a beat at a publisher's port: 1; or 0 while the beat before has not been taken. */
int xd_network_push(xd_network *network, uint32_t port, const xd_beat *beat);

/* The beat that a subscriber's port took at the last edge of its clock: 1; or 0. A port takes the
 * next beat only when the one before has been popped: not popping is back-pressure. */
int xd_network_pop(xd_network *network, uint32_t port, xd_beat *beat);

/* A rising edge of all clocks whose bit is set in `clocks`. */
int xd_network_edge(xd_network *network, uint64_t clocks);

/* Registers of a network by byte address: 0, or -1 where there is none. A value that is written holds
 * from the next edge on; what is read is the state after the last edge. A board has its registers behind
 * a port: always -1, see xd_access. */
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

/* An access to a board's registers, over its AXI4-Lite port. */
typedef struct xd_access {
  uint32_t address;  /* in bytes, 17 bits, a multiple of 8; hw/register_bridge has the map */
  uint32_t write;    /* 1: written, 0: read */
  uint64_t value;    /* in: what is written; out: what was read */
  uint64_t done_ps;  /* out: when its answer came */
  uint32_t response; /* out: 0: good; 2: no effect, there is no such register to read or to write */
  uint32_t unused;
} xd_access;

typedef struct xd_run {
  xd_clock *clocks;   /* as many as the network has, in its order */
  xd_source *sources; /* at most one per port */
  xd_sink *sinks;     /* at most one per port */
  uint32_t source_count;
  uint32_t sink_count;
  uint64_t until_ps; /* edges come up to and at this time, none later */
  uint64_t now_ps;   /* out: the time of the last edge; as it was when none came */
  uint64_t edges;    /* out: points in time at which there was an edge */
  xd_access *accesses;    /* boards only: one after the other, in the host's clock, which is the first; one that
                           * is under way when a run is cut goes on in the next run, which has to name it */
  uint32_t access_count;
  uint32_t accesses_done; /* in, out: how many of them are done; begins at 0 */
  uint32_t access_cycles; /* from one access to the next, if it is answered by then; at least 1 */
  uint32_t doorbell;      /* in: 1: stop while it rings and no access is left; out: whether it rings */
  uint32_t idle_cycles;   /* boards only: stop when so many edges of every clock have changed nothing; 0: never */
  uint32_t idle;          /* out: 1: that is why it stopped; 2 and more: node `idle` - 2 is at fault */
} xd_run;

/* Lets time pass, edge by edge, until a source or sink is done or no edge is left up to `until_ps`:
 * 1 or 0; the last access and the doorbell, where it is asked for, are such ends too. Edges of several clocks
 * at one time are one. Sources and sinks that are done are passed over; each is used again by setting its `sent` or
 * `received` and `done` to 0. Memory is used during the call only.
 *
 * While a board is restarted for another host (hw/host_lease), its ports are in reset: beats on offer are taken back,
 * a source that is not done begins its frame again afterwards, and a sink forgets what it has of one.
 *
 * With `idle_cycles` a run of a board also ends, with 0 and `idle`, when so many edges of every clock, counted
 * over runs and never fewer than a watchdog waits, have come without a beat offered, a node busy, a burst of host memory
 * open, an access, a doorbell, or a source with something left. Its clocks may then stand still for any time, as
 * nothing would happen in it: raise `next_ps` of each clock by a multiple of its period.
 *
 * The first times that a board with nodes comes to rest after some work, it looks whether a node goes on of its own
 * accord although its clock stands still: one whose `busy` was low with something left to do. Such a board is of no
 * further use. -1 without any edge: an index, a count, a time or a period out of its range, a pointer
 * that must not be null. Times are at most 2^62. */
int xd_network_run(xd_network *network, xd_run *run);

/* Most bursts that host memory has open in each direction. */
#define XD_OUTSTANDING_MAX 64

/* How host memory answers a board; in cycles of its first clock. */
typedef struct xd_memory {
  uint32_t read_latency;  /* from a burst's address to its first beat */
  uint32_t write_latency; /* from a burst's last beat to its response */
  uint32_t outstanding;   /* bursts open in each direction, 1 to XD_OUTSTANDING_MAX */
  uint32_t beat_256ths;   /* 1/256 cycles from one beat to the next, in each direction; 256 to 65536 */
  uint32_t load_percent;  /* cycles of the memory that others have, 0 to 99 */
  uint32_t seed;          /* of which ones these are */
} xd_memory;

/* Memory of the host that a board may reach. */
typedef struct xd_window {
  uint64_t address; /* as the board sees it */
  uint64_t bytes;
  uint8_t *memory;
  uint32_t writable;
  uint32_t unused;
} xd_window;

/* What has passed between board and host memory. */
typedef struct xd_traffic {
  uint64_t bytes_read; /* whole beats */
  uint64_t bytes_written;
  uint64_t beats_read;
  uint64_t beats_written;
  uint64_t refused; /* bursts that lay in no window: answered with DECERR */
} xd_traffic;

/* Of a board: 0; of a network alone, or with a value out of its range: -1, and nothing has happened.
 * Windows replace those of the call before; their memory is used by every run until the next call, and
 * is written by the board alone while a run is in progress. */
int xd_network_memory(xd_network *network, const xd_memory *memory);
int xd_network_windows(xd_network *network, const xd_window *windows, uint32_t count);
int xd_network_traffic(xd_network *network, xd_traffic *traffic);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
