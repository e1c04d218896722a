/* RocksDB, memory tables: the rows of a commit in order, until they are flushed to a file.
 *
 * RocksDB lets its users bring memory tables of their own; this is in C++, because that door has no other shape. Its own
 * table is a skip list that any number of threads may write, and Debian builds it with assertions: three comparisons for each
 * step of a search and four for each level after every row, half of the instructions of an insert of a thousand documents. Here one thread writes at a time (the commit queue, or the replay of the log), many read.
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
 * After a crash the log is read from its beginning to its end, and nobody looks at a row before that. A search for each row
 * would be a third of such a start, most of it waiting for memory. So tables that are made while the log is read only
 * collect rows, and sort them once, when somebody looks for the first time or writes after that: the first flush, mostly.
 *
 * Keeps: a row is complete before the first link to it is stored (release), and is read behind a link only (acquire); rows
 * neither move nor go before the whole table does. No two rows have the same key and tag.
 * Threads: Allocate() and the inserts belong to one thread at a time, everything else to any thread at any time; but while a
 * table collects, all of it belongs to the thread that opens the database.
 * Start reading at memtable::InsertKey(). */
#include "storage/rocksdb_memtable.h"

#include <rocksdb/memtablerep.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "storage/rocksdb_inside.h"

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
constexpr long COLLECTING = 0;
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

/* ---- sorting many rows ----------------------------------------------------------------------------- */

/* The word is a part of the key as a number that sorts like it, so that most comparisons look at nothing else. */
struct ranked_row {
    uint64_t word;
    node *row;
};

using ranked_rows = std::vector<ranked_row>::iterator;

constexpr ptrdiff_t FEW_ROWS = 16;
constexpr ptrdiff_t ROWS_AHEAD = 12; /* so far ahead memory is asked for */

inline table_key key_of(const ranked_row &ranked)
{
    return key_of_entry(entry_of(ranked.row));
}

inline void ask_for(ranked_rows at, ranked_rows end)
{
    if (end - at > ROWS_AHEAD)
        __builtin_prefetch(at[ROWS_AHEAD].row);
}

/* How many bytes all keys begin with; that it is at least `known` is known. */
size_t shared_len(ranked_rows begin, ranked_rows end, size_t known)
{
    const table_key first = key_of(*begin);
    size_t shared = first.user_len;

    for (ranked_rows at = begin; at != end && shared > known; ++at) {
        ask_for(at, end);
        const table_key key = key_of(*at);
        size_t len = known;
        while (len < shared && len < key.user_len && key.data[len] == first.data[len])
            len++;
        shared = len;
    }
    return shared;
}

/* The eight bytes of the key from there on, with zeros behind its end. */
inline uint64_t word_at(const table_key &key, size_t at)
{
    const size_t len = key.user_len - at;
    const uint64_t word = be64toh(load_word(key.data + at)); /* the tag follows */

    return len >= WORD_BYTES ? word : len == 0 ? 0 : word >> 8 * (8 - len) << 8 * (8 - len);
}

inline bool is_word_before(const ranked_row &a, const ranked_row &b)
{
    return a.word < b.word;
}

inline bool is_key_before(const ranked_row &a, const ranked_row &b)
{
    return compare(key_of(a), key_of(b)) < 0;
}

void sort_rows(ranked_rows begin, ranked_rows end, size_t known);

/* Rows whose keys have the same `known` bytes, unless they are shorter and only look like it with zeros behind. */
inline void sort_run(ranked_rows begin, ranked_rows end, size_t known)
{
    bool are_long = end - begin >= FEW_ROWS;

    for (ranked_rows at = begin; at != end && are_long; ++at) {
        ask_for(at, end);
        are_long = key_of(*at).user_len >= known;
    }
    if (are_long)
        sort_rows(begin, end, known);
    else
        std::sort(begin, end, is_key_before);
}

/* By the eight bytes behind those that all have in common, and again where these are the same; by the tag if all have one key.
 * Every round is at least eight bytes farther in the keys. */
void sort_rows(ranked_rows begin, ranked_rows end, size_t known)
{
    const size_t shared = shared_len(begin, end, known);
    bool have_one_key = true;

    for (ranked_rows at = begin; at != end; ++at) {
        const table_key key = key_of(*at);
        have_one_key = have_one_key && key.user_len == shared;
        at->word = word_at(key, shared);
    }
    for (ranked_rows at = begin; at != end && have_one_key; ++at)
        at->word = ~tag_of(key_of(*at));
    std::sort(begin, end, is_word_before);
    for (ranked_rows run = begin, next; run != end && !have_one_key; run = next) {
        for (next = run; next != end && next->word == run->word;)
            ++next;
        sort_run(run, next, shared + WORD_BYTES);
    }
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
    memtable(rocksdb::Allocator *allocator, const std::atomic<bool> &is_collecting);
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
    long height_in_order() const;
    void put_in_order();
    void link_sorted(const std::vector<ranked_row> &rows);

    link head_links[HEIGHT_MAX];
    std::atomic<long>
        height; /* of the highest row, at least 1; COLLECTING: nothing is linked yet */
    const std::atomic<bool> &is_collecting; /* of the factory */
    std::vector<ranked_row> collected;
    std::mutex order_lock; /* while `collected` becomes a list */
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
memtable::memtable(rocksdb::Allocator *allocator, const std::atomic<bool> &collecting)
    : MemTableRep(allocator), is_collecting(collecting)
{
    for (long level = 0; level < HEIGHT_MAX; level++) {
        link_of(head(), level).store(nullptr, std::memory_order_release);
        finger[level] = head();
    }
    random = RANDOM_SEED;
    arena_bytes = 0;
    block = room = room_end = nullptr;
    block_bytes.store(0, std::memory_order_relaxed);
    height.store(is_collecting.load(std::memory_order_relaxed) ? COLLECTING : 1,
                 std::memory_order_release);
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
    if (height.load(std::memory_order_acquire) == COLLECTING) {
        if (is_collecting.load(std::memory_order_relaxed)) {
            collected.push_back({ 0, row });
            height.store(COLLECTING,
                         std::memory_order_release); /* as above: for who puts it in order */
            return true;
        }
        put_in_order();
    }
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

/* What everybody asks first who wants to see rows. */
inline long memtable::height_in_order() const
{
    const long known = height.load(std::memory_order_acquire);

    if (known != COLLECTING)
        return known;
    const_cast<memtable *>(this)->put_in_order();
    return height.load(std::memory_order_acquire);
}

void memtable::put_in_order()
{
    const std::lock_guard<std::mutex> guard(order_lock);

    if (height.load(std::memory_order_acquire) != COLLECTING)
        return;
    sort_run(collected.begin(), collected.end(), 0);
    link_sorted(collected);
    collected = {};
}

/* The finger stands at the last row then. */
void memtable::link_sorted(const std::vector<ranked_row> &rows)
{
    long top = 1;

    for (size_t i = 0; i < rows.size(); i++) {
        node *row = rows[i].row;
        const long drawn = static_cast<long>(reinterpret_cast<uintptr_t>(next_of(row, 0)));
        top = drawn > top ? drawn : top;
        for (long level = 0; level < drawn; level++) {
            link_of(finger[level], level).store(row, std::memory_order_relaxed);
            finger[level] = row;
        }
    }
    for (long level = 0; level < HEIGHT_MAX; level++)
        link_of(finger[level], level).store(nullptr, std::memory_order_relaxed);
    height.store(top, std::memory_order_release);
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

    return descend(key, head(), height_in_order(), { nullptr, nullptr, false }, path);
}

const node *memtable::last() const
{
    const node *at = head(), *next;

    for (long level = height_in_order(); level-- > 0;) {
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
    (void)height.load(std::memory_order_acquire);
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
    (void)height_in_order();
    if (arena == nullptr)
        return new walk(*this);
    return new (arena->AllocateAligned(sizeof(walk), 0, nullptr)) walk(*this);
}

/* ---- the door -------------------------------------------------------------------------------------- */

class factory final : public rocksdb::MemTableRepFactory
{
  public:
    std::atomic<bool> is_collecting{ false };

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
        return new memtable(allocator, is_collecting);
    }
    bool CanHandleDuplicatedKey() const override
    {
        return true;
    }
};
} // namespace

void rocksdb_memtable_choose(rocksdb_options_t *options)
{
    inside::options_of(options).memtable_factory = std::make_shared<factory>();
}

void rocksdb_memtable_collect(rocksdb_options_t *options, bool is_collecting)
{
    static_cast<factory *>(inside::options_of(options).memtable_factory.get())->is_collecting =
        is_collecting;
}
