#include "cases.hpp"
#include "process.hpp"

#include <crossdock_ros_bench/msg/plain64.hpp>
#include <crossdock_ros_bench/msg/plain8_mi_b.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>

#if __has_include(<rclcpp/experimental/executors/events_executor/events_executor.hpp>)
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#define HAS_EVENTS_EXECUTOR
#endif

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{

using crossdock_ros_bench::msg::Plain64;
using crossdock_ros_bench::msg::Plain8MiB;
using sensor_msgs::msg::Image;

constexpr std::size_t WARM_UP = 200;
constexpr auto IDLE = std::chrono::seconds(3);
constexpr auto PATIENCE = std::chrono::seconds(20);
/// A middleware that has lost so many is not measured any longer.
constexpr std::size_t MOST_LOST = 5;

const rclcpp::QoS QOS = rclcpp::QoS(rclcpp::KeepLast(4)).reliable();

/// Sends a message that carries a number, and finds the number in one that came.
struct Images
{
  using Message = Image;

  explicit Images(std::size_t bytes)
  {
    image.encoding = "8UC1";
    image.data.resize(bytes);
  }

  void send(rclcpp::Publisher<Image> & publisher, std::uint32_t number)
  {
    image.width = number;
    publisher.publish(image);
  }

  static std::uint32_t number(const Image & message) {return message.width;}

  Image image;
};

template<class M>
struct Plain
{
  using Message = M;

  void send(rclcpp::Publisher<M> & publisher, std::uint32_t number)
  {
    auto loan = publisher.borrow_loaned_message();
    loan.get().number = number;
    publisher.publish(std::move(loan));
  }

  static std::uint32_t number(const M & message) {return static_cast<std::uint32_t>(message.number);}
};

/// Publishes on `/ping`, hears on `/pong`, and has the next message go when the last is back.
template<class Load>
void measure(
  const std::string & name, Load load, std::size_t rounds,
  const std::vector<std::string> & other_side)
{
  using Message = typename Load::Message;
  rclcpp::init(0, nullptr);
  {
    auto node = std::make_shared<rclcpp::Node>("bench");
    auto ping = node->create_publisher<Message>("/ping", QOS);
    rclcpp::executors::SingleThreadedExecutor executor;
    OtherSide other(other_side);
    std::vector<double> one_way_us;
    std::uint32_t number = 0;
    std::uint64_t begin = 0;
    Usage other_before;
    auto next = [&] {
        if (number == WARM_UP) {
          other_before = other.usage();
        }
        begin = now_ns();
        load.send(*ping, ++number);
      };
    auto pong = node->create_subscription<Message>(
      "/pong", QOS, [&](typename Message::ConstSharedPtr message) {
        if (Load::number(*message) != number) {
          return;
        }
        if (number > WARM_UP) {
          one_way_us.push_back(static_cast<double>(now_ns() - begin) / 2000.0);
        }
        if (one_way_us.size() == rounds) {
          executor.cancel();
        } else {
          next();
        }
      });
    executor.add_node(node);
    const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
    while (ping->get_subscription_count() == 0 || pong->get_publisher_count() == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error(name + ": the other side is not seen");
      }
      std::this_thread::yield();
    }
    // A middleware that loses a message would stop the game.
    std::uint32_t seen = 0;
    std::size_t lost = 0;
    auto again = node->create_wall_timer(std::chrono::seconds(1), [&] {
        if (number == seen && ++lost > MOST_LOST) {
          executor.cancel();
        } else if (number == seen) {
          next();
        }
        seen = number;
      });
    next();
    executor.spin();
    again->cancel();
    report(name, "lost", static_cast<double>(lost));
    if (lost > MOST_LOST) {
      throw std::runtime_error(name + ": too many messages were lost");
    }
    const auto other_used = other.usage();
    const auto count = static_cast<double>(rounds);
    report(name, "p50_us", at(one_way_us, 0.5));
    report(name, "p99_us", at(one_way_us, 0.99));
    report(name, "switches_per_message",
      static_cast<double>(other_used.switches - other_before.switches) / count);
    report(name, "cpu_us_per_message",
      static_cast<double>(other_used.cpu_ns - other_before.cpu_ns) / 1000.0 / count);
    report(name, "threads", static_cast<double>(other_used.threads));
    std::this_thread::sleep_for(IDLE);
    report(name, "idle_switches_per_s",
      static_cast<double>(other.usage().switches - other_used.switches) / 3.0);
  }
  rclcpp::shutdown();
}

/// Gives back what comes on `/ping` as `/pong`.
template<class Message, class Back>
void reflect(Back back)
{
  rclcpp::init(0, nullptr);
  auto node = std::make_shared<rclcpp::Node>("reflector");
  auto pong = node->create_publisher<Message>("/pong", QOS);
  auto ping = node->create_subscription<Message>(
    "/ping", QOS, [&](typename Message::ConstSharedPtr message) {back(*pong, *message);});
  rclcpp::spin(node);
}

template<class Message>
void reflect_lent()
{
  reflect<Message>([](auto & pong, const Message & message) {
      auto loan = pong.borrow_loaned_message();
      loan.get().number = message.number;
      pong.publish(std::move(loan));
    });
}

}  // namespace

void image_hops(std::size_t bytes, std::size_t rounds)
{
  const auto size = bytes < 1024 ? std::to_string(bytes) + " B" :
    bytes < 1 << 20 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
  measure("Image " + size, Images(bytes), rounds, {"reflect", "image"});
}

void plain_hops(bool is_large, std::size_t rounds)
{
  if (is_large) {
    measure("lent 8 MiB", Plain<Plain8MiB>(), rounds, {"reflect", "plain8MiB"});
  } else {
    measure("lent 64 B", Plain<Plain64>(), rounds, {"reflect", "plain64"});
  }
}

void reflect_images()
{
  reflect<Image>([](auto & pong, const Image & message) {pong.publish(message);});
}

void reflect_plain(bool is_large)
{
  is_large ? reflect_lent<Plain8MiB>() : reflect_lent<Plain64>();
}

void events_hops(std::size_t rounds)
{
#ifdef HAS_EVENTS_EXECUTOR
  rclcpp::init(0, nullptr);
  {
    auto node = std::make_shared<rclcpp::Node>("ring");
    rclcpp::experimental::executors::EventsExecutor executor;
    Images load(64);
    auto there = node->create_publisher<Image>("/there", QOS);
    auto back = node->create_publisher<Image>("/back", QOS);
    Images reply(64);
    std::vector<double> hop_us;
    std::uint32_t number = 0;
    std::uint64_t begin = 0;
    auto next = [&] {
        begin = now_ns();
        load.send(*there, ++number);
      };
    auto first = node->create_subscription<Image>(
      "/there", QOS, [&](Image::ConstSharedPtr message) {reply.send(*back, message->width);});
    auto second = node->create_subscription<Image>(
      "/back", QOS, [&](Image::ConstSharedPtr) {
        if (number > WARM_UP) {
          hop_us.push_back(static_cast<double>(now_ns() - begin) / 2000.0);
        }
        hop_us.size() == rounds ? executor.cancel() : next();
      });
    executor.add_node(node);
    next();
    executor.spin();
    report("events executor, one process, 64 B", "p50_us", at(hop_us, 0.5));
    report("events executor, one process, 64 B", "p99_us", at(hop_us, 0.99));
  }
  rclcpp::shutdown();
#else
  (void)rounds;
#endif
}
