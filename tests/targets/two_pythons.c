/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_pythons.c - a program that holds two Pythons at once: LIBPYTHON HOME LIBPYTHON HOME.
 *
 * Prints {"pid"} when both are up; ends when its standard input does. Compiled by
 * tests/integration/test_programs.py.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char wait_for_the_end[] = "import posix\n"
                                       "posix.write(1, b'{\"pid\": %d}\\n' % posix.getpid())\n"
                                       "posix.read(0, 1)\n";

/* Begins one, which needs no extension modules: those would look for its symbols elsewhere. */
static void *begin(const char *library, const char *home)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void (*initialize)(void);
    int *no_site;

    if (!handle || setenv("PYTHONHOME", home, 1) != 0)
        exit(2);
    no_site = dlsym(handle, "Py_NoSiteFlag");
    *(void **)&initialize = dlsym(handle, "Py_Initialize");
    if (!no_site || !initialize)
        exit(3);
    *no_site = 1;
    initialize();
    return handle;
}

int main(int argc, char **argv)
{
    int (*run)(const char *);
    void *second;

    if (argc != 5)
        return 2;
    (void)begin(argv[1], argv[2]);
    second = begin(argv[3], argv[4]);
    *(void **)&run = dlsym(second, "PyRun_SimpleString");
    return run ? run(wait_for_the_end) : 3;
}
