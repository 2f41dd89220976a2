/* SPDX-License-Identifier: Apache-2.0 */
/* threading.h - the threading module of a fake interpreter (3.13 and later), and its threads. */
#ifndef TESTS_UNIT_UNWIND_THREADING_H
#define TESTS_UNIT_UNWIND_THREADING_H

#include "tests/fakes/fake_process.h"

enum { THREADING_NAME = TYPE_BASICSIZE + 8 + 8 }; /* of a Thread object: where its name is kept */

/* The class of Thread objects, which have their attributes inline. */
static inline cpy_addr threading_class(struct fake *fake)
{
    const struct fake_item keys[] = {{fake_str(fake, "_target"), 0}, {fake_str(fake, "_name"), 0}};

    return fake_class(fake, TYPE_MANAGED_DICT | TYPE_INLINE_VALUES, -1,
                      fake_keys(fake, KEYS_SPLIT, keys, 2));
}

static inline cpy_addr threading_thread(struct fake *fake, cpy_addr type, const char *name)
{
    cpy_addr thread = fake_instance(fake, type);

    fake_put8(fake, thread + TYPE_BASICSIZE + 3, 1);
    fake_put64(fake, thread + THREADING_NAME, fake_str(fake, name));
    return thread;
}

/* Sets interp.modules["threading"]; gives where the module's variable _active is. */
static inline cpy_addr threading_import(struct fake *fake, cpy_addr interp)
{
    struct fake_item active = {fake_str(fake, "_active"), 1}, module;
    cpy_addr keys = fake_keys(fake, KEYS_UNICODE, &active, 1), dict = fake_room(fake, 64), modules;

    fake_put64(fake, dict + fake->layout.dict.ma_keys, keys);
    module = (struct fake_item){fake_str(fake, "threading"),
                                fake_instance(fake, fake_class(fake, 0, 16, 0))};
    fake_put64(fake, module.value + 16, dict);
    modules = fake_dict(fake, KEYS_UNICODE, &module, 1);
    fake_put64(fake, interp + fake->layout.interp.modules, modules);
    return keys + 32 + 8 + 8; /* head, hash table, key */
}

#endif
