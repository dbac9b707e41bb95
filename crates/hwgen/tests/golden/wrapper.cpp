// C interface of the network over Verilator's model of it (`--prefix Vnetwork`). Little-endian
// hosts only: ports are copied as bytes.
#include "network.h"

// Whether the model is a board: it has host memory and registers.
#define XD_HOST 0
// Whether nodes are looked at when the board comes to rest.
#define XD_AUDITS 0

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

#include "Vnetwork.h"
#include "verilated.h"

namespace {

constexpr uint32_t control_address = 0x8000;
constexpr uint32_t status_words = 7;
constexpr uint32_t control_words = 3;
constexpr uint32_t watchdog_cycles = 65536;

const xd_port ports[] = {
    {"s_axis_gateway_camera_image", "/camera/image", "sensor_msgs/msg/Image", 8, 0, 921672u, 1, 0, 1, 1, 0},
    {"m_axis_compensation_image", "/camera/image", "sensor_msgs/msg/Image", 8, 0, 921672u, 0, 0, 0, 0, 0},
    {"s_axis_control_command", "/cmd_vel", "geometry_msgs/msg/Twist", 8, 0, 48u, 2, 0, 1, 0, 0},
    {"s_axis_stop_command", "/cmd_vel", "geometry_msgs/msg/Twist", 8, 0, 48u, 3, 0, 1, 0, 0},
    {"m_axis_gateway_cmd_vel", "/cmd_vel", "geometry_msgs/msg/Twist", 8, 0, 48u, 0, 0, 0, 1, 0},
    {"s_axis_blur_image", "/image/blurred", "sensor_msgs/msg/Image", 16, 2, 921672u, 4, 0, 1, 0, 0},
    {"m_axis_follow_image", "/image/blurred", "sensor_msgs/msg/Image", 8, 0, 921672u, 0, 0, 0, 0, 0},
    {"s_axis_compensation_image", "/image/compensated", "sensor_msgs/msg/Image", 16, 0, 921672u, 5, 0, 1, 0, 0},
    {"m_axis_blur_image", "/image/compensated", "sensor_msgs/msg/Image", 16, 2, 921672u, 0, 0, 0, 0, 0},
    {"m_axis_red_image", "/image/compensated", "sensor_msgs/msg/Image", 16, 0, 921672u, 0, 0, 0, 0, 1},
    {"m_axis_green_image", "/image/compensated", "sensor_msgs/msg/Image", 16, 0, 921672u, 0, 0, 0, 0, 0},
    {"m_axis_gateway_image_compensated", "/image/compensated", "sensor_msgs/msg/Image", 8, 1, 921672u, 0, 0, 0, 1, 0},
    {"s_axis_follow_lane", "/lane", "std_msgs/msg/Float64", 8, 0, 8u, 6, 0, 1, 0, 0},
    {"m_axis_control_lane", "/lane", "std_msgs/msg/Float64", 8, 0, 8u, 0, 0, 0, 0, 0},
    {"s_axis_green_green", "/light/green", "std_msgs/msg/UInt8", 8, 0, 1u, 7, 0, 1, 0, 0},
    {"m_axis_red_green", "/light/green", "std_msgs/msg/UInt8", 8, 0, 1u, 0, 0, 0, 0, 0},
    {"m_axis_control_green", "/light/green", "std_msgs/msg/UInt8", 8, 0, 1u, 0, 0, 0, 0, 0},
    {"s_axis_red_red", "/light/red", "std_msgs/msg/UInt8", 8, 0, 1u, 8, 0, 1, 0, 0},
    {"m_axis_green_red", "/light/red", "std_msgs/msg/UInt8", 8, 0, 1u, 0, 0, 0, 0, 0},
    {"m_axis_control_red", "/light/red", "std_msgs/msg/UInt8", 8, 0, 1u, 0, 0, 0, 0, 0},
    {"m_axis_stop_red", "/light/red", "std_msgs/msg/UInt8", 8, 0, 1u, 0, 0, 0, 0, 0},
};
constexpr uint32_t port_count = sizeof ports / sizeof *ports;

const char* const clock_names[] = {
    "clk",
    "memory_clk",
    "pixel_clk",
};
constexpr uint32_t clock_count = sizeof clock_names / sizeof *clock_names;

const char* const node_names[] = {
    nullptr,
};
constexpr uint32_t node_count = sizeof node_names / sizeof *node_names - 1;

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
      XD_SIGNALS(model, s_axis_gateway_camera_image),
      XD_SIGNALS(model, m_axis_compensation_image),
      XD_SIGNALS(model, s_axis_control_command),
      XD_SIGNALS(model, s_axis_stop_command),
      XD_SIGNALS(model, m_axis_gateway_cmd_vel),
      XD_SIGNALS(model, s_axis_blur_image),
      XD_SIGNALS(model, m_axis_follow_image),
      XD_SIGNALS(model, s_axis_compensation_image),
      XD_SIGNALS(model, m_axis_blur_image),
      XD_SIGNALS(model, m_axis_red_image),
      XD_SIGNALS(model, m_axis_green_image),
      XD_SIGNALS(model, m_axis_gateway_image_compensated),
      XD_SIGNALS(model, s_axis_follow_lane),
      XD_SIGNALS(model, m_axis_control_lane),
      XD_SIGNALS(model, s_axis_green_green),
      XD_SIGNALS(model, m_axis_red_green),
      XD_SIGNALS(model, m_axis_control_green),
      XD_SIGNALS(model, s_axis_red_red),
      XD_SIGNALS(model, m_axis_green_red),
      XD_SIGNALS(model, m_axis_control_red),
      XD_SIGNALS(model, m_axis_stop_red),
  };
}

// Clock and reset of each clock.
struct Clock {
  uint8_t *clk, *rst;
};

std::vector<Clock> clocks_of(Vnetwork& model) {
  return {
      {&model.clk, &model.rst},
      {&model.memory_clk, &model.memory_rst},
      {&model.pixel_clk, &model.pixel_rst},
  };
}

// A stream at the edge of the network.
struct PortState {
  Signals signals;
  uint64_t clock;  // the bit of its clock
  uint32_t bytes;  // of a beat
  bool publishes;
  bool taken;      // at the edge under way
  bool full;       // subscriber: a beat waits to be popped
  xd_sink* sink;   // of the run in progress
};

// Beats are copied with a size that the compiler knows: a call costs more than the copy.
inline void copy(void* to, const void* from, uint32_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    case 32: std::memcpy(to, from, 32); break;
    default: std::memcpy(to, from, 64);
  }
}

// Valid bytes of a last beat: tkeep is contiguous from the lowest byte.
inline uint32_t kept(uint64_t keep) {
  return keep == ~0ull ? 64 : uint32_t(__builtin_ctzll(~keep));
}

// What the other side of the interface declares.
static_assert(sizeof(xd_source) == 40 && sizeof(xd_sink) == 56 && sizeof(xd_clock) == 16);
static_assert(sizeof(xd_run) == 88 && sizeof(xd_port) == 48 && sizeof(xd_access) == 32);
static_assert(sizeof(xd_memory) == 24 && sizeof(xd_window) == 32 && sizeof(xd_traffic) == 40);

// Times stay so far from the end of their range that no sum of two wraps.
constexpr uint64_t time_end = 1ull << 62;

#if XD_AUDITS
// How often a board that comes to rest is audited, and edges of an audit: more than the longest
// computation of a node that forgets `busy` is likely to take.
constexpr uint32_t audits_max = 4;
constexpr uint32_t audit_edges = 16384;
#endif

}  // namespace

struct xd_network {
  explicit xd_network(uint32_t seed) {
    context.randSeed(static_cast<int>(seed & 0x7fffffffu) | 1);
    context.randReset(2);
    model = std::make_unique<Vnetwork>(&context);
    clocks = clocks_of(*model);
    for (const Signals& signals : signals_of(*model)) {
      const xd_port& port = ports[ends.size()];
      PortState end = {};
      end.signals = signals;
      end.clock = 1ull << port.clock;
      end.bytes = port.width_bytes;
      end.publishes = port.publishes != 0;
      ends.push_back(end);
    }
    beats.resize(ends.size());
    reset();
  }
  ~xd_network() { model->final(); }

  void reset() {
    const uint64_t word0 = 0xf;
    std::memcpy(reinterpret_cast<uint8_t*>(&model->control) + 0, &word0, 8);
    const uint64_t word1 = 0x0;
    std::memcpy(reinterpret_cast<uint8_t*>(&model->control) + 8, &word1, 8);
    const uint64_t word2 = 0x0;
    std::memcpy(reinterpret_cast<uint8_t*>(&model->control) + 16, &word2, 8);
    for (PortState& end : ends) {
      end.full = false;
      if (end.publishes) *end.signals.valid = 0;
      else *end.signals.ready = 0;
    }
#if XD_HOST
    memory.clear(*model);
    registers.clear(*model);
    until_access = 0;
#endif
    for (const Clock& clock : clocks) *clock.rst = 1;
    // More edges than a clock crossing has registers.
    for (int i = 0; i < 8; i++) edge(~0ull, 0);
    for (const Clock& clock : clocks) *clock.rst = 0;
    for (PortState& end : ends) {
      end.full = false;
      if (!end.publishes) *end.signals.ready = 1;
    }
#if XD_HOST
    memory.clear(*model);
#endif
    model->eval();
    wake();
  }

  void edge(uint64_t mask, uint64_t now_ps) {
    for (const Clock& clock : clocks) *clock.clk = 0;
    model->eval();
    const bool restarting = restarts();
    if (restarting) forget();
    for (size_t port = 0; port < ends.size(); port++) {
      PortState& end = ends[port];
      end.taken = !restarting && (mask & end.clock) && *end.signals.valid && *end.signals.ready;
      if (!end.taken || end.publishes) continue;
      xd_beat& beat = beats[port];
      if (end.sink == nullptr) {
        copy(beat.data, end.signals.data, end.bytes);
        beat.keep = 0;
        copy(&beat.keep, end.signals.keep, end.bytes / 8);
        beat.last = *end.signals.last;
        beat.user = *end.signals.user;
        end.full = true;
      } else if (!*end.signals.last) {
        take(end, static_cast<const uint8_t*>(end.signals.data), end.bytes, now_ps);
      } else {
        uint64_t keep = 0;
        copy(&keep, end.signals.keep, end.bytes / 8);
        take(end, static_cast<const uint8_t*>(end.signals.data), kept(keep), now_ps);
        finish(end, *end.signals.user, now_ps);
      }
    }
#if XD_HOST
    if (mask & 1) memory.sample(*model);
    if (mask & 1) registers.sample(*model);
#endif
    for (size_t clock = 0; clock < clocks.size(); clock++) *clocks[clock].clk = mask >> clock & 1;
    model->eval();
#if XD_HOST
    if (mask & 1) memory.drive(*model);
    if (mask & 1) registers.drive(*model);
#endif
    for (PortState& end : ends) {
      if (!end.taken) continue;
      if (end.publishes) *end.signals.valid = 0;
      else if (end.full) *end.signals.ready = 0;
    }
  }

  // Whether a board is made fit for another host: what is outside its ports is in reset, too.
  bool restarts() const {
#if XD_HOST
    return model->restart;
#else
    return false;
#endif
  }

  // Of a message that has begun nothing is left outside.
  void forget() {
    for (PortState& end : ends) {
      end.full = false;
      if (end.publishes) *end.signals.valid = 0;
      else *end.signals.ready = 1;
      if (end.sink != nullptr) end.sink->received = 0;
    }
  }

  // Something happens from outside: edges without anything are counted anew.
  void wake() { std::fill(std::begin(quiet), std::end(quiet), 0u); }

#if XD_HOST
  // After an edge: whether it may have changed anything, or announces a change.
  void count_quiet(uint64_t mask, bool accessed) {
#if XD_AUDITS
    worked = worked || model->active;
#endif
    if (accessed || model->active || model->doorbell || memory.is_open()) return wake();
    for (size_t clock = 0; clock < clocks.size(); clock++)
      if ((mask >> clock & 1) && quiet[clock] != ~0u) quiet[clock] += 1;
  }

  // Whether nothing will happen any more unless something comes from outside.
  bool is_idle(const xd_run& run) const {
    if (run.idle_cycles == 0 || run.accesses_done < run.access_count) return false;
    for (uint32_t i = 0; i < run.source_count; i++)
      if (!run.sources[i].done) return false;
    const uint32_t least = *std::min_element(std::begin(quiet), std::end(quiet));
    // A watchdog that counts is not seen from here.
    return least >= run.idle_cycles && least > watchdog_cycles;
  }

#if XD_AUDITS
  // Lets the clocks of all nodes tick on a board at rest, in no time. The first node, from 1, that does
  // something of its own accord: its clock stood still with work left. 0: none does, and nothing has
  // changed on the board.
  uint32_t late_node(uint64_t now_ps) {
    if (!worked || audits == audits_max) return 0;
    worked = false;
    audits += 1;
    model->opens_clocks = 1;
    uint64_t late = 0;
    for (uint32_t i = 0; i < audit_edges && late == 0; i++) {
      edge(~0ull, now_ps);
      late = model->late_nodes;
    }
    model->opens_clocks = 0;
    return late == 0 ? 0 : 1 + uint32_t(__builtin_ctzll(late));
  }
#endif
#endif

  void take(PortState& end, const uint8_t* data, uint32_t bytes, uint64_t now_ps) {
    xd_sink& sink = *end.sink;
    if (sink.received == 0) sink.first_ps = now_ps;
    const uint64_t at = sink.received;
    sink.received += bytes;
    if (sink.received <= sink.capacity && bytes == end.bytes) copy(sink.data + at, data, bytes);
    else if (at < sink.capacity)
      std::memcpy(sink.data + at, data, std::min<uint64_t>(bytes, sink.capacity - at));
  }

  void finish(PortState& end, uint8_t damaged, uint64_t now_ps) {
    end.sink->damaged = damaged != 0;
    end.sink->done_ps = now_ps;
    end.sink->done = 1;
    end.sink = nullptr;
    done = true;
  }

  // What was taken before the run, while nobody popped.
  void pop_into(uint32_t port, uint64_t now_ps) {
    PortState& end = ends[port];
    const xd_beat& beat = beats[port];
    end.full = false;
    *end.signals.ready = 1;
    take(end, beat.data, beat.last ? kept(beat.keep) : end.bytes, now_ps);
    if (beat.last) finish(end, beat.user, now_ps);
  }

  void offer(xd_source& source) {
    const PortState& end = ends[source.port];
    if (*end.signals.valid || source.sent == source.bytes) return;
    const uint64_t left = source.bytes - source.sent;
    const uint64_t all = end.bytes == 64 ? ~0ull : (1ull << end.bytes) - 1;
    if (left > end.bytes) {
      copy(end.signals.data, source.frame + source.sent, end.bytes);
      copy(end.signals.keep, &all, end.bytes / 8);
      source.sent += end.bytes;
    } else {
      const uint64_t keep = all >> (end.bytes - left);
      std::memset(end.signals.data, 0, end.bytes);
      std::memcpy(end.signals.data, source.frame + source.sent, left);
      copy(end.signals.keep, &keep, end.bytes / 8);
      source.sent = source.bytes;
    }
    *end.signals.last = source.sent == source.bytes;
    *end.signals.user = 0;
    *end.signals.valid = 1;
  }

  bool accepts(const xd_run& run) {
    if (run.clocks == nullptr || run.until_ps > time_end) return false;
    for (size_t clock = 0; clock < clocks.size(); clock++) {
      const xd_clock& it = run.clocks[clock];
      if (it.period_ps == 0 || it.period_ps > time_end || it.next_ps > time_end) return false;
    }
    if (run.access_count > 0 && (!XD_HOST || run.accesses == nullptr || run.access_cycles == 0))
      return false;
    if (run.accesses_done > run.access_count || (run.doorbell && !XD_HOST)) return false;
    if (run.idle_cycles > 0 && !XD_HOST) return false;
    if (run.source_count > ends.size() || run.sink_count > ends.size()) return false;
    if (run.source_count > 0 && run.sources == nullptr) return false;
    if (run.sink_count > 0 && run.sinks == nullptr) return false;
    uint64_t seen[(sizeof ports / sizeof *ports + 63) / 64] = {};
    const auto fits = [&](uint32_t port, bool publishes) {
      if (port >= ends.size() || ends[port].publishes != publishes) return false;
      const uint64_t bit = 1ull << port % 64;
      const bool is_new = (seen[port / 64] & bit) == 0;
      seen[port / 64] |= bit;
      return is_new;
    };
    for (uint32_t i = 0; i < run.source_count; i++) {
      const xd_source& it = run.sources[i];
      if (!fits(it.port, true) || it.frame == nullptr) return false;
      if (it.bytes == 0 || it.sent > it.bytes) return false;
    }
    for (uint32_t i = 0; i < run.sink_count; i++) {
      const xd_sink& it = run.sinks[i];
      if (!fits(it.port, false) || (it.data == nullptr && it.capacity > 0)) return false;
    }
    return true;
  }

  // Each point in time in three steps: what drives inputs offers, the edge is taken with what the
  // outputs hand over, and whoever has seen its last beat go is done.
  int run(xd_run& run) {
    if (!accepts(run)) return -1;
    done = false;
    run.edges = 0;
    run.idle = 0;
    if (run.idle_cycles == 0) wake();
    for (uint32_t i = 0; i < run.sink_count; i++) {
      xd_sink& sink = run.sinks[i];
      if (sink.done) continue;
      ends[sink.port].sink = &sink;
      if (ends[sink.port].full) pop_into(sink.port, run.now_ps);
    }
#if XD_HOST
    const bool listens = run.doorbell != 0;
    const auto rings = [&] {
      return listens && model->doorbell && run.accesses_done == run.access_count;
    };
    done = done || rings();
#endif
    while (!done) {
#if XD_HOST
      run.idle = is_idle(run);
#if XD_AUDITS
      if (run.idle) run.idle += late_node(run.now_ps);
#endif
      if (run.idle) break;
#endif
      uint64_t now_ps = run.clocks[0].next_ps;
      for (size_t clock = 1; clock < clocks.size(); clock++)
        now_ps = std::min(now_ps, run.clocks[clock].next_ps);
      if (now_ps > run.until_ps) break;
      uint64_t mask = 0;
      for (size_t clock = 0; clock < clocks.size(); clock++) {
        xd_clock& it = run.clocks[clock];
        if (it.next_ps != now_ps) continue;
        mask |= 1ull << clock;
        it.next_ps += it.period_ps;
      }
      for (uint32_t i = 0; i < run.source_count; i++) {
        xd_source& it = run.sources[i];
        if (it.done) continue;
        if (restarts()) it.sent = 0;
        else offer(it);
      }
#if XD_HOST
      if ((mask & 1) && until_access > 0) {
        until_access -= 1;
      } else if ((mask & 1) && !registers.is_open() && run.accesses_done < run.access_count) {
        registers.begin(*model, run.accesses[run.accesses_done]);
        until_access = run.access_cycles - 1;
      }
      const bool accessed = registers.is_open();
#endif
      edge(mask, now_ps);
#if XD_HOST
      if (accessed && !registers.is_open() && run.accesses_done < run.access_count) {
        registers.end(run.accesses[run.accesses_done], now_ps);
        run.accesses_done += 1;
        done = run.accesses_done == run.access_count;
      }
      if (run.idle_cycles > 0) count_quiet(mask, accessed);
      done = done || rings();
#endif
      run.now_ps = now_ps;
      run.edges += 1;
      for (uint32_t i = 0; i < run.source_count; i++) {
        xd_source& it = run.sources[i];
        if (it.done || it.sent < it.bytes || *ends[it.port].signals.valid) continue;
        it.done_ps = now_ps;
        it.done = 1;
        done = true;
      }
    }
    for (uint32_t i = 0; i < run.sink_count; i++) ends[run.sinks[i].port].sink = nullptr;
#if XD_HOST
    run.doorbell = model->doorbell;
#endif
    return done;
  }

  VerilatedContext context;
  std::unique_ptr<Vnetwork> model;
  std::vector<Clock> clocks;
  std::vector<PortState> ends;
  std::vector<xd_beat> beats;  // what waits to be popped
  bool done = false;           // what ends the run in progress
  uint32_t quiet[clock_count] = {};  // edges of each clock since anything happened
#if XD_HOST
  HostMemory memory;
  RegisterPort registers;
  uint32_t until_access = 0;  // edges until the register port is free: kept where a run is cut
#endif
#if XD_AUDITS
  bool worked = false;  // since the last audit
  uint32_t audits = 0;
#endif
};

extern "C" {

uint32_t xd_network_abi(void) { return XD_NETWORK_ABI; }

xd_network* xd_network_new(uint32_t seed) {
  try {
    return new xd_network(seed);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void xd_network_delete(xd_network* network) { delete network; }

void xd_network_reset(xd_network* network) { network->reset(); }

uint32_t xd_network_port_count(void) { return port_count; }

const xd_port* xd_network_port(uint32_t port) { return port < port_count ? &ports[port] : nullptr; }

uint32_t xd_network_clock_count(void) { return clock_count; }

const char* xd_network_clock_name(uint32_t clock) {
  return clock < clock_count ? clock_names[clock] : nullptr;
}

const char* xd_network_node_name(uint32_t node) {
  return node < node_count ? node_names[node] : nullptr;
}

int xd_network_push(xd_network* network, uint32_t port, const xd_beat* beat) {
  if (port >= port_count || !ports[port].publishes) return -1;
  const Signals& to = network->ends[port].signals;
  if (*to.valid) return 0;
  copy(to.data, beat->data, ports[port].width_bytes);
  copy(to.keep, &beat->keep, ports[port].width_bytes / 8);
  *to.last = beat->last != 0;
  *to.user = beat->user != 0;
  *to.valid = 1;
  network->wake();
  return 1;
}

int xd_network_pop(xd_network* network, uint32_t port, xd_beat* beat) {
  if (port >= port_count || ports[port].publishes) return -1;
  PortState& end = network->ends[port];
  if (!end.full) return 0;
  *beat = network->beats[port];
  end.full = false;
  *end.signals.ready = 1;
  network->wake();
  return 1;
}

int xd_network_edge(xd_network* network, uint64_t clocks) {
  if (clock_count < 64 && clocks >> clock_count != 0) return -1;
  network->edge(clocks, 0);
  return 0;
}

int xd_network_run(xd_network* network, xd_run* run) { return network->run(*run); }

#if XD_HOST
// The host of a board reads and writes registers as in reality: by accesses of a run.
int xd_network_read(xd_network*, uint32_t, uint64_t*) { return -1; }

int xd_network_write(xd_network*, uint32_t, uint64_t) { return -1; }
#else
int xd_network_read(xd_network* network, uint32_t address, uint64_t* value) {
  if (address % 8 != 0) return -1;
  const bool written = address >= control_address;
  const uint32_t word = (address - (written ? control_address : 0)) / 8;
  if (word >= (written ? control_words : status_words)) return -1;
  network->model->eval();
  if (written) std::memcpy(value, reinterpret_cast<uint8_t*>(&network->model->control) + word * 8, 8);
  else std::memcpy(value, reinterpret_cast<uint8_t*>(&network->model->status) + word * 8, 8);
  return 0;
}

int xd_network_write(xd_network* network, uint32_t address, uint64_t value) {
  if (address % 8 != 0 || address < control_address) return -1;
  const uint32_t word = (address - control_address) / 8;
  if (word >= control_words) return -1;
  network->wake();
  std::memcpy(reinterpret_cast<uint8_t*>(&network->model->control) + word * 8, &value, 8);
  return 0;
}
#endif

#if XD_HOST
int xd_network_memory(xd_network* network, const xd_memory* memory) {
  if (memory->outstanding == 0 || memory->outstanding > XD_OUTSTANDING_MAX) return -1;
  if (memory->beat_256ths < 256 || memory->beat_256ths > 65536) return -1;
  if (memory->load_percent > 99) return -1;
  network->memory.configure(*memory);
  return 0;
}

int xd_network_windows(xd_network* network, const xd_window* windows, uint32_t count) {
  return network->memory.open(windows, count) ? 0 : -1;
}

int xd_network_traffic(xd_network* network, xd_traffic* traffic) {
  *traffic = network->memory.traffic();
  return 0;
}
#else
int xd_network_memory(xd_network*, const xd_memory*) { return -1; }

int xd_network_windows(xd_network*, const xd_window*, uint32_t) { return -1; }

int xd_network_traffic(xd_network*, xd_traffic*) { return -1; }
#endif

}  // extern "C"
