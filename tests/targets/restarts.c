/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restarts.c - a program that begins and ends a Python runtime several times: LIBPYTHON STEPS.
 *
 * In each it prints {"pid", "func"} from a function of another name, and goes on with each byte
 * that it reads. Compiled by tests/integration/test_reuse.py.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char script[] =
    "import json, os\n"
    "def made_%d():\n"
    "    os.write(1, json.dumps({'pid': os.getpid(), 'func': 'made_%d'}).encode() + b'\\n')\n"
    "    os.read(0, 1)\n"
    "made_%d()\n";

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void (*begin)(void);
    int (*run)(const char *), (*end)(void);
    char text[sizeof(script) + 64];

    if (!library)
        return 2;
    *(void **)&begin = dlsym(library, "Py_Initialize");
    *(void **)&run = dlsym(library, "PyRun_SimpleString");
    *(void **)&end = dlsym(library, "Py_FinalizeEx");
    if (!begin || !run || !end)
        return 2;
    for (int step = 0; step < atoi(argv[2]); step++) {
        (void)snprintf(text, sizeof(text), script, step % 10, step % 10, step % 10);
        begin();
        if (run(text) != 0 || end() != 0)
            return 1;
    }
    return 0;
}
