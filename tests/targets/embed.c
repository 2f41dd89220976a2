/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.c - a program of its own name that runs a Python script: SCRIPT [ARGUMENT...].
 *
 * Compiled by tests/integration/test_programs.py, which defines PROGRAM as where the
 * interpreter is that finds the standard library.
 */
#include <Python.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    wchar_t *words[16];
    FILE *script = argc > 1 ? fopen(argv[1], "r") : NULL;
    int i, status;

    if (!script || argc > 16)
        return 2;
    for (i = 1; i < argc; i++)
        words[i - 1] = Py_DecodeLocale(argv[i], NULL);
    Py_SetProgramName(Py_DecodeLocale(PROGRAM, NULL));
    Py_Initialize();
    PySys_SetArgvEx(argc - 1, words, 0);
    status = PyRun_SimpleFile(script, argv[1]);
    Py_Finalize();
    return status != 0;
}
