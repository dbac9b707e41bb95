// `bench CASE`, a case of README.md; `bench reflect|publish` are the other sides.

#include "cases.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace
{

/// False: there is no such case.
bool run(const std::string & name, const std::string & argument)
{
  if (name == "floor") {
    floor_of_the_machine();
  } else if (name == "image") {
    const auto bytes = std::stoul(argument);
    image_hops(bytes, bytes >= 1 << 20 ? 1'000 : 10'000);
  } else if (name == "plain") {
    plain_hops(argument == "8MiB", 5'000);
  } else if (name == "events") {
    events_hops(20'000);
  } else if (name == "calls") {
    calls(20'000);
  } else if (name == "rate") {
    image_rate(std::stoul(argument));
  } else if (name == "reflect" && argument == "image") {
    reflect_images();
  } else if (name == "reflect") {
    reflect_plain(argument == "plain8MiB");
  } else if (name == "publish") {
    publish_images(std::stoul(argument));
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char ** words)
{
  try {
    const std::string name = count > 1 ? words[1] : "", argument = count > 2 ? words[2] : "";
    if (run(name, argument)) {
      return 0;
    }
    std::fprintf(stderr, "bench floor | image BYTES | plain 64|8MiB | events | calls | rate COUNT\n");
  } catch (const std::exception & error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
  }
  return 1;
}
