"""A node of rmw_zenoh that others have written: zenoh-ros2-sdk. Its router's port is the argument.

It publishes /from_sdk, prints what comes on /to_sdk, serves /sdk_add, and calls /add_two_ints until
it gets an answer, which it prints. It ends with its standard input.
"""

import sys
import threading
import time

from zenoh_ros2_sdk import ROS2Publisher, ROS2ServiceClient, ROS2ServiceServer, ROS2Subscriber

TEXT = "string data\n"
ADD = {"request_definition": "int64 a\nint64 b\n", "response_definition": "int64 sum\n"}
TYPE = "example_interfaces/srv/AddTwoInts"


def say(line):
    print(line, flush=True)


def main():
    place = {"router_port": int(sys.argv[1]), "node_name": "sdk"}
    publisher = ROS2Publisher("/from_sdk", "std_msgs/msg/String", TEXT, **place)
    kept = [
        ROS2Subscriber(
            "/to_sdk", "std_msgs/msg/String", lambda message: say(f"heard {message.data}"), TEXT, **place
        )
    ]
    def add(request):
        return server.response_msg_class(sum=request.a + request.b)

    server = ROS2ServiceServer("/sdk_add", TYPE, add, **ADD, **place)
    client = ROS2ServiceClient("/add_two_ints", TYPE, timeout=5.0, **ADD, **place)
    is_over = threading.Event()

    def call():
        while not is_over.is_set():
            response = client.call(a=40, b=2)
            if response is not None:
                return say(f"sum {response.sum}")
            time.sleep(0.1)

    def talk():
        while not is_over.wait(0.05):
            publisher.publish(data="bonjour")

    threads = [threading.Thread(target=work) for work in (call, talk)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    is_over.set()
    for thread in threads:
        thread.join()
    del kept


main()
