// Testbench of other_light: notes and questions of chance with few stamps, among them equal times
// that are said in two ways, and times before zero; each answer against a model with a list of
// notes; answers that stand until clear, questions while a note is taken, and resets in mid-run.
#include <optional>
#include <utility>

#include "axis.hpp"

namespace {

struct Stamp {
  int32_t sec;
  uint32_t nanosec;
  int64_t ns() const { return int64_t(sec) * 1000000000 + int64_t(nanosec); }
};

// Some stamps are the same time: a second more, and 10^9 ns less.
Stamp any(tb::Random& random) {
  const int32_t sec = int32_t(random.between(0, 5)) - 2;
  return random.percent(30) ? Stamp{sec - 1, 1000000000} : Stamp{sec, 0};
}

// What the nodes know of the light of the other one.
struct Model {
  std::array<std::optional<std::pair<int64_t, bool>>, 8> notes;
  size_t next = 0;
  std::optional<int64_t> previous;
  bool lit = false;
  unsigned behind = 0;   // notes that were looked at for the last answer

  void note(int64_t stamp, bool is_lit) { notes[next++ % notes.size()] = {stamp, is_lit}; }
  bool ask(int64_t stamp) {
    const auto searched = std::exchange(previous, stamp);
    behind = 0;
    for (const auto& it : notes) {
      behind += 1;
      if (!it || it->first != searched) continue;
      lit = it->second;
      break;
    }
    return lit;
  }
};

}  // namespace

int main(int count, char** words) {
  const tb::Options options(count, words);
  tb::Bench bench(options);
  tb::Random& random = bench.random;
  Vdut& dut = *bench.dut;
  std::vector<tb::Source> nobody;
  std::vector<tb::Sink> nothing;
  Model model;
  Stamp noted{}, asked{};
  bool is_asked = false, is_answered = false;
  unsigned waits = 0, stands = 0;   // cycles since the question, and since the note was offered
  uint64_t answers = 0, lit = 0, found = 0;
  const auto restart = [&] {
    dut.note_valid = dut.ask = dut.clear = 0;
    tb::reset(bench, nobody, nothing);
    model = {};
    is_asked = is_answered = false;
  };
  restart();
  for (uint64_t left = options.number("answers", 20000); left > 0;) {
    if (random.percent(1) && random.percent(10)) restart();
    const bool begins = !is_asked && !is_answered && random.percent(20);
    if (begins) {
      asked = any(random);
      is_asked = true;
      waits = 0;
    }
    if (!dut.note_valid && random.percent(15)) {
      noted = any(random);
      stands = 0;
      dut.note_lit = random.percent(50);
      dut.note_valid = 1;
    }
    dut.ask = begins;
    // Only while they stand do they say anything.
    dut.sec = is_asked ? uint32_t(asked.sec) : uint32_t(random.next());
    dut.nanosec = is_asked ? asked.nanosec : uint32_t(random.next());
    dut.note_sec = dut.note_valid ? uint32_t(noted.sec) : uint32_t(random.next());
    dut.note_nanosec = dut.note_valid ? noted.nanosec : uint32_t(random.next());
    dut.clear = is_answered && random.percent(30);
    bool is_taken = false;
    tb::step(bench, nobody, nothing, [&] {
      is_taken = dut.note_valid && dut.note_ready;
      if (dut.answered != is_answered) {
        if (!is_asked || is_answered) tb::fail("an answer that comes or goes by itself");
        const bool expected = model.ask(asked.ns());
        const unsigned searched = model.behind;
        if (bool(dut.lit) != expected) tb::fail("lit %d, not %d", int(dut.lit), int(expected));
        // The question, its stamp, and a note each cycle; one that is being taken comes first.
        if (waits < 4 + searched || waits > 7 + searched)
          tb::fail("an answer after %u cycles for %u notes", waits, searched);
        is_asked = false;
        is_answered = true;
        answers += 1;
        left -= 1;
        lit += expected;
        found += searched < 8;
      }
      if (is_answered && bool(dut.lit) != model.lit) tb::fail("an answer does not stand");
    });
    if (is_taken) {
      model.note(noted.ns(), dut.note_lit);
      dut.note_valid = 0;
    } else if (dut.note_valid && ++stands > 24) {
      tb::fail("a note that is never taken");
    }
    if (dut.clear) is_answered = false;
    if (is_asked && ++waits > 24) tb::fail("a question that is never answered");
  }
  tb::report("answers", answers);
  tb::report("lit", lit);
  tb::report("found", found);
  return 0;
}
