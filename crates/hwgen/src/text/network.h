/* C interface of a generated network in simulation. The same for every network: what differs is
 * told by xd_network_port() and registers.json.
 *
 * One thread at a time per network; nothing blocks; only xd_network_new() allocates. Indexes out of
 * range are refused (-1 or a null pointer). */
#ifndef XD_NETWORK_H
#define XD_NETWORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* A network in reset state. `seed` decides what stands in registers that reset leaves alone. */
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

#ifdef __cplusplus
}
#endif

#endif
