/* See lent_folder.h. Where sessions have users of their own, a folder gives
 * them its rights for others, so its mode is checked. */
#include "gateway/cli/client/lent_folder.h"

#include "notebooks/json/member.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void lent_folder_warn(const json_t *session, const char *folder)
{
    uid_t user = (uid_t) member_number(session, "host_uid", geteuid());
    struct stat about;

    if (user == geteuid() || stat(folder, &about) < 0 || about.st_uid == user
        || (about.st_mode & S_IRWXO) == S_IRWXO)
        return;
    fprintf(stderr,
            "hearth: in %s the session's user, %u, has the rights of others: "
            "the mode is %o; chmod o+rwx lets it write there\n",
            folder, (unsigned) user, (unsigned) about.st_mode & 07777);
}
