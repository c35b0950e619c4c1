/* The limits of a session: one row for each, from which the profile, the
 * configuration, the counters and the check of what a kernel reports are made.
 *
 * A row has: the key below profile/<name>/limits/, which is also the member of
 * profile_limits_t. SIZE (in bytes) or NUMBER. The lowest and the highest value
 * that a configuration may have. Whether it may also be 0, for no limit. The
 * default, as a number and as it would be written. Which part notices that a
 * session reached it. One sentence of help.
 * A file that uses the numbers defines KIB, MIB, GIB and TIB. */
#ifndef HEARTH_PROTOCOL_SESSION_LIMITS_H
#define HEARTH_PROTOCOL_SESSION_LIMITS_H

/* clang-format off */
#define SESSION_LIMITS(X)                                                      \
    X(memory, SIZE, 64 * MIB, 1024 * TIB, true, 2 * GIB, "2G",                 \
      SESSION_LIMIT_COUNTED,                                                   \
      "memory of a session as a whole, /tmp and /dev/shm included; 0 no limit")\
    X(cpu, NUMBER, 1, 1000000, true, 0, "0", SESSION_LIMIT_COUNTED,            \
      "processor time per second in percent of one processor; 0 no limit")     \
    X(cpu_weight, NUMBER, 1, 10000, false, 100, "100", SESSION_LIMIT_SILENT,   \
      "a session's share where processors are scarce")                         \
    X(io_weight, NUMBER, 1, 10000, false, 100, "100", SESSION_LIMIT_SILENT,    \
      "a session's share where disks are busy")                                \
    X(address_space, SIZE, 64 * MIB, 1024 * TIB, true, 0, "0",                 \
      SESSION_LIMIT_SILENT, "memory that a process may map; 0 no limit")       \
    X(file_size, SIZE, KIB, 1024 * TIB, false, 1 * GIB, "1G",                  \
      SESSION_LIMIT_REPORTED, "size of a file that a session may write")       \
    X(open_files, NUMBER, 64, 1u << 20, false, 1024, "1024",                   \
      SESSION_LIMIT_REPORTED, "descriptors of a process")                      \
    X(processes, NUMBER, 8, 1u << 20, false, 512, "512",                       \
      SESSION_LIMIT_REPORTED, "processes and threads of a session")            \
    X(cpu_seconds, NUMBER, 1, 366u * 86400, true, 0, "0",                      \
      SESSION_LIMIT_SILENT, "processor time of a session; 0 no limit")         \
    X(tmp, SIZE, MIB, TIB, false, 256 * MIB, "256M", SESSION_LIMIT_REPORTED,   \
      "size of /tmp")                                                          \
    X(shm, SIZE, MIB, TIB, false, 256 * MIB, "256M", SESSION_LIMIT_REPORTED,   \
      "size of /dev/shm")                                                      \
    X(workspace_bytes, SIZE, MIB, 1024 * TIB, true, 0, "0",                    \
      SESSION_LIMIT_SILENT,                                                    \
      "disk that a session's workspace may take; 0 no limit")                  \
    X(workspace_files, NUMBER, 1, UINT32_MAX, true, 0, "0",                    \
      SESSION_LIMIT_SILENT,                                                    \
      "files and folders in a session's workspace; 0 no limit")                \
    X(cell_output, SIZE, KIB, 1024 * TIB, true, 1 * GIB, "1G",                 \
      SESSION_LIMIT_SILENT, "output of one cell; 0 no limit")                  \
    X(cell_messages, NUMBER, 1, UINT32_MAX, true, 1000000, "1000000",          \
      SESSION_LIMIT_SILENT,                                                    \
      "messages that the output of one cell may be; 0 no limit")               \
    X(session_output, SIZE, KIB, 1024 * TIB, true, 64 * GIB, "64G",            \
      SESSION_LIMIT_SILENT, "output of all cells of one kernel; 0 no limit")   \
    X(session_messages, NUMBER, 1, UINT32_MAX, true, 100000000, "100000000",   \
      SESSION_LIMIT_SILENT,                                                    \
      "messages that the output of all cells of one kernel may be; "           \
      "0 no limit")                                                            \
    X(retain, SIZE, MIB, 64 * GIB, false, 64 * MIB, "64M",                     \
      SESSION_LIMIT_SILENT,                                                    \
      "output that a kernel keeps for a gateway to come back")                 \
    X(requests, NUMBER, 1, 1u << 20, false, 10000, "10000",                    \
      SESSION_LIMIT_COUNTED, "requests that wait in a session")                \
    X(requests_bytes, SIZE, 64 * KIB, 64 * GIB, false, 256 * MIB, "256M",      \
      SESSION_LIMIT_COUNTED,                                                   \
      "memory that requests may take that wait in a session")                  \
    X(tool_calls, NUMBER, 1, UINT32_MAX, false, 100, "100",                    \
      SESSION_LIMIT_COUNTED, "calls of host tools that one cell may make")     \
    X(tool_waiting, NUMBER, 1, 4096, false, 128, "128",                        \
      SESSION_LIMIT_COUNTED, "calls of host tools that wait at a time")        \
    X(tool_argument_bytes, SIZE, KIB, GIB, false, 8 * MIB, "8M",               \
      SESSION_LIMIT_COUNTED, "arguments of the host tools that one cell calls")\
    X(tool_result_bytes, SIZE, KIB, GIB, false, 16 * MIB, "16M",               \
      SESSION_LIMIT_COUNTED, "results of the host tools that one cell calls")  \
    X(tool_seconds, NUMBER, 1, 86400, false, 60, "60", SESSION_LIMIT_COUNTED,  \
      "seconds in which a host tool must answer")                              \
    X(journal_bytes, SIZE, 64 * KIB, TIB, true, 1 * GIB, "1G",                 \
      SESSION_LIMIT_COUNTED,                                                   \
      "disk that a session's journal may take; 0 no bound")
/* clang-format on */

/* How hearth learns that a session reached a limit. All but SILENT are counted
 * in hearth_limits_hit_total. */
typedef enum {
    SESSION_LIMIT_SILENT,
    SESSION_LIMIT_COUNTED,
    SESSION_LIMIT_REPORTED,
} session_limit_reached_t;

enum {
#define X(name, kind, min, max, zero, number, text, reached, help)             \
    SESSION_LIMIT_INDEX_##name,
    SESSION_LIMITS(X)
#undef X
    SESSION_LIMIT_COUNT
};

typedef struct {
    const char *name; /* below profile/<name>/limits/ */
    session_limit_reached_t reached;
} session_limit_t;

/* The rows above, in their order. */
extern const session_limit_t session_limits[SESSION_LIMIT_COUNT];

#endif
