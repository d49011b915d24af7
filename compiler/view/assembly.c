/* PTX and SASS: text whose line tables say where it comes from.  PTX has `.file` and `.loc`
 * directives, a disassembler that prints line information has comments:
 *       .loc 1 63 18                                 line 63 of file 1, until the next one
 *       .file 1 "./attention.tile"                   the source's plain name
 *       //## File "./attention.tile", line 63        likewise */
#include "view/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler's file of that name; the name may have got a folder in front. */
static uint32_t
find_file(const TlView *v, const char *name)
{
   if (tl_starts_with(name, "./"))
      name += 2;
   size_t len = strlen(name);
   uint32_t close = 0;
   for (uint32_t i = 1; tl_source(v->sources, i); i++) {
      const char *known = tl_source_plain_name(v->arena, tl_source(v->sources, i));
      size_t n = strlen(known);
      if (strcmp(known, name) == 0)
         return i;
      if (n < len && name[len - n - 1] == '/' && strcmp(name + len - n, known) == 0)
         close = i;
   }
   return close;
}

/* The text between the first two quotes; NULL: there is none. */
static const char *
quoted(TlArena *arena, const char *line, size_t len)
{
   const char *from = memchr(line, '"', len);
   const char *to = from ? memchr(from + 1, '"', len - (size_t)(from + 1 - line)) : NULL;
   return to ? tl_arena_strndup(arena, from + 1, (size_t)(to - from - 1)) : NULL;
}

typedef struct Lines {
   TlView *view;
   uint32_t now;           /* place of the lines that follow */
   TL_VEC(uint32_t) files; /* by number in .file: the compiler's, 0 = unknown */
} Lines;

static void
take_file(Lines *l, const char *line, size_t len)
{
   unsigned long number = strtoul(line + strlen(".file"), NULL, 10);
   const char *name = quoted(l->view->arena, line, len);
   if (!name || number > 4096)
      return;
   while (l->files.len <= number)
      tl_vec_push(l->view->arena, &l->files, 0);
   l->files.data[number] = find_file(l->view, name);
}

static void
take_loc(Lines *l, const char *line)
{
   unsigned file, at, column;
   if (sscanf(line, ".loc %u %u %u", &file, &at, &column) != 3)
      return;
   uint32_t known = file < l->files.len ? l->files.data[file] : 0;
   l->now = tl_view_line_place(l->view, known, at, column);
}

static bool
starts(const char *line, size_t len, const char *word)
{
   size_t n = strlen(word);
   return len >= n && memcmp(line, word, n) == 0;
}

static void
take_comment(Lines *l, const char *line, size_t len)
{
   static const char before[] = "\", line ";
   const char *text = tl_arena_strndup(l->view->arena, line, len);
   const char *name = quoted(l->view->arena, text, len), *at = strstr(text, before);
   if (name && at)
      l->now = tl_view_line_place(l->view, find_file(l->view, name),
                                  (uint32_t)strtoul(at + strlen(before), NULL, 10), 0);
}

typedef void EachLine(Lines *l, TlViewText *t, const char *line, size_t len);

static void
each_line(Lines *l, TlViewText *t, const char *text, size_t len, EachLine *take)
{
   for (size_t at = 0, n; at < len; at += n + 1) {
      const char *end = memchr(text + at, '\n', len - at);
      n = end ? (size_t)(end - (text + at)) : len - at;
      size_t blank = 0;
      while (blank < n && (text[at + blank] == ' ' || text[at + blank] == '\t'))
         blank++;
      take(l, t, text + at + blank, n - blank);
   }
}

static void
find_files(Lines *l, TlViewText *t, const char *line, size_t len)
{
   (void)t;
   if (starts(line, len, ".file"))
      take_file(l, line, len);
}

/* A directive that moves on belongs to nothing itself. */
static void
ptx_line(Lines *l, TlViewText *t, const char *line, size_t len)
{
   bool is_loc = starts(line, len, ".loc");
   if (is_loc)
      take_loc(l, line);
   if (starts(line, len, "}") || starts(line, len, ".section"))
      l->now = 0;
   bool has_code = len && !is_loc && line[0] != '$' && !starts(line, len, "//");
   tl_vec_push(l->view->arena, &t->from, has_code ? l->now : 0);
}

static void
sass_line(Lines *l, TlViewText *t, const char *line, size_t len)
{
   bool is_comment = starts(line, len, "//");
   if (starts(line, len, "//## File"))
      take_comment(l, line, len);
   else if (is_comment || starts(line, len, ".section"))
      l->now = 0;
   tl_vec_push(l->view->arena, &t->from, starts(line, len, "/*") ? l->now : 0);
}

void
tl_view_ptx(TlView *v, const char *text, size_t len)
{
   TlViewText *t = &v->stage[TL_VIEW_PTX];
   Lines l = {.view = v};
   *t = (TlViewText){.text = tl_arena_strndup(v->arena, text, len), .len = len};
   each_line(&l, t, t->text, len, find_files); /* .file directives stand at the end */
   each_line(&l, t, t->text, len, ptx_line);
}

void
tl_view_sass(TlView *v, const char *text, size_t len)
{
   TlViewText *t = &v->stage[TL_VIEW_SASS];
   Lines l = {.view = v};
   *t = (TlViewText){.text = tl_arena_strndup(v->arena, text, len), .len = len};
   each_line(&l, t, t->text, len, sass_line);
}

void
tl_view_no_sass(TlView *v, const char *why)
{
   v->stage[TL_VIEW_SASS].missing = tl_arena_strdup(v->arena, why);
}
