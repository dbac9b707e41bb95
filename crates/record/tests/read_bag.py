"""Reads the bags named on the command line with independent libraries.

Prints one line per message: reader, topic, type, log time in ns, CRC-32 of the CDR bytes, and the
decoded text of std_msgs/String (otherwise the decoded type's name).
"""

import sys
from pathlib import Path, PurePosixPath
from zlib import crc32

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader


def line(reader: str, topic: str, type_name: str, time: int, data: bytes, decoded: object) -> None:
    text = getattr(decoded, "data", None)
    shown = text if isinstance(text, str) else type(decoded).__name__
    print(f"{reader}\t{topic}\t{type_name}\t{time}\t{crc32(data)}\t{shown}")


def name_in_rosbags(type_name: str) -> str:
    """rosbags keeps types of services under a name of its own."""
    path = PurePosixPath(type_name)
    return type_name if path.parent.name == "msg" else str(path.parent / "msg" / path.name)


def read_with_rosbags(path: Path) -> None:
    with Reader(path) as raw:
        raw_messages = list(raw.messages())
        for connection in raw.connections:
            print(f"rosbags-topic\t{connection.topic}\t{connection.digest}\t{connection.msgcount}")
            for qos in connection.ext.offered_qos_profiles:
                policies = (qos.history.name, qos.depth, qos.reliability.name, qos.durability.name)
                print("rosbags-qos", connection.topic, *policies, sep="\t")
    with AnyReader([path]) as reader:
        for (connection, time, data), (_, raw_time, raw_data) in zip(
            reader.messages(), raw_messages, strict=True
        ):
            assert (time, data) == (raw_time, raw_data)
            decoded = reader.deserialize(data, name_in_rosbags(connection.msgtype))
            line("rosbags", connection.topic, connection.msgtype, time, data, decoded)


def read_with_mcap(path: Path) -> None:
    with path.open("rb") as file:
        reader, factory = make_reader(file, validate_crcs=True), DecoderFactory()
        assert reader.get_header().profile == "ros2"
        for schema, channel, message in reader.iter_messages():
            # Its parser has no words for types of services.
            is_message = "/msg/" in schema.name
            decode = factory.decoder_for(channel.message_encoding, schema) if is_message else None
            decoded = decode(message.data) if decode else None
            line("mcap", channel.topic, schema.name, message.log_time, message.data, decoded)


for name in sys.argv[1:]:
    path = Path(name)
    read_with_rosbags(path)
    # The modes of compression around MCAP are rosbag2's own.
    if path.is_file() or 'compression_mode: ""' in (path / "metadata.yaml").read_text():
        read_with_mcap(path if path.is_file() else path / f"{path.name}_0.mcap")
