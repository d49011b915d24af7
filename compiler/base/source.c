/* Source table.  Line starts are found once per file, on the first position asked for. */
#include "base/source.h"
#include "base/vec.h"

#include <assert.h>
#include <string.h>

struct TlSources {
   TlArena *arena;
   TL_VEC(TlSource) files;
   TL_VEC(TlCallSite) calls;
};

TlSources *
tl_sources_new(TlArena *arena)
{
   TlSources *set = tl_new(arena, TlSources);
   set->arena = arena;
   tl_vec_push(arena, &set->files, (TlSource){.name = "<nowhere>", .text = ""});
   tl_vec_push(arena, &set->calls, (TlCallSite){.callee = ""});
   return set;
}

uint32_t
tl_sources_add(TlSources *set, const char *name, const char *text, size_t len)
{
   assert(len < UINT32_MAX);
   assert(name && (text || !len));
   TlSource s = {.name = tl_arena_strdup(set->arena, name),
                 .text = tl_arena_strndup(set->arena, text, len),
                 .len = (uint32_t)len};
   tl_vec_push(set->arena, &set->files, s);
   return (uint32_t)set->files.len - 1;
}

const TlSource *
tl_source(const TlSources *set, uint32_t file)
{
   return file == 0 || file >= set->files.len ? NULL : &set->files.data[file];
}

void
tl_sources_set_library(TlSources *set, uint32_t file)
{
   assert(file > 0 && file < set->files.len);
   set->files.data[file].is_library = true;
}

uint32_t
tl_sources_add_call(TlSources *set, TlRange at, const char *callee)
{
   assert(callee && at.site < set->calls.len && set->calls.len < UINT32_MAX);
   tl_vec_push(set->arena, &set->calls, (TlCallSite){at, callee});
   return (uint32_t)set->calls.len - 1;
}

const TlCallSite *
tl_call_site(const TlSources *set, uint32_t site)
{
   return site == 0 || site >= set->calls.len ? NULL : &set->calls.data[site];
}

bool
tl_in_library(const TlSources *set, TlRange range)
{
   const TlSource *source = tl_source(set, range.file);
   return source && source->is_library;
}

static void
index_lines(TlSources *set, TlSource *s)
{
   uint32_t lines = 1;
   for (uint32_t i = 0; i < s->len; i++)
      lines += s->text[i] == '\n';
   s->line_start = tl_new_array(set->arena, uint32_t, lines);
   s->num_lines = lines;
   uint32_t line = 1;
   for (uint32_t i = 0; i < s->len; i++)
      if (s->text[i] == '\n')
         s->line_start[line++] = i + 1;
}

static TlSource *
indexed(TlSources *set, uint32_t file)
{
   assert(file > 0 && file < set->files.len);
   TlSource *s = &set->files.data[file];
   if (!s->line_start)
      index_lines(set, s);
   return s;
}

const char *
tl_source_plain_name(TlArena *arena, const TlSource *source)
{
   char *name = tl_arena_strdup(arena, source->name);
   for (char *c = name; *c; c++)
      if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
         *c = '_';
   return name;
}

TlLineCol
tl_source_line_col(TlSources *set, uint32_t file, uint32_t offset)
{
   if (file == 0 || file >= set->files.len)
      return (TlLineCol){0, 0};
   TlSource *s = indexed(set, file);
   if (offset > s->len)
      offset = s->len;
   uint32_t lo = 0, hi = s->num_lines;
   while (hi - lo > 1) {
      uint32_t mid = lo + (hi - lo) / 2;
      if (s->line_start[mid] <= offset)
         lo = mid;
      else
         hi = mid;
   }
   uint32_t column = 1;
   assert(s->line_start[lo] <= offset);
   for (uint32_t i = s->line_start[lo]; i < offset; i++)
      column += ((unsigned char)s->text[i] & 0xC0) != 0x80; /* not a UTF-8 continuation byte */
   return (TlLineCol){lo + 1, column};
}

const char *
tl_source_line(TlSources *set, uint32_t file, uint32_t line, uint32_t *len)
{
   *len = 0;
   if (file == 0 || file >= set->files.len || line == 0)
      return "";
   TlSource *s = indexed(set, file);
   if (line > s->num_lines)
      return "";
   uint32_t begin = s->line_start[line - 1];
   uint32_t end = line < s->num_lines ? s->line_start[line] - 1 : s->len;
   if (end > begin && s->text[end - 1] == '\r')
      end--;
   *len = end - begin;
   return s->text + begin;
}
