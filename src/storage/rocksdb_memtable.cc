/* RocksDB, memory tables: the rows of a commit in order, until they are flushed to a file.
 *
 * RocksDB lets its users bring memory tables of their own; this is the only file in C++, because that door has no other
 * shape. Its own table is a skip list that any number of threads may write, and Debian builds it with assertions: three
 * comparisons for each step of a search and four for each level after every row, half of the instructions of an insert of
 * a thousand documents. Here one thread writes at a time (the commit queue, or the replay of the log), many read.
 *
 * A skip list: every row has a link to the next row, every second also one over about two rows, and so on. Rows come sorted
 * (rocksdb_steps.c), so the table remembers the path to the last one (the finger): a search climbs it only as far as it has
 * to. Keys are compared here, eight bytes at a time, in the order of RocksDB's default comparator, which all our spaces have: user key
 * ascending, then tag (sequence number and kind) descending.
 *
 * A small table lies in the arena that RocksDB gives it. What comes behind the first SMALL_BYTES lies in blocks (base/memory.h): large
 * pages, which the processor finds sooner, and which the next table gets as they are.
 *
 * A row in memory, in one piece, 8-byte aligned (`node` points at the lowest link):
 *
 *     link[height - 1] ... link[1] link[0]   length(varint32) user key  tag(8)   length(varint32) value
 *                                  ^ node    ^ entry, written by RocksDB between Allocate() and InsertKey()
 *
 * Keeps: a row is complete before the first link to it is stored (release), and is read behind a link only (acquire); rows
 * neither move nor go before the whole table does. No two rows have the same key and tag.
 * Threads: Allocate() and the inserts belong to one thread at a time, everything else to any thread at any time.
 * Start reading at memtable::InsertKey(). */
#include "storage/rocksdb_memtable.h"

#include <rocksdb/memtablerep.h>
#include <rocksdb/utilities/object_registry.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

extern "C" {
#define _Noreturn [[noreturn]] /* C's word, which is not one of C++ */
#include "base/check.h"
#include "base/memory.h"
}

/* Two classes that RocksDB hands to memory tables and whose headers are not installed: the one function and the first
 * fields that are used here, as they are in RocksDB 7.8. */
namespace rocksdb
{
class Arena
{
  public:
    char *AllocateAligned(size_t len, size_t huge_page_len, Logger *logger);
};

class LookupKey
{
  public:
    const char *entry, *key, *end; /* a length like that of an entry; user key and tag; their end */
};
} // namespace rocksdb

namespace
{
constexpr long HEIGHT_MAX = 20; /* 2^20 rows */
constexpr uint64_t BRANCHING = 2;
constexpr uint64_t RANDOM_SEED = 0x9E3779B97F4A7C15;
constexpr size_t TAG_BYTES = 8;
constexpr size_t WORD_BYTES = 8;
constexpr size_t SMALL_BYTES = 1 << 20;

struct node;
using link = std::atomic<node *>;

static_assert(sizeof(link) == WORD_BYTES && link::is_always_lock_free, "links are plain words");

/* ---- rows and keys --------------------------------------------------------------------------------- */

inline link &link_of(const node *n, long level)
{
    return reinterpret_cast<link *>(const_cast<node *>(n))[-level];
}

inline node *next_of(const node *n, long level)
{
    return link_of(n, level).load(std::memory_order_acquire);
}

inline const char *entry_of(const node *n)
{
    return reinterpret_cast<const char *>(n) + WORD_BYTES;
}

/* Rows lie all over the memory of a table, and waiting for them is most of a search: those that may be looked at next are fetched
 * while others are compared. */
inline void fetch_next(const node *n, long level)
{
    const node *next = next_of(n, level);

    if (next != nullptr) {
        __builtin_prefetch(&link_of(next, 2));
        __builtin_prefetch(entry_of(next));
    }
}

/* From the level on downwards. */
inline void fetch_all_next(const node *n, long level)
{
    for (; level >= 0; level--)
        fetch_next(n, level);
}

struct table_key {
    const char *data; /* user key, then tag */
    size_t user_len;
};

inline uint64_t load_word(const char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
    return word;
}

inline uint64_t tag_of(const table_key &key)
{
    return le64toh(load_word(key.data + key.user_len));
}

inline table_key key_of_entry(const char *entry)
{
    uint32_t len = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = static_cast<uint8_t>(*entry++);
        len |= static_cast<uint32_t>(byte & 0x7F) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return { entry, len - TAG_BYTES };
}

inline table_key key_of_slice(const rocksdb::Slice &internal_key)
{
    return { internal_key.data(), internal_key.size() - TAG_BYTES };
}

/* Below zero if `a` comes first. Eight bytes can be read wherever a byte of the user key is, because the tag follows. */
inline int compare(const table_key &a, const table_key &b)
{
    const size_t len = a.user_len < b.user_len ? a.user_len : b.user_len;

    for (size_t at = 0; at < len; at += 8) {
        uint64_t x = be64toh(load_word(a.data + at)), y = be64toh(load_word(b.data + at));
        if (len - at < 8) {
            x >>= 8 * (8 - (len - at));
            y >>= 8 * (8 - (len - at));
        }
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (a.user_len != b.user_len)
        return a.user_len < b.user_len ? -1 : 1;
    const uint64_t x = tag_of(a), y = tag_of(b);
    return x > y ? -1 : x < y;
}

inline int compare(const node *n, const table_key &key)
{
    return compare(key_of_entry(entry_of(n)), key);
}

/* ---- the table ------------------------------------------------------------------------------------- */

/* The two sides of a place between rows, and whether the row behind it is the one that was looked for. */
struct place {
    const node *before, *from; /* the first is the head and the second NULL where there is no row */
    bool is_met;
};

class memtable final : public rocksdb::MemTableRep
{
  public:
    explicit memtable(rocksdb::Allocator *allocator);
    ~memtable() override;

    rocksdb::KeyHandle Allocate(const size_t len, char **buf) override;
    void Insert(rocksdb::KeyHandle handle) override;
    bool InsertKey(rocksdb::KeyHandle handle) override;
    bool Contains(const char *entry) const override;
    void Get(const rocksdb::LookupKey &wanted, void *arg,
             bool (*goes_on)(void *arg, const char *entry)) override;
    size_t ApproximateMemoryUsage() override;
    Iterator *GetIterator(rocksdb::Arena *arena) override;

    const node *head() const;
    const node *last() const;
    place find(const table_key &key) const;

  private:
    place find_from_finger(const table_key &key);
    long draw_height();
    char *take_room(size_t size);
    char *take_arena_room(size_t size);
    bool take_block();

    link head_links[HEIGHT_MAX];
    std::atomic<long> height; /* of the highest row, at least 1 */
    /* The finger: on every level the last row before or at the one that came last, or the head. */
    const node *finger[HEIGHT_MAX];
    uint64_t random;

    /* A block begins with a link to the one before. */
    size_t arena_bytes;
    char *block, *room, *room_end;
    std::atomic<size_t> block_bytes;
};

/* RocksDB makes a new table known to others in ways that tools do not see, so everybody who comes here first loads the
 * height, which is a whole word and is stored last. */
memtable::memtable(rocksdb::Allocator *allocator) : MemTableRep(allocator)
{
    for (long level = 0; level < HEIGHT_MAX; level++) {
        link_of(head(), level).store(nullptr, std::memory_order_release);
        finger[level] = head();
    }
    random = RANDOM_SEED;
    arena_bytes = 0;
    block = room = room_end = nullptr;
    block_bytes.store(0, std::memory_order_relaxed);
    height.store(1, std::memory_order_release);
}

memtable::~memtable()
{
    while (block != nullptr) {
        char *last = block;
        memcpy(&block, last, sizeof(block));
        memory_give_block(last);
    }
}

/* A row without an entry. */
inline const node *memtable::head() const
{
    return reinterpret_cast<const node *>(&head_links[HEIGHT_MAX - 1]);
}

/* Half of the rows are higher than one, half of these higher than two, and so on: with fewer links there would be more rows on
 * the way to a key, and one that was not asked for in advance costs more than all other work of a search. */
inline long memtable::draw_height()
{
    long drawn = 1;

    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    for (uint64_t bits = random; drawn < HEIGHT_MAX && bits % BRANCHING == 0; bits /= BRANCHING)
        drawn++;
    return drawn;
}

/* Pieces of whole words stay aligned in RocksDB's arena; where they do not, some bytes are lost. */
char *memtable::take_arena_room(size_t size)
{
    char *piece;

    MemTableRep::Allocate(size, &piece);
    if (reinterpret_cast<uintptr_t>(piece) % WORD_BYTES != 0) {
        MemTableRep::Allocate(size + WORD_BYTES, &piece);
        piece += WORD_BYTES - reinterpret_cast<uintptr_t>(piece) % WORD_BYTES;
    }
    arena_bytes += size;
    return piece;
}

bool memtable::take_block()
{
    char *fresh = static_cast<char *>(memory_take_block());

    if (fresh == nullptr)
        return false;
    memcpy(fresh, &block, sizeof(block));
    block = fresh;
    room = fresh + WORD_BYTES;
    room_end = fresh + MEMORY_BLOCK_BYTES;
    block_bytes.fetch_add(MEMORY_BLOCK_BYTES, std::memory_order_relaxed);
    return true;
}

/* A large row would leave much of a block empty. */
inline char *memtable::take_room(size_t size)
{
    if (arena_bytes < SMALL_BYTES || size > MEMORY_BLOCK_BYTES / 8)
        return take_arena_room(size);
    if (size > static_cast<size_t>(room_end - room) && !take_block())
        return take_arena_room(size);
    char *piece = room;
    room += size;
    return piece;
}

/* Until the row is inserted, its lowest link holds its height. */
rocksdb::KeyHandle memtable::Allocate(const size_t len, char **buf)
{
    (void)height.load(std::memory_order_acquire);
    const long drawn = draw_height();
    const size_t links_len = static_cast<size_t>(drawn) * WORD_BYTES;

    *buf = take_room(links_len + (len + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES) + links_len;
    node *row = reinterpret_cast<node *>(*buf - WORD_BYTES);
    for (long level = 0; level < drawn; level++)
        new (&link_of(row, level)) link;
    link_of(row, 0).store(reinterpret_cast<node *>(static_cast<uintptr_t>(drawn)),
                          std::memory_order_relaxed);
    return row;
}

bool memtable::InsertKey(rocksdb::KeyHandle handle)
{
    node *row = static_cast<node *>(handle);
    const long drawn = static_cast<long>(reinterpret_cast<uintptr_t>(next_of(row, 0)));

    ASSERT(drawn >= 1 && drawn <= HEIGHT_MAX);
    if (find_from_finger(key_of_entry(entry_of(row))).is_met)
        return false;
    if (drawn > height.load(std::memory_order_relaxed))
        height.store(drawn, std::memory_order_release);
    for (long level = 0; level < drawn; level++) {
        link &before = link_of(finger[level], level);
        link_of(row, level)
            .store(before.load(std::memory_order_relaxed), std::memory_order_relaxed);
        before.store(row, std::memory_order_release);
        finger[level] = row;
    }
    return true;
}

void memtable::Insert(rocksdb::KeyHandle handle)
{
    const bool is_new = InsertKey(handle);

    ASSERT(is_new);
}

/* Down from `at`, a row before `key`, beginning on the level below `level`; the last row before the key on each level goes
 * to `path_out`. `behind` is a row that is known to be behind the key or to be it, or NULL. */
inline place descend(const table_key &key, const node *at, long level, place behind,
                     const node **path_out)
{
    while (level-- > 0) {
        const node *next;
        int order = 0;
        while ((next = next_of(at, level)) != behind.from && (order = compare(next, key)) < 0) {
            at = next;
            fetch_all_next(at, level);
        }
        if (next != behind.from)
            behind = { nullptr, next, order == 0 };
        path_out[level] = at;
    }
    return { at, behind.from, behind.is_met };
}

/* As far up the finger as the key is away, forwards or backwards, and down again. */
place memtable::find_from_finger(const table_key &key)
{
    const long top = height.load(std::memory_order_relaxed);
    const node *at = finger[0];
    place behind = { nullptr, nullptr, false };
    long level = 0;

    for (long above = 0; above < top; above++)
        fetch_next(finger[above], above);
    if (at == head() || compare(at, key) < 0) {
        for (; level < top; level++) {
            const node *next = next_of(finger[level], level);
            const int order = next != nullptr ? compare(next, key) : 1;
            if (order >= 0) {
                behind = { nullptr, next, order == 0 };
                break;
            }
            at = next;
        }
    } else {
        while (level < top && finger[level] != head() && compare(finger[level], key) >= 0)
            level++;
        at = level < top ? finger[level] : head();
    }
    return descend(key, at, level, behind, finger);
}

inline place memtable::find(const table_key &key) const
{
    const node *path[HEIGHT_MAX];

    return descend(key, head(), height.load(std::memory_order_acquire), { nullptr, nullptr, false },
                   path);
}

const node *memtable::last() const
{
    const node *at = head(), *next;

    for (long level = height.load(std::memory_order_acquire); level-- > 0;) {
        while ((next = next_of(at, level)) != nullptr)
            at = next;
    }
    return at;
}

bool memtable::Contains(const char *entry) const
{
    return find(key_of_entry(entry)).is_met;
}

void memtable::Get(const rocksdb::LookupKey &wanted, void *arg,
                   bool (*goes_on)(void *arg, const char *entry))
{
    const table_key key = key_of_entry(wanted.entry);

    ASSERT(key.data == wanted.key && key.data + key.user_len + TAG_BYTES == wanted.end);
    for (const node *at = find(key).from; at != nullptr && goes_on(arg, entry_of(at));)
        at = next_of(at, 0);
}

/* What comes from the allocator is counted there. */
size_t memtable::ApproximateMemoryUsage()
{
    return block_bytes.load(std::memory_order_relaxed);
}

/* ---- walking through it ---------------------------------------------------------------------------- */

class walk final : public rocksdb::MemTableRep::Iterator
{
  public:
    explicit walk(const memtable &walked) : table(walked), at(nullptr)
    {
    }
    bool Valid() const override
    {
        return at != nullptr;
    }
    const char *key() const override
    {
        return entry_of(at);
    }
    void Next() override
    {
        at = next_of(at, 0);
    }
    void Prev() override
    {
        stand_at(table.find(key_of_entry(entry_of(at))).before);
    }
    void Seek(const rocksdb::Slice &internal_key, const char * /*entry*/) override
    {
        at = table.find(key_of_slice(internal_key)).from;
    }
    void SeekForPrev(const rocksdb::Slice &internal_key, const char * /*entry*/) override
    {
        const place found = table.find(key_of_slice(internal_key));
        stand_at(found.is_met ? found.from : found.before);
    }
    void SeekToFirst() override
    {
        at = next_of(table.head(), 0);
    }
    void SeekToLast() override
    {
        stand_at(table.last());
    }

  private:
    void stand_at(const node *row)
    {
        at = row != table.head() ? row : nullptr;
    }

    const memtable &table;
    const node *at;
};

/* Whoever gives an arena calls no more than the destructor. */
rocksdb::MemTableRep::Iterator *memtable::GetIterator(rocksdb::Arena *arena)
{
    if (arena == nullptr)
        return new walk(*this);
    return new (arena->AllocateAligned(sizeof(walk), 0, nullptr)) walk(*this);
}

/* ---- the door -------------------------------------------------------------------------------------- */

class factory final : public rocksdb::MemTableRepFactory
{
  public:
    /* The name is stored with the options of a directory, and whoever has none but RocksDB's own tables shall open it too. */
    const char *Name() const override
    {
        return rocksdb::SkipListFactory::kClassName();
    }
    rocksdb::MemTableRep *CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator & /*order*/,
                                            rocksdb::Allocator *allocator,
                                            const rocksdb::SliceTransform * /*prefix*/,
                                            rocksdb::Logger * /*logger*/) override
    {
        return new memtable(allocator);
    }
    bool CanHandleDuplicatedKey() const override
    {
        return true;
    }
};

rocksdb::MemTableRepFactory *make_factory(const std::string & /*name*/,
                                          std::unique_ptr<rocksdb::MemTableRepFactory> *owner,
                                          std::string * /*error*/)
{
    owner->reset(new factory);
    return owner->get();
}
} // namespace

/* Twice, if two threads open their first storage in the same instant; either will do. */
const char *rocksdb_memtable_name(void)
{
    static const char name[] = "mayfly_memtable";
    rocksdb::ObjectLibrary &library = *rocksdb::ObjectLibrary::Default();

    if (library.FindFactory<rocksdb::MemTableRepFactory>(name) == nullptr)
        library.AddFactory<rocksdb::MemTableRepFactory>(name, make_factory);
    return name;
}
