#include "cases.hpp"
#include "process.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace
{

/// Sleeps until the word has this value.
void wait_for(std::atomic<std::uint32_t> & word, std::uint32_t value)
{
  for (auto seen = word.load(); seen != value; seen = word.load()) {
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}

void hand_over(std::atomic<std::uint32_t> & word, std::uint32_t value)
{
  word.store(value);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Memory that the process and its child share.
class Shared
{
public:
  explicit Shared(std::size_t bytes)
  : bytes_(bytes),
    start_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
  {
    if (start_ == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
  }
  ~Shared() {munmap(start_, bytes_);}
  Shared(const Shared &) = delete;
  Shared & operator=(const Shared &) = delete;

  char * start() const {return static_cast<char *>(start_);}

private:
  std::size_t bytes_;
  void * start_;
};

/// Shared memory for a message, in one of several buffers in turn.
class Buffers
{
public:
  Buffers(std::size_t bytes, std::size_t count)
  : bytes_(bytes), count_(count), memory_(bytes * count + 1) {}

  char * of(std::uint32_t round) const {return memory_.start() + round % count_ * bytes_;}

private:
  std::size_t bytes_;
  std::size_t count_;
  Shared memory_;
};

/// A word goes to a child and back. With it go `bytes` bytes, as a message does: each side copies
/// them from memory of its own into a shared buffer, and the other out of it.
void hand_overs(
  const char * name, std::size_t bytes, std::uint32_t rounds, std::size_t buffers = 1)
{
  Shared control(4096);
  Buffers message(bytes, buffers), reply(bytes, buffers);
  auto words = new (control.start()) std::atomic<std::uint32_t>[64]{};
  // On cache lines of their own.
  auto & there = words[0];
  auto & back = words[32];
  std::vector<char> out(bytes, 1), in(bytes, 2);
  const auto child = fork();
  if (child == 0) {
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      wait_for(there, round);
      std::memcpy(in.data(), message.of(round), bytes);
      std::memcpy(reply.of(round), out.data(), bytes);
      hand_over(back, round);
    }
    _exit(0);
  }
  std::vector<double> one_way_us;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const auto begin = now_ns();
    std::memcpy(message.of(round), out.data(), bytes);
    hand_over(there, round);
    wait_for(back, round);
    std::memcpy(in.data(), reply.of(round), bytes);
    one_way_us.push_back(static_cast<double>(now_ns() - begin) / 2000.0);
  }
  waitpid(child, nullptr, 0);
  report(name, "p50_us", at(one_way_us, 0.5));
  report(name, "p99_us", at(one_way_us, 0.99));
}

void copies(const char * name, std::size_t bytes)
{
  std::vector<char> from(bytes, 1), to(bytes, 2);
  std::vector<double> us;
  for (int round = 0; round < 200; ++round) {
    const auto begin = now_ns();
    std::memcpy(to.data(), from.data(), bytes);
    us.push_back(static_cast<double>(now_ns() - begin) / 1000.0);
    from[0] = to[bytes - 1];
  }
  report(name, "p50_us", at(us, 0.5));
}

}  // namespace

void floor_of_the_machine()
{
  hand_overs("hand-over", 0, 20'000);
  hand_overs("hand-over with 1 MiB", std::size_t{1} << 20, 1'000);
  hand_overs("hand-over with 1 MiB, two buffers", std::size_t{1} << 20, 1'000, 2);
  copies("warm copy 1 MiB", std::size_t{1} << 20);
  copies("warm copy 8 MiB", std::size_t{8} << 20);
}
