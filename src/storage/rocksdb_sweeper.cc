/* RocksDB, sweeper: garbage never reaches a file.
 *
 * Whenever RocksDB writes rows of a space to files, when it rewrites files and when it writes a memory table, the storage's owner is asked about each
 * (rocksdb_hooks.c). A row that dies while it lies in memory leaves no more behind than its deletion, which is there for the row's earlier
 * versions and goes with the next rewriting. Versions of a document under one key are garbage together, so it leaves nothing behind: what it
 * could uncover is not to be seen either. RocksDB searches for the row that follows then, in each file that it puts together,
 * so that is asked for only where a deletion would be written otherwise: at flushes, and where somebody has asked for a compaction.
 *
 * In C++, because RocksDB's functions for C ask only when files are rewritten.
 *
 * Threads: RocksDB's own; a filter belongs to one. */
#include "storage/rocksdb_sweeper.h"

#include <rocksdb/compaction_filter.h>

#include <memory>
#include <string>

#include "storage/rocksdb_inside.h"

namespace
{
class filter final : public rocksdb::CompactionFilter
{
  public:
    filter(sweep *judge, bool without_deletion)
        : judging(judge), leaves_no_deletion(without_deletion)
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
    Decision FilterV2(int /*level*/, const rocksdb::Slice &key, ValueType type,
                      const rocksdb::Slice &value, std::string * /*new_value*/,
                      std::string *skip_until) const override
    {
        if (type != ValueType::kValue ||
            !rocksdb_sweep_is_garbage(judging, key.data(), key.size(), value.data(), value.size()))
            return Decision::kKeep;
        if (!leaves_no_deletion)
            return Decision::kRemove;
        skip_until->assign(key.data(), key.size());
        skip_until->push_back('\0'); /* the key that comes next */
        return Decision::kRemoveAndSkipUntil;
    }

  private:
    sweep *judging;
    bool leaves_no_deletion;
};

class filters final : public rocksdb::CompactionFilterFactory
{
  public:
    filters(rocksdb_storage *served, int which, bool with_versions)
        : rocks(served), space(which), has_versions(with_versions)
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
        const rocksdb::CompactionFilter::Context &about) override
    {
        const bool would_delete = about.reason == rocksdb::TableFileCreationReason::kFlush ||
                                  about.is_manual_compaction;
        sweep *judge = rocksdb_sweep_begin(rocks, space);

        return judge == nullptr ? nullptr
                                : std::make_unique<filter>(judge, would_delete && !has_versions);
    }

  private:
    rocksdb_storage *rocks;
    int space;
    bool has_versions;
};
} // namespace

void rocksdb_sweeper_choose(rocksdb_options_t *options, rocksdb_storage *rocks, int space,
                            bool has_versions)
{
    inside::options_of(options).compaction_filter_factory = std::make_shared<filters>(rocks, space,
                                                                                      has_versions);
}
