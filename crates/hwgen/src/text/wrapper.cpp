// C interface of the network over Verilator's model of it (`--prefix Vnetwork`). Little-endian
// hosts only: ports are copied as bytes.
#include "network.h"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "Vnetwork.h"
#include "verilated.h"

namespace {

@TABLES@

// The signals of one stream in the model.
struct Signals {
  void *data, *keep;
  uint8_t *last, *user, *valid, *ready;
};

#define XD_SIGNALS(model, name)                                                           \
  Signals {                                                                               \
    &(model).name##_tdata, &(model).name##_tkeep, &(model).name##_tlast,                  \
        &(model).name##_tuser, &(model).name##_tvalid, &(model).name##_tready             \
  }

std::vector<Signals> signals_of(Vnetwork& model) {
  return {
@SIGNALS@
  };
}

// Clock and reset of each clock.
struct Clock {
  uint8_t *clk, *rst;
};

std::vector<Clock> clocks_of(Vnetwork& model) {
  return {
@CLOCKS@
  };
}

}  // namespace

struct xd_network {
  explicit xd_network(uint32_t seed) {
    context.randSeed(static_cast<int>(seed & 0x7fffffffu) | 1);
    context.randReset(2);
    model = std::make_unique<Vnetwork>(&context);
    signals = signals_of(*model);
    clocks = clocks_of(*model);
    full.resize(signals.size());
    beats.resize(signals.size());
    reset();
  }
  ~xd_network() { model->final(); }

  void reset() {
@RESET@
    for (size_t port = 0; port < signals.size(); port++) {
      full[port] = false;
      if (ports[port].publishes) *signals[port].valid = 0;
      else *signals[port].ready = 0;
    }
    for (const Clock& clock : clocks) *clock.rst = 1;
    // More edges than a clock crossing has registers.
    for (int i = 0; i < 8; i++) edge(~0ull);
    for (const Clock& clock : clocks) *clock.rst = 0;
    for (size_t port = 0; port < signals.size(); port++) {
      full[port] = false;
      if (!ports[port].publishes) *signals[port].ready = 1;
    }
    model->eval();
  }

  void edge(uint64_t mask) {
    for (size_t clock = 0; clock < clocks.size(); clock++) *clocks[clock].clk = 0;
    model->eval();
    for (size_t port = 0; port < signals.size(); port++) {
      const Signals& of = signals[port];
      taken[port] = (mask >> ports[port].clock & 1) && *of.valid && *of.ready;
      if (!taken[port] || ports[port].publishes) continue;
      xd_beat& beat = beats[port];
      std::memcpy(beat.data, of.data, ports[port].width_bytes);
      beat.keep = 0;
      std::memcpy(&beat.keep, of.keep, ports[port].width_bytes / 8);
      beat.last = *of.last;
      beat.user = *of.user;
    }
    for (size_t clock = 0; clock < clocks.size(); clock++) *clocks[clock].clk = mask >> clock & 1;
    model->eval();
    for (size_t port = 0; port < signals.size(); port++) {
      if (!taken[port]) continue;
      if (ports[port].publishes) *signals[port].valid = 0;
      else *signals[port].ready = 0;
      full[port] = !ports[port].publishes;
    }
  }

  VerilatedContext context;
  std::unique_ptr<Vnetwork> model;
  std::vector<Signals> signals;
  std::vector<Clock> clocks;
  // Publisher: a beat is on offer. Subscriber: a beat waits to be popped.
  std::vector<bool> full;
  std::vector<xd_beat> beats;
  bool taken[sizeof ports / sizeof *ports] = {};
};

extern "C" {

xd_network* xd_network_new(uint32_t seed) { return new (std::nothrow) xd_network(seed); }

void xd_network_delete(xd_network* network) { delete network; }

void xd_network_reset(xd_network* network) { network->reset(); }

uint32_t xd_network_port_count(void) { return port_count; }

const xd_port* xd_network_port(uint32_t port) { return port < port_count ? &ports[port] : nullptr; }

uint32_t xd_network_clock_count(void) { return clock_count; }

const char* xd_network_clock_name(uint32_t clock) {
  return clock < clock_count ? clock_names[clock] : nullptr;
}

int xd_network_push(xd_network* network, uint32_t port, const xd_beat* beat) {
  if (port >= port_count || !ports[port].publishes) return -1;
  const Signals& to = network->signals[port];
  if (*to.valid) return 0;
  std::memcpy(to.data, beat->data, ports[port].width_bytes);
  std::memcpy(to.keep, &beat->keep, ports[port].width_bytes / 8);
  *to.last = beat->last != 0;
  *to.user = beat->user != 0;
  *to.valid = 1;
  return 1;
}

int xd_network_pop(xd_network* network, uint32_t port, xd_beat* beat) {
  if (port >= port_count || ports[port].publishes) return -1;
  if (!network->full[port]) return 0;
  *beat = network->beats[port];
  network->full[port] = false;
  *network->signals[port].ready = 1;
  return 1;
}

int xd_network_edge(xd_network* network, uint64_t clocks) {
  if (clock_count < 64 && clocks >> clock_count != 0) return -1;
  network->edge(clocks);
  return 0;
}

int xd_network_read(xd_network* network, uint32_t address, uint64_t* value) {
  if (address % 8 != 0) return -1;
  const bool written = address >= control_address;
  const uint32_t word = (address - (written ? control_address : 0)) / 8;
  if (word >= (written ? control_words : status_words)) return -1;
  network->model->eval();
@READ@
  return 0;
}

int xd_network_write(xd_network* network, uint32_t address, uint64_t value) {
  if (address % 8 != 0 || address < control_address) return -1;
  const uint32_t word = (address - control_address) / 8;
  if (word >= control_words) return -1;
@WRITE@
  return 0;
}

}  // extern "C"
