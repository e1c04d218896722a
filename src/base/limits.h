/* Every bound in one place. A limit has a name, a unit in the name, and one sentence. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* Largest BSON document, in bytes, as stored (the limit of the wire protocol). */
#define LIMIT_DOCUMENT_BYTES (16 * 1024 * 1024)
/* Deepest nesting of documents and arrays, in JSON and BSON. */
#define LIMIT_NESTING_DEPTH 128
/* Longest path, in components and in bytes. */
#define LIMIT_PATH_COMPONENTS 200
#define LIMIT_PATH_BYTES 4096
/* Longest encoded key of one index entry or document, in bytes. */
#define LIMIT_KEY_BYTES 16384
/* How long a note that was kept with a write is there at least, in milliseconds. */
#define LIMIT_NOTE_MS (30 * 60 * 1000)
/* Names of databases and collections, in bytes. */
#define LIMIT_NAME_BYTES 1023
/* Databases in a server, collections in a server. */
#define LIMIT_DATABASES 10000
#define LIMIT_COLLECTIONS 100000
/* Secondary indexes per collection, fields in one index, TTL rules (living and retired). */
#define LIMIT_INDEXES 64
#define LIMIT_INDEX_FIELDS 32
/* Different ways to compare texts that a server keeps open, from its start to its end. */
#define LIMIT_COLLATIONS 1000
#define LIMIT_DATE_RULES 64
/* Stored horizons of one rule before the purger must have cleaned up behind a policy change. */
#define LIMIT_RULE_HORIZONS 64
/* Path patterns in one indexing policy; partition key paths. */
#define LIMIT_PATH_PATTERNS 1000
#define LIMIT_PARTITION_KEY_PATHS 3
/* Longest text in an index over paths, in bytes; a longer one stands there cut to this length. */
#define LIMIT_INDEXED_TEXT_BYTES 2048
/* Index entries that one document may produce over all indexes. */
#define LIMIT_ENTRIES_PER_DOCUMENT 100000
/* Catalog entry of one collection, in bytes. */
#define LIMIT_CATALOG_ENTRY_BYTES (4 * 1024 * 1024)
/* What one group commit takes from the queue at a time. */
#define LIMIT_GROUP_COMMITS 1024
#define LIMIT_GROUP_BYTES (8 * 1024 * 1024)
/* Commits waiting in the queue before a new one is answered "busy". */
#define LIMIT_QUEUED_COMMITS 65536
/* Requests that may run at the same time in one engine. */
#define LIMIT_RUNNING_REQUESTS 4096
/* Transactions open at the same time, documents and bytes that one may write, collections younger than
 * itself that it may write to; how long a write waits for one that has written the same document. */
#define LIMIT_TRANSACTIONS 1024
#define LIMIT_TRANSACTION_OPERATIONS 100000
#define LIMIT_TRANSACTION_BYTES (64 * 1024 * 1024)
/* In memory: the operations, and the rows of documents and indexes that they make. All together may hold as much
 * as a few. */
#define LIMIT_TRANSACTION_HELD_BYTES (256 * 1024 * 1024)
#define LIMIT_TRANSACTIONS_FULL 4
#define LIMIT_TRANSACTION_COLLECTIONS 64
#define LIMIT_TRANSACTION_WAIT_MS (60 * 1000)
/* Documents that a reaper or an index build handles in one commit. */
#define LIMIT_BACKGROUND_BATCH 1000
#define LIMIT_BUILD_BATCH 64
/* Memory of one request unless said otherwise, in bytes. */
#define LIMIT_REQUEST_ARENA_BYTES (256 * 1024 * 1024)
/* Threads that help with long scans, over all requests; the pieces that a collection is scanned in, and what one
 * of them may find ahead of who asked for it, in bytes. */
#define LIMIT_CREW_HANDS 16
#define LIMIT_SIFT_PIECES 512
#define LIMIT_SIFT_AHEAD_BYTES (1024 * 1024)
/* Purger: longest pause between two passes, in seconds (default). */
#define LIMIT_PURGER_PAUSE_S 60
/* Clock: how far ahead the durable high-water mark is written, and how much the wall clock may
 * run ahead of monotonic time before it counts as a leap. */
#define LIMIT_CLOCK_MARK_AHEAD_MS 1000
#define LIMIT_CLOCK_LEAP_MS (5 * 60 * 1000)
/* Time to live, in seconds. */
#define LIMIT_TTL_SECONDS 2147483647

/* ---- the query room ---- */
/* Text of a query, and the parameters given with it. */
#define LIMIT_QUERY_TEXT_BYTES (512 * 1024)
#define LIMIT_QUERY_PARAMETERS 10000
/* Nesting of expressions; arguments of one call, columns, elements of a list in the text. */
#define LIMIT_QUERY_DEPTH 200
#define LIMIT_QUERY_ARGUMENTS 16384
/* Properties that a container computes. */
#define LIMIT_COMPUTED_PROPERTIES 20
/* JOINs and subqueries of one query text, over all its levels; what FROM may bind at one level, and all
 * levels together. */
#define LIMIT_QUERY_JOINS 10
#define LIMIT_QUERY_SUBQUERIES 64
#define LIMIT_QUERY_BINDINGS 24
#define LIMIT_QUERY_VARIABLES 128
/* Rows that joins and subqueries may make for one page, those that no condition lets through included. */
#define LIMIT_QUERY_PAGE_STEPS (10 * 1000 * 1000)
/* Different values that a query may remember within a row or for a group. */
#define LIMIT_QUERY_SET_MEMBERS (4 * 1000 * 1000)
/* Sort expressions, expressions to group by, and aggregates, of one query. */
#define LIMIT_QUERY_ORDERS 8
/* Scores that are fused into one, and the rows that come by it. */
#define LIMIT_QUERY_SCORES 8
#define LIMIT_QUERY_FUSED_ROWS 1000
#define LIMIT_QUERY_GROUPS 32
#define LIMIT_QUERY_AGGREGATES 64
/* Separate stretches of an index that one condition may ask for; with more, the index is not used. */
#define LIMIT_QUERY_RANGES 10000
/* Work of one page unless said otherwise: keys and index rows looked at, bytes of documents loaded. */
#define LIMIT_QUERY_PAGE_ROWS 50000
#define LIMIT_QUERY_PAGE_LOADED_BYTES (64 * 1024 * 1024)
/* The same for a page that reads all documents in the order in which they lie: more are not read that way. */
#define LIMIT_QUERY_PAGE_SLOTS 2000000
#define LIMIT_QUERY_PAGE_SLOT_BYTES (UINT64_C(1024) * 1024 * 1024)
/* How long a page works, in milliseconds, looked at where there is much to do: then it ends with the next row that it
 * can end with; later it fails. */
#define LIMIT_QUERY_PAGE_MS (5 * 1000)
#define LIMIT_QUERY_PAGE_MS_MAX (20 * 1000)
/* What sorting holds for one page, in rows and bytes; what does not fit waits for the next page. */
#define LIMIT_QUERY_SORT_ROWS 20000
#define LIMIT_FIND_SORT_ROWS 100000 /* where a cursor keeps what it does not give at once */
#define LIMIT_QUERY_SORT_BYTES (32 * 1024 * 1024)
/* What the groups of a query take, with all that is summed up and listed for them. Groups in no order that
 * do not fit wait for the next page; otherwise the query is refused. */
#define LIMIT_QUERY_GROUPS_BYTES (64 * 1024 * 1024)
/* Rows of a subquery in FROM over the whole container that has to be run to its end, and what they take. */
#define LIMIT_QUERY_INNER_ROWS (1000 * 1000)
#define LIMIT_QUERY_INNER_BYTES (64 * 1024 * 1024)
/* What of the values that a row is sorted by decides its place: so many bytes of their keys, together. A
 * text as an index holds it fits. */
#define LIMIT_QUERY_SORT_KEY_BYTES (2 * LIMIT_INDEXED_TEXT_BYTES + 16)
/* Memory for the values of one row while it is looked at. */
#define LIMIT_QUERY_ROW_BYTES (128 * 1024 * 1024)
/* A string or array that a function of a query may make, in bytes. */
#define LIMIT_QUERY_VALUE_BYTES (16 * 1024 * 1024)
/* Characters that REPLICATE gives at most; with more its result is undefined. */
#define LIMIT_QUERY_REPLICATE_UNITS 10000
/* A regular expression, its groups within each other, and the steps and memory to match one string. */
#define LIMIT_QUERY_REGEX_BYTES 4096
#define LIMIT_QUERY_REGEX_NESTING 100
#define LIMIT_QUERY_REGEX_STEPS 10000000
#define LIMIT_QUERY_REGEX_KIBIBYTES (32 * 1024)
/* Positions of a shape, and how many pairs of edges spatial functions compare for a row and for a page. */
#define LIMIT_QUERY_SHAPE_POSITIONS 200000
#define LIMIT_QUERY_SHAPE_PAIRS 30000000
#define LIMIT_QUERY_PAGE_SHAPE_PAIRS UINT64_C(1000000000)
/* What one stage of a pipeline may hold, in bytes; stages of one pipeline. */
#define LIMIT_PIPELINE_STAGE_BYTES (100 * 1024 * 1024)
#define LIMIT_PIPELINE_STAGES 1000
/* What all stages of one pipeline may hold together, those within others included: each has its share. */
#define LIMIT_PIPELINE_BYTES (UINT64_C(1024) * 1024 * 1024)
/* What the rows of one stage, or of one cursor, may take on disk; and how much of the disk they leave free, so that
 * writes go on. */
#define LIMIT_SPOOL_BYTES (UINT64_C(16) * 1024 * 1024 * 1024)
#define LIMIT_SPOOL_FREE_BYTES (UINT64_C(1024) * 1024 * 1024)
/* Rows that windows are computed of, over all rows, where they are computed anew; rows made by $densify. */
#define LIMIT_PIPELINE_WINDOW_STEPS UINT64_C(100000000)
#define LIMIT_PIPELINE_DENSIFIED_ROWS 500000
/* Pipelines within each other. */
#define LIMIT_PIPELINE_DEPTH 20
#define LIMIT_VIEW_DEPTH 20 /* views below a view */
#define LIMIT_LOOKUP_DEPTH \
    100 /* collections that the lookups and unions of one command have open at a time */
/* State of a page, in bytes: clients carry it in a header, which with its seal and in base64 has 1 KB at most. */
#define LIMIT_QUERY_STATE_BYTES 752

/* ---- the faces ---- */
/* Resources in one page of a feed unless the client says otherwise, and bytes of a page in any case. */
#define LIMIT_FEED_PAGE_ITEMS 1000
#define LIMIT_FEED_PAGE_BYTES (4 * 1024 * 1024)
/* An item as JSON, its id and its partition key; operations of one batch. */
#define LIMIT_ITEM_BYTES (2 * 1024 * 1024)
#define LIMIT_ITEM_ID_BYTES 1023
#define LIMIT_PARTITION_KEY_BYTES 2048
#define LIMIT_BATCH_OPERATIONS 100
/* Items that go in one commit when a whole partition key is deleted. */
#define LIMIT_PARTITION_DELETE_BATCH 500

/* A message of the wire protocol, and the document sequences in it. */
#define LIMIT_WIRE_MESSAGE_BYTES 48000000
#define LIMIT_WIRE_SEQUENCES 8
/* Operations of one write command; documents that go in one commit of it. */
#define LIMIT_WRITE_COMMAND_OPERATIONS 100000
#define LIMIT_WRITE_COMMAND_COMMIT 1000
/* What the errors of one write command say: messages, and all of it but numbers and codes. */
#define LIMIT_WRITE_ERROR_TEXT_BYTES (1024 * 1024)
#define LIMIT_WRITE_ERROR_BYTES (10 * 1024 * 1024)
/* A first batch of a cursor unless the client says otherwise; no batch has more bytes, but one document. */
#define LIMIT_CURSOR_FIRST_BATCH 101
#define LIMIT_CURSOR_BATCH_BYTES (16 * 1024 * 1024)
/* How long a logical session lives without being used, in minutes. */
#define LIMIT_LOGICAL_SESSION_MINUTES 30
/* Sessions that are known to be in use; those that one command may end or keep alive. */
#define LIMIT_SESSIONS 1000000
#define LIMIT_SESSIONS_NAMED 10000
/* Sessions whose last retryable write is known without looking. */
#define LIMIT_RETRYABLE_SESSIONS 100000
/* Cursors open at a time, how long one may lie idle, and the memory of one. */
#define LIMIT_CURSORS 10000
#define LIMIT_CURSOR_IDLE_MS (10 * 60 * 1000)
#define LIMIT_CURSOR_BYTES (128 * 1024 * 1024)
/* What a client may say of itself when it connects, and how much of a running command is shown to others. */
#define LIMIT_CLIENT_METADATA_BYTES 2048
#define LIMIT_OPERATION_SHOWN_BYTES (64 * 1024)
/* Lines of the log that are kept in memory, the newest of them. */
#define LIMIT_LOG_LINES 1024
/* Databases that are profiled at a time, and the bytes of rows that are kept for each. */
#define LIMIT_PROFILED_DATABASES 64
#define LIMIT_PROFILE_BYTES (1024 * 1024)
/* Work of an expression until its time limit is looked at again, some milliseconds of it: a step is one, and so are so
 * many bytes of a value that a step may look at. */
#define LIMIT_EFFORT_UNCHECKED (100 * 1000)
#define LIMIT_EFFORT_BYTES 64

#include "base/limits_server.h"

#endif
