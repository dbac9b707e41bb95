# Two commands do everything: `make demo` and `make test`. See README.md.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
OUT ?= out
# Of `bench-cpu-gpu`, as `crossdock device list` names it.
DEVICE ?= opencl:0

# Small topics and a picture every other second: the demo's recording stays a few MiB. A lap takes about a minute:
# the second one closes the map's loop.
DEMO := $(OUT)/demo
DEMO_GRAPH := apps/autorace/course_slam.graph.yaml
DEMO_TOPICS := /lane,/traffic_light,/cmd_vel,/odom,/wheels,/course/light,/features,/camera/snapshot,/slam/pose,/slam/path,/slam/map,/slam/state
DEMO_SECONDS := 90

# ROS's generators of messages and their type support, as Debian and Ubuntu carry them without ROS.
ROSIDL_PACKAGES := rosidl-generator-c-cpp python3-rosidl librosidl-runtime-c-cpp-dev \
    librosidl-typesupport-introspection-c-cpp-dev librcutils-dev rosidl-cmake ros2-test-interface-files

# What the tests use beyond Rust, a C compiler and make: independent readers of recordings, a C
# compiler for aarch64, and a C++ compiler for the simulations of hw/. The hardware tools themselves
# are Python packages, see scripts/hardware-tools; so is NVRTC, which compiles kernels for NVIDIA's GPUs
# without one. PoCL makes the processor a device of OpenCL.
TEST_PACKAGES := python3 python3-venv gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross g++ \
    babeltrace2 pocl-opencl-icd ocl-icd-libopencl1 $(ROSIDL_PACKAGES)
# What the tests of net/ use beside: a browser, and a tool that makes certificates. Node.js, if it is not there already:
# some distributions of it bring npm in the same package.
NET_PACKAGES := python3 python3-venv chromium openssl
NODE_PACKAGES := nodejs npm
AARCH64 := aarch64-unknown-linux-gnu
LINTS := $(CARGO) clippy --all-targets --locked --target-dir target/lints
LOOM := RUSTFLAGS="--cfg loom" $(CARGO) test --release --locked --test model --target-dir target/loom
SKIPPED := $(CURDIR)/target/skipped.txt
TEST := CROSSDOCK_SKIP_LOG=$(SKIPPED) $(CARGO) test --locked
# Where `crossdock` finds Verilator and Yosys, see scripts/hardware-tools.
export CROSSDOCK_TOOLS ?= $(CURDIR)/target/tools

# Where `make install` puts commands, packages and completions.
PREFIX ?= $(HOME)/.local

.PHONY: demo install test test-processes test-beside test-long docs packages hardware-tools check-format check-lints \
    check-bench check-beside check-docs view net-test net-bench rmw rmw-packages rmw-abi ros-test loom fuzz bench-transport bench-runtime \
    bench-cpu-gpu clean

demo:
	$(CARGO) build --release --locked
	rm -rf $(DEMO) && mkdir -p $(DEMO)
	target/release/crossdock graph $(DEMO_GRAPH) -o $(DEMO)/graph.svg
	target/release/crossdock run $(DEMO_GRAPH) --rate max --duration $(DEMO_SECONDS) \
	    --record $(DEMO)/drive.mcap --topics $(DEMO_TOPICS) --summary $(DEMO)/run.json
	target/release/crossdock-autorace report $(DEMO)/drive.mcap -o $(DEMO) \
	    --graph $(DEMO_GRAPH) --graph-picture $(DEMO)/graph.svg --summary $(DEMO)/run.json
	@echo 'to watch a drive live: make view && target/release/crossdock run $(DEMO_GRAPH) --view'

# The packages `view`, which shows graphs in a browser and in Foxglove, and `net`, which joins them to other
# computers, beside the command. They have a lock file of their own: docs/how-to/watch-a-graph.md, docs/network.md.
view:
	$(CARGO) build --release --locked --manifest-path net/Cargo.toml
	install -D -t target/release net/target/release/crossdock-view net/target/release/crossdock-net

# The command and the shipped packages, which it finds beside itself; completions of words for three shells.
install: view
	$(CARGO) build --release --locked
	install -d $(PREFIX)/bin $(PREFIX)/share/bash-completion/completions \
	    $(PREFIX)/share/zsh/site-functions $(PREFIX)/share/fish/vendor_completions.d
	find target/release -maxdepth 1 -type f -executable -name 'crossdock*' \
	    -exec install -t $(PREFIX)/bin {} +
	target/release/crossdock completions bash >$(PREFIX)/share/bash-completion/completions/crossdock
	target/release/crossdock completions zsh >$(PREFIX)/share/zsh/site-functions/_crossdock
	target/release/crossdock completions fish >$(PREFIX)/share/fish/vendor_completions.d/crossdock.fish
	@case ":$$PATH:" in *:$(PREFIX)/bin:*) ;; \
	    *) echo 'add the commands to your path: export PATH="$(PREFIX)/bin:$$PATH"' ;; esac

# Tests of processes wait for much of their time. What only needs processors (the protocol's models, lints,
# proofs and simulations of hardware) runs beside them, at the lowest priority.
# Skips are written to a file by the tests themselves: a runner hides what passes.
test: packages hardware-tools check-format
	: > $(SKIPPED)
	scripts/beside target/test-beside.log '$(MAKE) test-beside' '$(MAKE) test-processes'
	@echo "skipped: $$(wc -l < $(SKIPPED))"; cat $(SKIPPED)

test-processes:
	$(TEST) --workspace --exclude crossdock-hardware-tests

# The whole workspace is named, so that nothing is compiled again with other features.
test-beside: loom check-lints
	$(TEST) --workspace $(addprefix --test ,$(notdir $(wildcard tests/hardware/tests/*)))

# `make test-long PART=NAME` runs one part of the long tests, at most 45 minutes each; without PART all of
# them, after `make test`. The parts and what they record: docs/contributing.md.
test-long: $(if $(PART),packages hardware-tools,test)
	CARGO=$(CARGO) MAKE="$(MAKE)" scripts/test-long $(PART)

# One site with search, and the crates' documentation in its folder `api`.
docs: check-docs
	scripts/docs $(OUT)/docs
	cp -r target/doc $(OUT)/docs/api

# The crates' documentation, without a warning.
check-docs:
	rm -rf target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --lib

fuzz:
	$(MAKE) -C fuzz fuzz

packages:
	@scripts/system-packages $(TEST_PACKAGES)

hardware-tools: packages
	scripts/hardware-tools

check-format:
	$(CARGO) fmt --all --check

# One pass looks for lints and shows that everything, tests included, compiles for aarch64. Only
# crates/shm has code that depends on the machine. A folder of their own, so that they hold up no build.
check-lints: packages
	scripts/cross-target
	CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
	    $(LINTS) --workspace --target $(AARCH64) -- -D warnings
	$(LINTS) -p crossdock-shm -- -D warnings

check-bench:
	$(MAKE) -C bench test

# The workspaces beside the product's: a change of an API that they use is seen at once.
check-beside: packages
	cd bench && $(CARGO) check --all-targets --locked
	cd fuzz && $(CARGO) check --all-targets --locked

# The tests of net/, on the product's own binaries and with viewers that others have written. Examples bring the features
# that `make test` has asked of dependencies: without them all is compiled again.
net-test:
	@scripts/system-packages $(NET_PACKAGES)
	@command -v npm >/dev/null || scripts/system-packages $(NODE_PACKAGES)
	$(CARGO) fmt --all --check --manifest-path net/Cargo.toml
	$(CARGO) build --locked --workspace --bins --examples
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/scripts/lint-and-compile CROSSDOCK_SKIP_LOG=$(SKIPPED) \
	    $(CARGO) test --locked --manifest-path net/Cargo.toml --workspace

# What a message pays on its way to another computer, beside zenoh alone.
net-bench:
	$(CARGO) bench --locked --manifest-path net/Cargo.toml -p crossdock-net --bench hop

# The plug-in for ROS 2's client libraries, one for each distribution: docs/ros2.md.
rmw:
	for distribution in humble jazzy kilted lyrical; do \
	    $(CARGO) build --release --locked -p crossdock-rmw --no-default-features --features $$distribution; \
	    scripts/rmw-prefix target/release/librmw_crossdock.so $$distribution $(OUT)/rmw/$$distribution; \
	done

# The same as tarballs and .deb files, for amd64 and arm64: docs/how-to/from-ros2.md.
rmw-packages: packages
	scripts/cross-target
	CARGO=$(CARGO) scripts/rmw-packages $(OUT)/packages

# Compares the structs of ROS 2's interface with the headers of an installation: make rmw-abi ROS=/opt/ros/jazzy
rmw-abi: DISTRO ?= $(notdir $(ROS))
rmw-abi:
	test -n "$(ROS)" || { echo 'name an installation: make rmw-abi ROS=/opt/ros/jazzy [DISTRO=jazzy]' >&2; exit 1; }
	CROSSDOCK_ROS=$(ROS) $(CARGO) test --locked -p crossdock-rmw --no-default-features --features $(DISTRO) \
	    --test all headers:: -- --include-ignored

# Tries the plug-in under an installation of ROS 2: make ros-test ROS=/opt/ros/jazzy, or with a sourced one. ROS's own
# tests are not installed: TESTS=FOLDER names a build folder of colcon, RCLPY=FOLDER the sources of rclpy.
ros-test:
	CARGO=$(CARGO) TESTS=$(TESTS) RCLPY=$(RCLPY) scripts/ros-test $(ROS)

loom:
	$(LOOM) -p crossdock-shm
	$(LOOM) -p crossdock-rmw

bench-runtime:
	$(MAKE) -C bench runtime OUT=$(abspath $(OUT)/bench) QUICK=$(QUICK)

bench-transport:
	$(MAKE) -C bench transport OUT=$(abspath $(OUT)/bench) QUICK=$(QUICK)

# Processor and device on one array, in every model, architecture and transport: docs/how-to/cpu-gpu.md.
bench-cpu-gpu:
	$(CARGO) build --release --locked
	target/release/crossdock bench cpu-gpu --device $(DEVICE) --matrix --out $(OUT)/bench/cpu-gpu \
	    $(if $(QUICK),--power 12 --runs 5 --warm-up 1)

clean:
	$(CARGO) clean
	rm -rf $(OUT)
