/* Host: what the machine is, for hostInfo and serverStatus.
 *
 * Threads: pure apart from asking the system. */
#include "front/mongo/host.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "front/mongo/handlers.h"

struct host_memory host_memory(void)
{
    struct host_memory memory = { 0 };
    long page = sysconf(_SC_PAGESIZE);
    long long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file)
        return memory;
    if (fscanf(file, "%lld %lld", &all, &resident) == 2) {
        memory.virtual_bytes = all * page;
        memory.resident_bytes = resident * page;
    }
    fclose(file);
    return memory;
}

status serve_host_info(struct command *command)
{
    struct buffer *out = &command->reply;
    struct utsname names = { 0 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long long memory_mb = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20;

    uname(&names);
    size_t system = reply_begin(out, "system");
    reply_date(out, "currentTime", command->request.now);
    reply_text(out, "hostname", names.nodename);
    reply_int32(out, "cpuAddrSize", 64);
    reply_int64(out, "memSizeMB", memory_mb);
    reply_int64(out, "memLimitMB", memory_mb);
    reply_int32(out, "numCores", (int32_t)cores);
    reply_int32(out, "numCoresAvailableToProcess", (int32_t)cores);
    reply_text(out, "cpuArch", names.machine);
    reply_bool(out, "numaEnabled", false);
    document_end(out, system);
    size_t os = reply_begin(out, "os");
    reply_text(out, "type", names.sysname);
    reply_text(out, "name", names.sysname);
    reply_text(out, "version", names.release);
    document_end(out, os);
    size_t extra = reply_begin(out, "extra");
    reply_text(out, "versionString", names.version);
    reply_int64(out, "pageSize", sysconf(_SC_PAGESIZE));
    document_end(out, extra);
    return STATUS_OK;
}
