"""Makes one library of C and C++ type support from `.msg` files, with Debian's rosidl.

usage: generate.py OUT FILLED.cpp FILLED.c [PACKAGE=FOLDER:NAME,NAME...]...   (FOLDER holds msg/NAME.msg)

Writes OUT/libtypes.so, with the two given files in it. The generators are those of ROS 2; the structs are Humble's. Each package is one file of C and one of
C++ that includes what was generated, because the headers cost more than the code.
"""

import contextlib
import io
import json
import pathlib
import subprocess
import sys

from rosidl_adapter.msg import convert_msg_to_idl
from rosidl_cli.command.helpers import generate_visibility_control_file
from rosidl_generator_c import generate_c
from rosidl_generator_cpp import generate_cpp
from rosidl_typesupport_introspection_c import generate_c as introspect_c
from rosidl_typesupport_introspection_cpp import generate_cpp as introspect_cpp

SHARE = pathlib.Path('/usr/share')
GENERATORS = [
    ('rosidl_generator_c', generate_c),
    ('rosidl_generator_cpp', generate_cpp),
    ('rosidl_typesupport_introspection_c', introspect_c),
    ('rosidl_typesupport_introspection_cpp', introspect_cpp),
]


def interfaces(out: pathlib.Path, package: str, folder: pathlib.Path, names: list[str]) -> list[str]:
    """The IDL files of a package, as the generators name them."""
    target = out / 'idl' / package / 'msg'
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        convert_msg_to_idl(folder, package, pathlib.Path(f'msg/{name}.msg'), target)
    return [f'{out}/idl/{package}:msg/{name}.idl' for name in names]


def generate(out: pathlib.Path, package: str, tuples: list[str]) -> None:
    """The sources of a package, below OUT/include."""
    target = out / 'include' / package
    for name, run in GENERATORS:
        arguments = out / f'{package}.{name}.json'
        arguments.write_text(json.dumps({
            'package_name': package,
            'output_dir': str(target),
            'template_dir': str(SHARE / name / 'resource'),
            'idl_tuples': tuples,
            'ros_interface_dependencies': [],
            'target_dependencies': [],
        }))
        run(str(arguments))
        control = f'{name}__visibility_control.h'
        template = SHARE / name / 'resource' / f'{control}.in'
        if template.exists():
            generate_visibility_control_file(
                package_name=package, template_path=template, output_path=target / 'msg' / control)


def declarations(out: pathlib.Path, package: str, names: list[str]) -> str:
    """Declares the type supports of a package: in one unit, some are used before they are defined."""
    structs = sorted((out / 'include' / package).rglob('*__struct.hpp'))
    lines = [f'#include "{struct}"' for struct in structs]
    lines.append('#include "rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp"')
    lines.append('namespace rosidl_typesupport_introspection_cpp {')
    for name in names:
        lines.append('template<> const rosidl_message_type_support_t *')
        lines.append(f'get_message_type_support_handle<{package}::msg::{name}>();')
    return '\n'.join([*lines, '}', ''])


def compile_all(out: pathlib.Path, packages: dict[str, list[str]], further: list[str]) -> None:
    """Compiles the sources of all packages into one library."""
    roots = ['rosidl_runtime_c', 'rosidl_runtime_cpp', 'rosidl_typesupport_interface',
             'rosidl_typesupport_introspection_c', 'rosidl_typesupport_introspection_cpp', 'rcutils']
    flags = ['-fPIC', '-O0', '-w', f'-I{out}/include', *(f'-I/usr/include/{root}' for root in roots)]
    objects = []
    for package, names in packages.items():
        for compiler, suffix in (('gcc', '.c'), ('g++', '.cpp')):
            sources = sorted((out / 'include' / package).rglob(f'*{suffix}'))
            unit = out / f'{package}{suffix}'
            head = declarations(out, package, names) if suffix == '.cpp' else ''
            unit.write_text(head + ''.join(f'#include "{source}"\n' for source in sources))
            objects.append(f'{unit}.o')
            subprocess.run([compiler, *flags, '-c', str(unit), '-o', objects[-1]], check=True)
    for source in further:
        objects.append(f'{out}/further.{pathlib.Path(source).suffix}.o')
        compiler = 'g++' if source.endswith('.cpp') else 'gcc'
        subprocess.run([compiler, *flags, '-c', source, '-o', objects[-1]], check=True)
    libraries = ['-Wl,--whole-archive', '-lrosidl_typesupport_introspection_c',
                 '-lrosidl_typesupport_introspection_cpp', '-Wl,--no-whole-archive', '-lrosidl_runtime_c', '-lrcutils']
    made = out / 'libtypes.so.new'
    subprocess.run(['g++', '-shared', '-o', str(made), *objects, *libraries], check=True)
    made.rename(out / 'libtypes.so')


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    packages = {}
    for argument in sys.argv[4:]:
        package, rest = argument.split('=', 1)
        folder, names = rest.rsplit(':', 1)
        packages[package] = (pathlib.Path(folder), names.split(','))
    # The generators print the name of each file.
    with contextlib.redirect_stdout(io.StringIO()):
        for package, (folder, names) in packages.items():
            generate(out, package, interfaces(out, package, folder, names))
    compile_all(out, {package: names for package, (_, names) in packages.items()}, sys.argv[2:4])


main()
