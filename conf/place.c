/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which file and line a place is, see settings.h. */
#include <stdio.h>

#include "conf/settings.h"

enum { LINE_MASK = (1 << CONF_PLACE_BITS) - 1 };

bool conf_place_same_file(unsigned a, unsigned b)
{
    return a >> CONF_PLACE_BITS == b >> CONF_PLACE_BITS;
}

void conf_place_add(const struct conf_origin *origin, unsigned place, struct buf *out)
{
    buf_add_str(out, origin->files[place >> CONF_PLACE_BITS]);
    if (place & LINE_MASK)
        buf_add_fmt(out, ":%u", place & LINE_MASK);
}

const char *conf_place_seen(const struct conf_origin *origin, unsigned place, unsigned from,
                            char out[CONF_SEEN_MAX])
{
    const char *file = origin->files[place >> CONF_PLACE_BITS];

    if (conf_place_same_file(place, from))
        (void)snprintf(out, CONF_SEEN_MAX, "on line %u", place & LINE_MASK);
    else if (place & LINE_MASK)
        (void)snprintf(out, CONF_SEEN_MAX, "in %.128s:%u", file, place & LINE_MASK);
    else
        (void)snprintf(out, CONF_SEEN_MAX, "in %.128s", file);
    return out;
}
