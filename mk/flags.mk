# Compilers, flags and libraries. Every object depends on this file.

CC := gcc
CLANG ?= clang

CPPFLAGS := -D_GNU_SOURCE -Isrc -I.
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wno-format-zero-length -Werror
CFLAGS := -std=c17 -g -pthread -fno-omit-frame-pointer $(WARNINGS)
# For the one file in C++ (src/storage/rocksdb_memtable.cc).
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
CFLAGS_fuzz := $(SLOW_CHECKS) -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined \
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
# RocksDB from its archive where speed counts: as a shared library it fetches its per-thread counters
# through a call at every key comparison, a sixth of all instructions of an insert. librocksdb-dev
# brings what the archive needs; the C++ library is named by its file, because only g++ brings the
# usual link. Under the sanitizers the shared library, whose own memory and locks can be told apart.
ROCKSDB_ARCHIVE := -l:librocksdb.a -lsnappy -llz4 -lzstd -lbz2 -lz -lgflags -l:libstdc++.so.6 -ldl
# The archive's checksum is replaced by that of src/storage/rocksdb_crc.c, which has to be asked for by name
# because our own library stands in front of the archive.
ROCKSDB_CRC := _ZN7rocksdb6crc32c6ExtendEjPKcm
# The same for the call by which it removes files: src/storage/rocksdb_unlink.c.
# And for that by which it rewrites files when a snapshot is released: src/storage/rocksdb_rewrite.c.
ROCKSDB_OLDEST := _ZN7rocksdb18VersionStorageInfo20UpdateOldestSnapshotEm
ROCKSDB_WRAPPED := $(ROCKSDB_CRC) $(ROCKSDB_OLDEST) unlink
# RocksDB's tables of virtual functions are full of addresses to set when the program starts; packed, the list of
# them is shorter by 0.36 MB.
ROCKSDB_release := -Wl,-z,pack-relative-relocs \
    $(foreach name,$(ROCKSDB_WRAPPED),-Wl,--wrap=$(name) -Wl,--undefined=__wrap_$(name)) $(ROCKSDB_ARCHIVE)
ROCKSDB_SHARED := -lrocksdb -l:libstdc++.so.6
ROCKSDB_coverage := $(ROCKSDB_SHARED)
ROCKSDB_asan := $(ROCKSDB_SHARED)
ROCKSDB_ubsan := $(ROCKSDB_SHARED)
ROCKSDB_san := $(ROCKSDB_SHARED)
ROCKSDB_tsan := $(ROCKSDB_SHARED)
ROCKSDB_fuzz := $(ROCKSDB_SHARED)
TEST_LDLIBS := $(or $(shell pkg-config --libs cmocka 2>/dev/null),-lcmocka)
