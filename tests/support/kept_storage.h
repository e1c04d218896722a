/* A storage between an engine and its backend that can die: from then on nothing reaches the rows any
 * more, as when the process had been killed at that instant. It can also outlive the engine, which
 * closes what it was opened on: a lasting one then only detaches, so that another engine can be opened
 * on the same rows in memory. That is a restart, without a disk and in microseconds. */
#ifndef TESTS_SUPPORT_KEPT_STORAGE_H
#define TESTS_SUPPORT_KEPT_STORAGE_H

#include "storage/storage.h"

struct kept_storage;

/* `inner` is owned by the kept storage until kept_storage_close, or, if it is not lasting, until the
 * attached handle is closed. */
struct kept_storage *kept_storage_open(struct storage *inner, bool is_lasting);
void kept_storage_close(struct kept_storage *kept);

/* The handle for an engine. A lasting one may be attached again after it was closed. */
struct storage *kept_storage_attach(struct kept_storage *kept);

/* Every commit, range drop and sweep from now on fails with IO_ERROR, until the next attach. */
void kept_storage_kill(struct kept_storage *kept);

/* Sweeping goes through this, because the sweeper belongs to the engine and the rows do not. Give it
 * to the inner storage's options; kept_storage_set_sweeper says who answers. */
struct kept_sweeper;
struct kept_sweeper *kept_sweeper_open(void);
void kept_sweeper_close(struct kept_sweeper *sweeper);
struct storage_sweeper kept_sweeper_callbacks(struct kept_sweeper *sweeper);
/* All NULL: everything is kept. Nothing may be sweeping. */
void kept_sweeper_set(struct kept_sweeper *sweeper, struct storage_sweeper answering);

#endif
