// What a message costs the client library, and the middleware below it, where nothing sleeps.

#include "cases.hpp"
#include "process.hpp"

#include <rcl/context.h>
#include <rcl/publisher.h>
#include <rcl/subscription.h>
#include <rclcpp/rclcpp.hpp>
#include <rmw/rmw.h>
#include <sensor_msgs/msg/image.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

using sensor_msgs::msg::Image;

constexpr std::size_t BYTES = 64;
constexpr std::size_t WARM_UP = 200;

void must(rmw_ret_t result, const char * what)
{
  if (result != RMW_RET_OK) {
    throw std::runtime_error(std::string(what) + ": " + rmw_get_error_string().str);
  }
}

/// Waits and takes as an executor does, by the middleware's own functions.
class Taker
{
public:
  Taker(rmw_context_t * context, const rmw_subscription_t * subscription)
  : subscription_(subscription), set_(rmw_create_wait_set(context, 1))
  {
    if (set_ == nullptr) {
      throw std::runtime_error("no wait set");
    }
  }
  ~Taker() {(void)rmw_destroy_wait_set(set_);}
  Taker(const Taker &) = delete;
  Taker & operator=(const Taker &) = delete;

  void wait()
  {
    void * ready[] = {subscription_->data};
    rmw_subscriptions_t subscriptions = {1, ready};
    const rmw_time_t at_once = {0, 0};
    must(rmw_wait(&subscriptions, nullptr, nullptr, nullptr, nullptr, set_, &at_once), "rmw_wait");
  }

  void take(Image & message)
  {
    bool is_taken = false;
    rmw_message_info_t info = rmw_get_zero_initialized_message_info();
    must(rmw_take_with_info(subscription_, &message, &is_taken, &info, nullptr), "rmw_take");
    if (!is_taken) {
      throw std::runtime_error("the message is not there");
    }
  }

private:
  const rmw_subscription_t * subscription_;
  rmw_wait_set_t * set_;
};

/// Counts calls of the middleware, as an events executor would be told of messages.
void count(const void * calls, std::size_t messages)
{
  *static_cast<std::size_t *>(const_cast<void *>(calls)) += messages;
}

/// Medians of `publish` and of `take`, in turn.
std::pair<double, double> times(
  std::size_t rounds, const std::function<void()> & publish, const std::function<void()> & take)
{
  std::vector<double> publish_us, take_us;
  for (std::size_t round = 0; round < WARM_UP + rounds; ++round) {
    const auto begin = now_ns();
    publish();
    const auto there = now_ns();
    take();
    const auto end = now_ns();
    if (round >= WARM_UP) {
      publish_us.push_back(static_cast<double>(there - begin) / 1000.0);
      take_us.push_back(static_cast<double>(end - there) / 1000.0);
    }
  }
  return {at(publish_us, 0.5), at(take_us, 0.5)};
}

}  // namespace

void calls(std::size_t rounds)
{
  rclcpp::init(0, nullptr);
  {
    const auto qos = rclcpp::QoS(rclcpp::KeepLast(4)).reliable();
    auto node = std::make_shared<rclcpp::Node>("calls");
    auto publisher = node->create_publisher<Image>("/calls", qos);
    std::size_t heard = 0;
    auto subscription = node->create_subscription<Image>(
      "/calls", qos, [&](Image::ConstSharedPtr) {++heard;});
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(node);
    while (publisher->get_subscription_count() == 0) {
      executor.spin_some();
    }
    // What nodes do at their start is done.
    executor.spin_all(std::chrono::seconds(1));
    Image image;
    image.encoding = "8UC1";
    image.data.resize(BYTES);
    const auto library = times(
      rounds, [&] {publisher->publish(image);}, [&] {
        // Another condition may be ready before the message is.
        for (const auto before = heard; heard == before; ) {
          executor.spin_once(std::chrono::seconds(1));
        }
      });
    const auto context = node->get_node_base_interface()->get_context()->get_rcl_context();
    const auto writer = rcl_publisher_get_rmw_handle(publisher->get_publisher_handle().get());
    const auto reader =
      rcl_subscription_get_rmw_handle(subscription->get_subscription_handle().get());
    Taker taker(rcl_context_get_rmw_context(context.get()), reader);
    Image taken;
    const auto middleware = times(
      rounds, [&] {must(rmw_publish(writer, &image, nullptr), "rmw_publish");},
      [&] {taker.wait(); taker.take(taken);});
    std::size_t told = 0;
    must(rmw_subscription_set_on_new_message_callback(reader, count, &told), "the callback");
    const auto events = times(
      rounds, [&] {
        must(rmw_publish(writer, &image, nullptr), "rmw_publish");
        // Another implementation may call on a thread of its own.
        for (; *static_cast<volatile std::size_t *>(&told) == 0; ) {
        }
        told = 0;
      }, [&] {taker.take(taken);});
    must(rmw_subscription_set_on_new_message_callback(reader, nullptr, nullptr), "the callback");
    report("one thread, 64 B", "publish_us", library.first);
    report("one thread, 64 B", "publish_rmw_us", middleware.first);
    report("one thread, 64 B", "spin_us", library.second);
    report("one thread, 64 B", "wait_take_rmw_us", middleware.second);
    report("one thread, 64 B", "publish_callback_rmw_us", events.first);
    report("one thread, 64 B", "take_rmw_us", events.second);
  }
  rclcpp::shutdown();
}
