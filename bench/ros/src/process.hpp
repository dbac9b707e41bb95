// The other side of a measurement, and what the kernel says of a process. Must not know ROS.

#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

/// What a process has used since it began.
struct Usage
{
  std::uint64_t switches = 0;  ///< times that its threads went to sleep
  std::uint64_t cpu_ns = 0;
  std::uint64_t threads = 0;
};

/// Reads it from /proc; zeros if the process has gone.
Usage usage_of(pid_t process);

/// This program again, in a process of its own, with these arguments. Ends with its parent. With
/// BENCH_OTHER_RENDEZVOUS it meets others in that folder, so that it sees this one over a network
/// only.
class OtherSide
{
public:
  explicit OtherSide(const std::vector<std::string> & arguments);
  ~OtherSide();
  OtherSide(const OtherSide &) = delete;
  OtherSide & operator=(const OtherSide &) = delete;

  Usage usage() const {return usage_of(process_);}

private:
  pid_t process_;
};

/// Nanoseconds of a clock that all processes share.
std::uint64_t now_ns();

/// The value of a share of the sorted values: 0.5 is the median.
double at(std::vector<double> & values, double share);

/// Writes a row `case<tab>figure<tab>value`.
void report(const std::string & name, const std::string & figure, double value);
