"""A viewer with Foxglove's protocol, independent of the product: PyPI `websockets` for the connection,
`rosbags` for definitions and CDR; the frames are read here as the protocol's specification has them.

usage: foxglove_client.py ADDRESS PROTOCOL ORIGIN JSON

ORIGIN may be empty. JSON: {"topics": {TOPIC: COUNT}, "calls": {SERVICE: {FIELD: VALUE}}, "parameters":
{"services": [SERVICE], "get": [NAME], "set": [PARAMETER], "follow": [NAME]}}; parameters may be left out.
Waits for the topics and services, takes COUNT messages of each topic, calls each service, and prints what
it saw. When the services of parameters are there, it gets all parameters and those of "get", sets those of
"set", and does that again and again until it is told of new values of what it follows.
"""

import json
import struct
import sys
import time
from dataclasses import is_dataclass

import numpy
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

PATIENCE_S = 60
AGAIN_S = 0.5
MESSAGE, TIME, SERVICE_RESPONSE, SERVICE_REQUEST = 1, 2, 3, 2


def plain(value):
    """A message as JSON; of large arrays what tells pictures apart."""
    if is_dataclass(value):
        return {name: plain(field) for name, field in vars(value).items() if not name.startswith("__")}
    if isinstance(value, numpy.ndarray) and value.size > 64:
        return {"count": value.size, "least": float(value.min()), "greatest": float(value.max()), "sum": float(value.sum())}
    if isinstance(value, numpy.ndarray):
        return [plain(element) for element in value.tolist()]
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def message_name(name):
    """What `rosbags` calls the request or response of a service."""
    return name.replace("/srv/", "/msg/")


class Viewer:
    def __init__(self, socket, wishes):
        self.socket, self.wishes = socket, wishes
        self.types = get_typestore(Stores.EMPTY)
        self.info, self.channels, self.services, self.graph = {}, {}, {}, None
        self.names, self.messages = {}, {topic: [] for topic in wishes["topics"]}
        self.responses, self.asked, self.times, self.notes = {}, {}, [], []
        self.wanted, self.parameters, self.set_at = wishes.get("parameters"), {}, None

    def know(self, name, text):
        self.types.register(get_types_from_msg(text, message_name(name)))

    def is_done(self):
        topics, calls = self.wishes["topics"], self.wishes["calls"]
        return (
            self.times
            and self.graph is not None
            and all(len(self.messages[topic]) >= count for topic, count in topics.items())
            and all(service in self.responses for service in calls)
            and (self.wanted is None or {"all", "get", "set", "told"} <= self.parameters.keys())
        )

    def say(self, op, **fields):
        self.socket.send(json.dumps({"op": op, **fields}))

    def wish_parameters(self):
        if self.wanted is None or not set(self.wanted["services"]) <= self.services.keys():
            return
        if self.set_at is None:
            self.say("subscribeParameterUpdates", parameterNames=self.wanted["follow"])
            self.say("getParameters", parameterNames=[], id="all")
            self.say("getParameters", parameterNames=self.wanted["get"], id="get")
            self.set_at = time.monotonic()
        # Not before all has been got, as it was.
        if {"all", "get"} <= self.parameters.keys() and self.set_at <= time.monotonic():
            self.say("setParameters", parameters=self.wanted["set"], id="set")
            self.set_at = time.monotonic() + AGAIN_S

    def watch(self):
        self.say("subscribeConnectionGraph")
        end = time.monotonic() + PATIENCE_S
        while not self.is_done():
            self.wish_parameters()
            assert time.monotonic() < end, f"of {self.wishes} there is {self.messages} and {self.responses}"
            frame = self.socket.recv(timeout=PATIENCE_S)
            if isinstance(frame, str):
                self.hear(json.loads(frame))
            else:
                self.take(frame)

    def hear(self, said):
        if said["op"] == "serverInfo":
            self.info = said
        elif said["op"] == "advertise":
            for channel in said["channels"]:
                self.offered(channel)
        elif said["op"] == "advertiseServices":
            for service in said["services"]:
                self.served(service)
        elif said["op"] == "connectionGraphUpdate":
            self.graph = self.graph or {}
            for topic in said["publishedTopics"]:
                self.graph[topic["name"]] = topic["publisherIds"]
        elif said["op"] == "serviceCallFailure":
            self.responses[self.asked[said["callId"]]["name"]] = said["message"]
        elif said["op"] == "parameterValues":
            values = {it["name"]: [it["value"], it.get("type")] for it in said["parameters"]}
            self.parameters[said.get("id", "told")] = values
        elif said["op"] == "status":
            self.notes.append(said["message"])

    def offered(self, channel):
        topic = channel["topic"]
        self.channels[topic] = channel
        if topic in self.wishes["topics"]:
            self.know(channel["schemaName"], channel["schema"])
            self.names[channel["id"]] = topic
            wanted = [{"id": channel["id"], "channelId": channel["id"]}]
            self.say("subscribe", subscriptions=wanted)

    def served(self, service):
        self.services[service["name"]] = service
        if service["name"] not in self.wishes["calls"]:
            return
        for part in ("request", "response"):
            self.know(service[part]["schemaName"], service[part]["schema"])
        name = message_name(service["request"]["schemaName"])
        request = self.types.types[name](**self.wishes["calls"][service["name"]])
        cdr = bytes(self.types.serialize_cdr(request, name))
        self.asked[7] = service
        head = struct.pack("<BIII", SERVICE_REQUEST, service["id"], 7, 3)
        self.socket.send(head + b"cdr" + cdr)

    def take(self, frame):
        if frame[0] == MESSAGE:
            subscription, stamp = struct.unpack_from("<IQ", frame, 1)
            topic = self.names[subscription]
            decoded = self.types.deserialize_cdr(frame[13:], self.channels[topic]["schemaName"])
            self.messages[topic].append({"stamp_ns": stamp, "message": plain(decoded)})
        elif frame[0] == TIME:
            self.times.append(struct.unpack_from("<Q", frame, 1)[0])
        elif frame[0] == SERVICE_RESPONSE:
            _, call, length = struct.unpack_from("<III", frame, 1)
            service = self.asked[call]
            name = message_name(service["response"]["schemaName"])
            decoded = self.types.deserialize_cdr(frame[13 + length :], name)
            self.responses[service["name"]] = plain(decoded)


def main():
    address, protocol, origin, wishes = sys.argv[1:]
    try:
        socket = connect(
            f"ws://{address}", subprotocols=[protocol], origin=origin or None, max_size=None, compression=None
        )
    except InvalidStatus as refused:
        print(json.dumps({"refused": refused.response.status_code}))
        return
    with socket:
        viewer = Viewer(socket, json.loads(wishes))
        viewer.watch()
        print(
            json.dumps(
                {
                    "protocol": socket.subprotocol,
                    "capabilities": viewer.info["capabilities"],
                    "channels": {
                        topic: [channel["schemaName"], channel["encoding"], channel["schemaEncoding"]]
                        for topic, channel in viewer.channels.items()
                    },
                    "services": sorted(viewer.services),
                    "graph": viewer.graph,
                    "messages": viewer.messages,
                    "responses": viewer.responses,
                    "parameters": viewer.parameters,
                    "times": viewer.times,
                    "notes": viewer.notes,
                }
            )
        )


main()
