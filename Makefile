# mayfly: how it is built, run and tested. `make help` lists the targets.
#
# Non-recursive: every object of every variant is known to one make. The only recursion is
# setup-then-build, because installing a package changes what pkg-config answers.
#
#   BUILD=dir    build somewhere else (default: build)
#   ROOMS="..."  only these rooms of src/ and tests/unit/ (default: all), e.g. ROOMS="base value"
#   FILTER=text  run only the tests whose name contains text
#   SEED=n       replay one seed of the random tests;  SCALE=x  multiplies their length
#   ARGS="..."   arguments of `make run`

BUILD ?= build
PYTHON ?= python3
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all run test quick asan ubsan tsan san unit model crash fuzz bench bench-quick format tidy coverage \
        help clean setup soak lint FORCE

include mk/flags.mk
include mk/sources.mk
include mk/variant.mk
include mk/checks.mk

all: $(if $(and $(MAIN),$(if $(ROOMS),,all)),$(BUILD)/mayfly,$(BUILD)/release/libmayfly.a) ## build the server

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile mk/*.mk | sed -E 's/^([a-z-]+):.*## /\1\t/' | sort | \
	    awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## install the missing packages (for run and test)
	@tools/setup run test

run: ## install what is missing, build and start the server (ARGS="--data DIR ...")
	@tools/setup run
	@+$(MAKE) $(BUILD)/mayfly
	@exec $(BUILD)/mayfly serve $(ARGS)

test: ## install what is missing, build, and run every test (what CI runs; minutes)
	@tools/setup run test
	@$(RUN_TESTS) build tidy model tsan san unit crash clients fuzz

clean: ## remove everything that was built
	rm -rf $(BUILD)

FORCE:
