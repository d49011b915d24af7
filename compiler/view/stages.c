/* The states of the IR as text, each line with the source that asked for it. */
#include "view/impl.h"

#include <assert.h>
#include <string.h>

TlView *
tl_view_new(TlArena *arena, TlSources *sources)
{
   TlView *v = tl_new(arena, TlView);
   v->arena = arena;
   v->sources = sources;
   tl_map_init(&v->place_of, arena);
   tl_vec_push(arena, &v->places, (TlRange){0});
   return v;
}

/* ---- places ---- */
uint32_t
tl_view_place(TlView *v, TlRange r)
{
   if (!tl_source(v->sources, r.file))
      return 0;
   /* Sources are at most 16 MiB. */
   static_assert(TL_MAX_SOURCE_BYTES < 1 << 25 && sizeof(uintptr_t) == 8, "a range is a key");
   const void *key =
      (const void *)(uintptr_t)((uint64_t)r.file << 50 | (uint64_t)r.begin << 25 | (uint64_t)r.end);
   uintptr_t known = (uintptr_t)tl_map_get(&v->place_of, key);
   if (known)
      return (uint32_t)known;
   tl_vec_push(v->arena, &v->places, r);
   tl_map_put(&v->place_of, key, (void *)(uintptr_t)(v->places.len - 1));
   return (uint32_t)v->places.len - 1;
}

uint32_t
tl_view_line_place(TlView *v, uint32_t file, uint32_t line, uint32_t column)
{
   uint32_t len;
   const TlSource *src = tl_source(v->sources, file);
   bool is_there = src && line && line <= tl_source_line_col(v->sources, file, src->len).line;
   const char *text = is_there ? tl_source_line(v->sources, file, line, &len) : NULL;
   if (!text)
      return 0;
   uint32_t begin = (uint32_t)(text - src->text);
   uint32_t at = column && column <= len ? begin + column - 1 : begin;
   return tl_view_place(v, tl_range(file, at, at));
}

/* ---- IR ---- */
/* For each operation of the index: its line, from 1. */
static uint32_t *
lines_of(TlArena *arena, const TlSb *text, const TlPrintIndex *index)
{
   uint32_t *lines = tl_new_array(arena, uint32_t, index->ops.len + 1), line = 1;
   size_t at = 0;
   for (size_t i = 0; i < index->ops.len; i++) {
      for (; at < index->ops.data[i].at; at++)
         line += text->data[at] == '\n';
      lines[i] = line;
   }
   return lines;
}

static uint32_t
count_lines(const char *text, size_t len)
{
   uint32_t n = 0;
   for (size_t i = 0; i < len; i++)
      n += text[i] == '\n';
   return n + (len && text[len - 1] != '\n');
}

/* Its lines come from nowhere as yet. */
static void
keep_text(TlView *v, TlViewText *t, const TlSb *sb)
{
   t->text = sb->data;
   t->len = sb->len;
   for (uint32_t n = count_lines(sb->data, sb->len); n-- > 0;)
      tl_vec_push(v->arena, &t->from, 0);
}

void
tl_view_reached(TlView *v, const TlFunc *f, const TlSharedPlace *places, size_t num_places)
{
   TlSb sb;
   TlPrintIndex index;
   if (v->func && v->func != f)
      return;
   v->func = f;
   v->range = f->range;
   tl_sb_init(&sb, v->arena);
   tl_print_func_index(f, &sb, &index);
   TlViewText *t = &v->stage[TL_VIEW_TYPED + (int)f->state];
   keep_text(v, t, &sb);
   const uint32_t *lines = lines_of(v->arena, &sb, &index);
   for (size_t i = 0; i < index.ops.len; i++)
      t->from.data[lines[i] - 1] = tl_view_place(v, index.ops.data[i].op->range);
   if (f->state == TL_STATE_LAID) {
      tl_view_layouts(v, f, &index, lines);
      tl_view_buffers(v, &index, lines);
   } else if (f->state == TL_STATE_LOWERED) {
      v->shared_bytes = f->shared_bytes;
      tl_view_put_in_place(v, places, num_places);
      tl_view_trace(v, f, &index, lines);
   }
   v->num_warps = f->num_warps;
   v->extra_warps = f->extra_warps;
   v->num_stages = f->num_stages;
}

/* ---- as JSON ---- */
static void
put_stage(const TlViewText *t, const char *id, const char *title, TlSb *out)
{
   tl_json_open(out, '{');
   tl_json_str(out, "id", id);
   tl_json_str(out, "title", title);
   tl_json_str(out, "missing", t->missing);
   if (t->text)
      tl_json_mem(out, "text", t->text, t->len);
   tl_json_open_field(out, "from", '[');
   for (size_t i = 0; i < t->from.len; i++)
      tl_json_int(out, NULL, t->from.data[i]);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

void
tl_view_put_stages(TlView *v, TlSb *out)
{
   static const struct {
      const char *id, *title;
   } names[TL_VIEW_STAGES] = {[TL_VIEW_TYPED] = {"typed", "TYPED"},
                              [TL_VIEW_LAID] = {"laid", "LAID"},
                              [TL_VIEW_LOWERED] = {"lowered", "LOWERED"},
                              [TL_VIEW_PTX] = {"ptx", "PTX"},
                              [TL_VIEW_SASS] = {"sass", "SASS"}};
   tl_json_open_field(out, "stages", '[');
   for (unsigned i = 0; i < TL_VIEW_STAGES; i++)
      put_stage(&v->stage[i], names[i].id, names[i].title, out);
   tl_json_close(out, ']');
}

/* Files that a line of some stage comes from, the kernel's own first: the others get no number. */
static uint32_t *
number_files(TlView *v, uint32_t *num)
{
   uint32_t most = 0;
   while (tl_source(v->sources, most + 1))
      most++;
   uint32_t *number = tl_new_array(v->arena, uint32_t, most + 1);
   *num = 0;
   if (tl_source(v->sources, v->range.file))
      number[v->range.file] = ++*num;
   for (size_t i = 1; i < v->places.len; i++)
      if (!number[v->places.data[i].file])
         number[v->places.data[i].file] = ++*num;
   return number;
}

/* [file, line, column, end line, end column]; the file counts from 0. */
static void
put_place(TlView *v, TlRange r, const uint32_t *number, TlSb *out)
{
   tl_json_open(out, '[');
   if (r.file) {
      TlLineCol a = tl_source_line_col(v->sources, r.file, r.begin);
      TlLineCol b = tl_source_line_col(v->sources, r.file, r.end);
      tl_json_int(out, NULL, number[r.file] - 1);
      tl_json_int(out, NULL, a.line);
      tl_json_int(out, NULL, a.column);
      tl_json_int(out, NULL, b.line);
      tl_json_int(out, NULL, b.column);
   }
   tl_json_close(out, ']');
}

void
tl_view_put_sources(TlView *v, TlSb *out)
{
   uint32_t num;
   const uint32_t *number = number_files(v, &num);
   tl_json_open_field(out, "sources", '[');
   for (uint32_t n = 1; n <= num; n++)
      for (uint32_t file = 1; tl_source(v->sources, file); file++) {
         const TlSource *src = tl_source(v->sources, file);
         if (number[file] != n)
            continue;
         tl_json_open(out, '{');
         tl_json_str(out, "name", src->name);
         tl_json_mem(out, "text", src->text, src->len);
         tl_json_close(out, '}');
      }
   tl_json_close(out, ']');
   tl_json_open_field(out, "places", '[');
   for (size_t i = 0; i < v->places.len; i++)
      put_place(v, v->places.data[i], number, out);
   tl_json_close(out, ']');
}
