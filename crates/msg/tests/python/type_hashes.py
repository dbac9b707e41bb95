"""Hashes all interfaces below a folder with ROS 2's own generator.

Usage: type_hashes.py INTERFACES OUT. Prints `TYPE HASH` for each type that the generator takes, and
`TYPE - REASON` for each file that it refuses. OUT gets the converted `.idl` files, in folders
package/namespace. Files are taken together by package, in whatever folder they lie.
"""

import contextlib
import io
import sys
from pathlib import Path

from rosidl_adapter.action import convert_action_to_idl
from rosidl_adapter.msg import convert_msg_to_idl
from rosidl_adapter.srv import convert_srv_to_idl
from rosidl_generator_type_description import (
    add_action,
    add_msg,
    add_srv,
    calculate_type_hash,
    extract_full_type_description,
    serialize_individual_type_description,
)
from rosidl_parser import definition
from rosidl_parser.parser import parse_idl_file

CONVERTERS = {
    "msg": convert_msg_to_idl,
    "srv": convert_srv_to_idl,
    "action": convert_action_to_idl,
}
ADDERS = {
    definition.Message: add_msg,
    definition.Service: add_srv,
    definition.Action: add_action,
}
# The package that ROS 2 builds from the files of another one.
BUILT_AS = {"test_interface_files": "test_msgs"}
# What the derived types of every service and action hold, if the folder lacks it.
types = {}
refused = {}


def add(idl: Path, name: str) -> None:
    """Adds what an .idl file defines, or notes why it cannot be."""
    found = {}
    try:
        locator = definition.IdlLocator(idl.parent, idl.name)
        for element in parse_idl_file(locator).content.elements:
            if type(element) in ADDERS:
                ADDERS[type(element)](element, found)
        for key, value in found.items():
            serialize_individual_type_description(value.namespaced_type, value.members)
            types[key] = value
    except Exception as error:  # Whatever the generator raises is its answer.
        refused[name] = f"{type(error).__name__} {error}".replace("\n", " ")[:120]


def convert(file: Path, package: str, out: Path) -> None:
    """Converts a file to .idl as ROS 2's build does, and adds it."""
    kind = file.suffix[1:]
    folder = out / package / kind
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{package}/{kind}/{file.stem}"
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            converter = CONVERTERS[kind]
            idl = converter(file.parent, package, Path(file.name), folder)
    except Exception as error:
        refused[name] = f"{type(error).__name__} {error}".replace("\n", " ")[:120]
        return
    add(Path(idl), name)


root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
for file in sorted(root.rglob("*")):
    kind = file.suffix[1:]
    if kind in CONVERTERS and file.parent.name == kind:
        package = file.parent.parent.name
        for name in {package, BUILT_AS.get(package, package)}:
            convert(file, name, out)
    elif kind == "idl":
        add(file, f"{file.parent.parent.name}/{file.parent.name}/{file.stem}")
described = {
    key: serialize_individual_type_description(value.namespaced_type, value.members)
    for key, value in types.items()
}
for key in sorted(described):
    try:
        print(key, calculate_type_hash(extract_full_type_description(key, described)))
    except KeyError as missing:
        refused[key] = f"uses {missing}"
for key, reason in sorted(refused.items()):
    print(key, "-", reason)
