// Host memory behind a board's AXI4 port (Vnetwork's signals m_axi_*), and the host at its
// AXI4-Lite port for registers (s_axil_*). Part of the wrapper of a board; it must not know what the
// board does.

// A beat of the port and what goes with it, as bytes.
constexpr uint32_t memory_bytes = @MEMORY_BYTES@;

// Chance that is the same on every machine.
struct Chance {
  uint64_t state;
  bool percent(uint32_t share) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % 100 < share;
  }
};

// How often something may pass: once in `interval` / 256 cycles, less what others take.
struct Pace {
  uint32_t interval = 256, load = 0, waited = 0;
  bool free = true;
  void cycle(Chance& chance) {
    if (free) return;
    // Where others use the memory too, they have it in so many of its cycles.
    if (load > 0 && chance.percent(load)) return;
    waited += 256;
    free = waited >= interval;
  }
  void use() {
    waited = waited >= interval ? waited - interval : 0;
    free = waited >= interval;
  }
};

class HostMemory {
 public:
  void configure(const xd_memory& to) {
    timing_ = to;
    chance_.state = to.seed | 1;
    for (Pace* pace : {&read_pace_, &write_pace_}) {
      *pace = Pace{};
      pace->interval = to.beat_256ths;
      pace->load = to.load_percent;
    }
  }
  bool open(const xd_window* windows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      const xd_window& it = windows[i];
      if (it.memory == nullptr || it.bytes == 0 || it.address + it.bytes < it.address) return false;
    }
    windows_.assign(windows, windows + count);
    return true;
  }
  const xd_traffic& traffic() const { return traffic_; }
  // Whether a burst is not answered yet.
  bool is_open() const { return aw_at_ != aw_end_ || ar_at_ != ar_end_; }

  void clear(Vnetwork& model) {
    aw_at_ = aw_end_ = b_end_ = 0;
    ar_at_ = ar_end_ = 0;
    w_beat_ = r_beat_ = 0;
    answering_ = reading_ = false;
    model.m_axi_awready = model.m_axi_wready = model.m_axi_bvalid = 0;
    model.m_axi_arready = model.m_axi_rvalid = 0;
  }

  // What passes at the edge that comes.
  void sample(Vnetwork& model) {
    if (model.m_axi_awvalid && model.m_axi_awready) {
      Burst& burst = writes_[aw_end_++ % depth];
      take(burst, model.m_axi_awaddr, model.m_axi_awlen, true);
    }
    if (model.m_axi_wvalid && model.m_axi_wready) {
      Burst& burst = writes_[b_end_ % depth];
      uint64_t strobes = 0;
      copy(&strobes, &model.m_axi_wstrb, memory_bytes / 8);
      if (burst.memory != nullptr) {
        uint8_t* to = burst.memory + uint64_t(w_beat_) * memory_bytes;
        const uint8_t* from = reinterpret_cast<const uint8_t*>(&model.m_axi_wdata);
        if (strobes == all_bytes) copy(to, from, memory_bytes);
        else
          for (uint32_t i = 0; i < memory_bytes; i++)
            if (strobes >> i & 1) to[i] = from[i];
        traffic_.bytes_written += uint64_t(__builtin_popcountll(strobes));
      }
      traffic_.beats_written += 1;
      write_pace_.use();
      w_beat_ += 1;
      if (model.m_axi_wlast) {
        w_beat_ = 0;
        burst.due = cycle_ + timing_.write_latency;
        b_end_ += 1;
      }
    }
    if (model.m_axi_bvalid && model.m_axi_bready) {
      aw_at_ += 1;
      answering_ = false;
    }
    if (model.m_axi_arvalid && model.m_axi_arready) {
      Burst& burst = reads_[ar_end_++ % depth];
      take(burst, model.m_axi_araddr, model.m_axi_arlen, false);
      burst.due = cycle_ + timing_.read_latency;
    }
    if (model.m_axi_rvalid && model.m_axi_rready) {
      const Burst& burst = reads_[ar_at_ % depth];
      traffic_.beats_read += 1;
      if (burst.memory != nullptr) traffic_.bytes_read += memory_bytes;
      read_pace_.use();
      reading_ = false;
      if (++r_beat_ == burst.beats) {
        r_beat_ = 0;
        ar_at_ += 1;
      }
    }
  }

  // What stands at the inputs for the next edge.
  void drive(Vnetwork& model) {
    cycle_ += 1;
    read_pace_.cycle(chance_);
    write_pace_.cycle(chance_);
    model.m_axi_awready = aw_end_ - aw_at_ < timing_.outstanding;
    model.m_axi_wready = b_end_ != aw_end_ && write_pace_.free;
    answering_ = answering_ || (aw_at_ != b_end_ && writes_[aw_at_ % depth].due <= cycle_);
    model.m_axi_bvalid = answering_;
    model.m_axi_bresp = answering_ && writes_[aw_at_ % depth].memory == nullptr ? 3 : 0;
    model.m_axi_arready = ar_end_ - ar_at_ < timing_.outstanding;
    // An offer stands until it is taken, whatever the pace.
    reading_ = reading_
        || (ar_at_ != ar_end_ && reads_[ar_at_ % depth].due <= cycle_ && read_pace_.free);
    model.m_axi_rvalid = reading_;
    if (!reading_) return;
    const Burst& burst = reads_[ar_at_ % depth];
    if (burst.memory != nullptr)
      copy(&model.m_axi_rdata, burst.memory + uint64_t(r_beat_) * memory_bytes, memory_bytes);
    model.m_axi_rresp = burst.memory == nullptr ? 3 : 0;
    model.m_axi_rlast = r_beat_ + 1 == burst.beats;
  }

 private:
  static constexpr uint32_t depth = XD_OUTSTANDING_MAX;
  static constexpr uint64_t all_bytes = memory_bytes == 64 ? ~0ull : (1ull << memory_bytes) - 1;
  struct Burst {
    uint8_t* memory;  // null: refused
    uint64_t due;     // the first cycle in which it may be answered
    uint32_t beats;
  };

  // A burst lies in one window or is refused: no byte outside is ever touched.
  void take(Burst& burst, uint64_t address, uint32_t len, bool write) {
    burst.beats = len + 1;
    burst.memory = nullptr;
    const uint64_t bytes = uint64_t(burst.beats) * memory_bytes;
    for (const xd_window& it : windows_) {
      const uint64_t offset = address - it.address;
      if (address < it.address || bytes > it.bytes || offset > it.bytes - bytes) continue;
      if (write && !it.writable) continue;
      burst.memory = it.memory + offset;
      return;
    }
    traffic_.refused += 1;
  }

  xd_memory timing_ = {40, 20, 16, 256, 0, 1};
  xd_traffic traffic_ = {};
  std::vector<xd_window> windows_;
  Chance chance_ = {1};
  Pace read_pace_, write_pace_;
  Burst writes_[depth] = {}, reads_[depth] = {};
  // Bursts answered, requested, and with all data there: counts, places modulo `depth`.
  uint32_t aw_at_ = 0, aw_end_ = 0, b_end_ = 0, ar_at_ = 0, ar_end_ = 0;
  uint32_t w_beat_ = 0, r_beat_ = 0;
  bool answering_ = false, reading_ = false;
  uint64_t cycle_ = 0;
};

// The host at the port for registers: one access at a time, which it answers for at once.
class RegisterPort {
 public:
  void clear(Vnetwork& model) {
    open_ = aw_ = w_ = ar_ = false;
    model.s_axil_awvalid = model.s_axil_wvalid = model.s_axil_arvalid = 0;
    model.s_axil_bready = model.s_axil_rready = 1;
  }
  bool is_open() const { return open_; }

  void begin(Vnetwork& model, const xd_access& access) {
    open_ = true;
    aw_ = w_ = access.write != 0;
    ar_ = !aw_;
    if (aw_) {
      model.s_axil_awaddr = access.address;
      model.s_axil_wdata = access.value;
      model.s_axil_wstrb = 0xff;
    } else {
      model.s_axil_araddr = access.address;
    }
    offer(model);
  }

  // What passes at the edge that comes.
  void sample(Vnetwork& model) {
    if (!open_) return;
    if (model.s_axil_awready) aw_ = false;
    if (model.s_axil_wready) w_ = false;
    if (model.s_axil_arready) ar_ = false;
    if (model.s_axil_bvalid) answer(model.s_axil_bresp, 0);
    if (model.s_axil_rvalid) answer(model.s_axil_rresp, model.s_axil_rdata);
  }

  // What stands at the inputs for the next edge.
  void drive(Vnetwork& model) { offer(model); }

  // The access that has ended.
  void end(xd_access& access, uint64_t now_ps) const {
    if (!access.write) access.value = data_;
    access.response = response_;
    access.done_ps = now_ps;
  }

 private:
  void offer(Vnetwork& model) const {
    model.s_axil_awvalid = aw_;
    model.s_axil_wvalid = w_;
    model.s_axil_arvalid = ar_;
  }
  void answer(uint32_t response, uint64_t data) {
    response_ = response;
    data_ = data;
    open_ = false;
  }
  bool open_ = false, aw_ = false, w_ = false, ar_ = false;
  uint32_t response_ = 0;
  uint64_t data_ = 0;
};
