/* RocksDB, files: a new log may begin as a spare one (rocksdb_spare.c); everything else is as RocksDB does it.
 *
 * RocksDB lets its users bring a file system of their own; this is in C++, because that door has no other shape.
 *
 * Threads: any. */
#include "storage/rocksdb_disk.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>

#include <climits>
#include <memory>
#include <string>

namespace
{
bool is_log(const std::string &name)
{
    const std::string ending = ".log";

    return name.size() > ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

class file_system final : public rocksdb::FileSystemWrapper
{
  public:
    explicit file_system(rocksdb_storage *served)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), rocks(served)
    {
    }
    const char *Name() const override
    {
        return "mayfly";
    }
    rocksdb::IOStatus NewWritableFile(const std::string &name, const rocksdb::FileOptions &options,
                                      std::unique_ptr<rocksdb::FSWritableFile> *out,
                                      rocksdb::IODebugContext *context) override
    {
        char spare[PATH_MAX];

        if (!is_log(name))
            return target()->NewWritableFile(name, options, out, context);
        sync_log_begins(rocks);
        bool is_begun = spares_begin_log(rocks, name.c_str(), spare, sizeof(spare));
        if (is_begun)
            is_begun = target()->ReuseWritableFile(name, spare, options, out, context).ok();
        return spares_end_log(rocks, is_begun)
                   ? rocksdb::IOStatus::OK()
                   : target()->NewWritableFile(name, options, out, context);
    }

  private:
    rocksdb_storage *rocks;
};

/* How RocksDB's functions for C have defined their options. */
inline rocksdb::Options &options_of(rocksdb_options_t *options)
{
    return *reinterpret_cast<rocksdb::Options *>(options);
}
} // namespace

struct rocksdb_disk {
    std::unique_ptr<rocksdb::Env> env;
};

rocksdb_disk *rocksdb_disk_choose(rocksdb_options_t *options, rocksdb_storage *rocks)
{
    rocksdb_disk *disk = new rocksdb_disk;

    disk->env = rocksdb::NewCompositeEnv(std::make_shared<file_system>(rocks));
    options_of(options).env = disk->env.get();
    return disk;
}

void rocksdb_disk_release(rocksdb_disk *disk)
{
    delete disk;
}
