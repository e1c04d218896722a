# Everything that tests. The work is in tests/tools/run-tests, which runs stages, counts tests and
# ends with one line `N passed, N failed`; a stage whose files do not exist is left out.

RUN_TESTS := $(PYTHON) tests/tools/run-tests --build $(BUILD)
unit_of = $(if $(UNIT_SOURCES),$(BUILD)/$(1)/unit)
tests_of = $(unit_of) $(addprefix $(BUILD)/$(1)/,$(if $(ROOMS),,$(MODELS)))
export FILTER ROOMS SCALE SEED

# What `make test` builds, by variant: the tests of one run while the next is built.
.PHONY: test-build-release test-build-san test-build-tsan test-build-fuzz
test-build-release: all $(call tests_of,release) $(addprefix $(BUILD)/release/,$(CRASHES) $(PRELOADS))
test-build-san: $(call tests_of,san)
test-build-tsan: $(call tests_of,tsan)
test-build-fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZERS))

# Linking the server takes longer than all of this, and nothing here runs it.
quick: $(call objects,release,$(MAIN)) $(call tests_of,release) ## tidy, unit and model tests, the random ones short; before every commit
	@$(RUN_TESTS) unit:short $(if $(ROOMS),,model:short) tidy

unit: $(call unit_of,release) ## only the unit tests (FILTER=text, ROOMS="base value")
	@$(RUN_TESTS) unit

model: $(addprefix $(BUILD)/release/,$(MODELS)) ## only the model tests, full length (SEED=n, SCALE=x)
	@$(RUN_TESTS) model

asan: $(call tests_of,asan) ## unit and short model tests under AddressSanitizer
	@$(RUN_TESTS) asan

ubsan: $(call tests_of,ubsan) ## unit and short model tests under UndefinedBehaviorSanitizer
	@$(RUN_TESTS) ubsan

san: $(call tests_of,san) ## unit and short model tests under AddressSanitizer and UndefinedBehaviorSanitizer at once, as `make test` does
	@$(RUN_TESTS) san

tsan: $(call tests_of,tsan) ## unit and short model tests under ThreadSanitizer
	@$(RUN_TESTS) tsan

crash: $(BUILD)/mayfly $(addprefix $(BUILD)/release/,$(CRASHES) $(PRELOADS)) ## kill -9 and power cuts, long form (ROUNDS=n, default 200)
	@$(RUN_TESTS) crash:$(or $(ROUNDS),200)

soak: $(BUILD)/mayfly $(BUILD)/release/heap.so ## a server under steady load: memory, disk and latency must not grow (MINUTES=n, default 60)
	@$(RUN_TESTS) soak:$(or $(MINUTES),60)m

lint: ## warnings of clang, what cppcheck finds in src/ beyond tools/cppcheck.txt, and clang-tidy by .clang-tidy; nothing is the limit
	@tools/setup lint
	@find src tests -name '*.c' -not -path '*/clients/*' | sort | xargs -P$$(nproc) -n 12 \
	    $(CLANG) $(CPPFLAGS) -std=c17 -pthread $(WARNINGS) -fsyntax-only
	@cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
	    --suppressions-list=tools/cppcheck.txt -j$$(nproc) -Isrc -D_GNU_SOURCE src
	@$(call run_clang_tidy,src)

# It follows memory along every path, too, which takes minutes.
run_clang_tidy = find $(1) -name '*.c' | sort | xargs -P$$(nproc) -n 6 \
    sh -c 'clang-tidy --quiet "$$@" -- -std=c17 -D_GNU_SOURCE -Isrc $(PKG_CFLAGS) 2>/dev/null' clang-tidy

fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZERS)) ## fuzz every parser (MINUTES=n over all, default 10)
	@$(RUN_TESTS) fuzz:$(or $(MINUTES),10)m

BENCH_BUILD = tools/setup run test bench && $(MAKE) $(BUILD)/mayfly $(addprefix $(BUILD)/bench/,$(BENCHES))

bench: ## install what is missing, and measure; table and curves go to docs/ (LONG=1: all of it in full length, which takes an hour)
	@+$(BENCH_BUILD)
	@BUILD=$(BUILD) LONG=$(LONG) WRITE=1 bench/run

bench-quick: ## measure in two minutes, less exact; writes nothing
	@+$(BENCH_BUILD)
	@BUILD=$(BUILD) QUICK=1 bench/run

tidy: ## check the laws of the code (ROOMS="value": only what lies in these rooms)
	@$(PYTHON) tools/tidy.py $(foreach r,$(ROOMS),src/$(r) tests/unit/$(r))

format: ## let clang-format rewrite all C files (ROOMS="value": only these)
	@find $(if $(ROOMS),$(SRC_DIRS) $(UNIT_DIRS),src tests bench) -name '*.[ch]' -o -name '*.cc' 2>/dev/null | \
	    xargs -r clang-format -i

coverage: $(call tests_of,coverage) ## line coverage of src/ by unit and short model tests
	@$(RUN_TESTS) coverage
