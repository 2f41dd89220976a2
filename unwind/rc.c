/* SPDX-License-Identifier: Apache-2.0 */
/* rc.c - the labels and texts of the outcomes in cpy.h. */
#include "unwind/cpy.h"

const char *cpy_rc_label(enum cpy_rc rc)
{
    switch (rc) {
#define CPY_LABEL(name, label, text) \
    case CPY_##name:                 \
        return label;
        CPY_OUTCOMES(CPY_LABEL)
#undef CPY_LABEL
    }
    return "unknown";
}

const char *cpy_rc_text(enum cpy_rc rc)
{
    switch (rc) {
#define CPY_TEXT(name, label, text) \
    case CPY_##name:                \
        return text;
        CPY_OUTCOMES(CPY_TEXT)
#undef CPY_TEXT
    }
    return "unknown";
}
