/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h - shared by decode.c, which reads a pprof file, and decode_parts.c, for its messages. */
#ifndef PPROF_DECODE_H
#define PPROF_DECODE_H

#include "base/protobuf_wire.h"
#include "pprof/profile.h"

/* Field numbers of the message Profile. */
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
    const char *bytes; /* borrowed from the file; without a NUL */
    uint32_t size;
    uint32_t number; /* in the profile's texts; NO_TEXT: not added to them yet */
};

/* A location of the file: more than one frame if calls were inlined. */
struct decode_location {
    const uint32_t *frames; /* numbers of the profile's locations; in `lists` */
    size_t count;
};

struct decoder {
    const uint8_t *bytes; /* borrowed: the file, unpacked */
    size_t size;
    struct err *err;              /* borrowed; may be NULL */
    struct pprof *profile;        /* owned until it is returned */
    struct arena lists;           /* owned: memory of all arrays below */
    struct arena message;         /* owned: memory of the message that is being read */
    enum pprof_rc message_rc;     /* why the last message was not unpacked; else PPROF_OK */
    size_t counts[FIELD_COUNT];   /* how often each field occurs */
    int64_t numbers[FIELD_COUNT]; /* values of the fields that occur once */
    struct decode_text *texts;    /* the string table */
    size_t text_count;
    struct pprof_type types[PPROF_TYPES_MAX];
    size_t type_count;
    struct table mapping_ids, function_ids, location_ids; /* ids of the file: index in an array: */
    int64_t *mapping_files;                               /* file of each mapping, in `texts` */
    uint32_t *functions;                                  /* number in the profile's functions */
    struct decode_location *locations;
    uint32_t *frames; /* room for PPROF_DEPTH_MAX: the stack that is being read */
};

/* Each takes one message into the decoder, of the type that its row in decode.c names. The period
 * type is only checked. */
MUST_CHECK enum pprof_rc decode_value_type(struct decoder *d, const void *message);
MUST_CHECK enum pprof_rc decode_mapping(struct decoder *d, const void *message);
MUST_CHECK enum pprof_rc decode_function(struct decoder *d, const void *message);
MUST_CHECK enum pprof_rc decode_location(struct decoder *d, const void *message);
MUST_CHECK enum pprof_rc decode_sample(struct decoder *d, const void *message);
MUST_CHECK enum pprof_rc decode_period_type(struct decoder *d, const void *message);

/* Checks a comment, which is a struct wire_field. */
MUST_CHECK enum pprof_rc decode_comment(struct decoder *d, const void *wire_field);

/* Gives entry `index` of the string table. Errors: PPROF_BAD. */
MUST_CHECK enum pprof_rc decode_text_at(struct decoder *d, int64_t index, struct decode_text **out);

#endif
