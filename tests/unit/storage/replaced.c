/* Functions of the program that the library of RocksDB calls instead of its own. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "storage/rocksdb_replaced.h"
#include "storage/rocksdb_trash.h"
#include "tests/unit/storage/fixture.h"

/* The variants with slow checks and ThreadSanitizer leave the library alone (mk/flags.mk). */
#if !defined(MAYFLY_SLOW_CHECKS) && !defined(__SANITIZE_THREAD__)

/* What the loader knows of a library, as far as it tells which functions it calls by name. */
struct library {
    const char *name;
    bool is_there;
    const char *texts;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * calls;
    size_t call_count;
};

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library *library = data;
    const ElfW(Dyn) *entry = NULL;

    (void)size;
    if (strstr(info->dlpi_name, library->name) == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    CHECK(entry != NULL);
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            library->texts = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_SYMTAB)
            library->symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_JMPREL)
            library->calls = (const ElfW(Rela) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_PLTRELSZ)
            library->call_count = entry->d_un.d_val / sizeof(ElfW(Rela));
    }
    library->is_there = true;
    return 1;
}

/* Whether it leaves it to the loader where calls of this name go. */
static bool library_asks_for(const struct library *library, const char *name)
{
    for (size_t i = 0; i < library->call_count; i++) {
        const ElfW(Sym) *symbol = &library->symbols[ELF64_R_SYM(library->calls[i].r_info)];
        if (strcmp(library->texts + symbol->st_name, name) == 0)
            return true;
    }
    return false;
}

TEST(storage, the_library_of_rocksdb_calls_our_functions_instead_of_its_own)
{
    struct library library = { .name = "librocksdb.so" };
    const struct {
        const char *name;
        void *ours;
    } rows[] = {
        {ROCKSDB_NAME_OF_CRC_EXTEND,     (void *)rocksdb_crc_extend    },
        { ROCKSDB_NAME_OF_UPDATE_OLDEST, (void *)rocksdb_update_oldest },
        { ROCKSDB_NAME_OF_UNLINK,        (void *)rocksdb_unlink        },
        { ROCKSDB_NAME_OF_HASHES,        (void *)rocksdb_leave_unhashed},
        { ROCKSDB_NAME_OF_FILLING,       (void *)rocksdb_fill_tables   },
    };

    dl_iterate_phdr(find_library, &library);
    CHECK(library.is_there);
    EACH_ROW(rows, r) {
        CHECK_THAT(library_asks_for(&library, r->name), "the library does not ask for %s", r->name);
        CHECK_THAT(dlsym(RTLD_DEFAULT, r->name) == r->ours, "%s is not ours", r->name);
    }
}

#endif
