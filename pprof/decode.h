/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h - what decode.c (the file as a whole) and decode_parts.c (its messages) share. */
#ifndef PPROF_DECODE_H
#define PPROF_DECODE_H

#include "base/protobuf_wire.h"
#include "pprof/profile.h"

/* The numbers of Profile's fields. */
enum decode_field {
    FIELD_SAMPLE_TYPE = 1,
    FIELD_SAMPLE = 2,
    FIELD_MAPPING = 3,
    FIELD_LOCATION = 4,
    FIELD_FUNCTION = 5,
    FIELD_STRING = 6,
    FIELD_DROP_FRAMES = 7,
    FIELD_KEEP_FRAMES = 8,
    FIELD_TIME = 9,
    FIELD_DURATION = 10,
    FIELD_PERIOD_TYPE = 11,
    FIELD_PERIOD = 12,
    FIELD_COMMENT = 13,
    FIELD_DEFAULT_TYPE = 14,
    FIELD_DOC_URL = 15,
    FIELD_COUNT
};

/* An entry of the string table. */
struct decode_text {
    const char *bytes; /* borrowed from the file; no NUL follows */
    uint32_t size;
    uint32_t number; /* in the profile; NO_TEXT: nothing asked for it yet */
};

/* A location: more than one frame if calls were inlined. */
struct decode_location {
    const uint32_t *frames; /* in `lists` */
    size_t count;
};

struct decoder {
    const uint8_t *bytes; /* borrowed: the file, unpacked */
    size_t size;
    struct err *err;          /* borrowed; may be NULL */
    struct pprof *profile;    /* owned until it is handed over */
    struct arena lists;       /* owned: all arrays below */
    struct arena message;     /* owned: the message that is being looked at */
    enum pprof_rc message_rc; /* why protobuf-c got no memory, if it did not */
    size_t counts[FIELD_COUNT];
    int64_t numbers[FIELD_COUNT]; /* of fields that are there once */
    struct decode_text *texts;
    size_t text_count;
    struct pprof_type types[PPROF_TYPES_MAX];
    size_t type_count;
    struct table mapping_ids, function_ids, location_ids; /* the file's id -> place in: */
    int64_t *mapping_files;                               /* texts */
    uint32_t *functions;                                  /* the profile's numbers */
    struct decode_location *locations;
    uint32_t *frames; /* PPROF_DEPTH_MAX: the stack that is being read */
};

/* Takes in one field of its kind. */
MUST_CHECK enum pprof_rc decode_value_type(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_mapping(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_function(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_location(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_sample(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_comment(struct decoder *d, const struct wire_field *field);
MUST_CHECK enum pprof_rc decode_period_type(struct decoder *d, const struct wire_field *field);

/* Finds an entry of the string table. */
MUST_CHECK enum pprof_rc decode_text_at(struct decoder *d, int64_t index, struct decode_text **out);

#endif
