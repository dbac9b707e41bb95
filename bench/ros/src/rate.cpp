#include "cases.hpp"
#include "process.hpp"

#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>

#include <memory>
#include <string>
#include <thread>

namespace
{

using sensor_msgs::msg::Image;

constexpr std::size_t BYTES = std::size_t{8} << 20;
constexpr auto PERIOD = std::chrono::nanoseconds(1'000'000'000 / 30);
/// What does not come for so long does not come.
constexpr auto PATIENCE = std::chrono::seconds(3);

const rclcpp::QoS QOS{10};

}  // namespace

void publish_images(std::size_t count)
{
  rclcpp::init(0, nullptr);
  auto node = std::make_shared<rclcpp::Node>("camera");
  auto publisher = node->create_publisher<Image>("/image", QOS);
  Image image;
  image.encoding = "8UC1";
  image.data.resize(BYTES);
  while (publisher->get_subscription_count() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The other direction may need longer to be known.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  auto due = std::chrono::steady_clock::now();
  for (std::size_t number = 0; number < count; ++number) {
    std::this_thread::sleep_until(due);
    due += PERIOD;
    const auto now = now_ns();
    image.header.stamp.sec = static_cast<std::int32_t>(now / 1'000'000'000u);
    image.header.stamp.nanosec = static_cast<std::uint32_t>(now % 1'000'000'000u);
    publisher->publish(image);
  }
  // Until it is killed: what was published can be repeated.
  std::this_thread::sleep_for(std::chrono::hours(1));
}

void image_rate(std::size_t count)
{
  const std::string name = "Image 8 MiB, 30 Hz, defaults";
  rclcpp::init(0, nullptr);
  {
    auto node = std::make_shared<rclcpp::Node>("viewer");
    rclcpp::executors::SingleThreadedExecutor executor;
    std::vector<double> late_us;
    auto last = std::chrono::steady_clock::now();
    auto subscription = node->create_subscription<Image>(
      "/image", QOS, [&](Image::ConstSharedPtr message) {
        const auto sent = static_cast<std::uint64_t>(message->header.stamp.sec) * 1'000'000'000u +
        message->header.stamp.nanosec;
        late_us.push_back(static_cast<double>(now_ns() - sent) / 1000.0);
        last = std::chrono::steady_clock::now();
      });
    executor.add_node(node);
    OtherSide camera({"publish", std::to_string(count)});
    const auto end = last + PERIOD * count + std::chrono::seconds(20);
    while (late_us.size() < count && std::chrono::steady_clock::now() < end &&
      (late_us.empty() || std::chrono::steady_clock::now() - last < PATIENCE))
    {
      executor.spin_once(std::chrono::milliseconds(100));
    }
    report(name, "received", static_cast<double>(late_us.size()));
    report(name, "of", static_cast<double>(count));
    report(name, "p50_us", at(late_us, 0.5));
    report(name, "p99_us", at(late_us, 0.99));
  }
  rclcpp::shutdown();
}
