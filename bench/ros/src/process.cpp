#include "process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

Usage usage_of(pid_t process)
{
  Usage usage;
  std::error_code gone;
  const auto tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto & task : std::filesystem::directory_iterator(tasks, gone)) {
    usage.threads += 1;
    std::uint64_t cpu_ns = 0;
    std::ifstream(task.path() / "schedstat") >> cpu_ns;
    usage.cpu_ns += cpu_ns;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word; ) {
      std::uint64_t switches = 0;
      if (word == "voluntary_ctxt_switches:" && status >> switches) {
        usage.switches += switches;
      }
    }
  }
  return usage;
}

OtherSide::OtherSide(const std::vector<std::string> & arguments)
{
  const auto own = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<char *> words{const_cast<char *>(own.c_str())};
  for (const auto & argument : arguments) {
    words.push_back(const_cast<char *>(argument.c_str()));
  }
  words.push_back(nullptr);
  process_ = fork();
  if (process_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (const char * apart = std::getenv("BENCH_OTHER_RENDEZVOUS")) {
      setenv("CROSSDOCK_RENDEZVOUS", apart, 1);
    }
    execv(own.c_str(), words.data());
    _exit(127);
  }
}

OtherSide::~OtherSide()
{
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::uint64_t now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

double at(std::vector<double> & values, double share)
{
  if (values.empty()) {
    return 0.0;
  }
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

void report(const std::string & name, const std::string & figure, double value)
{
  std::printf("%s\t%s\t%.3f\n", name.c_str(), figure.c_str(), value);
  std::fflush(stdout);
}
