/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.c - a program of its own name that runs a Python script: SCRIPT [ARGUMENT...].
 *
 * Compiled by tests/integration/test_programs.py, which defines PROGRAM as where the
 * interpreter is that finds the standard library. With IN_THREAD Python begins in a thread that is
 * not the process's first, as in hosts that are written in Java, C++, Rust or Go.
 */
#include <Python.h>
#include <pthread.h>
#include <stdio.h>

static int argument_count;
static char **arguments;

static void *run(void *status)
{
    wchar_t *words[16];
    FILE *script = argument_count > 1 ? fopen(arguments[1], "r") : NULL;
    int i;

    *(int *)status = 2;
    if (!script || argument_count > 16)
        return NULL;
    for (i = 1; i < argument_count; i++)
        words[i - 1] = Py_DecodeLocale(arguments[i], NULL);
    Py_SetProgramName(Py_DecodeLocale(PROGRAM, NULL));
    Py_Initialize();
    PySys_SetArgvEx(argument_count - 1, words, 0);
    *(int *)status = PyRun_SimpleFile(script, arguments[1]) != 0;
    Py_Finalize();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 2;

    argument_count = argc;
    arguments = argv;
#ifdef IN_THREAD
    if (pthread_create(&thread, NULL, run, &status) == 0)
        (void)pthread_join(thread, NULL);
#else
    (void)thread;
    run(&status);
#endif
    return status;
}
