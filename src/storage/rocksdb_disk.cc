/* RocksDB, files: logs are written in our own way (rocksdb_direct.c), and a new one may begin as a spare one (rocksdb_spare.c); everything
 * else is as RocksDB does it.
 *
 * RocksDB lets its users bring a file system of their own; this is in C++, because that door has no other shape.
 *
 * Threads: any. */
#include "storage/rocksdb_disk.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string>

#include "storage/rocksdb_inside.h"

namespace
{
bool is_log(const std::string &name)
{
    const std::string ending = ".log";

    return name.size() > ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

rocksdb::IOStatus status_of(int error)
{
    if (error == 0)
        return rocksdb::IOStatus::OK();
    return error == ENOSPC ? rocksdb::IOStatus::NoSpace("while writing the log", strerror(error))
                           : rocksdb::IOStatus::IOError("while writing the log", strerror(error));
}

/* RocksDB appends what one commit writes, and syncs once; nothing is to be had from what was appended before that. */
class log_file final : public rocksdb::FSWritableFile
{
  public:
    using options = rocksdb::IOOptions;
    using debug = rocksdb::IODebugContext;

    log_file(rocksdb_storage *of, direct_log *opened) : rocks(of), log(opened)
    {
    }
    ~log_file() override
    {
        if (log != nullptr)
            sync_log_close(rocks, log);
    }
    rocksdb::IOStatus Append(const rocksdb::Slice &data, const options &, debug *) override
    {
        return status_of(sync_log_append(rocks, log, data.data(), data.size()));
    }
    rocksdb::IOStatus Append(const rocksdb::Slice &data, const options &with,
                             const rocksdb::DataVerificationInfo &, debug *context) override
    {
        return Append(data, with, context);
    }
    rocksdb::IOStatus Flush(const options &, debug *) override
    {
        return rocksdb::IOStatus::OK();
    }
    rocksdb::IOStatus Sync(const options &, debug *) override
    {
        return status_of(sync_log(rocks, log));
    }
    /* A checkpoint syncs the log in use on a thread of its own, and RocksDB asks before whether that may be done beside a write. A log of
     * ours has one thread at a time; yet it never comes to that, because all our writes are synced: RocksDB lets nobody else sync a log from
     * before such a write until its rows are in, and such a write waits for whoever does. */
    bool IsSyncThreadSafe() const override
    {
        return true;
    }
    uint64_t GetFileSize(const options &, debug *) override
    {
        return sync_log_bytes(rocks, log);
    }
    rocksdb::IOStatus Close(const options &, debug *) override
    {
        const int error = sync_log_close(rocks, log);

        log = nullptr;
        return status_of(error);
    }

  private:
    rocksdb_storage *rocks;
    direct_log *log;
};

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
        if (sync_has_failed(rocks))
            return rocksdb::IOStatus::IOError("the log before could not be written");
        bool is_begun = spares_begin_log(rocks, name.c_str(), spare, sizeof(spare));
        if (is_begun)
            is_begun = target()->ReuseWritableFile(name, spare, options, out, context).ok();
        is_begun = spares_end_log(rocks, is_begun);
        if (!is_begun) {
            const rocksdb::IOStatus made = target()->NewWritableFile(name, options, out, context);
            if (!made.ok())
                return made;
        }
        direct_log *log = sync_log_open(rocks, name.c_str(), is_begun);
        if (log == nullptr)
            return status_of(errno);
        out->reset(new log_file(rocks, log));
        return rocksdb::IOStatus::OK();
    }

  private:
    rocksdb_storage *rocks;
};
} // namespace

struct rocksdb_disk {
    std::unique_ptr<rocksdb::Env> env;
};

rocksdb_disk *rocksdb_disk_choose(rocksdb_options_t *options, rocksdb_storage *rocks)
{
    rocksdb_disk *disk = new rocksdb_disk;

    disk->env = rocksdb::NewCompositeEnv(std::make_shared<file_system>(rocks));
    inside::options_of(options).env = disk->env.get();
    return disk;
}

void rocksdb_disk_release(rocksdb_disk *disk)
{
    delete disk;
}
