# Everything that tests. The work is in tests/tools/run-tests, which runs stages, counts tests and
# ends with one line `N passed, N failed`; a stage whose files do not exist is left out.

RUN_TESTS := $(PYTHON) tests/tools/run-tests --build $(BUILD)
UNIT_AND_MODELS = $(if $(UNIT_SOURCES),$(BUILD)/$(1)/unit) \
                  $(addprefix $(BUILD)/$(1)/,$(if $(ROOMS),,$(MODELS)))
export BUILD FILTER SEED SCALE

test: ## install what is missing, build, and run every test (what CI runs; minutes)
	@tools/setup run test
	@+$(MAKE) test-build
	@$(RUN_TESTS) tidy unit model san tsan crash fuzz clients

.PHONY: test-build
test-build: all $(call UNIT_AND_MODELS,release) $(call UNIT_AND_MODELS,san) \
            $(call UNIT_AND_MODELS,tsan) $(addprefix $(BUILD)/release/,$(CRASHES)) \
            $(addprefix $(BUILD)/fuzz/,$(FUZZERS))

quick: all $(call UNIT_AND_MODELS,release) ## tidy, unit and a short model test; before every commit
	@$(RUN_TESTS) tidy unit model:short

unit: $(call UNIT_AND_MODELS,release) ## only the unit tests (FILTER=text, ROOMS="base value")
	@$(RUN_TESTS) unit

model: $(call UNIT_AND_MODELS,release) ## only the model tests, full length (SEED=n, SCALE=x)
	@$(RUN_TESTS) model

asan: $(call UNIT_AND_MODELS,asan) ## unit and short model tests under AddressSanitizer
	@$(RUN_TESTS) asan

ubsan: $(call UNIT_AND_MODELS,ubsan) ## the same under UndefinedBehaviorSanitizer
	@$(RUN_TESTS) ubsan

san: $(call UNIT_AND_MODELS,san) ## the same under both at once, as `make test` does
	@$(RUN_TESTS) san

tsan: $(call UNIT_AND_MODELS,tsan) ## the same under ThreadSanitizer
	@$(RUN_TESTS) tsan

crash: $(addprefix $(BUILD)/release/,$(CRASHES)) ## kill -9 tests, long form (ROUNDS=n, default 200)
	@$(RUN_TESTS) crash:$(or $(ROUNDS),200)

fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZERS)) ## fuzz every parser (MINUTES=n over all targets, default 10)
	@$(RUN_TESTS) fuzz:$(or $(MINUTES),10)m

bench: $(addprefix $(BUILD)/bench/,$(BENCHES)) ## measure; ratios go to docs/performance.md
	@if [ -x bench/run ]; then BUILD=$(BUILD) bench/run; else echo 'bench/run does not exist yet'; fi

tidy: ## check the laws of the code (CONTRIBUTING.md lists them)
	@$(PYTHON) tools/tidy.py

format: ## let clang-format rewrite all C files
	@find src tests bench -name '*.[ch]' 2>/dev/null | xargs -r clang-format -i

coverage: $(call UNIT_AND_MODELS,coverage) ## line coverage of src/ by unit and model tests
	@$(RUN_TESTS) coverage
