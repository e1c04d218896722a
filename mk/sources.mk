# What there is to build. Every list may be empty.

ROOMS ?=
find_c = $(sort $(foreach d,$(1),$(shell find $(d) -name '*.c' -o -name '*.cc' 2>/dev/null)))

SRC_DIRS := $(if $(ROOMS),$(addprefix src/,$(ROOMS)),src)
UNIT_DIRS := $(if $(ROOMS),$(addprefix tests/unit/,$(ROOMS)),tests/unit)

MAIN := $(wildcard src/main.c)
LIB_SOURCES := $(filter-out src/main.c,$(call find_c,$(SRC_DIRS)))
CHECK_SOURCES := $(wildcard tests/check.c tests/main.c)
UNIT_SOURCES := $(call find_c,$(UNIT_DIRS))
SUPPORT_SOURCES := $(wildcard tests/support/*.c)
MODEL_SOURCES := $(wildcard tests/model/*.c)
CRASH_SOURCES := $(wildcard tests/crash/*.c)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SOURCES := $(wildcard bench/*.c)

MODELS := $(patsubst tests/model/%.c,model-%,$(MODEL_SOURCES))
CRASHES := $(patsubst tests/crash/%.c,crash-%,$(CRASH_SOURCES))
PRELOADS := $(patsubst tests/preload/%.c,%.so,$(wildcard tests/preload/*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(FUZZ_SOURCES))
BENCHES := $(patsubst bench/%.c,%,$(BENCH_SOURCES))
