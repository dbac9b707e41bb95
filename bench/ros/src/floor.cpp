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

constexpr std::uint32_t ROUNDS = 20'000;

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

void hand_overs()
{
  void * memory = mmap(
    nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  auto words = new (memory) std::atomic<std::uint32_t>[64]{};
  // On cache lines of their own.
  auto & there = words[0];
  auto & back = words[32];
  const auto child = fork();
  if (child == 0) {
    for (std::uint32_t round = 1; round <= ROUNDS; ++round) {
      wait_for(there, round);
      hand_over(back, round);
    }
    _exit(0);
  }
  std::vector<double> one_way_us;
  for (std::uint32_t round = 1; round <= ROUNDS; ++round) {
    const auto begin = now_ns();
    hand_over(there, round);
    wait_for(back, round);
    one_way_us.push_back(static_cast<double>(now_ns() - begin) / 2000.0);
  }
  waitpid(child, nullptr, 0);
  munmap(memory, 4096);
  report("hand-over", "p50_us", at(one_way_us, 0.5));
  report("hand-over", "p99_us", at(one_way_us, 0.99));
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
  hand_overs();
  copies("warm copy 1 MiB", std::size_t{1} << 20);
  copies("warm copy 8 MiB", std::size_t{8} << 20);
}
