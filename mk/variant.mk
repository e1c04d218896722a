# The rules of one variant, instantiated for each: $(BUILD)/<variant>/{obj,libmayfly.a,unit,...}.

VARIANTS := release asan ubsan san tsan coverage fuzz

# $(1) variant, $(2) sources -> objects
objects = $(patsubst %.c,$(BUILD)/$(1)/obj/%.o,$(patsubst %.cc,$(BUILD)/$(1)/obj/%.o,$(2)))

define variant_rules
$(BUILD)/$(1)/obj/%.o: %.c mk/flags.mk
	@mkdir -p $$(@D)
	@echo "  cc $(1) $$<"
	@$(CC_$(1)) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(1)) $$(CFLAGS_here) $(DEPFLAGS) -c -o $$@ $$<

$(BUILD)/$(1)/obj/%.o: %.cc mk/flags.mk
	@mkdir -p $$(@D)
	@echo "  cc $(1) $$<"
	@$(CC_$(1)) $(CPPFLAGS) $(CXXFLAGS) $(CFLAGS_$(1)) $$(CFLAGS_here) $(DEPFLAGS) -c -o $$@ $$<

# Lists change when a file comes or goes, so that a removed source leaves the library too.
$(BUILD)/$(1)/lib.list: FORCE
	@mkdir -p $$(@D)
	@echo '$(LIB_SOURCES)' | cmp -s - $$@ || echo '$(LIB_SOURCES)' > $$@
$(BUILD)/$(1)/unit.list: FORCE
	@mkdir -p $$(@D)
	@echo '$(UNIT_SOURCES)' | cmp -s - $$@ || echo '$(UNIT_SOURCES)' > $$@

$(BUILD)/$(1)/libmayfly.a: $(call objects,$(1),$(LIB_SOURCES)) $(BUILD)/$(1)/lib.list
	@rm -f $$@
	@ar crs $$@ $$(filter %.o,$$^)

# What tests share. An archive, so that a test of one room does not pull in fixtures of others.
$(BUILD)/$(1)/libsupport.a: $(call objects,$(1),$(SUPPORT_SOURCES))
	@rm -f $$@
	@ar crs $$@ $$(filter %.o,$$^)

$(BUILD)/$(1)/mayfly: $(call objects,$(1),$(MAIN)) $(BUILD)/$(1)/libmayfly.a
	@echo "  ld $$@"
	@$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $$(LINK_here) -o $$@ $$^ $(ROCKSDB_$(1)) $(LDLIBS)

$(BUILD)/$(1)/unit: $(call objects,$(1),$(UNIT_SOURCES) $(CHECK_SOURCES)) \
        $(BUILD)/$(1)/libsupport.a $(BUILD)/$(1)/libmayfly.a $(BUILD)/$(1)/unit.list
	@echo "  ld $$@"
	@$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $$(LINK_here) -o $$@ $$(filter %.o %.a,$$^) $(ROCKSDB_$(1)) $(LDLIBS) $(TEST_LDLIBS)

$(BUILD)/$(1)/model-%: $(BUILD)/$(1)/obj/tests/model/%.o $(call objects,$(1),$(CHECK_SOURCES)) \
        $(BUILD)/$(1)/libsupport.a $(BUILD)/$(1)/libmayfly.a
	@echo "  ld $$@"
	@$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $$(LINK_here) -o $$@ $$^ $(ROCKSDB_$(1)) $(LDLIBS) $(TEST_LDLIBS)

# A crash test has a main of its own, because it lives in several processes.
$(BUILD)/$(1)/crash-%: $(BUILD)/$(1)/obj/tests/crash/%.o $(BUILD)/$(1)/obj/tests/check.o \
        $(BUILD)/$(1)/libsupport.a $(BUILD)/$(1)/libmayfly.a
	@echo "  ld $$@"
	@$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $$(LINK_here) -o $$@ $$^ $(ROCKSDB_$(1)) $(LDLIBS) $(TEST_LDLIBS)
endef
$(foreach v,$(VARIANTS),$(eval $(call variant_rules,$(v))))

# Loaded before a test of crashes: a disk that forgets what was not synced, and an end at any call.
$(BUILD)/release/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	@echo "  so $@"
	@$(CC) $(CFLAGS) $(CFLAGS_release) -fPIC -shared -o $@ $< -ldl

.SECONDARY:

$(BUILD)/mayfly: $(BUILD)/release/mayfly
	@cp -f $< $@.new && mv -f $@.new $@

# What runs in the server, but not tests and measurements: more is copied into its callers than with -O2, and libraries are
# called without a detour. 5 to 8 % fewer instructions for 0.3 MB (docs/performance-log.md). The objects hold what the compiler needs
# to go on when the server is linked, across files, and are complete without it: for tests, which are linked more often. Up to 5 % less
# processor time, half a minute at the link.
$(BUILD)/release/obj/src/%.o: CFLAGS_here := -O3 -fno-plt -flto -ffat-lto-objects
$(BUILD)/release/%: LINK_here := -fno-lto
$(BUILD)/bench/%: LINK_here := -fno-lto
# Then it warns of fields in compare_fields() of which it cannot see that they are set.
$(BUILD)/release/mayfly: LINK_here := -O3 -fno-plt -flto=2 -Wno-maybe-uninitialized

# No parser lives in these rooms; they are there because others need them to link.
$(addprefix $(BUILD)/fuzz/obj/src/,engine/%.o storage/%.o server/%.o): CFLAGS_here := -O0
# They only hand RocksDB's calls on, with small functions of the C++ library whose order RocksDB keeps by means that the sanitizer
# does not see; those stay their own.
$(addprefix $(BUILD)/tsan/obj/src/storage/,rocksdb_disk.o rocksdb_sweeper.o): CFLAGS_here := -fno-sanitize=thread -fvisibility=hidden -fvisibility-inlines-hidden

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libmayfly.a
	@echo "  ld $@"
	@$(CLANG) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ $(ROCKSDB_fuzz) $(LDLIBS)

# What only one measurement needs.
$(addprefix $(BUILD)/bench/,sql rivals sessions expiry growth versus): BENCH_LDLIBS := -lpq
$(BUILD)/bench/mongo: BENCH_LDLIBS := -lmongoc-1.0
$(BUILD)/bench/aggregate: BENCH_LDLIBS := -lpq -lmongoc-1.0

$(BUILD)/bench/%: $(BUILD)/release/obj/bench/%.o $(BUILD)/release/libmayfly.a
	@mkdir -p $(@D)
	@echo "  ld $@"
	@$(CC) $(CFLAGS) $(CFLAGS_release) $(LINK_here) -o $@ $^ $(ROCKSDB_release) $(LDLIBS) $(BENCH_LDLIBS)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
