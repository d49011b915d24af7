/* Shared memory: which buffer lies where, while which operations of LAID run. */
#include "view/impl.h"

#include <ctype.h>
#include <string.h>

/* The name that an assignment gives what stands right of '=' at `at`, which stays where there is
 * none. */
static uint32_t
name_before(const TlSource *src, uint32_t at)
{
   uint32_t i = at;
   while (i && src->text[i - 1] == ' ')
      i--;
   if (!i || src->text[--i] != '=')
      return at;
   while (i && src->text[i - 1] == ' ')
      i--;
   uint32_t end = i;
   while (i && (isalnum((unsigned char)src->text[i - 1]) || src->text[i - 1] == '_'))
      i--;
   return i < end ? i : at;
}

/* Source text of a place in one line, shortened. */
static const char *
snippet(TlView *v, TlRange r)
{
   enum { LONGEST = 48 };
   const TlSource *src = tl_source(v->sources, r.file);
   if (!src || r.end <= r.begin || r.end > src->len)
      return NULL;
   r.begin = name_before(src, r.begin);
   size_t len = strcspn(src->text + r.begin, "\n");
   bool is_whole = len >= r.end - r.begin && r.end - r.begin <= LONGEST;
   len = len < r.end - r.begin ? len : r.end - r.begin;
   len = len < LONGEST ? len : LONGEST;
   while (len < LONGEST + 4 && len > 0 && (src->text[r.begin + len] & 0xc0) == 0x80)
      len--; /* a whole character */
   return tl_arena_printf(v->arena, "%.*s%s", (int)len, src->text + r.begin, is_whole ? "" : "…");
}

static void
add_buffer(TlView *v, const TlPrintIndex *laid, uint32_t i)
{
   const TlOp *op = laid->ops.data[i].op;
   const TlType *t = tl_result(op, 0)->type;
   TlViewBuffer b = {.op = i,
                     .stages = t->count,
                     .is_barriers = op->opcode == TL_OP_BARRIERS,
                     .what = tl_info(op)->text,
                     .type = tl_type_cstr(v->arena, t),
                     .layout = t->layout,
                     .place = tl_view_place(v, op->range)};
   if (op->num_args && laid->names[tl_arg(op, 0)->id])
      b.name = tl_arena_printf(v->arena, "%%%s", laid->names[tl_arg(op, 0)->id]);
   if (b.is_barriers)
      b.name = "mbarriers";
   tl_vec_push(v->arena, &v->buffers, b);
}

/* A buffer is called after what fills it. */
static void
use_buffer(TlView *v, TlViewBuffer *b, const TlOp *op, uint32_t line)
{
   bool fills = op->opcode == TL_OP_ASYNC_COPY || op->opcode == TL_OP_BOX_COPY ||
                op->opcode == TL_OP_LOCAL_STORE;
   if (fills && !b->name) {
      b->name = snippet(v, op->range);
      b->place = tl_view_place(v, op->range);
   }
   if (!b->use_lines.len || tl_vec_last(&b->use_lines) != line)
      tl_vec_push(v->arena, &b->use_lines, line);
}

void
tl_view_buffers(TlView *v, const TlPrintIndex *laid, const uint32_t *lines)
{
   TlMap root; /* memdesc value -> index of its buffer, plus 1 */
   tl_map_init(&root, v->arena);
   for (uint32_t i = 0; i < laid->ops.len; i++) {
      const TlOp *op = laid->ops.data[i].op;
      TlViewLaidOp kept = {tl_info(op)->text, lines[i], tl_view_place(v, op->range)};
      tl_vec_push(v->arena, &v->laid_ops, kept);
      const TlType *t = op->num_results ? tl_result(op, 0)->type : NULL;
      bool is_memory = t && t->kind == TL_TYPE_MEMDESC;
      bool is_view = is_memory && op->num_args && tl_arg(op, 0)->type->kind == TL_TYPE_MEMDESC;
      if (is_view) {
         tl_map_put(&root, tl_result(op, 0), tl_map_get(&root, tl_arg(op, 0)));
         continue;
      }
      for (unsigned a = 0; a < op->num_args; a++) {
         uintptr_t known = (uintptr_t)tl_map_get(&root, tl_arg(op, a));
         if (known)
            use_buffer(v, &v->buffers.data[known - 1], op, lines[i]);
      }
      if (is_memory) {
         add_buffer(v, laid, i);
         tl_map_put(&root, tl_result(op, 0), (void *)(uintptr_t)v->buffers.len);
      }
   }
}

static TlViewBuffer *
scratch_buffer(TlView *v, const TlSharedPlace *p)
{
   const TlViewLaidOp *op = &v->laid_ops.data[p->first];
   TlViewBuffer b = {.op = p->first,
                     .stages = 1,
                     .is_scratch = true,
                     .what = op->what,
                     .name = snippet(v, v->places.data[op->place]),
                     .place = op->place};
   tl_vec_push(v->arena, &b.use_lines, op->line);
   tl_vec_push(v->arena, &v->buffers, b);
   return &tl_vec_last(&v->buffers);
}

/* The buffer that the operation asked for: places of one that a loop keeps begin at the loop. */
static TlViewBuffer *
placed_buffer(TlView *v, const TlSharedPlace *p)
{
   for (size_t i = 0; i < v->buffers.len; i++) {
      TlViewBuffer *b = &v->buffers.data[i];
      if (!b->is_placed && !b->is_scratch && b->op >= p->first && b->op <= p->last)
         return b;
   }
   return NULL;
}

void
tl_view_put_in_place(TlView *v, const TlSharedPlace *places, size_t num)
{
   for (size_t i = 0; i < num; i++) {
      const TlSharedPlace *p = &places[i];
      if (p->func != v->func || p->first >= v->laid_ops.len || p->last >= v->laid_ops.len)
         continue;
      TlViewBuffer *b = p->is_scratch ? scratch_buffer(v, p) : placed_buffer(v, p);
      if (!b)
         continue;
      b->is_placed = true;
      b->offset = p->offset;
      b->bytes = p->bytes;
      b->first = p->first;
      b->last = p->last;
   }
   uint32_t number = 0;
   for (size_t i = 0; i < v->buffers.len; i++)
      if (v->buffers.data[i].is_placed)
         v->buffers.data[i].number = number++;
}

uint32_t
tl_view_buffer_at(const TlView *v, uint32_t begin, uint32_t place, const uint32_t *filled_at)
{
   uint32_t best = UINT32_MAX;
   uint64_t most = 0;
   for (uint32_t i = 0; i < v->buffers.len; i++) {
      const TlViewBuffer *b = &v->buffers.data[i];
      if (!b->is_placed || begin < b->offset || begin >= b->offset + b->bytes)
         continue;
      bool is_filled_here = place && b->place == place;
      uint64_t fit = 1 + ((uint64_t)is_filled_here << 40) + ((uint64_t)filled_at[i] << 2) +
                     (b->offset == begin);
      if (fit > most) {
         most = fit;
         best = i;
      }
   }
   return best;
}

/* ---- as JSON ---- */
static void
put_buffer(const TlView *v, const TlViewBuffer *b, TlSb *out)
{
   tl_json_open(out, '{');
   tl_json_str(out, "what", b->what);
   tl_json_str(out, "name", b->name);
   tl_json_str(out, "type", b->type);
   tl_json_int(out, "offset", b->offset);
   tl_json_int(out, "bytes", b->bytes);
   tl_json_int(out, "stages", b->stages);
   tl_json_bool(out, "scratch", b->is_scratch);
   tl_json_bool(out, "barriers", b->is_barriers);
   tl_json_int(out, "first", b->first);
   tl_json_int(out, "last", b->last);
   tl_json_int(out, "line", v->laid_ops.data[b->op].line);
   tl_json_int(out, "from", b->place);
   int64_t layout = -1;
   for (size_t i = 0; i < v->layouts.len; i++)
      layout = b->layout && v->layouts.data[i].layout == b->layout ? (int64_t)i : layout;
   tl_json_int(out, "layout", layout);
   tl_json_open_field(out, "uses", '[');
   for (size_t i = 0; i < b->use_lines.len; i++)
      tl_json_int(out, NULL, b->use_lines.data[i]);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

static void
put_access(const TlView *v, const TlViewAccess *a, TlSb *out)
{
   tl_json_open(out, '{');
   tl_json_str(out, "what", a->what);
   tl_json_int(out, "line", a->line);
   tl_json_int(out, "from", a->place);
   tl_json_int(out, "buffer",
               a->buffer == UINT32_MAX ? -1 : (int64_t)v->buffers.data[a->buffer].number);
   tl_json_int(out, "bytes", a->bytes);
   tl_json_bool(out, "known", a->is_known);
   tl_json_int(out, "wavefronts", a->wavefronts);
   tl_json_int(out, "minimum", a->minimum);
   tl_json_open_field(out, "lanes", '[');
   for (unsigned i = 0; a->is_known && i < a->num_lanes; i++)
      tl_json_int(out, NULL, a->lane_address[i]);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

void
tl_view_put_shared(TlView *v, const TlTarget *target, TlSb *out)
{
   tl_json_open_field(out, "shared", '{');
   tl_json_int(out, "bytes", v->shared_bytes);
   tl_json_int(out, "limit", target->max_shared_bytes);
   tl_json_open_field(out, "lines", '[');
   for (size_t i = 0; i < v->laid_ops.len; i++)
      tl_json_int(out, NULL, v->laid_ops.data[i].line);
   tl_json_close(out, ']');
   tl_json_open_field(out, "buffers", '[');
   for (uint32_t i = 0; i < v->buffers.len; i++)
      if (v->buffers.data[i].is_placed)
         put_buffer(v, &v->buffers.data[i], out);
   tl_json_close(out, ']');
   tl_json_open_field(out, "accesses", '[');
   for (size_t i = 0; i < v->trace.accesses.len; i++)
      put_access(v, &v->trace.accesses.data[i], out);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}
