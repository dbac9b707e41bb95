// The measurements. Each writes rows, see `report`.

#pragma once

#include <cstddef>

/// A futex hands a word from process to process, and warm memory is copied: what no middleware
/// that copies twice can be faster than.
void floor_of_the_machine();

/// Images of these many bytes go to another process and back.
void image_hops(std::size_t bytes, std::size_t rounds);

/// Messages of a plain type, of 64 bytes or of 8 MiB, go to another process and back, lent on both
/// sides.
void plain_hops(bool is_large, std::size_t rounds);

/// A hop from node to node in one process, driven by the events executor. Nothing if this rclcpp
/// has none.
void events_hops(std::size_t rounds);

/// An image of 64 bytes goes through the client library and through the middleware alone, in one
/// thread that never sleeps.
void calls(std::size_t rounds);

/// Another process publishes images of 8 MiB at 30 Hz, with the default quality of service.
void image_rate(std::size_t count);

/// The other sides: they run until they are killed.
void reflect_images();
void reflect_plain(bool is_large);
void publish_images(std::size_t count);
