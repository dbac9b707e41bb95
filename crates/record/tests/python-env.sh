#!/bin/sh
# Makes a private Python environment with the independent bag readers that the tests compare with.
# Usage: python-env.sh FOLDER. Prints the interpreter's path; exits with 3 and a reason on stderr
# when Python, its venv module or the packages cannot be had. Nothing outside FOLDER is changed.
set -u
folder=$1
packages="rosbags==0.11.9 mcap==1.6.0 mcap-ros2-support==0.6.0 numpy==2.4.6 ruamel.yaml==0.19.1
lz4==4.4.5 zstandard==0.25.0 backports.zstd==1.8.0 apsw==3.54.1.0 typing_extensions==4.16.0"
python=$folder/bin/python
stamp=$folder/installed

absent() {
    echo "$1" >&2
    exit 3
}

if [ "$(cat "$stamp" 2>/dev/null)" != "$packages" ]; then
    command -v python3 >/dev/null || absent "python3 is not installed"
    rm -rf "$folder"
    python3 -m venv "$folder" >/dev/null 2>&1 || absent "python3 has no working venv module"
    # Pinned packages only; a short time-out, because a machine without network must not wait long.
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --timeout 15 --retries 1 $packages >"$folder/pip.log" 2>&1 ||
        absent "the packages could not be installed: $(tail -n 1 "$folder/pip.log")"
    printf '%s' "$packages" >"$stamp"
fi
echo "$python"
