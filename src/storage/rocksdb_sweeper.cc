/* RocksDB, sweeper: garbage never reaches a file.
 *
 * Whenever RocksDB writes rows of a space to files, when it rewrites files and when it writes a memory table, the storage's owner is asked about each
 * (rocksdb_hooks.c). So a document that dies while it lies in memory leaves no more behind than its deletion, and
 * that goes with the next rewriting.
 *
 * In C++, because RocksDB's functions for C ask only when files are rewritten.
 *
 * Threads: RocksDB's own; a filter belongs to one. */
#include "storage/rocksdb_sweeper.h"

#include <rocksdb/compaction_filter.h>
#include <rocksdb/options.h>

#include <memory>
#include <string>

namespace
{
class filter final : public rocksdb::CompactionFilter
{
  public:
    explicit filter(sweep *judge) : judging(judge)
    {
    }
    ~filter() override
    {
        rocksdb_sweep_end(judging);
    }
    const char *Name() const override
    {
        return "mayfly.sweep";
    }
    bool Filter(int /*level*/, const rocksdb::Slice &key, const rocksdb::Slice &value,
                std::string * /*new_value*/, bool * /*is_changed*/) const override
    {
        return rocksdb_sweep_is_garbage(judging, key.data(), key.size(), value.data(),
                                        value.size());
    }

  private:
    sweep *judging;
};

class filters final : public rocksdb::CompactionFilterFactory
{
  public:
    filters(rocksdb_storage *served, int which) : rocks(served), space(which)
    {
    }
    const char *Name() const override
    {
        return "mayfly.sweep";
    }
    bool ShouldFilterTableFileCreation(rocksdb::TableFileCreationReason why) const override
    {
        return why == rocksdb::TableFileCreationReason::kCompaction ||
               why == rocksdb::TableFileCreationReason::kFlush;
    }
    std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
        const rocksdb::CompactionFilter::Context & /*about*/) override
    {
        sweep *judge = rocksdb_sweep_begin(rocks, space);

        return judge == nullptr ? nullptr : std::make_unique<filter>(judge);
    }

  private:
    rocksdb_storage *rocks;
    int space;
};

/* How RocksDB's functions for C have defined their options. */
inline rocksdb::Options &options_of(rocksdb_options_t *options)
{
    return *reinterpret_cast<rocksdb::Options *>(options);
}
} // namespace

void rocksdb_sweeper_choose(rocksdb_options_t *options, rocksdb_storage *rocks, int space)
{
    options_of(options).compaction_filter_factory = std::make_shared<filters>(rocks, space);
}
