"""Makes rosbag2 bags in SQLite files with SQLite itself, for tests of the reader.

make_db3.py KIND FILE COUNT [PAGE_BYTES]: COUNT strings, one per millisecond, turn by turn on /a and /b.
"""

import os
import sqlite3
import struct
import sys

kind, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
page_bytes = int(sys.argv[4]) if len(sys.argv) > 4 else 4096
HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
FOREVER = "\n    sec: 9223372036\n    nsec: 854775807\n"
QOS = (
    "- history: 1\n  depth: 4\n  reliability: 1\n  durability: 2\n  liveliness: 1\n"
    f"  deadline:{FOREVER}  lifespan:{FOREVER}  liveliness_lease_duration:{FOREVER}"
)
TEXT = "std_msgs/msg/String"
database = sqlite3.connect(path, isolation_level=None)
run = database.execute


def cdr(text: str) -> bytes:
    data = text.encode() + b"\0"
    return b"\0\1\0\0" + struct.pack("<I", len(data)) + data


def text(number: int) -> str:
    lengths = {"large": 100_000, "lengths": 3 * number, "reserved_lengths": 3 * number}
    size = lengths.get(kind, number * 37 % 200)
    return f"message {number} " + "x" * size


def tables() -> None:
    modern = kind not in ("old", "oldest")
    qos = "" if kind == "oldest" else ",offered_qos_profiles TEXT NOT NULL"
    hashed = ",type_description_hash TEXT NOT NULL" if modern else ""
    run(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,"
        f"serialization_format TEXT NOT NULL{qos}{hashed})"
    )
    run(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,"
        "timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
    )
    run("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
    if modern:
        run(
            "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,"
            "encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,"
            "type_description_hash TEXT NOT NULL)"
        )
        run(
            "INSERT INTO message_definitions VALUES (NULL, ?, 'ros2msg', 'string data\n', ?)",
            (TEXT, HASH),
        )
    for name in ("/a", "/b"):
        values = [name, TEXT, "cdr"]
        values += [] if kind == "oldest" else [QOS]
        values += [HASH] if modern else []
        run(f"INSERT INTO topics VALUES (NULL{',?' * len(values)})", values)


def insert(numbers: range) -> None:
    run("BEGIN")
    for number in numbers:
        values = (number % 2 + 1, number * 1_000_000, cdr(text(number)))
        run("INSERT INTO messages VALUES (NULL, ?, ?, ?)", values)
    run("COMMIT")


run(f"PRAGMA page_size = {page_bytes}")
if kind == "utf16":
    run("PRAGMA encoding = 'UTF-16be'")
if kind == "utf16le":
    run("PRAGMA encoding = 'UTF-16le'")
if kind.startswith("reserved"):
    # Each page keeps its last 32 bytes for others. SQLite goes by what the header says of them.
    run("PRAGMA user_version = 1")
    database.close()
    with open(path, "r+b") as file:
        file.seek(20)
        file.write(b"\x20")
        file.seek(100 + 5)
        file.write(struct.pack(">H", page_bytes - 32))
    database = sqlite3.connect(path, isolation_level=None)
    run = database.execute
if kind == "log":
    # Half of the messages are in the file, the others in the log; a transaction is open.
    run("PRAGMA journal_mode = WAL")
    tables()
    insert(range(count // 2))
    run("PRAGMA wal_checkpoint(TRUNCATE)")
    insert(range(count // 2, count))
    run("PRAGMA cache_size = 1")
    run("BEGIN")
    run("UPDATE messages SET timestamp = 7")
    os._exit(0)
if kind == "journal":
    # The file holds a part of a transaction that was not completed.
    tables()
    insert(range(count))
    run("PRAGMA cache_size = 1")
    run("BEGIN")
    run("UPDATE messages SET timestamp = 7")
    run("DELETE FROM messages WHERE id > 10")
    os._exit(0)
tables()
if kind == "unordered":
    # Every seventh message was written late.
    late = [number for number in range(count) if number % 7 == 0]
    early = [number for number in range(count) if number % 7 != 0]
    insert(early)
    insert(late)
else:
    insert(range(count))
if kind == "hostile":
    # Whoever runs statements on this file runs its author's: reads another table, writes, or ends
    # never.
    run("ALTER TABLE message_definitions RENAME TO real_definitions")
    run(
        "CREATE VIEW message_definitions AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
        " FROM n) SELECT i AS id, 'std_msgs/msg/String' AS topic_type, 'ros2msg' AS encoding,"
        " 'int32 other' AS encoded_message_definition FROM n"
    )
    run("CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END")
    run("CREATE TRIGGER u AFTER UPDATE ON topics BEGIN DELETE FROM messages; END")
if kind.startswith("reserved"):
    assert run("PRAGMA integrity_check").fetchone() == ("ok",)
if kind == "undefined":
    run("UPDATE topics SET type = 'std_msgs/msg/Bool' WHERE id = 2")
if kind == "no_type":
    run("ALTER TABLE topics RENAME COLUMN type TO kind")
if kind == "foreign":
    run("DROP TABLE messages")
if kind == "no_rowid":
    run("DROP TABLE messages")
    run(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER, timestamp INTEGER,"
        " data BLOB) WITHOUT ROWID"
    )
    run("INSERT INTO messages VALUES (1, 1, 1, x'00010000')")
if kind == "odd_rows":
    # A topic that is not there, a time before 1970, no data, and a compressed message cut short.
    run("INSERT INTO messages VALUES (NULL, 99, 1, x'00010000')")
    run("INSERT INTO messages VALUES (NULL, 1, -5, x'00010000')")
    run("INSERT INTO messages VALUES (NULL, 1, 6, 17)")
    run("INSERT INTO messages VALUES (NULL, 1, 7, x'28b52ffd00')")
if kind == "definitions":
    # More than a reader keeps, of types that no topic has.
    for number in range(70):
        definition = "string data\n#" + "-" * (1 << 20)
        values = (f"test_msgs/msg/Text{number}", definition, HASH)
        run("INSERT INTO message_definitions VALUES (NULL, ?, 'ros2msg', ?, ?)", values)
if kind == "range":
    # A Range as it was before its field `variance`; the bag holds no definition.
    run("UPDATE topics SET type = 'sensor_msgs/msg/Range' WHERE id = 1")
    run("DELETE FROM message_definitions")
    data = b"\0\1\0\0" + struct.pack("<iI", 1, 2) + struct.pack("<I", 2) + b"r\0"
    data += b"\1\0" + struct.pack("<4f", 0.1, 0.2, 3.0, 1.5)
    run("UPDATE messages SET data = ? WHERE topic_id = 1", (data,))
database.close()
