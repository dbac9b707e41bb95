# Two commands do everything: `make demo` and `make test`. See README.md.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO ?= cargo
OUT ?= out

TEST_PACKAGES := python3 python3-venv gcc-aarch64-linux-gnu libc6-dev-arm64-cross
AARCH64 := aarch64-unknown-linux-gnu

.PHONY: demo test test-long check-format check-lints check-aarch64 loom bench-transport clean

demo:
	$(CARGO) build --release --locked
	target/release/crossdock run apps/autorace/course.graph.yaml --rate max --duration 60 \
	    --record $(OUT)/demo/drive.mcap --report $(OUT)/demo
	
# Skips are written to target/skipped.txt by the tests themselves: a runner hides what passes.
test: check-format check-lints check-aarch64
	mkdir -p target && : > target/skipped.txt
	$(MAKE) --no-print-directory loom
	CROSSDOCK_SKIP_LOG=$(CURDIR)/target/skipped.txt $(CARGO) test --workspace --locked
	@echo "skipped: $$(wc -l < target/skipped.txt)"; cat target/skipped.txt

test-long: test
	CROSSDOCK_LONG=1 $(CARGO) test --workspace --release --locked -- --include-ignored

check-format:
	$(CARGO) fmt --all --check

check-lints:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

check-aarch64:
	scripts/system-packages $(TEST_PACKAGES)
	scripts/cross-target
	CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
	    $(CARGO) check --workspace --locked --target $(AARCH64)

bench-transport:
	$(MAKE) -C bench transport OUT=$(abspath $(OUT)/bench)

clean:
	$(CARGO) clean
	rm -rf $(OUT)
