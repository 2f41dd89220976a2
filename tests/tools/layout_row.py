#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a CPython's own headers say of its layout, in the form of a row of unwind/layouts/layouts.c.

    layout_row.py 3.12 [--free-threaded]            the first such Python that tests/setup/pythons.py finds
    layout_row.py /usr/bin/python3.12               any Python with its headers

Compiles a C program against them (Py_BUILD_CORE) and runs it. For 3.13 and later it prints what
_Py_DebugOffsets does not say: a row of `undescribed_fields`; with --free-threaded what it would be
without the GIL. Headers do not tell how a version behaves: chain_end, attributes, keys, lines,
and where 3.11 and 3.12 keep a managed dict (dict.managed).
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "setup"))
import pythons  # noqa: E402

NEWEST = 99
FIRST_WITH_OFFSETS = 13  # from here on _Py_DebugOffsets tells the most

# A field of struct layout: first and last minor version, type and member, or (without a member)
# any expression.
FIELDS = [
    ("runtime.interpreters_head", 7, 12, "_PyRuntimeState", "interpreters.head"),
    ("runtime.main_thread", 7, 7, "_PyRuntimeState", "ceval.pending.main_thread"),
    ("runtime.main_thread", 8, 12, "_PyRuntimeState", "main_thread"),
    ("runtime.finalizing", 7, 8, "_PyRuntimeState", "finalizing"),
    ("runtime.finalizing", 9, 12, "_PyRuntimeState", "_finalizing"),
    ("runtime.tstate_current", 7, 11, "_PyRuntimeState", "gilstate.tstate_current"),
    ("runtime.collecting", 7, 8, "_PyRuntimeState", "gc.collecting"),
    ("interp.size", 6, 12, "sizeof(PyInterpreterState)", None),
    ("interp.next", 6, 12, "PyInterpreterState", "next"),
    ("interp.id", 7, 12, "PyInterpreterState", "id"),
    ("interp.threads_head", 6, 10, "PyInterpreterState", "tstate_head"),
    ("interp.threads_head", 11, 12, "PyInterpreterState", "threads.head"),
    ("interp.threads_main", 13, 13, "PyInterpreterState", "threads.main"),
    ("interp.modules", 6, 11, "PyInterpreterState", "modules"),
    ("interp.modules", 12, 12, "PyInterpreterState", "imports.modules"),
    ("interp.gil", 12, 12, "PyInterpreterState", "ceval.gil"),
    ("interp.collecting", 9, 12, "PyInterpreterState", "gc.collecting"),
    ("gil.last_holder", 12, 12, "struct _gil_runtime_state", "last_holder"),
    ("gil.locked", 12, 12, "struct _gil_runtime_state", "locked"),
    ("thread.size", 6, 12, "sizeof(PyThreadState)", None),
    ("thread.next", 6, 12, "PyThreadState", "next"),
    ("thread.interp", 6, 12, "PyThreadState", "interp"),
    ("thread.current_frame", 6, 10, "PyThreadState", "frame"),
    ("thread.cframe", 11, 12, "PyThreadState", "cframe"),
    ("thread.status", 12, 12, "PyThreadState", "_status"),
    ("thread.thread_id", 6, 12, "PyThreadState", "thread_id"),
    ("thread.native_thread_id", 11, 12, "PyThreadState", "native_thread_id"),
    ("thread.datastack_chunk", 11, 12, "PyThreadState", "datastack_chunk"),
    ("thread.current_exception", 6, 11, "PyThreadState", "curexc_type"),
    ("thread.current_exception", 12, 14, "PyThreadState", "current_exception"),
    ("thread.exc_info", 7, NEWEST, "PyThreadState", "exc_info"),
    ("thread.exc_value", 6, 6, "PyThreadState", "exc_value"),
    ("thread.exc_value", 7, NEWEST, "_PyErr_StackItem", "exc_value"),
    ("cframe.current_frame", 11, 12, "_PyCFrame", "current_frame"),
    ("frame.size", 6, 10, "PyFrameObject", "f_localsplus"),
    ("frame.size", 11, 12, "_PyInterpreterFrame", "localsplus"),
    ("frame.executable", 6, 10, "PyFrameObject", "f_code"),
    ("frame.executable", 11, 12, "_PyInterpreterFrame", "f_code"),
    ("frame.previous", 6, 10, "PyFrameObject", "f_back"),
    ("frame.previous", 11, 12, "_PyInterpreterFrame", "previous"),
    ("frame.instr", 6, 10, "PyFrameObject", "f_lasti"),
    ("frame.instr", 11, 12, "_PyInterpreterFrame", "prev_instr"),
    ("frame.owner", 11, 12, "_PyInterpreterFrame", "owner"),
    ("frame.is_entry", 11, 11, "_PyInterpreterFrame", "is_entry"),
    ("code.size", 6, 12, "sizeof(PyCodeObject)", None),
    ("code.filename", 6, 12, "PyCodeObject", "co_filename"),
    ("code.qualname", 6, 10, "PyCodeObject", "co_name"),
    ("code.qualname", 11, 12, "PyCodeObject", "co_qualname"),
    ("code.linetable", 6, 9, "PyCodeObject", "co_lnotab"),
    ("code.linetable", 10, 12, "PyCodeObject", "co_linetable"),
    ("code.firstlineno", 6, 12, "PyCodeObject", "co_firstlineno"),
    ("code.firsttraceable", 11, NEWEST, "PyCodeObject", "_co_firsttraceable"),
    ("code.version", 12, 13, "PyCodeObject", "co_version"),
    ("code.bytecode", 11, 12, "PyCodeObject", "co_code_adaptive"),
    ("code.co_code", 6, 10, "PyCodeObject", "co_code"),
    ("code.monitoring", 12, 12, "PyCodeObject", "_co_monitoring"),
    ("monitoring.lines", 12, 12, "_PyCoMonitoringData", "lines"),
    ("monitoring.per_instruction_opcodes", 12, 12, "_PyCoMonitoringData", "per_instruction_opcodes"),
    ("object.ob_type", 6, 12, "PyObject", "ob_type"),
    ("object.ob_size", 6, 12, "PyVarObject", "ob_size"),
    ("type.tp_name", 6, 12, "PyTypeObject", "tp_name"),
    ("type.tp_flags", 6, 12, "PyTypeObject", "tp_flags"),
    ("type.tp_basicsize", 6, 14, "PyTypeObject", "tp_basicsize"),
    ("type.tp_dictoffset", 6, 14, "PyTypeObject", "tp_dictoffset"),
    ("type.ht_cached_keys", 6, 14, "PyHeapTypeObject", "ht_cached_keys"),
    ("unicode.length", 6, 12, "PyASCIIObject", "length"),
    ("unicode.state", 6, 12, "PyASCIIObject", "state"),
    ("unicode.ascii_data", 6, 12, "sizeof(PyASCIIObject)", None),
    ("unicode.compact_data", 6, NEWEST, "sizeof(PyCompactUnicodeObject)", None),
    ("unicode.kind_shift", 6, NEWEST, "__builtin_ctz(BITS_OF(PyASCIIObject, state, kind))", None),
    ("unicode.compact", 6, NEWEST, "BITS_OF(PyASCIIObject, state, compact)", None),
    ("unicode.ascii", 6, NEWEST, "BITS_OF(PyASCIIObject, state, ascii)", None),
    ("bytes.ob_sval", 6, 12, "PyBytesObject", "ob_sval"),
    ("integer.tag", 6, 11, "PyLongObject", "ob_base.ob_size"),
    ("integer.tag", 12, 12, "PyLongObject", "long_value.lv_tag"),
    ("integer.digit", 6, 11, "PyLongObject", "ob_digit"),
    ("integer.digit", 12, 12, "PyLongObject", "long_value.ob_digit"),
    ("dict.ma_keys", 6, 12, "PyDictObject", "ma_keys"),
    ("dict.ma_values", 6, 12, "PyDictObject", "ma_values"),
    ("dict.values_skip", 11, NEWEST, "struct _dictvalues", "values"),
    ("dict.managed", 13, NEWEST, "-MANAGED_DICT_OFFSET", None),
    ("shim_owner", 12, 13, "FRAME_OWNED_BY_CSTACK", None),
    ("shim_owner", 14, NEWEST, "FRAME_OWNED_BY_INTERPRETER", None),
    ("generator_owner", 11, NEWEST, "FRAME_OWNED_BY_GENERATOR", None),
    ("status_bound", 12, NEWEST, "BITS_OF(PyThreadState, _status, bound)", None),
    ("status_cleared", 12, NEWEST, "BITS_OF(PyThreadState, _status, cleared)", None),
]
FREE_THREADED_FIELDS = [("gil.enabled", 13, NEWEST, "struct _gil_runtime_state", "enabled")]

HEADERS = [
    ("Python.h", 6, NEWEST), ("frameobject.h", 6, 10), ("longintrepr.h", 6, 10),
    ("internal/pystate.h", 7, 7), ("internal/pycore_pystate.h", 8, 8),
    ("internal/pycore_runtime.h", 9, NEWEST), ("internal/pycore_interp.h", 9, NEWEST),
    ("internal/pycore_frame.h", 11, NEWEST), ("internal/pycore_dict.h", 11, NEWEST),
    ("internal/pycore_object.h", 12, NEWEST), ("internal/pycore_interpframe.h", 14, NEWEST),
    ("internal/pycore_gil.h", 12, NEWEST),
]

# The bits of the word `part` that its bit field `field` takes.
BITS_OF = """\
#define BITS_OF(type, part, field) \\
    ({ type all_; unsigned int bits_; memset(&all_, 0, sizeof(all_)); \\
       all_.part.field = (unsigned int)-1; memcpy(&bits_, &all_.part, sizeof(bits_)); bits_; })
"""

PROBE = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_path('include'))"


def program(minor, free_threaded):
    """The text of the C program for that version."""
    lines = ["#define Py_BUILD_CORE 1"]
    lines += ["#include <%s>" % name for name, first, last in HEADERS if first <= minor <= last]
    lines += ["#include <stddef.h>", "#include <stdio.h>", "#include <string.h>", BITS_OF, "int main(void)", "{"]
    for name, first, last, what, member in FIELDS + (FREE_THREADED_FIELDS if free_threaded else []):
        if first <= minor <= last:
            value = "offsetof(%s, %s)" % (what, member) if member else what
            lines.append('    printf("    .%s = %%ld,\\n", (long)(%s));' % (name, value))
    return "\n".join(lines + ["    return 0;", "}", ""])


def headers_of(python):
    """Gives (minor, include folder as seen from outside) of an entry of pythons.py; None without headers."""
    command = [python["inner"], "-I", "-c", PROBE]
    if python["root"]:
        command = pythons.roots.as_root() + ["chroot", python["root"]] + command
    minor, folder = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().split(None, 1)
    folder = python["root"] + folder.strip()
    last = "Python.h" if minor == "6" else "internal"  # 3.6 has no internal headers
    return (int(minor), folder) if os.path.exists(os.path.join(folder, last)) else None


def row_of(minor, include, free_threaded=False):
    """The lines that the compiled program prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, exe = os.path.join(folder, "row.c"), os.path.join(folder, "row")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(minor, free_threaded))
        # Debian's pyconfig.h includes a file beside the include folder.
        words = [os.environ.get("CC", "cc"), "-w", "-std=gnu11", "-I" + include, "-I" + include + "/internal",
                 "-idirafter", os.path.dirname(include), "-o", exe, source]
        words += ["-DPy_GIL_DISABLED=1"] if free_threaded else []
        subprocess.run(words, check=True)
        return subprocess.run([exe], stdout=subprocess.PIPE, check=True).stdout.decode()


def find(word):
    """The entry that a version or a path means."""
    if "/" in word:
        return {"inner": word, "root": ""}
    for python in pythons.find()[0]:
        if python["version"].startswith(word + ".") and headers_of(python):
            return python
    return sys.exit("layout_row.py: there is no Python %s with headers" % word)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="a version or a path")
    parser.add_argument("--free-threaded", action="store_true")
    args = parser.parse_args()

    found = headers_of(find(args.python))
    if not found:
        sys.exit("layout_row.py: %s has no headers" % args.python)
    minor, include = found
    print("    .major = 3,\n    .minor = %d," % minor)
    sys.stdout.write(row_of(minor, include, args.free_threaded))


if __name__ == "__main__":
    main()
