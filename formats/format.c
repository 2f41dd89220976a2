/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - the table of formats; see format.h. To add one, add a file and a row. */
#include "formats/format.h"

#include <string.h>

#include "formats/writers.h"

/* Of two endings that fit, the longer one counts. */
static const struct format formats[] = {
    {.name = "pprof",
     .endings = {".pb.gz", ".pprof"},
     .text = "for go tool pprof and servers",
     .write = write_pprof},
    {.name = "flame",
     .endings = {".html", ".htm"},
     .text = "flame graph, one page for a browser",
     .differs = true,
     .write = write_flame},
    {.name = "heatmap",
     .endings = {".heatmap.html"},
     .text = "source lines coloured by time, one page",
     .shows_source = true,
     .write = write_heatmap},
    {.name = "svg",
     .endings = {".svg"},
     .text = "flame graph as a picture",
     .differs = true,
     .write = write_svg},
    {.name = "collapsed",
     .endings = {".collapsed", ".folded"},
     .text = "a line a stack, for flamegraph.pl",
     .differs = true,
     .plain = true,
     .write = write_collapsed},
    {.name = "speedscope",
     .endings = {".speedscope.json", ".speedscope"},
     .text = "for speedscope.app",
     .write = write_speedscope},
    {.name = "gecko",
     .endings = {".gecko.json", ".gecko"},
     .text = "for profiler.firefox.com; of record with times",
     .shows_times = true,
     .write = write_gecko},
    {.name = "pstats",
     .endings = {".pstats", ".prof"},
     .text = "for Python's pstats and its viewers",
     .write = write_pstats},
    {.name = "jsonl",
     .endings = {".jsonl", ".ndjson"},
     .text = "a JSON object a stack, with all values",
     .differs = true,
     .plain = true,
     .write = write_jsonl},
    {.name = "tree",
     .endings = {".tree"},
     .text = "the calls as indented text",
     .differs = true,
     .plain = true,
     .write = write_tree},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct format *format_at(size_t index)
{
    return index < FORMATS ? &formats[index] : NULL;
}

/* True if a file of the format may end like that: "html", "folded". */
static bool is_ending(const struct format *format, const char *name)
{
    for (size_t i = 0; i < FORMAT_ENDINGS_MAX; i++)
        if (format->endings[i] && strcmp(format->endings[i] + 1, name) == 0)
            return true;
    return false;
}

const struct format *format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0 || is_ending(&formats[i], name))
            return &formats[i];
    return NULL;
}

/* How many bytes of the path's end are one of the format's endings; 0: none is. */
static size_t match_format_ending(const struct format *format, const char *path)
{
    size_t i, size, path_size = strlen(path);

    for (i = 0; i < FORMAT_ENDINGS_MAX; i++) {
        size = format->endings[i] ? strlen(format->endings[i]) : 0;
        if (size && size < path_size && strcmp(path + path_size - size, format->endings[i]) == 0)
            return size;
    }
    return 0;
}

const struct format *format_of_path(const char *path)
{
    const struct format *best = NULL;
    size_t i, size, longest = 0;

    for (i = 0; i < FORMATS; i++) {
        size = match_format_ending(&formats[i], path);
        if (size > longest) {
            longest = size;
            best = &formats[i];
        }
    }
    return best;
}
