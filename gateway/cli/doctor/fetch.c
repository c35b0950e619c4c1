/* Checks the download of files and repositories for hearth doctor: for each
 * profile with fetch/allow, whether the folder can be used, whether the
 * certificates of hosts can be verified, and whether there is git. */
#include "gateway/cli/doctor/fetch.h"

#include "base/buffer.h"
#include "gateway/cli/doctor/walls.h"
#include "gateway/cli/doctor/worker_folder.h"

#include <sys/stat.h>
#include <unistd.h>

/* The workers are in Python and have these places once more:
 * tests/checks/test_places.py compares the two. */

#define NAME_MAX_SIZE 48

/* Returns true if the worker, which has the zygotes' user, can read the file.
 */
static bool is_readable(const options_t *options, const char *path)
{
    const uid_t worker = doctor_zygote_user(options);
    struct stat about;

    if (stat(path, &about) < 0 || !S_ISREG(about.st_mode))
        return false;
    return worker == geteuid()
               ? access(path, R_OK) == 0
               : about.st_mode & (about.st_uid == worker ? S_IRUSR : S_IROTH);
}

/* Returns the file of CAs that the worker would use, borrowed; NULL if it can
 * read no such file. The worker looks in the same places. */
static const char *find_certificates(const options_t *options)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
        "/etc/ssl/cert.pem",                  /* Alpine */
    };

    if (options->fetch.ca_file)
        return is_readable(options, options->fetch.ca_file)
                   ? options->fetch.ca_file
                   : NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (is_readable(options, places[i]))
            return places[i];
    return NULL;
}

/* Returns the path of the git that the worker would run; NULL if this machine
 * has no git that it can run. The worker looks in the same places. */
static const char *find_git(void)
{
    static const char *const places[] = {"/usr/local/bin/git", "/usr/bin/git",
                                         "/bin/git"};
    struct stat about;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (stat(places[i], &about) == 0 && S_ISREG(about.st_mode)
            && about.st_mode & S_IXOTH)
            return places[i];
    return NULL;
}

static void check_profile(report_t *report, const profile_t *profile)
{
    const options_t *options = report->options;
    cleanup_free char *name =
        mem_format("fetch %.*s", NAME_MAX_SIZE, profile->name);
    const char *certificates = find_certificates(options);
    fault_t fault;

    if (doctor_check_folder(options, "fetch/dir", options->fetch.dir, &fault)
        < 0)
        doctor_add(report, name, FOUND_MISSING,
                   "fetch/dir in hearth.cfg(5), or no "
                   "profile/<name>/fetch/allow",
                   "%s", fault.text);
    else if (!certificates && options->fetch.ca_file)
        doctor_add(report, name, FOUND_LACKS,
                   "fetch/ca_file in hearth.cfg(5) is the path of a PEM file",
                   "%s is not a file that user %u, who runs downloads, can "
                   "read, so no file is fetched by https",
                   options->fetch.ca_file, doctor_zygote_user(options));
    else if (!certificates)
        doctor_add(report, name, FOUND_LACKS,
                   "install ca-certificates, or name a PEM file by "
                   "fetch/ca_file in hearth.cfg(5)",
                   "the system has no certificates of CAs, so no file is "
                   "fetched by https");
    else if (!find_git())
        doctor_add(report, name, FOUND_LACKS, "install git",
                   "there is no git in /usr/local/bin, /usr/bin or /bin, so no "
                   "repository is cloned");
    else
        doctor_add(report, name, FOUND_OK, "",
                   "in %s, with the CAs of %s, and %s", options->fetch.dir,
                   certificates, find_git());
}

void doctor_check_fetch(report_t *report)
{
    for (size_t i = 0; i < report->options->profile_count; i++)
        if (report->options->profiles[i]->fetch.allow[0])
            check_profile(report, report->options->profiles[i]);
}
