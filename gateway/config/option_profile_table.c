/* The keys of a profile; see option_table.c for what a row says. */
#include "gateway/config/option_table.h"

#include "kernels/profile.h"

#include <stdint.h>

/* clang-format off */
#define AT(member) offsetof(profile_t, member)
const option_value_t option_profile_rows[] = {
    {.key = OF_PROFILE "display_name", .kind = VALUE_TEXT,
     .offset = AT(display_name), .initial = "Python 3 (hearth)",
     .help = "name that people see"},
    {.key = OF_PROFILE "python", .kind = VALUE_PROGRAM, .offset = AT(python),
     .initial = "", .help = "the interpreter"},
    {.key = OF_PROFILE "preload", .kind = VALUE_MODULES, .offset = AT(preload),
     .initial = "numpy, pandas, matplotlib.pyplot",
     .help = "modules that are imported in advance"},
    {.key = OF_PROFILE "readonly", .kind = VALUE_FOLDERS, .offset = AT(readonly),
     .initial = "",
     .help = "more folders that sessions can read, for example data"},
    {.key = OF_PROFILE "mount", .kind = VALUE_MOUNTS, .offset = AT(mount),
     .initial = "",
     .help = "more folders that sessions can read, at other paths: "
             "SOURCE:TARGET"},
    {.key = OF_PROFILE "network", .kind = VALUE_CHOICE, .offset = AT(network),
     .words = "none|loopback", .initial = "none",
     .help = "network of a session"},
    {.key = OF_PROFILE "fresh", .kind = VALUE_SWITCH, .offset = AT(is_fresh),
     .initial = "no",
     .help = "whether each session starts its own interpreter, by exec"},
    {.key = OF_PROFILE "notebook_folder", .kind = VALUE_SWITCH,
     .offset = AT(gives_folder), .initial = "no",
     .help = "whether the workspace of `hearth kernel` is its current folder"},
    {.key = OF_PROFILE "isolation", .kind = VALUE_CHOICE,
     .offset = AT(isolation), .words = "namespaces", .initial = "namespaces",
     .help = "mechanism that isolates sessions"},
    {.key = OF_PROFILE "tools/enabled", .kind = VALUE_SWITCH,
     .offset = AT(gives_tools), .initial = "yes",
     .help = "whether code in a session may call host tools"},
    {.key = OF_PROFILE "tools/allow", .kind = VALUE_TOOLS, .offset = AT(tools),
     .initial = "",
     .help = "the only host tools that may be registered; x* is all that "
             "begin so"},
    {.key = OF_PROFILE "tools/servers", .kind = VALUE_PATH,
     .offset = AT(tool_servers), .initial = "",
     .help = "file of MCP servers whose tools each session has"},
    {.key = OF_PROFILE "zygote_forks", .kind = VALUE_NUMBER,
     .offset = AT(zygote_forks), .min = 1, .max = 1u << 30, .has_zero = true,
     .initial = "1000",
     .help = "sessions of one zygote, which share its memory layout; 0 no "
             "limit", .is_reread = true},
    {.key = OF_PROFILE "zygote_age", .kind = VALUE_DURATION,
     .offset = AT(zygote_age_ms), .min = 1000, .max = 365 * DAY,
     .has_zero = true, .initial = "24h",
     .help = "age at which a zygote is replaced; 0 never", .is_reread = true},
    {.key = OF_PROFILE "accept", .kind = VALUE_NAMES, .offset = AT(accept),
     .initial = "", .help = "walls that this machine may lack"},
    {.key = OF_PROFILE "without", .kind = VALUE_NAMES, .offset = AT(without),
     .initial = "", .help = "accepted walls that are left out, for tests"},
    {.key = OF_PROFILE "seed", .kind = VALUE_PATH, .offset = AT(seed),
     .initial = "", .help = "notebook whose cells each new kernel runs first"},
    {.key = OF_PROFILE "seed_timeout", .kind = VALUE_DURATION,
     .offset = AT(seed_ms), .min = 100, .max = HOUR, .initial = "60s",
     .help = "time limit of the seed's cells together"},
    {.key = OF_PROFILE "pool/min", .kind = VALUE_NUMBER, .offset = AT(pool.min),
     .min = 1, .max = 1000, .has_zero = true, .initial = "1",
     .help = "minimum of sessions that wait in the pool", .is_reread = true},
    {.key = OF_PROFILE "pool/max", .kind = VALUE_NUMBER, .offset = AT(pool.max),
     .min = 1, .max = 1000, .has_zero = true, .initial = "8",
     .help = "maximum of sessions that wait in the pool; 0 no pool",
     .is_reread = true},
    {.key = OF_PROFILE "pool/max_age", .kind = VALUE_DURATION,
     .offset = AT(pool.max_age_ms), .min = 1000, .max = 365 * DAY,
     .has_zero = true, .initial = "30m",
     .help = "age at which a session in the pool is replaced; 0 never",
     .is_reread = true},
    {.key = OF_PROFILE "policy/refuse_imports", .kind = VALUE_MODULES,
     .offset = AT(policy.refuse_imports), .initial = "",
     .help = "modules that a cell may not import"},
    {.key = OF_PROFILE "policy/allow_imports", .kind = VALUE_MODULES,
     .offset = AT(policy.allow_imports), .initial = "",
     .help = "the only modules that a cell may import"},
    {.key = OF_PROFILE "policy/refuse_calls", .kind = VALUE_MODULES,
     .offset = AT(policy.refuse_calls), .initial = "",
     .help = "functions that a cell may not call"},
    {.key = OF_PROFILE "policy/refuse_magics", .kind = VALUE_MODULES,
     .offset = AT(policy.refuse_magics), .initial = "",
     .help = "magics that a cell may not use"},
    {.key = OF_PROFILE "packages/index", .kind = VALUE_URL,
     .offset = AT(packages.index), .initial = "",
     .help = "index that packages for sessions come from; empty: no packages"},
    {.key = OF_PROFILE "packages/hosts", .kind = VALUE_HOSTS,
     .offset = AT(packages.hosts), .initial = "files.pythonhosted.org",
     .help = "hosts besides the index's that files of packages may come from"},
    {.key = OF_PROFILE "packages/allow", .kind = VALUE_PACKAGES,
     .offset = AT(packages.allow), .initial = "",
     .help = "the only packages that a session may get; x* is all that begin "
             "so"},
    {.key = OF_PROFILE "packages/deny", .kind = VALUE_PACKAGES,
     .offset = AT(packages.deny), .initial = "",
     .help = "packages that no session gets; x* is all that begin so"},
    {.key = OF_PROFILE "packages/cooldown", .kind = VALUE_DURATION,
     .offset = AT(packages.cooldown_ms), .min = 1000, .max = 3650 * DAY,
     .has_zero = true, .initial = "7d",
     .help = "age that a file must have on the index; 0 any"},
    {.key = OF_PROFILE "packages/max_bytes", .kind = VALUE_SIZE,
     .offset = AT(packages.max_bytes), .min = 64 * KIB, .max = TIB,
     .initial = "1G", .help = "disk space for the packages of a session"},
    {.key = OF_PROFILE "packages/max_files", .kind = VALUE_NUMBER,
     .offset = AT(packages.max_files), .min = 1, .max = 100000000,
     .initial = "100000", .help = "how many files a session's packages have"},
#define X(name, value, lowest, highest, zero, number, text, reached, sentence) \
    {.key = OF_PROFILE "limits/" #name, .kind = VALUE_##value,                  \
     .offset = AT(limits.name), .min = lowest, .max = highest,                 \
     .has_zero = zero, .initial = text, .help = sentence, .is_reread = true},
    SESSION_LIMITS(X)
#undef X
    /* clang-format on */
};

const size_t option_profile_row_count =
    sizeof option_profile_rows / sizeof *option_profile_rows;
