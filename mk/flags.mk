# Compilers, flags and libraries. Every object depends on this file.

CC := gcc
CLANG ?= clang

CPPFLAGS := -D_GNU_SOURCE -Isrc -I.
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wno-format-zero-length -Werror
CFLAGS := -std=c17 -g -pthread -fno-omit-frame-pointer $(WARNINGS)
# For the few files in C++ (src/storage/*.cc), behind doors of RocksDB that have no other shape.
CXXFLAGS := $(subst -std=c17,-std=c++17 -fno-exceptions,$(CFLAGS))
DEPFLAGS = -MMD -MP

# What the variants add; the slow assertions run where tests are slow anyway. What only has to name lines in
# the reports of a sanitizer gets -g1 and -Og: a third less time to compile, which is half of `make test`.
SLOW_CHECKS := -DMAYFLY_SLOW_CHECKS
CFLAGS_release := -O2
CFLAGS_asan := $(SLOW_CHECKS) -Og -g1 -fsanitize=address
CFLAGS_ubsan := $(SLOW_CHECKS) -Og -g1 -fsanitize=undefined -fno-sanitize-recover=all
CFLAGS_san := $(SLOW_CHECKS) -Og -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan := -Og -g1 -fsanitize=thread
CFLAGS_coverage := $(SLOW_CHECKS) -O0 -g1 --coverage
CFLAGS_fuzz := $(SLOW_CHECKS) -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined \
               -fno-sanitize-recover=all

CC_release := $(CC)
CC_asan := $(CC)
CC_ubsan := $(CC)
CC_san := $(CC)
CC_tsan := $(CC)
CC_coverage := $(CC)
CC_fuzz := $(CLANG)

# Libraries: through pkg-config where the package has a file for it. libbidgcc000 is the build of
# the decimal library that takes arguments by value, and rounding mode and flags as arguments, so
# it has no global state. What it has beyond arithmetic needs 3 MB of tables; MPFR does that.
PKGS := libbson-1.0 libssl libcrypto libpcre2-8 libidn icu-i18n icu-uc
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null || echo -lbson-1.0 -lssl -lcrypto -lpcre2-8 -lidn -licui18n -licuuc)
CPPFLAGS += $(PKG_CFLAGS)
LDLIBS := $(PKG_LIBS) -lhttp_parser -lstemmer -lsnappy -lzstd -llz4 -lxxhash -lz -lbidgcc000 -lmpfr -lpthread -lm
# RocksDB as Debian's shared library, which keeps the program small. The C++ library is named by its file, because only
# g++ brings the usual link.
ROCKSDB_SHARED := -lrocksdb -l:libstdc++.so.6
# Functions of which the program has its own, which the loader then gives to the library as well: its checksum
# (src/storage/rocksdb_crc.c), the call by which it removes files (src/storage/rocksdb_unlink.c) and that by which it rewrites files when a
# snapshot is released (src/storage/rocksdb_rewrite.c), that by which it hashes what it reads from its log and that by which it fills its
# memory tables (src/storage/rocksdb_filling.cc). The linker exports a name
# that the library asks for; tests/unit/storage/replaced.c tells when the library does not ask any more. Not under the sanitizers, which
# cannot tell what the library has ordered by its own means.
ROCKSDB_REPLACED := _ZN7rocksdb6crc32c6ExtendEjPKcm=rocksdb_crc_extend unlink=rocksdb_unlink \
    _ZN7rocksdb18WriteBatchInternal10InsertIntoERNS_11WriteThread10WriteGroupEmPNS_21ColumnFamilyMemTablesEPNS_14FlushSchedulerEPNS_20TrimHistorySchedulerEbmPNS_2DBEbbb=rocksdb_fill_tables \
    _ZN7rocksdb18VersionStorageInfo20UpdateOldestSnapshotEm=rocksdb_update_oldest \
    _ZN7rocksdb18WriteBatchInternal20UpdateProtectionInfoEPNS_10WriteBatchEmPm=rocksdb_leave_unhashed
# All addresses are looked up at the start, and those inside the program are listed in short.
ROCKSDB_release := -Wl,-z,now -Wl,-z,pack-relative-relocs \
    $(foreach pair,$(ROCKSDB_REPLACED),-Wl,--defsym=$(pair) -Wl,--undefined=$(lastword $(subst =, ,$(pair)))) \
    $(ROCKSDB_SHARED)
ROCKSDB_coverage := $(ROCKSDB_SHARED)
ROCKSDB_asan := $(ROCKSDB_SHARED)
ROCKSDB_ubsan := $(ROCKSDB_SHARED)
ROCKSDB_san := $(ROCKSDB_SHARED)
ROCKSDB_tsan := $(ROCKSDB_SHARED)
ROCKSDB_fuzz := $(ROCKSDB_SHARED)
TEST_LDLIBS := $(or $(shell pkg-config --libs cmocka 2>/dev/null),-lcmocka)
