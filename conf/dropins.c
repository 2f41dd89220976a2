/* SPDX-License-Identifier: Apache-2.0 */
/* dropins.c - the files of the folder conf.d beside the main one, see conf.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/settings.h"

enum { DROP_INS_MAX = 256, PATH_ROOM = 4096 };

/* "NAME.ini" that is not hidden: editors and package managers leave others behind. */
static int is_drop_in(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name);

    return entry->d_name[0] != '.' && size > 4 && strcmp(entry->d_name + size - 4, ".ini") == 0;
}

/* By bytes: the order must not depend on a locale. */
static int compare_dropin_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum conf_rc read_dropin(struct conf_build *build, const char *path)
{
    struct err err;
    struct buf text;
    enum conf_rc rc;

    conf_build_file(build, path);
    buf_init(&text, CONF_TEXT_MAX);
    rc = conf_file_read(path, &text, &err);
    if (rc == CONF_BAD)
        conf_errors_add(&build->errors, build->file, "%s", err.text);
    else if (rc == CONF_OK)
        rc = conf_build_text(build, buf_text(&text), text.size);
    buf_finish(&text);
    return rc == CONF_NOMEM ? rc : CONF_OK;
}

/* Reads what scandir found; the mistakes of one file do not hide those of another. */
static enum conf_rc read_found(struct conf_build *build, const char *folder,
                               struct dirent *const *found, int count)
{
    char path[PATH_ROOM];
    enum conf_rc rc = CONF_OK;

    if (count > DROP_INS_MAX) {
        conf_build_file(build, folder);
        conf_errors_add(&build->errors, build->file, "has %d files; allowed: up to %d", count,
                        DROP_INS_MAX);
        return CONF_OK;
    }
    for (int i = 0; i < count && rc == CONF_OK; i++) {
        if (snprintf(path, sizeof(path), "%s/%s", folder, found[i]->d_name) < PATH_ROOM)
            rc = read_dropin(build, path);
        else
            conf_errors_add(&build->errors, build->file, "the path of %.64s is too long",
                            found[i]->d_name);
    }
    return rc;
}

enum conf_rc conf_build_drop_ins(struct conf_build *build, const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_ROOM];
    struct dirent **found = NULL;
    enum conf_rc rc;
    int count;

    if (snprintf(folder, sizeof(folder), "%.*sconf.d", slash ? (int)(slash + 1 - path) : 0, path) >=
        PATH_ROOM)
        return CONF_OK; /* the main file could not be opened either */
    count = scandir(folder, &found, is_drop_in, compare_dropin_names);
    if (count < 0 && errno == ENOMEM)
        return CONF_NOMEM;
    if (count < 0) {
        if (errno != ENOENT) {
            int why = errno;

            conf_build_file(build, folder);
            conf_errors_add(&build->errors, build->file, "cannot be read: %s", strerror(why));
        }
        return CONF_OK;
    }
    rc = read_found(build, folder, found, count);
    while (count > 0)
        free(found[--count]);
    free(found);
    return rc;
}
