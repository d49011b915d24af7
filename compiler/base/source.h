/* Source files, byte ranges and line/column positions.  A TlRange names bytes of one file of a
 * TlSources; file 0 is "nowhere" (ranges made by the compiler). */
#ifndef TL_BASE_SOURCE_H
#define TL_BASE_SOURCE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct TlRange {
   uint32_t file;       /* index into TlSources; 0 = no source */
   uint32_t begin, end; /* byte offsets, end exclusive */
   uint32_t site;       /* the call through which the kernel gets there; 0 = none */
} TlRange;

static inline TlRange
tl_range(uint32_t file, uint32_t begin, uint32_t end)
{
   return (TlRange){.file = file, .begin = begin, .end = end};
}

/* Functions are inlined: where one is called.  at.site is the call around it. */
typedef struct TlCallSite {
   TlRange at;
   const char *callee;
} TlCallSite;

typedef struct TlSource {
   const char *name; /* as shown in diagnostics */
   const char *text; /* NUL after text[len] */
   uint32_t len;
   uint32_t *line_start; /* offset of each line, built on first use */
   uint32_t num_lines;
   bool is_library; /* part of the compiler: faults are shown where the user's file calls it */
} TlSource;

typedef struct TlSources TlSources;

typedef struct TlLineCol {
   uint32_t line;   /* 1-based */
   uint32_t column; /* 1-based, in Unicode code points */
} TlLineCol;

enum { TL_MAX_SOURCE_BYTES = 16 * 1024 * 1024 };

TlSources *tl_sources_new(TlArena *arena);
/* Copies name and text.  Returns the file's index (>= 1).  len must be <= TL_MAX_SOURCE_BYTES. */
uint32_t tl_sources_add(TlSources *set, const char *name, const char *text, size_t len);
void tl_sources_set_library(TlSources *set, uint32_t file);
/* The number of a new call site (>= 1); callee must live as long as the set. */
uint32_t tl_sources_add_call(TlSources *set, TlRange at, const char *callee);
const TlCallSite *tl_call_site(const TlSources *set, uint32_t site); /* NULL for 0 */
bool tl_in_library(const TlSources *set, TlRange range);
const TlSource *tl_source(const TlSources *set, uint32_t file); /* NULL for 0 */
/* The name for where strings have no escapes, in PTX: what would need one becomes '_'. */
const char *tl_source_plain_name(TlArena *arena, const TlSource *source);
TlLineCol tl_source_line_col(TlSources *set, uint32_t file, uint32_t offset);
/* The text of a 1-based line without its newline. */
const char *tl_source_line(TlSources *set, uint32_t file, uint32_t line, uint32_t *len);

static inline bool
tl_range_is_within(TlRange inner, TlRange outer)
{
   return inner.file == outer.file && inner.begin >= outer.begin && inner.end <= outer.end;
}

static inline TlRange
tl_range_join(TlRange a, TlRange b)
{
   if (!a.file)
      return b;
   if (!b.file || a.file != b.file)
      return a;
   return (TlRange){a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end,
                    a.site};
}

#endif
